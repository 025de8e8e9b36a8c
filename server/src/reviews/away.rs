//! Where the text of applied hunks is that their files do not have: on a branch that is not checked out, or in the stash.
//!
//! Never concludes anything from a repository that cannot be read with certainty, nor from a branch or a stash without the
//! text: what was discarded is undone.

use std::collections::BTreeMap;

use adjutant_core::record::ReviewState;
use adjutant_core::session::AppliedHunk;
use adjutant_core::text::display::one_line;
use adjutant_core::text::trace::{HunkNumber, HunkText, Trace};
use adjutant_core::wire::review::{differs_from_log, is_missing, is_out};
use adjutant_git::{CommitId, Repository, Unknown};
use adjutant_protocol::review::AwayPlace;

use super::committed::{ALL_DIGITS, seconds, traces_in};
use super::{FileChanges, OwnedChange};
use crate::uri;

/// The most bytes of the name of a branch in a message.
const MOST_NAME: usize = 100;
/// Digits of the id of a commit in a message.
const SHORT_ID: usize = 12;
/// What begins the name of a commit in the log.
const COMMIT: &str = "commit ";

/// The hunks of one file whose text is elsewhere.
pub type AwayHunks = BTreeMap<HunkNumber, AwayPlace>;

/// Returns what is checked out in the repository of a file: a branch, or `commit` and its id; `None` if there is no
/// repository, or it cannot be read. Blocks.
pub fn checked_out(target: &str) -> Option<String> {
    let path = uri::to_path(target).ok()?;
    Repository::find(&path).ok()??.head().ok()?.name(ALL_DIGITS)
}

/// Whether git is at work on a file now, so that nobody knows yet why its text changed. Blocks.
pub fn is_git_busy(target: &str) -> bool {
    let path = uri::to_path(target).ok();
    let repository = path.and_then(|path| Repository::find(&path).ok().flatten());
    repository.is_some_and(|repository| repository.is_busy())
}

/// Whether a file is there because it was deleted on another branch: what is checked out does not have the commit with the
/// deletion. Blocks.
pub fn is_deleted_elsewhere(owned: &OwnedChange) -> bool {
    let find = || -> Result<Option<bool>, Unknown> {
        let on = owned.change.hunks.first().and_then(|hunk| hunk.on.as_deref());
        let path = uri::to_path(&owned.change.target).ok().filter(|path| path.exists());
        let (Some(on), Some(path)) = (on, path) else { return Ok(None) };
        let Some(repository) = Repository::find(&path)? else { return Ok(None) };
        let head = repository.head()?;
        if head.name(ALL_DIGITS).as_deref() == Some(on) {
            return Ok(None);
        }
        let deleted = tip_of(&repository, on)?;
        let (Some(deleted), Some(now)) = (deleted, head.commit) else { return Ok(None) };
        let commits = repository.commits()?;
        let is_gone_there = commits.text(deleted, &path)?.is_none();
        Ok(Some(is_gone_there && !commits.follows(now, deleted)?))
    };
    find().ok().flatten().unwrap_or(false)
}

/// Returns the last commit of what the log says was checked out: a branch, or `commit` and its id.
fn tip_of(repository: &Repository, on: &str) -> Result<Option<CommitId>, Unknown> {
    match on.strip_prefix(COMMIT) {
        Some(id) => Ok(CommitId::from_hex(id)),
        None => repository.tip(on),
    }
}

/// A hunk that the text of now does not have.
struct MissingHunk<'a> {
    number: HunkNumber,
    hunk: &'a AppliedHunk,
    /// What the text of now has in its place.
    found: HunkText,
    /// When it was applied, in seconds since the Unix epoch.
    at: i64,
}

impl MissingHunk<'_> {
    /// Whether another text has it. Lines of somebody else in its place count only where the text of now has none there.
    fn is_in(&self, traces: &[Vec<Trace>]) -> bool {
        let trace = traces.get(self.number.0).and_then(|traces| traces.get(self.number.1));
        trace.is_some_and(|trace| {
            let is_changed = |found| matches!(found, HunkText::Amended { .. });
            !is_out(trace) || is_changed(trace.found) && !is_changed(self.found)
        })
    }
}

/// Returns the hunks of a file that its text does not have because they are elsewhere; `traces` is where they are in that
/// text. Blocks.
pub fn look(changes: &FileChanges, traces: &[Vec<Trace>]) -> AwayHunks {
    look_for(changes, traces, |_, hunk, trace| is_missing(hunk, trace))
}

/// Why nothing is decided now about a hunk that the text does not have as the log says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotDecidable {
    Away(AwayPlace),
    /// Git writes the file now, so the cause of its new text is not known yet.
    GitBusy,
}

impl NotDecidable {
    /// Returns the reason, for people.
    pub fn why(&self) -> String {
        match self {
            Self::Away(AwayPlace::Stash) => "its text is in the stash".to_owned(),
            Self::Away(AwayPlace::Branch { name }) => {
                format!("its text is on branch {}; check it out first", one_line(name, MOST_NAME))
            }
            Self::Away(AwayPlace::Commit { id }) => {
                let digits = id.get(..SHORT_ID).unwrap_or(id);
                format!("its text is in commit {digits}; check it out first")
            }
            Self::GitBusy => "git is at work on its file; try again when it is done".to_owned(),
        }
    }
}

/// Returns the hunks among those that a decision `is_about` for which it must be refused, because their text is elsewhere or
/// is just being written. Blocks.
pub fn not_decidable(
    changes: &FileChanges,
    traces: &[Vec<Trace>],
    is_about: impl Fn(HunkNumber) -> bool,
) -> BTreeMap<HunkNumber, NotDecidable> {
    let is_wanted = |number, hunk: &AppliedHunk, trace: &Trace| {
        is_about(number) && is_out(trace) && hunk.state != ReviewState::Undone
    };
    let away = look_for(changes, traces, is_wanted);
    let mut all: BTreeMap<_, _> =
        away.into_iter().map(|(number, at)| (number, NotDecidable::Away(at))).collect();
    let target = changes.changes.first().map(|owned| owned.change.target.as_str());
    if target.is_some_and(is_git_busy) {
        for (change, (owned, traces)) in changes.changes.iter().zip(traces).enumerate() {
            let pairs = owned.change.hunks.iter().zip(traces).enumerate();
            let unclear = pairs.filter(|(number, (hunk, trace))| {
                is_about((change, *number)) && differs_from_log(hunk, trace.found)
            });
            unclear.for_each(|(number, _)| {
                all.entry((change, number)).or_insert(NotDecidable::GitBusy);
            });
        }
    }
    all
}

/// Returns where the hunks are that the text does not have and that are `wanted`.
fn look_for(
    changes: &FileChanges,
    traces: &[Vec<Trace>],
    is_wanted: impl Fn(HunkNumber, &AppliedHunk, &Trace) -> bool,
) -> AwayHunks {
    let mut missing = Vec::new();
    for (change, (owned, traces)) in changes.changes.iter().zip(traces).enumerate() {
        let pairs = owned.change.hunks.iter().zip(traces).enumerate();
        missing.extend(
            pairs.filter(|(number, (hunk, trace))| is_wanted((change, *number), hunk, trace)).map(
                |(number, (hunk, trace))| MissingHunk {
                    number: (change, number),
                    hunk,
                    found: trace.found,
                    at: seconds(owned.change.at),
                },
            ),
        );
    }
    find(changes, missing).unwrap_or_else(|why| {
        tracing::debug!(%why, "whether a change is on another branch is not known");
        AwayHunks::new()
    })
}

fn find(changes: &FileChanges, missing: Vec<MissingHunk<'_>>) -> Result<AwayHunks, Unknown> {
    let mut away = AwayHunks::new();
    let path = changes.changes.last().and_then(|owned| uri::to_path(&owned.change.target).ok());
    let Some(path) = path.filter(|_| !missing.is_empty()) else { return Ok(away) };
    let Some(repository) = Repository::find(&path)? else { return Ok(away) };
    let commits = repository.commits()?;
    let head = commits.head().name(ALL_DIGITS);
    let mut tips: BTreeMap<&str, Vec<Vec<Trace>>> = BTreeMap::new();
    for one in &missing {
        let Some(on) = one.hunk.on.as_deref().filter(|on| Some(*on) != head.as_deref()) else { continue };
        let id = on.strip_prefix(COMMIT);
        if !tips.contains_key(on) {
            let commit = tip_of(&repository, on)?;
            let traces = commit.map(|commit| traces_in(&commits, commit, &path, changes)).transpose()?;
            tips.insert(on, traces.unwrap_or_default());
        }
        if tips.get(on).is_some_and(|traces| one.is_in(traces)) {
            let branch = || AwayPlace::Branch { name: on.to_owned() };
            away.insert(one.number, id.map_or_else(branch, |id| AwayPlace::Commit { id: id.to_owned() }));
        }
    }
    let left: Vec<_> = missing.iter().filter(|one| !away.contains_key(&one.number)).collect();
    let Some(oldest) = left.iter().map(|one| one.at).min() else { return Ok(away) };
    for (commit, made) in repository.stashed_since(oldest)? {
        let traces = traces_in(&commits, commit, &path, changes)?;
        let stashed = left.iter().filter(|one| one.at <= made && one.is_in(&traces));
        away.extend(stashed.map(|one| (one.number, AwayPlace::Stash)));
    }
    Ok(away)
}
