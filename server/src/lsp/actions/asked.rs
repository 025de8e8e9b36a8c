//! Open asks as code actions: one for each way to answer, at any position.
//!
//! What may be offered is the doors' word; here an approval is left out besides
//! where neither its title nor its diagnostic shows the whole.

use adjutant_core::tool::one_line;
use adjutant_protocol::ask::{AskGroup, AskKind, AskSubject, AskView};
use adjutant_protocol::commands::{RESPOND, SHOW};
use serde_json::json;
use tower_lsp::ls_types::{CodeActionParams, Diagnostic};

use super::{ANSWER, MAX_TITLE, Offered, is_ours};
use crate::doors::Choice;
use crate::lsp::Ready;

/// Asks that are offered at once; the rest are answered by command.
const MAX_ASKS: usize = 5;
/// Characters of a command or a path that a title shows whole.
const MAX_WHOLE: usize = 120;

pub(super) fn offered(ready: &Ready, params: &CodeActionParams, explicit: bool) -> Vec<Offered> {
    let doors = &ready.sessions.world().doors;
    let ours: Vec<&Diagnostic> = params.context.diagnostics.iter().filter(|one| is_ours(one)).collect();
    let shown = |ask: &AskView| ours.iter().any(|diagnostic| is_of(diagnostic, ask));
    let mut offered = Vec::new();
    let asks = doors.face().open_asks();
    let asks = asks.iter().filter(|ask| is_a_question(ask) && (explicit || shown(ask)));
    for ask in asks.take(MAX_ASKS) {
        let Subject { words, whole } = subject(ask, ready);
        // What the doors count as shown is what its diagnostic shows; without a place it has none.
        let seen = whole || doors.is_marked(ask) || doors.face().seen_at(&ask.ask_id).is_some();
        for offer in doors.offers(ask) {
            let (command, argument) = match &offer.choice {
                Choice::Show => (SHOW, json!({ "askId": ask.ask_id })),
                Choice::Option { approves: true, .. } if !seen => continue,
                Choice::Option { id, .. } => (RESPOND, json!({ "askId": ask.ask_id, "optionId": id })),
            };
            offered.push(Offered {
                title: format!("Agent: {}: {words}", one_line(&offer.title, MAX_TITLE)),
                kind: ANSWER,
                command,
                argument,
                diagnostics: ours.iter().filter(|one| is_of(one, ask)).map(|one| (*one).clone()).collect(),
                disabled: None,
            });
        }
    }
    offered
}

/// A finished task asks nothing that anybody has to answer.
fn is_a_question(ask: &AskView) -> bool {
    !matches!(ask.kind, AskKind::CompletionResult | AskKind::ResumeCompletedTask)
}

/// Whether a diagnostic of ours is of this ask; one that lost its data may be of any that has one.
fn is_of(diagnostic: &Diagnostic, ask: &AskView) -> bool {
    match diagnostic.data.as_ref().map(|data| &data["askId"]) {
        Some(id) => id.as_str() == Some(ask.ask_id.0.as_str()),
        None => ask.group != AskGroup::Idle,
    }
}

/// What a title says of an ask, and whether that is the whole of what is asked.
struct Subject {
    words: String,
    whole: bool,
}

fn subject(ask: &AskView, ready: &Ready) -> Subject {
    match &ask.subject {
        Some(AskSubject::Command { command, cwd }) => {
            let line = one_line(command, MAX_WHOLE);
            let here = ready.configured.folders().first().is_some_and(|folder| folder.to_str() == Some(cwd));
            let place = if here { String::new() } else { format!(" in {}", one_line(cwd, MAX_WHOLE)) };
            Subject { whole: line == *command, words: format!("run `{line}`{place}") }
        }
        Some(AskSubject::Edit { path, diff, new_file, .. }) => {
            let count = |mark: &str| diff.lines().skip(2).filter(|line| line.starts_with(mark)).count();
            let verb = if *new_file { "create" } else { "edit" };
            let words = format!("{verb} {} (+{} -{})", one_line(path, MAX_WHOLE), count("+"), count("-"));
            Subject { words, whole: false }
        }
        Some(AskSubject::Read { path, .. }) => {
            let line = one_line(path, MAX_WHOLE);
            Subject { whole: line == *path, words: format!("read {line}") }
        }
        None => Subject { words: one_line(&ask.title, MAX_WHOLE), whole: true },
    }
}
