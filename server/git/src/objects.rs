//! Reads objects: commits, trees, texts.
//!
//! Never believes an object whose hash is not its name.

use std::cell::Cell;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gix_hash::ObjectId;
use gix_object::tree::EntryKind;
use gix_object::{CommitRefIter, Find, Kind, TreeRef};
use gix_odb::Header as _;
use gix_odb::store::init::{Options, Slots};

use crate::commit_id::CommitId;
use crate::discovery::Location;
use crate::unknown::Unknown;
use crate::{files, refs};

/// The largest text that is read, in bytes.
pub const MAX_TEXT: u64 = 16 << 20;

/// The most bytes that the library may allocate for one object: two versions of it, and the differences that make it.
const MAX_ALLOCATION: usize = 3 * MAX_TEXT as usize;

/// The most differences from which an object is made. Git makes chains of 50, older versions of 250.
const MAX_DELTAS: u32 = 512;

/// The most files in the folder of packs.
const MAX_PACK_FILES: usize = 20_000;

/// The most bytes of an index of a pack: about 30 million objects.
const MAX_PACK_INDEX: u64 = 1 << 30;

/// How long one question may read objects.
const MAX_TIME: Duration = Duration::from_secs(10);

/// The most folders above a file.
const MAX_DEPTH: usize = 512;

/// An entry of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TreeEntry {
    pub kind: EntryKind,
    pub id: ObjectId,
}

/// The objects of a repository, open for questions one after the other.
pub(crate) struct Objects {
    handle: gix_odb::Handle,
    folder: PathBuf,
    is_partial: bool,
    /// When the question of now takes too long.
    end: Cell<Instant>,
}

impl Objects {
    /// Opens the objects of a repository.
    pub fn open(location: &Location) -> Result<Self, Unknown> {
        let folder = location.common_dir.join("objects");
        no_alternates(&folder)?;
        if refs::has_replacements(location)? {
            return Err(Unknown::because("the repository replaces objects by others"));
        }
        let packs = count_packs(&folder.join("pack"))?;
        let options = Options {
            // Git may add packs while they are read.
            slots: Slots::Given(u16::try_from(packs + packs / 8 + 32).unwrap_or(u16::MAX)),
            // Each pack has its own index too.
            use_multi_pack_index: false,
            alloc_limit_bytes: Some(MAX_ALLOCATION),
            current_dir: Some(folder.clone()),
            ..Options::default()
        };
        let handle = gix_odb::at_opts(&folder, gix_hash::Kind::Sha1, None, options);
        let handle = handle.map_err(|error| Unknown::io(&folder, &error))?;
        Ok(Self {
            handle,
            folder,
            is_partial: location.is_partial,
            end: Cell::new(Instant::now() + MAX_TIME),
        })
    }

    /// Begins another question, which has its own time.
    pub fn begin_question(&self) {
        self.end.set(Instant::now() + MAX_TIME);
    }

    /// Returns the content of an object of this kind, of at most `MAX_TEXT` bytes.
    pub fn read(&self, id: ObjectId, kind: Kind) -> Result<Vec<u8>, Unknown> {
        if Instant::now() > self.end.get() {
            return Err(Unknown::because("reading the objects of the repository takes too long"));
        }
        self.loose_file_is_regular(id)?;
        // gix-odb 0.87 panics if a pack has differences from an object of a pack that it has not opened yet.
        let bytes = panic::catch_unwind(AssertUnwindSafe(|| self.read_unchecked(id, kind)));
        let bytes = bytes.unwrap_or_else(|_| Err(damaged(id)))?;
        match gix_object::compute_hash(gix_hash::Kind::Sha1, kind, &bytes) {
            Ok(actual) if actual == id => Ok(bytes),
            _ => Err(damaged(id)),
        }
    }

    /// Returns how many bytes an object says that it has.
    pub fn size(&self, id: ObjectId) -> Result<u64, Unknown> {
        self.loose_file_is_regular(id)?;
        let header = panic::catch_unwind(AssertUnwindSafe(|| self.handle.try_header(&id)));
        let header = header.map_err(|_| damaged(id))?.map_err(|_| damaged(id))?;
        Ok(header.ok_or_else(|| self.missing(id))?.size())
    }

    /// Returns what the library has under this name.
    fn read_unchecked(&self, id: ObjectId, kind: Kind) -> Result<Vec<u8>, Unknown> {
        let header = self.handle.try_header(&id).map_err(|_| damaged(id))?;
        let header = header.ok_or_else(|| self.missing(id))?;
        if header.kind() != kind {
            return Err(Unknown::because(format!("the object {id} is a {}, not a {kind}", header.kind())));
        }
        if header.size() > MAX_TEXT {
            let limit = format_args!("{MAX_TEXT} bytes");
            return Err(Unknown::too_large(
                format_args!("the object {id} of {} bytes", header.size()),
                limit,
            ));
        }
        if header.num_deltas().is_some_and(|deltas| deltas > MAX_DELTAS) {
            return Err(Unknown::because(format!("the object {id} is made from too many differences")));
        }
        let mut bytes = Vec::new();
        let found = Find::try_find(&self.handle, &id, &mut bytes).map_err(|_| damaged(id))?;
        let length = found.ok_or_else(|| self.missing(id))?.data.len();
        // The library may leave more in the buffer than the object.
        bytes.truncate(length);
        Ok(bytes)
    }

    /// Returns the tree of a commit.
    pub fn tree_of(&self, commit: CommitId) -> Result<ObjectId, Unknown> {
        let bytes = self.read(commit.0, Kind::Commit)?;
        let tree = CommitRefIter::from_bytes(&bytes, gix_hash::Kind::Sha1).tree_id();
        tree.map_err(|_| Unknown::damaged(format_args!("the commit {commit}")))
    }

    /// Returns the parents of a commit.
    pub fn parents_of(&self, commit: CommitId) -> Result<Vec<CommitId>, Unknown> {
        let bytes = self.read(commit.0, Kind::Commit)?;
        let parents = CommitRefIter::from_bytes(&bytes, gix_hash::Kind::Sha1).parent_ids();
        Ok(parents.map(CommitId).collect())
    }

    /// Returns the first line of the message of a commit.
    pub fn subject_of(&self, commit: CommitId) -> Result<String, Unknown> {
        let bytes = self.read(commit.0, Kind::Commit)?;
        // An empty line ends the head of a commit.
        let message = bytes.windows(2).position(|pair| pair == b"\n\n").map(|at| &bytes[at + 2..]);
        let line = message.unwrap_or_default().split(|byte| *byte == b'\n').find(|line| !line.is_empty());
        Ok(String::from_utf8_lossy(line.unwrap_or_default()).into_owned())
    }

    /// Returns when a commit was made, in seconds since the Unix epoch.
    pub fn seconds_of(&self, commit: CommitId) -> Result<i64, Unknown> {
        let bytes = self.read(commit.0, Kind::Commit)?;
        let committer = CommitRefIter::from_bytes(&bytes, gix_hash::Kind::Sha1).committer();
        let committer = committer.map_err(|_| Unknown::damaged(format_args!("the commit {commit}")))?;
        let first = committer.time.trim().split(' ').next().and_then(|seconds| seconds.parse().ok());
        first.ok_or_else(|| Unknown::damaged(format_args!("the time of the commit {commit}")))
    }

    /// Returns the entries of a tree, with their names.
    pub fn entries(&self, tree: ObjectId) -> Result<Vec<(Vec<u8>, TreeEntry)>, Unknown> {
        let bytes = self.read(tree, Kind::Tree)?;
        let tree = TreeRef::from_bytes(&bytes, gix_hash::Kind::Sha1);
        let tree = tree.map_err(|_| Unknown::damaged(format_args!("a tree of the repository")))?;
        let entry = |entry: &gix_object::tree::EntryRef<'_>| {
            (entry.filename.to_vec(), TreeEntry { kind: entry.mode.kind(), id: entry.oid.to_owned() })
        };
        Ok(tree.entries.iter().map(entry).collect())
    }

    /// Returns the entry at `path` below a tree, with `/` between its names; `None` if there is none.
    pub fn entry_at(&self, tree: ObjectId, path: &[u8]) -> Result<Option<TreeEntry>, Unknown> {
        let mut entry = TreeEntry { kind: EntryKind::Tree, id: tree };
        for (depth, name) in path.split(|byte| *byte == b'/').enumerate() {
            if depth > MAX_DEPTH {
                return Err(Unknown::because("the path is too deep"));
            }
            if entry.kind != EntryKind::Tree {
                return Ok(None);
            }
            let entries = self.entries(entry.id)?;
            let Some((_, found)) = entries.into_iter().find(|(other, _)| other == name) else {
                return Ok(None);
            };
            entry = found;
        }
        Ok(Some(entry))
    }

    /// Returns the text of an entry; `None` if it is a folder, a link or a submodule.
    pub fn text_of(&self, entry: Option<TreeEntry>) -> Result<Option<Vec<u8>>, Unknown> {
        match entry {
            Some(TreeEntry { kind: EntryKind::Blob | EntryKind::BlobExecutable, id }) => {
                self.read(id, Kind::Blob).map(Some)
            }
            Some(_) | None => Ok(None),
        }
    }

    fn missing(&self, id: ObjectId) -> Unknown {
        let why =
            if self.is_partial { "this partial clone did not fetch it" } else { "the repository is damaged" };
        Unknown::because(format!("the object {id} is missing: {why}"))
    }

    /// Checks that the library would not wait for a pipe in the place of an object.
    fn loose_file_is_regular(&self, id: ObjectId) -> Result<(), Unknown> {
        let hex = id.to_string();
        let (folder, file) = hex.split_at_checked(2).unwrap_or_default();
        regular(&self.folder.join(folder).join(file)).map(|_| ())
    }
}

fn damaged(id: ObjectId) -> Unknown {
    Unknown::damaged(format_args!("the object {id}"))
}

/// Returns the length of a regular file; `None` if nothing has this path.
fn regular(path: &Path) -> Result<Option<u64>, Unknown> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(Some(metadata.len())),
        Ok(_) => Err(Unknown::because(format!("{path:?} is not a regular file"))),
        Err(error) if files::is_missing(&error) => Ok(None),
        Err(error) => Err(Unknown::io(path, &error)),
    }
}

/// Counts the packs. Checks that each file is one that the library can map without waiting.
fn count_packs(folder: &Path) -> Result<usize, Unknown> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if files::is_missing(&error) => return Ok(0),
        Err(error) => return Err(Unknown::io(folder, &error)),
    };
    let mut packs = 0;
    for (count, entry) in entries.enumerate() {
        if count >= MAX_PACK_FILES {
            return Err(Unknown::too_large(
                format_args!("{folder:?}"),
                format_args!("{MAX_PACK_FILES} files"),
            ));
        }
        let path = entry.map_err(|error| Unknown::io(folder, &error))?.path();
        let is_index = path.extension().is_some_and(|ending| ending == "idx");
        if !is_index && path.extension().is_none_or(|ending| ending != "pack") {
            continue;
        }
        if regular(&path)?.is_some_and(|length| is_index && length > MAX_PACK_INDEX) {
            return Err(Unknown::too_large(format_args!("{path:?}"), format_args!("{MAX_PACK_INDEX} bytes")));
        }
        packs += usize::from(is_index);
    }
    Ok(packs)
}

/// Checks that all objects are in the repository itself: the path of another one could lead anywhere.
fn no_alternates(folder: &Path) -> Result<(), Unknown> {
    match fs::metadata(folder.join("info/alternates")) {
        Ok(_) => Err(Unknown::because("the repository borrows objects from another one")),
        Err(error) if files::is_missing(&error) => Ok(()),
        Err(error) => Err(Unknown::io(folder, &error)),
    }
}
