//! Opens resolved paths, from an open folder and without following links.
//!
//! Never opens a device, pipe or socket, and never waits for one.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use adjutant_core::policy::cause::Cause;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::ResolvedPath;
use adjutant_host::faults::point;

/// Why a resolved path cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum OpenRefusal {
    #[error("it does not exist")]
    Missing,
    #[error("it is a directory; use list_files")]
    Directory,
    #[error("it is a {0}, not a regular file")]
    Special(&'static str),
    #[error("it was changed while it was opened; try again")]
    Changed,
    #[error("{0}")]
    Io(io::Error),
}

impl OpenRefusal {
    /// Returns the class of the refusal.
    pub fn cause(&self) -> Cause {
        match self {
            Self::Missing => Cause::Missing,
            Self::Directory => Cause::Directory,
            Self::Special(_) => Cause::Special,
            Self::Changed => Cause::Changed,
            Self::Io(_) => Cause::Unreadable,
        }
    }
}

impl From<Errno> for OpenRefusal {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT => Self::Missing,
            // A link appeared after the path was resolved.
            Errno::LOOP => Self::Changed,
            other => Self::Io(other.into()),
        }
    }
}

/// Opens a regular file for reading: exactly the one that was resolved.
pub fn open_read(at: &ResolvedPath) -> Result<File, OpenRefusal> {
    read_beneath(at.anchor.as_fd(), &at.relative)
}

/// Opens a regular file below an open directory for reading, without following links.
pub(crate) fn read_beneath(directory: BorrowedFd<'_>, relative: &Path) -> Result<File, OpenRefusal> {
    point("file-opened");
    // The first open returns only a handle, which has no effect on a device. The second opens the file itself, which
    // must be the same one.
    let handle = open_beneath(directory, relative, OFlags::PATH)?;
    let before = rustix::fs::fstat(&handle)?;
    match FileType::from_raw_mode(before.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(OpenRefusal::Directory),
        FileType::Fifo => return Err(OpenRefusal::Special("pipe")),
        FileType::Socket => return Err(OpenRefusal::Special("socket")),
        _ => return Err(OpenRefusal::Special("device")),
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = open_beneath(directory, relative, flags)?;
    let opened = rustix::fs::fstat(&file)?;
    if (opened.st_dev, opened.st_ino) != (before.st_dev, before.st_ino) {
        return Err(OpenRefusal::Changed);
    }
    Ok(File::from(file))
}

/// Returns the number of names (hard links) of a regular file; 0 for other types, and if the file cannot be read.
pub(super) fn links(at: &ResolvedPath) -> u64 {
    let found = open_beneath(at.anchor.as_fd(), &at.relative, OFlags::PATH).and_then(rustix::fs::fstat);
    match found {
        Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile => found.st_nlink,
        _ => 0,
    }
}

/// Opens a resolved directory so that its entries can be read.
pub fn open_directory(at: &ResolvedPath) -> Result<OwnedFd, OpenRefusal> {
    Ok(open_beneath(at.anchor.as_fd(), &at.relative, OFlags::RDONLY | OFlags::DIRECTORY)?)
}

/// Opens a path below an open directory. A link anywhere in the path is an error.
#[cfg(target_os = "linux")]
pub(super) fn open_beneath(
    directory: BorrowedFd<'_>,
    relative: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let strict = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    // The kernel returns EAGAIN when a rename elsewhere raced with the lookup.
    for _ in 0..16 {
        match rustix::fs::openat2(directory, relative, flags | OFlags::CLOEXEC, Mode::empty(), strict) {
            Err(Errno::AGAIN) => {}
            // Old kernels and some containers do not support the call.
            Err(Errno::NOSYS | Errno::PERM) => return walk(directory, relative, flags),
            other => return other,
        }
    }
    walk(directory, relative, flags)
}

/// Opens a path below an open directory. A link anywhere in the path is an error.
#[cfg(not(target_os = "linux"))]
pub(super) fn open_beneath(
    directory: BorrowedFd<'_>,
    relative: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    walk(directory, relative, flags)
}

/// Does the same with one `openat` for each name.
pub(super) fn walk(directory: BorrowedFd<'_>, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut names = relative.components().filter(|c| *c != Component::CurDir).peekable();
    let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if names.peek().is_none() {
        return rustix::fs::openat(directory, ".", flags, Mode::empty());
    }
    let mut current = rustix::fs::openat(directory, ".", step, Mode::empty())?;
    while let Some(component) = names.next() {
        let Component::Normal(name) = component else {
            return Err(Errno::XDEV);
        };
        let last = names.peek().is_none();
        let opened = rustix::fs::openat(&current, name, if last { flags } else { step }, Mode::empty())?;
        if last {
            // With the flag `PATH`, a link would be opened itself instead of refused.
            let found = rustix::fs::fstat(&opened)?;
            if FileType::from_raw_mode(found.st_mode) == FileType::Symlink {
                return Err(Errno::LOOP);
            }
        }
        current = opened;
    }
    Ok(current)
}

/// Whether a directory belongs to the process file system.
#[cfg(target_os = "linux")]
pub(super) fn is_process_file_system(directory: &Path) -> bool {
    rustix::fs::statfs(directory).map(|found| found.f_type == rustix::fs::PROC_SUPER_MAGIC).unwrap_or(true)
}

/// Whether a directory belongs to the process file system.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_process_file_system(_: &Path) -> bool {
    false
}
