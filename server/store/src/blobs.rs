//! Content of a session that is too large for a line of its log: files named by
//! the hash of what they hold. A blob is durable before it is named, and is
//! never believed without its hash. Everything here blocks.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::storage::{Open, Storage, UNFINISHED, read_whole, replace};
use adjutant_host::scarce;

/// The name of the directory in that of the session.
pub const BLOBS: &str = "blobs";

/// The largest blob.
pub const MAX_BLOB: u64 = 64 << 20;

/// Names a blob.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BlobRef {
    /// The SHA-256 of its content, in lower-case hex.
    pub hash: String,
    /// Its length in bytes.
    pub len: u64,
}

/// Why a blob was not stored or not given.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// It is larger than `MAX_BLOB`.
    #[error("keep a blob of {len} bytes: the limit is {MAX_BLOB}")]
    TooLarge {
        /// Its length.
        len: u64,
    },
    /// There is none of that name.
    #[error("read blob \"{hash}\": there is none")]
    Missing {
        /// The name.
        hash: String,
    },
    /// Its content is not what its name says.
    #[error("read blob \"{hash}\": its content is damaged")]
    Damaged {
        /// The name.
        hash: String,
    },
    /// The name is no hash.
    #[error("read blob \"{hash}\": that is no name of a blob")]
    BadName {
        /// The name.
        hash: String,
    },
    /// The disk or the quota is full.
    #[error("no space is left in \"{dir}\"; free some, then open this session again")]
    NoSpace {
        /// Their directory.
        dir: PathBuf,
    },
    /// The system refused.
    #[error("reach the blobs in \"{dir}\": {source}")]
    Io {
        /// Their directory.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl BlobError {
    /// Says whether it may go well a moment later, on the same disk.
    pub fn passes(&self) -> bool {
        match self {
            Self::Io { source, .. } => scarce::descriptors(source).is_some(),
            // Of this content alone.
            Self::TooLarge { .. } => true,
            Self::NoSpace { .. } | Self::Missing { .. } | Self::Damaged { .. } | Self::BadName { .. } => {
                false
            }
        }
    }
}

/// The blobs of one session.
pub struct Blobs {
    storage: Arc<dyn Storage>,
    dir: PathBuf,
    /// The names that lead to the directory are durable.
    anchored: AtomicBool,
    /// A sync of those names failed, so no later one proves anything.
    lost: AtomicBool,
}

impl Blobs {
    /// Returns the blobs beside the log in `session_dir`; nothing is created yet.
    pub fn new(storage: Arc<dyn Storage>, session_dir: &Path) -> Self {
        Self {
            storage,
            dir: session_dir.join(BLOBS),
            anchored: AtomicBool::new(false),
            lost: AtomicBool::new(false),
        }
    }

    /// Stores content durably and returns its name. Blocks on syncs.
    pub fn put(&self, bytes: &[u8]) -> Result<BlobRef, BlobError> {
        let len = bytes.len() as u64;
        if len > MAX_BLOB {
            return Err(BlobError::TooLarge { len });
        }
        let hash = hash_of(bytes);
        self.store(&hash, bytes).map_err(|source| {
            let dir = self.dir.clone();
            match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => BlobError::NoSpace { dir },
                _ => BlobError::Io { dir, source },
            }
        })?;
        Ok(BlobRef { hash, len })
    }

    /// Returns the content of a blob, proved by its hash.
    pub fn get(&self, hash: &str) -> Result<Vec<u8>, BlobError> {
        let hash = hash.to_owned();
        if hash.len() != 64 || !hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(BlobError::BadName { hash });
        }
        match read_whole(&*self.storage, &self.dir.join(&hash), MAX_BLOB) {
            Ok(bytes) if hash_of(&bytes) == hash => Ok(bytes),
            Ok(_) => Err(BlobError::Damaged { hash }),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound => Err(BlobError::Missing { hash }),
                io::ErrorKind::FileTooLarge => Err(BlobError::Damaged { hash }),
                _ => Err(BlobError::Io { dir: self.dir.clone(), source: error }),
            },
        }
    }

    fn store(&self, hash: &str, bytes: &[u8]) -> io::Result<()> {
        self.storage.create_dir(&self.dir)?;
        let path = self.dir.join(hash);
        let held = read_whole(&*self.storage, &path, MAX_BLOB);
        // A blob that was damaged since is replaced by what it should be.
        let file = match held.is_ok_and(|held| held == bytes) {
            true => self.storage.open(&path, Open::Append)?,
            false => replace(&*self.storage, &path, bytes)?,
        };
        // Under its name already: the hash tells a blob that was not written whole, and a journal takes
        // the content and the name in one go.
        // After a failed sync the cache may show what the disk never got, so nothing may find it there.
        file.sync().inspect_err(|_| _ = self.storage.remove(&path))?;
        // Also for a blob that was there: the one who put it may still be about
        // to sync its name.
        self.anchor().inspect_err(|error| {
            // Where no descriptor was free, no sync was tried, and the next one covers this name too.
            if scarce::descriptors(error).is_none() {
                self.lost.store(true, Ordering::Release);
            }
        })
    }

    /// Makes the names of the blobs durable, and at first those that lead to them.
    fn anchor(&self) -> io::Result<()> {
        if self.lost.load(Ordering::Acquire) {
            return Err(io::Error::other("an earlier sync of their names failed"));
        }
        let above = if self.anchored.load(Ordering::Acquire) { 1 } else { 5 };
        self.dir.ancestors().take(above).try_for_each(|dir| self.storage.sync_dir(dir))?;
        self.anchored.store(true, Ordering::Release);
        Ok(())
    }

    /// Removes what an earlier process left half-written. Only for the one who
    /// holds the lock of the session, before it stores anything.
    pub fn sweep(&self) -> io::Result<()> {
        let entries = match self.storage.list(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let mut left = entries.iter().filter(|entry| entry.name.starts_with(UNFINISHED));
        left.try_for_each(|entry| self.storage.remove(&self.dir.join(&entry.name)))
    }
}

/// Returns the name content has.
pub fn hash_of(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        _ = write!(hex, "{byte:02x}");
    }
    hex
}

#[cfg(test)]
mod tests;
