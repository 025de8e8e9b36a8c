//! The text that a call of a turn is about, when other calls of the turn come before it.
//!
//! Judges no edit and holds no text: it is a function of the proposals that are open and of the text as it is.

use std::borrow::Cow;

use crate::session::run::HunkState;
use crate::session::{Call, Session};
use crate::text::review::{ConflictReport, Hunk, apply_hunks};

/// Returns the text of a file as the edits before a call in its turn would leave it; `now` is how it is, and
/// `target` names the file itself, as [`Change::target`](crate::record::Change::target) does.
///
/// Counts what is proposed or on its way; what is in the text already stays as it is there, and what was rejected
/// or could not be made is left out. Fails where one of those edits has no place in the text as it is.
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
