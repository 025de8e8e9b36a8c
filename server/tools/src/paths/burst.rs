//! Changes several files of the workspace at once: everything slow is done first, then the files get their new content
//! one right after the other, so that a program that watches them sees one change.
//!
//! Never does less for each file than `replace` and `relocate` do for one. A file that cannot be changed stops no other.

use std::collections::HashMap;

use super::ResolvedPath;
use super::locks::WriteLocks;
use super::relocate::PreparedRemoval;
use super::replace::{CommittedChange, PreparedWrite, ReplaceOutcome, ReplaceRefusal};

/// A change of one file that is ready: all of it that takes time is done. A drop undoes that.
///
/// It has the lock of its file, so several are prepared in the order of their paths: then two servers never wait for each
/// other.
#[derive(Debug)]
pub enum PreparedChange {
    Write(PreparedWrite),
    Removal(PreparedRemoval),
}

impl PreparedChange {
    /// Prepares the write of a file whose content has the hash `expected`; without one it is created, with its missing
    /// directories.
    pub fn write(
        locks: &WriteLocks,
        at: &ResolvedPath,
        expected: Option<[u8; 32]>,
        bytes: &[u8],
    ) -> Result<Self, ReplaceRefusal> {
        PreparedWrite::new(locks, at, expected, bytes, None).map(Self::Write)
    }

    /// Prepares the removal of a file whose content has the hash `expected`.
    pub fn removal(
        locks: &WriteLocks,
        at: &ResolvedPath,
        expected: [u8; 32],
    ) -> Result<Self, ReplaceRefusal> {
        PreparedRemoval::new(locks, at, expected).map(Self::Removal)
    }

    fn commit(self) -> Result<CommittedChange, ReplaceRefusal> {
        match self {
            Self::Write(write) => write.commit(),
            Self::Removal(removal) => removal.commit(),
        }
    }
}

/// Makes prepared changes, and says of each what became of it, in the same order; none if it `may` not be made any more,
/// which is asked right before its change. Then each file is compared again. Each folder is synced once, after the last
/// change.
pub fn commit_all<T>(
    prepared: Vec<(T, PreparedChange)>,
    may: impl Fn(&T) -> bool,
) -> Vec<(T, Option<Result<ReplaceOutcome, ReplaceRefusal>>)> {
    let commit = |(name, change): (T, PreparedChange)| {
        let committed = may(&name).then(|| change.commit());
        (name, committed)
    };
    let mut committed: Vec<_> = prepared.into_iter().map(commit).collect();
    for change in committed.iter_mut().filter_map(|(_, change)| change.as_mut()?.as_mut().ok()) {
        change.old = None;
    }
    let mut synced = HashMap::new();
    let mut sync = |change: CommittedChange| {
        let folder = rustix::fs::fstat(&change.parent).map(|stat| (stat.st_dev, stat.st_ino));
        let outcome = match folder {
            Ok(folder) => *synced.entry(folder).or_insert_with(|| rustix::fs::fsync(&change.parent)),
            Err(_) => rustix::fs::fsync(&change.parent),
        };
        ReplaceOutcome::of(outcome)
    };
    committed.into_iter().map(|(name, result)| (name, result.map(|result| result.map(&mut sync)))).collect()
}
