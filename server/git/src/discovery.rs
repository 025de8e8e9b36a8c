//! Finds the repository of a path, as git does: the nearest folder above it with a `.git`.
//!
//! Never reads the environment: no variable moves a repository.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::config::{self, Storage};
use crate::files::{self, MAX_LINE};
use crate::unknown::Unknown;

/// The most folders that a search goes up.
const MAX_LEVELS: usize = 512;

/// Where the parts of a repository are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    /// The folder with the user's files.
    pub work_tree: PathBuf,
    /// The folder with the `HEAD` and the index of this work tree.
    pub git_dir: PathBuf,
    /// The folder with what all work trees share: objects, branches, settings.
    pub common_dir: PathBuf,
    /// The file with what the next commit will have.
    pub index: PathBuf,
    /// Whether objects may be missing until git fetches them.
    pub is_partial: bool,
}

impl Location {
    /// Returns a path as git writes it, with `/` between its names; `None` for the work tree itself.
    pub fn path_in_tree(&self, path: &Path) -> Result<Option<Vec<u8>>, Unknown> {
        let work_tree = &self.work_tree;
        let outside = || Unknown::because(format!("{path:?} is not in the work tree {work_tree:?}"));
        let relative =
            if path.is_absolute() { path.strip_prefix(work_tree).map_err(|_| outside())? } else { path };
        let name = |part| match part {
            Component::Normal(name) => Ok(name.as_bytes()),
            _ => Err(outside()),
        };
        let names = relative.components().map(name).collect::<Result<Vec<_>, _>>()?;
        Ok(Some(names.join(&b'/')).filter(|path| !path.is_empty()))
    }
}

/// Returns the location of the repository whose work tree has `path`; `None` if there is none.
pub(crate) fn find(path: &Path) -> Result<Option<Location>, Unknown> {
    let is_plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    if !path.is_absolute() || !path.components().all(is_plain) {
        return Err(Unknown::because(format!("{path:?} is not an absolute path without \"..\"")));
    }
    let mut levels = path.ancestors().skip(usize::from(!files::is_folder(path)));
    for folder in levels.by_ref().take(MAX_LEVELS) {
        if let Some((git_dir, is_folder)) = git_dir_of(folder)? {
            return locate(folder, git_dir, is_folder).map(Some);
        }
        if looks_like_git_dir(folder) {
            return Err(Unknown::because(format!(
                "{folder:?} is a bare repository or a folder of git's own"
            )));
        }
    }
    if levels.next().is_some() {
        return Err(Unknown::because(format!("{path:?} is more than {MAX_LEVELS} folders deep")));
    }
    Ok(None)
}

/// Returns what the `.git` of this folder is or leads to, and whether it is itself a folder.
fn git_dir_of(folder: &Path) -> Result<Option<(PathBuf, bool)>, Unknown> {
    let path = folder.join(".git");
    let metadata = match fs::metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if files::is_missing(&error) => return Ok(None),
        Err(error) => return Err(Unknown::io(&path, &error)),
    };
    if metadata.is_dir() {
        if let Err(error) = fs::metadata(path.join("HEAD"))
            && !files::is_missing(&error)
        {
            return Err(Unknown::io(&path, &error));
        }
        // Git, too, passes by a `.git` that is no repository.
        return Ok(looks_like_git_dir(&path).then_some((path, true)));
    }
    let Some(bytes) = files::read(&path, MAX_LINE)? else { return Ok(None) };
    let target = files::path_in(&bytes, b"gitdir: ", folder);
    let target = target.ok_or_else(|| Unknown::because(format!("{path:?} names no folder of git")))?;
    if !looks_like_git_dir(&target) {
        return Err(Unknown::because(format!("{path:?} names {target:?}, which is no folder of git")));
    }
    Ok(Some((target, false)))
}

/// Returns the folder that all work trees of `git_dir` share: itself, or the one that its `commondir` names.
fn common_dir_of(git_dir: &Path) -> Result<PathBuf, Unknown> {
    let path = git_dir.join("commondir");
    let Some(bytes) = files::read(&path, MAX_LINE)? else { return Ok(git_dir.to_owned()) };
    files::path_in(&bytes, b"", git_dir).ok_or_else(|| Unknown::damaged(format_args!("{path:?}")))
}

/// Whether a folder has what every repository has. Checks the content of `HEAD`, because folders of users have such names.
fn looks_like_git_dir(folder: &Path) -> bool {
    let Ok(Some(head)) = files::read(&folder.join("HEAD"), MAX_LINE) else { return false };
    let is_head =
        head.starts_with(b"ref:") || head.len() >= 40 && head.iter().take(40).all(u8::is_ascii_hexdigit);
    let Ok(common) = common_dir_of(folder) else { return false };
    is_head && files::is_folder(&common.join("objects")) && files::is_folder(&common.join("refs"))
}

fn locate(work_tree: &Path, git_dir: PathBuf, is_folder: bool) -> Result<Location, Unknown> {
    let common_dir = common_dir_of(&git_dir)?;
    let mut storage = config::read(&common_dir.join("config"))?;
    let is_linked = common_dir != git_dir;
    if is_linked {
        // What the first work tree says of itself does not count for a linked one.
        storage.is_bare = false;
        storage.work_tree = None;
    }
    if storage.has_worktree_config {
        let own = config::read(&git_dir.join("config.worktree"))?;
        storage.is_bare |= own.is_bare;
        storage.work_tree = own.work_tree.or(storage.work_tree);
        storage.is_partial |= own.is_partial;
    }
    check(work_tree, &git_dir, &storage)?;
    // A linked work tree is a `.git` file; a folder with a `commondir` is of no known use.
    if is_linked && is_folder {
        return Err(Unknown::because(format!("{git_dir:?} keeps its objects in another folder")));
    }
    let index = git_dir.join("index");
    Ok(Location {
        work_tree: work_tree.to_owned(),
        git_dir,
        common_dir,
        index,
        is_partial: storage.is_partial,
    })
}

/// Checks that the settings name no other work tree. A submodule names the one it is in.
fn check(work_tree: &Path, git_dir: &Path, storage: &Storage) -> Result<(), Unknown> {
    if storage.is_bare {
        return Err(Unknown::because(format!("the repository {git_dir:?} says that it is bare")));
    }
    let Some(named) = &storage.work_tree else { return Ok(()) };
    let same = match (fs::canonicalize(git_dir.join(named)), fs::canonicalize(work_tree)) {
        (Ok(named), Ok(actual)) => named == actual,
        _ => false,
    };
    if same {
        return Ok(());
    }
    Err(Unknown::because(format!("the repository {git_dir:?} has its files in another folder, {named:?}")))
}
