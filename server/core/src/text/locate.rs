//! Where is that text: finds what a model quoted, and replaces it.
//!
//! A ladder of ever more lenient comparisons, each climbed only when the one
//! before found nothing. Never picks the first of several places, and never
//! changes a byte outside the place it found.

use std::ops::Range;

use similar::DiffOp;

use crate::text::document::MAX_DOCUMENT_BYTES;
use crate::text::edit::{LineEnd, LineEnds, line_diff, lines, push_line, split_bom, with_line_ends};
use ladder::Match;
use view::{Fold, View};

mod failure;
mod ladder;
mod nearest;
#[cfg(test)]
mod tests;
mod view;

pub use failure::{EditFailure, NotLocated};
pub use nearest::Nearest;

/// The most places a [`NotLocated::Ambiguous`] names.
pub const MAX_CANDIDATES: usize = 10;

/// How exactly a quoted text was found; each rung includes the leniency of those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// Equal but for the style of line ends.
    Exact,
    /// White space before line ends differs, or the final line end is missing.
    TrailingSpace,
    /// Every line is indented by the same amount more, or less.
    Indentation,
    /// Curly quotes, dashes, odd spaces and the like stand for plain ones.
    Typography,
}

/// By how much a file's lines are indented otherwise than the quoted ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shift {
    /// The file has this white space before each quoted line.
    Deeper(String),
    /// The quoted lines have this white space before each line of the file.
    Shallower(String),
}

/// One place where the quoted text stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// Bytes of the text.
    pub range: Range<usize>,
    /// One-based line where it begins.
    pub line: usize,
    pub shift: Option<Shift>,
    /// The quoted text ends with a line end that the end of the file lacks.
    lacks_line_end: bool,
}

/// The places of a quoted text: one, or with `replace_all` at least one.
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
/// of any style are equal, for a model only ever writes `\n`.
pub fn locate<'t>(text: &'t str, old: &'t str, replace_all: bool) -> Result<Location<'t>, NotLocated> {
    let (_, old) = split_bom(old);
    if old.is_empty() {
        return Err(NotLocated::Empty);
    }
    let (_, body) = split_bom(text);
    let skipped = text.len() - body.len();
    let Some((rung, matches)) = ladder::climb(body, old, replace_all) else {
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

/// Replaces what a model quoted and returns the whole new text.
///
/// Lines of `new` that are also in `old` keep the bytes they have in the
/// file; the others take its line ends, and its indentation if that differs.
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
            // A short text replaced everywhere by a long one can grow without
            // measure, so this is looked at on the way.
            if result.len() > MAX_DOCUMENT_BYTES {
                return Err(EditFailure::TooLarge);
            }
        }
        result.push_str(&self.text[done..]);
        if result.len() > MAX_DOCUMENT_BYTES { Err(EditFailure::TooLarge) } else { Ok(result) }
    }

    /// Returns what is to stand at one place instead.
    pub fn replacement(&self, place: &Occurrence, new: &str) -> String {
        Plan::new(self, new).replacement(place)
    }
}

/// How the lines of a replacement arise, worked out once for all places.
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
        // A lone `\r` in a replacement is a character like any other, unless
        // the quotation shows that it means a line end here.
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
                // Every rung keeps lines apart, so the lines of the place and
                // of the quotation are the same in number.
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
        // A line that is indented by less than the shift loses what it has.
        Some(Shift::Shallower(by)) => {
            let common = line.chars().zip(by.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8());
            &line[common.sum()..]
        }
    };
    push_line(result, &with_line_ends(line, style));
}

/// Gives matches within the body of a file their place in the whole text.
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

/// Tells a missing quotation apart from an edit that was already made.
fn already_there(text: &str, new: &str, reason: NotLocated) -> EditFailure {
    // A short replacement such as a brace is in every file.
    const DISTINCTIVE: usize = 8;
    let telling = new.chars().filter(|c| !c.is_whitespace()).count() >= DISTINCTIVE;
    match reason {
        NotLocated::Missing { .. } if telling => match locate(text, new, false) {
            Ok(found) if found.rung == Rung::Exact => {
                EditFailure::AlreadyThere { line: found.places[0].line }
            }
            _ => reason.into(),
        },
        _ => reason.into(),
    }
}
