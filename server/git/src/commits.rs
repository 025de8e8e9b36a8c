//! The commits of a repository, open for several questions about one moment.
//!
//! Never limits the time of all questions together, only of each.

use std::path::Path;

use crate::commit_id::CommitId;
use crate::discovery::Location;
use crate::objects::Objects;
use crate::refs::Head;
use crate::unknown::Unknown;
use crate::{history, refs};

/// The last commit of a moment, and the objects. To open them costs more than one question, so a look at many files does it once.
pub struct Commits {
    location: Location,
    head: Head,
    objects: Objects,
}

impl Commits {
    /// Opens the objects, and reads what is checked out.
    pub(crate) fn open(location: &Location) -> Result<Self, Unknown> {
        let objects = Objects::open(location)?;
        Ok(Self { location: location.clone(), head: refs::head(location)?, objects })
    }

    /// Returns the branch and its last commit, as they were when the commits were opened.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Returns the text of a file in any commit, as `Repository::committed` does.
    pub fn text(&self, commit: CommitId, path: &Path) -> Result<Option<Vec<u8>>, Unknown> {
        let Some(path) = self.location.path_in_tree(path)? else { return Ok(None) };
        self.objects.begin_question();
        let tree = self.objects.tree_of(commit)?;
        self.objects.text_of(self.objects.entry_at(tree, &path)?)
    }

    /// Returns the last commit and those before it, each followed by its first parent, with the seconds since the Unix epoch at
    /// which they were made. The last of them is the first that was made before `seconds`, if there is one.
    ///
    /// Returns `Unknown` for more than 1,000 commits, and if a shallow clone does not have one.
    pub fn since(&self, seconds: i64) -> Result<Vec<(CommitId, i64)>, Unknown> {
        self.objects.begin_question();
        match self.head.commit {
            Some(commit) => history::since(&self.objects, commit, seconds),
            None => Ok(Vec::new()),
        }
    }

    /// Returns the last commits, each followed by its first parent, with the first line of its message; at most `count`.
    pub fn latest(&self, count: usize) -> Result<Vec<(CommitId, String)>, Unknown> {
        self.objects.begin_question();
        let mut latest = Vec::new();
        let mut next = self.head.commit;
        while let Some(commit) = next.filter(|_| latest.len() < count) {
            latest.push((commit, self.objects.subject_of(commit)?));
            next = self.objects.parents_of(commit)?.first().copied();
        }
        Ok(latest)
    }

    /// Whether `older` is `newer` or in its history. An amended commit is not in the history of the one that replaces it.
    ///
    /// Returns `Unknown` if the answer needs more than 1,000 commits, or commits that a shallow clone does not have.
    pub fn follows(&self, newer: CommitId, older: CommitId) -> Result<bool, Unknown> {
        self.objects.begin_question();
        history::follows(&self.objects, newer, older)
    }
}
