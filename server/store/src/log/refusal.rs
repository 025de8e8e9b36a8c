//! Why an append failed, and why a log stops for good. Never quotes an event.

use std::io;
use std::path::PathBuf;

use crate::storage::LockError;
use crate::watermark::SyncError;

/// Why nothing was appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// An event is too large for a line.
    #[error("append to the log: event {index} of the batch is larger than {limit} bytes")]
    TooLarge {
        /// Its index in the batch.
        index: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// An event is not a JSON object with a `type`.
    #[error("append to the log: event {index} of the batch is not valid: {why}")]
    NotAnEvent {
        /// Its index in the batch.
        index: usize,
        /// What is wrong with it.
        why: String,
    },
    /// No sequence number is left, which only a forged log can cause.
    #[error("append to the log: no sequence number is left; start a new session")]
    Exhausted,
    /// The disk or the quota is full; nothing was recorded.
    #[error("append to the log \"{path}\": no space is left; free some, then open this session again")]
    NoSpace {
        /// The log.
        path: PathBuf,
    },
    /// No file descriptor is free; nothing was recorded, and the caller may try again.
    #[error("append to the log: {0}")]
    Scarce(&'static str),
    /// The system returned an error; nothing was recorded, and the caller may try again.
    #[error("append to the log \"{path}\": {source}")]
    Io {
        /// The log.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Another writer holds the lock.
    #[error("append to the log: it is {0}")]
    Locked(LockError),
    /// A sync failed; only `Log::recover` can help.
    #[error("append to the log: an earlier write may be lost ({0})")]
    SyncFailed(SyncError),
    /// The log has stopped for good.
    #[error("append to the log \"{path}\": {reason}")]
    Stopped {
        /// The log.
        path: PathBuf,
        /// Why it has stopped.
        reason: Stop,
    },
}

/// Why a log has stopped for good.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// Another writer has opened the log since.
    #[error("another process has opened the log since (epoch {newest}, here {own}); reopen the session")]
    Fenced {
        /// The epoch of this writer.
        own: u64,
        /// The newest epoch in the file.
        newest: u64,
    },
    /// Another file has its name now, or the file was removed.
    #[error("the file was replaced or removed by another program; reopen the session")]
    Replaced,
    /// The file is shorter or longer than this writer left it.
    #[error("the file has {found} bytes where {expected} were written; reopen the session")]
    Changed {
        /// Its length now, in bytes.
        found: u64,
        /// The length that this writer left, in bytes.
        expected: u64,
    },
    /// A sync failed and the written records could not be saved.
    #[error("it is read-only, because a sync failed and the records could not be saved: {0}")]
    Unsaved(String),
}
