//! Content of a session that is too large for a line of its log.
//!
//! Each blob is a file whose name is the hash of its content. A blob is durable before the log
//! names it. Never trusts a blob without checking its hash. All functions block.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::storage::{Open, Storage, UNFINISHED, read_whole, replace};
use adjutant_host::scarce;

/// The directory of the blobs, inside the directory of the session.
pub const BLOBS: &str = "blobs";

/// The largest blob, in bytes.
pub const MAX_BLOB: u64 = 64 << 20;

/// Names a blob.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BlobRef {
    /// The SHA-256 of its content, in lower-case hex.
    pub hash: String,
    /// Its length in bytes.
    pub len: u64,
}

/// Why a blob was not stored or not returned.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// The content is larger than `MAX_BLOB`.
    #[error("store a blob of {len} bytes: the limit is {MAX_BLOB}")]
    TooLarge {
        /// Its length in bytes.
        len: u64,
    },
    /// There is no blob of this name.
    #[error("read blob \"{hash}\": there is no such blob")]
    Missing {
        /// The name.
        hash: String,
    },
    /// The hash of the content differs from the name.
    #[error("read blob \"{hash}\": its content is damaged")]
    Damaged {
        /// The name.
        hash: String,
    },
    /// The name is not a hash.
    #[error("read blob \"{hash}\": this is not the name of a blob")]
    BadName {
        /// The name.
        hash: String,
    },
    /// The disk or the quota is full.
    #[error("no space is left in \"{dir}\"; free some, then open this session again")]
    NoSpace {
        /// The directory of the blobs.
        dir: PathBuf,
    },
    /// The system returned an error.
    #[error("use the blobs in \"{dir}\": {source}")]
    Io {
        /// The directory of the blobs.
        dir: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl BlobError {
    /// Whether a later `put` may succeed on the same disk.
    pub fn passes(&self) -> bool {
        match self {
            Self::Io { source, .. } => scarce::descriptors(source).is_some(),
            // Only this content is refused.
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
    /// Whether the names that lead to the directory are durable.
    anchored: AtomicBool,
    /// A sync of those names failed, so a later successful sync proves nothing.
    lost: AtomicBool,
}

impl Blobs {
    /// Returns the blobs of the session in `session_dir`. Creates nothing yet.
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

    /// Returns the content of a blob after checking its hash.
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

    /// Returns the names of the blobs and their lengths in bytes; none if they cannot be listed.
    pub fn sizes(&self) -> Vec<(String, u64)> {
        let entries = self.storage.list(&self.dir).unwrap_or_default();
        let len = |name: &str| self.storage.stat(&self.dir.join(name)).ok().map(|stat| stat.len);
        entries
            .into_iter()
            .filter_map(|entry| Some((len(&entry.name)?, entry.name)))
            .map(|(len, name)| (name, len))
            .collect()
    }

    /// Removes a blob, and returns whether it is gone. The caller must hold the lock of the session.
    pub fn remove(&self, hash: &str) -> bool {
        self.storage.remove(&self.dir.join(hash)).is_ok()
    }

    fn store(&self, hash: &str, bytes: &[u8]) -> io::Result<()> {
        self.storage.create_dir(&self.dir)?;
        let path = self.dir.join(hash);
        let existing = read_whole(&*self.storage, &path, MAX_BLOB);
        // A damaged blob is replaced.
        let file = if existing.is_ok_and(|existing| existing == bytes) {
            self.storage.open(&path, Open::Append)?
        } else {
            replace(&*self.storage, &path, bytes)?
        };
        // The file already has its name, so a journaling file system can write content and name together.
        // The hash detects a blob that was not written whole.
        // After a failed sync the cache may show bytes that the disk never received, so the file is removed.
        file.sync().inspect_err(|_| _ = self.storage.remove(&path))?;
        // Also when the blob existed: the caller that stored it may not have synced its name yet.
        self.anchor().inspect_err(|error| {
            // Without a free descriptor no sync was tried, and the next one covers this name too.
            if scarce::descriptors(error).is_none() {
                self.lost.store(true, Ordering::Release);
            }
        })
    }

    /// Makes the names of the blobs durable. The first call also syncs the directories above them.
    fn anchor(&self) -> io::Result<()> {
        if self.lost.load(Ordering::Acquire) {
            return Err(io::Error::other("an earlier sync of their names failed"));
        }
        let levels = if self.anchored.load(Ordering::Acquire) { 1 } else { 5 };
        self.dir.ancestors().take(levels).try_for_each(|dir| self.storage.sync_dir(dir))?;
        self.anchored.store(true, Ordering::Release);
        Ok(())
    }

    /// Removes unfinished files of an earlier process. The caller must hold the lock of the session
    /// and must not have stored anything yet.
    pub fn sweep(&self) -> io::Result<()> {
        let entries = match self.storage.list(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let mut unfinished = entries.iter().filter(|entry| entry.name.starts_with(UNFINISHED));
        unfinished.try_for_each(|entry| self.storage.remove(&self.dir.join(&entry.name)))
    }
}

/// Returns the name of a blob with this content: its SHA-256 in lower-case hex.
pub fn hash_of(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        _ = write!(hex, "{byte:02x}");
    }
    hex
}

#[cfg(test)]
mod tests;
