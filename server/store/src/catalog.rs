//! The catalog of all sessions of this user: finds, lists and deletes them.
//!
//! A list reads summaries instead of logs. A summary is derived from its log.
//! Never trusts a summary that does not match its log.

mod changes;
mod summary;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::log::{EVENTS, LOCK, Log, LogMark, LogPlace, Notice, OpenError, RecordRaw};
use super::storage::{EntryType, LockError, LockGuard, Stat, Storage, remove_tree};
use super::watermark::Syncer;
use adjutant_host::parallel::in_parts;
use adjutant_host::process::lives;
use adjutant_host::scarce;

pub use changes::{KeptChanges, MOST_BYTES as MOST_CHANGES_BYTES};
pub use summary::{AskMark, Summary};

/// The most sessions in one list.
pub const MAX_LISTED: usize = 100_000;

/// The fewest sessions for which a thread is started.
const MIN_SHARE: usize = 250;

/// The most partly deleted sessions that one sweep removes.
const MAX_SWEPT: usize = 64;

const SESSIONS: &str = "sessions";
/// Prefix of a directory that is being deleted; no session id begins with a dot.
const DELETED: &str = ".deleted-";

/// Prefix of a directory in which a copy of a session is being made; the number of its process follows.
const COPIED: &str = ".copied-";

/// Why the catalog could not do something.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The id is not a valid session id.
    #[error("find session \"{id}\": an id has 1 to 64 of the characters a-z, 0-9 and -")]
    BadId {
        /// The id.
        id: String,
    },
    /// There is no such session.
    #[error("find session \"{id}\": there is no such session")]
    Missing {
        /// The id.
        id: String,
    },
    /// A process writes the session.
    #[error("delete session \"{id}\": it is {source}; close it first")]
    InUse {
        /// The id.
        id: String,
        /// Which process holds the lock.
        source: LockError,
    },
    /// The log could not be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// No file descriptor is free; the caller may try again.
    #[error("read the sessions: {0}")]
    Scarce(&'static str),
    /// The system returned an error.
    #[error("use the sessions in \"{dir}\": {source}")]
    Io {
        /// The directory.
        dir: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl CatalogError {
    /// Whether the error is a temporary lack of descriptors, which says nothing about a session.
    pub fn is_scarce(&self) -> bool {
        matches!(self, CatalogError::Scarce(_) | CatalogError::Open(OpenError::Scarce { .. }))
    }
}

/// How far a listed summary can be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// The summary matches the log.
    Current,
    /// The log has changed since, or there is no summary. The summary should be rebuilt.
    Stale,
    /// The log is damaged; the text says how.
    Damaged(String),
}

/// One session in a list.
#[derive(Debug, Clone)]
pub struct ListedSession {
    /// Its id.
    pub id: String,
    /// Its last summary, if there is a readable one.
    pub summary: Option<Summary>,
    /// How far the summary can be trusted.
    pub condition: Condition,
    /// Whether the summary was made from the log as it is now.
    pub fits: bool,
    /// Identity, length and time of the log file.
    pub log: Option<Stat>,
    /// The other process that has it open, if there is one.
    pub holder: Option<u32>,
}

/// The sessions under one state directory.
#[derive(Clone)]
pub struct Catalog {
    storage: Arc<dyn Storage>,
    syncer: Syncer,
    dir: PathBuf,
}

impl Catalog {
    /// Returns the catalog of the sessions in `state_root`. Creates nothing yet.
    pub fn new(storage: Arc<dyn Storage>, syncer: Syncer, state_root: &std::path::Path) -> Self {
        Self { storage, syncer, dir: state_root.join(SESSIONS) }
    }

    /// Returns the place of a session's log, whether the log exists or not.
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

    /// Creates a directory inside that of a session, for its owner only. Blocks.
    pub fn make_folder(&self, dir: &std::path::Path) -> io::Result<()> {
        self.storage.create_dir(dir)
    }

    /// Returns all sessions, also damaged ones; the last changed first. Blocks.
    pub fn list(&self) -> Result<Vec<ListedSession>, CatalogError> {
        let ids = self.ids()?;
        let read = |ids: &[String]| ids.iter().filter_map(|id| self.listed(id.clone()).transpose()).collect();
        let parts: Vec<Result<Vec<_>, _>> = in_parts(&ids, MIN_SHARE, read);
        let mut list: Vec<ListedSession> =
            parts.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        let changed = |listed: &ListedSession| listed.summary.as_ref().map_or(0, |known| known.updated_at);
        list.sort_by(|a, b| changed(b).cmp(&changed(a)).then_with(|| a.id.cmp(&b.id)));
        Ok(list)
    }

    /// Returns one session as a list shows it, or `None` if there is no session of this id. Blocks.
    pub fn find(&self, id: &str) -> Result<Option<ListedSession>, CatalogError> {
        if self.has(id) { self.listed(id.to_owned()) } else { Ok(None) }
    }

    /// Returns one session as a list shows it. Returns `None` if the directory has no trace of a log:
    /// then its first record was never acknowledged.
    fn listed(&self, id: String) -> Result<Option<ListedSession>, CatalogError> {
        let dir = self.dir.join(&id);
        let failed = |error| self.error(error);
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
                let has_copies = entries.iter().any(|entry| entry.name.starts_with(EVENTS));
                if summary.is_none() && !has_copies {
                    return Ok(None);
                }
                Condition::Damaged("the log is missing".to_owned())
            }
            Err(error) => Condition::Damaged(format!("the log cannot be read: {error}")),
        };
        let holder = self.storage.holder(&dir.join(LOCK));
        Ok(Some(ListedSession { id, summary, condition, fits, log, holder }))
    }

    /// Returns the summary of one session if it matches the last record of the log.
    pub fn summary(&self, id: &str) -> Result<Option<Summary>, CatalogError> {
        let place = self.place(id)?;
        let known = summary::read(&*self.storage, &place.dir).map_err(|error| self.error(error))?;
        Ok(known.filter(|known| summary::last_mark(&place) == Some(known.log)))
    }

    /// Replaces the summary of a session. Readers see the old summary or the new one.
    pub fn write_summary(&self, id: &str, summary: &Summary) -> Result<(), CatalogError> {
        let place = self.place(id)?;
        // If the log has grown since, the summary does not match it anyway.
        let log = self.storage.stat(&place.events()).ok().filter(|log| log.len == summary.log.len);
        let summary = Summary { written: log.map(|log| log.written), ..summary.clone() };
        summary::write(&*self.storage, &place.dir, &summary).map_err(|error| self.error(error))
    }

    /// Keeps the applied changes of a session next to its log, a change a line, for [`Catalog::kept_changes`]. `log` is the log that
    /// has them. Blocks.
    pub fn keep_changes(
        &self,
        id: &str,
        log: LogMark,
        roots: Vec<String>,
        lines: &[u8],
    ) -> Result<(), CatalogError> {
        let place = self.place(id)?;
        changes::write(&*self.storage, (&place.dir, id), log, roots, lines).map_err(|error| self.error(error))
    }

    /// Returns the applied changes of a session that were kept, if they are those of this log. Blocks.
    pub fn kept_changes(&self, id: &str, log: LogMark) -> Option<KeptChanges> {
        changes::read(&*self.storage, (&self.place(id).ok()?.dir, id), log)
    }

    /// Rebuilds the summary of a session. `fold` folds its records one by one, so that a long log
    /// is never in memory whole. `done` makes the summary of the folded state. Damage found in the log
    /// takes precedence over the damage that `done` reports. Blocks.
    pub fn rebuild<F>(
        &self,
        id: &str,
        mut folded: F,
        fold: impl Fn(&mut F, RecordRaw),
        done: impl FnOnce(&F, LogMark) -> Summary,
    ) -> Result<Summary, CatalogError> {
        let place = self.place(id)?;
        // Before the log is read: if it changes meanwhile, the summary does not match it.
        let before = self.storage.stat(&place.events()).ok();
        let mut sink = |record| fold(&mut folded, record);
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
        // A newer version's own summary knows more than this version can fold, so it is not replaced.
        if !read.notices.iter().any(|notice| matches!(notice, Notice::NewerFormat { .. }))
            && let Err(error) = summary::write(&*self.storage, &place.dir, &summary)
        {
            // A full disk or a read-only directory says nothing about the session.
            tracing::warn!(%error, session = id, "the summary was not written");
        }
        Ok(summary)
    }

    /// Returns all sessions with the stats of their logs, without reading one. Blocks.
    pub fn logs(&self) -> Result<BTreeMap<String, Option<Stat>>, CatalogError> {
        let ids = self.ids()?.into_iter();
        Ok(ids.map(|id| (id.clone(), self.storage.stat(&self.dir.join(id).join(EVENTS)).ok())).collect())
    }

    fn ids(&self) -> Result<Vec<String>, CatalogError> {
        let entries = match self.storage.list(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| self.error(error))?,
        };
        let ids = entries.into_iter().filter(|entry| entry.kind == EntryType::Dir && is_id(&entry.name));
        Ok(ids.take(MAX_LISTED).map(|entry| entry.name).collect())
    }

    /// Returns the stat of a session's log, or `None` if there is no log. Blocks.
    pub fn log_of(&self, id: &str) -> Option<Stat> {
        self.place(id).ok().and_then(|place| self.storage.stat(&place.events()).ok())
    }

    /// Whether there is a session of this id. Blocks.
    pub fn has(&self, id: &str) -> bool {
        let found = self.place(id).ok().and_then(|place| self.storage.stat(&place.dir).ok());
        found.is_some_and(|found| found.kind == EntryType::Dir)
    }

    /// Whether a process writes the session now. Blocks.
    pub fn is_written(&self, id: &str) -> bool {
        let Ok(place) = self.place(id) else { return false };
        match self.storage.lock(&place.dir.join(LOCK)) {
            Err(LockError::Held { .. }) => true,
            // Unknown without a descriptor; the safe answer is that a run continues.
            Err(LockError::Io(error)) => scarce::descriptors(&error).is_some(),
            Ok(_) => false,
        }
    }

    /// Deletes a session with all its files. Fails with `InUse` if a process writes it. Blocks.
    pub fn delete(&self, id: &str) -> Result<(), CatalogError> {
        let place = self.place(id)?;
        let failed = |error| self.error(error);
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
        let deleted = self.dir.join(format!("{DELETED}{id}"));
        remove_tree(&*self.storage, &deleted).map_err(failed)?;
        // One rename deletes the whole session, whatever happens after it.
        self.storage.rename(&place.dir, &deleted).map_err(failed)?;
        self.storage.sync_dir(&self.dir).map_err(failed)?;
        remove_tree(&*self.storage, &deleted).map_err(failed)
    }

    /// Returns the place of a log that is no session before [`Catalog::appear`].
    pub fn hidden_place(&self, id: &str) -> Result<LogPlace, CatalogError> {
        Ok(LogPlace { dir: self.dir.join(format!("{COPIED}{}-{id}", std::process::id())), ..self.place(id)? })
    }

    /// Makes a session of the log at its hidden place, durably. Its writer has made the log durable and has closed it. Blocks.
    pub fn appear(&self, id: &str) -> Result<(), CatalogError> {
        let failed = |error| self.error(error);
        let (hidden, place) = (self.hidden_place(id)?, self.place(id)?);
        // One rename makes the whole session, whatever happens after it.
        self.storage.rename(&hidden.dir, &place.dir).map_err(failed)?;
        self.storage.sync_dir(&self.dir).map_err(failed)
    }

    /// Removes what was written at a hidden place. Blocks.
    pub fn discard_hidden(&self, id: &str) -> Result<(), CatalogError> {
        remove_tree(&*self.storage, &self.hidden_place(id)?.dir).map_err(|error| self.error(error))
    }

    /// Removes sessions whose deletion or copying was interrupted, at most `MAX_SWEPT` of each. Blocks.
    pub fn sweep(&self) -> io::Result<()> {
        let entries = match self.storage.list(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let mut deleted = entries.iter().filter(|entry| entry.name.starts_with(DELETED)).take(MAX_SWEPT);
        deleted.try_for_each(|entry| remove_tree(&*self.storage, &self.dir.join(&entry.name)))?;
        let mut copied = entries.iter().filter(|entry| is_left_copy(&entry.name)).take(MAX_SWEPT);
        copied.try_for_each(|entry| {
            let dir = self.dir.join(&entry.name);
            // A process of another container holds the lock while it copies; its number says nothing here.
            match self.storage.lock(&dir.join(LOCK)) {
                Ok(_lock) => remove_tree(&*self.storage, &dir),
                Err(LockError::Held { .. }) => Ok(()),
                Err(LockError::Io(error)) => Err(error),
            }
        })
    }

    fn error(&self, source: io::Error) -> CatalogError {
        match scarce::descriptors(&source) {
            Some(why) => CatalogError::Scarce(why),
            None => CatalogError::Io { dir: self.dir.clone(), source },
        }
    }
}

/// Whether a folder is of a copy whose process is gone. One that has just been made has no lock yet.
fn is_left_copy(name: &str) -> bool {
    let writer =
        name.strip_prefix(COPIED).map(|rest| rest.split('-').next().and_then(|pid| pid.parse().ok()));
    writer.is_some_and(|pid: Option<u32>| !pid.is_some_and(lives))
}

/// Whether a text is a valid session id, and so safe as a name in a path.
pub fn is_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

#[cfg(test)]
mod tests;
