//! Tests whether a line looks like a comment, in any language.
//!
//! Compares only the start of the line; never parses.

use std::ops::RangeInclusive;

use ropey::Rope;

use super::excerpt::lines_of;
use crate::text::position::Range;

/// Starts of a line that is a comment.
const MARKS: [&str; 8] = ["//", "#", "--", ";", "/*", "*", "<!--", "\"\"\""];
/// Starts of a line that only looks like a comment.
const NOT_COMMENTS: [&str; 14] = [
    "#[",
    "#!",
    "#include",
    "#define",
    "#if",
    "#el",
    "#endif",
    "#undef",
    "#pragma",
    "#error",
    "#import",
    "#region",
    "#endregion",
    "#line",
];
/// Extensions of files with prose: there `#` begins a heading, and only `<!--` begins a comment.
const PROSE: [&str; 8] = ["md", "markdown", "mdx", "mdown", "qmd", "rmd", "rst", "textile"];
/// Lines of a comment that are read before and after the range; also lines of the range that are tested.
const MAX_BLOCK: usize = 50;
/// Characters of a line that are read.
const MAX_LINE: usize = 2_000;

/// Whether the range touches a line that looks like a comment. `name` is the name of the file.
pub fn touches_comment(text: &Rope, range: Range, name: &str) -> bool {
    lines_of(range).take(MAX_BLOCK).any(|line| is_comment(text, line, name))
}

/// Returns the comment that the range touches: its lines, and its text without the marks.
pub fn at(text: &Rope, range: Range, name: &str) -> Option<(RangeInclusive<usize>, String)> {
    let within = |line: &usize| is_comment(text, *line, name);
    let touched = lines_of(range).take(MAX_BLOCK).find(within)?;
    let first = (touched.saturating_sub(MAX_BLOCK)..touched).rev().take_while(within).last();
    let last = (touched + 1..=touched + MAX_BLOCK).take_while(within).last();
    let lines = first.unwrap_or(touched)..=last.unwrap_or(touched);
    let words: Vec<String> = lines.clone().filter_map(|line| words(&content(text, line)?)).collect();
    Some((lines, words.join("\n")))
}

fn content(text: &Rope, line: usize) -> Option<String> {
    let start: String = text.get_line(line)?.chars().take(MAX_LINE).collect();
    Some(start.trim().to_owned())
}

fn is_comment(text: &Rope, line: usize, name: &str) -> bool {
    let Some(content) = content(text, line) else { return false };
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    if PROSE.iter().any(|prose| ending.eq_ignore_ascii_case(prose)) {
        return content.starts_with("<!--");
    }
    if NOT_COMMENTS.iter().any(|other| content.starts_with(other)) {
        return false;
    }
    MARKS.iter().any(|mark| {
        let Some(rest) = content.strip_prefix(mark) else { return false };
        match *mark {
            // A dereference (`*p`) and a decrement (`--i`) also begin like this.
            "*" | "--" => {
                rest.chars().next().is_none_or(|next| !next.is_alphanumeric() && !"_(".contains(next))
            }
            _ => true,
        }
    })
}

/// Returns a line of a comment without its marks; `None` if it has nothing else.
fn words(line: &str) -> Option<String> {
    let marks = ['/', '#', '-', ';', '*', '<', '>', '!', '"'];
    let words = line.trim_start_matches(marks).trim_end_matches("*/").trim_end_matches("-->").trim();
    let words = words.trim_end_matches("\"\"\"");
    (!words.is_empty()).then(|| words.to_owned())
}
