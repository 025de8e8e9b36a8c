//! Which files the next commit changes: the index compared with the tree of the last commit.
//!
//! Never reads the content of a file.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use gix_hash::ObjectId;
use gix_index::entry::Mode;
use gix_object::tree::EntryKind;

use crate::index::{Index, IndexEntry};
use crate::objects::Objects;
use crate::unknown::Unknown;

/// The most entries of all trees of a commit.
pub(crate) const MAX_ENTRIES: usize = 4_000_000;

/// The most bytes of a path in a commit. It also bounds the depth.
const MAX_PATH: usize = 4096;

/// Returns the paths whose entry in the index differs from the tree, sorted by their bytes.
///
/// Returns `Unknown` if the trees have more than `limit` entries: few bytes of objects can make very many.
pub(crate) fn files(
    objects: &Objects,
    tree: Option<ObjectId>,
    index: &Index,
    limit: usize,
) -> Result<Vec<PathBuf>, Unknown> {
    let outside = || Unknown::because("a folder outside the sparse checkout has staged changes");
    let staged = index.entries().filter(|(_, entry)| *entry != IndexEntry::Absent);
    let mut staged: HashMap<Vec<u8>, IndexEntry> =
        staged.map(|(path, entry)| (path.to_vec(), entry)).collect();
    let mut differing = Vec::new();
    let mut waiting: Vec<(Vec<u8>, ObjectId)> = tree.map(|tree| (Vec::new(), tree)).into_iter().collect();
    let mut count = 0_usize;
    while let Some((folder, tree)) = waiting.pop() {
        let entries = objects.entries(tree)?;
        count += entries.len();
        if count > limit {
            return Err(Unknown::too_large("the last commit", format_args!("{limit} files")));
        }
        for (name, entry) in entries {
            let mut path = folder.clone();
            path.extend(name);
            if path.len() > MAX_PATH {
                return Err(Unknown::too_large(
                    "a path in the last commit",
                    format_args!("{MAX_PATH} bytes"),
                ));
            }
            if entry.kind == EntryKind::Tree {
                path.push(b'/');
            }
            let expected = IndexEntry::File { mode: mode_of(entry.kind), id: entry.id };
            match staged.remove(&path) {
                Some(actual) if actual == expected => {}
                None if entry.kind == EntryKind::Tree => waiting.push((path, entry.id)),
                Some(_) if entry.kind == EntryKind::Tree => return Err(outside()),
                Some(_) | None => differing.push(path),
            }
        }
    }
    differing.extend(staged.into_keys());
    if differing.iter().any(|path| path.ends_with(b"/")) {
        return Err(outside());
    }
    differing.sort_unstable();
    differing.dedup();
    Ok(differing.into_iter().map(|path| OsString::from_vec(path).into()).collect())
}

fn mode_of(kind: EntryKind) -> Mode {
    match kind {
        EntryKind::Tree => Mode::DIR,
        EntryKind::Blob => Mode::FILE,
        EntryKind::BlobExecutable => Mode::FILE_EXECUTABLE,
        EntryKind::Link => Mode::SYMLINK,
        EntryKind::Commit => Mode::COMMIT,
    }
}
