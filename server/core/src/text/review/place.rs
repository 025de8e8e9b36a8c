//! Decides where a hunk is in the current text: not applied, applied, or impossible.
//!
//! Never trusts the reply of an editor: only the text counts. Never chooses one of
//! several places because it is the first.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::slice::from_ref;

use super::interned::{Interner, LineIndex, UNKNOWN};
use super::{CONTEXT_LINES, Hunk, has_word};
use crate::text::edit::{line_end, lines};

/// Whether a hunk is applied in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Landed,
    NotLanded,
    /// The text has neither state, or has both equally well.
    Unclear,
}

/// Where a hunk would be applied in a text. Lines start at zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    At {
        line: usize,
        /// The whole context is unchanged, so an approval of the hunk is still valid.
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

/// The hunks that could not be applied. No other hunk was applied either.
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

/// Returns whether a hunk is applied in a text. It searches the lines of both
/// states, before and after the hunk, and the better match decides:
///
/// - *whole*: the state with all its context. If the hunk was made at the
///   start or end of the text, the match is there too.
/// - *near*: the same, but the text now has lines before that start or after
///   that end.
/// - *half*: the state with all the context of one side, because the user
///   edited the other side. The text must not have grown beyond its start or
///   end there. A state may have no lines of its own (before an insertion,
///   after a deletion). Then all but one line of the other side must be in
///   place too.
///
/// If neither state is found, the user edited the hunk itself. If both match
/// equally well, the surroundings repeat for longer than the context. Both
/// cases return `Unclear`.
pub fn present(text: &str, hunk: &Hunk) -> Presence {
    Survey::new(&TextLines::new(text, from_ref(hunk)), hunk).presence
}

/// Like [`present`] for several hunks; reads the text once.
pub fn present_all(text: &str, hunks: &[Hunk]) -> Vec<Presence> {
    let lines = TextLines::new(text, hunks);
    hunks.iter().map(|hunk| Survey::new(&lines, hunk).presence).collect()
}

/// Whether a text has each hunk with every line of its context. Where lines repeat, [`present`] can find the lines of a hunk that
/// was never applied; with the whole context that does not happen.
pub fn has_in_context(text: &str, hunks: &[Hunk]) -> bool {
    let all: Vec<&str> = lines(text).collect();
    hunks.iter().all(|hunk| {
        let parts = [&hunk.context_before, &hunk.inserted, &hunk.context_after];
        let wanted: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        wanted.is_empty() || all.windows(wanted.len()).any(|there| there == wanted)
    })
}

/// Returns where a hunk belongs in a text.
///
/// If the whole hunk matches at its original line, that line wins over other
/// places. Otherwise the hunk moves to the only place where it is found, if
/// necessary with less context. Several places are a conflict. A caller that
/// must not apply a hunk twice calls [`present`] first.
pub fn placement(text: &str, hunk: &Hunk) -> Placement {
    TextLines::new(text, from_ref(hunk)).placement(hunk)
}

/// Like [`placement`] for several hunks; reads the text once.
pub fn placement_all(text: &str, hunks: &[Hunk]) -> Vec<Placement> {
    let lines = TextLines::new(text, hunks);
    hunks.iter().map(|hunk| lines.placement(hunk)).collect()
}

/// Returns the text with all hunks applied, or why none was applied. Hunks that the text already has are skipped.
pub fn apply_hunks(text: &str, hunks: &[Hunk]) -> Result<String, ConflictReport> {
    let lines = TextLines::new(text, hunks);
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

/// Returns approved hunks in the form that applies to `now`. `before` is the text at the time of the approval.
///
/// A hunk with unchanged context stays the same. A hunk with changed context moves with the lines that it
/// replaces, if both texts have these lines exactly once and a line of the context is still near them.
/// Returns `None` if a hunk has no such place: then the user has to be asked again.
pub fn follow(before: &str, now: &str, hunks: &[Hunk]) -> Option<Vec<Hunk>> {
    let (before, now) = (TextLines::new(before, hunks), TextLines::new(now, hunks));
    hunks.iter().map(|hunk| followed(&before, &now, hunk)).collect()
}

fn followed(before: &TextLines<'_>, now: &TextLines<'_>, hunk: &Hunk) -> Option<Hunk> {
    if let Placement::At { unchanged: true, .. } | Placement::AlreadyThere { .. } = now.placement(hunk) {
        return Some(hunk.clone());
    }
    let has_text = |line: &String| !line.trim().is_empty();
    let once = |text: &TextLines<'_>, lines: &[String]| match text.places(lines)[..] {
        [line] => Some(line),
        _ => None,
    };
    if !hunk.removed.iter().any(has_text) || once(before, &hunk.removed)? != hunk.line {
        return None;
    }
    let line = once(now, &hunk.removed)?;
    // The user made this change by hand in the meantime, so the removed lines may be part of its result.
    if hunk.inserted.iter().any(has_text) && before.places(&hunk.inserted) != now.places(&hunk.inserted) {
        return None;
    }
    let end = line + hunk.removed.len();
    let above = &now.all[line.saturating_sub(2 * CONTEXT_LINES)..line];
    let below = &now.all[end..now.all.len().min(end + 2 * CONTEXT_LINES)];
    let stays = |lines: &[String], around: &[&str]| {
        lines.iter().any(|line| has_text(line) && around.contains(&line.as_str()))
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
    /// Returns the lines of a text, in which only the lines of these hunks are found.
    fn new(text: &'t str, hunks: &'t [Hunk]) -> Self {
        let all: Vec<&str> = lines(text).collect();
        let lines_of = |hunk: &'t Hunk| {
            [&hunk.context_before, &hunk.removed, &hunk.inserted, &hunk.context_after].into_iter().flatten()
        };
        let interner = Interner::of(hunks.iter().flat_map(lines_of).map(String::as_str));
        let index = interner.index(&all);
        TextLines { all, interner, index }
    }

    /// Returns the numbers of lines of the hunks.
    fn known(&self, lines: &[String]) -> Vec<u32> {
        self.interner.known(lines.iter().map(String::as_str), &self.index)
    }

    /// Returns where these lines of a hunk begin.
    fn places(&self, lines: &[String]) -> Vec<usize> {
        self.index.find_all(&self.known(lines))
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
        match chosen.and_then(|(line, grade)| self.check_line_ends(line, hunk).map(|()| (line, grade))) {
            Ok((line, grade)) => {
                // Blank lines and brackets do not identify a function.
                let around = hunk.context_before.iter().chain(&hunk.context_after);
                let known = line == hunk.line
                    || around.clone().next().is_none()
                    || around.clone().any(|line| has_word(line));
                Placement::At { line, unchanged: grade >= Grade::Near && known }
            }
            Err(why) => Placement::Conflict { why },
        }
    }

    /// Refuses a place where a missing line end would join two lines.
    fn check_line_ends(&self, line: usize, hunk: &Hunk) -> Result<(), String> {
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

/// How well a state matches; [`present`] explains the grades.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Grade {
    Half,
    Near,
    Whole,
}

/// The places of a state at its best grade, in order; at least one.
struct BestPlaces {
    grade: Grade,
    places: Vec<usize>,
}

/// Where a text has both states of a hunk.
struct Survey {
    before: Option<BestPlaces>,
    after: Option<BestPlaces>,
    presence: Presence,
}

impl Survey {
    fn new(text: &TextLines<'_>, hunk: &Hunk) -> Self {
        let known = |lines: &[String]| text.known(lines);
        let (above, below) = (&known(&hunk.context_before), &known(&hunk.context_after));
        let (removed, inserted) = (&known(&hunk.removed), &known(&hunk.inserted));
        // A hunk of nearly a whole text has little context. There a match that
        // is not whole counts only if no line of the other state is left.
        let bare = above.len() < CONTEXT_LINES && below.len() < CONTEXT_LINES;
        let find = |block, other| {
            let state = HunkLines { above, block, below, other };
            let found = seek(&text.index, &state)?;
            (found.grade == Grade::Whole || !bare || !state.leaves_other()).then_some(found)
        };
        let (before, after) = (find(removed, inserted), find(inserted, removed));
        // Half a context without lines of the state is weaker than with them.
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

/// One state of a hunk, as numbers of [`Interner`].
struct HunkLines<'l> {
    above: &'l [u32],
    block: &'l [u32],
    below: &'l [u32],
    /// The block of the other state.
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
    let near = places_with_context(text, above, block, below);
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
/// A state without lines and without context on one side matches only at that
/// edge of the text. Elsewhere, lines of the other state may be on that side.
pub(super) fn places_with_context(
    text: &LineIndex,
    above: &[u32],
    block: &[u32],
    below: &[u32],
) -> Vec<usize> {
    let open = |place: &usize| {
        block.is_empty() && (above.is_empty() && *place > 0 || below.is_empty() && *place < text.ids().len())
    };
    let hits = text.find_all(&[above, block, below].concat()).into_iter().map(|at| at + above.len());
    hits.filter(|place| !open(place)).collect()
}

/// Whether the text has both contexts, in order and near each other.
///
/// If neither state is between them, the user has edited the hunk itself. Then
/// half a context elsewhere is only a similar place.
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
/// No line may be between the state's own lines and that context. Context of
/// fewer lines than usual must still be at the edge of the text. For a state
/// without lines of its own, all but one line of the other side must be in
/// place. More of these lines must match than if the other state were there,
/// because the end of an added function is much like the end of the function
/// before it.
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
        is_in_place(agreement(here(), below.iter()), agreement(here(), if_below.iter()), below.len())
    });
    let down = down.filter(|place| {
        let here = || text[..*place].iter().rev().take(above.len());
        is_in_place(
            agreement(here(), above.iter().rev()),
            agreement(here(), if_above.iter().rev()),
            above.len(),
        )
    });
    up.chain(down).collect()
}

/// Returns how many lines are equal at the same position.
fn agreement<'l>(have: impl Iterator<Item = &'l u32>, want: impl Iterator<Item = &'l u32>) -> usize {
    have.zip(want).filter(|(have, want)| have == want).count()
}

/// Whether enough of the `of` lines of a side match, and more than if the other state were there.
fn is_in_place(matching: usize, if_other: usize, of: usize) -> bool {
    matching + 1 >= of && matching > if_other
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::edit::tests::similar_texts;
    use crate::text::review::hunks;
    use crate::text::review::tests::edited_texts;

    #[test]
    fn n05_a_line_that_the_text_does_not_have_is_not_left_in_it() {
        let hunk = &hunks("a\n", "b\n")[0];
        assert_eq!(present("b\ntyped\n", hunk), Presence::Landed);
        assert_eq!(present("b\na\n", hunk), Presence::Unclear);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(192))]

        #[test]
        fn n05_lines_that_are_not_searched_for_change_no_place(
            (before, after) in prop_oneof![similar_texts(24), edited_texts()], (other, _) in prop_oneof![similar_texts(9), edited_texts()],
        ) {
            let all = hunks(&before, &after);
            for text in [&before, &after, &other] {
                let some = TextLines::new(text, &all);
                // Lines that it does not have are not there to be found.
                let interner = Interner::of(some.all.iter().copied());
                let every = TextLines { index: interner.index(&some.all), all: some.all.clone(), interner };
                for hunk in &all {
                    prop_assert_eq!(some.placement(hunk), every.placement(hunk));
                    prop_assert_eq!(Survey::new(&some, hunk).presence, Survey::new(&every, hunk).presence);
                }
            }
        }
    }
}
