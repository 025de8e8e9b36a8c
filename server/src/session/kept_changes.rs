//! The applied changes of a session next to its log, so that their review and `why` need not read the log.
//!
//! Never holds a change that the log does not have: if this file cannot be used, Adjutant folds the log.

use std::path::PathBuf;
use std::sync::Arc;

use adjutant_core::session::applied::{AppliedChanges, changes_of_lines};
use adjutant_protocol::SessionId;

use super::catalog::{Catalog, KeptChanges, MOST_CHANGES_BYTES};
use super::log::LogMark;
use super::replay::{self, FoldedLog};
use crate::reviews::KnownChange;

/// The applied changes of a session that is not in memory.
pub struct ReadChanges {
    /// The folders of the session.
    pub folders: Vec<PathBuf>,
    /// Oldest first.
    pub changes: Vec<KnownChange>,
}

/// Keeps the changes of a session, which its log has up to a mark. Blocks.
pub fn keep(catalog: &Catalog, id: &SessionId, log: LogMark, roots: &[String], applied: &AppliedChanges) {
    // With more bytes, the log is read each time.
    let Some(lines) = applied.to_lines(MOST_CHANGES_BYTES) else { return };
    if let Err(error) = catalog.keep_changes(&id.0, log, roots.to_vec(), &lines) {
        tracing::warn!(%error, session = %id, "its changes were not kept next to its log");
    }
}

/// Returns the changes of a session: the kept ones if they belong to this log, else those that it folds from the log, which it
/// keeps. For a damaged log, `log` is `None`: then it folds what the log still has, and keeps nothing. Blocks.
pub fn read(catalog: &Catalog, id: &SessionId, log: Option<LogMark>) -> Result<ReadChanges, String> {
    if let Some(kept) = log.and_then(|log| known(catalog, id, log)) {
        return Ok(kept);
    }
    let FoldedLog { session, whole } = replay::fold_changes(catalog, id)?;
    if let Some(log) = whole {
        keep(catalog, id, log, &session.roots, &session.applied);
    }
    let changes = session.applied.all().into_iter().cloned().map(KnownChange::Read).collect();
    Ok(ReadChanges { folders: session.roots.into_iter().map(PathBuf::from).collect(), changes })
}

/// Returns the changes that were kept of this log, with their hunks not read yet.
fn known(catalog: &Catalog, id: &SessionId, log: LogMark) -> Option<ReadChanges> {
    let KeptChanges { roots, lines } = catalog.kept_changes(&id.0, log)?;
    let changes = changes_of_lines(&Arc::from(lines))?.into_iter().map(KnownChange::Kept).collect();
    Some(ReadChanges { folders: roots.into_iter().map(PathBuf::from).collect(), changes })
}
