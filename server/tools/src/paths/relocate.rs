//! Removes a file of the workspace, or gives it another name (P2).
//!
//! Never follows a link, never replaces a file, and never loses what another program wrote at the same moment. A reader
//! sees the file as it was or the file gone, nothing in between.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use adjutant_host::faults::point;
use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::locks::{WriteLock, WriteLocks};
use super::replace::{
    CommittedChange, ReplaceRefusal, hash_below, may_be_written, parent_directory, rename_to_free,
    same_content, temporary_name,
};
use super::{ResolvedPath, file_name};

/// Removes a file whose content has the hash `expected`.
pub fn remove_file(locks: &WriteLocks, at: &ResolvedPath, expected: [u8; 32]) -> Result<(), ReplaceRefusal> {
    // Without the sync a power failure could bring the file back, which is no loss.
    PreparedRemoval::new(locks, at, expected)?.commit().map(|done| drop(done.settle()))
}

/// The removal of a file that is ready; nothing is done yet.
#[derive(Debug)]
pub struct PreparedRemoval {
    at: ResolvedPath,
    expected: [u8; 32],
    parent: Arc<OwnedFd>,
    lock: WriteLock,
}

impl PreparedRemoval {
    /// Compares a file, whose content must have the hash `expected`.
    pub fn new(locks: &WriteLocks, at: &ResolvedPath, expected: [u8; 32]) -> Result<Self, ReplaceRefusal> {
        let lock = locks.acquire(&at.absolute).map_err(|_| ReplaceRefusal::Busy(at.display.clone()))?;
        let parent = Arc::new(compared(at, expected)?);
        Ok(Self { at: at.clone(), expected, parent, lock })
    }

    /// Takes the file aside under a temporary name. Only if it has the expected content there, it is removed; else it gets
    /// its name back. If this process is killed in between, the next one does the same.
    pub fn commit(self) -> Result<CommittedChange, ReplaceRefusal> {
        let Self { lock, parent, expected, at } = self;
        let name = || at.display.clone();
        let io = |error: Errno| ReplaceRefusal::Io(name(), error.into());
        let aside = temporary_name().map_err(|error| ReplaceRefusal::Io(name(), error))?;
        lock.note_temporary(&at.absolute.with_file_name(&aside));
        lock.note_removal(&at.absolute, expected);
        point("removal-begun");
        rename_to_free(&parent, file_name(&at), &parent, OsStr::new(&aside)).map_err(io)?;
        point("removal-aside");
        if hash_below(&parent, Path::new(&aside)).is_ok_and(|(_, sum)| sum == expected) {
            rustix::fs::unlinkat(&parent, &aside, AtFlags::empty()).map_err(io)?;
            point("removal-done");
            return Ok(CommittedChange { parent, old: None, lock });
        }
        Err(match rename_to_free(&parent, OsStr::new(&aside), &parent, file_name(&at)) {
            Ok(()) => ReplaceRefusal::Changed(name()),
            Err(_) => {
                let other = Path::new(&at.display).with_file_name(&aside);
                ReplaceRefusal::Crossed(name(), other.display().to_string())
            }
        })
    }
}

/// Gives a file whose content has the hash `expected` the name `to`, which no file has, and creates the missing
/// directories of that name.
pub fn move_file(
    locks: &WriteLocks,
    from: &ResolvedPath,
    to: &ResolvedPath,
    expected: [u8; 32],
) -> Result<(), ReplaceRefusal> {
    if !to.inside {
        return Err(ReplaceRefusal::Outside(to.display.clone()));
    }
    // In one order, so that two moves never wait for each other.
    let (first, second) = if from.absolute <= to.absolute { (from, to) } else { (to, from) };
    let lock =
        |at: &ResolvedPath| locks.acquire(&at.absolute).map_err(|_| ReplaceRefusal::Busy(at.display.clone()));
    let _locks = (lock(first)?, lock(second)?);
    let io = |error: Errno| match error {
        Errno::EXIST => ReplaceRefusal::Exists(to.display.clone()),
        Errno::XDEV => ReplaceRefusal::OtherDisk(from.display.clone(), to.display.clone()),
        // A link appeared after the path was resolved.
        Errno::LOOP => ReplaceRefusal::Changed(to.display.clone()),
        other => ReplaceRefusal::Io(to.display.clone(), other.into()),
    };
    let parent = compared(from, expected)?;
    let folder = to.relative.parent().unwrap_or(Path::new(""));
    let to_parent = parent_directory(to, folder, true).map_err(io)?;
    point("move-compared");
    rename_to_free(&parent, file_name(from), &to_parent, file_name(to)).map_err(io)?;
    point("move-done");
    if !hash_below(&to_parent, Path::new(file_name(to))).is_ok_and(|(_, sum)| sum == expected) {
        return Err(match rename_to_free(&to_parent, file_name(to), &parent, file_name(from)) {
            Ok(()) => ReplaceRefusal::Changed(from.display.clone()),
            Err(_) => ReplaceRefusal::Crossed(from.display.clone(), to.display.clone()),
        });
    }
    for folder in [&to_parent, &parent] {
        if let Err(error) = rustix::fs::fsync(folder) {
            tracing::warn!(%error, "the folder of a moved file could not be synced");
        }
    }
    Ok(())
}

/// Checks that a file is a writable regular one with this content; returns its open directory.
fn compared(at: &ResolvedPath, expected: [u8; 32]) -> Result<OwnedFd, ReplaceRefusal> {
    let name = || at.display.clone();
    if !at.inside {
        return Err(ReplaceRefusal::Outside(name()));
    }
    let io = |error: Errno| match error {
        Errno::NOENT | Errno::LOOP => ReplaceRefusal::Changed(name()),
        other => ReplaceRefusal::Io(name(), other.into()),
    };
    let folder = at.relative.parent().unwrap_or(Path::new(""));
    let parent = parent_directory(at, folder, false).map_err(io)?;
    let found = rustix::fs::statat(&parent, file_name(at), AtFlags::SYMLINK_NOFOLLOW).map_err(io)?;
    same_content(at, &parent, found, expected)?;
    may_be_written(at, &parent)?;
    Ok(parent)
}
