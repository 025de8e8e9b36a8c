//! Hunks as clients see them in a review.

use adjutant_protocol::review::{DecidedHunk, ReviewHunk};

use crate::record::{ChangeSetId, HunkSet};
use crate::session::hunks::ids_of;
use crate::session::{ChangeState, HunkState, Session};
use crate::text::review::unified_diff;

/// Returns the hunks that wait for an answer or are on their way, in the order of their calls.
pub fn hunks(session: &Session) -> Vec<ReviewHunk> {
    let live = session.live_changes();
    let of_change = |state: &ChangeState| -> Vec<ReviewHunk> {
        let is_open = |id: &String| state.hunks.get(id).is_some_and(|state| !state.is_final());
        ids_of(&state.change)
            .iter()
            .filter(|id| is_open(id))
            .filter_map(|id| view(session, state, id))
            .collect()
    };
    live.into_iter().flat_map(of_change).collect()
}

fn view(session: &Session, state: &ChangeState, id: &str) -> Option<ReviewHunk> {
    let change = &state.change;
    // A change that creates an empty file has one id and no lines.
    let hunk = change.hunks.iter().find(|hunk| hunk.id == id);
    let makers = change.parts.iter().filter(|part| hunk.is_none() || part.hunks.iter().any(|of| of == id));
    Some(ReviewHunk {
        change_set_id: change.change_set.clone(),
        hunk_id: id.to_owned(),
        state: state.hunks.get(id).copied()?.into(),
        uri: change.uri.clone(),
        path: change.path.clone(),
        line: hunk.map_or(0, |hunk| u32::try_from(hunk.line).unwrap_or(u32::MAX)),
        removed: hunk.map(|hunk| hunk.removed.concat()).unwrap_or_default(),
        inserted: hunk.map(|hunk| hunk.inserted.concat()).unwrap_or_default(),
        diff: unified_diff(&change.path, change.existed, hunk.map_or(&[], std::slice::from_ref)),
        run_id: session.open_run()?.id.clone(),
        tool_call_ids: makers.map(|part| part.call.clone()).collect(),
        ask_id: session.open_ask_about(&change.change_set).map(|open| open.ask.id.clone()),
    })
}

/// Returns the ids of the hunks of a change that wait for an answer.
pub fn waiting(session: &Session, change_set: &ChangeSetId) -> Vec<String> {
    session.changes.get(change_set).map(|state| state.in_state(HunkState::Proposed)).unwrap_or_default()
}

/// Returns the states of these hunks.
pub fn states(session: &Session, targets: &[HunkSet]) -> Vec<DecidedHunk> {
    let of_target = |target: &HunkSet| -> Vec<DecidedHunk> {
        let Some(state) = session.changes.get(&target.change_set) else { return Vec::new() };
        let decided = |id: &String| {
            let hunk = state.hunks.get(id).copied()?;
            let change_set_id = target.change_set.clone();
            Some(DecidedHunk { change_set_id, hunk_id: id.clone(), state: hunk.into() })
        };
        target.hunks.iter().filter_map(decided).collect()
    };
    targets.iter().flat_map(of_target).collect()
}
