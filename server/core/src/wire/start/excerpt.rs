//! Lines of a text for a prompt: numbered, around a range, bounded.
//!
//! Never cuts inside a character. Never shows a line of a file without its number.

use std::ops::RangeInclusive;

use ropey::Rope;

use crate::text::display::{one_line, shown};
use crate::text::position::{Encoding, Range, offsets_of};

/// Lines shown before and after the range.
const CONTEXT: usize = 10;
/// Lines shown in all.
const MAX_LINES: usize = 200;
/// Bytes shown in all.
const MAX_BYTES: usize = 16 * 1024;
/// Characters shown of one line.
const MAX_LINE: usize = 500;
/// Characters of a selection that is quoted within a sentence.
const MAX_QUOTE: usize = 120;

/// Returns the lines that a range touches, from zero. A range that ends before the first character of a line does
/// not touch that line.
pub fn lines_of(range: Range) -> RangeInclusive<usize> {
    let (start, end) = (range.start.line as usize, range.end.line as usize);
    let last = if range.end.character == 0 && end > start { end - 1 } else { end };
    start..=last.max(start)
}

/// Returns the lines in words, counted from one.
pub fn lines_named(lines: &RangeInclusive<usize>) -> String {
    let (first, last) = (lines.start() + 1, lines.end() + 1);
    if first == last { format!("line {first}") } else { format!("lines {first} to {last}") }
}

/// Returns a range in words, with the selected text if that is short.
pub fn selected(text: &Rope, range: Range, encoding: Encoding) -> String {
    let lines = lines_named(&lines_of(range));
    let bytes = offsets_of(text, range, encoding).ok().filter(|bytes| !bytes.is_empty());
    let slice =
        bytes.filter(|bytes| bytes.len() <= MAX_QUOTE * 4).and_then(|bytes| text.get_byte_slice(bytes));
    let quoted = slice.map(|slice| slice.to_string()).filter(|slice| !slice.contains(['\n', '\r']));
    match quoted.filter(|quoted| quoted.chars().count() <= MAX_QUOTE) {
        Some(quoted) => format!("`{}` in {lines}", one_line(&quoted, MAX_QUOTE)),
        None => lines,
    }
}

/// Returns the lines and some around them, each with its number.
pub fn numbered(text: &Rope, lines: &RangeInclusive<usize>) -> String {
    let around = lines.start().saturating_sub(CONTEXT)..=lines.end().saturating_add(CONTEXT);
    exactly(text, &around, "; read the file")
}

/// Returns these lines alone, numbered in the same way. `rest_hint` ends the sentence about the lines that are left out.
pub fn exactly(text: &Rope, lines: &RangeInclusive<usize>, rest_hint: &str) -> String {
    quoted(text, lines, rest_hint, |number| format!("{number}\t"))
}

/// Returns all lines, each after a tab: those of a list, which have no numbers.
pub fn listed(text: &Rope, rest_hint: &str) -> String {
    quoted(text, &(0..=usize::MAX - 1), rest_hint, |_| "\t".to_owned())
}

fn quoted(
    text: &Rope,
    lines: &RangeInclusive<usize>,
    rest_hint: &str,
    start_of: impl Fn(usize) -> String,
) -> String {
    let first = *lines.start();
    let wanted = lines.end().saturating_sub(first).saturating_add(1);
    let mut out = String::new();
    let mut given = 0;
    for (number, line) in text.get_lines_at(first).into_iter().flatten().enumerate().take(wanted) {
        // After the last line end there is no line that a person would count.
        if number >= MAX_LINES || out.len() >= MAX_BYTES || line.len_bytes() == 0 {
            break;
        }
        given = number + 1;
        // The line is cut before it is built, because a line may be a whole file.
        let mut start: String = line.chars().take(MAX_LINE + 1).collect();
        start.truncate(start.trim_end_matches(['\n', '\r']).len());
        let cut = start.char_indices().nth(MAX_LINE).map(|(at, _)| at);
        let mark = if cut.is_some() { "…" } else { "" };
        start.truncate(cut.unwrap_or(start.len()));
        out.push_str(&format!("{}{}{mark}\n", start_of(first + number + 1), shown(&start)));
    }
    let there = text.len_lines().saturating_sub(first + 1);
    let rest = wanted.min(there).saturating_sub(given);
    if rest > 0 {
        out.push_str(&format!("[{rest} more lines{rest_hint}]\n"));
    }
    out
}
