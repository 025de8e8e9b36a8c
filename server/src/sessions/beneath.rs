//! Which hunks of a decision are in files of which this process has another text open than the disk has. The process that
//! carries the decision out does not know that text, and would change the file beneath it.
//!
//! Never changes a file, and never decides.

use std::collections::BTreeSet;

use adjutant_core::machine::input::ReviewAct;
use adjutant_core::record::HunkSet;
use adjutant_core::session::AppliedChange;
use adjutant_core::wire::review::applied_states;
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::review::{DecidedHunk, ReviewAction, ReviewDecideParams};

use crate::session::World;
use crate::session::mailbox::ClientError;
use crate::session::replay;
use crate::uri;

/// Takes the hunks out of an undo or a restore whose files have another text in this editor than on disk, and returns them with
/// the reason. Blocks.
pub(super) fn take_out_differing(
    world: &World,
    decision: &mut ReviewDecideParams,
) -> Result<Vec<DecidedHunk>, ClientError> {
    let (act, verb) = match decision.action {
        ReviewAction::Undo => (ReviewAct::Undo, "undo"),
        ReviewAction::Restore => (ReviewAct::Restore, "restore"),
        ReviewAction::Apply | ReviewAction::Reject | ReviewAction::Keep => return Ok(Vec::new()),
    };
    let unsaved = world.documents.buffers().unsaved();
    if unsaved.is_empty() {
        return Ok(Vec::new());
    }
    let unsaved: BTreeSet<String> = unsaved.iter().map(|path| uri::of_path(path)).collect();
    let session = replay::fold(&world.catalog, &decision.session_id).map_err(|why| {
        let why = format!("read the changes of session {}: {why}", decision.session_id);
        ClientError::new(ErrorName::SessionReadOnly, why)
    })?;
    let path_of = |change: &AppliedChange| {
        let of_file = change.names().into_iter().find(|name| unsaved.contains(&name.target));
        of_file.map(|name| name.path)
    };
    let mut refused = Vec::new();
    decision.targets.retain_mut(|target| {
        let Some(change) = session.applied.get(&target.change_set_id) else { return true };
        let Some(path) = path_of(change) else { return true };
        let is_whole = target.hunk_ids.is_empty();
        let hunks: Vec<String> = match is_whole {
            true => act.possible(change).collect(),
            // An unknown one is refused by the process that has the session.
            false => target.hunk_ids.extract_if(.., |id| change.hunk(id).is_some()).collect(),
        };
        let set = HunkSet { change_set: target.change_set_id.clone(), hunks };
        let why = format!(
            "the text of {path} in this editor is not the one on disk; save it, or load the file again, then {verb}"
        );
        refused.extend(applied_states(&session, &[set], |_, _| Some(why.clone())));
        !is_whole && !target.hunk_ids.is_empty()
    });
    Ok(refused)
}
