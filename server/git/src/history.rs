//! Whether one commit is an ancestor of another. An amended commit is none of the commit that replaced it.
//!
//! Never reads more than a bounded number of commits.

use std::collections::{HashSet, VecDeque};

use crate::commit_id::CommitId;
use crate::objects::Objects;
use crate::unknown::Unknown;

/// The most commits between two that are compared.
const MAX_COMMITS: usize = 1_000;

/// Returns the commits from `newest` on, each followed by its first parent, with the seconds since the Unix epoch at which
/// they were made; the last of them is the first that was made before `seconds`, if there is one.
pub(crate) fn since(
    objects: &Objects,
    newest: CommitId,
    seconds: i64,
) -> Result<Vec<(CommitId, i64)>, Unknown> {
    let mut line = Vec::new();
    let mut next = Some(newest);
    while let Some(commit) = next {
        if line.len() >= MAX_COMMITS {
            return Err(Unknown::because(format!("more than {MAX_COMMITS} commits were made since")));
        }
        let made = objects.seconds_of(commit)?;
        line.push((commit, made));
        next = if made < seconds { None } else { objects.parents_of(commit)?.first().copied() };
    }
    Ok(line)
}

/// Whether `older` is `newer` or one of the commits that it follows.
pub(crate) fn follows(objects: &Objects, newer: CommitId, older: CommitId) -> Result<bool, Unknown> {
    let mut seen = HashSet::from([newer]);
    let mut waiting = VecDeque::from([newer]);
    while let Some(commit) = waiting.pop_front() {
        if commit == older {
            return Ok(true);
        }
        if seen.len() > MAX_COMMITS {
            return Err(Unknown::because(format!("{older} is not among the last {MAX_COMMITS} commits")));
        }
        for parent in objects.parents_of(commit)? {
            if seen.insert(parent) {
                waiting.push_back(parent);
            }
        }
    }
    Ok(false)
}
