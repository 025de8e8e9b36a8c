//! The parts of an ask: its options, its digest, and when it answers itself.
//!
//! Never decides whether something must be asked; `permission` does.

mod digest;

use crate::record::{AskKind, AskOption, FileChange, FileOperation, OptionKind, Policy};
use crate::session::OpenAsk;

pub use digest::{changes_digest, payload_digest};

// The ids of options, on the wire and in the log. The options of a followup are `option-1`, `option-2`, ...
pub const ALLOW: &str = "allow";
pub const ALLOW_ALWAYS: &str = "allow_always";
pub const REJECT: &str = "reject";
/// Saves the documents that the ask names, then allows once.
pub const SAVE_AND_RUN: &str = "save_and_run";
pub const RETRY: &str = "retry";
pub const WAIT: &str = "wait";
pub const CONTINUE: &str = "continue";
pub const STOP: &str = "stop";
pub const RESUME: &str = "resume";
pub const DISCARD: &str = "discard";
pub const ABORT: &str = "abort";
pub const NEW_TASK: &str = "new_task";
/// The surface of an answer that the time limit gave.
pub const TIME: &str = "time";
/// The surface of an answer that a client gives when no user is present.
pub const NOBODY: &str = "nobody";

/// The surface of an answer that another process of the user left in the inbox.
pub const INBOX: &str = "inbox";

/// Returns words for where an answer came from; `None` if from the process that has the session open.
pub fn from_where(surface: &str) -> Option<&'static str> {
    match surface {
        INBOX => Some("from another terminal"),
        TIME => Some("automatically, because its time limit had passed"),
        NOBODY => Some("because no user was present"),
        _ => None,
    }
}

/// Returns the options of a kind of ask. The match is exhaustive, so that a new kind has to choose (S12). `always`
/// is the name of the option that adds a standing answer; `None` if the call cannot have one.
pub fn options(kind: AskKind, always: Option<&str>, suggestions: &[String]) -> Vec<AskOption> {
    let choose = |id: &str, name: &str| option(id, name, OptionKind::Choose);
    match kind {
        AskKind::Tool | AskKind::Command | AskKind::BrowserActionLaunch | AskKind::UseMcpServer => {
            let once = option(ALLOW, "Allow once", OptionKind::AllowOnce);
            let always = always.map(|name| option(ALLOW_ALWAYS, name, OptionKind::AllowAlways));
            let reject = option(REJECT, "Reject", OptionKind::RejectOnce);
            [Some(once), always, Some(reject)].into_iter().flatten().collect()
        }
        AskKind::Followup => suggestions
            .iter()
            .enumerate()
            .map(|(index, text)| option(&format!("option-{}", index + 1), text, OptionKind::Choose))
            .collect(),
        AskKind::CompletionResult | AskKind::ResumeCompletedTask => vec![choose(NEW_TASK, "Done")],
        AskKind::ApiReqFailed => {
            vec![choose(RETRY, "Try again"), choose(WAIT, "Wait, then try again"), choose(STOP, "Stop")]
        }
        AskKind::MistakeLimitReached => vec![choose(CONTINUE, "Continue anyway"), choose(STOP, "Stop")],
        AskKind::AutoApprovalMaxReqReached => {
            vec![choose(CONTINUE, "Continue by hand"), choose(STOP, "Stop")]
        }
        AskKind::ResumeTask => vec![choose(RESUME, "Resume"), choose(DISCARD, "Discard")],
        AskKind::CommandOutput => vec![choose(CONTINUE, "Let it run"), choose(ABORT, "Stop the command")],
    }
}

/// Returns the options of a command while open documents are not saved and the editor can save them. There is no standing answer: it would
/// also be one for a text that is not saved.
pub fn save_options() -> Vec<AskOption> {
    vec![
        option(SAVE_AND_RUN, "Save the files that are named here, then run it once", OptionKind::AllowOnce),
        option(ALLOW, "Run it once, on the files as they were saved last", OptionKind::AllowOnce),
        option(REJECT, "Reject", OptionKind::RejectOnce),
    ]
}

/// Returns how long the option "wait" waits before the next attempt, in milliseconds. `asked` is the time that the
/// provider asked for. Without it the wait is a minute, because most rate limits end within one. The result is
/// between a second and a day.
pub fn wait_ms(asked: Option<u64>) -> u64 {
    asked.unwrap_or(60_000).clamp(1_000, 24 * 3_600_000)
}

/// How many files the title of an ask names.
const MOST_NAMED: usize = 3;

/// Returns the title of an ask about these edits.
pub fn edits_title(changes: &[&FileChange]) -> String {
    if changes.iter().any(|change| change.operation.is_some()) {
        return operations_title(changes);
    }
    let verb = if changes.iter().all(|change| !change.existed) { "Create" } else { "Edit" };
    let names: Vec<&str> = changes.iter().take(MOST_NAMED).map(|change| change.path.as_str()).collect();
    let names = names.join(", ");
    match changes.len() {
        1 => format!("{verb} {names}"),
        count if count > MOST_NAMED => {
            format!("{verb} {count} files: {names} and {} more", count - MOST_NAMED)
        }
        count => format!("{verb} {count} files: {names}"),
    }
}

/// Returns the title of an ask that is also about files as a whole: it says of each file what is done with it.
fn operations_title(changes: &[&FileChange]) -> String {
    let act = |change: &&FileChange| {
        let path = &change.path;
        match &change.operation {
            Some(FileOperation::Delete { .. }) => {
                let lines: usize = change.hunks.iter().map(|hunk| hunk.removed.len()).sum();
                let noun = if lines == 1 { "line" } else { "lines" };
                format!("delete {path} ({lines} {noun})")
            }
            Some(FileOperation::Move { path: to, .. }) => format!("move {path} to {to}"),
            None if change.existed => format!("edit {path}"),
            None => format!("create {path}"),
        }
    };
    // A file that goes must not be hidden behind "and more".
    let (whole, edited): (Vec<&FileChange>, Vec<&FileChange>) =
        changes.iter().partition(|change| change.operation.is_some());
    let named = changes.len().min(whole.len().max(MOST_NAMED));
    let acts: Vec<String> = whole.iter().chain(&edited).take(named).map(act).collect();
    let acts = acts.join(", ");
    match changes.len() {
        1 => {
            let mut letters = acts.chars();
            letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
        }
        count if count > named => format!("Change {count} files: {acts} and {} more", count - named),
        count => format!("Change {count} files: {acts}"),
    }
}

/// Whether the user may answer this kind with a text.
pub fn takes_text(kind: AskKind) -> bool {
    match kind {
        // For a permission, text is the reason of a rejection.
        AskKind::Tool
        | AskKind::Command
        | AskKind::BrowserActionLaunch
        | AskKind::UseMcpServer
        | AskKind::Followup
        | AskKind::CompletionResult
        | AskKind::MistakeLimitReached
        | AskKind::AutoApprovalMaxReqReached
        | AskKind::ResumeCompletedTask
        | AskKind::ResumeTask => true,
        AskKind::ApiReqFailed | AskKind::CommandOutput => false,
    }
}

fn option(id: &str, name: &str, kind: OptionKind) -> AskOption {
    AskOption { option_id: id.to_owned(), name: name.to_owned(), kind }
}

/// Returns when a question answers itself, and with which option. Only a question of the model does so, with its
/// first suggestion, and only if the user's settings allow it. An approval never does (S15).
pub fn answers_itself<'a>(open: &'a OpenAsk, policy: &Policy) -> Option<(u64, &'a str)> {
    let first = open.ask.options.first()?;
    let suggested = open.ask.kind == AskKind::Followup && first.kind == OptionKind::Choose;
    let wait = policy.followup_default_ms.filter(|_| suggested)?;
    Some((open.since.saturating_add(wait), &first.option_id))
}

#[cfg(test)]
mod tests;
