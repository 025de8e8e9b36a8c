//! Writes a file of the workspace (P2): a temporary file in the same folder is written and synced, then exchanged with
//! it. There is no other way to write a text. `burst` writes several files at once.
//!
//! Never follows a link, never writes through a second name of a file, and never replaces bytes other than those from
//! which the change was made.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::locks::{WriteLock, WriteLocks};
use super::open::open_beneath;
use super::{ResolvedPath, file_name};
use adjutant_host::faults::point;

/// How safe a replaced file is.
#[derive(Debug)]
pub enum ReplaceOutcome {
    /// The file and its name are on disk.
    Durably,
    /// Every reader sees the new file, but the sync of its folder failed, so a power failure could undo it.
    Unsynced(io::Error),
}

/// Why a file was not replaced. Unless a variant says otherwise, the file is unchanged.
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
    /// It is unknown which of the two texts the file has now; nothing that the other program wrote is removed.
    #[error("another program wrote \"{0}\" at the same time; what it wrote is in \"{1}\"")]
    Crossed(String, String),
    #[error("\"{0}\" and \"{1}\" are on different file systems, and a file is moved only within one")]
    OtherDisk(String, String),
    #[error("write \"{0}\": {1}")]
    Io(String, io::Error),
}

/// Returns the hash of the bytes from which a change is made.
pub fn hash_of(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Creates a file with these permission bits, and its missing directories. No file has that name.
pub fn create_file(
    locks: &WriteLocks,
    at: &ResolvedPath,
    bytes: &[u8],
    mode: u32,
) -> Result<ReplaceOutcome, ReplaceRefusal> {
    PreparedWrite::new(locks, at, None, bytes, Some(mode))
        .and_then(PreparedWrite::commit)
        .map(|done| done.settle())
}

/// A write that is ready: the new content is on disk in the folder of its file, under a temporary name. A drop removes
/// it.
#[derive(Debug)]
pub struct PreparedWrite {
    at: ResolvedPath,
    before: Option<ComparedFile>,
    temporary: TemporaryFile,
    // Dropped last: the note in it is for the temporary file.
    lock: WriteLock,
}

impl PreparedWrite {
    /// Prepares the write of a file whose content has the hash `expected`. If `expected` is none, the file is created,
    /// with its missing directories and the permission bits `mode`.
    ///
    /// A lock for each file keeps other servers out until the end of the write.
    pub fn new(
        locks: &WriteLocks,
        at: &ResolvedPath,
        expected: Option<[u8; 32]>,
        bytes: &[u8],
        mode: Option<u32>,
    ) -> Result<Self, ReplaceRefusal> {
        let name = || at.display.clone();
        if !at.inside {
            return Err(ReplaceRefusal::Outside(name()));
        }
        let io = |error: Errno| refusal_of(at, error);
        let lock = locks.acquire(&at.absolute).map_err(|_| ReplaceRefusal::Busy(name()))?;
        let folder = at.relative.parent().unwrap_or(Path::new(""));
        let parent = Arc::new(parent_directory(at, folder, expected.is_none()).map_err(io)?);
        let before = rustix::fs::statat(&parent, file_name(at), AtFlags::SYMLINK_NOFOLLOW);
        let before = match (before, expected) {
            (Err(Errno::NOENT), None) => None,
            (Err(Errno::NOENT), Some(_)) => return Err(ReplaceRefusal::Changed(name())),
            (Err(error), _) => return Err(io(error)),
            (Ok(_), None) => return Err(ReplaceRefusal::Exists(name())),
            (Ok(found), Some(hash)) => {
                Some(ComparedFile { stat: same_content(at, &parent, found, hash)?, hash })
            }
        };
        if before.is_some() {
            may_be_written(at, &parent)?;
        }
        let stat = before.as_ref().map(|before| &before.stat);
        let temporary = TemporaryFile::write(&parent, stat, mode, &lock, &at.absolute, bytes)
            .map_err(|error| ReplaceRefusal::Io(name(), error))?;
        lock.note_exchange(&at.absolute, temporary.id, hash_of(bytes), expected);
        point("write-whole");
        Ok(Self { at: at.clone(), before, temporary, lock })
    }

    /// Gives the new content the name of the file.
    ///
    /// If another program changes the file between the comparison and the exchange, its text comes out of the exchange
    /// and is put back.
    pub fn commit(self) -> Result<CommittedChange, ReplaceRefusal> {
        // Dropped in reverse: the lock last.
        let Self { lock, temporary, before, at } = self;
        let parent = temporary.parent.clone();
        match &before {
            Some(before) => exchange(&at, &parent, &temporary, before)?,
            None => create(&parent, &temporary.name, file_name(&at)).map_err(|error| match error {
                Errno::EXIST => ReplaceRefusal::Exists(at.display.clone()),
                other => refusal_of(&at, other),
            })?,
        }
        Ok(CommittedChange { parent, old: Some(temporary), lock })
    }
}

/// A file that has its new content, or is gone, for every reader. A drop leaves out the sync of its folder.
#[derive(Debug)]
pub struct CommittedChange {
    pub(super) parent: Arc<OwnedFd>,
    /// The old content under its temporary name.
    pub(super) old: Option<TemporaryFile>,
    pub(super) lock: WriteLock,
}

impl CommittedChange {
    /// Removes the old content and syncs the folder.
    pub fn settle(mut self) -> ReplaceOutcome {
        self.old = None;
        let synced = rustix::fs::fsync(&self.parent);
        drop(self.lock);
        ReplaceOutcome::of(synced)
    }
}

impl ReplaceOutcome {
    /// Returns the outcome of a change whose folder was synced with this result.
    pub(super) fn of(synced: Result<(), Errno>) -> Self {
        match synced {
            Ok(()) => ReplaceOutcome::Durably,
            Err(error) => ReplaceOutcome::Unsynced(error.into()),
        }
    }
}

/// Returns the refusal for an error of the folder of a file.
fn refusal_of(at: &ResolvedPath, error: Errno) -> ReplaceRefusal {
    match error {
        Errno::LOOP => ReplaceRefusal::Changed(at.display.clone()),
        other => ReplaceRefusal::Io(at.display.clone(), other.into()),
    }
}

/// Checks that the file may be written: a rename needs permission for the folder only, not for the file. The file is not
/// opened, because watchers take the end of an opening for writing for a change.
pub(super) fn may_be_written(at: &ResolvedPath, parent: &OwnedFd) -> Result<(), ReplaceRefusal> {
    let flags = AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW;
    match rustix::fs::accessat(parent, file_name(at), Access::WRITE_OK, flags) {
        Err(Errno::ACCESS | Errno::PERM) => Err(ReplaceRefusal::ReadOnly(at.display.clone())),
        Err(Errno::ROFS) => Err(ReplaceRefusal::Io(at.display.clone(), Errno::ROFS.into())),
        // Other problems show in the exchange. A running program may be replaced.
        Ok(()) | Err(_) => Ok(()),
    }
}

/// A file as it was compared with the expected content.
#[derive(Debug)]
struct ComparedFile {
    stat: Stat,
    hash: [u8; 32],
}

/// Exchanges the new content with the file, then checks the old one. If it has other bytes than those that were
/// compared, it gets its name back.
fn exchange(
    at: &ResolvedPath,
    parent: &OwnedFd,
    temporary: &TemporaryFile,
    compared: &ComparedFile,
) -> Result<(), ReplaceRefusal> {
    let (new, file) = (temporary.name.as_str(), file_name(at));
    let now = rustix::fs::statat(parent, file, AtFlags::SYMLINK_NOFOLLOW);
    if !now.is_ok_and(|now| unchanged(&compared.stat, &now)) {
        return Err(ReplaceRefusal::Changed(at.display.clone()));
    }
    point("write-compared");
    let swap = || rustix::fs::renameat_with(parent, new, parent, file, RenameFlags::EXCHANGE);
    exchange_by(at, parent, temporary, compared, swap)
}

/// Does the same; `swap` exchanges the two names.
fn exchange_by(
    at: &ResolvedPath,
    parent: &OwnedFd,
    temporary: &TemporaryFile,
    compared: &ComparedFile,
    swap: impl Fn() -> Result<(), Errno>,
) -> Result<(), ReplaceRefusal> {
    let (new, file) = (temporary.name.as_str(), file_name(at));
    let changed = || ReplaceRefusal::Changed(at.display.clone());
    let io = |error: Errno| ReplaceRefusal::Io(at.display.clone(), error.into());
    match swap() {
        Ok(()) => point("write-exchanged"),
        Err(Errno::NOENT) => return Err(changed()),
        // Some file systems cannot exchange names. After a rename there is no old file to check.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            return rustix::fs::renameat(parent, new, parent, file).map_err(io);
        }
        Err(error) => return Err(io(error)),
    }
    let old = rustix::fs::statat(parent, new, AtFlags::SYMLINK_NOFOLLOW);
    let same = old.is_ok_and(|old| unchanged(&compared.stat, &old));
    if same && hash_below(parent, Path::new(new)).is_ok_and(|(_, sum)| sum == compared.hash) {
        point("write-proved");
        return Ok(());
    }
    Err(match put_back(parent, temporary, swap) {
        Ok(()) => changed(),
        Err(error) => {
            tracing::warn!(%error, "the file of another program could not be put back");
            temporary.keep();
            let other = Path::new(&at.display).with_file_name(new);
            ReplaceRefusal::Crossed(at.display.clone(), other.display().to_string())
        }
    })
}

/// Gives the old file its name back after an exchange.
fn put_back(
    parent: &OwnedFd,
    temporary: &TemporaryFile,
    swap: impl Fn() -> Result<(), Errno>,
) -> Result<(), Errno> {
    swap()?;
    // If another program put a file there in the meantime, that one is the latest, so it stays.
    let back = rustix::fs::statat(parent, temporary.name.as_str(), AtFlags::SYMLINK_NOFOLLOW);
    if back.is_ok_and(|back| (back.st_dev, back.st_ino) == temporary.id) { Ok(()) } else { swap() }
}

/// Checks that the current file is a regular, writable one with the expected content; returns its status.
pub(super) fn same_content(
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
    // Root could write it anyway, but its mode says that it must not be written.
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

pub(super) fn hash_below(parent: &OwnedFd, name: &Path) -> io::Result<(Stat, [u8; 32])> {
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

/// Opens the directory of a file; with `make`, creates missing directories first.
pub(super) fn parent_directory(at: &ResolvedPath, folder: &Path, make: bool) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let whole = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    match open_beneath(at.anchor.as_fd(), whole, flags) {
        Err(Errno::NOENT) if make => {}
        other => return other,
    }
    let mut current = open_beneath(at.anchor.as_fd(), Path::new("."), flags)?;
    for name in folder.components() {
        let name = Path::new(name.as_os_str());
        match rustix::fs::mkdirat(&current, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        current = open_beneath(current.as_fd(), name, flags)?;
    }
    Ok(current)
}

/// Gives a new file its name, only if no file has that name.
fn create(parent: &OwnedFd, from: &str, to: &OsStr) -> Result<(), Errno> {
    rename_to_free(parent, OsStr::new(from), parent, to)
}

/// Gives a file another name, only if no file has that name.
pub(super) fn rename_to_free(
    parent: &OwnedFd,
    from: &OsStr,
    to_parent: &OwnedFd,
    to: &OsStr,
) -> Result<(), Errno> {
    match rustix::fs::renameat_with(parent, from, to_parent, to, RenameFlags::NOREPLACE) {
        // Some file systems cannot do that. A second name and the removal of the first have the same effect.
        Err(Errno::INVAL | Errno::NOSYS) => {
            rustix::fs::linkat(parent, from, to_parent, to, AtFlags::empty())?;
            rustix::fs::unlinkat(parent, from, AtFlags::empty())
        }
        other => other,
    }
}

/// A temporary name in the folder of the file: of the new content, and after the exchange of the old one. A drop
/// removes it.
#[derive(Debug)]
pub(super) struct TemporaryFile {
    parent: Arc<OwnedFd>,
    name: String,
    /// Device and inode of the new content.
    id: (u64, u64),
    /// Whether it stays, because another program wrote its content.
    stays: Cell<bool>,
}

impl TemporaryFile {
    fn write(
        parent: &Arc<OwnedFd>,
        before: Option<&Stat>,
        created_with: Option<u32>,
        lock: &WriteLock,
        target: &Path,
        bytes: &[u8],
    ) -> io::Result<Self> {
        let name = temporary_name()?;
        lock.note_temporary(&target.with_file_name(&name));
        // The umask applies to the mode of a new file; an existing file keeps its mode.
        let mode = Mode::from_raw_mode(if before.is_some() { 0o600 } else { 0o666 });
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(parent, &name, flags, mode)?;
        let mut temporary = Self { parent: parent.clone(), name, id: (0, 0), stays: Cell::new(false) };
        let mut file = File::from(opened);
        point("write-begun");
        let stat = rustix::fs::fstat(&file)?;
        temporary.id = (stat.st_dev, stat.st_ino);
        file.write_all(bytes)?;
        if let Some(before) = before {
            keep_owner_and_mode(&file, before)?;
        }
        if let Some(mode) = created_with {
            rustix::fs::fchmod(&file, Mode::from_raw_mode(mode & 0o777))?;
        }
        file.sync_all()?;
        Ok(temporary)
    }

    /// Prevents the removal.
    fn keep(&self) {
        self.stays.set(true);
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if self.stays.get() {
            return;
        }
        // A created file no longer has this name. If the removal fails, nothing more can be done.
        let _ = rustix::fs::unlinkat(&self.parent, &self.name, AtFlags::empty());
    }
}

/// Returns a new name for a temporary file; only Adjutant uses such names. Programs that watch files ignore it, because it
/// looks like the swap file of an editor: chokidar, and so vite and vitest, by `\..*\.(sw[px])$`, watchexec by `.*.sw?`.
pub(super) fn temporary_name() -> io::Result<String> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(format!(".adjutant-{:016x}.swp", u64::from_le_bytes(random)))
}

fn keep_owner_and_mode(file: &File, before: &Stat) -> io::Result<()> {
    let now = rustix::fs::fstat(file)?;
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid) {
        let owner = rustix::fs::Uid::from_raw(before.st_uid);
        let group = rustix::fs::Gid::from_raw(before.st_gid);
        // Only root may set another owner. For other users the new file belongs to them.
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
        let parent = Arc::new(parent_directory(&at, Path::new("d"), false).expect("folder"));
        let stat = rustix::fs::statat(&parent, "a.txt", AtFlags::SYMLINK_NOFOLLOW).expect("there");
        let lock = WriteLocks::default().acquire(&target).expect("a lock");
        let temporary =
            TemporaryFile::write(&parent, Some(&stat), None, &lock, &target, b"edit").expect("temporary");
        let name = format!("d/{}", temporary.name);
        // Other bytes come out of the exchange, and they cannot get their name back.
        let compared = ComparedFile { stat, hash: hash_of(b"other") };
        let swaps = Cell::new(0);
        let swap = || {
            swaps.set(swaps.get() + 1);
            match swaps.get() {
                1 => rustix::fs::renameat_with(
                    &parent,
                    &temporary.name,
                    &parent,
                    "a.txt",
                    RenameFlags::EXCHANGE,
                ),
                _ => Err(Errno::IO),
            }
        };
        let refused = exchange_by(&at, &parent, &temporary, &compared, swap).expect_err("crossed");
        assert_eq!(
            refused.to_string(),
            format!("another program wrote \"d/a.txt\" at the same time; what it wrote is in \"{name}\"")
        );
        drop(temporary);
        assert_eq!(fs::read_to_string(dir.path().join(name)).expect("it is kept"), "read");
        assert_eq!(fs::read_to_string(&target).expect("there"), "edit");
    }
}
