//! How much of the log the end of a decision takes.
//!
//! Never exact: always enough for the records that say what became of each hunk.

use super::AppliedChanges;
use crate::record::Event;

/// Bytes for what all hunks of a decision share.
const SHARED: usize = 4 << 10;
/// Bytes for what became of one hunk, without the words of the user.
const OF_A_HUNK: usize = 1 << 10;
/// How much longer a text is in the log, at most, but for texts that are no text.
const ESCAPED: usize = 2;

impl AppliedChanges {
    /// Returns how many bytes the log needs after these events for the end of the decisions that are being carried out; 0 if
    /// there are none, or if these events are the end of one.
    pub fn room_for_ends(&self, events: &[Event]) -> u64 {
        let mut room = 0;
        let of_hunk = |texts: [Option<&String>; 2]| {
            OF_A_HUNK + ESCAPED * texts.into_iter().flatten().map(String::len).sum::<usize>()
        };
        for event in events {
            match event {
                Event::ReviewStarted { hunks, reason, .. } => {
                    let all = hunks.iter().map(|hunk| of_hunk([hunk.seen.as_ref(), reason.as_ref()]));
                    room += all.sum::<usize>();
                }
                Event::Reviewed { change_set, hunks, .. } | Event::ReviewFailed { change_set, hunks, .. } => {
                    let change = self.get(change_set);
                    let is_pending =
                        |id: &String| change.and_then(|change| change.hunk(id)?.pending.as_ref()).is_some();
                    if hunks.iter().any(is_pending) {
                        return 0;
                    }
                }
                _ => {}
            }
        }
        let hunks = self.all.values().flat_map(|change| &change.hunks);
        let pending = hunks.filter_map(|hunk| hunk.pending.as_ref());
        room += pending.map(|one| of_hunk([one.seen.as_ref(), one.reason.as_ref()])).sum::<usize>();
        if room == 0 { 0 } else { (SHARED + room) as u64 }
    }
}
