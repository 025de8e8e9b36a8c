//! The text with hunks undone or made again.

use super::{HunkText, PastChange, Side, Trace, trace_all};
use crate::text::edit::{LineEnds, lines, push_line};

/// Why a hunk cannot be undone or made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideRefusal {
    /// Its place is not in the text.
    Gone,
    /// Other text is in its place, and the caller did not allow to replace it.
    Amended,
    /// A hunk of a later change replaced lines of it: the numbers of that change and hunk.
    Beneath { change: usize, hunk: usize },
}

/// A hunk that is to get another side: the numbers of its change and itself, and what the user saw in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideTarget {
    pub change: usize,
    pub hunk: usize,
    /// The text that may be replaced although it is neither side of the hunk.
    pub seen: Option<String>,
}

/// Returns the text with one side of these hunks, or the first hunk that cannot be, and why. All or nothing. A hunk
/// that has this side already stays as it is.
pub fn with_side(
    now: &str,
    changes: &[PastChange<'_>],
    targets: &[SideTarget],
    to: Side,
) -> Result<String, (usize, usize, SideRefusal)> {
    let mut changes = changes.to_vec();
    let mut text = now.to_owned();
    let count = changes.len();
    for step in 0..count {
        // Later changes stand on earlier ones.
        let number = if to == Side::Before { count - 1 - step } else { step };
        let own: Vec<&SideTarget> = targets.iter().filter(|target| target.change == number).collect();
        if own.is_empty() {
            continue;
        }
        let traces = trace_all(&text, &changes).swap_remove(number);
        let mut places: Vec<(usize, &Trace)> = Vec::new();
        for target in &own {
            let refused = |why| (number, target.hunk, why);
            let trace = traces.get(target.hunk).ok_or_else(|| refused(SideRefusal::Gone))?;
            if trace.found == HunkText::Is(to) {
                continue;
            }
            let amended = changes[number].hunks.get(target.hunk).is_some_and(|past| past.amended.is_some());
            check(&text, trace, target, amended).map_err(refused)?;
            places.push((target.hunk, trace));
        }
        places.sort_by_key(|(_, trace)| (trace.lines.start, trace.lines.end));
        let mut result = String::with_capacity(text.len());
        let mut done = 0;
        let all: Vec<&str> = lines(&text).collect();
        let style = LineEnds::of(&text).dominant().unwrap_or_default().as_str();
        let mut push = |lines: &[&str]| lines.iter().for_each(|line| push_whole(&mut result, line, style));
        for (hunk, trace) in places {
            push(all.get(done..trace.lines.start).unwrap_or_default());
            push(&changes[number].hunks[hunk].side(to));
            done = trace.lines.end;
        }
        push(all.get(done..).unwrap_or_default());
        text = result;
        for target in own {
            changes[number].hunks[target.hunk].expected = to;
        }
    }
    Ok(text)
}

/// `amended`: the inserted side is a text of the user.
fn check(text: &str, trace: &Trace, target: &SideTarget, amended: bool) -> Result<(), SideRefusal> {
    if let Some((change, hunk)) = trace.beneath.first() {
        return Err(SideRefusal::Beneath { change: *change, hunk: *hunk });
    }
    // What was shown in its place has to be there still, also if the agent's own lines are there instead.
    let is_as_shown = target.seen.as_ref().map(|seen| {
        let there = lines(text).skip(trace.lines.start).take(trace.lines.len());
        there.collect::<String>() == *seen
    });
    match trace.found {
        HunkText::Gone => Err(SideRefusal::Gone),
        HunkText::Is(Side::Before) if is_as_shown != Some(false) => Ok(()),
        HunkText::Is(Side::After) if !amended && is_as_shown != Some(false) => Ok(()),
        HunkText::Is(_) | HunkText::Amended { .. } if is_as_shown == Some(true) => Ok(()),
        HunkText::Is(_) | HunkText::Amended { .. } => Err(SideRefusal::Amended),
    }
}

/// Appends a line. A line without a line end was the last of its text; if it is not any more, it gets one.
fn push_whole(text: &mut String, line: &str, style: &str) {
    if !text.is_empty() && !text.ends_with(['\n', '\r']) {
        text.push_str(style);
    }
    push_line(text, line);
}
