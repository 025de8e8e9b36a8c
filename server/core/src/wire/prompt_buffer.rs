//! The text of a prompt buffer: a Markdown document that any editor can write a conversation in.
//!
//! What is below the last line `---` is the next prompt. An answer stands between a heading, which names its session and run, and
//! such a line. Never reads or writes a document.

#[cfg(test)]
mod tests;

use std::ops::Range;

/// The end of the name of such a document.
pub const ENDING: &str = ".adjutant.md";
/// What begins the heading of an answer.
const HEADING: &str = "## Adjutant · ";
/// What stands there until the run has ended.
const AT_WORK: &str = "*at work …*";
const RULE: &str = "---";

/// Whether a document is a prompt buffer, by its URI.
pub fn is_prompt_buffer(uri: &str) -> bool {
    uri.ends_with(ENDING)
}

/// The prompt that is being written in a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenPrompt<'a> {
    /// Without the blank lines around it; never empty.
    pub words: &'a str,
    /// The session of the answer before it, if there is one.
    pub session: Option<&'a str>,
}

/// Returns where the next prompt begins: below the last line `---`, or at the top.
pub fn start_of_prompt(text: &str) -> usize {
    let mut start = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        if line.trim_end() == RULE {
            start = at;
        }
    }
    start
}

/// Returns the prompt that is written in a buffer; `None` if there is none yet.
pub fn written_prompt(text: &str) -> Option<WrittenPrompt<'_>> {
    let start = start_of_prompt(text);
    let words = text[start..].trim();
    let session = text[..start].lines().rev().find_map(|line| heading(line).map(|(session, _)| session));
    (!words.is_empty()).then_some(WrittenPrompt { words, session })
}

/// Returns what is added to the end of a buffer when its prompt is sent: the place of the answer, and that of the next prompt.
pub fn place_of_answer(text: &str, session: &str, run: &str) -> String {
    let before = if text.ends_with("\n\n") {
        ""
    } else if text.ends_with('\n') {
        "\n"
    } else {
        "\n\n"
    };
    format!("{before}{HEADING}{session} · {run}\n\n{AT_WORK}\n\n{RULE}\n\n")
}

/// Returns the bytes of the words that stand for the answer of a run until it has ended; `None` if they are gone.
pub fn awaited_answer(text: &str, run: &str) -> Option<Range<usize>> {
    let mut at = 0;
    let mut is_below = false;
    for line in text.split_inclusive('\n') {
        let plain = line.trim_end();
        if let Some((_, of)) = heading(plain) {
            is_below = of == run;
        } else if is_below && plain == AT_WORK {
            return Some(at..at + plain.len());
        }
        at += line.len();
    }
    None
}

/// Returns an answer as a buffer has it: none of its lines is a heading of an answer or ends it.
pub fn answer(text: &str) -> String {
    let safe = |line: &str| {
        let is_mark = line.trim_end() == RULE || line.starts_with(HEADING) || line.trim_end() == AT_WORK;
        if is_mark { format!(" {line}") } else { line.to_owned() }
    };
    text.trim().lines().map(safe).collect::<Vec<_>>().join("\n")
}

/// Parses the heading of an answer into its session and its run.
fn heading(line: &str) -> Option<(&str, &str)> {
    let (session, run) = line.strip_prefix(HEADING)?.split_once(" · ")?;
    let is_id = |id: &str| !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    (is_id(session) && is_id(run.trim_end())).then(|| (session, run.trim_end()))
}
