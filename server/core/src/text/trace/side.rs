//! The text with hunks undone or made again.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::differing::DifferingPart;
use super::later::LaterHunks;
use super::restored::{find_places, undone_ground};
use super::{HunkNumber, HunkText, PastChange, PastHunk, Side, Trace, trace_back, trace_known, trace_whole};
use crate::text::edit::{joined, lines};

/// Why a hunk cannot be undone or made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideRefusal {
    /// Its place is not in the text.
    Gone,
    /// The text before its change is not kept any more, and its own lines do not say where it is.
    NotKept,
    /// Other text is in its place, and the caller did not allow to replace it.
    Amended,
    /// A hunk of a later change replaced lines of it, or would not be found in the same place without it: the numbers of
    /// that change and hunk.
    Beneath { change: usize, hunk: usize },
    /// It was made on lines of a hunk that is undone: the numbers of that change and hunk.
    OnUndone { change: usize, hunk: usize },
}

/// A hunk that is to get another side: the numbers of its change and itself, and what the user saw in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideTarget {
    pub change: usize,
    pub hunk: usize,
    /// The text that may be replaced although it is neither side of the hunk. If later hunks are undone together with it, it may be
    /// the text with them or without them.
    pub seen: Option<String>,
}

/// Whether a text that is neither side of a hunk may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserText {
    /// Only if the target has seen exactly this text.
    IfSeen,
    /// Always: to show what would be replaced.
    Any,
}

/// What became of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnedHunk {
    /// It has the side now. `dropped` is the text that was in its place, if it was neither side of the hunk.
    Turned { dropped: Option<String> },
    /// It had the side before.
    Already,
}

/// A text with targets turned, and what became of each target, in their order. A refused target is as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnedText {
    pub text: String,
    pub results: Vec<Result<TurnedHunk, SideRefusal>>,
}

/// Returns the text with one side of these hunks, or the first hunk that cannot be, and why. All or nothing. A hunk that has
/// this side already stays as it is.
pub fn with_side(
    now: &str,
    changes: &[PastChange<'_>],
    targets: &[SideTarget],
    to: Side,
) -> Result<String, (usize, usize, SideRefusal)> {
    let TurnedText { text, results } = turn(now, changes, targets, to, UserText::IfSeen);
    for (target, result) in targets.iter().zip(results) {
        result.map_err(|why| (target.change, target.hunk, why))?;
    }
    Ok(text)
}

/// Returns the text with one side of these hunks, as far as it is possible. `changes` begins with the oldest.
pub fn turn(
    now: &str,
    changes: &[PastChange<'_>],
    targets: &[SideTarget],
    to: Side,
    users: UserText,
) -> TurnedText {
    let Some(part) = DifferingPart::of(now, changes) else {
        return turn_whole(now, changes, targets, to, users);
    };
    let [head, now, tail] = part.now;
    let turned = turn_whole(now, &part.changes(), targets, to, users);
    TurnedText { text: [head, &turned.text, tail].concat(), ..turned }
}

/// As [`turn`], and compares all lines of the texts.
pub(super) fn turn_whole(
    now: &str,
    changes: &[PastChange<'_>],
    targets: &[SideTarget],
    to: Side,
    users: UserText,
) -> TurnedText {
    let shown = ShownTexts { now, changes, traces: OnceCell::new() };
    let mut changes = changes.to_vec();
    let mut text = now.to_owned();
    let mut results = vec![Err(SideRefusal::Gone); targets.len()];
    let count = changes.len();
    let mut is_tail_turned = false;
    for step in 0..count {
        // Later changes stand on earlier ones.
        let number = if to == Side::Before { count - 1 - step } else { step };
        let own: Vec<usize> = (0..targets.len()).filter(|at| targets[*at].change == number).collect();
        if own.is_empty() {
            continue;
        }
        // What was undone in a step before is not in the text, whatever the text looks like.
        let is_absent = |(target, result): &(&SideTarget, &Result<TurnedHunk, SideRefusal>)| {
            to == Side::Before && target.change > number && result.is_ok()
        };
        let absent = targets.iter().zip(&results).filter(is_absent);
        let absent: BTreeSet<HunkNumber> = absent.map(|(target, _)| (target.change, target.hunk)).collect();
        let later = (to == Side::Before).then(|| LaterHunks::of(&text, &changes, number, &absent)).flatten();
        let mut traces = match &later {
            Some(later) => later.traces(number),
            None => trace_known(&text, &changes, number)
                .unwrap_or_else(|| trace_back(&text, &changes, &absent).all.swap_remove(number)),
        };
        let hunks_of = |wanted: &dyn Fn(usize) -> bool| -> Vec<usize> {
            own.iter().map(|at| targets[*at].hunk).filter(|hunk| wanted(*hunk)).collect()
        };
        // What it was made on may be undone.
        let may_lack = |hunk: usize| {
            let past = changes[number].hunks.get(hunk);
            past.is_some_and(|past| past.expected == Side::Before)
                && traces.get(hunk).is_some_and(|trace| to == Side::After || trace.found == HunkText::Gone)
        };
        let grounds = undone_ground(&text, &changes, number, &hunks_of(&may_lack));
        for at in own.iter().copied() {
            let Some(trace) = traces.get(targets[at].hunk) else { continue };
            let may = |past: &PastHunk<'_>, trace: &Trace| match users {
                UserText::Any => MayDrop::All,
                UserText::IfSeen => shown.of(&text, &targets[at], trace, past),
            };
            let ground = grounds.get(&targets[at].hunk).copied();
            results[at] = turned_hunk(&text, &changes[number], targets[at].hunk, (trace, ground), to, may);
        }
        if to == Side::After {
            let made = own.iter().filter(|at| is_turned(&results[**at])).map(|at| targets[*at].hunk);
            find_places(&text, &changes, number, &made.collect::<Vec<_>>(), &mut traces);
        }
        let turned = own.iter().copied().filter(|at| is_turned(&results[*at]));
        let mut places: Vec<TargetPlace<'_>> = turned.map(|at| (at, &traces[targets[at].hunk])).collect();
        places.sort_by_key(|(_, trace)| (trace.lines.start, trace.lines.end));
        if let Some(later) = &later {
            let is_possible = |places: &[TargetPlace<'_>]| {
                let undone: Vec<usize> = places.iter().map(|(at, _)| targets[*at].hunk).collect();
                let after = put(&text, &changes[number], targets, places, to);
                later.stay_found(&after, &changes, (number, &undone))
            };
            let possible = most_possible(&[], &places, &is_possible);
            for (at, trace) in places.iter().filter(|place| !possible.contains(place)) {
                let (change, hunk) = later.nearest(&trace.lines);
                results[*at] = Err(SideRefusal::Beneath { change, hunk });
            }
            places = possible;
        }
        for at in own {
            if let Err(SideRefusal::Beneath { change, hunk }) = results[at]
                && let Some(above) = targets.iter().position(|one| (one.change, one.hunk) == (change, hunk))
                && results[above].is_err()
            {
                // The cause is what keeps that one.
                results[at] = results[above].clone();
            }
        }
        let end = lines(&text).count();
        is_tail_turned |= places.last().is_some_and(|(_, trace)| trace.lines.end == end);
        let after = put(&text, &changes[number], targets, &places, to);
        for (target, result) in targets.iter().zip(&results) {
            if target.change == number
                && result.is_ok()
                && let Some(past) = changes[number].hunks.get_mut(target.hunk)
            {
                past.expected = to;
            }
        }
        text = after;
    }
    if is_tail_turned && gave_line_end(&text, &changes) {
        let content = text.trim_end_matches(['\r', '\n']).len();
        text.truncate(content);
    }
    TurnedText { text, results }
}

fn is_turned(result: &Result<TurnedHunk, SideRefusal>) -> bool {
    matches!(result, Ok(TurnedHunk::Turned { .. }))
}

/// Returns what becomes of one hunk. `ground` is an undone hunk that it was made on.
fn turned_hunk(
    text: &str,
    change: &PastChange<'_>,
    hunk: usize,
    (trace, ground): (&Trace, Option<HunkNumber>),
    to: Side,
    may: impl Fn(&PastHunk<'_>, &Trace) -> MayDrop,
) -> Result<TurnedHunk, SideRefusal> {
    let Some(past) = change.hunks.get(hunk) else { return Err(SideRefusal::Gone) };
    match trace.found {
        HunkText::Is(side) if side == to => return Ok(TurnedHunk::Already),
        HunkText::Gone if change.before.is_none() => return Err(SideRefusal::NotKept),
        _ => {}
    }
    if let Some((change, hunk)) = ground {
        // What it was made on is undone, too, so nothing of it is in the text.
        return if to == Side::Before {
            Ok(TurnedHunk::Already)
        } else {
            Err(SideRefusal::OnUndone { change, hunk })
        };
    }
    let dropped = dropped(text, trace, past.amended.is_some(), may(past, trace))?;
    Ok(TurnedHunk::Turned { dropped })
}

/// The number of a target and where its hunk is.
type TargetPlace<'a> = (usize, &'a Trace);

/// Returns the text with hunks of one change turned, whose `places` are in order.
fn put(
    text: &str,
    change: &PastChange<'_>,
    targets: &[SideTarget],
    places: &[TargetPlace<'_>],
    to: Side,
) -> String {
    let mut result: Vec<&str> = Vec::new();
    let mut done = 0;
    let all: Vec<&str> = lines(text).collect();
    for (at, trace) in places {
        result.extend(all.get(done..trace.lines.start).unwrap_or_default());
        result.extend(change.hunks[targets[*at].hunk].side(to));
        done = trace.lines.end;
    }
    result.extend(all.get(done..).unwrap_or_default());
    joined(result.into_iter(), text)
}

/// Returns the places that can be turned together with `chosen`: all of them, or those that each half can have.
fn most_possible<'a>(
    chosen: &[TargetPlace<'a>],
    places: &[TargetPlace<'a>],
    is_possible: &impl Fn(&[TargetPlace<'a>]) -> bool,
) -> Vec<TargetPlace<'a>> {
    if places.is_empty() {
        return Vec::new();
    }
    let together = [chosen, places].concat();
    if is_possible(&together) {
        return places.to_vec();
    }
    if places.len() == 1 {
        return Vec::new();
    }
    let (first, second) = places.split_at(places.len() / 2);
    let first = most_possible(chosen, first, is_possible);
    let second = most_possible(&[chosen, &first].concat(), second, is_possible);
    [first, second].concat()
}

/// Whether the line end after the last line is Adjutant's own: that line is the last of a side that ends without one, and it
/// got one only while lines of a later change were below it.
fn gave_line_end(text: &str, changes: &[PastChange<'_>]) -> bool {
    let content = |line: &str| line.trim_end_matches(['\r', '\n']).len();
    let count = lines(text).count();
    let Some(last) = lines(text).last().filter(|line| content(line) < line.len()) else { return false };
    let is_of = |past: &PastHunk<'_>| {
        past.side(past.expected).last().is_some_and(|own| *own == &last[..content(last)])
    };
    // Few files end without a line end, so the search below is rare.
    changes.iter().any(|change| change.hunks.iter().any(is_of))
        && trace_whole(text, changes).iter().zip(changes).any(|(traces, change)| {
            let mut hunks = traces.iter().zip(&change.hunks);
            hunks.any(|(trace, past)| trace.lines.end == count && !trace.lines.is_empty() && is_of(past))
        })
}

/// Whether what is in the place of a hunk was shown to the user.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MayDrop {
    /// Nobody looked, so only the agent's own lines go.
    Own,
    /// It was shown.
    All,
    /// Another text was shown.
    Nothing,
}

/// The text that the user saw, before any target was turned.
struct ShownTexts<'a> {
    now: &'a str,
    changes: &'a [PastChange<'a>],
    traces: OnceCell<Vec<Vec<Trace>>>,
}

impl ShownTexts<'_> {
    /// Compares what is in the place of a hunk with what the user saw there.
    fn of(&self, text: &str, target: &SideTarget, trace: &Trace, past: &PastHunk<'_>) -> MayDrop {
        let Some(seen) = &target.seen else { return MayDrop::Own };
        let there: Vec<&str> = lines(text).skip(trace.lines.start).take(trace.lines.len()).collect();
        let is_shown = *seen == there.concat()
            || text != self.now && *seen == self.before(target) && all_known(&there, seen, past);
        if is_shown { MayDrop::All } else { MayDrop::Nothing }
    }

    /// Returns what was in the place of a hunk before later hunks were undone with it.
    fn before(&self, target: &SideTarget) -> String {
        let traces = self.traces.get_or_init(|| trace_whole(self.now, self.changes));
        let trace = traces.get(target.change).and_then(|traces| traces.get(target.hunk));
        let lines_of =
            |trace: &Trace| lines(self.now).skip(trace.lines.start).take(trace.lines.len()).collect();
        trace.map(lines_of).unwrap_or_default()
    }
}

/// Whether the user saw each of these lines, or it is the hunk's own, as often as it is there. The undo of a later hunk can bring back
/// a line that the user wrote and has not seen since.
fn all_known(there: &[&str], seen: &str, past: &PastHunk<'_>) -> bool {
    let own = [past.side(Side::Before), past.side(Side::After)].concat();
    let mut known: Vec<&str> = lines(seen).chain(own).collect();
    there.iter().all(|line| {
        let at = known.iter().position(|one| one == line);
        at.map(|at| known.swap_remove(at)).is_some()
    })
}

/// Returns the text of the user that goes with a hunk, or why it must not go. `is_of_user`: the inserted side is a text of
/// the user.
fn dropped(text: &str, trace: &Trace, is_of_user: bool, may: MayDrop) -> Result<Option<String>, SideRefusal> {
    if let Some((change, hunk)) = trace.beneath.first() {
        return Err(SideRefusal::Beneath { change: *change, hunk: *hunk });
    }
    // What was shown in its place has to be there still, also if the agent's own lines are there instead.
    match trace.found {
        HunkText::Gone => Err(SideRefusal::Gone),
        HunkText::Is(Side::Before) if may != MayDrop::Nothing => Ok(None),
        HunkText::Is(Side::After) if !is_of_user && may != MayDrop::Nothing => Ok(None),
        HunkText::Is(_) | HunkText::Amended { .. } if may == MayDrop::All => {
            Ok(Some(lines(text).skip(trace.lines.start).take(trace.lines.len()).collect()))
        }
        HunkText::Is(_) | HunkText::Amended { .. } => Err(SideRefusal::Amended),
    }
}
