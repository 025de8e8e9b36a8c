//! The walk through a directory tree, shared by listing, finding and searching.
//!
//! Never follows a link and never goes deeper than a bound. Only `walk_all` enters version control directories.
//! The caller limits the time.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use adjutant_core::text::display::shown;
use ignore::{DirEntry, Walk, WalkBuilder};

/// Directories with the internal files of a version control system; a walk skips them below its start.
const VCS: &[&str] = &[".git", ".hg", ".svn", ".jj", ".bzr"];

/// How long to look for other names of files.
pub(super) const LINKS_TIME: Duration = Duration::from_secs(3);

/// The greatest depth of a walk: a deeper tree is likely made to exhaust memory or time.
const MAX_DEPTH: usize = 128;

/// Returns the folders to walk, in order, each with the folders below it that get a walk of their own.
///
/// A workspace folder may be inside another that ignores it, and no file is to be visited twice.
pub(super) fn separate_walks<'a>(folders: &[&'a Path]) -> Vec<(&'a Path, Vec<PathBuf>)> {
    let mut walks: Vec<(&Path, Vec<PathBuf>)> = Vec::new();
    for folder in folders {
        if !walks.iter().any(|(known, _)| known == folder) {
            let below = folders.iter().filter(|other| *other != folder && other.starts_with(folder));
            walks.push((folder, below.map(|other| other.to_path_buf()).collect()));
        }
    }
    walks
}

/// Walks a resolved directory in the order of names, without the entries that ignore files exclude.
pub(super) fn walk(start: &Path, depth: Option<usize>) -> Walk {
    walk_without(start, depth, Vec::new(), |_| true)
}

/// Walks as `walk` does, without the `walked` folders and without entries that `enters` refuses.
pub(super) fn walk_without(
    start: &Path,
    depth: Option<usize>,
    walked: Vec<PathBuf>,
    enters: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
) -> Walk {
    // Outside a repository only ignore files below the start count. One further up, for example in a home
    // directory, was not written for this folder.
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

/// Walks everything in a resolved directory, also ignored entries and version control directories.
pub(super) fn walk_all(start: &Path) -> Walk {
    WalkBuilder::new(start).standard_filters(false).follow_links(false).max_depth(Some(MAX_DEPTH)).build()
}

/// Returns a name or path on one line, with control and invisible characters escaped.
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
            let walks = separate_walks(&folders).into_iter();
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
