//! Open asks as code actions: one for each way to answer, at any position.
//!
//! What may be offered is the doors' word; here an approval is left out besides
//! where neither its title nor its diagnostic shows the whole.

use std::sync::Arc;

use adjutant_core::policy::ask::ALLOW;
use adjutant_core::policy::unsaved::in_short;
use adjutant_core::text::display::{Surface, display_command, one_line};
use adjutant_core::text::edit::text_edits;
use adjutant_core::text::review::{Placement, apply_hunks, placement_all};
use adjutant_protocol::ask::{AskGroup, AskKind, AskSubject, AskView, OptionKind};
use adjutant_protocol::commands::{RESPOND, SHOW};
use serde_json::{Value, json};
use tower_lsp::ls_types::{CodeActionParams, Diagnostic};

use super::{ANSWER, ActionOffer, MAX_TITLE, is_ours};
use crate::agent::Agent;
use crate::aside::aside;
use crate::client::{Choice, Offer};
use crate::documents::Text;
use crate::editor::DocumentEdit;
use crate::lsp::words::carried;

/// Asks that are offered at once; the rest are answered by command.
const MAX_ASKS: usize = 5;
/// Characters of a command or a path that a title shows whole.
const MAX_WHOLE: usize = 120;

/// The open asks as they are when the request arrives.
pub(super) struct Asks<'a> {
    ours: Vec<&'a Diagnostic>,
    asks: Vec<OpenAsk>,
}

/// One of them, with what may be offered for it.
struct OpenAsk {
    ask: Arc<AskView>,
    words: String,
    /// The user has seen the whole of it, or will where it is offered.
    seen: bool,
    carried: CarriedEdit,
    offers: Vec<Offer>,
}

/// What the action that allows an edit carries.
enum CarriedEdit {
    /// The editor takes edits that are sent to it.
    Nothing,
    /// It takes no others, and nobody has noted yet that this one is made so.
    NotYet,
    /// The edit of the text as it is now; nothing where the lines are not as they were shown: it is shown anew then.
    Edit(Box<dyn FnOnce() -> Option<Value> + Send>),
}

impl<'a> Asks<'a> {
    /// Takes what is open now.
    pub(super) fn now(agent: &Agent, params: &'a CodeActionParams, explicit: bool) -> Self {
        let link = &agent.sessions.world().link;
        let ours: Vec<&Diagnostic> = params.context.diagnostics.iter().filter(|one| is_ours(one)).collect();
        let shown = |ask: &AskView| ours.iter().any(|diagnostic| is_of(diagnostic, ask));
        let wanted = |ask: &Arc<AskView>| is_a_question(ask) && (explicit || shown(ask));
        let asks = link.items().open_asks().into_iter().filter(wanted).take(MAX_ASKS).map(|ask| {
            let Subject { words, whole } = subject(&ask, agent);
            // What the doors count as shown is what its diagnostic shows; without a place it has none.
            let seen = whole || link.is_marked(&ask) || link.items().seen_at(&ask.ask_id).is_some();
            OpenAsk { words, seen, carried: by_action(&ask, agent), offers: link.offers(&ask), ask }
        });
        let asks = asks.collect();
        Self { ours, asks }
    }

    /// Returns the actions that answer them. Waits for the edits that actions carry to be made.
    pub(super) async fn offered(self) -> Vec<ActionOffer> {
        let mut offered = Vec::new();
        for OpenAsk { ask, words, seen, carried, offers } in self.asks {
            let (by_action, made) = match carried {
                CarriedEdit::Nothing => (false, None),
                CarriedEdit::NotYet => (true, None),
                CarriedEdit::Edit(make) => (true, Some(aside(make).await)),
            };
            for offer in offers {
                let mut edit = None;
                if let (true, Choice::Option { id, approves: true }) = (by_action, &offer.choice) {
                    match &made {
                        Some(made) if id == ALLOW => edit.clone_from(made),
                        // Others say yes without the edit.
                        _ => continue,
                    }
                }
                let (command, argument) = match &offer.choice {
                    Choice::Show => (SHOW, json!({ "askId": ask.ask_id })),
                    Choice::Option { approves: true, .. } if !seen => continue,
                    Choice::Option { id, .. } => (RESPOND, json!({ "askId": ask.ask_id, "optionId": id })),
                };
                let about = self.ours.iter().filter(|one| is_of(one, &ask));
                offered.push(ActionOffer {
                    title: title(&ask, &offer, &words),
                    kind: ANSWER,
                    command,
                    argument,
                    edit,
                    diagnostics: about.map(|one| (*one).clone()).collect(),
                    disabled: None,
                });
            }
        }
        offered
    }
}

fn by_action(ask: &AskView, agent: &Agent) -> CarriedEdit {
    let world = agent.sessions.world();
    let abilities = world.link.abilities();
    let Some(AskSubject::Edit { uri, .. }) = &ask.subject else { return CarriedEdit::Nothing };
    let Text::Open(open) = world.documents.under(uri) else { return CarriedEdit::Nothing };
    if !abilities.edits_by_action() {
        return CarriedEdit::Nothing;
    }
    let Some(hunks) = world.link.items().carried(&ask.ask_id) else { return CarriedEdit::NotYet };
    let (uri, encoding) = (uri.clone(), world.documents.encoding());
    CarriedEdit::Edit(Box::new(move || {
        let text = open.string();
        let is_as_shown = |place: &Placement| {
            matches!(place, Placement::At { unchanged: true, .. } | Placement::AlreadyThere { .. })
        };
        let wanted = apply_hunks(&text, &hunks).ok();
        let wanted = wanted.filter(|_| placement_all(&text, &hunks).iter().all(is_as_shown))?;
        Some(carried(&DocumentEdit {
            label: String::new(),
            uri,
            version: open.version,
            unversioned: !abilities.document_changes,
            edits: text_edits(&text, &wanted, encoding).into(),
        }))
    }))
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

/// The title of a way to answer. Some editors sort a menu by title and take the first at *Enter*: what
/// approves begins with *Yes*, behind everything else that is offered.
fn title(ask: &AskView, offer: &Offer, words: &str) -> String {
    let option = match &offer.choice {
        Choice::Show => None,
        Choice::Option { id, .. } => ask.options.iter().find(|option| option.option_id == *id),
    };
    let edits = matches!(ask.subject, Some(AskSubject::Edit { .. }));
    let verb = match option {
        Some(option) if option.kind == OptionKind::AllowOnce && edits => "Yes, apply".to_owned(),
        Some(option) if option.kind == OptionKind::AllowAlways => {
            format!("{}: {}", offer.title, one_line(&option.name, MAX_WHOLE))
        }
        // There is more room than on a button.
        Some(option) if option.kind == OptionKind::Choose => one_line(&option.name, MAX_TITLE),
        _ => offer.title.clone(),
    };
    format!("Adjutant: {verb}: {words}")
}

/// What a title says of an ask, and whether that is the whole of what is asked.
struct Subject {
    words: String,
    whole: bool,
}

fn subject(ask: &AskView, agent: &Agent) -> Subject {
    let line = |text: &str| one_line(text, MAX_WHOLE);
    let same = |text: &str| !display_command(text, Surface::Line(MAX_WHOLE)).changed;
    match &ask.subject {
        Some(AskSubject::Command { command, cwd, timeout_seconds, unsaved }) => {
            // Where there are several folders, the one it runs in is part of what is allowed.
            let here = matches!(agent.configured.folders().as_slice(), [one] if one.to_str() == Some(cwd));
            let place = if here { String::new() } else { format!(" in {}", line(cwd)) };
            let limit = timeout_seconds.map(|seconds| format!(", at most {seconds} s")).unwrap_or_default();
            let unsaved = in_short(unsaved.iter().map(|document| document.path.as_str()))
                .map(|names| format!(" ({names})"));
            Subject {
                whole: same(command) && (here || same(cwd)),
                words: format!("run `{}`{place}{limit}{}", line(command), unsaved.unwrap_or_default()),
            }
        }
        Some(AskSubject::Edit { path, diff, new_file, .. }) => {
            let count = |mark: &str| diff.lines().skip(2).filter(|line| line.starts_with(mark)).count();
            let verb = if *new_file { "create" } else { "edit" };
            let words = format!("{verb} {} (+{} -{})", line(path), count("+"), count("-"));
            Subject { words, whole: false }
        }
        Some(AskSubject::Read { path, .. }) => {
            Subject { whole: same(path), words: format!("read {}", line(path)) }
        }
        None => Subject { words: line(&ask.title), whole: same(&ask.title) },
    }
}
