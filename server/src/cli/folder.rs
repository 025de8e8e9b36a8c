//! Where a command works: the folder it is started in, and the repository around it.
//!
//! Never runs git, and never reads a file of a repository. A home directory, or a folder above one,
//! never counts as the root of a folder in it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// The folders that a command works in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Where relative paths and commands start.
    pub here: PathBuf,
    /// The root of the repository around it, else the same folder.
    pub root: PathBuf,
}

impl Folder {
    /// Returns the named folder, else the current one, with the repository around it.
    pub fn find(named: Option<&Path>, home: Option<&Path>) -> anyhow::Result<Folder> {
        let here = match named {
            Some(folder) => {
                folder.canonicalize().with_context(|| format!("work in \"{}\"", folder.display()))?
            }
            None => std::env::current_dir().context("work in the present folder")?,
        };
        if !here.is_dir() {
            anyhow::bail!("work in \"{}\": it is no folder", here.display());
        }
        let home = home.and_then(|home| home.canonicalize().ok());
        let root = root_of(&here, home.as_deref()).unwrap_or_else(|| here.clone());
        Ok(Folder { here, root })
    }

    /// Returns the workspace folders; relative paths start in the first one.
    pub fn workspace(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.here.clone()];
        if self.root != self.here {
            folders.push(self.root.clone());
        }
        folders
    }
}

/// Returns the nearest folder above that holds a repository of the same user, on the same file system.
fn root_of(here: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let start = here.metadata().ok()?;
    for folder in here.ancestors() {
        // A folder above a home belongs to others, and a home is more than one project.
        if home.is_some_and(|home| home.starts_with(folder)) {
            return None;
        }
        let found = folder.metadata().ok()?;
        if found.dev() != start.dev() {
            return None;
        }
        if is_repository(folder) {
            // A repository that another user put around this folder does not count.
            let owner = |path: &Path| path.symlink_metadata().map(|found| found.uid()).ok();
            let same_owner = owner(&folder.join(".git")) == Some(start.uid()) && found.uid() == start.uid();
            return same_owner.then(|| folder.to_owned());
        }
    }
    None
}

/// Whether a folder has the `.git` of a repository, a worktree or a submodule.
fn is_repository(folder: &Path) -> bool {
    let git = folder.join(".git");
    match git.metadata() {
        Ok(found) if found.is_dir() => git.join("HEAD").symlink_metadata().is_ok(),
        Ok(found) => found.is_file(),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn place(folders: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().expect("a folder");
        let root = place.path().canonicalize().expect("it is there");
        for folder in folders {
            fs::create_dir_all(root.join(folder)).expect("a folder");
        }
        (place, root)
    }

    fn repository(folder: &Path) {
        fs::create_dir_all(folder.join(".git")).expect("a folder");
        fs::write(folder.join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
    }

    fn root(here: &Path, home: &Path) -> PathBuf {
        Folder::find(Some(here), Some(home)).expect("it is there").root
    }

    #[test]
    fn finding_e5_the_nearest_repository_is_the_workspace() {
        let (_place, top) = place(&["home/code/server/src", "home/code/sub/deep"]);
        let (home, code) = (top.join("home"), top.join("home/code"));
        repository(&code);
        assert_eq!(root(&code.join("server/src"), &home), code);
        assert_eq!(root(&code, &home), code);
        // A submodule or a worktree has a file.
        fs::write(code.join("sub/.git"), "gitdir: ../.git/modules/sub\n").expect("a file");
        assert_eq!(root(&code.join("sub/deep"), &home), code.join("sub"));
        let folder = Folder::find(Some(&code.join("server")), Some(&home)).expect("it is there");
        assert_eq!(folder.workspace(), [code.join("server"), code.clone()]);
        assert_eq!(Folder::find(Some(&code), None).expect("it is there").workspace(), [code]);
    }

    #[test]
    fn finding_e5_a_home_and_what_lies_above_it_are_no_workspace_of_what_lies_below() {
        let (_place, top) = place(&["home/code/src", "elsewhere"]);
        let home = top.join("home");
        repository(&top);
        repository(&home);
        assert_eq!(root(&home.join("code/src"), &home), home.join("code/src"));
        assert_eq!(root(&home, &home), home);
        // Outside of the home the repository above counts, unless it holds the home too.
        assert_eq!(root(&top.join("elsewhere"), &home), top.join("elsewhere"));
        // An empty `.git` is no repository.
        fs::create_dir(home.join("code/.git")).expect("a folder");
        assert_eq!(root(&home.join("code/src"), &home), home.join("code/src"));
    }
}
