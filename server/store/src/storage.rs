//! The disk operations that a session needs, as a trait; tests may replace it by a double.
//!
//! `disk` is the real disk. `faulty` is a double in memory that fails on request and loses power.
//! Never follows a symbolic link to a file of Adjutant, and never creates a file that others may read.

pub mod disk;
#[cfg(any(test, feature = "doubles"))]
pub mod faulty;

use std::any::Any;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use disk::Disk;

/// The most levels of directories that `remove_tree` enters.
const MAX_DEPTH: usize = 8;

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// An existing file, for reading.
    Read,
    /// An existing file, for reading and appending.
    Append,
    /// A file that must not exist yet, for reading and appending.
    New,
}

/// The type of a directory entry.
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
    /// The device and the inode.
    pub id: (u64, u64),
    /// The length in bytes.
    pub len: u64,
    /// When its content last changed, in nanoseconds since 1970.
    pub written: u64,
    /// Its type.
    pub kind: EntryType,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name; entries whose name is not UTF-8 are left out.
    pub name: String,
    /// Its type; links are not followed.
    pub kind: EntryType,
}

/// A held lock; dropping it releases the lock.
pub type LockGuard = Box<dyn Any + Send + Sync>;

/// Why a lock was not acquired.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another writer, in this process or another one, holds it.
    #[error("in use by {}", holder(*.pid))]
    Held {
        /// The process id in the lock file, if it can be read.
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
    /// Opens a regular file of this user. Does not follow links.
    fn open(&self, path: &Path, how: Open) -> io::Result<Arc<dyn StoredFile>>;
    /// Returns the stat of a path. Does not follow links.
    fn stat(&self, path: &Path) -> io::Result<Stat>;
    /// Returns the names in a directory, sorted.
    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>>;
    /// Renames within one directory; replaces the target.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file, or a link itself.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
    /// Opens a directory, so that its names can be synced later without a free descriptor.
    fn hold_dir(&self, dir: &Path) -> io::Result<Arc<dyn StoredDir>>;
    /// Makes the names in a directory durable. Blocks.
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.hold_dir(dir)?.sync()
    }
    /// Locks a lock file; creates it if it is missing. Never waits.
    fn lock(&self, path: &Path) -> Result<LockGuard, LockError>;
    /// Returns the other process that holds a lock file, if there is one and it can be seen from here. Never waits, and creates
    /// nothing.
    fn holder(&self, path: &Path) -> Option<u32>;
}

/// A directory that is held open.
pub trait StoredDir: Send + Sync {
    /// Makes the names in it durable. Blocks.
    fn sync(&self) -> io::Result<()>;
}

/// The operations on an open file.
pub trait StoredFile: Send + Sync {
    /// Reads at an offset and returns the number of bytes; 0 means the end of the file.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes at the end with one system call and returns the number of bytes; it may write fewer.
    fn append(&self, bytes: &[u8]) -> io::Result<usize>;
    /// Reserves room for `len` more bytes, so that they can be appended although the disk is full by then. The length stays.
    /// Does nothing where the file system cannot do it.
    fn reserve(&self, len: u64) -> io::Result<()>;
    /// Cuts the file to `len` bytes.
    fn truncate(&self, len: u64) -> io::Result<()>;
    /// Makes content and length durable. Blocks.
    fn sync(&self) -> io::Result<()>;
    /// Returns identity and length.
    fn stat(&self) -> io::Result<Stat>;
}

/// Appends all bytes. Continues after a short write, so that the next call reports its cause.
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

/// Fills a buffer from an offset. Fails with `UnexpectedEof` if the file ends first.
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

/// Reads a whole file. Fails with `FileTooLarge` if it has more than `limit` bytes.
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

/// Prefix of the name of an unfinished file; its writer renames it when it is whole.
pub const UNFINISHED: &str = ".new-";

/// Writes a whole file under a temporary name and renames it, so readers see the old file or the new one.
/// Nothing is durable before the file and its directory are synced.
pub fn replace(storage: &dyn Storage, path: &Path, bytes: &[u8]) -> io::Result<Arc<dyn StoredFile>> {
    static UNIQUE: AtomicU64 = AtomicU64::new(0);
    // Two threads of one process get different temporary names.
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

/// Removes a directory and everything in it. Removes links without following them.
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

/// Returns `None` if the entry is gone: another process may remove the same tree.
fn unless_gone<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

#[cfg(test)]
mod tests;
