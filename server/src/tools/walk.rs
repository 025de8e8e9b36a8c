//! What listing, finding and searching share: the walk through a directory tree, and its names on one
//! line.
//!
//! Never follows a link, never enters version control directories, and never goes deeper than a bound.
//! How long it goes on is for who takes its entries.

use std::ffi::OsStr;
use std::path::Path;

use adjutant_core::tool::shown;
use ignore::{Walk, WalkBuilder};

/// Directories no tool looks into unasked: they hold a version control system's own files.
const VCS: &[&str] = &[".git", ".hg", ".svn", ".jj", ".bzr"];

/// The deepest a walk goes; deeper trees are made to exhaust something.
const MAX_DEPTH: usize = 128;

/// Walks a resolved directory in the order of names, leaving out what ignore files exclude.
pub(super) fn walk(start: &Path, depth: Option<usize>) -> Walk {
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
        .filter_entry(|entry| entry.depth() == 0 || !VCS.iter().any(|name| entry.file_name() == *name))
        .build()
}

/// Returns a name or path on one line, odd characters escaped.
pub(super) fn on_one_line(name: &OsStr) -> String {
    shown(&name.to_string_lossy()).replace('\n', "\\n").replace('\t', "\\t")
}
