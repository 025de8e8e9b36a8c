//! The order in which a client decides about hunks of several sessions, one session after the other.
//!
//! Never decides, and never drops a hunk.

use std::cmp::Reverse;

use adjutant_protocol::SessionId;
use adjutant_protocol::review::{ReviewAction, ReviewHunk};

/// Returns these hunks as decisions: the newest change first if they are undone, because a later one can be on an earlier one, else
/// the oldest first. Neighbours of one session are one decision.
pub fn in_decisions<'a>(
    action: ReviewAction,
    hunks: impl IntoIterator<Item = &'a ReviewHunk>,
) -> Vec<(&'a SessionId, Vec<&'a ReviewHunk>)> {
    let at = |hunk: &&ReviewHunk| hunk.made_by.as_ref().map(|made| made.at);
    let mut hunks: Vec<&ReviewHunk> = hunks.into_iter().collect();
    match action {
        ReviewAction::Undo => hunks.sort_by_key(|hunk| Reverse(at(hunk))),
        _ => hunks.sort_by_key(at),
    }
    let mut decisions: Vec<(&SessionId, Vec<&ReviewHunk>)> = Vec::new();
    for hunk in hunks {
        match decisions.last_mut().filter(|(session, _)| **session == hunk.session_id) {
            Some((_, of_session)) => of_session.push(hunk),
            None => decisions.push((&hunk.session_id, vec![hunk])),
        }
    }
    decisions
}
