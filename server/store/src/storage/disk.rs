//! The real disk.
//!
//! Files have mode 0600 and directories 0700. An open never follows a link and never waits for a pipe.
//! It is refused unless the path is a regular file of this user. Never creates a file outside the
//! given directory.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use adjutant_host::process::lives;
use rustix::fs::OFlags;

use super::{Entry, EntryType, LockError, LockGuard, Open, Stat, Storage, StoredDir, StoredFile};

/// The file system of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

struct OpenFile(File);

/// An open directory; `None` if it may not be read, as a parent of Adjutant's directories may be.
struct OpenDir(Option<File>);

impl StoredDir for OpenDir {
    fn sync(&self) -> io::Result<()> {
        match self.0.as_ref().map_or(Ok(()), File::sync_all) {
            // Some file systems cannot sync a directory; then there is nothing to do.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            synced => synced,
        }
    }
}

impl StoredFile for OpenFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buf, offset)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        (&self.0).write(bytes)
    }

    fn reserve(&self, len: u64) -> io::Result<()> {
        reserve(&self.0, len)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn stat(&self) -> io::Result<Stat> {
        Ok(stat_of(&self.0.metadata()?))
    }
}

#[cfg(target_os = "linux")]
fn reserve(file: &File, len: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    let end = file.metadata()?.len();
    loop {
        match fallocate(file, FallocateFlags::KEEP_SIZE, end, len) {
            Err(Errno::INTR) => {}
            Err(full @ (Errno::NOSPC | Errno::DQUOT)) => return Err(full.into()),
            // Some file systems cannot reserve room.
            Ok(()) | Err(_) => return Ok(()),
        }
    }
}

/// Does nothing: other systems cannot reserve room beyond the end of a file.
#[cfg(not(target_os = "linux"))]
fn reserve(_: &File, _: u64) -> io::Result<()> {
    Ok(())
}

fn kind_of(kind: fs::FileType) -> EntryType {
    if kind.is_file() {
        EntryType::File
    } else if kind.is_dir() {
        EntryType::Dir
    } else {
        EntryType::Other
    }
}

fn stat_of(found: &fs::Metadata) -> Stat {
    let since = found.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let written = since.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0);
    Stat { id: (found.dev(), found.ino()), len: found.len(), written, kind: kind_of(found.file_type()) }
}

fn refused(path: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("open \"{}\": {why}", path.display()))
}

/// A lock that is released on drop. Closing the file is not enough: a child process that is being started
/// has a copy of the descriptor and would keep the lock until it runs its program.
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        _ = self.0.unlock();
    }
}

/// Opens a file. Refuses it unless it is a regular file of this user.
fn open_own(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let mut options = options.clone();
    // Without NONBLOCK, opening a pipe in place of the file would wait for its other end.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    options.mode(0o600).custom_flags(flags.bits() as i32);
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(refused(path, "it is a symbolic link"));
        }
        Err(error) => return Err(error),
    };
    let found = file.metadata()?;
    let kind = found.file_type();
    if !kind.is_file() {
        let what = if kind.is_fifo() { "a pipe" } else { "not a regular file" };
        return Err(refused(path, &format!("it is {what}")));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(refused(path, "it belongs to another user"));
    }
    Ok(file)
}

/// Sets the mode of a file or directory if others have any permission on it.
fn tighten(path: &Path, found: &fs::Metadata, mode: u32) -> io::Result<()> {
    if found.mode() & 0o077 == 0 {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

impl Storage for Disk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let found = fs::symlink_metadata(path)?;
        if !found.is_dir() {
            return Err(refused(path, "it is not a directory"));
        }
        if found.uid() != rustix::process::geteuid().as_raw() {
            return Err(refused(path, "it belongs to another user"));
        }
        tighten(path, &found, 0o700)
    }

    fn open(&self, path: &Path, how: Open) -> io::Result<Arc<dyn StoredFile>> {
        let mut options = OpenOptions::new();
        options.read(true);
        match how {
            Open::Read => {}
            Open::Append => _ = options.append(true),
            Open::New => _ = options.append(true).create_new(true),
        }
        let file = open_own(path, &options)?;
        if how == Open::Append && file.metadata()?.mode() & 0o077 != 0 {
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
        }
        Ok(Arc::new(OpenFile(file)))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        Ok(stat_of(&fs::symlink_metadata(path)?))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            if let Ok(name) = entry.file_name().into_string() {
                let kind = kind_of(entry.file_type()?);
                entries.push(Entry { name, kind });
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn hold_dir(&self, dir: &Path) -> io::Result<Arc<dyn StoredDir>> {
        match File::open(dir) {
            Ok(opened) => Ok(Arc::new(OpenDir(Some(opened)))),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(Arc::new(OpenDir(None))),
            Err(error) => Err(error),
        }
    }

    fn lock(&self, path: &Path) -> Result<LockGuard, LockError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        // The holder may delete the session between `open` and the lock. A lock on a deleted file protects
        // nothing, so the name is checked afterwards.
        for _ in 0..3 {
            let file = open_own(path, &options)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(LockError::Held { pid: pid_in(&file) });
                }
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
            let locked = stat_of(&file.metadata()?);
            if self.stat(path).is_ok_and(|found| found.id == locked.id) {
                // The process id is only for the message that others get; the lock does not depend on it.
                _ = file.set_len(0);
                _ = file.write_all_at(format!("{}\n", std::process::id()).as_bytes(), 0);
                return Ok(Box::new(Lock(file)));
            }
        }
        Err(io::Error::new(io::ErrorKind::NotFound, "the session was deleted").into())
    }

    fn holder(&self, path: &Path) -> Option<u32> {
        let file = open_own(path, OpenOptions::new().read(true)).ok()?;
        let pid = pid_in(&file)?;
        if pid == std::process::id() || !lives(pid) {
            return None;
        }
        // The number stays in the file when its process lets go, and when another one gets the number.
        match file.try_lock_shared() {
            Ok(()) => {
                drop(Lock(file));
                None
            }
            Err(TryLockError::WouldBlock) => Some(pid),
            Err(TryLockError::Error(_)) => None,
        }
    }
}

/// Returns the process id in a lock file.
fn pid_in(file: &File) -> Option<u32> {
    let mut text = String::new();
    _ = file.take(32).read_to_string(&mut text);
    text.trim().parse().ok()
}
