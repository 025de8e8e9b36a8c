//! Finds the text that a model quoted, and replaces it.
//!
//! The comparisons are a ladder: the next, more lenient one is tried only if the
//! one before found nothing. Never picks the first of several places, and never
//! changes a byte outside the place that it found.

use std::ops::Range;

use similar::DiffOp;

use crate::text::document::MAX_DOCUMENT_BYTES;
use crate::text::edit::{LineEnd, LineEnds, line_diff, lines, push_line, split_bom, with_line_ends};
use ladder::{Match, MatchLimit};
use view::{Fold, View};

mod failure;
mod ladder;
mod nearest;
#[cfg(test)]
mod tests;
mod view;

pub use failure::{EditFailure, NotLocated};
pub(crate) use ladder::MAX_LINE_PLACES;
pub use nearest::Nearest;

/// The most places a [`NotLocated::Ambiguous`] names.
pub const MAX_CANDIDATES: usize = 10;

/// How exactly the file matches a quoted text. Each rung includes the leniency of those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// Equal, except for the style of line ends.
    Exact,
    /// White space before line ends differs, or the final line end is missing.
    TrailingSpace,
    /// Every line has the same amount of indentation more, or less.
    Indentation,
    /// Curly quotes, dashes, unusual spaces and similar characters count as plain ones.
    Typography,
}

/// The difference between the indentation of the file and of the quoted lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shift {
    /// The file has this white space before each quoted line.
    Deeper(String),
    /// The quoted lines have this white space before each line of the file.
    Shallower(String),
}

/// One place of the quoted text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// In bytes of the text.
    pub range: Range<usize>,
    /// The line where it begins, from one.
    pub line: usize,
    pub shift: Option<Shift>,
    /// The quoted text ends with a line end, and the end of the file has none.
    lacks_line_end: bool,
}

/// The places of a quoted text: exactly one, or at least one with `replace_all`.
#[derive(Clone, Debug)]
pub struct Location<'t> {
    pub rung: Rung,
    pub places: Vec<Occurrence>,
    text: &'t str,
    old: &'t str,
}

/// Finds the text that a model quoted.
///
/// A byte order mark belongs to the file and never to the quotation. Line ends
/// of all styles are equal, because a model writes only `\n`.
pub fn locate<'t>(text: &'t str, old: &'t str, replace_all: bool) -> Result<Location<'t>, NotLocated> {
    let (_, old) = split_bom(old);
    if old.is_empty() {
        return Err(NotLocated::Empty);
    }
    let (_, body) = split_bom(text);
    let skipped = text.len() - body.len();
    let wanted = if replace_all { MatchLimit::All } else { MatchLimit::Few };
    let Some((rung, matches)) = ladder::climb(body, old, wanted) else {
        return Err(NotLocated::Missing { nearest: nearest::nearest(body, old) });
    };
    let places = numbered(body, skipped, matches);
    if places.len() > 1 && !replace_all {
        let mut lines: Vec<usize> = places.iter().take(MAX_CANDIDATES).map(|place| place.line).collect();
        lines.dedup();
        let more = places.len() > MAX_CANDIDATES;
        return Err(NotLocated::Ambiguous { times: places.len().min(MAX_CANDIDATES), lines, more });
    }
    Ok(Location { rung, places, text, old })
}

/// Finds all places of whole lines after the byte `from`, which begins a line. `None` if there is none.
///
/// At most [`MAX_LINE_PLACES`] are found; they may overlap.
pub(crate) fn locate_lines<'t>(text: &'t str, from: usize, old: &'t str) -> Option<Location<'t>> {
    let (rung, matches) = ladder::climb(&text[from..], old, MatchLimit::Lines)?;
    let before = lines(&text[..from]).count();
    let mut places = numbered(&text[from..], from, matches);
    places.iter_mut().for_each(|place| place.line += before);
    Some(Location { rung, places, text, old })
}

/// Returns the place most similar to quoted lines.
pub(crate) fn nearest_to(text: &str, old: &str) -> Option<Nearest> {
    nearest::nearest(text, old)
}

/// Replaces the text that a model quoted, and returns the whole new text.
///
/// Lines of `new` that are also in `old` keep their bytes of the file. Other
/// lines get the line ends of the file, and its indentation if that differs.
pub fn replace(text: &str, old: &str, new: &str, replace_all: bool) -> Result<String, EditFailure> {
    let plain = |quoted| View::new(split_bom(quoted).1, Fold::LineEnds).text;
    if !split_bom(old).1.is_empty() && plain(old) == plain(new) {
        return Err(EditFailure::NoChange);
    }
    let located = locate(text, old, replace_all).map_err(|reason| already_there(text, new, reason))?;
    let result = located.apply(new)?;
    if result == text { Err(EditFailure::NoChange) } else { Ok(result) }
}

impl Location<'_> {
    /// Returns the whole text with every place replaced.
    pub fn apply(&self, new: &str) -> Result<String, EditFailure> {
        let plan = Plan::new(self, new);
        let mut result = String::with_capacity(self.text.len() + new.len());
        let mut done = 0;
        for place in &self.places {
            result.push_str(&self.text[done..place.range.start]);
            result.push_str(&plan.replacement(place));
            done = place.range.end;
            // Many replacements by a longer text can exhaust the memory, so
            // the limit is checked after each one.
            if result.len() > MAX_DOCUMENT_BYTES {
                return Err(EditFailure::TooLarge);
            }
        }
        result.push_str(&self.text[done..]);
        if result.len() > MAX_DOCUMENT_BYTES { Err(EditFailure::TooLarge) } else { Ok(result) }
    }

    /// Returns the replacement for one place.
    pub fn replacement(&self, place: &Occurrence, new: &str) -> String {
        Plan::new(self, new).replacement(place)
    }
}

/// How the lines of a replacement are made, computed once for all places.
struct Plan<'l> {
    text: &'l str,
    style: LineEnd,
    old_lines: usize,
    new_lines: Vec<String>,
    changes: Vec<DiffOp>,
}

impl<'l> Plan<'l> {
    fn new(located: &Location<'l>, new: &str) -> Self {
        let (_, new) = split_bom(new);
        let old = View::new(located.old, Fold::LineEnds).text;
        // A lone `\r` in a replacement is an ordinary character, unless the
        // quotation also uses it as a line end.
        let new = if LineEnds::of(located.old).cr > 0 {
            View::new(new, Fold::LineEnds).text
        } else {
            with_line_ends(new, LineEnd::Lf).into_owned()
        };
        let old_lines: Vec<&str> = lines(&old).collect();
        let new_lines: Vec<&str> = lines(&new).collect();
        Plan {
            text: located.text,
            style: LineEnds::of(located.text).dominant().unwrap_or_default(),
            changes: line_diff(&old_lines, &new_lines),
            old_lines: old_lines.len(),
            new_lines: new_lines.into_iter().map(str::to_owned).collect(),
        }
    }

    fn replacement(&self, place: &Occurrence) -> String {
        let present = &self.text[place.range.clone()];
        let style = LineEnds::of(present).dominant().unwrap_or(self.style);
        let mut present_lines: Vec<&str> = lines(present).collect();
        let completed;
        if place.lacks_line_end
            && let Some(last) = present_lines.last_mut()
        {
            completed = format!("{last}{}", style.as_str());
            *last = &completed;
        }
        let mut result = String::new();
        for change in &self.changes {
            match change {
                // Every rung compares line by line, so the place normally has
                // as many lines as the quotation.
                DiffOp::Equal { .. } if present_lines.len() == self.old_lines => {
                    present_lines[change.old_range()].iter().for_each(|line| push_line(&mut result, line));
                }
                _ => {
                    for line in &self.new_lines[change.new_range()] {
                        push_shifted(&mut result, line, place.shift.as_ref(), style);
                    }
                }
            }
        }
        if place.lacks_line_end && result.ends_with(style.as_str()) {
            result.truncate(result.len() - style.as_str().len());
        }
        result
    }
}

fn push_shifted(result: &mut String, line: &str, shift: Option<&Shift>, style: LineEnd) {
    let line = match shift {
        _ if line.trim().is_empty() => line,
        None => line,
        Some(Shift::Deeper(by)) => {
            result.push_str(by);
            line
        }
        // A line with less indentation than the shift loses all of it.
        Some(Shift::Shallower(by)) => {
            let common = line.chars().zip(by.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8());
            &line[common.sum()..]
        }
    };
    push_line(result, &with_line_ends(line, style));
}

/// Turns matches in the body of a file into places of the whole text, with line numbers. `skipped` is the length of
/// the byte order mark in bytes.
fn numbered(body: &str, skipped: usize, matches: Vec<Match>) -> Vec<Occurrence> {
    let mut starts = lines(body).scan(0, |at, line| {
        *at += line.len();
        Some(*at)
    });
    let (mut line, mut line_stops) = (1, starts.next().unwrap_or(0));
    let place = |found: Match| {
        while found.range.start >= line_stops
            && let Some(next) = starts.next()
        {
            (line, line_stops) = (line + 1, next);
        }
        Occurrence {
            range: found.range.start + skipped..found.range.end + skipped,
            line,
            shift: found.shift,
            lacks_line_end: found.lacks_line_end,
        }
    };
    matches.into_iter().map(place).collect()
}

/// Returns the failure of an edit whose old text is missing. If the file has the new text, the edit was probably made
/// before.
fn already_there(text: &str, new: &str, reason: NotLocated) -> EditFailure {
    // A short replacement such as a brace is in every file.
    const DISTINCTIVE: usize = 8;
    let is_distinctive = new.chars().filter(|c| !c.is_whitespace()).count() >= DISTINCTIVE;
    match reason {
        NotLocated::Missing { .. } if is_distinctive => match locate(text, new, false) {
            Ok(found) if found.rung == Rung::Exact => {
                EditFailure::AlreadyThere { line: found.places[0].line }
            }
            _ => reason.into(),
        },
        _ => reason.into(),
    }
}
