//! Hunks: the reviewable groups of lines of a change, and their place in the current text.
//!
//! Proposed and applied edits use the same hunks. Never touches a file.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use similar::DiffOp;

use crate::text::edit::{line_diff, lines};
use interned::{Interner, LineIndex};
use place::places_with_context;

mod git;
mod interned;
mod landing;
mod place;
#[cfg(test)]
mod tests;
mod unified;

pub use git::{git_deletion, git_diff, git_move};
pub use landing::{presence_of_cut_short, present_together};
pub use place::{
    ConflictReport, HunkConflict, Placement, Presence, apply_hunks, follow, has_in_context, placement,
    placement_all, present, present_all,
};
pub use unified::{deletion_diff, move_diff, unified_diff};

/// Lines of context on each side of a hunk.
pub const CONTEXT_LINES: usize = 3;

/// The most lines of context of a hunk whose surroundings repeat.
pub const WIDEST_CONTEXT: usize = 24;

/// The most lines that one call of [`hunks`] compares to choose wider contexts.
const WIDENING_BUDGET: usize = 20_000_000;

/// One reviewable group of lines. Lines keep their own line ends, so that the
/// concatenation is byte-exact. The last line of a file may have none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// Stable within its change set: `h1`, `h2`, ...
    pub id: String,
    /// The first removed line in the text that the hunk was made from, from zero.
    pub line: usize,
    pub removed: Vec<String>,
    pub inserted: Vec<String>,
    pub context_before: Vec<String>,
    pub context_after: Vec<String>,
}

impl Hunk {
    /// Whether it neither removes nor inserts a line: it creates an empty file.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.inserted.is_empty()
    }

    /// Returns its lines, each after `-` or `+`.
    pub fn in_words(&self) -> String {
        let lines = |mark: char, lines: &[String]| {
            let line = |line: &String| format!("{mark}{}\n", line.trim_end_matches(['\n', '\r']));
            lines.iter().map(line).collect::<String>()
        };
        lines('-', &self.removed) + &lines('+', &self.inserted)
    }
}

/// Returns the hunks that turn one text into another, in order.
///
/// Changes fewer than [`CONTEXT_LINES`] lines apart are one hunk. So no hunk
/// changes a line of context, and context of fewer lines than
/// [`CONTEXT_LINES`] means that the hunk is at the start or the end of the
/// text. If three lines do not identify the place, or do not distinguish the
/// state before from the state after, the context grows up to
/// [`WIDEST_CONTEXT`] lines. For example, a blank line that is added among
/// blank lines has to be found again.
pub fn hunks(before: &str, after: &str) -> Vec<Hunk> {
    let old: Vec<&str> = lines(before).collect();
    let new: Vec<&str> = lines(after).collect();
    let changes = changes(&old, &new);
    let interner = Interner::of(changes.iter().flat_map(|change| change.searched(&old, &new)));
    hunks_of(&old, &new, &changes, &interner)
}

/// As [`hunks`], for these changes; `interner` has the lines that may be searched for.
fn hunks_of(old: &[&str], new: &[&str], changes: &[LineChange], interner: &Interner<'_>) -> Vec<Hunk> {
    let mut widening = Widening { old: interner.index(old), new: interner.index(new), lines: old, spent: 0 };
    let mut hunks = Vec::with_capacity(changes.len());
    for (index, change) in changes.iter().enumerate() {
        let from = index.checked_sub(1).map_or(0, |previous| changes[previous].old.end);
        let to = changes.get(index + 1).map_or(old.len(), |next| next.old.start);
        let (above, below) = widening.context(change, from..to);
        let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        hunks.push(Hunk {
            id: format!("h{}", index + 1),
            line: change.old.start,
            removed: owned(&old[change.old.clone()]),
            inserted: owned(&new[change.new.clone()]),
            context_before: owned(&old[above]),
            context_after: owned(&old[below]),
        });
    }
    hunks
}

/// Returns how many lines a change inserts and removes, for people: `+2 −1`, without a part that is zero.
pub fn plus_minus(inserted: usize, removed: usize) -> String {
    match (inserted, removed) {
        (0, 0) => "+0".to_owned(),
        (_, 0) => format!("+{inserted}"),
        (0, _) => format!("\u{2212}{removed}"),
        _ => format!("+{inserted} \u{2212}{removed}"),
    }
}

/// Returns the text that hunks make of the text for which they were made; `None` if it is another text.
///
/// Only this tells a text with hunks from one without them where lines repeat.
pub fn text_after(before: &str, hunks: &[Hunk]) -> Option<String> {
    let all: Vec<&str> = lines(before).collect();
    let (mut text, mut done) = (String::with_capacity(before.len()), 0);
    for hunk in hunks {
        let end = hunk.line.checked_add(hunk.removed.len())?;
        if all.get(hunk.line..end)? != hunk.removed.as_slice() {
            return None;
        }
        text.extend(all.get(done..hunk.line)?.iter().copied());
        text.extend(hunk.inserted.iter().map(String::as_str));
        done = end;
    }
    text.extend(all[done..].iter().copied());
    Some(text)
}

/// A changed range of lines in both texts.
struct LineChange {
    old: Range<usize>,
    new: Range<usize>,
}

impl LineChange {
    /// Returns its lines, and those around it that may be context.
    fn searched<'t>(&self, old: &[&'t str], new: &[&'t str]) -> impl Iterator<Item = &'t str> {
        let around =
            self.old.start.saturating_sub(WIDEST_CONTEXT)..old.len().min(self.old.end + WIDEST_CONTEXT);
        [&old[around], &new[self.new.clone()]].concat().into_iter()
    }
}

fn changes(old: &[&str], new: &[&str]) -> Vec<LineChange> {
    let mut changes: Vec<LineChange> = Vec::new();
    for op in line_diff(old, new).iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
        match changes.last_mut() {
            Some(last) if op.old_range().start - last.old.end < CONTEXT_LINES => {
                last.old.end = op.old_range().end;
                last.new.end = op.new_range().end;
            }
            _ => changes.push(LineChange { old: op.old_range(), new: op.new_range() }),
        }
    }
    changes
}

/// Whether a line has a letter or a digit.
fn has_word(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

/// Chooses how much context each hunk needs.
struct Widening<'t> {
    old: LineIndex,
    new: LineIndex,
    /// The old lines.
    lines: &'t [&'t str],
    /// How many lines were compared.
    spent: usize,
}

impl Widening<'_> {
    /// Returns the lines of context above and below, within the unchanged lines of `free`.
    fn context(&mut self, change: &LineChange, free: Range<usize>) -> (Range<usize>, Range<usize>) {
        let sides = |width: usize| {
            let above = free.start.max(change.old.start.saturating_sub(width))..change.old.start;
            let below = change.old.end..free.end.min(change.old.end + width);
            (above, below)
        };
        let mut width = CONTEXT_LINES;
        while width <= WIDEST_CONTEXT && self.spent < WIDENING_BUDGET {
            let (above, below) = sides(width);
            let named = self.names_a_place(&above) || self.names_a_place(&below);
            if named && self.is_unique(change, &above, &below) {
                return (above, below);
            }
            let all = above.start == free.start && below.end == free.end;
            width = if all { usize::MAX } else { width * 2 };
        }
        sides(CONTEXT_LINES)
    }

    /// Whether any of these lines has a word. Blank lines and brackets are in every function.
    fn names_a_place(&self, lines: &Range<usize>) -> bool {
        self.lines.get(lines.clone()).is_some_and(|lines| lines.iter().any(|line| has_word(line)))
    }

    /// Whether each state occurs once in its own text and never in the other.
    fn is_unique(&mut self, change: &LineChange, above: &Range<usize>, below: &Range<usize>) -> bool {
        let (old, new) = (&self.old, &self.new);
        let (above, below) = (&old.ids()[above.clone()], &old.ids()[below.clone()]);
        let (removed, inserted) = (&old.ids()[change.old.clone()], &new.ids()[change.new.clone()]);
        let mut spent = 0;
        let mut at_most = |text: &LineIndex, block: &[u32], most: usize| {
            // Most hunks have a rare line, so that no search is needed.
            let mut lines = above.iter().chain(block).chain(below);
            if lines.any(|line| text.lines_of(*line).len() <= most) {
                return true;
            }
            spent += text.ids().len();
            places_with_context(text, above, block, below).len() <= most
        };
        let is_unique = at_most(old, removed, 1)
            && at_most(new, inserted, 1)
            && at_most(new, removed, 0)
            && at_most(old, inserted, 0);
        self.spent += spent;
        is_unique
    }
}
