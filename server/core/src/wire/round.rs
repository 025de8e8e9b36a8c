//! A round of comments on hunks as the prompt that sends them.
//!
//! Never leaves a comment out: what does not fit is the code around it.

use std::fmt::Write as _;
use std::ops::Range;

use crate::machine::input::HunkComment;
use crate::text::start_of;

/// A comment, and what it is about now.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundComment {
    pub comment: HunkComment,
    /// As the user sees it.
    pub path: String,
    /// The lines of the hunk in the text of now; `None` if it is not there.
    pub lines: Option<Range<usize>>,
    /// The text before the hunk.
    pub removed: String,
    /// The text in its place now, or that of the agent if it is not there.
    pub text: String,
}

/// The most bytes of the lines that go with one comment.
const MOST_CODE: usize = 2_000;

/// Returns the prompt for these comments, with words about all of them.
pub fn prompt(words: Option<&str>, comments: &[RoundComment]) -> String {
    let mut text = String::new();
    if let Some(words) = words.map(str::trim).filter(|words| !words.is_empty()) {
        text.push_str(words);
        text.push_str("\n\n");
    }
    text.push_str(
        "My comments on your changes. The lines are those of now; `-` was there before, `+` is there now.\n",
    );
    for (number, RoundComment { comment, path, lines, removed, text: now }) in comments.iter().enumerate() {
        let place = match lines {
            Some(lines) if lines.is_empty() => format!("line {}", lines.start + 1),
            Some(lines) if lines.len() == 1 => format!("line {}", lines.start + 1),
            Some(lines) => format!("lines {}-{}", lines.start + 1, lines.end),
            None => "not in the file now".to_owned(),
        };
        let diff = cut(&(signed('-', removed) + &signed('+', now)));
        let fence = fence_of(&diff);
        // Writing to a text never fails.
        let _ = write!(
            text,
            "\n{}. {path}, {place}\n{fence}diff\n{diff}{fence}\n{}\n",
            number + 1,
            comment.text.trim()
        );
    }
    text
}

fn signed(sign: char, text: &str) -> String {
    text.lines().map(|line| format!("{sign}{line}\n")).collect()
}

fn cut(diff: &str) -> String {
    if diff.len() <= MOST_CODE {
        return diff.to_owned();
    }
    let start = start_of(diff, MOST_CODE);
    let end = start.rfind('\n').map_or(0, |at| at + 1);
    format!("{}[cut; read the file for the rest]\n", &start[..end])
}

/// Returns a fence that these lines do not close.
fn fence_of(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comment(text: &str, lines: Option<Range<usize>>, removed: &str, now: &str) -> RoundComment {
        RoundComment {
            comment: HunkComment { change_set: "c".into(), hunk: "h1".to_owned(), text: text.to_owned() },
            path: "src/a.rs".to_owned(),
            lines,
            removed: removed.to_owned(),
            text: now.to_owned(),
        }
    }

    #[test]
    fn p06_a_round_names_path_lines_and_code_of_each_comment() {
        let comments = [
            comment("shorter", Some(4..6), "old\n", "new\n```\n"),
            comment("why?", Some(9..9), "gone\n", ""),
            comment("again", None, "", "x\n"),
        ];
        let expected = "First tests.\n\nMy comments on your changes. The lines are those of now; `-` was there before, `+` is \
            there now.\n\n1. src/a.rs, lines 5-6\n````diff\n-old\n+new\n+```\n````\nshorter\n\n2. src/a.rs, line 10\n```diff\n\
            -gone\n```\nwhy?\n\n3. src/a.rs, not in the file now\n```diff\n+x\n```\nagain\n";
        assert_eq!(prompt(Some("First tests."), &comments), expected);
    }

    #[test]
    fn p06_a_long_change_is_cut_at_a_line_and_its_comment_is_whole() {
        let long = "a line of some length\n".repeat(1_000);
        let text = prompt(None, &[comment(&"c".repeat(4_000), Some(0..1_000), "", &long)]);
        assert!(text.contains("[cut; read the file for the rest]\n```\n"), "{text}");
        assert!(text.contains(&"c".repeat(4_000)) && text.len() < 7_000, "{}", text.len());
        assert!(!text.contains("+a line of some lengt\n"), "only whole lines");
    }
}
