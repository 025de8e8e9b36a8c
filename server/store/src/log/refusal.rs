//! Why a log took nothing, and why it stops for good. Never quotes what should
//! have been written.

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
        /// Its place in the batch.
        index: usize,
        /// The limit it breaks.
        limit: usize,
    },
    /// An event is no JSON object with a `type`.
    #[error("append to the log: event {index} of the batch is no event: {why}")]
    NotAnEvent {
        /// Its place in the batch.
        index: usize,
        /// What is wrong with it.
        why: String,
    },
    /// No sequence number is left, which only a forged log brings about.
    #[error("append to the log: no sequence number is left; start a new session")]
    Exhausted,
    /// The disk or the quota is full; nothing was recorded.
    #[error("append to the log \"{path}\": no space is left; free some, then open this session again")]
    NoSpace {
        /// The log.
        path: PathBuf,
    },
    /// No descriptor is free; nothing was recorded, and it may be tried again.
    #[error("append to the log: {0}")]
    Scarce(&'static str),
    /// The system refused; nothing was recorded, and it may be tried again.
    #[error("append to the log \"{path}\": {source}")]
    Io {
        /// The log.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another writer holds the lock.
    #[error("append to the log: {0}")]
    Locked(LockError),
    /// A sync failed; `recover` may help, nothing else does.
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

/// Why a log takes no more records.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// Another writer has opened it since.
    #[error("another writer has taken it over (epoch {theirs}, ours is {ours}); reopen the session")]
    Fenced {
        /// Our epoch.
        ours: u64,
        /// The newest one in the file.
        theirs: u64,
    },
    /// Another file has taken its name, or none has it any more.
    #[error("the file was replaced or removed by another program; reopen the session")]
    Replaced,
    /// The file is shorter or longer than what was written.
    #[error("the file has {found} bytes where {expected} were written; reopen the session")]
    Changed {
        /// Its length now.
        found: u64,
        /// What was written.
        expected: u64,
    },
    /// A sync failed and what was written could not be saved.
    #[error("it is read-only, since writing failed and could not be repaired: {0}")]
    Unsaved(String),
}
