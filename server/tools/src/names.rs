//! The names of the files and folders of a workspace, in memory, to complete a mention from a few letters.
//!
//! Never reads a file, and never has more names or bytes than a bound. It may be older than the disk; the caller renews it.

mod fuzzy;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::RwLock;

use adjutant_core::text::display::shown_path;

use super::Stop;
use super::exclusions::Exclusions;
use super::paths::Roots;
use super::walk::{separate_walks, walk_without};
use fuzzy::{FuzzyQuery, LastName};

/// The most names.
pub const MAX_NAMES: usize = 200_000;
/// The most memory of all names, in bytes.
pub const MAX_BYTES: usize = 40 << 20;
/// Names that are added under one lock.
const CHUNK: usize = 512;

/// A file or folder; its path is a part of the text of all.
#[derive(Clone, Copy, Debug)]
struct NameEntry {
    start: u32,
    end: u32,
    /// Where its last name begins in its path.
    last: u32,
    /// Which letters it has, so that most names need no look at their text.
    letters: u64,
    /// The same of its last name.
    last_letters: u64,
    /// How many folders it is in, as far as they are counted.
    depth: u8,
    is_folder: bool,
}

/// The names of a workspace.
#[derive(Debug, Default)]
pub struct FileNames {
    text: String,
    entries: Vec<NameEntry>,
    /// Whether there was no room for some.
    is_cut: bool,
}

/// How well a name fits, then the shorter path, then the earlier one: the greatest is the best.
type Rank = (i32, Reverse<u32>, Reverse<u32>);

/// A name that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankedName {
    /// As tools accept it: relative in the first folder, otherwise absolute. A folder ends with a slash.
    pub path: String,
    pub is_folder: bool,
}

impl NameEntry {
    fn place(&self) -> LastName {
        LastName { start: self.last as usize, letters: self.last_letters, depth: self.depth }
    }
}

impl FileNames {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether a bound left some names out.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Adds a path. Returns `false` if there is no room.
    pub fn push(&mut self, path: &str, is_folder: bool) -> bool {
        let bytes = self.text.len() + path.len() + (self.entries.len() + 1) * size_of::<NameEntry>();
        if self.entries.len() == MAX_NAMES || bytes > MAX_BYTES {
            self.is_cut = true;
            return false;
        }
        let start = self.text.len();
        self.text.push_str(path);
        let last = path.rfind('/').map_or(0, |slash| slash + 1);
        self.entries.push(NameEntry {
            start: start as u32,
            end: self.text.len() as u32,
            last: last as u32,
            letters: fuzzy::letters(path),
            last_letters: fuzzy::letters(&path[last..]),
            depth: path.bytes().filter(|byte| *byte == b'/').count().min(u8::MAX.into()) as u8,
            is_folder,
        });
        true
    }

    fn path(&self, entry: &NameEntry) -> &str {
        self.text.get(entry.start as usize..entry.end as usize).unwrap_or_default()
    }

    /// Returns the names that fit what was typed, the best first, at most `most`. `recent` are the paths that count more, the
    /// last used first.
    pub fn ranked(&self, typed: &str, recent: &[String], most: usize) -> Vec<RankedName> {
        let query = FuzzyQuery::new(typed);
        let bonus = |path: &str| {
            let place = recent.iter().position(|used| used == path);
            place.map_or(0, |place| query.recent_bonus(place))
        };
        let mut best: BinaryHeap<Reverse<Rank>> = BinaryHeap::with_capacity(most + 1);
        for (number, entry) in self.entries.iter().enumerate() {
            if !query.may_fit(entry.letters) {
                continue;
            }
            let path = self.path(entry);
            let Some(score) = query.score(path, entry.place()) else { continue };
            let rank = (score + bonus(path), Reverse(path.len() as u32), Reverse(number as u32));
            if best.len() < most {
                best.push(Reverse(rank));
            } else if best.peek().is_some_and(|Reverse(least)| rank > *least) {
                best.pop();
                best.push(Reverse(rank));
            }
        }
        let ordered = best.into_sorted_vec();
        let found = ordered.into_iter().filter_map(|Reverse((_, _, Reverse(number)))| {
            let entry = self.entries.get(number as usize)?;
            let slash = if entry.is_folder { "/" } else { "" };
            Some(RankedName { path: format!("{}{slash}", self.path(entry)), is_folder: entry.is_folder })
        });
        found.collect()
    }
}

/// Adds the names of all workspace folders, without what ignore files exclude and what rules deny, until the names are full or the
/// stop is reached. Others can read the names meanwhile.
pub fn gather(roots: &Roots, exclusions: &Exclusions, stop: &Stop, names: &RwLock<FileNames>) {
    let folders: Vec<&Path> = roots.paths().collect();
    let first = folders.first().copied();
    let mut chunk: Vec<(String, bool)> = Vec::with_capacity(CHUNK);
    for (folder, walked) in separate_walks(&folders) {
        for entry in walk_without(folder, None, walked, exclusions.folders()).flatten() {
            if entry.depth() == 0 || exclusions.of_name(entry.path()).is_some() {
                continue;
            }
            let below = first.and_then(|first| entry.path().strip_prefix(first).ok()).unwrap_or(entry.path());
            // A name that is no text, or has no line of its own, cannot be written in a prompt.
            let Some(path) = below.to_str().filter(|path| shown_path(path) == *path) else { continue };
            chunk.push((path.to_owned(), entry.file_type().is_some_and(|kind| kind.is_dir())));
            if chunk.len() == CHUNK && (!add(&mut chunk, names) || stop.reached()) {
                return;
            }
        }
    }
    add(&mut chunk, names);
}

/// Moves a chunk into the names. Returns `false` if they are full.
fn add(chunk: &mut Vec<(String, bool)>, names: &RwLock<FileNames>) -> bool {
    let mut names = names.write().unwrap_or_else(std::sync::PoisonError::into_inner);
    chunk.drain(..).all(|(path, is_folder)| names.push(&path, is_folder))
}

/// Returns a path as the names have it.
pub fn name_of(roots: &Roots, path: &Path) -> Option<String> {
    let first = roots.paths().next()?;
    let below: PathBuf = path.strip_prefix(first).map_or_else(|_| path.to_owned(), Path::to_owned);
    below.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests;
