//! Lines, line ends and the smallest line edits between two texts.
//!
//! Never changes a line without need: lines outside the edits keep their bytes
//! in the editor.

use std::borrow::Cow;
use std::hash::Hash;
use std::time::{Duration, Instant};

use memchr::memchr2;
use ropey::Rope;
use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use crate::text::position::{Encoding, Position, PositionError, Range, offsets_of};

#[cfg(test)]
pub(crate) mod tests;

/// The byte order mark, which a file may begin with.
pub const BOM: char = '\u{feff}';

/// Time limit of the search for the shortest diff. After it the diff is still
/// correct, only longer. Texts of ordinary size take far less time.
const DIFF_TIME: Duration = Duration::from_millis(500);

/// One style of line end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineEnd {
    #[default]
    Lf,
    CrLf,
    Cr,
}

impl LineEnd {
    /// Returns the characters of the line end.
    pub fn as_str(self) -> &'static str {
        match self {
            LineEnd::Lf => "\n",
            LineEnd::CrLf => "\r\n",
            LineEnd::Cr => "\r",
        }
    }
}

/// How often each line end occurs in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineEnds {
    pub lf: usize,
    pub crlf: usize,
    pub cr: usize,
}

impl LineEnds {
    /// Counts the line ends of a text.
    pub fn of(text: &str) -> Self {
        let mut counts = LineEnds::default();
        for line in lines(text) {
            match line_end(line) {
                "\n" => counts.lf += 1,
                "\r\n" => counts.crlf += 1,
                "\r" => counts.cr += 1,
                _ => {}
            }
        }
        counts
    }

    /// Returns the most frequent style, or `None` for a text of one line. In a tie LF wins, then CRLF.
    pub fn dominant(self) -> Option<LineEnd> {
        let most = self.lf.max(self.crlf).max(self.cr);
        match most {
            0 => None,
            _ if most == self.lf => Some(LineEnd::Lf),
            _ if most == self.crlf => Some(LineEnd::CrLf),
            _ => Some(LineEnd::Cr),
        }
    }
}

/// Returns the lines of a text with their line ends. Their concatenation is the text.
pub fn lines(text: &str) -> LineIterator<'_> {
    LineIterator { rest: text }
}

/// The iterator of [`lines`].
#[derive(Clone, Debug)]
pub struct LineIterator<'t> {
    rest: &'t str,
}

impl<'t> Iterator for LineIterator<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        if self.rest.is_empty() {
            return None;
        }
        let bytes = self.rest.as_bytes();
        let end = match memchr2(b'\n', b'\r', bytes) {
            Some(at) if bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n') => at + 2,
            Some(at) => at + 1,
            None => bytes.len(),
        };
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(line)
    }
}

/// Returns the first lines of a text.
pub(crate) fn prefix_of_lines(text: &str, count: usize) -> &str {
    &text[..lines(text).take(count).map(str::len).sum()]
}

/// Returns the line end of a line; empty for a last line without one.
pub fn line_end(line: &str) -> &str {
    let content = line.trim_end_matches(['\n', '\r']).len();
    // A line of `lines` has at most one line end.
    &line[content..]
}

/// Returns the text after a byte order mark, and whether there was one.
pub fn split_bom(text: &str) -> (bool, &str) {
    text.strip_prefix(BOM).map_or((false, text), |rest| (true, rest))
}

/// Returns a text of a model, which writes `\n`, with the line ends of a file.
///
/// A lone `\r` stays: in a text that has `\n` it is not a line end.
pub fn with_line_ends(text: &str, style: LineEnd) -> Cow<'_, str> {
    if style == LineEnd::Lf && !text.contains("\r\n") {
        return Cow::Borrowed(text);
    }
    let plain = text.replace("\r\n", "\n");
    Cow::Owned(if style == LineEnd::Lf { plain } else { plain.replace('\n', style.as_str()) })
}

/// Returns the text that a model wrote to replace a whole file, in the form of that file.
///
/// Unchanged lines keep their bytes. Other lines get the most frequent line
/// end of the file. The byte order mark stays as it was. If the file has no
/// line ends, the text keeps those that the model wrote.
pub fn rewritten<'t>(before: &str, content: &'t str) -> Cow<'t, str> {
    let (bom, old) = split_bom(before);
    let Some(style) = LineEnds::of(old).dominant() else {
        return if bom {
            Cow::Owned(format!("{BOM}{}", split_bom(content).1))
        } else {
            Cow::Borrowed(content)
        };
    };
    let (_, new) = split_bom(content);
    let plain = |line: &str| match line_end(line) {
        "" => line.to_owned(),
        end => format!("{}\n", &line[..line.len() - end.len()]),
    };
    let old_lines: Vec<&str> = lines(old).collect();
    let old_plain: Vec<String> = old_lines.iter().map(|line| plain(line)).collect();
    let old_plain: Vec<&str> = old_plain.iter().map(String::as_str).collect();
    let new_plain = with_line_ends(new, LineEnd::Lf);
    let new_plain: Vec<&str> = new_plain.split_inclusive('\n').collect();
    let mut result = String::with_capacity(content.len());
    result.extend(bom.then_some(BOM));
    for change in line_diff(&old_plain, &new_plain) {
        match change {
            DiffOp::Equal { .. } => {
                old_lines[change.old_range()].iter().for_each(|line| push_line(&mut result, line));
            }
            _ => {
                let fresh = new_plain[change.new_range()].iter();
                fresh.for_each(|line| push_line(&mut result, &with_line_ends(line, style)));
            }
        }
    }
    Cow::Owned(result)
}

/// Returns lines as one text. One without a line end that is not the last gets the most frequent one of a `model`.
pub(crate) fn joined<'a>(lines: impl Iterator<Item = &'a str>, model: &str) -> String {
    let style = LineEnds::of(model).dominant().unwrap_or_default().as_str();
    let mut text = String::with_capacity(model.len());
    for line in lines {
        if !text.is_empty() && !text.ends_with(['\n', '\r']) {
            text.push_str(style);
        }
        push_line(&mut text, line);
    }
    text
}

/// Appends a line. A `\n` after a `\r` would be one line end with it, so that `\n` becomes a `\r`.
pub(crate) fn push_line(text: &mut String, line: &str) {
    match line.strip_prefix('\n') {
        Some(rest) if text.ends_with('\r') => text.extend(["\r", rest]),
        _ => text.push_str(line),
    }
}

/// One replacement in a document, as LSP writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextEdit {
    pub range: Range,
    pub new_text: String,
}

/// Why edits could not be applied to a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("apply edit {index}: {error}")]
    Position { index: usize, error: PositionError },
    #[error("apply edits {first} and {second}: they overlap")]
    Overlap { first: usize, second: usize },
}

/// Returns the edits of whole lines that turn one text into another, sorted and not adjacent.
pub fn text_edits(before: &str, after: &str, encoding: Encoding) -> Vec<TextEdit> {
    let old: Vec<&str> = lines(before).collect();
    let new: Vec<&str> = lines(after).collect();
    let position = |index: usize| match old.last() {
        // No line begins after a last line without a line end.
        Some(last) if index == old.len() && line_end(last).is_empty() => {
            Position::new(index - 1, encoding.length(last))
        }
        _ => Position::new(index, 0),
    };
    let changes = line_diff(&old, &new).into_iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
    let mut edits: Vec<TextEdit> = Vec::new();
    for op in changes {
        let (from, lines) = (op.old_range(), &new[op.new_range()]);
        let apart = |edit: &TextEdit| edits.last().is_none_or(|last| last.range.end < edit.range.start);
        let at_end = if from.end == old.len() { at_end(&old, from.start, lines, encoding) } else { None };
        edits.push(at_end.filter(apart).unwrap_or_else(|| TextEdit {
            range: Range { start: position(from.start), end: position(from.end) },
            new_text: lines.concat(),
        }));
    }
    edits
}

/// Returns the text that each edit replaces, or `None` if a position is inside a character.
pub fn replaced(text: &str, edits: &[TextEdit], encoding: Encoding) -> Option<Vec<String>> {
    // Of a long text only the lines that the edits name.
    let first = edits.iter().map(|edit| edit.range.start.line).min().unwrap_or(0);
    let last = edits.iter().map(|edit| edit.range.end.line).max().unwrap_or(0);
    let text = &text[prefix_of_lines(text, first as usize).len()..];
    // One line more: a line that has one after it is not the last.
    let count = (last.saturating_sub(first) as usize).saturating_add(2);
    let text = prefix_of_lines(text, count);
    let rope = Rope::from_str(text);
    let here = |position: Position| Position { line: position.line.saturating_sub(first), ..position };
    let of = |edit: &TextEdit| {
        let range = Range { start: here(edit.range.start), end: here(edit.range.end) };
        text.get(offsets_of(&rope, range, encoding).ok()?).map(str::to_owned)
    };
    edits.iter().map(of).collect()
}

/// Returns an edit at the end of the text in a form that stops before the last line end, if there is one. Some
/// editors have no position after that line end: Kakoune would apply the edit in the line before.
fn at_end(old: &[&str], from: usize, new: &[&str], encoding: Encoding) -> Option<TextEdit> {
    let last = old.len().checked_sub(1)?;
    let end = line_end(old[last]);
    let before_end = |index: usize| {
        let line = old[index];
        Position::new(index, encoding.length(&line[..line.len() - line_end(line).len()]))
    };
    let text = new.concat();
    let (start, new_text) = match new.last() {
        _ if end.is_empty() => return None,
        Some(line) if line_end(line) != end => return None,
        Some(_) if from <= last => (Position::new(from, 0), text.strip_suffix(end)?.to_owned()),
        Some(_) => (before_end(last), format!("{end}{}", text.strip_suffix(end)?)),
        // The line end before the removed lines is removed; the last one stays.
        None if from > 0 && line_end(old[from - 1]) == end => (before_end(from - 1), String::new()),
        None => return None,
    };
    Some(TextEdit { range: Range { start, end: before_end(last) }, new_text })
}

/// Returns the text after edits. All ranges refer to the text before any edit.
///
/// Edits may be in any order. Inserts at the same position keep their order.
pub fn apply_edits(text: &str, edits: &[TextEdit], encoding: Encoding) -> Result<String, EditError> {
    let rope = Rope::from_str(text);
    let mut places = Vec::with_capacity(edits.len());
    for (index, edit) in edits.iter().enumerate() {
        let bytes =
            offsets_of(&rope, edit.range, encoding).map_err(|error| EditError::Position { index, error })?;
        places.push((bytes.start, bytes.end, index));
    }
    places.sort_by_key(|(start, end, _)| (*start, *end));
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    let mut previous = 0;
    for (start, end, index) in places {
        if start < done {
            return Err(EditError::Overlap { first: previous, second: index });
        }
        result.push_str(&text[done..start]);
        result.push_str(&edits[index].new_text);
        (done, previous) = (end, index);
    }
    result.push_str(&text[done..]);
    Ok(result)
}

/// Lists of so many lines are compared without the lines that are the same at their begins and ends.
const MANY_LINES: usize = 10_000;

/// Returns the difference of two lists of lines. Only this function chooses the diff algorithm.
pub(crate) fn line_diff<L: Hash + Ord>(old: &[L], new: &[L]) -> Vec<DiffOp> {
    match old.len().min(new.len()) {
        ..MANY_LINES => whole_diff(old, new),
        MANY_LINES.. => middle_diff(old, new),
    }
}

fn whole_diff<L: Hash + Ord>(old: &[L], new: &[L]) -> Vec<DiffOp> {
    // Patience pairs the lines that are unique in both texts. So a moved or
    // added function does not look like a change of the function after it.
    let deadline = Instant::now().checked_add(DIFF_TIME);
    capture_diff_slices_deadline(Algorithm::Patience, old, new, deadline)
}

/// As [`whole_diff`], but what is the same at the begins and ends counts as the same lines without a search. A line in between
/// that is also there may be paired otherwise.
fn middle_diff<L: Hash + Ord>(old: &[L], new: &[L]) -> Vec<DiffOp> {
    let is_same = |(one, other): &(&L, &L)| one == other;
    let head = old.iter().zip(new).take_while(is_same).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(is_same).count();
    let equal = |old_index, new_index, len| (len > 0).then_some(DiffOp::Equal { old_index, new_index, len });
    let (end_of_old, end_of_new) = (old.len() - tail, new.len() - tail);
    let mut all: Vec<DiffOp> = equal(0, 0, head).into_iter().collect();
    let middle = whole_diff(&old[head..end_of_old], &new[head..end_of_new]);
    all.extend(middle.into_iter().map(|op| below(op, head)));
    all.extend(equal(end_of_old, end_of_new, tail));
    all
}

/// Returns a difference of lists that have this many lines more before them.
fn below(op: DiffOp, lines: usize) -> DiffOp {
    match op {
        DiffOp::Equal { old_index, new_index, len } => {
            DiffOp::Equal { old_index: old_index + lines, new_index: new_index + lines, len }
        }
        DiffOp::Delete { old_index, old_len, new_index } => {
            DiffOp::Delete { old_index: old_index + lines, old_len, new_index: new_index + lines }
        }
        DiffOp::Insert { old_index, new_index, new_len } => {
            DiffOp::Insert { old_index: old_index + lines, new_index: new_index + lines, new_len }
        }
        DiffOp::Replace { old_index, old_len, new_index, new_len } => {
            DiffOp::Replace { old_index: old_index + lines, old_len, new_index: new_index + lines, new_len }
        }
    }
}
