//! What it would mean to take back a whole run, or everything since its prompt: a function of the session and of the texts
//! of now.
//!
//! Never changes anything. A decision carries the digest of what was shown.

use std::collections::BTreeSet;

use super::{AppliedChange, AppliedHunk, Session};
use crate::record::{ChangeSetId, FileOperation, ReviewState, RunId};
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

/// A file now.
#[derive(Clone, Copy, Debug)]
pub struct FileNow<'a> {
    /// Without a byte order mark; `None` if there is no file.
    pub text: Option<&'a str>,
    /// Whether the agent made the file, so that it goes away with its last line, and comes back with its first.
    pub is_created: bool,
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
    /// Whether the file is there now, and goes away without the hunks in which the user wrote.
    pub removes: bool,
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
    /// There is a file where the deleted one was.
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

    /// Returns what becomes of the hunks of one file. `changes` are all changes of its lines, oldest first, and `operations` the
    /// deletions and moves of it by these runs.
    pub fn in_file(
        &self,
        file: FileNow<'_>,
        changes: &[FoundChange<'_>],
        operations: &[FoundOperation<'_>],
    ) -> FileRewind {
        let targets = self.targets(changes, operations);
        let (careful, after) = self.turned(file, changes, &targets, UserText::IfSeen);
        // What counts as undone, and is not in the text, may have lost its ground too. Nothing is put there.
        let is_gone = |(target, result): &(RewindTarget<'_>, _)| {
            let is_turned = matches!(result, Ok(TurnedHunk::Turned { dropped: None }));
            !self.restore && target.of(changes).1.state == ReviewState::Undone && !is_turned
        };
        let (gone, open): (Vec<_>, Vec<_>) = targets.into_iter().zip(careful).partition(is_gone);
        let (targets, careful): (Vec<RewindTarget<'_>>, Vec<_>) = open.into_iter().unzip();
        let complete = match careful.iter().any(Result::is_err) {
            true => self.turned(file, changes, &targets, UserText::Any).0,
            false => careful.clone(),
        };
        let rewound = |target: &RewindTarget<'_>, outcome| {
            let (change, hunk) = target.of(changes);
            let (change_set, kept) = (change.change_set.clone(), hunk.state == ReviewState::Kept);
            HunkRewind { change_set, hunk: hunk.id.clone(), kept, outcome }
        };
        let outcome = |(target, (careful, complete)): (&RewindTarget<'_>, _)| match (careful, complete) {
            (Ok(TurnedHunk::Already), _) => RewindOutcome::Already,
            (Ok(TurnedHunk::Turned { .. }), _) => RewindOutcome::Exact,
            (Err(_), Ok(TurnedHunk::Turned { dropped })) => {
                let (change, hunk) = target.of(changes);
                let inserted = change.lines_of(hunk).map(|lines| &*lines.inserted).unwrap_or_default();
                let is_users = |line: &&str| !inserted.iter().any(|own| own == line);
                let count = dropped.as_deref().map_or(0, |text| lines(text).filter(is_users).count());
                RewindOutcome::WithUsers { seen: dropped, lines: count }
            }
            (Err(_), Ok(TurnedHunk::Already)) => RewindOutcome::WithUsers { seen: None, lines: 0 },
            (Err(_), Err(why)) => RewindOutcome::Left(why),
        };
        let outcomes = targets.iter().zip(careful.into_iter().zip(complete));
        let hunks = outcomes.map(|pair| rewound(pair.0, outcome(pair)));
        let gone = gone.iter().map(|(target, _)| rewound(target, RewindOutcome::Already));
        FileRewind {
            hunks: hunks.chain(gone).collect(),
            removes: file.text.is_some() && after.is_none(),
            digest: digest(file, changes, operations),
        }
    }

    /// Returns what is turned, in the order in which it is done: what was done last is undone first, and restored last.
    fn targets<'a>(
        &self,
        changes: &[FoundChange<'_>],
        operations: &'a [FoundOperation<'a>],
    ) -> Vec<RewindTarget<'a>> {
        let mut targets = Vec::new();
        for (number, found) in changes.iter().enumerate().filter(|(_, found)| found.is_own) {
            let own = (0..found.change.hunks.len()).filter(|hunk| self.has(found.change, *hunk));
            targets
                .extend(own.map(|hunk| RewindTarget::Lines(SideTarget { change: number, hunk, seen: None })));
        }
        let own = operations.iter().filter(|found| self.has(found.change, 0));
        targets.extend(own.map(RewindTarget::Operation));
        targets.sort_by_key(|target| target.of(changes).0.seq);
        if !self.restore {
            targets.reverse();
        }
        targets
    }

    /// Returns what becomes of each target, and of the file.
    fn turned(
        &self,
        file: FileNow<'_>,
        changes: &[FoundChange<'_>],
        targets: &[RewindTarget<'_>],
        users: UserText,
    ) -> (Vec<Result<TurnedHunk, Obstacle>>, Option<String>) {
        let to = if self.restore { Side::After } else { Side::Before };
        let mut past: Vec<PastChange<'_>> = changes.iter().map(|found| found.past.clone()).collect();
        let mut text = file.text.map(str::to_owned);
        let mut results = Vec::new();
        // Hunks of lines are turned together, but not over a deletion or a move: the file is another one then.
        for step in targets.chunk_by(|one, other| one.is_lines() && other.is_lines()) {
            if let [RewindTarget::Operation(found)] = step {
                results.push(self.operated(found, &mut text));
                continue;
            }
            let own: Vec<SideTarget> = step.iter().filter_map(RewindTarget::lines).collect();
            if text.is_none() && !file.is_created {
                results.extend(own.iter().map(|_| Err(Obstacle::NoFile)));
                continue;
            }
            let turned = turn(text.as_deref().unwrap_or_default(), &past, &own, to, users);
            for (target, _) in own.iter().zip(&turned.results).filter(|(_, result)| result.is_ok()) {
                past[target.change].hunks[target.hunk].expected = to;
            }
            results.extend(turned.results.into_iter().map(|result| result.map_err(Obstacle::Lines)));
            text = Some(turned.text).filter(|text| !(file.is_created && text.is_empty()));
        }
        (results, text)
    }

    /// Undoes or restores a deletion or a move.
    fn operated(
        &self,
        found: &FoundOperation<'_>,
        text: &mut Option<String>,
    ) -> Result<TurnedHunk, Obstacle> {
        let is_undone = found.change.hunks.first().is_some_and(|hunk| hunk.state == ReviewState::Undone);
        if is_undone && !self.restore {
            return Ok(TurnedHunk::Already);
        }
        let content = found.text.ok_or(Obstacle::NoContent)?;
        let is_deletion = matches!(found.change.operation, Some(FileOperation::Delete { .. }));
        match text.as_deref() {
            None if !is_deletion => Err(Obstacle::NoFile),
            None if self.restore => Ok(TurnedHunk::Already),
            None => {
                *text = Some(content.to_owned());
                Ok(TurnedHunk::Turned { dropped: None })
            }
            Some(now) if is_deletion && !self.restore => match now == content {
                true => Ok(TurnedHunk::Already),
                false => Err(Obstacle::OtherFile),
            },
            Some(now) if now != content => Err(Obstacle::OtherText),
            Some(_) => {
                if is_deletion {
                    *text = None;
                }
                Ok(TurnedHunk::Turned { dropped: None })
            }
        }
    }
}

/// What is undone or restored.
enum RewindTarget<'a> {
    Lines(SideTarget),
    Operation(&'a FoundOperation<'a>),
}

impl RewindTarget<'_> {
    fn is_lines(&self) -> bool {
        matches!(self, Self::Lines(_))
    }

    fn lines(&self) -> Option<SideTarget> {
        match self {
            Self::Lines(target) => Some(target.clone()),
            Self::Operation(_) => None,
        }
    }

    fn of<'a>(&'a self, changes: &'a [FoundChange<'_>]) -> (&'a AppliedChange, &'a AppliedHunk) {
        match self {
            Self::Lines(target) => {
                let change = changes[target.change].change;
                (change, &change.hunks[target.hunk])
            }
            Self::Operation(found) => (found.change, &found.change.hunks[0]),
        }
    }
}

/// Returns the digest of a file and of everything that is known of its changes.
fn digest(file: FileNow<'_>, changes: &[FoundChange<'_>], operations: &[FoundOperation<'_>]) -> String {
    let mut parts = Parts::default();
    parts.add(&[u8::from(file.text.is_some())]);
    parts.add(file.text.unwrap_or_default().as_bytes());
    let operations = operations.iter().map(|found| found.change);
    for change in changes.iter().map(|found| found.change).chain(operations) {
        parts.add(change.change_set.0.as_bytes());
        for hunk in &change.hunks {
            let state = [hunk.state as u8, u8::from(hunk.pending.is_some())];
            let amended = hunk.amended.as_deref().unwrap_or_default();
            parts.add(digest_parts(&[hunk.id.as_bytes(), &state, amended.as_bytes()]).as_bytes());
        }
    }
    parts.in_hex()
}
