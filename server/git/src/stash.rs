//! What `git stash` has put aside.
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
/// The most entries that are looked at.
const MAX_ENTRIES: usize = 20;
/// The parent of an entry that has the files which git did not follow.
const UNTRACKED: usize = 2;

/// Returns the commits with the files of the newest entries that were made at `seconds` or later, newest first, each with the
/// seconds since the Unix epoch at which its entry was made.
pub(crate) fn since(location: &Location, seconds: i64) -> Result<Vec<(CommitId, i64)>, Unknown> {
    let path = location.common_dir.join("logs/refs/stash");
    let Some(bytes) = files::read(&path, MAX_LIST)? else { return Ok(Vec::new()) };
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let newest: Vec<&[u8]> = lines.rev().take(MAX_ENTRIES).collect();
    if newest.is_empty() {
        return Ok(Vec::new());
    }
    let objects = Objects::open(location)?;
    let mut commits = Vec::new();
    for line in newest {
        // The entry before, a blank, and this entry.
        let id = line.get(41..81).and_then(|hex| ObjectId::from_hex(hex).ok()).map(CommitId);
        let entry = id.ok_or_else(|| Unknown::damaged(format_args!("{path:?}")))?;
        let made = objects.seconds_of(entry)?;
        if made < seconds {
            break;
        }
        let untracked = objects.parents_of(entry)?.get(UNTRACKED).copied();
        commits.extend([Some(entry), untracked].into_iter().flatten().map(|commit| (commit, made)));
    }
    Ok(commits)
}
