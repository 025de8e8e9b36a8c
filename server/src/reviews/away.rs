//! Where the text of applied hunks is that their files do not have: on a branch that is not checked out, or in the stash.
//!
//! Never concludes anything from a repository that cannot be read with certainty, nor from a branch or a stash without the
//! text: what was discarded is undone.

use std::collections::BTreeMap;

use adjutant_core::session::AppliedHunk;
use adjutant_core::text::trace::{HunkNumber, HunkText, Trace};
use adjutant_core::wire::review::is_missing;
use adjutant_git::{CommitId, Repository, Unknown};
use adjutant_protocol::review::AwayPlace;

use super::FileChanges;
use super::committed::{ALL_DIGITS, seconds, traces_in};
use crate::uri;

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
            !is_missing(self.hunk, trace) || is_changed(trace.found) && !is_changed(self.found)
        })
    }
}

/// Returns the hunks of a file that its text does not have because they are elsewhere; `traces` is where they are in that
/// text. Blocks.
pub fn look(changes: &FileChanges, traces: &[Vec<Trace>]) -> AwayHunks {
    let mut missing = Vec::new();
    for (change, (owned, traces)) in changes.changes.iter().zip(traces).enumerate() {
        let pairs = owned.change.hunks.iter().zip(traces).enumerate();
        missing.extend(pairs.filter(|(_, (hunk, trace))| is_missing(hunk, trace)).map(
            |(number, (hunk, trace))| MissingHunk {
                number: (change, number),
                hunk,
                found: trace.found,
                at: seconds(owned.change.at),
            },
        ));
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
    let head = repository.head()?.name(ALL_DIGITS);
    let mut tips: BTreeMap<&str, Vec<Vec<Trace>>> = BTreeMap::new();
    for one in &missing {
        let Some(on) = one.hunk.on.as_deref().filter(|on| Some(*on) != head.as_deref()) else { continue };
        let id = on.strip_prefix(COMMIT);
        if !tips.contains_key(on) {
            let commit = match id {
                Some(id) => CommitId::from_hex(id),
                None => repository.tip(on)?,
            };
            let traces = commit.map(|commit| traces_in(&repository, commit, &path, changes)).transpose()?;
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
        let traces = traces_in(&repository, commit, &path, changes)?;
        let stashed = left.iter().filter(|one| one.at <= made && one.is_in(&traces));
        away.extend(stashed.map(|one| (one.number, AwayPlace::Stash)));
    }
    Ok(away)
}
