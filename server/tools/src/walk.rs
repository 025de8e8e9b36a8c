//! What listing, finding and searching share: the walk through a directory tree, and its names on one
//! line.
//!
//! Never follows a link, never enters version control directories, and never goes deeper than a bound.
//! How long it goes on is for who takes its entries.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use adjutant_core::text::display::shown;
use ignore::{DirEntry, Walk, WalkBuilder};

/// Directories no tool looks into unasked: they hold a version control system's own files.
const VCS: &[&str] = &[".git", ".hg", ".svn", ".jj", ".bzr"];

/// How long second names of files are looked for.
pub(super) const LINKS_TIME: Duration = Duration::from_secs(3);

/// The deepest a walk goes; deeper trees are made to exhaust something.
const MAX_DEPTH: usize = 128;

/// Returns the folders to walk, in order, each with those below it that are walked by themselves: a workspace
/// folder may lie in another one, which may ignore it, and nothing is to be seen twice.
pub(super) fn once<'a>(folders: &[&'a Path]) -> Vec<(&'a Path, Vec<PathBuf>)> {
    let mut walks: Vec<(&Path, Vec<PathBuf>)> = Vec::new();
    for folder in folders {
        if !walks.iter().any(|(known, _)| known == folder) {
            let below = folders.iter().filter(|other| *other != folder && other.starts_with(folder));
            walks.push((folder, below.map(|other| other.to_path_buf()).collect()));
        }
    }
    walks
}

/// Walks a resolved directory in the order of names, leaving out what ignore files exclude.
pub(super) fn walk(start: &Path, depth: Option<usize>) -> Walk {
    walk_without(start, depth, Vec::new(), |_| true)
}

/// Walks as `walk` does, but not into these folders, nor into those that `enters` refuses.
pub(super) fn walk_without(
    start: &Path,
    depth: Option<usize>,
    walked: Vec<PathBuf>,
    enters: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
) -> Walk {
    // Outside a repository only the ignore files below the start count: one
    // somewhere above, say in a home directory, was not written for this folder.
    let repository = start.ancestors().any(|above| above.join(".git").symlink_metadata().is_ok());
    WalkBuilder::new(start)
        .hidden(false)
        .follow_links(false)
        .parents(repository)
        .require_git(repository)
        .max_depth(Some(depth.unwrap_or(MAX_DEPTH)))
        .sort_by_file_name(OsStr::cmp)
        .filter_entry(move |entry| {
            let own = VCS.iter().any(|name| entry.file_name() == *name);
            entry.depth() == 0 || !own && !walked.iter().any(|walked| entry.path() == walked) && enters(entry)
        })
        .build()
}

/// Walks a resolved directory whole: what ignore files exclude, and version control's own, too.
pub(super) fn walk_all(start: &Path) -> Walk {
    WalkBuilder::new(start).standard_filters(false).follow_links(false).max_depth(Some(MAX_DEPTH)).build()
}

/// Returns a name or path on one line, odd characters escaped.
pub(super) fn on_one_line(name: &OsStr) -> String {
    shown(&name.to_string_lossy()).replace('\n', "\\n").replace('\t', "\\t")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_in_another_one_that_ignores_it_is_walked_once() {
        let place = tempfile::tempdir().expect("a directory");
        let root = place.path().canonicalize().expect("it is there");
        let vendor = root.join("vendor");
        std::fs::create_dir_all(&vendor).expect("a folder");
        std::fs::create_dir(root.join(".git")).expect("a repository");
        for (path, text) in [(".gitignore", "vendor/\n"), ("a.rs", ""), ("vendor/b.rs", "")] {
            std::fs::write(root.join(path), text).expect("a file");
        }
        for folders in [vec![&*root, &*vendor], vec![&*vendor, &*root], vec![&*root, &*vendor, &*root]] {
            let walks = once(&folders).into_iter();
            let entries = walks.flat_map(|(folder, walked)| walk_without(folder, None, walked, |_| true));
            let paths = entries.map(|entry| entry.expect("an entry").into_path());
            let mut names: Vec<String> = paths
                .filter(|path| path.extension().is_some_and(|end| end == "rs"))
                .map(|path| path.strip_prefix(&root).expect("inside").display().to_string())
                .collect();
            names.sort();
            assert_eq!(names, ["a.rs", "vendor/b.rs"], "{folders:?}");
        }
    }
}
