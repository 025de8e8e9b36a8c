//! The sentences about files that changed since the model read them.
//!
//! Never decides whether one has changed.

use crate::record::{CallEnd, ChangedFile, Event};
use crate::session::{Call, CallPhase, Session};
use crate::text::display::{one_line, shown};

/// How many files a sentence names.
const MAX_NAMED: usize = 10;
/// Characters of one name.
const MAX_NAME: usize = 200;
/// How many lines of now the reason for a refused edit quotes, and characters of each.
const MAX_LINES: usize = 20;
const MAX_LINE: usize = 200;

/// Returns the line for the model. The caller gives at least one file or a head.
pub fn note(files: &[ChangedFile], back: &[ChangedFile], head: Option<&str>) -> String {
    let mut said = Vec::new();
    if let Some(head) = head {
        said.push(format!("{}.", checked_out(head)));
    }
    if !files.is_empty() {
        let (them, have) = if files.len() == 1 { ("it", "has") } else { ("them", "have") };
        let count = counted(files.len(), "file");
        said.push(format!(
            "{count} that you read {have} changed since: {}. Read {them} again before you edit {them}.",
            named(files)
        ));
    } else if head.is_some() {
        said.push("No other file that you read has changed since.".to_owned());
    }
    if !back.is_empty() {
        let has = if back.len() == 1 { "has" } else { "have" };
        said.push(format!("As you read it again {has}: {}.", named(back)));
    }
    format!("[note] {}", said.join(" "))
}

/// Returns the notice for the user; `None` if the user knows it already. Without a new checkout it leaves out open documents,
/// because the user sees them, and files that changed while a command of the agent ran. The model hears of both.
pub fn notice(session: &Session, event: &Event) -> Option<String> {
    let Event::OutsideChanged { files, head, .. } = event else { return None };
    let calls = session.open_run().and_then(|run| run.turn.as_ref()).into_iter().flat_map(|turn| &turn.calls);
    let ran = |call: &Call| matches!(call.phase, CallPhase::Finished { end } if end != CallEnd::Denied);
    let ran_command = calls.filter(|call| call.is_command()).any(ran);
    let is_news = |file: &&ChangedFile| head.is_some() || !ran_command && !file.open;
    let files: Vec<ChangedFile> = files.iter().filter(is_news).cloned().collect();
    sentence(&files, head.as_deref())
}

fn sentence(files: &[ChangedFile], head: Option<&str>) -> Option<String> {
    let changed = (!files.is_empty()).then(|| {
        format!("{} changed since the agent read them: {}", counted(files.len(), "file"), named(files))
    });
    let changed =
        changed.map(|text| if files.len() == 1 { text.replacen("read them", "read it", 1) } else { text });
    match (head.map(checked_out), changed) {
        (Some(head), Some(changed)) => Some(format!("{head}; {changed}. The agent is told.")),
        (Some(head), None) => Some(format!("{head}. The agent is told.")),
        (None, Some(changed)) => Some(format!("{changed}. The agent is told.")),
        (None, None) => None,
    }
}

/// Returns why an edit is not made whose lines are not as the model saw them. `lines` are those of now, the first with this
/// number, from zero.
pub fn changed_inside<'a>(
    path: &str,
    first: usize,
    lines: impl ExactSizeIterator<Item = &'a str>,
    others_gone: bool,
) -> String {
    let count = lines.len();
    let quoted: String = lines
        .take(MAX_LINES)
        .enumerate()
        .map(|(index, line)| format!("\n{}\t{}", first + index + 1, one_line(line, MAX_LINE)))
        .collect();
    let more = match count.saturating_sub(MAX_LINES) {
        0 => String::new(),
        more => format!("\n[and {} more]", counted(more, "line")),
    };
    let what = match count {
        0 => "the place has other lines around it",
        _ if others_gone => {
            "these lines are new, and the quoted text may have been in another line that is gone"
        }
        _ => "these lines are new",
    };
    format!(
        "\"{path}\" was not changed: this edit is inside what changed since you read the file; {what}. Read the file again, \
         then edit it{}{quoted}{more}",
        if count == 0 { "." } else { ":" }
    )
}

/// Returns the sentence that an edit replaces a part of lines that changed since. `lines` are their numbers from one.
pub fn changed_beside(path: &str, (from, to): (usize, usize)) -> String {
    let lines = if from == to { format!("line {from}") } else { format!("lines {from}-{to}") };
    format!(
        "\"{path}\" changed since the agent read it, also in {lines}: this replaces only the part that it quoted"
    )
}

/// Returns why an edit of a file that has changed cannot be made.
pub fn with_change(why: &str) -> String {
    format!("{why}. The file has changed since you read it; read it again")
}

/// Returns why the whole text of a file is not replaced without a question. `lines` says which lines of now the model has
/// not seen, by their numbers from one.
pub fn unseen_lines(path: &str, has_changed: bool, lines: &[(usize, usize)]) -> String {
    let why =
        if has_changed { "changed since the agent read it" } else { "has text that the agent has not read" };
    let range =
        |(from, to): &(usize, usize)| if from == to { from.to_string() } else { format!("{from}-{to}") };
    let mut named: Vec<String> = lines.iter().take(MAX_NAMED).map(range).collect();
    if lines.len() > MAX_NAMED {
        named.push("..".to_owned());
    }
    let which = match lines {
        [(from, to)] if from == to => "line",
        _ => "lines",
    };
    format!("\"{path}\" {why}, and this replaces {which} {} of it", named.join(", "))
}

/// `head` is the name of a branch, or `commit` with the beginning of its id. No branch has a space in its name.
fn checked_out(head: &str) -> String {
    let name = one_line(&shown(head), MAX_NAME);
    if head.starts_with("commit ") {
        format!("Now {name} is checked out, without a branch")
    } else {
        format!("The branch is now \"{name}\"")
    }
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Returns the first names and how many more there are.
fn named(files: &[ChangedFile]) -> String {
    let name = |file: &ChangedFile| {
        format!("{}{}", one_line(&shown(&file.path), MAX_NAME), if file.gone { " (gone)" } else { "" })
    };
    let names: Vec<String> = files.iter().take(MAX_NAMED).map(name).collect();
    let more = files.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}
