//! The log of one session: JSON Lines with one checksummed record a line, and one writer.
//!
//! An append writes; the watermark syncs. A log that can no longer be trusted stops with a reason.
//! Never appends after bytes that this writer did not write.

pub mod line;
pub mod notice;
mod opening;
mod refusal;
mod repair;
pub mod scan;

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::storage::{LockError, LockGuard, Open, Stat, Storage, StoredDir, StoredFile, append_all};
use super::watermark::{LogPosition, SyncError, Syncer, Watermark};
use adjutant_host::scarce;
use line::UnfitEvent;

pub use notice::Notice;
pub use opening::{OpenError, OpenedLog, ReadBack};
pub use refusal::{AppendError, Stop};
pub use scan::RecordRaw;

/// The name of the log in the directory of its session.
pub const EVENTS: &str = "events.jsonl";
/// The name of the lock file in the same directory.
pub const LOCK: &str = "lock";

/// The most bytes of one batch.
const MAX_BATCH: usize = 64 << 20;

/// Where a log is, and the storage and sync pool that it uses.
#[derive(Clone)]
pub struct LogPlace {
    /// The storage.
    pub storage: Arc<dyn Storage>,
    /// The pool that syncs the log.
    pub syncer: Syncer,
    /// The directory of the session.
    pub dir: PathBuf,
    /// The id of the session, which every checksum covers.
    pub session: String,
}

impl LogPlace {
    /// Returns the path of the log.
    pub fn events(&self) -> PathBuf {
        self.dir.join(EVENTS)
    }

    /// Opens the directories whose names lead to the log: that of the session, of all sessions, of the
    /// state, and the parent of the state directory.
    fn hold_dirs(&self) -> io::Result<Vec<Arc<dyn StoredDir>>> {
        self.dir.ancestors().take(4).map(|dir| self.storage.hold_dir(dir)).collect()
    }
}

/// The extent of a log. A summary stores that of the log from which it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LogMark {
    /// The length of the log in bytes.
    pub len: u64,
    /// Its last sequence number.
    pub last_seq: u64,
    /// The checksum of its last record.
    pub sum: u32,
}

/// A log that this process writes.
pub struct Log {
    place: LogPlace,
    created_at: u64,
    state: LogState,
    watermark: Arc<Watermark>,
    epoch: u64,
    last: LogMark,
}

enum LogState {
    /// No file exists: a session is only in memory until its first record.
    NotCreated,
    Open(Writer),
    Stopped(Stop),
}

struct Writer {
    file: Arc<dyn StoredFile>,
    id: (u64, u64),
    /// The most bytes that a failed append may have left after the last good line.
    leftover: u64,
    /// Held for as long as the log may write.
    _lock: LockGuard,
}

/// The encoded lines of a batch, with their sequence numbers and the checksum of the last line.
struct Batch {
    bytes: Vec<u8>,
    seqs: Range<u64>,
    sum: u32,
}

impl Log {
    /// Returns the log of a new session. The first append creates its directory.
    pub fn create(place: LogPlace, now_ms: u64) -> Self {
        let watermark = Watermark::new(&place.syncer);
        let state = LogState::NotCreated;
        Self { place, created_at: now_ms, state, watermark, epoch: 1, last: LogMark::default() }
    }

    /// Appends events with one write and returns their sequence numbers. With `sync`, it also starts a
    /// sync of them, without waiting for it.
    pub fn append<E: Serialize>(
        &mut self,
        at_ms: u64,
        events: &[E],
        sync: bool,
    ) -> Result<Range<u64>, AppendError> {
        let seqs = self.append_and_reserve(at_ms, events, 0)?;
        if sync && !seqs.is_empty() {
            self.watermark.start();
        }
        Ok(seqs)
    }

    /// Appends events as [`Log::append`] does, if the disk has room for them and for `room` bytes more: a later append of so
    /// many bytes does not find the disk full, where the file system can promise it.
    pub fn append_and_reserve<E: Serialize>(
        &mut self,
        at_ms: u64,
        events: &[E],
        room: u64,
    ) -> Result<Range<u64>, AppendError> {
        let batch = self.encode(at_ms, events)?;
        if batch.seqs.is_empty() {
            return Ok(batch.seqs);
        }
        if let Some(failed) = self.watermark.failed() {
            return Err(AppendError::SyncFailed(failed));
        }
        match &self.state {
            LogState::Stopped(reason) => return Err(self.stop_error(reason.clone())),
            LogState::NotCreated => self.create_files(&batch)?,
            LogState::Open(_) => self.write(&batch.bytes, room)?,
        }
        self.last.last_seq = batch.seqs.end - 1;
        self.last.sum = batch.sum;
        self.watermark.wrote(LogPosition { len: self.last.len, seq: self.last.last_seq });
        Ok(batch.seqs)
    }

    /// Calls `notify` with the last durable sequence number when all records appended so far are durable.
    /// `notify` runs on a thread of the pool, or on this thread if there is nothing to wait for. It must
    /// not block.
    pub fn request_sync(&self, notify: impl FnOnce(Result<u64, SyncError>) + Send + 'static) {
        self.watermark.notify(Box::new(notify));
    }

    /// Returns the present extent of the log, for a summary.
    pub fn summary_mark(&self) -> LogMark {
        self.last
    }

    /// Returns the last sequence number, 0 when there is no record.
    pub fn last_seq(&self) -> u64 {
        self.last.last_seq
    }

    /// Returns when the session was created, in milliseconds since 1970.
    pub fn created_at(&self) -> u64 {
        self.created_at
    }

    /// Returns the place of the log.
    pub fn place(&self) -> &LogPlace {
        &self.place
    }

    /// Returns why the log has stopped, if it has.
    pub fn stop(&self) -> Option<&Stop> {
        match &self.state {
            LogState::Stopped(reason) => Some(reason),
            _ => None,
        }
    }

    fn encode<E: Serialize>(&self, at_ms: u64, events: &[E]) -> Result<Batch, AppendError> {
        let first = self.last.last_seq + 1;
        let mut batch = Batch { bytes: Vec::new(), seqs: first..first, sum: 0 };
        for (index, event) in events.iter().enumerate() {
            let start = batch.bytes.len();
            if batch.seqs.end >= line::MAX_SEQ {
                return Err(AppendError::Exhausted);
            }
            // A batch counts whole or not at all, so each record but the last has the mark `more`.
            let stamp = (batch.seqs.end, at_ms, index + 1 < events.len());
            line::put_record(&mut batch.bytes, &self.place.session, stamp, event).map_err(
                |unfit| match unfit {
                    UnfitEvent::TooLong => AppendError::TooLarge { index, limit: line::MAX_LINE },
                    UnfitEvent::NotAnEvent(why) => AppendError::NotAnEvent { index, why },
                },
            )?;
            if batch.bytes.len() > MAX_BATCH {
                return Err(AppendError::TooLarge { index, limit: MAX_BATCH });
            }
            batch.sum = line::sum_of(batch.bytes.get(start..).unwrap_or_default());
            batch.seqs.end += 1;
        }
        Ok(batch)
    }

    /// Creates directory, lock and file. Writes the header and the first batch with one write.
    fn create_files(&mut self, batch: &Batch) -> Result<(), AppendError> {
        let storage = Arc::clone(&self.place.storage);
        storage.create_dir(&self.place.dir).map_err(|error| self.error(error))?;
        let lock = match storage.lock(&self.place.dir.join(LOCK)) {
            Ok(lock) => lock,
            Err(LockError::Io(error)) => {
                _ = storage.remove_dir(&self.place.dir);
                return Err(self.error(error));
            }
            Err(held) => return Err(AppendError::Locked(held)),
        };
        // The directories are opened before the first write, so that a sync needs no new descriptor.
        let dirs = self.place.hold_dirs().map_err(|error| {
            _ = storage.remove(&self.place.dir.join(LOCK));
            _ = storage.remove_dir(&self.place.dir);
            self.error(error)
        })?;
        let mut bytes = Vec::new();
        line::put_header(&mut bytes, &self.place.session, self.created_at);
        line::put_epoch(&mut bytes, &self.place.session, self.epoch, self.created_at);
        bytes.extend_from_slice(&batch.bytes);
        let (file, stat) = first_write(&self.place, &bytes).map_err(|error| self.error(error))?;
        self.last.len = stat.len;
        let synced_file = Arc::clone(&file);
        self.state = LogState::Open(Writer { file, id: stat.id, leftover: 0, _lock: lock });
        let written = LogPosition { len: stat.len, seq: 0 };
        self.watermark.watch(synced_file, dirs, written);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8], room: u64) -> Result<(), AppendError> {
        self.check_fence()?;
        self.cut_leftover().map_err(|error| self.error(error))?;
        let LogState::Open(writer) = &mut self.state else {
            return Ok(());
        };
        if room > 0
            && let Err(error) = writer.file.reserve(bytes.len() as u64 + room)
        {
            return Err(self.error(error));
        }
        match append_all(&*writer.file, bytes) {
            Ok(()) => {
                self.last.len += bytes.len() as u64;
                Ok(())
            }
            Err(error) => {
                writer.leftover = bytes.len() as u64;
                // If the cut fails too, the next append first tries it again.
                _ = self.cut_leftover();
                Err(self.error(error))
            }
        }
    }

    /// Cuts the file back to the last good line after a failed append.
    fn cut_leftover(&mut self) -> io::Result<()> {
        if let LogState::Open(writer) = &mut self.state
            && writer.leftover > 0
        {
            writer.file.truncate(self.last.len)?;
            writer.leftover = 0;
        }
        Ok(())
    }

    /// Stops the log unless the file under its name is the one that this writer wrote, with the same
    /// length. Each writer writes its epoch when it opens a log, so the length shows every other writer.
    fn check_fence(&mut self) -> Result<(), AppendError> {
        let LogState::Open(writer) = &self.state else {
            return Ok(());
        };
        let good = self.last.len;
        let reason = match self.place.storage.stat(&self.place.events()) {
            Ok(found) if found.id != writer.id => Stop::Replaced,
            Ok(found) if (good..=good + writer.leftover).contains(&found.len) => return Ok(()),
            Ok(found) => Stop::Changed { found: found.len, expected: good },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Stop::Replaced,
            Err(error) => return Err(self.error(error)),
        };
        let newest = opening::newest_epoch(&self.place);
        let reason = match newest {
            Some(newest) if newest > self.epoch => Stop::Fenced { own: self.epoch, newest },
            _ => reason,
        };
        Err(self.halt(reason))
    }

    /// Saves the written records after a failed sync: copies them into a new file with a new descriptor.
    /// If that fails, the log becomes read-only. Blocks on syncs.
    pub fn recover(&mut self) -> Result<(), AppendError> {
        if let LogState::Stopped(reason) = &self.state {
            return Err(self.stop_error(reason.clone()));
        }
        match self.watermark.failed() {
            None => return Ok(()),
            Some(SyncError::Names(error)) => return Err(self.halt(Stop::Unsaved(error))),
            Some(_) => self.check_fence()?,
        }
        let saved = opening::save_again(&self.place, self.last, self.created_at);
        let saved = saved.and_then(|saved| Ok((saved, self.place.hold_dirs()?)));
        let LogState::Open(writer) = &mut self.state else {
            return Ok(());
        };
        match saved {
            Ok(((repaired, id), dirs)) => {
                writer.file = Arc::clone(&repaired.file);
                writer.id = id;
                writer.leftover = 0;
                self.last.len = repaired.len;
                let written = LogPosition { len: repaired.len, seq: self.last.last_seq };
                self.watermark.watch(repaired.file, dirs, written);
                Ok(())
            }
            Err(error) => Err(self.halt(Stop::Unsaved(error.to_string()))),
        }
    }

    /// Stops the log for good and releases its lock.
    fn halt(&mut self, reason: Stop) -> AppendError {
        self.state = LogState::Stopped(reason.clone());
        self.stop_error(reason)
    }

    fn stop_error(&self, reason: Stop) -> AppendError {
        AppendError::Stopped { path: self.place.events(), reason }
    }

    fn error(&self, source: io::Error) -> AppendError {
        if let Some(why) = scarce::descriptors(&source) {
            return AppendError::Scarce(why);
        }
        let path = self.place.events();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => AppendError::NoSpace { path },
            _ => AppendError::Io { path, source },
        }
    }
}

/// Creates the file of a new log. On failure it removes the file, the lock and the directory again: no
/// record was acknowledged yet.
fn first_write(place: &LogPlace, bytes: &[u8]) -> io::Result<(Arc<dyn StoredFile>, Stat)> {
    let path = place.events();
    let written = place.storage.open(&path, Open::New).and_then(|file| {
        append_all(&*file, bytes)?;
        let stat = file.stat()?;
        Ok((file, stat))
    });
    // A file that existed before belongs to another writer, so it is kept.
    if written.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::AlreadyExists) {
        _ = place.storage.remove(&path);
        _ = place.storage.remove(&place.dir.join(LOCK));
        _ = place.storage.remove_dir(&place.dir);
    }
    written
}

#[cfg(test)]
mod tests;
