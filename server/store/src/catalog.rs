//! All sessions of this user: where each stands, what a list shows of it, and
//! how it is deleted. A list reads summaries and no logs; a summary is derived,
//! and never believed when it does not fit its log.

mod summary;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::log::{EVENTS, LOCK, Log, LogMark, LogPlace, Notice, OpenError, RecordRaw};
use super::storage::{EntryType, LockError, LockGuard, Stat, Storage, remove_tree};
use super::watermark::Syncer;
use adjutant_host::scarce;

pub use summary::{AskMark, Summary};

/// The most sessions one list holds.
pub const MAX_LISTED: usize = 100_000;

/// The most threads that look at a list.
const MAX_THREADS: usize = 8;
/// Fewer sessions are not worth a thread.
const MIN_SHARE: usize = 250;

/// The most remains of deleted sessions that one sweep removes.
const MAX_SWEPT: usize = 64;

const SESSIONS: &str = "sessions";
/// What is being deleted; no session id begins with a dot.
const DELETED: &str = ".deleted-";

/// Why the catalog could not do something.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The id could not be one of ours.
    #[error("find session \"{id}\": an id has 1 to 64 of the characters a-z, 0-9 and -")]
    BadId {
        /// The id.
        id: String,
    },
    /// There is no such session.
    #[error("find session \"{id}\": there is none")]
    Missing {
        /// The id.
        id: String,
    },
    /// It has a writer.
    #[error("delete session \"{id}\": it is in use; close it first ({source})")]
    InUse {
        /// The id.
        id: String,
        /// Who holds it.
        source: LockError,
    },
    /// Its log could not be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// No descriptor is free; it may be tried again.
    #[error("reach the sessions: {0}")]
    Scarce(&'static str),
    /// The system refused.
    #[error("reach the sessions in \"{dir}\": {source}")]
    Io {
        /// The directory.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl CatalogError {
    /// Says whether it passes by itself, so that it tells nothing about a session.
    pub fn is_scarce(&self) -> bool {
        matches!(self, CatalogError::Scarce(_) | CatalogError::Open(OpenError::Scarce { .. }))
    }
}

/// How far what is listed can be believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// The summary fits the log.
    Current,
    /// The log has changed since, or there is no summary; it should be rebuilt.
    Stale,
    /// Something is wrong with the log, and what.
    Damaged(String),
}

/// One session in a list.
#[derive(Debug, Clone)]
pub struct ListedSession {
    /// Its id.
    pub id: String,
    /// What was last known of it.
    pub summary: Option<Summary>,
    /// How far that can be believed.
    pub condition: Condition,
    /// Whether the summary was made of this very log.
    pub fits: bool,
    /// The log as it was found.
    pub log: Option<Stat>,
}

/// The sessions under one state directory.
#[derive(Clone)]
pub struct Catalog {
    storage: Arc<dyn Storage>,
    syncer: Syncer,
    dir: PathBuf,
}

impl Catalog {
    /// Returns the catalog of the sessions in `state_root`; nothing is created yet.
    pub fn new(storage: Arc<dyn Storage>, syncer: Syncer, state_root: &std::path::Path) -> Self {
        Self { storage, syncer, dir: state_root.join(SESSIONS) }
    }

    /// Returns where the log of a session stands, or would.
    pub fn place(&self, id: &str) -> Result<LogPlace, CatalogError> {
        if !is_id(id) {
            return Err(CatalogError::BadId { id: id.to_owned() });
        }
        Ok(LogPlace {
            storage: Arc::clone(&self.storage),
            syncer: self.syncer.clone(),
            dir: self.dir.join(id),
            session: id.to_owned(),
        })
    }

    /// Makes a folder inside that of a session, for its owner alone. Blocks.
    pub fn make_folder(&self, dir: &std::path::Path) -> io::Result<()> {
        self.storage.create_dir(dir)
    }

    /// Returns all sessions, the last changed first, damaged ones included. Blocks.
    pub fn list(&self) -> Result<Vec<ListedSession>, CatalogError> {
        let entries = match self.storage.list(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| self.failed(error))?,
        };
        let ids = entries.into_iter().filter(|entry| entry.kind == EntryType::Dir && is_id(&entry.name));
        let ids: Vec<String> = ids.take(MAX_LISTED).map(|entry| entry.name).collect();
        let mut list = side_by_side(&ids, |ids| {
            ids.iter().filter_map(|id| self.listed(id.clone()).transpose()).collect()
        })?;
        let changed = |listed: &ListedSession| listed.summary.as_ref().map_or(0, |known| known.updated_at);
        list.sort_by(|a, b| changed(b).cmp(&changed(a)).then_with(|| a.id.cmp(&b.id)));
        Ok(list)
    }

    /// Returns one session as a list shows it, or nothing when there is none of that id. Blocks.
    pub fn find(&self, id: &str) -> Result<Option<ListedSession>, CatalogError> {
        match self.has(id) {
            true => self.listed(id.to_owned()),
            false => Ok(None),
        }
    }

    /// Returns one session as a list shows it, or nothing when the directory
    /// holds no trace of a log: its first record was never acknowledged.
    fn listed(&self, id: String) -> Result<Option<ListedSession>, CatalogError> {
        let dir = self.dir.join(&id);
        let failed = |error| self.failed(error);
        let summary = summary::read(&*self.storage, &dir).map_err(failed)?;
        let mut fits = false;
        let stat = self.storage.stat(&dir.join(EVENTS));
        let log = stat.as_ref().ok().copied();
        let condition = match stat {
            Ok(found) if found.kind != EntryType::File => {
                Condition::Damaged("the log is not a regular file".to_owned())
            }
            Ok(found) => {
                let log = (&*self.storage, &*dir, &*id, &found);
                let known = summary.as_ref();
                fits = known.map_or(Ok(false), |known| summary::fits(known, log)).map_err(failed)?;
                match known.filter(|_| fits) {
                    Some(Summary { damage: Some(damage), .. }) => Condition::Damaged(damage.clone()),
                    Some(_) => Condition::Current,
                    None => summary::check_head(&*self.storage, &dir, &id).map_err(failed)?,
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let Ok(entries) = self.storage.list(&dir) else { return Ok(None) };
                let left = entries.iter().any(|entry| entry.name.starts_with(EVENTS));
                if summary.is_none() && !left {
                    return Ok(None);
                }
                Condition::Damaged("the log is missing".to_owned())
            }
            Err(error) => Condition::Damaged(format!("the log cannot be read: {error}")),
        };
        Ok(Some(ListedSession { id, summary, condition, fits, log }))
    }

    /// Returns the summary of one session if it fits the last record of the log.
    pub fn summary(&self, id: &str) -> Result<Option<Summary>, CatalogError> {
        let place = self.place(id)?;
        let known = summary::read(&*self.storage, &place.dir).map_err(|error| self.failed(error))?;
        Ok(known.filter(|known| summary::last_mark(&place) == Some(known.log)))
    }

    /// Replaces the summary of a session; readers see the old one or the new one.
    pub fn write_summary(&self, id: &str, summary: &Summary) -> Result<(), CatalogError> {
        let place = self.place(id)?;
        // Where the log has grown since, the summary does not fit it anyway.
        let log = self.storage.stat(&place.events()).ok().filter(|log| log.len == summary.log.len);
        let summary = Summary { written: log.map(|log| log.written), ..summary.clone() };
        summary::write(&*self.storage, &place.dir, &summary).map_err(|error| self.failed(error))
    }

    /// Rebuilds the summary of a session: `take` folds its records one by one, so that a long log
    /// is never in memory whole, and `done` makes the summary of what came of it. Damage of the log
    /// itself is told before what `done` says of it. Blocks.
    pub fn rebuild<F>(
        &self,
        id: &str,
        mut folded: F,
        take: impl Fn(&mut F, RecordRaw),
        done: impl FnOnce(&F, LogMark) -> Summary,
    ) -> Result<Summary, CatalogError> {
        let place = self.place(id)?;
        // Before it is read: what changes meanwhile makes the summary one that does not fit.
        let before = self.storage.stat(&place.events()).ok();
        let mut sink = |record| take(&mut folded, record);
        let read =
            Log::read_each(&*self.storage, &place.dir, id, &mut sink).map_err(|error| match error {
                OpenError::Missing { session } => CatalogError::Missing { id: session },
                error => error.into(),
            })?;
        let mut summary = done(&folded, read.mark);
        let damage = read.notices.iter().find(|notice| notice.is_damage());
        summary.damage = damage.map(ToString::to_string).or(summary.damage);
        summary.torn = read.notices.iter().any(|notice| matches!(notice, Notice::TornTail { .. }));
        summary.written = before.filter(|log| log.len == summary.log.len).map(|log| log.written);
        // What a newer version keeps beside its log knows more than can be folded here.
        if !read.notices.iter().any(|notice| matches!(notice, Notice::NewerFormat { .. }))
            && let Err(error) = summary::write(&*self.storage, &place.dir, &summary)
        {
            // A full disk or a folder that cannot be written says nothing about the session.
            tracing::warn!(%error, session = id, "the summary was not written");
        }
        Ok(summary)
    }

    /// Returns the log of a session as it is now, nothing where there is none. Blocks.
    pub fn log_of(&self, id: &str) -> Option<Stat> {
        self.place(id).ok().and_then(|place| self.storage.stat(&place.events()).ok())
    }

    /// Tells whether there is a session of this id. Blocks.
    pub fn has(&self, id: &str) -> bool {
        let found = self.place(id).ok().and_then(|place| self.storage.stat(&place.dir).ok());
        found.is_some_and(|found| found.kind == EntryType::Dir)
    }

    /// Tells whether some process writes a session at this moment. Blocks.
    pub fn is_written(&self, id: &str) -> bool {
        let Ok(place) = self.place(id) else { return false };
        match self.storage.lock(&place.dir.join(LOCK)) {
            Err(LockError::Held { .. }) => true,
            // Not known; that a run goes on is then the safe answer.
            Err(LockError::Io(error)) => scarce::descriptors(&error).is_some(),
            Ok(_) => false,
        }
    }

    /// Deletes a session with all that belongs to it, unless it has a writer. Blocks.
    pub fn delete(&self, id: &str) -> Result<(), CatalogError> {
        let place = self.place(id)?;
        let failed = |error| self.failed(error);
        match self.storage.stat(&place.dir) {
            Ok(found) if found.kind == EntryType::Dir => {}
            _ => return Err(CatalogError::Missing { id: id.to_owned() }),
        }
        let _lock: LockGuard = match self.storage.lock(&place.dir.join(LOCK)) {
            Ok(lock) => lock,
            Err(LockError::Io(error)) => return Err(failed(error)),
            Err(source) => {
                return Err(CatalogError::InUse { id: id.to_owned(), source });
            }
        };
        let grave = self.dir.join(format!("{DELETED}{id}"));
        remove_tree(&*self.storage, &grave).map_err(failed)?;
        // One rename makes it gone as a whole, whatever happens after it.
        self.storage.rename(&place.dir, &grave).map_err(failed)?;
        self.storage.sync_dir(&self.dir).map_err(failed)?;
        remove_tree(&*self.storage, &grave).map_err(failed)
    }

    /// Removes what is left of sessions whose deletion was cut short, of a bounded number of them;
    /// the next start takes more. Blocks.
    pub fn sweep(&self) -> io::Result<()> {
        let entries = match self.storage.list(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let mut graves = entries.iter().filter(|entry| entry.name.starts_with(DELETED)).take(MAX_SWEPT);
        graves.try_for_each(|entry| remove_tree(&*self.storage, &self.dir.join(&entry.name)))
    }

    fn failed(&self, source: io::Error) -> CatalogError {
        match scarce::descriptors(&source) {
            Some(why) => CatalogError::Scarce(why),
            None => CatalogError::Io { dir: self.dir.clone(), source },
        }
    }
}

/// Looks at parts of a long list in as many threads as there are processors, and returns what was found in
/// the order of the list. Blocks.
fn side_by_side(
    ids: &[String],
    look: impl Fn(&[String]) -> Result<Vec<ListedSession>, CatalogError> + Sync,
) -> Result<Vec<ListedSession>, CatalogError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let share = ids.len().div_ceil(threads).max(MIN_SHARE);
    std::thread::scope(|scope| {
        let look = &look;
        // The first part is for this thread, as is one for which the system gives no other.
        let parts: Vec<_> = ids.chunks(share).collect();
        let begin = |part| std::thread::Builder::new().spawn_scoped(scope, move || look(part)).ok();
        let begun: Vec<_> = parts.iter().skip(1).map(|part| begin(*part)).collect();
        let mut found = parts.first().map_or_else(|| Ok(Vec::new()), |part| look(part))?;
        for (part, thread) in parts.iter().skip(1).zip(begun) {
            let more = match thread {
                Some(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                None => look(part),
            };
            found.extend(more?);
        }
        Ok(found)
    })
}

/// Returns whether a text can be the id of a session, and so a name in a path.
pub fn is_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

#[cfg(test)]
mod tests;
