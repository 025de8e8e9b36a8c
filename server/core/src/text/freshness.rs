//! Whether an edit replaces lines as the model saw them, although the file may have changed since.
//!
//! Knows lines only by their hashes. Never says what changed, and never touches a file.

mod quoted;

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use similar::DiffOp;

use crate::text::edit::{BOM, line_diff, lines};
use crate::text::review::Hunk;

pub use quoted::NotPlaced;

/// The first 48 bits of the SHA-256 of a line without its line end and without a byte order mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LineHash(u64);

/// How many hexadecimal digits a hash has in the log.
const DIGITS: usize = 12;

impl LineHash {
    /// Returns the hash of a line, with or without its line end.
    pub fn of(line: &str) -> Self {
        let line = line.strip_prefix(BOM).unwrap_or(line).trim_end_matches(['\r', '\n']);
        let digest = Sha256::digest(line.as_bytes());
        Self(digest.iter().take(DIGITS / 2).fold(0, |hash, byte| hash << 8 | u64::from(*byte)))
    }
}

/// Returns the hashes of the lines of a text.
pub fn line_hashes(text: &str) -> Vec<LineHash> {
    lines(text).map(LineHash::of).collect()
}

/// Consecutive lines of a file, as the model knows them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownLines {
    /// The first of them, from zero. It is where they were seen: lines before them may have come or gone since.
    pub first: usize,
    /// Whether the file ended with them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub to_end: bool,
    #[serde(serialize_with = "in_hex", deserialize_with = "from_hex")]
    pub hashes: Vec<LineHash>,
}

fn in_hex<S: Serializer>(hashes: &[LineHash], to: S) -> Result<S::Ok, S::Error> {
    struct Hex<'a>(&'a [LineHash]);
    impl fmt::Display for Hex<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.iter().try_for_each(|LineHash(hash)| write!(f, "{hash:0DIGITS$x}"))
        }
    }
    to.collect_str(&Hex(hashes))
}

fn from_hex<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<LineHash>, D::Error> {
    let text = String::deserialize(from)?;
    let hash = |digits: &[u8]| {
        let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.len() == DIGITS)?;
        u64::from_str_radix(digits, 16).ok().map(LineHash)
    };
    let hashes: Option<Vec<LineHash>> = text.as_bytes().chunks(DIGITS).map(hash).collect();
    hashes.ok_or_else(|| D::Error::custom("the hashes of lines are not groups of 12 hexadecimal digits"))
}

impl KnownLines {
    /// Whether a file has these lines next to each other, and at its start and its end if they were there.
    pub fn stand_in(&self, now: &[LineHash]) -> bool {
        self.hashes.is_empty() && !self.are_whole() || self.place_in(now).is_some()
    }

    /// Returns where a file has these lines next to each other; of several places the one nearest to where they were seen.
    /// Lines that were at the start or the end of the file have to be there.
    fn place_in(&self, now: &[LineHash]) -> Option<usize> {
        let count = self.hashes.len();
        let last = now.len().checked_sub(count)?;
        let has = |at: &usize| now[*at..*at + count] == self.hashes[..];
        match (self.first == 0, self.to_end) {
            (true, true) => Some(0).filter(|_| last == 0).filter(has),
            (true, false) => Some(0).filter(has),
            (false, true) => Some(last).filter(has),
            (false, false) => (0..=last).filter(has).min_by_key(|at| at.abs_diff(self.first)),
        }
    }

    /// Whether they are the whole file.
    pub fn are_whole(&self) -> bool {
        self.first == 0 && self.to_end
    }

    /// Removes the lines that a newer look at `other` shows, by their numbers, and returns what is left: at most two
    /// pieces.
    #[must_use]
    pub fn without(self, other: &KnownLines) -> Vec<KnownLines> {
        let end = self.first + self.hashes.len();
        let (from, to) = (other.first, other.first + other.hashes.len());
        if from >= end && !(self.to_end && other.to_end) || !other.to_end && to <= self.first {
            return vec![self];
        }
        let mut left = Vec::new();
        if self.first < from {
            let hashes = self.hashes[..from.min(end) - self.first].to_vec();
            left.push(KnownLines { first: self.first, to_end: false, hashes });
        }
        if to < end && !other.to_end {
            let hashes = self.hashes[to.max(self.first) - self.first..].to_vec();
            left.push(KnownLines { first: to.max(self.first), to_end: self.to_end, hashes });
        }
        left
    }

    /// Replaces lines as an edit did. `before` are the lines next to the replaced ones before them, `after` those after
    /// them, `line` is the number of the first replaced line. Returns whether it knew the place.
    ///
    /// If several places look alike, it is the one nearest to `line`. Only a place at exactly this line may reach beyond
    /// the known lines.
    pub fn replace(&mut self, edit: &LineEdit<'_>) -> bool {
        let LineEdit { line, before, removed, inserted, after } = *edit;
        let pattern: Vec<LineHash> = [before, removed, after].concat();
        let known = isize::try_from(self.hashes.len()).unwrap_or(isize::MAX);
        let signed = |number: usize| isize::try_from(number).unwrap_or(isize::MAX);
        let expected = signed(line) - signed(before.len()) - signed(self.first);
        let fits = |at: isize| {
            let mut overlap = 0;
            let agree = pattern.iter().enumerate().all(|(index, hash)| {
                let place = at + signed(index);
                if place < 0 || place >= known {
                    return true;
                }
                overlap += 1;
                usize::try_from(place).is_ok_and(|place| self.hashes.get(place) == Some(hash))
            });
            // A file without lines has only this place.
            agree && (overlap > 0 || pattern.is_empty() && known == 0)
        };
        let whole = 0..=known - signed(pattern.len());
        let inner = whole.filter(|at| *at != expected && !pattern.is_empty() && fits(*at));
        let place = match fits(expected) {
            true => Some(expected),
            false => inner.min_by_key(|at| at.abs_diff(expected)),
        };
        let Some(place) = place else {
            if line + removed.len() <= self.first {
                self.first = (self.first + inserted.len()).saturating_sub(removed.len());
            }
            return false;
        };
        let start = place + signed(before.len());
        let end = start + signed(removed.len());
        if end < 0 {
            self.first = (self.first + inserted.len()).saturating_sub(removed.len());
        }
        if end < 0 || start > known {
            // Between the edit and these lines is one that the model does not know.
            return false;
        }
        let clamp = |at: isize| usize::try_from(at.clamp(0, known)).unwrap_or_default();
        self.hashes.splice(clamp(start)..clamp(end), inserted.iter().copied());
        self.first -= usize::try_from(-start).unwrap_or_default().min(self.first);
        true
    }
}

/// An edit of lines, by their hashes.
#[derive(Clone, Copy, Debug)]
pub struct LineEdit<'a> {
    pub line: usize,
    pub before: &'a [LineHash],
    pub removed: &'a [LineHash],
    pub inserted: &'a [LineHash],
    pub after: &'a [LineHash],
}

/// What the model knows of the lines that a hunk replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// They are as the model saw them.
    Known,
    /// The model saw other lines in this place.
    Changed,
    /// The model was never shown this place.
    Unread,
}

/// Lines that the model knows, found again in the text of now.
pub struct KnownText {
    pieces: Vec<FoundLines>,
    now: usize,
    stands: bool,
}

/// One piece of known lines in the text of now.
struct FoundLines {
    count: usize,
    /// For each line of now, which of the known lines it is.
    known: Vec<Option<usize>>,
    /// Where the piece begins and ends now.
    span: (usize, usize),
    /// Whether the file began and ended with it.
    starts_file: bool,
    ends_file: bool,
}

impl KnownText {
    /// Compares what the model knows of a file with its lines of now.
    pub fn of<'a>(known: impl IntoIterator<Item = &'a KnownLines>, now: &[LineHash]) -> Self {
        let known: Vec<&KnownLines> = known.into_iter().collect();
        let stands = known.iter().all(|known| known.stand_in(now));
        let pieces = known.into_iter().map(|known| FoundLines::of(known, now)).collect();
        Self { pieces, now: now.len(), stands }
    }

    /// Whether the file has all lines that the model knows.
    pub fn stands(&self) -> bool {
        self.stands
    }

    /// Returns what the model knows of the lines that a hunk removes, or of the places at which it only inserts. Lines of the
    /// hunk that stay do not count.
    pub fn freshness(&self, hunk: &Hunk) -> Freshness {
        self.freshness_beyond(hunk, &[])
    }

    /// The same, without what is replaced in these lines of now.
    pub fn freshness_beyond(&self, hunk: &Hunk, placed: &[Range<usize>]) -> Freshness {
        let is_placed =
            |run: &Range<usize>| placed.iter().any(|lines| lines.start <= run.start && run.end <= lines.end);
        let runs =
            changed_runs(hunk).into_iter().filter(|run| !is_placed(run)).map(|run| self.freshness_of(run));
        let rank = |freshness: &Freshness| match freshness {
            Freshness::Known => 0,
            Freshness::Unread => 1,
            Freshness::Changed => 2,
        };
        runs.max_by_key(rank).unwrap_or(Freshness::Known)
    }

    /// The same for lines of now that are replaced; an empty range is a place between two lines.
    fn freshness_of(&self, Range { start: from, end: to }: Range<usize>) -> Freshness {
        let is_known = if from < to {
            self.covers(from, to)
        } else {
            // An insertion removes nothing: one known neighbour says where it is meant.
            let neighbours = from.saturating_sub(1)..(from + 1).min(self.now);
            let is_empty = |piece: &FoundLines| piece.count == 0 && self.now == 0;
            neighbours.into_iter().any(|line| self.covers(line, line + 1)) || self.pieces.iter().any(is_empty)
        };
        let is_in = |piece: &FoundLines| {
            let (start, end) = piece.span;
            if from < to { from < end && to > start } else { start <= from && from <= end }
        };
        match (is_known, self.pieces.iter().any(is_in)) {
            (true, _) => Freshness::Known,
            (false, true) => Freshness::Changed,
            (false, false) => Freshness::Unread,
        }
    }

    /// Whether these lines of now are known lines that are still next to each other. Where one piece ends, another may go
    /// on from its start.
    fn covers(&self, from: usize, to: usize) -> bool {
        let mut open = vec![(from, false)];
        let mut tried = BTreeSet::new();
        while let Some((at, at_start)) = open.pop() {
            if at >= to {
                return true;
            }
            if !tried.insert(at) {
                continue;
            }
            for piece in &self.pieces {
                let Some(first) = piece.known.get(at).copied().flatten() else { continue };
                if at_start && first != 0 {
                    continue;
                }
                let run = (at..to)
                    .zip(first..)
                    .take_while(|(line, known)| piece.known.get(*line) == Some(&Some(*known)));
                let run = run.count();
                if at + run == to || first + run == piece.count {
                    open.push((at + run, true));
                }
            }
        }
        false
    }
}

/// Returns the lines of now that a hunk really replaces: two changes close to each other are one hunk, with the lines between
/// them.
fn changed_runs(hunk: &Hunk) -> Vec<Range<usize>> {
    let changes = line_diff(&hunk.removed, &hunk.inserted).into_iter();
    let changes = changes.filter(|change| !matches!(change, DiffOp::Equal { .. }));
    let at = |range: Range<usize>| hunk.line + range.start..hunk.line + range.end;
    changes.map(|change| at(change.old_range())).collect()
}

impl FoundLines {
    fn of(known: &KnownLines, now: &[LineHash]) -> Self {
        let mut found = vec![None; now.len()];
        let mut note = |old: usize, new: usize, count: usize| {
            for offset in 0..count {
                found[new + offset] = Some(old + offset);
            }
        };
        match known.place_in(now) {
            // Nothing came between them: what a diff would find, without its time.
            Some(at) => note(0, at, known.hashes.len()),
            None => {
                for op in line_diff(&known.hashes, now) {
                    if let DiffOp::Equal { old_index, new_index, len } = op {
                        note(old_index, new_index, len);
                    }
                }
            }
        }
        let first = found.iter().position(Option::is_some);
        let last = found.iter().rposition(Option::is_some);
        let (start, end) = match (first, last) {
            (Some(first), Some(last)) => (first, last + 1),
            // Nothing is left of them, so only their numbers say where they were.
            _ => (known.first.min(now.len()), (known.first + known.hashes.len()).min(now.len())),
        };
        let start = if known.first == 0 { 0 } else { start };
        let end = if known.to_end { now.len() } else { end };
        let (starts_file, ends_file) = (known.first == 0, known.to_end);
        Self { count: known.hashes.len(), known: found, span: (start, end), starts_file, ends_file }
    }
}

#[cfg(test)]
mod tests;
