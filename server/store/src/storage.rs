//! The disk, as far as a session needs it: one of the three borders where a
//! double may stand. `disk` is the real one; `faulty` is a twin in memory that
//! fails on request and loses power. Neither ever follows a symbolic link to a
//! file of ours, nor creates anything that others may read.

pub mod disk;
#[cfg(any(test, feature = "doubles"))]
pub mod faulty;

use std::any::Any;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use disk::Disk;

/// Directories in directories that are followed when a tree is removed.
const MAX_DEPTH: usize = 8;

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// An existing file, for reading.
    Read,
    /// An existing file, for reading and for writing at its end.
    Append,
    /// A file that must not exist yet, for reading and for writing at its end.
    New,
}

/// What stands behind a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryType {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// Anything else: a link, a pipe, a device.
    Other,
}

/// The identity and length of a file; a replaced file has another identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Device and inode.
    pub id: (u64, u64),
    /// Length in bytes.
    pub len: u64,
    /// When its content last changed, in nanoseconds since 1970.
    pub written: u64,
    /// What it is.
    pub kind: EntryType,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name; entries whose name is not UTF-8 are left out.
    pub name: String,
    /// What it is, links not followed.
    pub kind: EntryType,
}

/// A held lock; dropping it releases the lock.
pub type LockGuard = Box<dyn Any + Send + Sync>;

/// Why a lock was not given.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another writer, in this process or another one, holds it.
    #[error("lock it: held by {}", holder(*.pid))]
    Held {
        /// The process that wrote its id into the lock file, if it can be read.
        pid: Option<u32>,
    },
    /// The lock file could not be opened or locked.
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn holder(pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    }
}

/// The operations on names.
pub trait Storage: Send + Sync {
    /// Creates a directory and its missing parents, for the owner only.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// Opens a regular file of ours, links not followed.
    fn open(&self, path: &Path, how: Open) -> io::Result<Arc<dyn StoredFile>>;
    /// Returns what stands at a path, links not followed.
    fn stat(&self, path: &Path) -> io::Result<Stat>;
    /// Returns the names in a directory, sorted.
    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>>;
    /// Renames within one directory, replacing the target.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file, or a link itself.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
    /// Holds a directory, so that its names can be made durable later without a free descriptor.
    fn hold_dir(&self, dir: &Path) -> io::Result<Arc<dyn StoredDir>>;
    /// Makes the names in a directory durable. Blocks.
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.hold_dir(dir)?.sync()
    }
    /// Takes the lock of a lock file, which is created when missing. Never waits.
    fn lock(&self, path: &Path) -> Result<LockGuard, LockError>;
}

/// A directory that is held open.
pub trait StoredDir: Send + Sync {
    /// Makes the names in it durable. Blocks.
    fn sync(&self) -> io::Result<()>;
}

/// The operations on an open file.
pub trait StoredFile: Send + Sync {
    /// Reads at an offset; 0 means the end.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes at the end, with one call of the system; may write less.
    fn append(&self, bytes: &[u8]) -> io::Result<usize>;
    /// Cuts the file.
    fn truncate(&self, len: u64) -> io::Result<()>;
    /// Makes content and length durable. Blocks.
    fn sync(&self) -> io::Result<()>;
    /// Returns identity and length.
    fn stat(&self) -> io::Result<Stat>;
}

/// Appends all bytes, going on after short writes so that the cause of a short
/// write is reported and not only its length.
pub fn append_all(file: &dyn StoredFile, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.append(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Fills a buffer from an offset, or fails with `UnexpectedEof`.
pub fn read_exact_at(file: &dyn StoredFile, mut buf: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buf.is_empty() {
        match file.read_at(buf, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                buf = &mut buf[read..];
                offset += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads a whole file of at most `limit` bytes; a longer one is `FileTooLarge`.
pub fn read_whole(storage: &dyn Storage, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = storage.open(path, Open::Read)?;
    let len = file.stat()?.len;
    if len > limit {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = vec![0; len as usize];
    read_exact_at(&*file, &mut bytes, 0)?;
    Ok(bytes)
}

/// What a name begins with whose file is still being written, by one who renames it when it is whole.
pub const UNFINISHED: &str = ".new-";

/// Puts a whole file in the place of another, or where none is; readers see the old one or the new one.
/// Nothing is durable before the file and its directory are synced.
pub fn replace(storage: &dyn Storage, path: &Path, bytes: &[u8]) -> io::Result<Arc<dyn StoredFile>> {
    static UNIQUE: AtomicU64 = AtomicU64::new(0);
    // Tells apart what two threads of one process write.
    let number = UNIQUE.fetch_add(1, Ordering::Relaxed);
    let unfinished = path.with_file_name(format!("{UNFINISHED}{}-{number}", std::process::id()));
    let written = storage.open(&unfinished, Open::New).and_then(|file| {
        append_all(&*file, bytes)?;
        storage.rename(&unfinished, path)?;
        Ok(file)
    });
    if written.is_err() {
        _ = storage.remove(&unfinished);
    }
    written
}

/// Reads a file from front to back.
pub struct Reader {
    file: Arc<dyn StoredFile>,
    at: u64,
    end: u64,
}

impl Reader {
    /// Returns a reader of the bytes `at..end`.
    pub fn new(file: Arc<dyn StoredFile>, at: u64, end: u64) -> Self {
        Self { file, at, end }
    }
}

impl io::Read for Reader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let wanted = buf.len().min(left);
        if wanted == 0 {
            return Ok(0);
        }
        let read = self.file.read_at(&mut buf[..wanted], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Removes a directory and all in it; links are removed, never followed.
pub fn remove_tree(storage: &dyn Storage, dir: &Path) -> io::Result<()> {
    match storage.stat(dir) {
        Ok(_) => remove_level(storage, dir, MAX_DEPTH),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn remove_level(storage: &dyn Storage, dir: &Path, depth: usize) -> io::Result<()> {
    let Some(entries) = unless_gone(storage.list(dir))? else { return Ok(()) };
    for entry in entries {
        let path = dir.join(&entry.name);
        match entry.kind {
            EntryType::Dir if depth > 0 => remove_level(storage, &path, depth - 1)?,
            _ => _ = unless_gone(storage.remove(&path))?,
        }
    }
    unless_gone(storage.remove_dir(dir)).map(drop)
}

/// Two processes may remove the same tree: what the other one took is as gone as it should be.
fn unless_gone<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

#[cfg(test)]
mod tests;
