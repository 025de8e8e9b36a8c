//! Asks as clients see them: the whole diff or command, and the label of each button.

use adjutant_protocol::ask::{AskOption, AskSubject, AskView, EditedFile, OptionKind, UnsavedDocument};

use super::convert::diff_of;
use crate::policy::ask::{ALLOW, SAVE_AND_RUN, WAIT, edits_title};
use crate::policy::permission::read_asks;
use crate::record::{self, Ask, AskId, FileChange, Payload, UnsavedText};
use crate::session::{Call, ChangeState, HunkState, Session};
use crate::text::display::one_line;

/// The most characters of a button. A longer one pushes the others off a toast.
pub const MAX_LABEL: usize = 16;

/// Returns the label of the button for an option, as it came with the ask. Some editors sort buttons by label; then *Reject* and *Show*
/// come before every approval.
pub fn label(option: &AskOption) -> String {
    option.label.clone().unwrap_or_else(|| usual_label(option))
}

fn usual_label(option: &AskOption) -> String {
    match (option.kind, option.option_id.as_str()) {
        (OptionKind::AllowOnce, SAVE_AND_RUN) => "Save and run".to_owned(),
        (OptionKind::AllowOnce, _) => "Yes, once".to_owned(),
        (OptionKind::AllowAlways, _) => "Yes, always…".to_owned(),
        (OptionKind::RejectOnce, _) => "Reject".to_owned(),
        (OptionKind::Choose, WAIT) => "Wait, try again".to_owned(),
        (OptionKind::Choose, _) => one_line(&option.name, MAX_LABEL),
    }
}

/// Returns an ask as clients see it, with the whole diff or command.
pub fn view(session: &Session, ask: &Ask) -> AskView {
    AskView {
        session_id: session.id.clone(),
        ask_id: ask.id.clone(),
        kind: ask.kind.into(),
        group: ask.kind.group().into(),
        title: title(session, ask),
        description: ask.description.clone(),
        subject: subject(session, ask),
        run_id: Some(ask.run.clone()),
        tool_call_id: ask.calls.first().cloned(),
        tool_call_ids: if ask.calls.len() > 1 { ask.calls.clone() } else { Vec::new() },
        origin: session.origin_of(&ask.run).map(Into::into),
        options: options(&ask.options),
        free_text: ask.free_text,
        opened_at: ask.opened_at,
    }
}

/// Returns the title of an ask; of one that is decided in part, the title of what is left.
fn title(session: &Session, ask: &Ask) -> String {
    let waits = |state: &&ChangeState| state.has(HunkState::Proposed);
    let left: Vec<&record::FileChange> =
        session.changes_of(ask).filter(waits).map(|state| &state.change).collect();
    match left.len() {
        count if count == 0 || count == ask.changes.len() => ask.title.clone(),
        _ => edits_title(&left),
    }
}

/// Returns options as clients see them, each with the label of its button.
pub fn options(stored: &[record::AskOption]) -> Vec<AskOption> {
    let saves = stored.iter().any(|option| option.option_id == SAVE_AND_RUN);
    let options = stored.iter().map(|option| {
        let record::AskOption { option_id, name, kind } = option.clone();
        let option = AskOption { option_id, name, kind: kind.into(), label: None };
        let label = match option.option_id.as_str() {
            ALLOW if saves => "Run as saved".to_owned(),
            _ => usual_label(&option),
        };
        AskOption { label: Some(label), ..option }
    });
    options.collect()
}

/// Returns an open ask as clients see it; `None` if it is not open.
pub fn open_view(session: &Session, id: &AskId) -> Option<AskView> {
    session.asks.get(id).map(|open| view(session, &open.ask))
}

fn subject(session: &Session, ask: &Ask) -> Option<AskSubject> {
    let call = session.call(ask.calls.first()?)?;
    let waits = |state: &&ChangeState| state.has(HunkState::Proposed);
    let waiting = session.changes_of(ask).filter(waits);
    let mut files = waiting.map(|state| edited_file(&state.of_hunks(&state.in_state(HunkState::Proposed))));
    if let Some(first) = files.next() {
        let mut files: Vec<EditedFile> = std::iter::once(first).chain(files).collect();
        return match files.len() {
            1 => files.pop().map(AskSubject::Edit),
            _ => Some(AskSubject::Edits { files }),
        };
    }
    payload_subject(call, &ask.unsaved)
}

fn edited_file(change: &FileChange) -> EditedFile {
    EditedFile {
        uri: change.uri.clone(),
        path: change.path.clone(),
        diff: diff_of(&change.path, change.existed, change.operation.as_ref(), &change.hunks).into(),
        new_file: !change.existed,
        operation: change.operation.as_ref().map(Into::into),
    }
}

fn payload_subject(call: &Call, unsaved: &[UnsavedText]) -> Option<AskSubject> {
    match call.payload.as_ref()? {
        Payload::Command { line, cwd, timeout_seconds, .. } => Some(AskSubject::Command {
            command: line.clone(),
            cwd: cwd.clone(),
            timeout_seconds: Some(*timeout_seconds),
            unsaved: unsaved
                .iter()
                .map(|UnsavedText { uri, path }| UnsavedDocument { uri: uri.clone(), path: path.clone() })
                .collect(),
        }),
        Payload::Read { path, .. } => {
            let reason = read_asks(call.seen.as_ref()?)?.text;
            Some(AskSubject::Read { path: path.clone(), reason })
        }
        _ => None,
    }
}
