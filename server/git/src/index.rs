//! Reads the index: what the next commit will have.
//!
//! Never hands the library a file that it could not bear: its own limits do not cover paths and extensions.

use std::time::SystemTime;

use gix_hash::{Kind, ObjectId};
use gix_index::entry::{Flags, Mode, Stage};
use gix_index::{Entry, State, decode, extension};

use crate::discovery::Location;
use crate::files;
use crate::unknown::Unknown;

/// The length of the checksum at the end of the index, in bytes.
pub(crate) const CHECKSUM: usize = 20;

/// The most bytes of an index.
const MAX_INDEX: u64 = 256 << 20;

/// The most bytes of one path in the index. Linux opens none of 4096, and the library misreads one of 4095 or more.
const MAX_PATH: usize = 4094;

/// The most bytes of all paths in the index. Version 4 makes long paths from few bytes.
const MAX_PATHS: usize = 512 << 20;

/// The most bytes that the library may allocate at once.
const MAX_ALLOCATION: usize = 1 << 30;

/// The length of an entry before its path: times, numbers, hash and flags.
const ENTRY: usize = 62;

/// The bits of an entry's flags that say how long its path is. All of them set means longer.
const PATH_LENGTH: u16 = 0x0fff;

/// The bit of an entry's flags that says that two more bytes of flags follow.
const EXTENDED: u16 = 0x4000;

/// What the index has for a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexEntry {
    /// Nothing that a commit would take.
    Absent,
    /// A file, a link or a submodule.
    File { mode: Mode, id: ObjectId },
    /// It is in a folder that the index names only as a whole.
    InTree { tree: ObjectId, folder: usize },
    /// A merge that is not resolved.
    Conflict,
}

/// A file of the work tree as it was when it was added.
pub(crate) struct IndexedFile<'a> {
    pub path: &'a [u8],
    /// The lowest 32 bits of its size.
    pub size: u32,
    /// Seconds, of which the lowest 32 bits, and nanoseconds.
    pub modified: (u32, u32),
}

/// The entries of an index, sorted by path.
pub(crate) struct Index(State);

/// Reads the index; without a file it is empty.
pub(crate) fn read(location: &Location) -> Result<Index, Unknown> {
    match files::read(&location.index, MAX_INDEX)? {
        Some(bytes) => decode(bytes),
        None => Ok(Index(State::new(Kind::Sha1))),
    }
}

/// Decodes the bytes of an index.
pub(crate) fn decode(mut bytes: Vec<u8>) -> Result<Index, Unknown> {
    let damaged = || Unknown::damaged("the index");
    let (content, checksum) = bytes.split_last_chunk::<CHECKSUM>().ok_or_else(damaged)?;
    let checksum = *checksum;
    // Git writes zeros if `index.skipHash` says so.
    if checksum != [0; CHECKSUM] {
        let mut hasher = gix_hash::hasher(Kind::Sha1);
        hasher.update(content);
        let actual = hasher.try_finalize().map_err(|_| damaged())?;
        if actual.as_slice() != checksum {
            return Err(damaged());
        }
    }
    let end = end_of_entries(content)?;
    check_extensions(content.get(end..).unwrap_or_default())?;
    // Without its extensions: the library follows the depth of a cached tree on the stack, without a limit.
    bytes.truncate(end);
    bytes.extend(checksum);
    let options = decode::Options {
        thread_limit: Some(1),
        alloc_limit_bytes: Some(MAX_ALLOCATION),
        ..decode::Options::default()
    };
    let state = State::from_bytes(&bytes, SystemTime::UNIX_EPOCH.into(), Kind::Sha1, options);
    let (state, _) = state.map_err(|_| damaged())?;
    let in_order = |a: &Entry, b: &Entry| (a.path(&state), a.stage_raw()) < (b.path(&state), b.stage_raw());
    let has_names = state.entries().iter().all(|entry| !entry.path(&state).is_empty());
    if has_names && state.entries().is_sorted_by(in_order) { Ok(Index(state)) } else { Err(damaged()) }
}

/// Returns where the entries end, and checks the lengths of their paths.
fn end_of_entries(bytes: &[u8]) -> Result<usize, Unknown> {
    let damaged = || Unknown::damaged("the index");
    let number =
        |at: usize| bytes.get(at..).and_then(|rest| rest.first_chunk()).map(|n| u32::from_be_bytes(*n));
    let version = number(4).ok_or_else(damaged)?;
    let count = number(8).ok_or_else(damaged)?;
    if !bytes.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return Err(Unknown::because(format!("Adjutant does not read an index of version {version}")));
    }
    let (mut at, mut length, mut total) = (12, 0_usize, 0_usize);
    for _ in 0..count {
        let start = at;
        let flags = bytes.get(at + ENTRY - 2..).and_then(|rest| rest.first_chunk()).ok_or_else(damaged)?;
        let flags = u16::from_be_bytes(*flags);
        at += if flags & EXTENDED == 0 { ENTRY } else { ENTRY + 2 };
        if version == 4 {
            let (removed, used) =
                number_of_bytes(bytes.get(at..).ok_or_else(damaged)?).ok_or_else(damaged)?;
            at += used;
            length = length.checked_sub(removed).ok_or_else(damaged)?;
        } else {
            length = 0;
        }
        let rest = bytes.get(at..).ok_or_else(damaged)?;
        let path = rest.iter().take(MAX_PATH + 1).position(|byte| *byte == 0).ok_or_else(damaged)?;
        length += path;
        total += length;
        if length > MAX_PATH || total > MAX_PATHS {
            return Err(damaged());
        }
        let said = flags & PATH_LENGTH;
        if said != PATH_LENGTH && usize::from(said) != length {
            return Err(damaged());
        }
        at += path;
        // One zero after the path, or as many as make the entry a multiple of eight.
        at += if version == 4 { 1 } else { 8 - (at - start) % 8 };
    }
    if at <= bytes.len() { Ok(at) } else { Err(damaged()) }
}

/// Reads how many bytes an entry of version 4 removes from the path before it, and how many bytes say so.
fn number_of_bytes(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut number = 0_usize;
    for (at, byte) in bytes.iter().take(4).enumerate() {
        number = number << 7 | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((number, at + 1));
        }
        number += 1;
    }
    None
}

/// Checks that no extension changes what the entries mean. Those that a reader must understand begin in lower case.
fn check_extensions(bytes: &[u8]) -> Result<(), Unknown> {
    let mut extensions = extension::Iter::new(bytes);
    for (name, _) in extensions.by_ref() {
        match &name {
            b"link" => return Err(Unknown::because("Adjutant does not read a split index")),
            b"sdir" => {}
            [first, ..] if first.is_ascii_uppercase() => {}
            _ => return Err(Unknown::because("the index has an extension that Adjutant does not know")),
        }
    }
    if extensions.consumed == bytes.len() { Ok(()) } else { Err(Unknown::damaged("the index")) }
}

impl Index {
    /// Returns what the index has for a path, with `/` between its names.
    pub fn entry(&self, path: &[u8]) -> IndexEntry {
        if let Some(entry) = self.first(path) {
            return entry_of(entry);
        }
        let folders = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at + 1);
        for folder in folders {
            let name = path.get(..folder).unwrap_or_default();
            if let Some(entry) = self.first(name).filter(|entry| entry.mode == Mode::DIR) {
                return IndexEntry::InTree { tree: entry.id, folder };
            }
        }
        IndexEntry::Absent
    }

    /// Returns each path with what the index has for it. A folder that is named as a whole ends in `/`.
    pub fn entries(&self) -> impl Iterator<Item = (&[u8], IndexEntry)> {
        let same = |a: &Entry, b: &Entry| a.path(&self.0) == b.path(&self.0);
        let groups = self.0.entries().chunk_by(same);
        groups.filter_map(|group| group.first()).map(|entry| {
            let path: &[u8] = entry.path(&self.0);
            (path, entry_of(entry))
        })
    }

    /// Returns the files that are checked out, with what the index remembers of each.
    pub fn files(&self) -> impl Iterator<Item = IndexedFile<'_>> {
        let unchecked = Flags::SKIP_WORKTREE | Flags::INTENT_TO_ADD | Flags::ASSUME_VALID;
        let is_file =
            |entry: &&Entry| matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE | Mode::SYMLINK);
        let files = self.0.entries().iter().filter(is_file);
        files.filter(move |entry| !entry.flags.intersects(unchecked)).map(|entry| IndexedFile {
            path: entry.path(&self.0),
            size: entry.stat.size,
            modified: (entry.stat.mtime.secs, entry.stat.mtime.nsecs),
        })
    }

    /// Returns the entry of a path with the lowest stage.
    fn first(&self, path: &[u8]) -> Option<&Entry> {
        let entries = self.0.entries();
        let at = entries.partition_point(|entry| *entry.path(&self.0) < *path);
        entries.get(at).filter(|entry| entry.path(&self.0) == path)
    }
}

fn entry_of(entry: &Entry) -> IndexEntry {
    if entry.stage() != Stage::Unconflicted {
        IndexEntry::Conflict
    } else if entry.flags.contains(Flags::INTENT_TO_ADD) {
        IndexEntry::Absent
    } else {
        IndexEntry::File { mode: entry.mode, id: entry.id }
    }
}

#[cfg(test)]
mod tests;
