//! The result of a call that edited a file, in words for the model and in one line for the user.
//!
//! Never looks at the text or the disk: the report of the step says what became of the edit.

use super::ending::result;
use crate::machine::input::{EditLocation, EditOutcome};
use crate::policy::cause::Cause;
use crate::record::{CallEnd, CallPart, CallResult, FileChange};
use crate::text::display::one_line;
use crate::text::review::Hunk;

/// What the model has to do before it tries again.
pub const READ_AGAIN: &str = "; read the file again";
/// The reason for an edit at a place that the user did not approve.
const MISPLACED: &str = "the editor made it at the wrong place, because the text had changed meanwhile, and it \
                         could not be taken back; tell the user to undo the last change of the file";
/// How many lines a sentence about hunks that were left out names.
const MOST_LINES: usize = 10;

/// Returns the result of the call that made this part of a change.
pub fn result_of(change: &FileChange, part: &CallPart, outcome: &EditOutcome) -> CallResult {
    let path = &change.path;
    match outcome {
        EditOutcome::Landed { location, exact } => landed(change, part, location, *exact),
        EditOutcome::Partly { landed } => partly(change, part, landed),
        EditOutcome::NotApplied { why, in_doubt } => not_applied(path, why, *in_doubt),
        EditOutcome::Undone => {
            let output = format!(
                "The edit of {path} was applied and undone at once, most likely by the user's undo. Do not make it \
                 again unless the user wants it."
            );
            // The user undid the edit on purpose, so there is nothing to warn about.
            result(CallEnd::Failed, &output, "applied and undone at once")
        }
        EditOutcome::Misplaced => {
            let output = format!("The edit of {path} was not applied: {MISPLACED}.");
            failed(&output, "made at the wrong place; undo the last change of the file")
        }
        EditOutcome::Overtaken { why, .. } => {
            let output = format!("The edit of {path} was not applied: {why}; read the file and try again.");
            failed(&output, &format!("not applied: {}", one_line(why, 60)))
        }
    }
}

/// Returns a result with which the user also gets a notice that the allowed edit was not made.
fn failed(output: &str, summary: &str) -> CallResult {
    CallResult { cause: Some(Cause::NotMade), ..result(CallEnd::Failed, output, summary) }
}

fn landed(change: &FileChange, part: &CallPart, location: &EditLocation, exact: bool) -> CallResult {
    let path = &change.path;
    let strayed = |why: &str, summary: &str| {
        let output = format!("The edit of {path} was made, but {why}. Read the file before you continue.");
        failed(&output, summary)
    };
    let (mut said, mut unsaved) = (String::new(), String::new());
    match location {
        EditLocation::Elsewhere(other) => {
            return strayed(
                &leads_elsewhere(other),
                &format!("landed in another file: {}", one_line(other, 50)),
            );
        }
        EditLocation::Unknown(why) => {
            let summary = format!("made, but where it is now is not known: {}", one_line(why, 40));
            return strayed(&format!("where it is now is not known: {why}"), &summary);
        }
        EditLocation::Saved => {}
        EditLocation::Open => said.push_str(" The file is open in the editor and not saved yet."),
        EditLocation::Unsaved(None) => {
            said.push_str(" The editor has the change in a buffer that is not saved yet.");
        }
        EditLocation::Unsaved(Some(why)) => {
            unsaved = format!(", not saved: {}", one_line(why, 50));
            said.push_str(&format!(" The editor has the change in a buffer, but did not save it: {why}."));
        }
    }
    if !exact {
        said.push_str(
            " Something else in the file changed at the same time; read the file before the next edit.",
        );
    }
    let (made, lines) = what_it_made(change, part);
    let done = result(CallEnd::Completed, &format!("{made}{said}"), &format!("{lines}{unsaved}"));
    CallResult { cause: (!unsaved.is_empty()).then_some(Cause::NotSaved), ..done }
}

/// Returns why an edit is not where the user allowed it.
pub fn leads_elsewhere(path: &str) -> String {
    format!("the path leads elsewhere since it was allowed: the editor may have written \"{path}\"")
}

/// Returns what a part of a change that is in the text did: a sentence, and the counts of lines.
fn what_it_made(change: &FileChange, part: &CallPart) -> (String, String) {
    let path = &change.path;
    let is_first = change.parts.first().is_none_or(|first| first.call == part.call);
    let verb = if !change.existed && is_first { "Created" } else { "Edited" };
    let alone = change.parts.len() <= 1;
    let own: Vec<&Hunk> = change.hunks.iter().filter(|hunk| alone || part.hunks.contains(&hunk.id)).collect();
    if own.is_empty() && !alone {
        let made = format!("{verb} {path}. A later edit of the same turn replaced what this one wrote.");
        return (made, "replaced by a later edit of the turn".to_owned());
    }
    let removed: usize = own.iter().map(|hunk| hunk.removed.len()).sum();
    let inserted: usize = own.iter().map(|hunk| hunk.inserted.len()).sum();
    let is_shared = |hunk: &&Hunk| {
        change.parts.iter().any(|other| other.call != part.call && other.hunks.contains(&hunk.id))
    };
    let shared = if own.iter().any(is_shared) { ", with other edits of this turn" } else { "" };
    let lines = format!("+{inserted} -{removed} lines");
    (format!("{verb} {path}: {lines}{shared}."), lines)
}

fn not_applied(path: &str, why: &str, in_doubt: bool) -> CallResult {
    let (doubt, what) = match in_doubt {
        true => (" It may still appear; read the file before you continue.", "may still appear"),
        false => ("", "not applied"),
    };
    let brief = one_line(why.strip_suffix(READ_AGAIN).unwrap_or(why), 60);
    failed(&format!("The edit of {path} was not applied: {why}.{doubt}"), &format!("{what}: {brief}"))
}

/// Returns the result of an edit of which the editor left out hunks. They are not sent again, because the user may
/// have left them out on purpose.
fn partly(change: &FileChange, part: &CallPart, landed: &[String]) -> CallResult {
    let alone = change.parts.len() <= 1;
    let own = || change.hunks.iter().filter(|hunk| alone || part.hunks.contains(&hunk.id));
    let left: Vec<&Hunk> = own().filter(|hunk| !landed.contains(&hunk.id)).collect();
    let (all, made) = (own().count(), own().count() - left.len());
    if left.is_empty() && !alone {
        let (sentence, lines) = what_it_made(change, part);
        let output = format!(
            "{sentence} The editor left out other changes of this turn; read the file before you continue."
        );
        return result(CallEnd::Completed, &output, &lines);
    }
    let lines: Vec<String> = left.iter().take(MOST_LINES).map(|hunk| (hunk.line + 1).to_string()).collect();
    let output = format!(
        "The edit of {} was applied only in part: {made} of {all} changes are in the text. The editor left out \
         what was at line {} before; perhaps the user did not want it. Read the file before you continue.",
        change.path,
        lines.join(", ")
    );
    failed(&output, &format!("{made} of {all} changes applied"))
}
