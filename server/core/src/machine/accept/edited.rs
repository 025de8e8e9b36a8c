//! The result of a call that edited files, in words for the model and in one line for the user.
//!
//! Never looks at the text or the disk: the reports of the steps say what became of the hunks.

use std::collections::BTreeSet;

use crate::machine::input::{EditLocation, EditOutcome};
use crate::policy::cause::Cause;
use crate::record::{CallEnd, CallResult, FileChange, FileOperation, HunkNote, ToolCallId};
use crate::session::{Call, ChangeState, Changes, HunkState, Session};
use crate::text::display::one_line;
use crate::text::review::{Hunk, plus_minus};

/// What the model has to do before it tries again.
pub const READ_AGAIN: &str = "; read the file again";
/// The reason for an edit at a place that the user did not approve.
const MISPLACED: &str = "the editor made it at the wrong place, because the text had changed meanwhile, and it \
                         could not be taken back; tell the user to undo the last change of the file";
/// How many lines a sentence about hunks names.
const MOST_LINES: usize = 10;
/// The model gets at most this many bytes of lines that a formatter changed.
const MOST_FORMATTED: usize = 8 * 1024;

/// Returns why an edit is not where the user allowed it.
pub fn leads_elsewhere(path: &str) -> String {
    format!("the path leads elsewhere since it was allowed: the editor may have written \"{path}\"")
}

/// Returns what is to be said of hunks with this outcome. `ids` are all hunks that were on their way.
pub fn note_of(state: &ChangeState, ids: &[String], outcome: &EditOutcome) -> Option<HunkNote> {
    let path = &state.change.path;
    let what = state.change.in_words();
    match outcome {
        EditOutcome::Landed { .. } if state.change.operation.is_some() => None,
        EditOutcome::Landed { location, exact, formatted } => {
            landed(path, location, *exact, &formatted.inside)
        }
        EditOutcome::Partly { landed } => Some(partly(state, ids, landed)),
        EditOutcome::NotApplied { why, in_doubt } => Some(not_applied(&state.change, why, *in_doubt)),
        EditOutcome::Undone => {
            let text = format!(
                "The edit of {path} was applied and undone at once, most likely by the user's undo. Do not make it \
                 again unless the user wants it."
            );
            // The user undid the edit on purpose, so there is nothing to warn about.
            Some(HunkNote { cause: None, ..failed(text, "applied and undone at once".to_owned()) })
        }
        EditOutcome::Misplaced => Some(failed(
            format!("{what} was not applied: {MISPLACED}."),
            "made at the wrong place; undo the last change of the file".to_owned(),
        )),
        EditOutcome::Overtaken { why, .. } => Some(failed(
            format!("{what} was not applied: {why}; read the file and try again."),
            format!("not applied: {}", one_line(why, 60)),
        )),
    }
}

/// Returns a note with which the user also gets a notice that the allowed edit was not made.
fn failed(text: String, summary: String) -> HunkNote {
    HunkNote { end: CallEnd::Failed, text, summary, cause: Some(Cause::NotMade) }
}

/// Returns the note with a result that was made for a whole call.
pub fn as_note(result: &CallResult) -> HunkNote {
    let CallResult { end, output, summary, cause, .. } = result;
    HunkNote { end: *end, text: output.to_string(), summary: summary.clone(), cause: *cause }
}

fn landed(
    path: &str,
    location: &EditLocation,
    exact: bool,
    formatted: &[(String, String)],
) -> Option<HunkNote> {
    let strayed = |why: &str, summary: String| {
        let text = format!("The edit of {path} was made, but {why}. Read the file before you continue.");
        Some(failed(text, summary))
    };
    let (mut said, mut summary) = (Vec::new(), String::new());
    match location {
        EditLocation::Elsewhere(other) => {
            let summary = format!("landed in another file: {}", one_line(other, 50));
            return strayed(&leads_elsewhere(other), summary);
        }
        EditLocation::Unknown(why) => {
            let summary = format!("made, but where it is now is not known: {}", one_line(why, 40));
            return strayed(&format!("where it is now is not known: {why}"), summary);
        }
        EditLocation::Saved => {}
        EditLocation::Open => said.push("The file is open in the editor and not saved yet.".to_owned()),
        EditLocation::Unsaved(None) => {
            said.push("The editor has the change in a buffer that is not saved yet.".to_owned());
        }
        EditLocation::Unsaved(Some(why)) => {
            summary = format!("not saved: {}", one_line(why, 50));
            said.push(format!("The editor has the change in a buffer, but did not save it: {why}."));
        }
    }
    if !exact {
        let changed =
            "Something else in the file changed at the same time; read the file before the next edit.";
        said.push(changed.to_owned());
    }
    if !formatted.is_empty() {
        said.push(in_words(formatted));
    }
    let cause = (!summary.is_empty()).then_some(Cause::NotSaved);
    let note = HunkNote { end: CallEnd::Completed, text: said.join(" "), summary, cause };
    (!note.text.is_empty()).then_some(note)
}

/// Returns what the model has to know of lines that a formatter made of its own.
fn in_words(formatted: &[(String, String)]) -> String {
    if formatted.iter().map(|(_, text)| text.len()).sum::<usize>() > MOST_FORMATTED {
        return "The new lines were changed when the editor saved the file; read them before the next edit."
            .to_owned();
    }
    let text = formatted.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("[..]\n");
    format!(
        "The new lines were changed when the editor saved the file; they are now:\n{}",
        text.trim_end_matches('\n')
    )
}

fn not_applied(change: &FileChange, why: &str, in_doubt: bool) -> HunkNote {
    let (doubt, what) = match (in_doubt, &change.operation) {
        (false, None) => ("", "not applied"),
        (false, Some(_)) => ("", "not done"),
        (true, None) => (" It may still appear; read the file before you continue.", "may still appear"),
        (true, Some(_)) => (" It may still happen; list the folder before you continue.", "may still happen"),
    };
    let brief = one_line(why.strip_suffix(READ_AGAIN).unwrap_or(why), 60);
    let verb = if change.operation.is_some() { "done" } else { "applied" };
    failed(format!("{} was not {verb}: {why}.{doubt}", change.in_words()), format!("{what}: {brief}"))
}

/// Returns the note on hunks that the editor left out. They are not sent again, because the user may have left them
/// out on purpose.
fn partly(state: &ChangeState, ids: &[String], landed: &[String]) -> HunkNote {
    let left: Vec<&String> = ids.iter().filter(|id| !landed.contains(id)).collect();
    let text = format!(
        "The edit of {} was applied only in part: {} of {} changes are in the text. The editor left out what was at \
         line {} before; perhaps the user did not want it. Read the file before you continue.",
        state.change.path,
        ids.len() - left.len(),
        ids.len(),
        line_names(state, &left)
    );
    failed(text, format!("{} of {} changes applied", ids.len() - left.len(), ids.len()))
}

/// Returns the lines of hunks in the text before, as a list.
fn line_names(state: &ChangeState, ids: &[&String]) -> String {
    let is_named = |hunk: &&Hunk| ids.iter().any(|id| **id == hunk.id);
    let lines = state.change.hunks.iter().filter(is_named).map(|hunk| (hunk.line + 1).to_string());
    lines.take(MOST_LINES).collect::<Vec<_>>().join(", ")
}

/// What a call did to one file.
struct FilePart<'a> {
    state: &'a ChangeState,
    /// The ids of the hunks that it waits for.
    own: BTreeSet<&'a str>,
}

impl<'a> FilePart<'a> {
    fn of(state: &'a ChangeState, call: &ToolCallId) -> Self {
        Self { own: state.waited_for(call).into_iter().collect(), state }
    }

    /// Returns the notes about its hunks.
    fn notes(&self) -> impl Iterator<Item = &'a (Vec<String>, HunkNote)> {
        self.state.notes.iter().filter(|(ids, _)| ids.iter().any(|id| self.own.contains(id.as_str())))
    }

    /// Returns its hunks that are in the text where the user allowed them.
    fn applied(&self) -> BTreeSet<&'a str> {
        let failed = self.notes().filter(|(_, note)| note.end == CallEnd::Failed);
        let failed: BTreeSet<&str> = failed.flat_map(|(ids, _)| ids.iter().map(String::as_str)).collect();
        let is_applied =
            |id: &&str| self.state.hunks.get(*id) == Some(&HunkState::Applied) && !failed.contains(id);
        self.own.iter().copied().filter(is_applied).collect()
    }
}

/// Returns what a call did to its files, in the order of their names.
fn parts_of<'a>(changes: &'a Changes, call: &ToolCallId) -> Vec<FilePart<'a>> {
    let states = changes.values().filter(|state| state.is_of(call));
    let mut parts: Vec<FilePart<'_>> = states.map(|state| FilePart::of(state, call)).collect();
    parts.sort_by(|one, other| one.state.change.path.cmp(&other.state.change.path));
    parts
}

/// Returns the result of a call that ends early, after sentences on those of its hunks that are in the text.
pub fn with_made(session: &Session, call: &Call, result: CallResult) -> CallResult {
    let parts = parts_of(&session.changes, &call.id);
    let made = parts.iter().filter_map(|part| what_it_made(part, &call.id));
    let (texts, summaries): (Vec<String>, Vec<String>) = made.unzip();
    if texts.is_empty() {
        return result;
    }
    CallResult {
        output: format!("{} What else it asked for: {}", texts.join(" "), result.output).into(),
        summary: format!("{}, the rest: {}", summaries.join(", "), result.summary),
        ..result
    }
}

/// Returns the result of a call all of whose hunks have ended.
pub fn result_of(changes: &Changes, call: &ToolCallId) -> CallResult {
    let parts = parts_of(changes, call);
    let made: Vec<(String, String)> = parts.iter().filter_map(|part| what_it_made(part, call)).collect();
    let has_made = !made.is_empty();
    let (mut texts, mut summaries): (Vec<String>, Vec<String>) = made.into_iter().unzip();
    let mut end = if has_made { CallEnd::Completed } else { CallEnd::Denied };
    let mut cause = None;
    for (part, (ids, note)) in parts.iter().flat_map(|part| part.notes().map(move |note| (part, note))) {
        let ids: Vec<&String> = ids.iter().filter(|id| part.own.contains(id.as_str())).collect();
        let lines = line_names(part.state, &ids);
        let text = match note.end {
            // Without other hunks it is plain what is meant.
            CallEnd::Denied if has_made && !lines.is_empty() && part.state.change.operation.is_none() => {
                format!("Not applied at line {lines} of {}: {}", part.state.change.path, note.text)
            }
            _ => note.text.clone(),
        };
        if note.end == CallEnd::Failed {
            end = CallEnd::Failed;
        }
        cause = if note.end == CallEnd::Failed { note.cause } else { cause.or(note.cause) };
        for (said, new) in [(&mut texts, text), (&mut summaries, note.summary.clone())] {
            if !new.is_empty() && !said.contains(&new) {
                said.push(new);
            }
        }
    }
    if end == CallEnd::Completed && cause == Some(Cause::Rejected) {
        cause = None;
    }
    CallResult { cause, ..CallResult::of(end, &texts.join(" "), &summaries.join(", ")) }
}

/// Returns what a call did to a file: a sentence, and the counts of lines. `None` if nothing of it is in the text.
fn what_it_made(part: &FilePart<'_>, call: &ToolCallId) -> Option<(String, String)> {
    let (state, change) = (part.state, &part.state.change);
    let applied = part.applied();
    let path = &change.path;
    if applied.is_empty() {
        return None;
    }
    if let Some(operation) = &change.operation {
        let lines: usize = change.hunks.iter().map(|hunk| hunk.removed.len()).sum();
        return Some(match operation {
            FileOperation::Delete { .. } => (format!("Deleted {path}."), format!("deleted, -{lines} lines")),
            FileOperation::Move { path: to, .. } => {
                (format!("Moved {path} to {to}."), format!("moved to {to}"))
            }
        });
    }
    let is_first = change.parts.first().is_none_or(|first| first.call == *call);
    let verb = if !change.existed && is_first { "Created" } else { "Edited" };
    let place = change.parts.iter().position(|of| of.call == *call).unwrap_or_default();
    let has_none = change.parts.get(place).is_some_and(|of| of.hunks.is_empty());
    if has_none && place + 1 < change.parts.len() {
        let sentence = format!("{verb} {path}. A later edit of the same turn replaced what this one wrote.");
        return Some((sentence, "replaced by a later edit of the turn".to_owned()));
    }
    let own: Vec<&Hunk> = change.hunks.iter().filter(|hunk| applied.contains(hunk.id.as_str())).collect();
    let removed: usize = own.iter().map(|hunk| hunk.removed.len()).sum();
    let inserted: usize = own.iter().map(|hunk| hunk.inserted.len()).sum();
    let is_shared = |hunk: &&Hunk| {
        state.change.parts.iter().any(|other| other.call != *call && other.hunks.contains(&hunk.id))
    };
    let shared = if own.iter().any(is_shared) { ", with other edits of this turn" } else { "" };
    let sentence = format!("{verb} {path}: +{inserted} -{removed} lines{shared}.");
    Some((sentence, plus_minus(inserted, removed)))
}
