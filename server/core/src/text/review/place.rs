//! Where a hunk is now: not yet made, already made, or no longer possible.
//!
//! Judges by the text alone, never by what an editor said it did, and never
//! takes one of several places because it came first.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;

use super::interned::{Interner, LineIndex, UNKNOWN};
use super::{CONTEXT_LINES, Hunk, has_word};
use crate::text::edit::{line_end, lines};

/// Whether a text has a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Landed,
    NotLanded,
    /// Neither state is there, or both are and the text does not tell which counts.
    Unclear,
}

/// What applying a hunk to a text means. Lines are zero-based.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    At {
        line: usize,
        /// All of the context is as it was, so an approval of the hunk still holds.
        unchanged: bool,
    },
    AlreadyThere {
        line: usize,
    },
    Conflict {
        /// A clause about the hunk, for the user.
        why: String,
    },
}

/// Why one hunk could not be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunkConflict {
    pub id: String,
    pub why: String,
}

/// The hunks that stood in the way; nothing was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictReport {
    pub conflicts: Vec<HunkConflict>,
}

impl std::error::Error for ConflictReport {}

impl fmt::Display for ConflictReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, conflict) in self.conflicts.iter().enumerate() {
            let start = if index == 0 { "apply" } else { ";" };
            write!(f, "{start} hunk \"{}\": {}", conflict.id, conflict.why)?;
        }
        Ok(())
    }
}

/// Tells whether a text has a hunk, by looking for the lines of both states.
///
/// A state is found *whole* with all its context, at the start or end of the
/// text if the hunk was made there; *near* likewise, but the text has grown
/// beyond it; *half* with all the context of one side, when the user has
/// edited the other; a state without lines of its own (before an insertion,
/// after a deletion) then also needs all but one line of the other side where
/// it was, and at the start or end of the text nothing new beyond it. The
/// state found better is the one that holds. If neither is found the user has
/// edited the hunk itself, and if both are found equally well its surroundings
/// repeat for longer than its context: then the answer is `Unclear`.
pub fn present(text: &str, hunk: &Hunk) -> Presence {
    Survey::new(&TextLines::new(text), hunk).presence
}

/// Tells the same of several hunks, reading the text once.
pub fn present_all(text: &str, hunks: &[Hunk]) -> Vec<Presence> {
    let lines = TextLines::new(text);
    hunks.iter().map(|hunk| Survey::new(&lines, hunk).presence).collect()
}

/// Tells where a hunk belongs in a text.
///
/// The line it was made for counts if the whole hunk is exactly there, even if
/// it is elsewhere too. Otherwise the hunk moves to the one place where it is
/// found, with reduced context if need be; several places are a conflict. A
/// caller that must not apply a hunk twice asks [`present`] first.
pub fn placement(text: &str, hunk: &Hunk) -> Placement {
    TextLines::new(text).placement(hunk)
}

/// Tells the same of several hunks, reading the text once.
pub fn placement_all(text: &str, hunks: &[Hunk]) -> Vec<Placement> {
    let lines = TextLines::new(text);
    hunks.iter().map(|hunk| lines.placement(hunk)).collect()
}

/// Returns the text with all hunks, or why none was applied; hunks that are there already are passed over.
pub fn apply_hunks(text: &str, hunks: &[Hunk]) -> Result<String, ConflictReport> {
    let lines = TextLines::new(text);
    let mut conflicts = Vec::new();
    let mut places: Vec<(usize, &Hunk)> = Vec::new();
    let mut conflict = |hunk: &Hunk, why: String| conflicts.push(HunkConflict { id: hunk.id.clone(), why });
    for hunk in hunks {
        match lines.placement(hunk) {
            Placement::At { line, .. } => places.push((line, hunk)),
            Placement::AlreadyThere { .. } => {}
            Placement::Conflict { why } => conflict(hunk, why),
        }
    }
    places.sort_by_key(|(line, hunk)| (*line, hunk.removed.len()));
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    let mut last: Option<(usize, &Hunk)> = None;
    for (line, hunk) in places {
        let same_place = last.is_some_and(|(other, before)| other == line && before.removed.is_empty());
        if line < done || same_place {
            let other = last.map_or("", |(_, before)| &before.id);
            conflict(hunk, format!("its lines are also those of hunk \"{other}\""));
            continue;
        }
        result.extend(lines.all[done..line].iter().copied());
        result.extend(hunk.inserted.iter().map(String::as_str));
        (done, last) = (line + hunk.removed.len(), Some((line, hunk)));
    }
    result.extend(lines.all[done..].iter().copied());
    if conflicts.is_empty() { Ok(result) } else { Err(ConflictReport { conflicts }) }
}

/// Returns the hunks as they are to be made in `now`, which was `before` when they were approved.
///
/// A hunk whose context is as it was stays as it is. One whose context was changed goes with the lines
/// it replaces, where these are in both texts exactly once and something of what was around them still is.
/// `None`: what is approved there has no such place, so the user has to be asked again.
pub fn follow(before: &str, now: &str, hunks: &[Hunk]) -> Option<Vec<Hunk>> {
    let (before, now) = (TextLines::new(before), TextLines::new(now));
    hunks.iter().map(|hunk| followed(&before, &now, hunk)).collect()
}

fn followed(before: &TextLines<'_>, now: &TextLines<'_>, hunk: &Hunk) -> Option<Hunk> {
    if let Placement::At { unchanged: true, .. } | Placement::AlreadyThere { .. } = now.placement(hunk) {
        return Some(hunk.clone());
    }
    let tells = |line: &String| !line.trim().is_empty();
    let once = |text: &TextLines<'_>, lines: &[String]| match text.places(lines)[..] {
        [line] => Some(line),
        _ => None,
    };
    if !hunk.removed.iter().any(tells) || once(before, &hunk.removed)? != hunk.line {
        return None;
    }
    let line = once(now, &hunk.removed)?;
    // Made by hand in the meantime, and the lines it replaces are part of it.
    if hunk.inserted.iter().any(tells) && before.places(&hunk.inserted) != now.places(&hunk.inserted) {
        return None;
    }
    let end = line + hunk.removed.len();
    let above = &now.all[line.saturating_sub(2 * CONTEXT_LINES)..line];
    let below = &now.all[end..now.all.len().min(end + 2 * CONTEXT_LINES)];
    let stays = |lines: &[String], around: &[&str]| {
        lines.iter().any(|line| tells(line) && around.contains(&line.as_str()))
    };
    let alone = hunk.context_before.is_empty() && hunk.context_after.is_empty();
    if !alone && !stays(&hunk.context_before, above) && !stays(&hunk.context_after, below) {
        return None;
    }
    let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
    Some(Hunk {
        line,
        context_before: owned(&above[above.len().saturating_sub(CONTEXT_LINES)..]),
        context_after: owned(&below[..below.len().min(CONTEXT_LINES)]),
        ..hunk.clone()
    })
}

/// The lines of a text, ready to be searched.
struct TextLines<'t> {
    all: Vec<&'t str>,
    interner: Interner<'t>,
    index: LineIndex,
}

impl<'t> TextLines<'t> {
    fn new(text: &'t str) -> Self {
        let all: Vec<&str> = lines(text).collect();
        let mut interner = Interner::default();
        let index = LineIndex::new(all.iter().map(|line| interner.add(line)).collect());
        TextLines { all, interner, index }
    }

    /// Where these lines are.
    fn places(&self, lines: &[String]) -> Vec<usize> {
        self.index.find_all(&self.interner.known(lines))
    }

    fn placement(&self, hunk: &Hunk) -> Placement {
        let survey = Survey::new(self, hunk);
        let exactly = |found: &BestPlaces, grade| found.grade >= grade && found.places.contains(&hunk.line);
        let chosen = match (&survey.before, survey.presence) {
            (Some(found), _) if exactly(found, Grade::Whole) => Ok((hunk.line, found.grade)),
            (_, Presence::Landed) => {
                let places = survey.after.map(|found| found.places).unwrap_or_default();
                let nearest = places.into_iter().min_by_key(|line| line.abs_diff(hunk.line));
                return Placement::AlreadyThere { line: nearest.unwrap_or(hunk.line) };
            }
            (Some(found), Presence::NotLanded) => match found.places[..] {
                [line] => Ok((line, found.grade)),
                _ if exactly(found, Grade::Near) => Ok((hunk.line, found.grade)),
                _ => Err(format!("its lines are in several places, {}", numbered(&found.places))),
            },
            (Some(_), _) => Err("the text does not tell whether it was applied already".to_owned()),
            (None, _) => Err("the lines it changes, or those around them, are not there any more".to_owned()),
        };
        match chosen.and_then(|(line, grade)| self.joins(line, hunk).map(|()| (line, grade))) {
            Ok((line, grade)) => {
                // Blank lines and brackets do not say which function it is.
                let around = hunk.context_before.iter().chain(&hunk.context_after);
                let known = line == hunk.line
                    || around.clone().next().is_none()
                    || around.clone().any(|line| has_word(line));
                Placement::At { line, unchanged: grade >= Grade::Near && known }
            }
            Err(why) => Placement::Conflict { why },
        }
    }

    /// Refuses a place where two lines would run into one for want of a line end.
    fn joins(&self, line: usize, hunk: &Hunk) -> Result<(), String> {
        let open = |line: Option<&str>| line.is_some_and(|line| line_end(line).is_empty());
        let above = line.checked_sub(1).and_then(|above| self.all.get(above)).copied();
        let at_end = line + hunk.removed.len() == self.all.len();
        if !hunk.inserted.is_empty() && open(above) {
            return Err("the line above it has lost its line end".to_owned());
        }
        if !at_end && open(hunk.inserted.last().map(String::as_str)) {
            return Err("it ends the file without a line end, and the file goes on now".to_owned());
        }
        Ok(())
    }
}

fn numbered(places: &[usize]) -> String {
    const PRESENT: usize = 5;
    let shown: Vec<String> = places.iter().take(PRESENT).map(|line| (line + 1).to_string()).collect();
    let more = if places.len() > PRESENT { " and more" } else { "" };
    format!("lines {}{more}", shown.join(", "))
}

/// How well a state was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Grade {
    Half,
    Near,
    Whole,
}

/// The places of the best grade at which a state was found, in order, at least one.
struct BestPlaces {
    grade: Grade,
    places: Vec<usize>,
}

/// Both states of a hunk as a text shows them.
struct Survey {
    before: Option<BestPlaces>,
    after: Option<BestPlaces>,
    presence: Presence,
}

impl Survey {
    fn new(text: &TextLines<'_>, hunk: &Hunk) -> Self {
        let known = |lines: &[String]| text.interner.known(lines);
        let (above, below) = (&known(&hunk.context_before), &known(&hunk.context_after));
        let (removed, inserted) = (&known(&hunk.removed), &known(&hunk.inserted));
        // A hunk of nearly a whole text has little context; there, lines amid
        // others show a state only if those that only the other has are gone.
        let bare = above.len() < CONTEXT_LINES && below.len() < CONTEXT_LINES;
        let find = |block, other| {
            let state = HunkLines { above, block, below, other };
            let found = seek(&text.index, &state)?;
            (found.grade == Grade::Whole || !bare || !state.leaves_other()).then_some(found)
        };
        let (before, after) = (find(removed, inserted), find(inserted, removed));
        // Half a context alone shows less than half a context with lines.
        let rank = |found: &Option<BestPlaces>, own: &[u32]| {
            found.as_ref().map(|found| (found.grade, found.grade > Grade::Half || !own.is_empty()))
        };
        let presence = match rank(&before, removed).cmp(&rank(&after, inserted)) {
            Ordering::Less => Presence::Landed,
            Ordering::Equal => Presence::Unclear,
            Ordering::Greater => Presence::NotLanded,
        };
        Survey { before, after, presence }
    }
}

/// One state of a hunk, as numbers of lines.
struct HunkLines<'l> {
    above: &'l [u32],
    block: &'l [u32],
    below: &'l [u32],
    /// What stands instead of the block in the other state.
    other: &'l [u32],
}

impl HunkLines<'_> {
    /// Whether the text still has lines that are only in the other state.
    fn leaves_other(&self) -> bool {
        let own: HashSet<u32> = self.block.iter().copied().collect();
        self.other.iter().any(|line| *line != UNKNOWN && !own.contains(line))
    }
}

/// Finds the lines of one state with their context.
fn seek(text: &LineIndex, state: &HunkLines<'_>) -> Option<BestPlaces> {
    let HunkLines { above, block, below, .. } = *state;
    if above.is_empty() && block.is_empty() && below.is_empty() {
        // The state is the empty text.
        return text.ids().is_empty().then(|| BestPlaces { grade: Grade::Whole, places: vec![0] });
    }
    let at_start = |place: usize| place == above.len();
    let at_end = |place: usize| place + block.len() + below.len() == text.ids().len();
    let near = standing(text, above, block, below);
    let in_bounds = |place: &usize| {
        (above.len() >= CONTEXT_LINES || at_start(*place)) && (below.len() >= CONTEXT_LINES || at_end(*place))
    };
    let whole: Vec<usize> = near.iter().copied().filter(in_bounds).collect();
    if !whole.is_empty() {
        return Some(BestPlaces { grade: Grade::Whole, places: whole });
    }
    if !near.is_empty() {
        return Some(BestPlaces { grade: Grade::Near, places: near });
    }
    if encloses_other_lines(text, state) {
        return None;
    }
    let mut half = halves(text, state);
    half.sort_unstable();
    half.dedup();
    (!half.is_empty()).then_some(BestPlaces { grade: Grade::Half, places: half })
}

/// Finds one state with all its context, anywhere.
///
/// Between the edge of the text and the lines next to it there is no place for
/// a state without lines: what stands there now may be the other state.
pub(super) fn standing(text: &LineIndex, above: &[u32], block: &[u32], below: &[u32]) -> Vec<usize> {
    let open = |place: &usize| {
        block.is_empty() && (above.is_empty() && *place > 0 || below.is_empty() && *place < text.ids().len())
    };
    let hits = text.find_all(&[above, block, below].concat()).into_iter().map(|at| at + above.len());
    hits.filter(|place| !open(place)).collect()
}

/// Whether both sides are there, in order and near each other.
///
/// When neither state stands between them, the user has edited the hunk
/// itself, and half a context elsewhere is another place that looks like it.
fn encloses_other_lines(text: &LineIndex, state: &HunkLines<'_>) -> bool {
    let farthest = 2 * (state.block.len() + state.other.len() + CONTEXT_LINES);
    let ends: Vec<usize> = match state.above {
        [] => vec![0],
        above => text.find_all(above).into_iter().map(|at| at + above.len()).collect(),
    };
    let starts = match state.below {
        [] => vec![text.ids().len()],
        below => text.find_all(below),
    };
    ends.into_iter().any(|end| {
        let next = starts.partition_point(|start| *start < end);
        starts.get(next).is_some_and(|start| start - end <= farthest)
    })
}

/// Finds one state with the whole context of one side only.
///
/// Nothing may have come between a state's own lines and that context, nor
/// between context of fewer lines than usual and the edge of the text it was
/// at. A state without lines of its own has only the two sides to show it: all
/// but one line of the other side must be where they were, and more of them
/// than fit the lines of the other state. The end of a function that was
/// added looks much like the end of the function before it.
fn halves(index: &LineIndex, state: &HunkLines<'_>) -> Vec<usize> {
    let HunkLines { above, block, below, other } = *state;
    let text = index.ids();
    let from_above = match above {
        [] if text.starts_with(block) => vec![0],
        [] => vec![],
        _ => index.find_all(&[above, block].concat()).into_iter().map(|at| at + above.len()).collect(),
    };
    let from_below = match below {
        [] if text.ends_with(block) => vec![text.len() - block.len()],
        [] => vec![],
        _ => index.find_all(&[block, below].concat()),
    };
    let end = |place: usize| place + block.len();
    let at_start = |place: &usize| above.len() >= CONTEXT_LINES || *place == above.len();
    let at_end = |place: &usize| below.len() >= CONTEXT_LINES || end(*place) + below.len() == text.len();
    let up = from_above.into_iter().filter(at_start);
    let down = from_below.into_iter().filter(at_end);
    if !block.is_empty() {
        return up.chain(down).collect();
    }
    if above.is_empty() || below.is_empty() {
        return Vec::new();
    }
    let (if_above, if_below) = ([above, other].concat(), [other, below].concat());
    let up = up.filter(|place| {
        let here = || text[*place..].iter().take(below.len());
        shows(agreement(here(), below.iter()), agreement(here(), if_below.iter()), below.len())
    });
    let down = down.filter(|place| {
        let here = || text[..*place].iter().rev().take(above.len());
        shows(agreement(here(), above.iter().rev()), agreement(here(), if_above.iter().rev()), above.len())
    });
    up.chain(down).collect()
}

fn agreement<'l>(have: impl Iterator<Item = &'l u32>, want: impl Iterator<Item = &'l u32>) -> usize {
    have.zip(want).filter(|(have, want)| have == want).count()
}

fn shows(kept: usize, if_other: usize, of: usize) -> bool {
    kept + 1 >= of && kept > if_other
}
