//! Which applied changes that nobody has decided about are in the last commit.
//!
//! Never concludes anything from a repository that cannot be read with certainty, or from a text that was committed before
//! the change was made: the agent may have brought an old text back.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use adjutant_core::session::AppliedHunk;
use adjutant_core::text::trace::{HunkText, Side, Trace};
use adjutant_git::{CommitId, Commits, Repository, Stamp, Unknown};
use adjutant_protocol::{ChangeSetId, SessionId};

use super::staged::text_of;
use super::{FileChanges, Reviews};
use crate::uri;

/// All digits of the id of a commit.
pub(super) const ALL_DIGITS: usize = 40;

/// What the last look has seen of each repository: its stamp, and the number of the registry.
#[derive(Default)]
pub struct HeadLook {
    repositories: HashMap<PathBuf, (Stamp, u64)>,
}

/// Hunks of one change that are in the last commit.
pub struct CommittedHunks {
    pub session: SessionId,
    pub change_set: ChangeSetId,
    pub hunks: Vec<String>,
    /// What is checked out: a branch, or `commit` and its id.
    pub on: Option<String>,
}

/// What a look has found.
#[derive(Default)]
pub struct CommitLook {
    pub found: Vec<CommittedHunks>,
    /// Whether a repository has hunks that nobody has decided about.
    pub waits: bool,
}

/// Looks at the repositories with unreviewed hunks, if they or the hunks have changed since the last look. With `only`, looks for
/// the hunks of this one file, if it has changes; such a look does not count as the last one. Blocks.
pub fn look(reviews: &Reviews, last: &mut HeadLook, only: Option<&str>) -> CommitLook {
    let number = reviews.number();
    let only = only.filter(|only| reviews.has(|change| change.target == *only));
    let open =
        reviews.targets(|change| change.is_unreviewed && only.is_none_or(|only| change.target == only));
    let mut folders: HashMap<PathBuf, Option<Repository>> = HashMap::new();
    let mut files: BTreeMap<PathBuf, (Repository, BTreeMap<PathBuf, String>)> = BTreeMap::new();
    for target in open {
        let Ok(path) = uri::to_path(&target) else { continue };
        let Some(folder) = path.parent() else { continue };
        let found = folders
            .entry(folder.to_owned())
            .or_insert_with(|| Repository::find(folder).unwrap_or_else(|why| not_known(folder, &why)));
        let Some(repository) = found else { continue };
        let top = repository.work_tree().to_owned();
        files.entry(top).or_insert_with(|| (repository.clone(), BTreeMap::new())).1.insert(path, target);
    }
    let mut look = CommitLook { found: Vec::new(), waits: !files.is_empty() };
    last.repositories.retain(|top, _| only.is_some() || files.contains_key(top));
    for (top, (repository, files)) in files {
        // Before the look, so that a commit during it is seen by the next one.
        let seen = (repository.stamp(), number);
        if last.repositories.get(&top) == Some(&seen) {
            continue;
        }
        let mut is_known = true;
        let Some(commits) = repository.commits().map_or_else(|why| not_known(&top, &why), Some) else {
            last.repositories.remove(&top);
            continue;
        };
        let newest = newest_commit(&commits);
        for (path, target) in files {
            // A change that was made after the last commit is in none.
            let may_have = |at: u64| newest.is_none_or(|made| made >= seconds(at));
            if !reviews.has(|change| change.target == target && may_have(change.at)) {
                continue;
            }
            match of_file(reviews, &commits, &path, &target) {
                Ok(found) => look.found.extend(found),
                Err(why) => is_known = not_known::<Commits>(&path, &why).is_some(),
            }
        }
        if only.is_some() {
            continue;
        }
        // What is not known now may be known the next time.
        if is_known {
            last.repositories.insert(top, seen);
        } else {
            last.repositories.remove(&top);
        }
    }
    look
}

/// Returns when the last commit was made, in seconds since the Unix epoch; `None` if that is not known.
fn newest_commit(commits: &Commits) -> Option<i64> {
    let commits = commits.since(i64::MAX).ok()?;
    Some(commits.first().map_or(i64::MIN, |(_, made)| *made))
}

fn not_known<T>(path: &Path, why: &Unknown) -> Option<T> {
    tracing::debug!(?path, %why, "whether changes are committed is not known");
    None
}

fn of_file(
    reviews: &Reviews,
    repository: &Commits,
    path: &Path,
    target: &str,
) -> Result<Vec<CommittedHunks>, Unknown> {
    let changes = FileChanges::read(reviews, reviews.of_file(target));
    let open =
        changes.changes.iter().filter(|owned| owned.change.hunks.iter().any(AppliedHunk::is_unreviewed));
    let Some(oldest) = open.map(|owned| seconds(owned.change.at)).min() else { return Ok(Vec::new()) };
    let commits = repository.since(oldest)?;
    let Some((head, _)) = commits.first().filter(|(_, made)| *made >= oldest) else { return Ok(Vec::new()) };
    let checked_out = repository.head().name(ALL_DIGITS);
    let now = traces_in(repository, *head, path, &changes)?;
    let mut earlier: BTreeMap<i64, Vec<Vec<Trace>>> = BTreeMap::new();
    let mut found = Vec::new();
    for (number, owned) in changes.changes.iter().enumerate() {
        let at = seconds(owned.change.at);
        let is_in = |traces: &[Vec<Trace>], hunk: usize| {
            let trace = traces.get(number).and_then(|traces| traces.get(hunk));
            trace.is_some_and(|trace| trace.found == HunkText::Is(Side::After))
        };
        let hunks = owned.change.hunks.iter().enumerate();
        let committed: Vec<(usize, &AppliedHunk)> =
            hunks.filter(|(index, hunk)| hunk.is_unreviewed() && is_in(&now, *index)).collect();
        if committed.is_empty() {
            continue;
        }
        let before = match earlier.entry(at) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => {
                let before = commits.iter().find(|(_, made)| *made < at);
                let traces = before.map(|(commit, _)| traces_in(repository, *commit, path, &changes));
                free.insert(traces.transpose()?.unwrap_or_default())
            }
        };
        let hunks = committed.into_iter().filter(|(index, _)| !is_in(before, *index));
        let hunks: Vec<String> = hunks.map(|(_, hunk)| hunk.id.clone()).collect();
        if !hunks.is_empty() {
            let (session, change_set) = (owned.session.clone(), owned.change.change_set.clone());
            found.push(CommittedHunks { session, change_set, hunks, on: checked_out.clone() });
        }
    }
    Ok(found)
}

/// Returns where the hunks are in the text of a commit; nothing if it has no such text.
pub(super) fn traces_in(
    commits: &Commits,
    commit: CommitId,
    path: &Path,
    changes: &FileChanges,
) -> Result<Vec<Vec<Trace>>, Unknown> {
    let bytes = commits.text(commit, path)?;
    let text = bytes.as_deref().and_then(|bytes| text_of(bytes, changes));
    Ok(text.map(|text| changes.trace(&text)).unwrap_or_default())
}

/// Returns the full seconds of a time in milliseconds, as commits have them.
pub(super) fn seconds(at: u64) -> i64 {
    i64::try_from(at / 1_000).unwrap_or(i64::MAX)
}
