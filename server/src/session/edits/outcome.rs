//! Reports what became of an edit: the result that the model reads, and the summary that the user sees.
//!
//! Never looks at the text or the disk: the caller knows what became of the edit.

use std::time::Instant;

use adjutant_core::machine::input::Report;
use adjutant_core::policy::cause::Cause;
use adjutant_core::record::{CallEnd, CallResult, FileChange};
use adjutant_core::text::display::one_line;

use super::landed::LandedIn;

/// What the model has to do before it tries again.
pub(super) const READ_AGAIN: &str = "; read the file again";
/// The reason for an edit at a place that the user did not approve.
const MISPLACED: &str = "the editor made it at the wrong place, because the text had changed meanwhile, and it \
                         could not be taken back; tell the user to undo the last change of the file";

/// Reports an edit that the user undid at once.
pub(super) fn undone(change: &FileChange, started: Instant) -> Report {
    let result = failed_result(
        format!(
            "The edit of {} was applied and undone at once, most likely by the user's undo. Do not make it \
             again unless the user wants it.",
            change.path
        ),
        "applied and undone at once",
        started,
    );
    // The user undid the edit on purpose, so there is nothing to warn about.
    let result = CallResult { cause: None, ..result };
    Report::NotApplied { result, in_doubt: false, landed: Vec::new() }
}

/// Reports an edit that was made although its path no longer leads to the approved file.
pub(super) fn strayed(change: &FileChange, why: &str, summary: &str, started: Instant) -> Report {
    let output =
        format!("The edit of {} was made, but {why}. Read the file before you continue.", change.path);
    let result = failed_result(output, summary, started);
    let landed = change.hunks.iter().map(|hunk| hunk.id.clone()).collect();
    Report::NotApplied { result, in_doubt: false, landed }
}

pub(super) fn leads_elsewhere(path: &str) -> String {
    format!("the path leads elsewhere since it was allowed: the editor may have written \"{path}\"")
}

pub(super) fn landed(change: &FileChange, location: LandedIn, exact: bool, started: Instant) -> Report {
    let removed: usize = change.hunks.iter().map(|hunk| hunk.removed.len()).sum();
    let inserted: usize = change.hunks.iter().map(|hunk| hunk.inserted.len()).sum();
    let verb = if change.existed { "Edited" } else { "Created" };
    let mut output = format!("{verb} {}: +{inserted} -{removed} lines.", change.path);
    let unsaved = match &location {
        LandedIn::Unsaved(Some(why)) => format!(", not saved: {}", one_line(why, 50)),
        _ => String::new(),
    };
    match location {
        LandedIn::Saved | LandedIn::Elsewhere(_) | LandedIn::Unknown(_) => {}
        LandedIn::Open => output.push_str(" The file is open in the editor and not saved yet."),
        LandedIn::Unsaved(None) => {
            output.push_str(" The editor has the change in a buffer that is not saved yet.");
        }
        LandedIn::Unsaved(Some(why)) => {
            output.push_str(&format!(" The editor has the change in a buffer, but did not save it: {why}."));
        }
    }
    if !exact {
        output.push_str(
            " Something else in the file changed at the same time; read the file before the next edit.",
        );
    }
    Report::Applied(CallResult {
        end: CallEnd::Completed,
        output: output.into(),
        cause: (!unsaved.is_empty()).then_some(Cause::NotSaved),
        summary: format!("+{inserted} -{removed} lines{unsaved}"),
        elapsed_ms: started.elapsed().as_millis() as u64,
        whole: None,
        unsaved: Vec::new(),
    })
}

pub(super) fn not_applied(change: &FileChange, why: &str, in_doubt: bool, started: Instant) -> Report {
    let (doubt, what) = match in_doubt {
        true => (" It may still appear; read the file before you continue.", "may still appear"),
        false => ("", "not applied"),
    };
    let result = failed_result(
        format!("The edit of {} was not applied: {why}.{doubt}", change.path),
        &format!("{what}: {}", one_line(why.strip_suffix(READ_AGAIN).unwrap_or(why), 60)),
        started,
    );
    Report::NotApplied { result, in_doubt, landed: Vec::new() }
}

/// Reports an edit at a place that the user did not approve.
pub(super) fn misplaced(change: &FileChange, started: Instant) -> Report {
    let output = format!("The edit of {} was not applied: {MISPLACED}.", change.path);
    let summary = "made at the wrong place; undo the last change of the file";
    let result = failed_result(output, summary, started);
    Report::NotApplied { result, in_doubt: false, landed: Vec::new() }
}

/// Reports an edit of which the editor left out hunks. They are not sent again, because the user may have
/// left them out on purpose.
pub(super) fn partly(change: &FileChange, landed: Vec<String>, started: Instant) -> Report {
    let (all, made) = (change.hunks.len(), landed.len());
    let left = change.hunks.iter().filter(|hunk| !landed.contains(&hunk.id));
    let lines: Vec<String> = left.take(10).map(|hunk| (hunk.line + 1).to_string()).collect();
    let result = failed_result(
        format!(
            "The edit of {} was applied only in part: {made} of {all} changes are in the text. The editor left out \
             what was at line {} before; perhaps the user did not want it. Read the file before you continue.",
            change.path,
            lines.join(", ")
        ),
        &format!("{made} of {all} changes applied"),
        started,
    );
    Report::NotApplied { result, in_doubt: false, landed }
}

pub(super) fn failed_result(output: String, summary: &str, started: Instant) -> CallResult {
    CallResult {
        end: CallEnd::Failed,
        output: output.into(),
        summary: summary.to_owned(),
        elapsed_ms: started.elapsed().as_millis() as u64,
        // With this cause the user also gets a notice that the allowed edit was not made.
        cause: Some(Cause::NotMade),
        whole: None,
        unsaved: Vec::new(),
    }
}
