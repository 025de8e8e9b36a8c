//! The names of changed files, which moves change.
//!
//! A function of the moves that are done now. Never looks at a disk.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{AppliedChange, AppliedChanges};
use crate::record::{ChangeSetId, FileChange, FileOperation};

/// Where the file of a change comes from: the name that it had when this record was written, before all moves of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileOrigin {
    pub(super) name: NameOfFile,
    /// The number of the record.
    pub(super) since: u64,
}

impl AppliedChange {
    /// Returns the URI that the file had when it was changed; `moves` are the names before and after the moves that were done before,
    /// each with the number of its record, the oldest first.
    pub fn target_then<'a>(&'a self, moves: impl Iterator<Item = (&'a str, &'a str, u64)>) -> &'a str {
        let FileOrigin { name, since } = &self.origin;
        let later = moves.filter(|(_, _, seq)| seq >= since);
        later.fold(&name.target, |now, (from, to, _)| if from == now { to } else { now })
    }
}

/// A name of a file, in the forms that a change has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameOfFile {
    /// As the user sees it.
    pub path: String,
    pub uri: String,
    /// The URI of the file after following every link.
    pub target: String,
}

/// Returns the name of the file of a change, before the change.
pub(super) fn name_of(change: &FileChange) -> NameOfFile {
    NameOfFile { path: change.path.clone(), uri: change.uri.clone(), target: change.target.clone() }
}

/// Returns the names of a file before and after a change that moves it.
pub(super) fn names_of_move(change: &AppliedChange) -> Option<(NameOfFile, NameOfFile)> {
    let Some(FileOperation::Move { path, uri, target }) = &change.operation else { return None };
    let name = |path: &String, uri: &String, target: &String| NameOfFile {
        path: path.clone(),
        uri: uri.clone(),
        target: target.clone(),
    };
    Some((name(&change.path, &change.uri, &change.target), name(path, uri, target)))
}

impl AppliedChange {
    /// Returns the names of its file: those before and after a move, else the one.
    pub fn names(&self) -> Vec<NameOfFile> {
        match names_of_move(self) {
            Some((from, to)) => vec![from, to],
            None => vec![NameOfFile {
                path: self.path.clone(),
                uri: self.uri.clone(),
                target: self.target.clone(),
            }],
        }
    }
}

impl AppliedChanges {
    /// Returns the name that the file of a change has, or had last.
    pub fn name_now(&self, change: &AppliedChange) -> NameOfFile {
        self.name_where(change, AppliedChange::is_done)
    }

    /// Returns the name that the file of a change has, or had last, if exactly those moves are done that `is_done` says.
    pub fn name_where(&self, change: &AppliedChange, is_done: impl Fn(&AppliedChange) -> bool) -> NameOfFile {
        let FileOrigin { name, since } = &change.origin;
        let mut name = name.clone();
        for moved in self.moves().filter(|moved| moved.seq >= *since && is_done(moved)) {
            if let Some((from, to)) = names_of_move(moved).filter(|(from, _)| from.target == name.target) {
                debug_assert_ne!(from.target, to.target, "a move changes the name");
                name = to;
            }
        }
        name
    }

    /// Returns the moves of files, oldest first.
    fn moves(&self) -> impl DoubleEndedIterator<Item = &Arc<AppliedChange>> {
        self.moves.iter().filter_map(|id| self.all.get(id))
    }

    /// Returns where the file of a change that is made now comes from.
    pub(super) fn origin_of(&self, name: NameOfFile, seq: u64) -> FileOrigin {
        let mut origin = FileOrigin { name, since: seq };
        for moved in self.moves().rev().filter(|moved| moved.is_done()) {
            if let Some((from, to)) = names_of_move(moved)
                && to.target == origin.name.target
            {
                origin = FileOrigin { name: from, since: moved.seq };
            }
        }
        origin
    }

    /// Gives the changes of lines the names that their files have now.
    pub(super) fn follow_moves(&mut self) {
        let ids: Vec<ChangeSetId> = self.all.keys().cloned().collect();
        for id in ids {
            let Some(change) = self.all.get(&id).filter(|change| change.operation.is_none()) else {
                continue;
            };
            let name = self.name_now(change);
            if name.target != change.target
                && let Some(change) = self.all.get_mut(&id)
            {
                let change = Arc::make_mut(change);
                (change.path, change.uri, change.target) = (name.path, name.uri, name.target);
            }
        }
    }
}
