//! Opens a log: for writing, with its lock and a new epoch, or only for reading.
//!
//! Both may block on the disk, so neither runs on a thread of the runtime. Reading never changes a file.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::line::{self, FORMAT, MAX_SEQ};
use super::notice::Notice;
use super::repair::{self, RepairedLog};
use super::scan::{self, RecordRaw, Scan};
use super::{EVENTS, LOCK, Log, LogMark, LogPlace, LogState, Writer};
use crate::storage::{EntryType, LockError, Open, Storage, StoredFile, append_all};
use crate::watermark::{LogPosition, Watermark};
use adjutant_host::scarce;

/// A log that was opened for writing.
pub struct OpenedLog {
    /// The log, ready for appends.
    pub log: Log,
    /// Its records in order; empty if a sink received them.
    pub records: Vec<RecordRaw>,
    /// Notices about the log.
    pub notices: Vec<Notice>,
    /// The epoch of this writer.
    pub epoch: u64,
}

/// A log that was only read.
#[derive(Debug)]
pub struct ReadBack {
    /// Its records in order; empty if a sink received them.
    pub records: Vec<RecordRaw>,
    /// Notices about the log.
    pub notices: Vec<Notice>,
    /// When the session was created, in milliseconds since 1970, if the header is whole.
    pub created_at: Option<u64>,
    /// The extent of the log, for a summary.
    pub mark: LogMark,
}

/// Why a log was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no log.
    #[error("open the log of session \"{session}\": there is no log")]
    Missing {
        /// The session.
        session: String,
    },
    /// Another writer holds the lock.
    #[error("session \"{session}\" is {source}; continue it there, or try again when that process has ended")]
    Locked {
        /// The session.
        session: String,
        /// Which process holds the lock.
        source: LockError,
    },
    /// No line of the file is a line of a log.
    #[error("open the log of session \"{session}\": \"{path}\" is not a log; it was left as it is")]
    NotALog {
        /// The session.
        session: String,
        /// The file.
        path: PathBuf,
    },
    /// It is the log of another session.
    #[error("open the log of session \"{session}\": it belongs to session \"{found}\"")]
    OtherSession {
        /// The session.
        session: String,
        /// The session the file names.
        found: String,
    },
    /// A newer version wrote the log; it can be read but not continued.
    #[error(
        "continue the log of session \"{session}\": it has format {found}, this version writes \
         format {FORMAT}; update to continue it"
    )]
    NewerFormat {
        /// The session.
        session: String,
        /// The format of the file.
        found: u64,
    },
    /// No epoch is left, which only a forged log can cause; it can be read but not continued.
    #[error("continue the log of session \"{session}\": no epoch is left; start a new session")]
    Exhausted {
        /// The session.
        session: String,
    },
    /// The sink refused a whole record, because this version cannot read it.
    #[error("open the log of session \"{session}\": {why}; it was left as it is")]
    Unknown {
        /// The session.
        session: String,
        /// Why the record was refused.
        why: String,
    },
    /// No file descriptor is free; the caller may try again.
    #[error("open the log of session \"{session}\": {why}")]
    Scarce {
        /// The session.
        session: String,
        /// What to do.
        why: &'static str,
    },
    /// The system returned an error.
    #[error("open the log of session \"{session}\": {source}")]
    Io {
        /// The session.
        session: String,
        /// The error of the system.
        source: io::Error,
    },
}

fn io_error(session: &str, source: io::Error) -> OpenError {
    let session = session.to_owned();
    if let Some(why) = scarce::descriptors(&source) {
        return OpenError::Scarce { session, why };
    }
    match source.kind() {
        io::ErrorKind::NotFound => OpenError::Missing { session },
        _ => OpenError::Io { session, source },
    }
}

impl Log {
    /// Opens a log for writing and returns its records. Blocks.
    pub fn open(place: LogPlace, now_ms: u64) -> Result<OpenedLog, OpenError> {
        let mut records = Vec::new();
        let mut opened = Self::open_each(place, now_ms, &mut |record| {
            records.push(record);
            Ok(())
        })?;
        opened.records = records;
        Ok(opened)
    }

    /// Opens a log for writing and passes its records to `sink`, so that a long log is never in memory
    /// whole. If the sink refuses a record, the log is not changed. Blocks.
    pub fn open_each(
        place: LogPlace,
        now_ms: u64,
        sink: &mut dyn FnMut(RecordRaw) -> Result<(), String>,
    ) -> Result<OpenedLog, OpenError> {
        let session = place.session.clone();
        let failed = |error| io_error(&session, error);
        check_dir(&*place.storage, &place.dir).map_err(failed)?;
        // Without this check, opening a missing log would create a lock file.
        place.storage.stat(&place.events()).map_err(failed)?;
        let lock = match place.storage.lock(&place.dir.join(LOCK)) {
            Ok(lock) => lock,
            Err(LockError::Io(error)) => return Err(failed(error)),
            Err(source) => return Err(OpenError::Locked { session, source }),
        };
        let file = place.storage.open(&place.events(), Open::Append).map_err(failed)?;
        let mut scan = scan::scan(&file, &place.session).map_err(failed)?;
        check_identity(&place.session, &place.events(), &scan)?;
        let mut refused = None;
        let mut pass = |record| {
            if refused.is_none() {
                refused = sink(record).err();
            }
        };
        scan::each_record(&file, &mut scan, &mut pass).map_err(failed)?;
        if let Some(why) = refused {
            return Err(OpenError::Unknown { session, why });
        }
        // The directories are opened before the first write, so that a sync needs no new descriptor.
        let dirs = place.hold_dirs().map_err(failed)?;
        let epoch = scan.epoch + 1;
        if epoch >= MAX_SEQ {
            return Err(OpenError::Exhausted { session });
        }
        let repaired = repair::repair(&place, file, &mut scan, now_ms).map_err(failed)?;
        let (len, id) = write_epoch(&place, &repaired, epoch, now_ms).map_err(failed)?;
        let last = LogMark { len, last_seq: scan.last_seq(), sum: scan.last_sum() };
        let watermark = Watermark::new(&place.syncer);
        let written = LogPosition { len, seq: last.last_seq };
        watermark.watch(Arc::clone(&repaired.file), dirs, written);
        let state = LogState::Open(Writer { file: repaired.file, id, leftover: 0, _lock: lock });
        let log = Log { place, created_at: repaired.created_at, state, watermark, epoch, last };
        Ok(OpenedLog { log, records: Vec::new(), notices: scan.notices.into_vec(), epoch })
    }

    /// Reads a log without its lock, also while another process writes it. A record that is being
    /// written then appears as a torn tail. Blocks.
    pub fn read(storage: &dyn Storage, dir: &Path, session: &str) -> Result<ReadBack, OpenError> {
        let mut records = Vec::new();
        let mut read = Self::read_each(storage, dir, session, &mut |record| records.push(record))?;
        read.records = records;
        Ok(read)
    }

    /// Reads a log without its lock and passes its records to `sink`. Blocks.
    pub fn read_each(
        storage: &dyn Storage,
        dir: &Path,
        session: &str,
        sink: &mut dyn FnMut(RecordRaw),
    ) -> Result<ReadBack, OpenError> {
        let failed = |error| io_error(session, error);
        check_dir(storage, dir).map_err(failed)?;
        let path = dir.join(EVENTS);
        let file = storage.open(&path, Open::Read).map_err(failed)?;
        let mut scan = scan::scan(&file, session).map_err(failed)?;
        match check_identity(session, &path, &scan) {
            Err(OpenError::NewerFormat { found, .. }) => {
                scan.notices.push(Notice::NewerFormat { found });
            }
            checked => checked?,
        }
        scan::each_record(&file, &mut scan, sink).map_err(failed)?;
        let mark = LogMark { len: scan.len, last_seq: scan.last_seq(), sum: scan.last_sum() };
        let created_at = scan.header.map(|header| header.created_at);
        Ok(ReadBack { records: Vec::new(), notices: scan.notices.into_vec(), created_at, mark })
    }
}

/// Fails unless the directory of a session is a directory and not a link.
fn check_dir(storage: &dyn Storage, dir: &Path) -> io::Result<()> {
    match storage.stat(dir)?.kind {
        EntryType::Dir => Ok(()),
        _ => Err(io::Error::new(
            io::ErrorKind::NotADirectory,
            format!("\"{}\" is not a directory", dir.display()),
        )),
    }
}

/// Fails unless the file is a log of this session that this version can continue.
fn check_identity(session: &str, path: &Path, scan: &Scan) -> Result<(), OpenError> {
    let session = session.to_owned();
    // A damaged header may name any format. If records of this format follow it, it is damage and not a
    // newer version.
    let format = match scan.header {
        Some(header) => header.format,
        None if scan.is_blank() => scan.claim.format.unwrap_or(FORMAT),
        None => FORMAT,
    };
    if format > FORMAT {
        return Err(OpenError::NewerFormat { session, found: format });
    }
    if !scan.is_blank() || scan.len == 0 {
        return Ok(());
    }
    match &scan.claim.session {
        Some(found) if *found != session => Err(OpenError::OtherSession { session, found: found.clone() }),
        _ if scan.torn_header => Ok(()),
        _ => Err(OpenError::NotALog { session, path: path.to_owned() }),
    }
}

/// Appends the epoch of this writer, so that others see it. Returns the new length and the identity of
/// the file.
fn write_epoch(
    place: &LogPlace,
    repaired: &RepairedLog,
    epoch: u64,
    now_ms: u64,
) -> io::Result<(u64, (u64, u64))> {
    let mut bytes = Vec::new();
    line::put_epoch(&mut bytes, &place.session, epoch, now_ms);
    if let Err(error) = append_all(&*repaired.file, &bytes) {
        _ = repaired.file.truncate(repaired.len);
        return Err(error);
    }
    Ok((repaired.len + bytes.len() as u64, repaired.file.stat()?.id))
}

/// Returns the newest epoch in the log file, if it can be read.
pub(super) fn newest_epoch(place: &LogPlace) -> Option<u64> {
    let file: Arc<dyn StoredFile> = place.storage.open(&place.events(), Open::Read).ok()?;
    Some(scan::scan(&file, &place.session).ok()?.epoch)
}

/// Rewrites a log whose sync failed. Fails if some of the written records can no longer be read.
pub(super) fn save_again(
    place: &LogPlace,
    last: LogMark,
    created_at: u64,
) -> io::Result<(RepairedLog, (u64, u64))> {
    let file = place.storage.open(&place.events(), Open::Read)?;
    let scan = scan::scan(&file, &place.session)?;
    let whole = scan.bad.is_empty() && (scan.last_seq(), scan.last_sum()) == (last.last_seq, last.sum);
    if !whole || scan.tail.is_some_and(|tail| tail.at < last.len) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "some of the written records can no longer be read",
        ));
    }
    let repaired = repair::rewrite(place, &file, &scan, created_at)?;
    let id = repaired.file.stat()?.id;
    Ok((repaired, id))
}
