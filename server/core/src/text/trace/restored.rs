//! Where undone hunks are made again: only where they can be undone again, and where no other hunk is lost by it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::align::Alignment;
use super::ground::undone_grounds;
use super::{
    ExpectedText, HunkNumber, HunkText, PastChange, Side, Trace, TracedText, trace_back, trace_whole,
};
use crate::text::edit::{joined, lines};

/// Returns for hunks of one change the undone hunk that has to be restored before each of them, if there is one: then the text
/// does not have all that the hunk was made on, and undone again, the hunk would leave lines of that one or a wrong order.
pub(super) fn undone_ground(
    text: &str,
    changes: &[PastChange<'_>],
    number: usize,
    hunks: &[usize],
) -> BTreeMap<usize, HunkNumber> {
    if hunks.is_empty() {
        return BTreeMap::new();
    }
    let mut found = BTreeMap::new();
    for (hunk, grounds) in undone_grounds(&trace_whole(text, changes), changes, number, hunks) {
        let ground = grounds.iter().find(|ground| ground.is_replaced).or(grounds.first());
        found.extend(ground.map(|ground| (hunk, ground.hunk)));
    }
    found
}

/// Finds the lines that undone hunks of one change take the place of when they are made again. `traces` is where they are, and
/// gets the places.
///
/// At one boundary there may be lines of other changes, and the place of the hunk alone does not say on which side of them it
/// belongs. There, the side counts on which no other hunk is lost, and of two such the one where the text is more like the texts of
/// this change and the later ones. If there is none, it stays where the comparison of the texts found it.
pub(super) fn find_places(
    text: &str,
    changes: &[PastChange<'_>],
    number: usize,
    hunks: &[usize],
    traces: &mut [Trace],
) {
    let all = trace_whole(text, changes);
    for hunk in hunks {
        let places = places(&all, &traces[*hunk]);
        if places.len() < 2 {
            continue;
        }
        let mut then = changes.to_vec();
        then[number].hunks[*hunk].expected = Side::After;
        let before = trace_back(text, changes, &BTreeSet::new());
        let mut best = None;
        for place in places {
            let made = with_lines(text, &place, &changes[number].hunks[*hunk].side(Side::After));
            let after = trace_back(&made, &then, &BTreeSet::new());
            if after.earliest != before.earliest || !are_found_as(&after, &before, (number, *hunk)) {
                continue;
            }
            let likeness = likeness(&made, &then[number..]);
            if best.as_ref().is_none_or(|(most, _)| likeness > *most) {
                best = Some((likeness, place));
            }
        }
        if let Some((_, place)) = best {
            traces[*hunk].lines = place;
        }
    }
}

/// Returns how many lines a text has in common with the texts that changes left, as they are known.
fn likeness(text: &str, changes: &[PastChange<'_>]) -> usize {
    let text: Vec<&str> = lines(text).collect();
    let of = |change: &PastChange<'_>| {
        let expected = ExpectedText::of(change.before?, &change.hunks)?;
        Some(Alignment::of(&expected.lines, &text).equal_lines())
    };
    changes.iter().filter_map(of).sum()
}

/// Returns the places that a hunk may have: where it is, and if that is between two lines, behind each block of lines of
/// another hunk that begins there.
fn places(all: &[Vec<Trace>], trace: &Trace) -> Vec<Range<usize>> {
    let mut places = vec![trace.lines.clone()];
    if !trace.lines.is_empty() {
        return places;
    }
    let is_made = |trace: &&Trace| trace.found == HunkText::Is(Side::After) && !trace.lines.is_empty();
    let mut at = trace.lines.end;
    while let Some(next) = all.iter().flatten().filter(is_made).find(|trace| trace.lines.start == at) {
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
