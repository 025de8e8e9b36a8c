//! The text of a file after the open edits that come earlier in the same turn.
//!
//! Never judges an edit and keeps no text: the result depends only on the open proposals and the current text.

use std::borrow::Cow;

use crate::session::run::HunkState;
use crate::session::{Call, Session};
use crate::text::review::{ConflictReport, Hunk, apply_hunks};

/// Returns the text of a file as the earlier edits of the same turn would leave it. `now` is the current text.
/// `target` names the file, as [`FileChange::target`](crate::record::FileChange::target) does.
///
/// Only hunks that are proposed or being applied count. Applied hunks are already in the text. Rejected and failed
/// hunks are left out. Fails if a hunk has no place in the current text.
pub fn draft<'t>(
    session: &Session,
    call: &Call,
    target: &str,
    now: &'t str,
) -> Result<Cow<'t, str>, ConflictReport> {
    let turn = session.open_run().and_then(|run| run.turn.as_ref());
    let before = turn.into_iter().flat_map(|turn| turn.calls.iter().take_while(|other| other.id != call.id));
    let changes = before.filter_map(|call| session.change_of(call));
    let mut text = Cow::Borrowed(now);
    for state in changes.filter(|state| state.change.target == target) {
        let is_open =
            |hunk: &&Hunk| matches!(state.hunks[&hunk.id], HunkState::Proposed | HunkState::Applying);
        let open: Vec<Hunk> = state.change.hunks.iter().filter(is_open).cloned().collect();
        if !open.is_empty() {
            text = Cow::Owned(apply_hunks(&text, &open)?);
        }
    }
    Ok(text)
}
