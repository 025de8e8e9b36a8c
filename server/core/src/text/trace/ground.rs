//! The earlier hunks on or beside which a hunk was made: a function of the text before its change.

use std::collections::{BTreeMap, BTreeSet};

use super::{HunkNumber, HunkText, PastChange, Side, Trace, trace_without};
use crate::text::review::Hunk;

/// A hunk of an earlier change, on or beside which a later hunk was made.
pub(super) struct Ground {
    pub(super) hunk: HunkNumber,
    /// Whether the later hunk replaced some of its lines.
    pub(super) is_replaced: bool,
}

/// Returns the undone hunks that a text seems to have, if they were made on or beside other undone hunks.
pub(super) fn made_again(
    all: &[Vec<Trace>],
    changes: &[PastChange<'_>],
) -> BTreeMap<HunkNumber, Vec<Ground>> {
    let mut made_again = BTreeMap::new();
    for (number, change) in changes.iter().enumerate() {
        let is_back = |hunk: &usize| {
            change.hunks[*hunk].expected == Side::Before
                && all[number][*hunk].found == HunkText::Is(Side::After)
        };
        let back: Vec<usize> = (0..change.hunks.len()).filter(is_back).collect();
        for (hunk, mut grounds) in grounds(changes, number, &back) {
            grounds.retain(|ground| changes[ground.hunk.0].hunks[ground.hunk.1].expected == Side::Before);
            if !grounds.is_empty() {
                made_again.insert((number, hunk), grounds);
            }
        }
    }
    made_again
}

/// Returns for hunks of one change the undone hunks that the text does not have and on or beside which they were made. `all` is
/// where all hunks are.
pub(super) fn undone_grounds(
    all: &[Vec<Trace>],
    changes: &[PastChange<'_>],
    number: usize,
    hunks: &[usize],
) -> Vec<(usize, Vec<Ground>)> {
    let is_out = |ground: &Ground| {
        let (change, hunk) = ground.hunk;
        changes[change].hunks[hunk].expected == Side::Before
            && all[change][hunk].found != HunkText::Is(Side::After)
    };
    let mut grounds = grounds(changes, number, hunks);
    grounds.iter_mut().for_each(|(_, grounds)| grounds.retain(is_out));
    grounds
}

/// Returns the grounds of hunks of one change. None if the text before it is not kept any more.
fn grounds(changes: &[PastChange<'_>], number: usize, hunks: &[usize]) -> Vec<(usize, Vec<Ground>)> {
    let Some(before) = changes[number].before.filter(|_| !hunks.is_empty()) else { return Vec::new() };
    let earlier = trace_without(before, &changes[..number], &BTreeSet::new()).all;
    let of = |hunk: usize| {
        let Hunk { line, removed, .. } = changes[number].hunks[hunk].hunk;
        let own = *line..*line + removed.len();
        let mut grounds = Vec::new();
        for (change, traces) in earlier.iter().enumerate() {
            for (other, trace) in traces.iter().enumerate() {
                let (start, end) = (own.start.max(trace.lines.start), own.end.min(trace.lines.end));
                if trace.found == HunkText::Is(Side::After) && start <= end {
                    grounds.push(Ground { hunk: (change, other), is_replaced: start < end });
                }
            }
        }
        (hunk, grounds)
    };
    hunks.iter().map(|hunk| of(*hunk)).collect()
}
