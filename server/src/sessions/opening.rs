//! The log of a session opened for writing, and the session folded from it. Blocks.
//!
//! Never starts the session's task.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use adjutant_core::session::Session;
use adjutant_protocol::errors::ErrorName;

use crate::clock::now_ms;
use crate::session::World;
use crate::session::blobs::Blobs;
use crate::session::catalog::CatalogError;
use crate::session::log::{self, Log, OpenError};
use crate::session::mailbox::ClientError;
use crate::session::replay::ReplayedSession;
use crate::tools::paths::Roots;

/// How often a lock is tried again, and after how long: a list looks at each for an instant.
const LOCK_TRIES: u32 = 5;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// What is told of a session whose open run began with other tools.
const OTHER_TOOLS: &str = "the tools have changed since this run began; it goes on with those of now";

/// A session in memory before its task begins.
pub struct LoadedSession {
    pub session: Session,
    pub roots: Roots,
    pub log: Log,
    /// The number of the last update that was told of it.
    pub told: u64,
    /// What its user is told about its files.
    pub notices: Vec<String>,
    /// The epoch of a log that has facts; a new session has none.
    pub epoch: Option<u64>,
}

impl LoadedSession {
    /// A session that has no folder until its first prompt.
    pub fn new(
        session: impl FnOnce(Vec<String>) -> Session,
        (roots, notices): (Roots, Vec<String>),
        place: log::LogPlace,
    ) -> Self {
        let session = session(roots.paths().map(|path| path.display().to_string()).collect());
        Self { session, roots, log: Log::create(place, now_ms()), told: 0, notices, epoch: None }
    }
}

/// Opens a log for writing; what its last writer left half-written goes, now that nobody writes it.
pub fn open(world: &Arc<World>, place: &log::LogPlace) -> Result<LoadedSession, ClientError> {
    let blobs = Blobs::new(place.storage.clone(), &place.dir);
    let is_locked = |error: &OpenError| matches!(error, OpenError::Locked { .. });
    let open = || {
        let mut told = ReplayedSession::new(&place.session.as_str().into());
        let mut take = |record| {
            told.fold(&record);
            told.folded.whole()
        };
        Log::open_each(place.clone(), now_ms(), &mut take).map(|opened| (opened, told))
    };
    let (opened, told) = patiently(open, is_locked).map_err(open_error)?;
    if let Err(error) = blobs.sweep() {
        tracing::warn!(%error, "what an earlier process left half-written stays");
    }
    let (strays, session, seq) = (told.folded.strays(), told.folded.session, told.seq);
    let folders: Vec<PathBuf> = session.roots.iter().map(PathBuf::from).collect();
    let (roots, problems) = Roots::open(&folders);
    let notices = opened.notices.into_iter().chain(strays).map(|notice| notice.to_string());
    let other_tools = session
        .open_run()
        .is_some_and(|run| !run.toolset.is_empty() && run.toolset != world.tools.now().set().hash());
    let of_tools = other_tools.then(|| OTHER_TOOLS.to_owned());
    let notices = notices.chain(problems).chain(of_tools).collect();
    Ok(LoadedSession { session, roots, log: opened.log, told: seq, notices, epoch: Some(opened.epoch) })
}

/// Deletes the files of a session that nobody writes.
pub fn delete(world: &World, id: &str) -> Result<(), ClientError> {
    let is_used = |error: &CatalogError| matches!(error, CatalogError::InUse { .. });
    patiently(|| world.catalog.delete(id), is_used).map_err(catalog_error)
}

/// Tries what needs the lock of a session again for an instant: whoever lists sessions, here or in
/// another process, holds it that long.
fn patiently<T, E>(attempt: impl Fn() -> Result<T, E>, is_locked: impl Fn(&E) -> bool) -> Result<T, E> {
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

fn open_error(error: OpenError) -> ClientError {
    let name = match &error {
        OpenError::Missing { .. } => ErrorName::SessionNotFound,
        OpenError::Locked { .. } => ErrorName::SessionLocked,
        OpenError::Scarce { .. } => ErrorName::Overloaded,
        OpenError::NewerFormat { .. } | OpenError::Unknown { .. } => ErrorName::VersionUnsupported,
        _ => ErrorName::SessionReadOnly,
    };
    ClientError::new(name, error.to_string())
}
