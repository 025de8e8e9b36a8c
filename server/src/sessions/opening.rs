//! Opens the log of a session for writing, and folds the session from it. Blocks.
//!
//! Never starts the task of the session.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use adjutant_core::session::Session;
use adjutant_core::wire::items::Items;
use adjutant_protocol::errors::ErrorName;

use crate::clock::now_ms;
use crate::session::World;
use crate::session::blobs::Blobs;
use crate::session::catalog::CatalogError;
use crate::session::log::{self, Log, OpenError};
use crate::session::mailbox::ClientError;
use crate::session::replay::ReplayedSession;
use crate::tools::paths::Roots;

/// How often a lock is tried again, and the pause between two tries: a list of sessions locks each for a moment.
const LOCK_TRIES: u32 = 5;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// The notice for a session whose open run began with other tools.
const OTHER_TOOLS: &str = "the tools have changed since this run began; it continues with the present ones";

/// A session in memory before its task begins.
pub struct LoadedSession {
    pub session: Session,
    pub roots: Roots,
    pub log: Log,
    /// The items of its lasting updates.
    pub items: Items,
    /// Notices for the user about its log, folders and tools.
    pub notices: Vec<String>,
    /// The epoch of a log that has events; `None` for a new session.
    pub epoch: Option<u64>,
}

impl LoadedSession {
    /// Creates a session that has no folder until its first prompt.
    pub fn new(
        session: impl FnOnce(Vec<String>) -> Session,
        (roots, notices): (Roots, Vec<String>),
        place: log::LogPlace,
    ) -> Self {
        let session = session(roots.paths().map(|path| path.display().to_string()).collect());
        Self {
            session,
            roots,
            log: Log::create(place, now_ms()),
            items: Items::default(),
            notices,
            epoch: None,
        }
    }
}

/// Opens a log for writing. Removes half-written blobs of the last writer, because no other process writes now.
pub fn open(world: &Arc<World>, place: &log::LogPlace) -> Result<LoadedSession, ClientError> {
    let blobs = Blobs::new(place.storage.clone(), &place.dir);
    let is_locked = |error: &OpenError| matches!(error, OpenError::Locked { .. });
    let open = || {
        let mut replayed = ReplayedSession::new(&place.session.as_str().into());
        let mut fold = |record| {
            replayed.fold(&record);
            replayed.folded.whole()
        };
        Log::open_each(place.clone(), now_ms(), &mut fold).map(|opened| (opened, replayed))
    };
    let (opened, replayed) = retry_locked(open, is_locked).map_err(open_error)?;
    if let Err(error) = blobs.sweep() {
        tracing::warn!(%error, "what an earlier process left half-written stays");
    }
    let (strays, session, items) = (replayed.folded.strays(), replayed.folded.session, replayed.items);
    let folders: Vec<PathBuf> = session.roots.iter().map(PathBuf::from).collect();
    let (roots, problems) = Roots::open(&folders);
    let notices = opened.notices.into_iter().chain(strays).map(|notice| notice.to_string());
    let other_tools = session
        .open_run()
        .is_some_and(|run| !run.toolset.is_empty() && world.tools.of_hash(&run.toolset).is_none());
    let of_tools = other_tools.then(|| OTHER_TOOLS.to_owned());
    let notices = notices.chain(problems).chain(of_tools).collect();
    Ok(LoadedSession { session, roots, log: opened.log, items, notices, epoch: Some(opened.epoch) })
}

/// Deletes the files of a session. Refused while a process has it open.
pub fn delete(world: &World, id: &str) -> Result<(), ClientError> {
    let is_used = |error: &CatalogError| matches!(error, CatalogError::InUse { .. });
    retry_locked(|| world.catalog.delete(id), is_used).map_err(catalog_error)
}

/// Tries an operation again for a moment while the session is locked: a list of sessions, here or in another
/// process, holds the lock for so long.
fn retry_locked<T, E>(attempt: impl Fn() -> Result<T, E>, is_locked: impl Fn(&E) -> bool) -> Result<T, E> {
    for _ in 0..LOCK_TRIES {
        match attempt() {
            Err(error) if is_locked(&error) => std::thread::sleep(LOCK_PAUSE),
            other => return other,
        }
    }
    attempt()
}

pub fn catalog_error(error: CatalogError) -> ClientError {
    let name = match &error {
        CatalogError::BadId { .. } | CatalogError::Missing { .. } => ErrorName::SessionNotFound,
        scarce if scarce.is_scarce() => ErrorName::Overloaded,
        _ => ErrorName::SessionLocked,
    };
    ClientError::new(name, error.to_string())
}

pub fn open_error(error: OpenError) -> ClientError {
    let name = match &error {
        OpenError::Missing { .. } => ErrorName::SessionNotFound,
        OpenError::Locked { .. } => ErrorName::SessionLocked,
        OpenError::Scarce { .. } => ErrorName::Overloaded,
        OpenError::NewerFormat { .. } | OpenError::Unknown { .. } => ErrorName::VersionUnsupported,
        _ => ErrorName::SessionReadOnly,
    };
    ClientError::new(name, error.to_string())
}
