//! Whether a quoted part of a line is still in its place after another author changed the rest of the line.
//!
//! Never knows the text of the line before: it counts lines. So it never allows what could be another place.

use std::ops::Range;

use super::{FoundLines, KnownText};
use crate::text::edit::lines;
use crate::text::locate::{Rung, locate};

/// Why a quoted part of changed lines is not replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotPlaced {
    /// It is not there exactly once, or only with other white space or typography: more than what was quoted would go.
    NotOnce,
    /// Its lines are no changed form of lines that the model saw.
    NewLines,
    /// More lines that the model saw are gone, so it may have been in one of them.
    OthersGone,
}

impl KnownText {
    /// Returns the lines of now in which a quoted text is, if each is a line that the model knows or the changed form of one,
    /// next to each other as they were. What others wrote in these lines is not in the quoted text, so it stays.
    pub fn quoted_lines(&self, now: &str, old: &str) -> Result<Range<usize>, NotPlaced> {
        let located = locate(now, old, false).map_err(|_| NotPlaced::NotOnce)?;
        let [place] = &located.places[..] else { return Err(NotPlaced::NotOnce) };
        if located.rung != Rung::Exact {
            return Err(NotPlaced::NotOnce);
        }
        let mut at = 0;
        let mut touched: Vec<QuotedLine> = Vec::new();
        for (number, line) in lines(now).enumerate() {
            let own = at..at + line.len();
            at = own.end;
            if own.start >= place.range.end {
                break;
            }
            if own.end > place.range.start {
                let content = own.start + line.trim_end_matches(['\r', '\n']).len();
                let is_whole = place.range.start <= own.start && content <= place.range.end;
                touched.push(QuotedLine { number, is_whole });
            }
        }
        let (Some(first), Some(last)) = (touched.first(), touched.last()) else {
            return Err(NotPlaced::NotOnce);
        };
        let range = first.number..last.number + 1;
        let changed = self.pieces.iter().find_map(|piece| piece.changed_among(&touched));
        let changed = changed.ok_or(NotPlaced::NewLines)?;
        let gone: usize = self.pieces.iter().map(FoundLines::gone).sum();
        if gone == changed { Ok(range) } else { Err(NotPlaced::OthersGone) }
    }
}

/// A line of now in which a quoted text is.
struct QuotedLine {
    number: usize,
    /// Whether all of it is quoted.
    is_whole: bool,
}

impl FoundLines {
    /// Returns how many of the known lines are not in the text of now.
    fn gone(&self) -> usize {
        self.count - self.known.iter().flatten().count()
    }

    /// Returns how many of these lines are changed forms of known lines, if all others are known, and all are next to each
    /// other as they were. A changed line that is quoted whole is another line than the one that the model saw.
    fn changed_among(&self, quoted: &[QuotedLine]) -> Option<usize> {
        let mut changed = 0;
        let mut next: Option<usize> = None;
        for QuotedLine { number, is_whole } in quoted {
            let known = match self.known.get(*number)? {
                Some(known) => *known,
                None if *is_whole => return None,
                None => {
                    changed += 1;
                    self.form_of(*number)?
                }
            };
            if next.is_some_and(|next| next != known) {
                return None;
            }
            next = Some(known + 1);
        }
        Some(changed)
    }

    /// Returns the known line of which a line of now is the changed form: between known lines that are both there still, as
    /// many lines are new as are gone.
    fn form_of(&self, line: usize) -> Option<usize> {
        let (start, end) = self.span;
        let before = (start..line).rev().find_map(|at| Some((at + 1, self.known[at]? + 1)));
        let after = (line..end).find_map(|at| Some((at, self.known[at]?)));
        // At the edge of what was read, nothing says what belongs to it. The ends of a file do.
        let before = before.or((self.starts_file && start == 0).then_some((0, 0)))?;
        let after = after.or((self.ends_file && end == self.known.len()).then_some((end, self.count)))?;
        let (new, gone) = (before.0..after.0, before.1..after.1);
        (new.len() == gone.len()).then(|| gone.start + (line - new.start))
    }
}
