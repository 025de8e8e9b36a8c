//! A cheap value that changes when the state of a repository does.
//!
//! Never reads an object.

use std::fs::Metadata;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::discovery::Location;
use crate::unknown::Unknown;
use crate::{files, index, refs};

/// What `HEAD`, its branch, the index and the settings were at one moment.
///
/// Two equal stamps mean that no commit, no branch and no staged file changed between them. A difference does not mean
/// that one did: git also refreshes the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// The names and contents of the references from `HEAD` on.
    steps: Result<Vec<u8>, Unknown>,
    packed: FileStamp,
    index: FileStamp,
    config: FileStamp,
}

/// What a file was at one moment: absent, unreadable, or its numbers and last bytes.
type FileStamp = Result<Option<FileState>, Unknown>;

#[derive(Debug, Clone, PartialEq, Eq)]
struct FileState {
    inode: (u64, u64),
    size: u64,
    /// Seconds and nanoseconds of the last changes of its content and of its inode.
    times: [i64; 4],
    /// The last bytes. Those of the index are its checksum, so it also differs where the clock is too coarse.
    end: Vec<u8>,
}

/// Returns the stamp of a repository.
pub(crate) fn stamp(location: &Location) -> Stamp {
    let steps = refs::steps(location).map(|steps| {
        let parts = steps
            .into_iter()
            .flat_map(|step| [step.name.into_inner().into(), step.content.unwrap_or_default()]);
        parts.collect::<Vec<Vec<u8>>>().join(&0)
    });
    Stamp {
        steps,
        packed: file(&refs::packed_path(location)),
        index: file(&location.index),
        config: file(&location.common_dir.join("config")),
    }
}

fn file(path: &Path) -> FileStamp {
    let Some((mut file, metadata)) = files::open(path)? else { return Ok(None) };
    let mut end = Vec::new();
    let from = metadata.len().saturating_sub(index::CHECKSUM as u64);
    let read = file
        .seek(SeekFrom::Start(from))
        .and_then(|_| file.take(index::CHECKSUM as u64).read_to_end(&mut end));
    read.map_err(|error| Unknown::io(path, &error))?;
    Ok(Some(state(&metadata, end)))
}

fn state(metadata: &Metadata, end: Vec<u8>) -> FileState {
    FileState {
        inode: (metadata.dev(), metadata.ino()),
        size: metadata.len(),
        times: [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()],
        end,
    }
}
