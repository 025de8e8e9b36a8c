//! What it would mean to take back a whole run, or everything since its prompt: a function of the session and of the texts
//! of now.
//!
//! Never changes anything. A decision carries the digest of what was shown.

use std::collections::BTreeSet;

use super::{AppliedChange, Session};
use crate::record::{ChangeSetId, ReviewState, RunId};
use crate::text::edit::lines;
use crate::text::trace::{PastChange, Side, SideRefusal, SideTarget, TurnedHunk, UserText, turn};
use crate::{Parts, digest_parts};

/// The runs that are taken back together.
#[derive(Clone, Debug, PartialEq)]
pub struct RewoundRuns {
    /// The first of them.
    pub first: RunId,
    /// Its title.
    pub title: String,
    pub all: BTreeSet<RunId>,
    /// Whether what was taken back is restored.
    pub restore: bool,
}

/// Why no runs can be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RewindRefusal {
    /// The session has no such run, or does not remember it.
    NoSuchRun,
    /// One of the runs is not over.
    Open,
}

/// A command that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RanCommand {
    pub run: RunId,
    pub line: String,
}

/// The most bytes of one remembered command line.
const COMMAND_BYTES: usize = 400;

impl RanCommand {
    /// Returns the command with the start of its line.
    pub fn new(run: RunId, line: &str) -> Self {
        let end = (0..=COMMAND_BYTES.min(line.len())).rev().find(|at| line.is_char_boundary(*at));
        Self { run, line: line[..end.unwrap_or(0)].to_owned() }
    }
}

/// One applied change of a file, and how it is found in a text.
#[derive(Clone, Debug)]
pub struct FoundChange<'a> {
    pub change: &'a AppliedChange,
    /// Whether the session that is taken back made it.
    pub is_own: bool,
    pub past: PastChange<'a>,
}

/// What becomes of the hunks of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRewind {
    pub hunks: Vec<HunkRewind>,
    /// Whether nothing is left of the text without the hunks in which the user wrote.
    pub empties: bool,
    /// Digest of the text and of everything that is known of its changes.
    pub digest: String,
}

/// What becomes of one hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunkRewind {
    pub change_set: ChangeSetId,
    pub hunk: String,
    pub kept: bool,
    pub outcome: RewindOutcome,
}

/// What becomes of one hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RewindOutcome {
    /// It is so already.
    Already,
    /// It is undone or restored, and nothing of the user goes with it.
    Exact,
    /// Only if text of the user goes with it, or with a hunk that stands on it: that text, and how many of its lines are
    /// not the agent's.
    WithUsers { seen: Option<String>, lines: usize },
    /// It is left as it is.
    Left(SideRefusal),
}

impl Session {
    /// Returns the runs from `first` on, or `first` alone; without `first`, the last run that changed something.
    pub fn rewound(
        &self,
        first: Option<&RunId>,
        later: bool,
        restore: bool,
    ) -> Result<RewoundRuns, RewindRefusal> {
        let last = || self.applied.all().last().map(|change| change.run.clone());
        let first = first.cloned().or_else(last).ok_or(RewindRefusal::NoSuchRun)?;
        let open = self.open_run().map(|run| (&run.id, &run.title));
        let runs = self.ended.iter().map(|ended| (&ended.run, &ended.title)).chain(open);
        let mut runs = runs.skip_while(|(run, _)| **run != first);
        let (_, title) = runs.next().ok_or(RewindRefusal::NoSuchRun)?;
        let after = runs.filter(|_| later).map(|(run, _)| run.clone());
        let all: BTreeSet<RunId> = after.chain([first.clone()]).collect();
        if open.is_some_and(|(run, _)| all.contains(run)) {
            return Err(RewindRefusal::Open);
        }
        Ok(RewoundRuns { first, title: title.clone(), all, restore })
    }
}

impl RewoundRuns {
    /// Whether a hunk of a change is one of those that are taken back or restored.
    fn has(&self, change: &AppliedChange, hunk: usize) -> bool {
        let hunk = change.hunks.get(hunk);
        self.all.contains(&change.run)
            && hunk.is_some_and(|hunk| {
                let is_gone = hunk.state == ReviewState::Undone && hunk.as_one;
                hunk.pending.is_none() && (!self.restore || is_gone)
            })
    }

    /// Returns what becomes of the hunks of one file. `changes` are all changes of the file, oldest first.
    pub fn in_file(&self, now: &str, changes: &[FoundChange<'_>]) -> FileRewind {
        let mut targets = Vec::new();
        for (number, found) in changes.iter().enumerate().filter(|(_, found)| found.is_own) {
            let own = (0..found.change.hunks.len()).filter(|hunk| self.has(found.change, *hunk));
            targets.extend(own.map(|hunk| SideTarget { change: number, hunk, seen: None }));
        }
        let past: Vec<PastChange<'_>> = changes.iter().map(|found| found.past.clone()).collect();
        let to = if self.restore { Side::After } else { Side::Before };
        let careful = turn(now, &past, &targets, to, UserText::IfSeen);
        // What counts as undone, and is not in the text, may have lost its ground too. Nothing is put there.
        let is_gone = |target: &SideTarget, result: &Result<TurnedHunk, SideRefusal>| {
            let hunk = &changes[target.change].change.hunks[target.hunk];
            let is_turned = matches!(result, Ok(TurnedHunk::Turned { dropped: None }));
            !self.restore && hunk.state == ReviewState::Undone && !is_turned
        };
        let all = targets.into_iter().zip(careful.results);
        let (gone, open): (Vec<_>, Vec<_>) = all.partition(|(target, result)| is_gone(target, result));
        let (targets, results): (Vec<SideTarget>, Vec<_>) = open.into_iter().unzip();
        let complete = match results.iter().any(Result::is_err) {
            true => turn(now, &past, &targets, to, UserText::Any).results,
            false => results.clone(),
        };
        let outcomes = results.into_iter().zip(complete);
        let rewound = |target: &SideTarget, outcome| {
            let change = changes[target.change].change;
            let hunk = &change.hunks[target.hunk];
            let (change_set, kept) = (change.change_set.clone(), hunk.state == ReviewState::Kept);
            HunkRewind { change_set, hunk: hunk.id.clone(), kept, outcome }
        };
        let hunks = targets.iter().zip(outcomes).map(|(target, (careful, complete))| {
            let change = changes[target.change].change;
            let hunk = &change.hunks[target.hunk];
            let outcome = match (careful, complete) {
                (Ok(TurnedHunk::Already), _) => RewindOutcome::Already,
                (Ok(TurnedHunk::Turned { .. }), _) => RewindOutcome::Exact,
                (Err(_), Ok(TurnedHunk::Turned { dropped })) => {
                    let inserted = change.lines_of(hunk).map(|lines| &*lines.inserted).unwrap_or_default();
                    let is_users = |line: &&str| !inserted.iter().any(|own| own == line);
                    let count = dropped.as_deref().map_or(0, |text| lines(text).filter(is_users).count());
                    RewindOutcome::WithUsers { seen: dropped, lines: count }
                }
                (Err(_), Ok(TurnedHunk::Already)) => RewindOutcome::WithUsers { seen: None, lines: 0 },
                (Err(_), Err(why)) => RewindOutcome::Left(why),
            };
            rewound(target, outcome)
        });
        let gone = gone.iter().map(|(target, _)| rewound(target, RewindOutcome::Already));
        FileRewind {
            hunks: hunks.chain(gone).collect(),
            empties: careful.text.is_empty(),
            digest: digest(now, changes),
        }
    }
}

/// Returns the digest of a text and of everything that is known of its changes.
fn digest(now: &str, changes: &[FoundChange<'_>]) -> String {
    let mut parts = Parts::default();
    parts.add(now.as_bytes());
    for found in changes {
        parts.add(found.change.change_set.0.as_bytes());
        for hunk in &found.change.hunks {
            let state = [hunk.state as u8, u8::from(hunk.pending.is_some())];
            let amended = hunk.amended.as_deref().unwrap_or_default();
            parts.add(digest_parts(&[hunk.id.as_bytes(), &state, amended.as_bytes()]).as_bytes());
        }
    }
    parts.in_hex()
}
