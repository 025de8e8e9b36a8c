//! Where the hunks of changes that were applied once are in the text of now: a function of the texts alone.
//!
//! Never believes a line number of an earlier text, so that every editor and every process finds the same places.

mod align;
mod differing;
mod earlier;
mod formatting;
mod ground;
mod later;
mod restored;
mod seen;
mod side;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ops::Range;

use crate::text::edit::lines;
use crate::text::review::{Hunk, Placement, Presence, placement, present};
use align::Alignment;
use differing::DifferingPart;
use earlier::EarlierText;
use ground::{Ground, made_again, undone_grounds};

pub use formatting::{Formatting, formatting};
pub use seen::undone_as_seen;
pub use side::{SideRefusal, SideTarget, TurnedHunk, TurnedText, UserText, turn, with_side};

/// One of the two texts of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The removed lines.
    Before,
    /// The inserted lines.
    After,
}

/// A change of one file that was applied once.
#[derive(Clone, Debug)]
pub struct PastChange<'a> {
    /// The text for which the change was made; `None` if it is not kept any more.
    pub before: Option<&'a str>,
    /// In the order of their lines.
    pub hunks: Vec<PastHunk<'a>>,
}

/// A hunk of a past change.
#[derive(Clone, Copy, Debug)]
pub struct PastHunk<'a> {
    pub hunk: &'a Hunk,
    /// What a formatter made of the inserted lines when the edit was saved; they count as inserted.
    pub formatted: Option<&'a str>,
    /// The text that took the place of the inserted lines, if the user changed them and it was recorded.
    pub amended: Option<&'a str>,
    /// The side that was last known to be in the text. It only helps to compare; the text decides.
    pub expected: Side,
}

impl<'a> PastHunk<'a> {
    /// Returns the lines of one side.
    pub fn side(&self, side: Side) -> Vec<&'a str> {
        match (side, self.amended.or(self.formatted)) {
            (Side::Before, _) => self.hunk.removed.iter().map(String::as_str).collect(),
            (Side::After, Some(text)) => lines(text).collect(),
            (Side::After, None) => self.hunk.inserted.iter().map(String::as_str).collect(),
        }
    }
}

/// What the text has at the place of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HunkText {
    /// Exactly one side.
    Is(Side),
    /// Other lines. `others` is how many of them are not lines of the hunk.
    Amended { others: usize },
    /// The place is not in the text: neither the lines of the hunk nor those around it.
    Gone,
}

/// The number of a change among those of its file, and of one of its hunks.
pub type HunkNumber = (usize, usize);

/// Where a hunk is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    pub found: HunkText,
    /// The lines of its place, from zero; empty between two lines if nothing is there.
    pub lines: Range<usize>,
    /// The hunks of later changes that replaced lines of it.
    pub beneath: Vec<HunkNumber>,
}

impl Trace {
    const GONE: Trace = Trace { found: HunkText::Gone, lines: 0..0, beneath: Vec::new() };
}

/// Returns where the hunks of past changes of one file are, for each change in order. `changes` begins with the oldest.
///
/// A later change may replace lines of an earlier one. So the latest is found first, and the others in the text that
/// it would leave if it were undone.
///
/// A change that takes an earlier one back leaves the same text as neither of them, and no text tells the two apart. If both
/// were undone when last known, they still are, and the later one has no place. Nor has any other change that was undone, if
/// lines that it replaced are those of one that is undone, too.
pub fn trace_all(now: &str, changes: &[PastChange<'_>]) -> Vec<Vec<Trace>> {
    match DifferingPart::of(now, changes) {
        Some(part) => part.whole(trace_whole(part.now[1], &part.changes())),
        None => trace_whole(now, changes),
    }
}

/// As [`trace_all`], and compares all lines of the texts.
fn trace_whole(now: &str, changes: &[PastChange<'_>]) -> Vec<Vec<Trace>> {
    trace_back(now, changes, &BTreeSet::new()).all
}

/// Where all hunks are in a text, and what is left of it without them.
struct TracedText<'a> {
    /// For each change in order.
    all: Vec<Vec<Trace>>,
    /// The lines of the text that is left when all hunks that it has are taken out.
    earliest: Vec<&'a str>,
}

/// As [`trace_whole`], with the text that is left. The hunks that are `absent` are not in the text, whatever it looks like.
fn trace_back<'a>(now: &'a str, changes: &[PastChange<'a>], absent: &BTreeSet<HunkNumber>) -> TracedText<'a> {
    let mut traced = trace_doubtful(now, changes, absent);
    let mut without_ground: Vec<HunkNumber> = Vec::new();
    for (number, change) in changes.iter().enumerate() {
        let has_others = |hunk: &usize| {
            change.hunks[*hunk].expected == Side::Before
                && matches!(traced.all[number][*hunk].found, HunkText::Amended { .. })
        };
        let others: Vec<usize> = (0..change.hunks.len()).filter(has_others).collect();
        for (hunk, grounds) in undone_grounds(&traced.all, changes, number, &others) {
            if grounds.iter().any(|ground| ground.is_replaced) {
                without_ground.push((number, hunk));
            }
        }
    }
    for (number, hunk) in without_ground {
        traced.all[number][hunk] = Trace::GONE;
    }
    traced
}

/// As [`trace_back`], also for lines that replaced others which are not in the text.
fn trace_doubtful<'a>(
    now: &'a str,
    changes: &[PastChange<'a>],
    absent: &BTreeSet<HunkNumber>,
) -> TracedText<'a> {
    if let Some(first) = undone_from(now, changes) {
        return trace_undone(now, changes, first);
    }
    let traced = trace_without(now, changes, absent);
    let all = &traced.all;
    let mut in_doubt = made_again(all, changes);
    in_doubt.retain(|hunk, _| !absent.contains(hunk));
    if in_doubt.is_empty() {
        return traced;
    }
    let mut others = trace_without(now, changes, &in_doubt.keys().chain(absent).copied().collect());
    let is_of_ground = |hunk: &HunkNumber, ground: &Ground| {
        let (place, other) = (&all[hunk.0][hunk.1].lines, &others.all[ground.hunk.0][ground.hunk.1]);
        let is_same_place = place.start.max(other.lines.start) < place.end.min(other.lines.end);
        other.found == HunkText::Is(Side::Before) && (is_same_place || place.is_empty() && ground.is_replaced)
    };
    let no_place =
        in_doubt.iter().filter(|(hunk, grounds)| grounds.iter().any(|ground| is_of_ground(hunk, ground)));
    let no_place: BTreeSet<HunkNumber> = no_place.map(|(hunk, _)| *hunk).collect();
    if no_place.len() < in_doubt.len() {
        others = trace_without(now, changes, &no_place.union(absent).copied().collect());
    }
    for (change, hunk) in no_place {
        others.all[change][hunk] = Trace::GONE;
    }
    others
}

/// Returns the number of the oldest change for which this text was made, if it and all later ones are undone.
fn undone_from(now: &str, changes: &[PastChange<'_>]) -> Option<usize> {
    let is_undone = |change: &PastChange<'_>| change.hunks.iter().all(|past| past.expected == Side::Before);
    let undone = changes.iter().rev().take_while(|change| is_undone(change)).count();
    (changes.len() - undone..changes.len()).find(|number| changes[*number].before == Some(now))
}

/// As [`trace_all`], for a text that has nothing of the changes from `first` on, also where it looks as if.
fn trace_undone<'a>(now: &'a str, changes: &[PastChange<'a>], first: usize) -> TracedText<'a> {
    let hunks = |number: usize| (0..changes[number].hunks.len()).map(move |hunk| (number, hunk));
    let absent: BTreeSet<HunkNumber> = (first..changes.len()).flat_map(hunks).collect();
    let mut traced = trace_without(now, changes, &absent);
    for trace in
        traced.all[first..].iter_mut().flatten().filter(|trace| trace.found != HunkText::Is(Side::Before))
    {
        *trace = Trace::GONE;
    }
    traced
}

/// As [`trace_all`], by the text alone. These hunks are not in it, whatever it looks like.
fn trace_without<'a>(
    now: &'a str,
    changes: &[PastChange<'a>],
    absent: &BTreeSet<HunkNumber>,
) -> TracedText<'a> {
    let mut text = EarlierText::of(lines(now).collect());
    let mut all = vec![Vec::new(); changes.len()];
    for (number, change) in changes.iter().enumerate().rev() {
        let found = trace_one(&text.lines, change);
        let seen = |place: &HunkPlace| Trace {
            found: place.found,
            lines: text.lines_of_now(&place.lines),
            beneath: text.hunks_inside(&place.lines),
        };
        all[number] = found.iter().map(seen).collect();
        let places = found.into_iter().enumerate();
        let is_made = |(index, place): &(usize, HunkPlace)| {
            place.found == HunkText::Is(Side::After) && !absent.contains(&(number, *index))
        };
        let mut made: Vec<(usize, Range<usize>)> =
            places.filter(is_made).map(|(index, place)| (index, place.lines)).collect();
        made.sort_by_key(|(_, lines)| (lines.start, lines.end));
        text.take_out(number, change, &made);
    }
    TracedText { all, earliest: text.lines }
}

/// Whether a text is another version of the file that a change left: at least half of the lines are the same, as git says of
/// a renamed file. Also `true` if the text before the change is not kept any more.
pub fn is_version(text: &str, change: &PastChange<'_>) -> bool {
    let Some(expected) = change.before.and_then(|before| ExpectedText::of(before, &change.hunks)) else {
        return true;
    };
    let text: Vec<&str> = lines(text).collect();
    let most = text.len().max(expected.lines.len());
    let least = text.len().min(expected.lines.len());
    most > 0 && 2 * least >= most && 2 * Alignment::of(&expected.lines, &text).equal_lines() >= most
}

/// Returns where the hunks of one change are, if the text is exactly what the known states of all changes say: then they
/// are there and nowhere else, also where lines repeat. `None` if the text has anything else.
fn trace_known(now: &str, changes: &[PastChange<'_>], number: usize) -> Option<Vec<Trace>> {
    let (change, later) = changes.get(number..)?.split_first()?;
    if later.iter().flat_map(|change| &change.hunks).any(|past| past.expected == Side::After) {
        return None;
    }
    let expected = ExpectedText::of(change.before?, &change.hunks)?;
    if !expected.lines.iter().copied().eq(lines(now)) {
        return None;
    }
    let known = change.hunks.iter().zip(expected.regions);
    let trace = |(past, lines): (&PastHunk<'_>, _)| Trace {
        found: HunkText::Is(past.expected),
        lines,
        beneath: Vec::new(),
    };
    Some(known.map(trace).collect())
}

/// Where a hunk is in a text.
struct HunkPlace {
    found: HunkText,
    lines: Range<usize>,
}

impl HunkPlace {
    const GONE: HunkPlace = HunkPlace { found: HunkText::Gone, lines: 0..0 };
}

fn trace_one(text: &[&str], change: &PastChange<'_>) -> Vec<HunkPlace> {
    let Some(expected) = change.before.and_then(|before| ExpectedText::of(before, &change.hunks)) else {
        let text = text.concat();
        return change.hunks.iter().map(|past| by_context(&text, past)).collect();
    };
    let alignment = Alignment::of(&expected.lines, text);
    let sides = change.hunks.iter().zip(&expected.regions);
    sides.map(|(past, region)| find(text, &expected.lines, &alignment, past, region)).collect()
}

/// Finds a hunk by its own context, because the text before it is not kept.
fn by_context(text: &str, past: &PastHunk<'_>) -> HunkPlace {
    let mut hunk = past.hunk.clone();
    hunk.inserted = past.side(Side::After).into_iter().map(str::to_owned).collect();
    let reverse = Hunk { removed: hunk.inserted.clone(), inserted: hunk.removed.clone(), ..hunk.clone() };
    let (wanted, side) = match present(text, &hunk) {
        Presence::Landed => (&reverse, Side::After),
        Presence::NotLanded => (&hunk, Side::Before),
        Presence::Unclear => return HunkPlace::GONE,
    };
    match placement(text, wanted) {
        Placement::At { line, .. } => {
            HunkPlace { found: HunkText::Is(side), lines: line..line + wanted.removed.len() }
        }
        _ => HunkPlace::GONE,
    }
}

/// The text as the known states of the hunks of one change leave it.
struct ExpectedText<'a> {
    lines: Vec<&'a str>,
    /// The lines of each hunk.
    regions: Vec<Range<usize>>,
}

impl<'a> ExpectedText<'a> {
    /// Returns the text; `None` if the hunks were not made for this text.
    fn of(before: &'a str, hunks: &[PastHunk<'a>]) -> Option<Self> {
        let before: Vec<&str> = lines(before).collect();
        let (mut text, mut regions, mut done) = (Vec::with_capacity(before.len()), Vec::new(), 0);
        for past in hunks {
            let line = past.hunk.line;
            let end = line.checked_add(past.hunk.removed.len())?;
            if before.get(line..end)? != past.hunk.removed.as_slice() {
                return None;
            }
            text.extend(before.get(done..line)?);
            let start = text.len();
            text.extend(past.side(past.expected));
            regions.push(start..text.len());
            done = end;
        }
        text.extend(&before[done..]);
        Some(Self { lines: text, regions })
    }
}

/// The most lines around a hunk that are compared to find it undone or made again.
const WIDEST: usize = 200;
/// How many lines around a hunk must be gone too, so that its place is gone.
const NEAR: usize = 3;

fn find(
    text: &[&str],
    expected: &[&str],
    alignment: &Alignment,
    past: &PastHunk<'_>,
    region: &Range<usize>,
) -> HunkPlace {
    let (known, other) = match past.expected {
        Side::Before => (Side::Before, Side::After),
        Side::After => (Side::After, Side::Before),
    };
    let (own, opposite) = (past.side(known), past.side(other));
    let Some((first, last)) = alignment.boundary(region.start).zip(alignment.boundary(region.end)) else {
        return HunkPlace::GONE;
    };
    // With all that was written at its edges, and without.
    let outer = first.start..last.end.max(first.start);
    let inner = match region.is_empty() {
        true => first.start..first.start,
        false if first.end <= last.start => first.end..last.start,
        // No line of it is left, so what is between its neighbours has taken its place.
        false => outer.clone(),
    };
    let is = |side, lines: Range<usize>| HunkPlace { found: HunkText::Is(side), lines };
    if own.is_empty() && opposite.is_empty() {
        // A file that was created without a line: no text tells that it is there.
        return is(known, inner);
    }
    // The user may have written more beside it, and lines may have been paired otherwise than they were written. Of two
    // blocks the longer counts first, because it may have the other inside.
    let wide = alignment.touching(region, &outer);
    let own_block = (known, &own, &opposite, inner.clone());
    let opposite_block = (other, &opposite, &own, outer.clone());
    let mut blocks = [own_block, opposite_block];
    if opposite.len() > own.len() {
        blocks.reverse();
    }
    for (side, block, rival, place) in blocks.into_iter().filter(|(_, block, ..)| !block.is_empty()) {
        if text[place.clone()] == block[..] {
            return is(side, place);
        }
        let found = text[wide.clone()].windows(block.len()).position(|lines| lines == block.as_slice());
        let Some(at) = found.map(|at| wide.start + at) else { continue };
        // Lines of the other side beside it are a sign that both sides have this block.
        let rest = text[wide.start..at].iter().chain(&text[at + block.len()..wide.end]);
        if !rest.into_iter().any(|line| rival.contains(line) && !block.contains(line)) {
            return is(side, at..at + block.len());
        }
    }
    if opposite.is_empty() && inner.is_empty() && !region.is_empty() {
        return is(other, inner);
    }
    for width in [NEAR, (own.len() + opposite.len() + NEAR).min(WIDEST)] {
        let start = alignment.fixed_at_or_before(region.start.saturating_sub(width));
        let end = alignment.fixed_at_or_after((region.end + width).min(expected.len()));
        let around = alignment.fixed(start)..alignment.fixed(end);
        let sides = expected[start..region.start].iter().chain(&opposite).chain(&expected[region.end..end]);
        if text[around.clone()].iter().eq(sides) {
            let at = around.start + (region.start - start);
            return is(other, at..at + opposite.len());
        }
    }
    let around = alignment.has_equal(region.start.saturating_sub(NEAR)..region.start)
        || alignment.has_equal(region.end..(region.end + NEAR).min(expected.len()));
    // Lines of the other side at its edges: that side is back, and the user changed it before anybody saw that.
    let is_of_other = |line: &&str| opposite.contains(line) && !own.contains(line);
    let is_back = [outer.start..inner.start, inner.end..outer.end]
        .into_iter()
        .any(|edge| text.get(edge).is_some_and(|lines| lines.iter().any(is_of_other)));
    let inner = if is_back { outer } else { inner };
    let others = alignment.strangers(&inner, region);
    // Of an empty text every place is there.
    let is_all = expected.is_empty() && text.is_empty();
    if !around && !is_all && others == inner.len() && !alignment.has_alike(region) {
        return HunkPlace::GONE;
    }
    if region.is_empty() && !is_back {
        return is(known, inner);
    }
    HunkPlace { found: HunkText::Amended { others }, lines: inner }
}
