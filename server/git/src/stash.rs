//! What git has put aside: the entries of `git stash`, and what a stopped rebase or merge brings back at its end.
//!
//! Never reads more than the newest entries.

use gix_hash::ObjectId;

use crate::commit_id::CommitId;
use crate::discovery::Location;
use crate::files;
use crate::objects::Objects;
use crate::unknown::Unknown;

/// The most bytes of the list of entries.
const MAX_LIST: u64 = 1 << 20;
/// The most bytes of a file with the name of one commit.
const MAX_NAME: u64 = 1 << 10;
/// The most entries that are looked at.
const MAX_ENTRIES: usize = 20;
/// The parent of an entry that has the files which git did not follow.
const UNTRACKED: usize = 2;

/// Where git names what it put aside by itself (`--autostash`).
const AUTOSTASHES: [&str; 3] = ["rebase-merge/autostash", "rebase-apply/autostash", "MERGE_AUTOSTASH"];

/// Returns the commits with the files of the newest entries that were made at `seconds` or later, each with the seconds since
/// the Unix epoch at which its entry was made: first what git put aside by itself, then the stash, newest first.
pub(crate) fn since(location: &Location, seconds: i64) -> Result<Vec<(CommitId, i64)>, Unknown> {
    let path = location.common_dir.join("logs/refs/stash");
    let by_itself = autostashes(location)?;
    let bytes = files::read(&path, MAX_LIST)?.unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let newest: Vec<&[u8]> = lines.rev().take(MAX_ENTRIES).collect();
    if by_itself.is_empty() && newest.is_empty() {
        return Ok(Vec::new());
    }
    let objects = Objects::open(location)?;
    let mut commits: Vec<(CommitId, i64)> = Vec::new();
    let mut add = |entry: CommitId| -> Result<bool, Unknown> {
        let made = objects.seconds_of(entry)?;
        if made >= seconds && !commits.contains(&(entry, made)) {
            let untracked = objects.parents_of(entry)?.get(UNTRACKED).copied();
            commits.extend([Some(entry), untracked].into_iter().flatten().map(|commit| (commit, made)));
        }
        Ok(made >= seconds)
    };
    for entry in by_itself {
        add(entry)?;
    }
    for line in newest {
        // The entry before, a blank, and this entry.
        let entry = commit_of(line.get(41..81)).ok_or_else(|| Unknown::damaged(format_args!("{path:?}")))?;
        if !add(entry)? {
            break;
        }
    }
    Ok(commits)
}

/// Returns what a rebase or a merge that is not over has put aside.
fn autostashes(location: &Location) -> Result<Vec<CommitId>, Unknown> {
    let mut entries = Vec::new();
    for name in AUTOSTASHES {
        let path = location.git_dir.join(name);
        if let Some(bytes) = files::read(&path, MAX_NAME)? {
            let entry = commit_of(Some(bytes.trim_ascii_end()));
            entries.push(entry.ok_or_else(|| Unknown::damaged(format_args!("{path:?}")))?);
        }
    }
    Ok(entries)
}

fn commit_of(hex: Option<&[u8]>) -> Option<CommitId> {
    ObjectId::from_hex(hex?).ok().map(CommitId)
}
