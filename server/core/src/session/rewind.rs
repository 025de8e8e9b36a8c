//! What it would mean to take back a whole run, or everything since its prompt: a function of the session and of the texts
//! of now.
//!
//! Never changes anything. A decision carries the digest of what was shown.

mod rehearsal;

use std::collections::BTreeSet;

use super::{AppliedChange, AppliedChanges, AppliedHunk, Session};
use crate::record::{ChangeSetId, ReviewState, RunId};
use crate::text::edit::lines;
use crate::text::start_of;
use crate::text::trace::{PastChange, SideRefusal, TurnedHunk, UserText};
use crate::{Parts, digest_parts};

use rehearsal::{Rehearsal, RehearsalEnd, RehearsedHunk, RewindTarget, TargetKind};

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
        Self { run, line: start_of(line, COMMAND_BYTES).to_owned() }
    }
}

/// A file now, with all that is known of its changes.
#[derive(Clone, Debug)]
pub struct FoundFile<'a> {
    /// The URI of the file after following every link.
    pub target: &'a str,
    /// Without a byte order mark; `None` if there is no file.
    pub text: Option<&'a str>,
    /// Whether the agent made the file, so that it goes away with its last line.
    pub is_created: bool,
    /// All changes of its lines, oldest first.
    pub changes: Vec<FoundChange<'a>>,
    /// The deletions and moves of it by the runs.
    pub operations: Vec<FoundOperation<'a>>,
}

/// One applied change of lines of a file, and how it is found in a text.
#[derive(Clone, Debug)]
pub struct FoundChange<'a> {
    pub change: &'a AppliedChange,
    /// Whether the session that is taken back made it.
    pub is_own: bool,
    pub past: PastChange<'a>,
}

/// A deletion or a move of the file, by the session that is taken back.
#[derive(Clone, Debug)]
pub struct FoundOperation<'a> {
    pub change: &'a AppliedChange,
    /// The text that was deleted or moved, without a byte order mark; `None` if it is not kept, or no text.
    pub text: Option<&'a str>,
}

/// What becomes of the hunks of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRewind {
    pub hunks: Vec<HunkRewind>,
    /// Whether the file is there now, and goes away. Another one may have its name then.
    pub removes: bool,
    /// Whether no file of this name is there now, and none will be.
    pub is_absent: bool,
    /// Digest of the file and of everything that is known of its changes.
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
    Left(Obstacle),
}

/// Why a hunk is left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Its lines cannot be found, or must not be replaced.
    Lines(SideRefusal),
    /// The file is not there.
    NoFile,
    /// The file is not there, because another deletion or move of it is left as it is.
    Waits,
    /// Another file has its name.
    OtherFile,
    /// The file does not have the text that was deleted or moved.
    OtherText,
    /// The deleted or moved text is not kept, or no text.
    NoContent,
}

impl Session {
    /// Returns the runs from `first` on, or `first` alone; without `first`, the last run that changed something.
    pub fn rewound(
        &self,
        first: Option<&RunId>,
        later: bool,
        restore: bool,
    ) -> Result<RewoundRuns, RewindRefusal> {
        let last = || self.applied.all().last().map(|change| change.maker.run.clone());
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
        self.all.contains(&change.maker.run)
            && hunk.is_some_and(|hunk| {
                let is_gone = hunk.state == ReviewState::Undone && hunk.as_one;
                hunk.pending.is_none() && (!self.restore || is_gone)
            })
    }

    /// Returns what becomes of the hunks of each file. `applied` are the changes of the session.
    pub fn in_files(&self, applied: &AppliedChanges, files: &[FoundFile<'_>]) -> Vec<FileRewind> {
        let targets = self.targets(files);
        let RehearsalEnd { results: careful, removed, texts } =
            Rehearsal::new(self, applied, files, UserText::IfSeen).played(&targets);
        // What counts as undone, and is not in the text, may have lost its ground too. Nothing is put there.
        let is_gone = |(target, result): &(RewindTarget, _)| {
            let is_turned = matches!(result, Ok(TurnedHunk::Turned { dropped: None }));
            !self.restore && target.of(files).1.state == ReviewState::Undone && !is_turned
        };
        let (gone, open): (Vec<_>, Vec<_>) = targets.into_iter().zip(careful).partition(is_gone);
        let (targets, careful): (Vec<RewindTarget>, Vec<_>) = open.into_iter().unzip();
        let complete = match careful.iter().any(Result::is_err) {
            true => Rehearsal::new(self, applied, files, UserText::Any).played(&targets).results,
            false => careful.clone(),
        };
        let mut rewinds: Vec<FileRewind> = files
            .iter()
            .map(|file| FileRewind {
                hunks: Vec::new(),
                removes: file.text.is_some() && removed.contains(file.target),
                is_absent: file.text.is_none() && texts.get(file.target).is_none_or(Option::is_none),
                digest: digest(file),
            })
            .collect();
        let mut put = |target: &RewindTarget, outcome| {
            let (change, hunk) = target.of(files);
            let (change_set, kept) = (change.change_set.clone(), hunk.state == ReviewState::Kept);
            let rewind = HunkRewind { change_set, hunk: hunk.id.clone(), kept, outcome };
            rewinds[target.file].hunks.push(rewind);
        };
        for (target, (careful, complete)) in targets.iter().zip(careful.into_iter().zip(complete)) {
            put(target, outcome(target.of(files), careful, complete));
        }
        gone.iter().for_each(|(target, _)| put(target, RewindOutcome::Already));
        rewinds
    }

    /// Returns what is turned, in the order in which it is done: what was done last is undone first, and restored last.
    fn targets(&self, files: &[FoundFile<'_>]) -> Vec<RewindTarget> {
        let mut targets = Vec::new();
        for (file, found) in files.iter().enumerate() {
            let lines = found.changes.iter().enumerate().filter(|(_, found)| found.is_own);
            for (change, found) in lines {
                let own = (0..found.change.hunks.len()).filter(|hunk| self.has(found.change, *hunk));
                targets
                    .extend(own.map(|hunk| RewindTarget { file, kind: TargetKind::Lines { change, hunk } }));
            }
            let own = (0..found.operations.len()).filter(|at| self.has(found.operations[*at].change, 0));
            targets.extend(own.map(|at| RewindTarget { file, kind: TargetKind::Operation(at) }));
        }
        targets.sort_by_key(|target| target.of(files).0.seq);
        if !self.restore {
            targets.reverse();
        }
        targets
    }
}

/// Returns what becomes of a hunk: `careful` if no text of the user goes, `complete` if it may.
fn outcome(
    (change, hunk): (&AppliedChange, &AppliedHunk),
    careful: RehearsedHunk,
    complete: RehearsedHunk,
) -> RewindOutcome {
    match (careful, complete) {
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
    }
}

/// Returns the digest of a file and of everything that is known of its changes.
fn digest(file: &FoundFile<'_>) -> String {
    let mut parts = Parts::default();
    // Whether it is open decides what can be done with the file as a whole.
    parts.add(&[u8::from(file.text.is_some()), u8::from(file.is_created)]);
    parts.add(file.text.unwrap_or_default().as_bytes());
    let operations = file.operations.iter().map(|found| found.change);
    for change in file.changes.iter().map(|found| found.change).chain(operations) {
        parts.add(change.change_set.0.as_bytes());
        for hunk in &change.hunks {
            let state = [hunk.state as u8, u8::from(hunk.pending.is_some())];
            let amended = hunk.amended.as_deref().unwrap_or_default();
            parts.add(digest_parts(&[hunk.id.as_bytes(), &state, amended.as_bytes()]).as_bytes());
        }
    }
    parts.in_hex()
}
