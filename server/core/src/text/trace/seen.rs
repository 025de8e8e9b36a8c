//! Hunks that the user saw with later hunks on them, which were undone since by a decision of their own.
//!
//! Never drops a line of the user that was not shown.

use super::side::{SideTarget, TurnedHunk, TurnedText, UserText, turn};
use super::{HunkNumber, PastChange, Side};

/// The most hunks that may have gone since the user looked.
const MOST: usize = 8;

/// Returns the text with these hunks undone, if what the user saw of them is what was there before the last of the hunks
/// `undone` went, of which the first one went last. `None` if the user saw another text.
pub fn undone_as_seen(
    now: &str,
    changes: &[PastChange<'_>],
    targets: &[SideTarget],
    undone: &[HunkNumber],
) -> Option<TurnedText> {
    let is_turned =
        |result: &Result<TurnedHunk, _>| matches!(result, Ok(TurnedHunk::Turned { dropped: None }));
    (1..=undone.len().min(MOST)).find_map(|count| {
        let target = |(change, hunk): &HunkNumber| SideTarget { change: *change, hunk: *hunk, seen: None };
        let gone: Vec<SideTarget> = undone[..count].iter().map(target).collect();
        let shown = turn(now, changes, &gone, Side::After, UserText::IfSeen);
        let mut made = changes.to_vec();
        for (change, hunk) in &undone[..count] {
            made[*change].hunks[*hunk].expected = Side::After;
        }
        let back = turn(&shown.text, &made, &gone, Side::Before, UserText::IfSeen);
        let is_exact = shown.results.iter().chain(&back.results).all(is_turned) && back.text == now;
        if !is_exact {
            return None;
        }
        let all = [gone, targets.to_vec()].concat();
        let TurnedText { text, results } = turn(&shown.text, &made, &all, Side::Before, UserText::IfSeen);
        let (first, own) = results.split_at(count);
        let is_seen = first.iter().all(is_turned) && own.iter().all(Result::is_ok);
        is_seen.then(|| TurnedText { text, results: own.to_vec() })
    })
}
