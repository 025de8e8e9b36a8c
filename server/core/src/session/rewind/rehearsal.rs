//! What would become of files if hunks, deletions and moves were undone or restored one after the other.
//!
//! Never touches a file. The order and the conditions are those of the step that carries out a decision.

use std::collections::{BTreeMap, BTreeSet};

use super::{FoundChange, FoundFile, FoundOperation, Obstacle, RewoundRuns};
use crate::record::{ChangeSetId, FileOperation};
use crate::session::{AppliedChange, AppliedChanges, AppliedHunk};
use crate::text::trace::{PastChange, Side, SideTarget, TurnedHunk, UserText, turn};

/// What is undone or restored: the number of its file, and what it is there.
#[derive(Clone, Copy)]
pub(super) struct RewindTarget {
    pub(super) file: usize,
    pub(super) kind: TargetKind,
}

#[derive(Clone, Copy)]
pub(super) enum TargetKind {
    /// The numbers of a change of lines and of its hunk.
    Lines { change: usize, hunk: usize },
    /// The number of a deletion or a move.
    Operation(usize),
}

impl RewindTarget {
    fn is_lines(&self) -> bool {
        matches!(self.kind, TargetKind::Lines { .. })
    }

    /// Returns its change and its hunk.
    pub(super) fn of<'a>(&self, files: &'a [FoundFile<'_>]) -> (&'a AppliedChange, &'a AppliedHunk) {
        match self.kind {
            TargetKind::Lines { change, hunk } => {
                let change = files[self.file].changes[change].change;
                (change, &change.hunks[hunk])
            }
            TargetKind::Operation(at) => {
                let change = files[self.file].operations[at].change;
                (change, &change.hunks[0])
            }
        }
    }
}

/// The files as they become while hunks are undone or restored one after the other.
pub(super) struct Rehearsal<'a> {
    runs: &'a RewoundRuns,
    applied: &'a AppliedChanges,
    files: &'a [FoundFile<'a>],
    users: UserText,
    /// The texts by the URIs of the files.
    texts: BTreeMap<String, Option<String>>,
    /// The changes of lines of all files, with their states.
    past: Vec<Vec<PastChange<'a>>>,
    /// The operations that are undone or restored by now.
    turned: BTreeSet<ChangeSetId>,
    /// The files that went away, with their last line or because their deletion was restored.
    removed: BTreeSet<String>,
    /// The names that files would have, if all operations had been undone or restored.
    missed: BTreeSet<String>,
}

/// What became of one target.
pub(super) type RehearsedHunk = Result<TurnedHunk, Obstacle>;

/// What becomes of targets, and of the files.
pub(super) struct RehearsalEnd {
    /// In the order of the targets.
    pub(super) results: Vec<RehearsedHunk>,
    /// The files that go away, with their last line or because their deletion is restored.
    pub(super) removed: BTreeSet<String>,
    /// By the URIs of the files.
    pub(super) texts: BTreeMap<String, Option<String>>,
}

impl<'a> Rehearsal<'a> {
    pub(super) fn new(
        runs: &'a RewoundRuns,
        applied: &'a AppliedChanges,
        files: &'a [FoundFile<'a>],
        users: UserText,
    ) -> Self {
        let text = |file: &FoundFile<'_>| (file.target.to_owned(), file.text.map(str::to_owned));
        let past = |file: &FoundFile<'a>| file.changes.iter().map(|found| found.past.clone()).collect();
        Self {
            runs,
            applied,
            files,
            users,
            texts: files.iter().map(text).collect(),
            past: files.iter().map(past).collect(),
            turned: BTreeSet::new(),
            removed: BTreeSet::new(),
            missed: BTreeSet::new(),
        }
    }

    /// Undoes or restores these.
    pub(super) fn played(mut self, targets: &[RewindTarget]) -> RehearsalEnd {
        let mut results = Vec::new();
        // Hunks of lines are turned together, but not over a deletion or a move: files have other names then.
        for step in targets.chunk_by(|one, other| one.is_lines() && other.is_lines()) {
            match step {
                [RewindTarget { file, kind: TargetKind::Operation(at) }] => {
                    let found = &self.files[*file].operations[*at];
                    let result = self.operate(found);
                    match result {
                        Ok(TurnedHunk::Turned { .. }) => {
                            self.turned.insert(found.change.change_set.clone());
                        }
                        Ok(TurnedHunk::Already) => {}
                        Err(_) => {
                            self.missed.extend(found.change.names().into_iter().map(|name| name.target))
                        }
                    }
                    results.push(result);
                }
                lines => results.extend(self.turn_lines(lines)),
            }
        }
        RehearsalEnd { results, removed: self.removed, texts: self.texts }
    }

    /// Returns the name of the file of a change by now.
    fn name_of(&self, found: &FoundChange<'_>) -> String {
        if !found.is_own || self.turned.is_empty() {
            return found.change.target.clone();
        }
        let is_done = |moved: &AppliedChange| moved.is_done() != self.turned.contains(&moved.change_set);
        self.applied.name_where(found.change, is_done).target
    }

    fn turn_lines(&mut self, targets: &[RewindTarget]) -> Vec<RehearsedHunk> {
        let files = self.files;
        // All changes by the names that their files have by now, each with its numbers.
        let mut by_name: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
        for (file, found) in files.iter().enumerate() {
            for (change, found) in found.changes.iter().enumerate() {
                by_name.entry(self.name_of(found)).or_default().push((file, change));
            }
        }
        let mut results: Vec<Option<RehearsedHunk>> = vec![None; targets.len()];
        for (name, mut changes) in by_name {
            let order = |(file, change): &(usize, usize)| {
                let change = files[*file].changes[*change].change;
                (change.at, change.seq)
            };
            changes.sort_by_key(order);
            let own = |target: &RewindTarget| match target.kind {
                TargetKind::Lines { change, hunk } => {
                    let change = changes.iter().position(|known| *known == (target.file, change))?;
                    Some(SideTarget { change, hunk, seen: None })
                }
                TargetKind::Operation(_) => None,
            };
            let (numbers, own): (Vec<usize>, Vec<SideTarget>) =
                targets.iter().enumerate().filter_map(|(at, target)| Some((at, own(target)?))).unzip();
            if own.is_empty() {
                continue;
            }
            for (at, result) in numbers.into_iter().zip(self.turn_file(name, &changes, &own)) {
                results[at] = Some(result);
            }
        }
        results.into_iter().map(|result| result.unwrap_or(Err(Obstacle::NoFile))).collect()
    }

    /// Turns hunks of one file. `changes` are all of its changes by their numbers.
    fn turn_file(
        &mut self,
        name: String,
        changes: &[(usize, usize)],
        own: &[SideTarget],
    ) -> Vec<RehearsedHunk> {
        let is_known = |file: &&FoundFile<'_>| file.target == name;
        let is_created = self.files.iter().find(is_known).is_none_or(|file| file.is_created)
            && changes.iter().any(|(file, change)| !self.files[*file].changes[*change].change.existed);
        let text = self.texts.get(&name).cloned().flatten();
        if text.is_none() && !is_created {
            return own.iter().map(|_| Err(self.no_file(&name))).collect();
        }
        let to = if self.runs.restore { Side::After } else { Side::Before };
        let past: Vec<PastChange<'_>> =
            changes.iter().map(|(file, change)| self.past[*file][*change].clone()).collect();
        let turned = turn(text.as_deref().unwrap_or_default(), &past, own, to, self.users);
        for (target, _) in own.iter().zip(&turned.results).filter(|(_, result)| result.is_ok()) {
            let (file, change) = changes[target.change];
            self.past[file][change].hunks[target.hunk].expected = to;
        }
        let is_turned = |result: &Result<TurnedHunk, _>| matches!(result, Ok(TurnedHunk::Turned { .. }));
        // An empty file that needs nothing stays.
        let goes = is_created && (text.is_none() || turned.results.iter().any(is_turned));
        let after = Some(turned.text).filter(|text| !(goes && text.is_empty()));
        if after.is_none() {
            self.removed.insert(name.clone());
        }
        self.texts.insert(name, after);
        turned.results.into_iter().map(|result| result.map_err(Obstacle::Lines)).collect()
    }

    fn no_file(&self, name: &str) -> Obstacle {
        if self.missed.contains(name) { Obstacle::Waits } else { Obstacle::NoFile }
    }

    /// Undoes or restores a deletion or a move.
    fn operate(&mut self, found: &FoundOperation<'_>) -> RehearsedHunk {
        let restore = self.runs.restore;
        if !restore && !found.change.is_done() {
            return Ok(TurnedHunk::Already);
        }
        let content = found.text.ok_or(Obstacle::NoContent)?;
        let from = found.change.target.clone();
        let is_there = |target: &str| self.texts.get(target).cloned().flatten();
        let turned = Ok(TurnedHunk::Turned { dropped: None });
        match &found.change.operation {
            Some(FileOperation::Move { target: to, .. }) => {
                let (from, to) = if restore { (from, to.clone()) } else { (to.clone(), from) };
                let text = is_there(&from).ok_or_else(|| self.no_file(&from))?;
                if text != content {
                    return Err(Obstacle::OtherText);
                }
                if is_there(&to).is_some() {
                    return Err(Obstacle::OtherFile);
                }
                self.texts.insert(from, None);
                self.texts.insert(to, Some(text));
                turned
            }
            Some(FileOperation::Delete { .. }) | None => match (restore, is_there(&from)) {
                (true, None) => Ok(TurnedHunk::Already),
                (true, Some(text)) if text == content => {
                    self.removed.insert(from.clone());
                    self.texts.insert(from, None);
                    turned
                }
                (true, Some(_)) => Err(Obstacle::OtherText),
                (false, None) => {
                    self.texts.insert(from, Some(content.to_owned()));
                    turned
                }
                (false, Some(text)) if text == content => Ok(TurnedHunk::Already),
                (false, Some(_)) => Err(Obstacle::OtherFile),
            },
        }
    }
}
