//! Where an undone hunk is made again: only where it can be undone again, and where no other hunk is lost by it.

use std::collections::BTreeSet;
use std::ops::Range;

use super::ground::undone_grounds;
use super::{HunkNumber, HunkText, PastChange, Side, Trace, TracedText, trace_back, trace_whole};
use crate::text::edit::{joined, lines};

/// Returns the lines that an undone hunk takes the place of when it is made again, or the undone hunk that has to be restored
/// first. `trace` is where it is.
///
/// At one boundary there may be lines of later changes, and the text does not say on which side of them it belongs. There, the
/// first side counts that leaves every other hunk as it is. If none does, it is the one that the comparison of the texts found.
pub(super) fn restored_place(
    text: &str,
    changes: &[PastChange<'_>],
    (number, hunk): HunkNumber,
    trace: &Trace,
) -> Result<Range<usize>, HunkNumber> {
    let past = &changes[number].hunks[hunk];
    // Text of the user in its place goes.
    let without = with_lines(text, &trace.lines, &past.side(Side::Before));
    let before = trace_back(&without, changes, &BTreeSet::new());
    let mut then = changes.to_vec();
    then[number].hunks[hunk].expected = Side::After;
    let is_possible = |place: &Range<usize>| {
        let made = with_lines(text, place, &past.side(Side::After));
        let after = trace_back(&made, &then, &BTreeSet::new());
        after.earliest == before.earliest && are_found_as(&after, &before, (number, hunk))
    };
    match places(&before, trace).into_iter().find(is_possible) {
        Some(place) => Ok(place),
        None => undone_ground(text, changes, (number, hunk)).map_or(Ok(trace.lines.clone()), Err),
    }
}

/// Returns the undone hunk that has to be restored before a hunk of a later change, if there is one.
pub(super) fn undone_ground(text: &str, changes: &[PastChange<'_>], hunk: HunkNumber) -> Option<HunkNumber> {
    let grounds = undone_grounds(&trace_whole(text, changes), changes, hunk);
    grounds.iter().find(|ground| ground.is_replaced).or(grounds.first()).map(|ground| ground.hunk)
}

/// Returns the places that a hunk may have: where it is, and if that is between two lines, behind each block of lines of
/// another hunk that begins there.
fn places(traced: &TracedText<'_>, trace: &Trace) -> Vec<Range<usize>> {
    let mut places = vec![trace.lines.clone()];
    if !trace.lines.is_empty() {
        return places;
    }
    let is_made = |trace: &&Trace| trace.found == HunkText::Is(Side::After) && !trace.lines.is_empty();
    let mut at = trace.lines.end;
    while let Some(next) = traced.all.iter().flatten().filter(is_made).find(|trace| trace.lines.start == at) {
        at = next.lines.end;
        places.push(at..at);
    }
    places
}

/// Whether all hunks but one are found in one text as in another.
fn are_found_as(one: &TracedText<'_>, other: &TracedText<'_>, but: HunkNumber) -> bool {
    let mut pairs = one.all.iter().zip(&other.all).enumerate();
    pairs.all(|(change, (one, other))| {
        let mut pairs = one.iter().zip(other).enumerate();
        pairs.all(|(hunk, (one, other))| (change, hunk) == but || one.found == other.found)
    })
}

/// Returns a text with other lines in a place. A line that was the last one may have no line end.
fn with_lines(text: &str, place: &Range<usize>, new: &[&str]) -> String {
    let all: Vec<&str> = lines(text).collect();
    let (above, below) = (&all[..place.start], &all[place.end..]);
    joined(above.iter().chain(new).chain(below).copied(), text)
}
