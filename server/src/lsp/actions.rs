//! `textDocument/codeAction`: what can be started, answered or cancelled here.
//!
//! Answered from memory alone: no disk, no session, no model. If the user did not
//! ask, only actions of a diagnostic are offered. An approval is never the first or
//! the preferred action (design 15, design 16).

mod asked;
mod buffers;
pub(super) mod changes;
mod verbs;

use adjutant_core::text::display::one_line;
use adjutant_protocol::commands::CANCEL;
use serde::Serialize;
use serde_json::{Value, json};
use tower_lsp::ls_types::{
    AnnotatedTextEdit, CodeAction, CodeActionDisabled, CodeActionKind, CodeActionOptions,
    CodeActionOrCommand, CodeActionParams, CodeActionProviderCapability, CodeActionTriggerKind, Command,
    Diagnostic, DocumentChanges, OneOf, Range, WorkspaceEdit,
};

use super::words::{ANNOTATION, SOURCE};
use crate::agent::Agent;
use crate::client::OpenRun;
use crate::client::surfaces::Surfaces;

/// Starts a fix of a diagnostic.
const FIX: &str = "quickfix.agent.fix";
/// Answers an ask, or shows it.
const ANSWER: &str = "quickfix.agent.answer";
/// Keeps an applied change.
const KEEP: &str = "quickfix.agent.keep";
/// Undoes an applied change.
const UNDO: &str = "quickfix.agent.undo";
/// Starts anything else at a place.
const REWRITE: &str = "refactor.rewrite.agent";
/// Cancels a run.
const STOP: &str = "source.agent.cancel";
/// Runs for which a cancel is offered at once.
const MAX_RUNS: usize = 8;
/// Characters of one title.
const MAX_TITLE: usize = 160;

/// Returns the capability for the answer to `initialize`.
pub(super) fn provider(literals: bool) -> CodeActionProviderCapability {
    if !literals {
        return CodeActionProviderCapability::Simple(true);
    }
    let kinds = [FIX, ANSWER, KEEP, UNDO, REWRITE, STOP].map(CodeActionKind::new);
    CodeActionProviderCapability::Options(CodeActionOptions {
        code_action_kinds: Some(kinds.to_vec()),
        resolve_provider: Some(false),
        ..CodeActionOptions::default()
    })
}

/// One action that the user can choose.
struct ActionOffer {
    title: String,
    kind: &'static str,
    command: &'static str,
    argument: Value,
    /// The edit that the client makes before it runs the command.
    edit: Option<Value>,
    /// Whether it brings an edit of the model into the text.
    generated: bool,
    /// The diagnostics that it is about.
    diagnostics: Vec<Diagnostic>,
    /// Why it cannot be chosen; a start that is chosen anyway is refused for the same reason.
    disabled: Option<String>,
}

/// The method, which has a type of its own for its result.
pub(super) const METHOD: &str = "textDocument/codeAction";

/// `CodeActionTag.LLMGenerated` of LSP 3.18.
const GENERATED: u8 = 1;

/// Whether the params of `initialize` say that the client shows which actions bring an edit of a model. The type of the framework
/// does not have it yet.
pub(super) fn shows_tags(params: Option<&Value>) -> bool {
    let tags = params.and_then(|params| {
        params.pointer("/capabilities/textDocument/codeAction/tagSupport/valueSet")?.as_array()
    });
    tags.is_some_and(|tags| tags.iter().any(|tag| *tag == GENERATED))
}

/// A code action as a client gets it. The type of the framework has no tags yet.
#[derive(Serialize)]
pub(super) struct TaggedAction {
    #[serde(flatten)]
    action: CodeActionOrCommand,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<[u8; 1]>,
}

/// Returns the code actions at a place: answers first, then starts, then cancels.
/// `tags` says whether the client shows their tags.
pub(super) async fn offered(agent: &Agent, params: &CodeActionParams, tags: bool) -> Vec<TaggedAction> {
    // Many clients ask at each move of the cursor, so a request never brings back a closed popup.
    let link = &agent.sessions.world().link;
    let trigger = Trigger::of(params);
    // Everything is read before the first wait, so that later messages do not change the answer.
    let asks = asked::Asks::now(agent, params, trigger != Trigger::Automatic);
    let mut others = buffers::offered(agent, params);
    others.extend(verbs::offered(agent, params, trigger));
    if trigger == Trigger::Invoked {
        others.extend(cancels(agent));
    }
    let mut offered = asks.offered().await;
    offered.extend(changes::offered(agent, params).await);
    offered.extend(others);
    let only = params.context.only.as_deref().filter(|only| !only.is_empty());
    let wanted = |kind: &str| only.is_none_or(|only| only.iter().any(|only| covers(only.as_str(), kind)));
    offered
        .into_iter()
        .filter(|action| wanted(action.kind))
        .map(|action| {
            let surfaces = link.surfaces();
            let is_tagged = tags && action.generated && surfaces.action_literals;
            TaggedAction { action: code_action(action, surfaces), tags: is_tagged.then_some([GENERATED]) }
        })
        .collect()
}

/// What made a client ask for actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trigger {
    /// The user wants to see them.
    Invoked,
    /// The cursor moved.
    Automatic,
    /// The client does not say. Actions for every place would be a light bulb on every line.
    Unknown,
}

impl Trigger {
    /// Returns why the client asks. If it does not say, a selection of several lines counts as invoked; a
    /// range within one line may only be the line of the cursor.
    fn of(params: &CodeActionParams) -> Self {
        match params.context.trigger_kind {
            Some(CodeActionTriggerKind::INVOKED) => Trigger::Invoked,
            Some(_) => Trigger::Automatic,
            None => {
                let Range { start, end } = params.range;
                let lines = end.line.saturating_sub(start.line);
                let selected = lines > 1 || (lines == 1 && (start.character, end.character) != (0, 0));
                if selected { Trigger::Invoked } else { Trigger::Unknown }
            }
        }
    }
}

fn cancels(agent: &Agent) -> Vec<ActionOffer> {
    let runs = agent.sessions.world().link.items().open_runs();
    let cancel = |run: OpenRun| ActionOffer {
        title: format!("Adjutant: Cancel “{}”", one_line(&run.title, MAX_TITLE)),
        kind: STOP,
        command: CANCEL,
        argument: json!({ "sessionId": run.session_id, "runId": run.run_id }),
        edit: None,
        generated: false,
        diagnostics: Vec::new(),
        disabled: None,
    };
    runs.into_iter().take(MAX_RUNS).map(cancel).collect()
}

/// Whether a kind is the wanted one or below it.
fn covers(only: &str, kind: &str) -> bool {
    only.is_empty() || kind.strip_prefix(only).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn code_action(action: ActionOffer, surfaces: &Surfaces) -> CodeActionOrCommand {
    let ActionOffer { title, kind, command, argument, edit, generated: _, diagnostics, disabled } = action;
    let greyed = disabled.filter(|_| surfaces.action_literals && surfaces.action_disabled);
    let command =
        Command { title: title.clone(), command: command.to_owned(), arguments: Some(vec![argument]) };
    if !surfaces.action_literals {
        return CodeActionOrCommand::Command(command);
    }
    CodeActionOrCommand::CodeAction(CodeAction {
        title,
        kind: Some(CodeActionKind::new(kind)),
        diagnostics: Some(diagnostics).filter(|diagnostics| !diagnostics.is_empty()),
        edit: edit.and_then(typed),
        command: greyed.is_none().then_some(command),
        disabled: greyed.map(|reason| CodeActionDisabled { reason }),
        ..CodeAction::default()
    })
}

/// Returns an edit as the type of a code action has it.
fn typed(edit: Value) -> Option<WorkspaceEdit> {
    let mut edit: WorkspaceEdit = serde_json::from_value(edit).ok()?;
    if let (Some(_), Some(DocumentChanges::Edits(documents))) =
        (&edit.change_annotations, &mut edit.document_changes)
    {
        // The type reads an edit with a label as one without.
        for one in documents.iter_mut().flat_map(|document| &mut document.edits) {
            if let OneOf::Left(plain) = one {
                let (text_edit, annotation_id) = (plain.clone(), ANNOTATION.to_owned());
                *one = OneOf::Right(AnnotatedTextEdit { text_edit, annotation_id });
            }
        }
    }
    Some(edit)
}

/// Whether Adjutant published a diagnostic.
fn is_from_adjutant(diagnostic: &Diagnostic) -> bool {
    diagnostic.source.as_deref() == Some(SOURCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_covers_itself_and_what_is_below_it() {
        for only in ["", "quickfix", "quickfix.agent", "quickfix.agent.fix"] {
            assert!(covers(only, FIX), "{only}");
        }
        for only in ["quick", "quickfix.agent.fixes", "refactor", "source.fixAll", "source.organizeImports"] {
            assert!(!covers(only, FIX) && !covers(only, STOP), "{only}");
        }
    }
}
