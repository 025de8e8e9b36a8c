//! Writes closed files on disk, several at once, so that a program that watches them sees one change.
//!
//! Never writes an open document. Each file is checked right before its change; one that cannot be written stops no other.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use adjutant_core::policy::saving::SaveAfter;
use adjutant_host::scarce;
use tokio::sync::OwnedMutexGuard;

use super::SessionWorld;
use super::verify::ApplyAttempt;
use crate::aside;
use crate::documents::Text;
use crate::faults::point;
use crate::tools::paths::{
    PreparedChange, ReplaceOutcome, ReplaceRefusal, ResolvedPath, commit_all, resolve,
};
use crate::uri;

/// The locks of files, held by what edits them.
pub type Turns = Arc<Vec<OwnedMutexGuard<()>>>;

/// A file that is written on disk, or removed.
pub(super) struct DiskWrite {
    pub(super) path: String,
    /// The URI of the file after following every link, as the user was shown it.
    pub(super) target: String,
    pub(super) at: ResolvedPath,
    /// The hash of its bytes; none if there is no file.
    pub(super) expected: Option<[u8; 32]>,
    /// Its new bytes; none if it is removed.
    pub(super) bytes: Option<Vec<u8>>,
}

/// Resolves the path of a change again. Fails if it does not lead to the file that the user was shown, and to
/// that file alone: another file is neither read nor changed.
pub(super) fn approved_place(place: &SessionWorld, path: &str, target: &str) -> Result<ResolvedPath, String> {
    let at = resolve(&place.roots, path).map_err(|why| why.to_string())?;
    if !at.inside || uri::of_path(&at.absolute) != target {
        return Err("the path leads elsewhere than when it was shown".to_owned());
    }
    if at.has_other_names() {
        return Err("the file has other names (hard links) since it was shown".to_owned());
    }
    Ok(at)
}

/// Waits for the locks of all these files, in one order for everything that waits for several.
pub(super) async fn turns<'a>(
    place: &SessionWorld,
    targets: impl Iterator<Item = &'a str>,
) -> Vec<OwnedMutexGuard<()>> {
    let paths: BTreeSet<PathBuf> = targets.filter_map(|target| uri::to_path(target).ok()).collect();
    let mut turns = Vec::new();
    for path in paths {
        turns.push(place.world.edit_turns.turn(&path).await);
    }
    turns
}

/// Writes files on disk, all at once, and returns what became of each. A cancel ends the wait but not the writes. They hold
/// the locks until their end, so that a later check finds each edit whole or not at all.
pub(super) async fn write_all(
    place: &Arc<SessionWorld>,
    writes: Vec<DiskWrite>,
    turns: Turns,
) -> Vec<ApplyAttempt> {
    let count = writes.len();
    (0..count).for_each(|_| point("edit-sent"));
    let here = place.clone();
    let written = aside::attempt(move || {
        let _turns = turns;
        written(&here, &writes)
    })
    .await;
    (0..count).for_each(|_| point("edit-answered"));
    let attempts = written.map_or_else(
        |_| {
            let broke =
                || ApplyAttempt::Failed { why: "writing it broke inside Adjutant".into(), in_doubt: false };
            (0..count).map(|_| broke()).collect()
        },
        |results| results.into_iter().map(attempt_of).collect::<Vec<_>>(),
    );
    for _ in attempts.iter().filter(|attempt| matches!(attempt, ApplyAttempt::Landed { .. })) {
        point("edit-landed");
        point("edit-saved");
    }
    attempts
}

/// What became of one file; none if it was opened or its path changed meanwhile.
type WriteResult = Option<Result<ReplaceOutcome, ReplaceRefusal>>;

/// Prepares all writes, then makes them one right after the other. Blocks.
fn written(place: &SessionWorld, writes: &[DiskWrite]) -> Vec<WriteResult> {
    let locks = &place.world.write_locks;
    let prepare = |write: &DiskWrite| match (&write.bytes, write.expected) {
        (Some(bytes), expected) => PreparedChange::write(locks, &write.at, expected, bytes),
        (None, expected) => PreparedChange::removal(locks, &write.at, expected.unwrap_or_default()),
    };
    let mut order: Vec<usize> = (0..writes.len()).collect();
    // The order in which locks are taken, of every server.
    order.sort_by(|one, other| writes[*one].at.absolute.cmp(&writes[*other].at.absolute));
    let mut results: Vec<WriteResult> = writes.iter().map(|_| None).collect();
    let mut ready: Vec<(usize, PreparedChange)> = Vec::new();
    for index in order {
        let mut prepared = prepare(&writes[index]);
        if !ready.is_empty() && matches!(&prepared, Err(why) if is_scarce(why)) {
            // The descriptors of those that are ready are free after their change.
            commit(place, writes, std::mem::take(&mut ready), &mut results);
            prepared = prepare(&writes[index]);
        }
        match prepared {
            Ok(change) => ready.push((index, change)),
            Err(why) => results[index] = Some(Err(why)),
        }
    }
    commit(place, writes, ready, &mut results);
    results
}

/// Makes the changes of files that are still closed, and still have the approved place.
fn commit(
    place: &SessionWorld,
    writes: &[DiskWrite],
    ready: Vec<(usize, PreparedChange)>,
    results: &mut [WriteResult],
) {
    // Asked for each file right before its change: that of the last comes some time after that of the first.
    let may = |index: &usize| {
        let DiskWrite { path, target, at, .. } = &writes[*index];
        matches!(place.world.documents.text(&at.absolute), Text::Closed)
            && approved_place(place, path, target).is_ok()
    };
    for (index, result) in commit_all(ready, may) {
        results[index] = result;
    }
}

fn is_scarce(why: &ReplaceRefusal) -> bool {
    matches!(why, ReplaceRefusal::Io(_, error) if scarce::descriptors(error).is_some())
}

fn attempt_of(result: WriteResult) -> ApplyAttempt {
    match result {
        Some(Ok(replaced)) => {
            if let ReplaceOutcome::Unsynced(error) = replaced {
                tracing::warn!(%error, "the folder of an edited file could not be synced");
            }
            ApplyAttempt::Landed { exact: true, text: None, saves: SaveAfter::No }
        }
        None => ApplyAttempt::Stale("it was opened, or its path changed".to_owned()),
        // Another program wrote the file meanwhile; the change may still fit the new text.
        Some(Err(why @ ReplaceRefusal::Changed(_))) => ApplyAttempt::Stale(why.to_string()),
        // The file of that name may be this edit's.
        Some(Err(why @ ReplaceRefusal::Crossed(..))) => {
            ApplyAttempt::Failed { why: why.to_string(), in_doubt: true }
        }
        Some(Err(why)) => ApplyAttempt::Failed { why: why.to_string(), in_doubt: false },
    }
}
