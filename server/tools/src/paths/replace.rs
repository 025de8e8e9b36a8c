//! The one way a file of the workspace is written (P2): beside it, synced, exchanged with it.
//!
//! Never follows a link, never writes through a second name of a file, and never
//! keeps a replacement of bytes other than those the change was made from.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::open::open_beneath;
use super::turns::{Turn, Turns};
use super::{ResolvedPath, file_name};
use adjutant_host::faults::point;

/// What is certain of a file that was replaced.
#[derive(Debug)]
pub enum ReplaceOutcome {
    /// It is on disk.
    Durably,
    /// Every reader sees it, but the disk could not say that it keeps the name of the file.
    Unsynced(io::Error),
}

/// Why a file was not replaced; unless it says otherwise, the file is as it was before.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceRefusal {
    #[error(
        "\"{0}\" is outside the workspace folders, where nothing is written; add the folder to the workspace first"
    )]
    Outside(String),
    #[error("\"{0}\" changed on disk since it was read; read it again")]
    Changed(String),
    #[error("\"{0}\" exists already; read it before replacing it")]
    Exists(String),
    #[error(
        "\"{0}\" is a file with several names (hard links), and a write would reach all of them or break them apart; ask the user to change it"
    )]
    Links(String),
    #[error("\"{0}\" is not a regular file")]
    NotAFile(String),
    #[error("\"{0}\" is read-only; make it writable first")]
    ReadOnly(String),
    #[error("another Adjutant is writing \"{0}\" and does not end; try again")]
    Busy(String),
    /// Which of them has the name is not known; nothing of another program is removed.
    #[error("another program wrote \"{0}\" at the same time; what it wrote is in \"{1}\"")]
    Crossed(String, String),
    #[error("write \"{0}\": {1}")]
    Io(String, io::Error),
}

/// Returns the hash by which [`replace_file`] knows the bytes a change was made from.
pub fn hash_of(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Puts `bytes` in the place of a file whose content has the hash `expected`, or
/// creates the file (and the directories to it) where `expected` is none.
///
/// Servers take turns at one file. What any other program does to it between the comparison and the
/// exchange comes out of the exchange, and is put back.
pub fn replace_file(
    turns: &Turns,
    at: &ResolvedPath,
    expected: Option<[u8; 32]>,
    bytes: &[u8],
) -> Result<ReplaceOutcome, ReplaceRefusal> {
    let name = || at.display.clone();
    if !at.inside {
        return Err(ReplaceRefusal::Outside(name()));
    }
    let io = |error: Errno| match error {
        Errno::LOOP => ReplaceRefusal::Changed(name()),
        other => ReplaceRefusal::Io(name(), other.into()),
    };
    let turn = turns.acquire(&at.absolute).map_err(|_| ReplaceRefusal::Busy(name()))?;
    let way = at.relative.parent().unwrap_or(Path::new(""));
    let parent = parent_directory(at, way, expected.is_none()).map_err(io)?;
    let file = file_name(at);
    let before = rustix::fs::statat(&parent, file, AtFlags::SYMLINK_NOFOLLOW);
    let before = match (before, expected) {
        (Err(Errno::NOENT), None) => None,
        (Err(Errno::NOENT), Some(_)) => return Err(ReplaceRefusal::Changed(name())),
        (Err(error), _) => return Err(io(error)),
        (Ok(_), None) => return Err(ReplaceRefusal::Exists(name())),
        (Ok(found), Some(hash)) => Some((same_content(at, &parent, found, hash)?, hash)),
    };
    if before.is_some() {
        may_be_written(at, &parent)?;
    }
    let seen = before.as_ref().map(|(seen, _)| seen);
    let beside = Beside::write(&parent, seen, (&turn, &at.absolute), bytes)
        .map_err(|error| ReplaceRefusal::Io(name(), error))?;
    turn.exchanges(&at.absolute, (beside.id, hash_of(bytes)), expected);
    point("write-whole");
    match &before {
        Some((seen, hash)) => exchange(at, &parent, &beside, (seen, *hash))?,
        None => create(&parent, &beside.name, file).map_err(|error| match error {
            Errno::EXIST => ReplaceRefusal::Exists(name()),
            other => io(other),
        })?,
    }
    drop(beside);
    Ok(match rustix::fs::fsync(&parent) {
        Ok(()) => ReplaceOutcome::Durably,
        Err(error) => ReplaceOutcome::Unsynced(error.into()),
    })
}

/// A rename asks the folder for leave and not the file, so a read-only file is asked itself.
fn may_be_written(at: &ResolvedPath, parent: &OwnedFd) -> Result<(), ReplaceRefusal> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    match open_beneath(parent.as_fd(), Path::new(file_name(at)), flags) {
        Err(Errno::ACCESS | Errno::PERM) => Err(ReplaceRefusal::ReadOnly(at.display.clone())),
        Err(Errno::ROFS) => Err(ReplaceRefusal::Io(at.display.clone(), Errno::ROFS.into())),
        // What else is wrong with it shows when it is exchanged; a program that runs may be replaced.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Gives the new content the name of the file, and looks at what had it: bytes that were not compared
/// get it back.
fn exchange(
    at: &ResolvedPath,
    parent: &OwnedFd,
    beside: &Beside<'_>,
    (seen, hash): (&Stat, [u8; 32]),
) -> Result<(), ReplaceRefusal> {
    let (ours, file) = (beside.name.as_str(), file_name(at));
    let now = rustix::fs::statat(parent, file, AtFlags::SYMLINK_NOFOLLOW);
    if !now.is_ok_and(|now| unchanged(seen, &now)) {
        return Err(ReplaceRefusal::Changed(at.display.clone()));
    }
    point("write-compared");
    let swap = || rustix::fs::renameat_with(parent, ours, parent, file, RenameFlags::EXCHANGE);
    exchanged(at, parent, beside, (seen, hash), swap)
}

/// The same, by what exchanges two names.
fn exchanged(
    at: &ResolvedPath,
    parent: &OwnedFd,
    beside: &Beside<'_>,
    (seen, hash): (&Stat, [u8; 32]),
    swap: impl Fn() -> Result<(), Errno>,
) -> Result<(), ReplaceRefusal> {
    let (ours, file) = (beside.name.as_str(), file_name(at));
    let changed = || ReplaceRefusal::Changed(at.display.clone());
    let io = |error: Errno| ReplaceRefusal::Io(at.display.clone(), error.into());
    match swap() {
        Ok(()) => point("write-exchanged"),
        Err(Errno::NOENT) => return Err(changed()),
        // Some file systems cannot; then there is nothing to look at afterwards.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            return rustix::fs::renameat(parent, ours, parent, file).map_err(io);
        }
        Err(error) => return Err(io(error)),
    }
    let came_out = rustix::fs::statat(parent, ours, AtFlags::SYMLINK_NOFOLLOW);
    let same = came_out.is_ok_and(|came_out| unchanged(seen, &came_out));
    if same && hash_below(parent, Path::new(ours)).is_ok_and(|(_, sum)| sum == hash) {
        point("write-proved");
        return Ok(());
    }
    Err(match put_back(parent, beside, swap) {
        Ok(()) => changed(),
        Err(error) => {
            tracing::warn!(%error, "what another program wrote could not be put back");
            beside.keep();
            let other = Path::new(&at.display).with_file_name(ours);
            ReplaceRefusal::Crossed(at.display.clone(), other.display().to_string())
        }
    })
}

/// Gives what came out of the exchange its name back.
fn put_back(
    parent: &OwnedFd,
    beside: &Beside<'_>,
    swap: impl Fn() -> Result<(), Errno>,
) -> Result<(), Errno> {
    swap()?;
    // Somebody who put a file there in the meantime came last, so theirs stays.
    let back = rustix::fs::statat(parent, beside.name.as_str(), AtFlags::SYMLINK_NOFOLLOW);
    match back.is_ok_and(|back| (back.st_dev, back.st_ino) == beside.id) {
        true => Ok(()),
        false => swap(),
    }
}

/// Checks that the present file is a plain one and holds what is expected.
fn same_content(
    at: &ResolvedPath,
    parent: &OwnedFd,
    found: Stat,
    hash: [u8; 32],
) -> Result<Stat, ReplaceRefusal> {
    let name = || at.display.clone();
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => {}
        FileType::Symlink => return Err(ReplaceRefusal::Changed(name())),
        _ => return Err(ReplaceRefusal::NotAFile(name())),
    }
    if found.st_nlink > 1 {
        return Err(ReplaceRefusal::Links(name()));
    }
    // Root could write it all the same; its mode says that it is not to be written.
    if found.st_mode & 0o222 == 0 {
        return Err(ReplaceRefusal::ReadOnly(name()));
    }
    let (opened, sum) =
        hash_below(parent, Path::new(file_name(at))).map_err(|error| ReplaceRefusal::Io(name(), error))?;
    if sum != hash || !unchanged(&found, &opened) {
        return Err(ReplaceRefusal::Changed(name()));
    }
    Ok(opened)
}

fn hash_below(parent: &OwnedFd, name: &Path) -> io::Result<(Stat, [u8; 32])> {
    let opened = open_beneath(parent.as_fd(), name, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
    let stat = rustix::fs::fstat(&opened)?;
    let mut file = File::from(opened);
    let mut sum = Sha256::new();
    let mut piece = vec![0; 64 * 1024];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok((stat, sum.finalize().into())),
            n => sum.update(piece.get(..n).unwrap_or_default()),
        }
    }
}

fn unchanged(before: &Stat, now: &Stat) -> bool {
    let key = |s: &Stat| (s.st_dev, s.st_ino, s.st_size, s.st_mode, s.st_nlink, s.st_mtime, s.st_mtime_nsec);
    key(before) == key(now)
}

/// Opens the directory a file goes to, making missing ones where a file is created.
fn parent_directory(at: &ResolvedPath, way: &Path, make: bool) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let whole = if way.as_os_str().is_empty() { Path::new(".") } else { way };
    match open_beneath(at.anchor.as_fd(), whole, flags) {
        Err(Errno::NOENT) if make => {}
        other => return other,
    }
    let mut held = open_beneath(at.anchor.as_fd(), Path::new("."), flags)?;
    for name in way.components() {
        let name = Path::new(name.as_os_str());
        match rustix::fs::mkdirat(&held, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        held = open_beneath(held.as_fd(), name, flags)?;
    }
    Ok(held)
}

/// Gives a new file its name, only if nothing has that name.
fn create(parent: &OwnedFd, from: &str, to: &std::ffi::OsStr) -> Result<(), Errno> {
    match rustix::fs::renameat_with(parent, from, parent, to, RenameFlags::NOREPLACE) {
        // Some file systems cannot; a second name and the removal of the first come to the same.
        Err(Errno::INVAL | Errno::NOSYS) => {
            rustix::fs::linkat(parent, from, parent, to, AtFlags::empty())?;
            rustix::fs::unlinkat(parent, from, AtFlags::empty())
        }
        other => other,
    }
}

/// A name beside the file: of the new content, and after the exchange of the old one. It goes in the end.
struct Beside<'a> {
    parent: &'a OwnedFd,
    name: String,
    /// Device and inode of the new content.
    id: (u64, u64),
    /// It holds what somebody else wrote.
    kept: Cell<bool>,
}

impl<'a> Beside<'a> {
    fn write(
        parent: &'a OwnedFd,
        before: Option<&Stat>,
        (turn, target): (&Turn, &Path),
        bytes: &[u8],
    ) -> io::Result<Self> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let name = format!(".adjutant-{:016x}.tmp", u64::from_le_bytes(random));
        turn.leaves(&target.with_file_name(&name));
        // The umask shapes the mode of a new file; an existing one keeps its own.
        let mode = Mode::from_raw_mode(if before.is_some() { 0o600 } else { 0o666 });
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(parent, &name, flags, mode)?;
        let mut beside = Self { parent, name, id: (0, 0), kept: Cell::new(false) };
        let mut file = File::from(opened);
        point("write-begun");
        let stat = rustix::fs::fstat(&file)?;
        beside.id = (stat.st_dev, stat.st_ino);
        file.write_all(bytes)?;
        if let Some(before) = before {
            keep_owner_and_mode(&file, before)?;
        }
        file.sync_all()?;
        Ok(beside)
    }

    /// Lets it stay.
    fn keep(&self) {
        self.kept.set(true);
    }
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        if self.kept.get() {
            return;
        }
        // A new file has this name no more. Nothing can be done about a file that cannot be removed.
        let _ = rustix::fs::unlinkat(self.parent, &self.name, AtFlags::empty());
    }
}

fn keep_owner_and_mode(file: &File, before: &Stat) -> io::Result<()> {
    let now = rustix::fs::fstat(file)?;
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid) {
        let owner = rustix::fs::Uid::from_raw(before.st_uid);
        let group = rustix::fs::Gid::from_raw(before.st_gid);
        // Only root may give a file away; for others the file becomes theirs.
        let _ = rustix::fs::fchown(file, Some(owner), Some(group));
    }
    rustix::fs::fchmod(file, Mode::from_raw_mode(before.st_mode & 0o777))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::paths::{Roots, resolve};

    #[test]
    fn finding_c6_what_cannot_be_put_back_stays_and_is_named() {
        let dir = tempfile::tempdir().expect("folder");
        fs::create_dir(dir.path().join("d")).expect("folder");
        let target = dir.path().join("d/a.txt");
        fs::write(&target, "read").expect("file");
        let (roots, _) = Roots::open(&[dir.path().to_owned()]);
        let at = resolve(&roots, "d/a.txt").expect("a place");
        let parent = parent_directory(&at, Path::new("d"), false).expect("folder");
        let seen = rustix::fs::statat(&parent, "a.txt", AtFlags::SYMLINK_NOFOLLOW).expect("there");
        let turn = Turns::default().acquire(&target).expect("a turn");
        let beside = Beside::write(&parent, Some(&seen), (&turn, &target), b"edit").expect("beside");
        let name = format!("d/{}", beside.name);
        // Other bytes came out of the exchange, and now they cannot be given their name back.
        let swaps = Cell::new(0);
        let swap = || {
            swaps.set(swaps.get() + 1);
            match swaps.get() {
                1 => {
                    rustix::fs::renameat_with(&parent, &beside.name, &parent, "a.txt", RenameFlags::EXCHANGE)
                }
                _ => Err(Errno::IO),
            }
        };
        let refused =
            exchanged(&at, &parent, &beside, (&seen, hash_of(b"other")), swap).expect_err("crossed");
        assert_eq!(
            refused.to_string(),
            format!("another program wrote \"d/a.txt\" at the same time; what it wrote is in \"{name}\"")
        );
        drop(beside);
        assert_eq!(fs::read_to_string(dir.path().join(name)).expect("it is kept"), "read");
        assert_eq!(fs::read_to_string(&target).expect("there"), "edit");
    }
}
