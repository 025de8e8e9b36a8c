//! A repository, and the questions that Adjutant asks about it.
//!
//! Never keeps a file open or mapped between two questions, but for [`Commits`].

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gix_index::entry::Mode;
use gix_object::Kind;

use crate::commit_id::CommitId;
use crate::commits::Commits;
use crate::discovery::{self, Location};
use crate::index::{self, IndexEntry};
use crate::objects::{MAX_TEXT, Objects};
use crate::refs::{self, Head};
use crate::stamp::{self, Stamp};
use crate::unknown::Unknown;
use crate::{changed, staged, stash};

/// The longest time for which a lock says that git is at work.
const LONGEST_WORK: Duration = Duration::from_secs(60);

const CONFLICT: &str = "a file has a merge conflict that is not resolved";

/// A repository with a work tree. Each question reads the files of that moment.
///
/// Its settings are read once, by [`Repository::find`]: whoever sees that its stamp has changed must find it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    location: Location,
}

impl Repository {
    /// Returns the repository whose work tree has `path`, which may be a file, a folder or missing; `None` if there is none.
    ///
    /// `path` must be absolute, without `..` and without symbolic links. Returns `Unknown` for what Adjutant does not read:
    /// bare repositories, SHA-256, reftable, a work tree in another place, a `.git` file that leads to no repository.
    pub fn find(path: &Path) -> Result<Option<Self>, Unknown> {
        Ok(discovery::find(path)?.map(|location| Self { location }))
    }

    /// Returns the same repository with another index: the one that git names in `GIT_INDEX_FILE` for the hooks of a commit.
    ///
    /// A relative path is relative to the work tree. Without such a file, nothing is staged.
    pub fn with_index(mut self, path: &Path) -> Self {
        self.location.index = self.work_tree().join(path);
        self
    }

    /// Returns the folder with the user's files.
    pub fn work_tree(&self) -> &Path {
        &self.location.work_tree
    }

    /// Returns the branch and its last commit.
    pub fn head(&self) -> Result<Head, Unknown> {
        refs::head(&self.location)
    }

    /// Returns the text of a file in the last commit; `None` if the commit has no such file, or a link or a submodule.
    ///
    /// `path` is in the work tree: absolute, or relative to it. Returns `Unknown` above `MAX_TEXT`.
    pub fn committed(&self, path: &Path) -> Result<Option<Vec<u8>>, Unknown> {
        match self.head()?.commit {
            Some(commit) => self.commits()?.text(commit, path),
            None => self.location.path_in_tree(path).map(|_| None),
        }
    }

    /// Opens the commits of this moment, for several questions.
    pub fn commits(&self) -> Result<Commits, Unknown> {
        Commits::open(&self.location)
    }

    /// Returns the text of a file that the next commit will have; `None` if it will have no such file, or a link or a
    /// submodule.
    ///
    /// `path` is in the work tree: absolute, or relative to it. Returns `Unknown` above `MAX_TEXT`, and for a file with a
    /// merge conflict.
    pub fn staged(&self, path: &Path) -> Result<Option<Vec<u8>>, Unknown> {
        let Some(path) = self.location.path_in_tree(path)? else { return Ok(None) };
        match index::read(&self.location)?.entry(&path) {
            IndexEntry::Absent => Ok(None),
            IndexEntry::File { mode: Mode::FILE | Mode::FILE_EXECUTABLE, id } => {
                Objects::open(&self.location)?.read(id, Kind::Blob).map(Some)
            }
            IndexEntry::File { .. } => Ok(None),
            IndexEntry::InTree { tree, folder } => {
                let objects = Objects::open(&self.location)?;
                objects.text_of(objects.entry_at(tree, path.get(folder..).unwrap_or_default())?)
            }
            IndexEntry::Conflict => Err(Unknown::because(CONFLICT)),
        }
    }

    /// Returns the files that the next commit adds, changes or deletes, relative to the work tree and sorted by their bytes.
    ///
    /// A renamed file is there with both names, a file with a merge conflict once.
    pub fn staged_files(&self) -> Result<Vec<PathBuf>, Unknown> {
        let head = self.head()?;
        let index = index::read(&self.location)?;
        let objects = Objects::open(&self.location)?;
        let tree = head.commit.map(|commit| objects.tree_of(commit)).transpose()?;
        staged::files(&objects, tree, &index, staged::MAX_ENTRIES)
    }

    /// Calls `visit` for each file that the next commit adds or changes, with its path relative to the work tree and its text.
    /// Leaves out links, submodules and texts above `MAX_TEXT`.
    ///
    /// Returns `Unknown` for a file with a merge conflict.
    pub fn each_staged(&self, mut visit: impl FnMut(&Path, &[u8])) -> Result<(), Unknown> {
        let index = index::read(&self.location)?;
        let objects = Objects::open(&self.location)?;
        for path in self.staged_files()? {
            let id = match index.entry(path.as_os_str().as_bytes()) {
                IndexEntry::File { mode: Mode::FILE | Mode::FILE_EXECUTABLE, id } => id,
                IndexEntry::Conflict => return Err(Unknown::because(CONFLICT)),
                IndexEntry::Absent | IndexEntry::File { .. } | IndexEntry::InTree { .. } => continue,
            };
            if objects.size(id)? <= MAX_TEXT {
                visit(&path, &objects.read(id, Kind::Blob)?);
            }
        }
        Ok(())
    }

    /// Returns the files of the work tree that were changed or removed since they were added, relative to it and sorted.
    ///
    /// Compares only sizes and times. Returns `Unknown` if that takes longer than until `end`.
    pub fn changed_files(&self, end: Instant) -> Result<Vec<PathBuf>, Unknown> {
        changed::files(self.work_tree(), &index::read(&self.location)?, end)
    }

    /// Returns the last commit of a branch, named without `refs/heads/`; `None` if there is no such branch.
    pub fn tip(&self, branch: &str) -> Result<Option<CommitId>, Unknown> {
        refs::tip(&self.location, branch)
    }

    /// Returns the commits with the files that `git stash`, or a rebase or merge that is not over (`--autostash`), has put aside
    /// since then and still has, newest first, each with the time of its entry. Times are seconds since the Unix epoch. Of more
    /// than 20 entries, only the newest count.
    pub fn stashed_since(&self, seconds: i64) -> Result<Vec<(CommitId, i64)>, Unknown> {
        stash::since(&self.location, seconds)
    }

    /// Whether git is at work on the files: it has locked the index, and `HEAD` is perhaps not yet what the files are. A lock
    /// that is older than a minute does not count: its git may have died.
    pub fn is_busy(&self) -> bool {
        let lock =
            std::fs::metadata(self.location.git_dir.join("index.lock")).and_then(|lock| lock.modified());
        lock.is_ok_and(|since| since.elapsed().is_ok_and(|age| age < LONGEST_WORK))
    }

    /// Returns a value that changes when the branch, the last commit, the index or the settings change.
    ///
    /// Reads a few small files. An unreadable file is part of the value.
    pub fn stamp(&self) -> Stamp {
        stamp::stamp(&self.location)
    }
}
