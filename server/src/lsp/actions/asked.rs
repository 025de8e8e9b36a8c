//! Open asks as code actions: one for each way to answer, at any position.
//!
//! The client link decides what may be offered. Never offers an approval if neither
//! its title nor its diagnostic shows the whole subject, and the user has not opened it.

use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_core::policy::ask::ALLOW;
use adjutant_core::policy::unsaved::in_short;
use adjutant_core::text::display::{Surface, display_command, one_line};
use adjutant_core::text::document::Snapshot;
use adjutant_core::text::edit::text_edits;
use adjutant_core::text::review::{Placement, apply_hunks, placement_all};
use adjutant_protocol::ask::{AskGroup, AskKind, AskSubject, AskView, OptionKind};
use adjutant_protocol::commands::{RESPOND, SHOW};
use serde_json::{Value, json};
use tower_lsp::ls_types::{CodeActionParams, Diagnostic};

use super::{ANSWER, ActionOffer, MAX_TITLE, is_from_adjutant};
use crate::agent::Agent;
use crate::aside::aside;
use crate::client::{CarriedHunks, Choice, Offer};
use crate::documents::Text;
use crate::editor::DocumentEdit;
use crate::lsp::words::carried;

/// Asks that are offered at once; the rest are answered by command.
const MAX_ASKS: usize = 5;
/// Characters of a command or a path in a title; a longer one is cut.
const MAX_WHOLE: usize = 120;

/// The open asks as they are when the request arrives.
pub(super) struct Asks<'a> {
    /// The diagnostics of the request that Adjutant published.
    diagnostics: Vec<&'a Diagnostic>,
    asks: Vec<OpenAsk>,
}

/// One open ask, with its offers.
struct OpenAsk {
    ask: Arc<AskView>,
    words: String,
    /// The user has seen the whole of it, or sees it with the action.
    seen: bool,
    carried: CarriedEdit,
    offers: Vec<Offer>,
}

/// The edit that the action which allows it carries.
enum CarriedEdit {
    /// None: the editor makes edits that are sent to it, or the ask is about no open document.
    Nothing,
    /// The editor makes only edits of code actions, and the hunks of this one are not known yet.
    NotYet,
    /// Makes the edit of the current text. Returns `None` if the lines are not as they were shown; the
    /// ask then shows them again.
    Edit(Box<dyn FnOnce() -> Option<Value> + Send>),
}

impl<'a> Asks<'a> {
    /// Returns the asks that are open now.
    pub(super) fn now(agent: &Agent, params: &'a CodeActionParams, explicit: bool) -> Self {
        let link = &agent.sessions.world().link;
        let diagnostics: Vec<&Diagnostic> =
            params.context.diagnostics.iter().filter(|one| is_from_adjutant(one)).collect();
        let shown = |ask: &AskView| diagnostics.iter().any(|diagnostic| is_of(diagnostic, ask));
        let wanted = |ask: &Arc<AskView>| is_a_question(ask) && (explicit || shown(ask));
        let asks = link.items().open_asks().into_iter().filter(wanted).take(MAX_ASKS).map(|ask| {
            let Subject { words, whole } = subject(&ask, agent);
            // An offer counts the text of the diagnostic as seen; an ask without a place has no diagnostic.
            let seen = whole || link.has_diagnostic(&ask) || link.items().seen_at(&ask.ask_id).is_some();
            OpenAsk { words, seen, carried: by_action(&ask, agent), offers: link.offers(&ask), ask }
        });
        let asks = asks.collect();
        Self { diagnostics, asks }
    }

    /// Returns the actions that answer the asks. Waits until the edits that they carry are computed.
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
                        // The other approvals carry no edit, so they cannot be offered.
                        _ => continue,
                    }
                }
                let (command, argument) = match &offer.choice {
                    Choice::Show => (SHOW, json!({ "askId": ask.ask_id })),
                    Choice::Option { approves: true, .. } if !seen => continue,
                    Choice::Option { id, .. } => (RESPOND, json!({ "askId": ask.ask_id, "optionId": id })),
                };
                let about = self.diagnostics.iter().filter(|one| is_of(one, &ask));
                offered.push(ActionOffer {
                    title: title(&ask, &offer, &words),
                    kind: ANSWER,
                    command,
                    argument,
                    edit,
                    generated: !ask.files().is_empty()
                        && matches!(offer.choice, Choice::Option { approves: true, .. }),
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
    let open_text = |uri: &str| match world.documents.under(uri) {
        Text::Open(open) => Some(open),
        Text::Unsynced(_) | Text::Closed => None,
    };
    let files = ask.files().iter();
    let open: BTreeMap<String, Snapshot> =
        files.filter_map(|file| Some((file.uri.clone(), open_text(&file.uri)?))).collect();
    if open.is_empty() || !abilities.edits_by_action() {
        return CarriedEdit::Nothing;
    }
    let Some(edits) = world.link.items().carried(&ask.ask_id) else { return CarriedEdit::NotYet };
    let encoding = world.documents.encoding();
    let label =
        world.link.surfaces().annotations.then(|| format!("Adjutant: {}", one_line(&ask.title, MAX_TITLE)));
    CarriedEdit::Edit(Box::new(move || {
        let edits = edits.iter().filter_map(|edit| Some((edit, open.get(&edit.uri)?)));
        let edits: Option<Vec<DocumentEdit>> = edits
            .map(|(CarriedHunks { uri, hunks, .. }, open)| {
                let text = open.string();
                let is_as_shown = |place: &Placement| {
                    matches!(place, Placement::At { unchanged: true, .. } | Placement::AlreadyThere { .. })
                };
                let wanted = apply_hunks(&text, hunks).ok();
                let wanted = wanted.filter(|_| placement_all(&text, hunks).iter().all(is_as_shown))?;
                Some(DocumentEdit {
                    label: String::new(),
                    uri: uri.clone(),
                    version: open.version,
                    unversioned: !abilities.document_changes,
                    edits: text_edits(&text, &wanted, encoding).into(),
                })
            })
            .collect();
        edits.map(|edits| carried(&edits, label))
    }))
}

/// Whether an ask needs an answer; that of a finished task does not.
fn is_a_question(ask: &AskView) -> bool {
    !matches!(ask.kind, AskKind::CompletionResult | AskKind::ResumeCompletedTask)
}

/// Whether one of Adjutant's diagnostics is of this ask. One that lost its data may be of any shown ask.
fn is_of(diagnostic: &Diagnostic, ask: &AskView) -> bool {
    match diagnostic.data.as_ref().map(|data| &data["askId"]) {
        Some(id) => id.as_str() == Some(ask.ask_id.0.as_str()),
        None => ask.group != AskGroup::Idle,
    }
}

/// Returns the title of an answer. Some editors sort a menu by title and choose the first at *Enter*, so
/// approvals begin with *Yes*, which sorts after all other titles.
fn title(ask: &AskView, offer: &Offer, words: &str) -> String {
    let option = match &offer.choice {
        Choice::Show => None,
        Choice::Option { id, .. } => ask.options.iter().find(|option| option.option_id == *id),
    };
    let edits = !ask.files().is_empty();
    let verb = match option {
        Some(option) if option.kind == OptionKind::AllowOnce && edits => "Yes, apply".to_owned(),
        Some(option) if option.kind == OptionKind::AllowOnce && !offer.title.starts_with("Yes") => {
            format!("Yes: {}", offer.title)
        }
        Some(option) if option.kind == OptionKind::AllowAlways => {
            format!("{}: {}", offer.title, one_line(&option.name, MAX_WHOLE))
        }
        // A title has more room than a button.
        Some(option) if option.kind == OptionKind::Choose => one_line(&option.name, MAX_TITLE),
        _ => offer.title.clone(),
    };
    format!("Adjutant: {verb}: {words}")
}

/// The words of an ask in a title, and whether they are its whole subject.
struct Subject {
    words: String,
    whole: bool,
}

fn subject(ask: &AskView, agent: &Agent) -> Subject {
    let line = |text: &str| one_line(text, MAX_WHOLE);
    let same = |text: &str| !display_command(text, Surface::Line(MAX_WHOLE)).changed;
    match &ask.subject {
        Some(AskSubject::Command { command, cwd, timeout_seconds, unsaved }) => {
            // If there are several folders, the one that the command runs in is part of the approval.
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
        // The title says of each file what is done with it.
        Some(edits) if edits.files().iter().any(|file| file.operation.is_some()) => {
            Subject { words: line(&ask.title), whole: false }
        }
        Some(edits @ (AskSubject::Edit(_) | AskSubject::Edits { .. })) => {
            let files = edits.files();
            let count = |mark: &str| {
                let lines = files.iter().flat_map(|file| file.diff.lines().skip(2));
                lines.filter(|line| line.starts_with(mark)).count()
            };
            let verb = if files.iter().all(|file| file.new_file) { "create" } else { "edit" };
            let first = files.first().map(|file| line(&file.path)).unwrap_or_default();
            let more = match files.len() {
                0 | 1 => String::new(),
                count => format!(" and {} more", count - 1),
            };
            let words = format!("{verb} {first}{more} (+{} -{})", count("+"), count("-"));
            Subject { words, whole: false }
        }
        Some(AskSubject::Read { path, .. }) => {
            Subject { whole: same(path), words: format!("read {}", line(path)) }
        }
        None => Subject { words: line(&ask.title), whole: same(&ask.title) },
    }
}
