//! The hunks of later changes that stay in a text while an earlier change is undone from beneath them.
//!
//! Never chooses among equal lines: if the text without the earlier hunk would not show where a later one belongs, it says so.

use std::collections::BTreeSet;
use std::ops::Range;

use super::{HunkNumber, HunkText, PastChange, Side, Trace, TracedText, trace_back};
use crate::text::edit::lines;

/// The hunks of later changes that a text has.
pub(super) struct LaterHunks<'a> {
    traced: TracedText<'a>,
    /// In the order of their changes.
    hunks: Vec<HunkNumber>,
}

impl<'a> LaterHunks<'a> {
    /// Returns the hunks of the changes after this one; `None` if the text has none of them. It surely has none that is
    /// `absent`.
    pub(super) fn of(
        text: &'a str,
        changes: &[PastChange<'a>],
        number: usize,
        absent: &BTreeSet<HunkNumber>,
    ) -> Option<Self> {
        let is_expected =
            |change: &PastChange<'_>| change.hunks.iter().any(|past| past.expected == Side::After);
        if !changes.get(number + 1..)?.iter().any(is_expected) {
            return None;
        }
        let traced = trace_back(text, changes, absent);
        let is_there =
            |trace: &Trace| matches!(trace.found, HunkText::Is(Side::After) | HunkText::Amended { .. });
        let later = traced.all.iter().enumerate().skip(number + 1);
        let hunks = later.flat_map(|(change, traces)| {
            let there = traces.iter().enumerate().filter(|(_, trace)| is_there(trace));
            there.map(move |(hunk, _)| (change, hunk)).filter(|hunk| !absent.contains(hunk))
        });
        let hunks: Vec<HunkNumber> = hunks.collect();
        (!hunks.is_empty()).then_some(Self { traced, hunks })
    }

    /// Returns where the hunks of a change are in the text.
    pub(super) fn traces(&self, number: usize) -> Vec<Trace> {
        self.traced.all[number].clone()
    }

    /// Whether the later hunks are still found in this text, in which hunks of an earlier change are undone, and found where
    /// they were: undone as well, they leave the same text.
    pub(super) fn stay_found(
        &self,
        text: &str,
        changes: &[PastChange<'_>],
        (number, undone): (usize, &[usize]),
    ) -> bool {
        let mut changes = changes.to_vec();
        undone.iter().for_each(|hunk| changes[number].hunks[*hunk].expected = Side::Before);
        let now = trace_back(text, &changes, &BTreeSet::new());
        let is_found = |(change, hunk): &HunkNumber| {
            now.all[*change][*hunk].found == self.traced.all[*change][*hunk].found
        };
        // A line end may be there only because of a line below.
        let content = |line: &&'_ str| line.trim_end_matches(['\r', '\n']).len();
        let is_same = |(one, other): (&&str, &&str)| one[..content(one)] == other[..content(other)];
        let are_same =
            |one: &[&str], other: &[&str]| one.len() == other.len() && one.iter().zip(other).all(is_same);
        let all: Vec<&str> = lines(text).collect();
        let is_undone = |hunk: &usize| {
            let trace = &now.all[number][*hunk];
            let removed = changes[number].hunks[*hunk].side(Side::Before);
            match trace.found {
                HunkText::Is(side) => side == Side::Before,
                HunkText::Gone => true,
                HunkText::Amended { .. } => {
                    all.get(trace.lines.clone()).is_some_and(|there| are_same(there, &removed))
                }
            }
        };
        self.hunks.iter().all(is_found)
            && undone.iter().all(is_undone)
            && are_same(&now.earliest, &self.traced.earliest)
    }

    /// Returns the hunk that is nearest to these lines.
    pub(super) fn nearest(&self, lines: &Range<usize>) -> HunkNumber {
        let distance = |(change, hunk): &HunkNumber| {
            let own = &self.traced.all[*change][*hunk].lines;
            own.start.saturating_sub(lines.end).max(lines.start.saturating_sub(own.end))
        };
        self.hunks.iter().copied().min_by_key(distance).unwrap_or_default()
    }
}
