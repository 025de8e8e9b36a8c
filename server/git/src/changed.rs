//! Which files of the work tree are not as the index has them.
//!
//! Never reads the content of a file: the index has the size and the time of each file as it was when it was added.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::index::Index;
use crate::unknown::Unknown;

/// How many files are looked at between two looks at the clock.
const STRIDE: usize = 64;

/// Returns the files that were changed or removed since they were added, in the order of the index, relative to the work tree.
///
/// A file that was written again with the same text counts as changed. Returns `Unknown` after `until`.
pub(crate) fn files(work_tree: &Path, index: &Index, until: Instant) -> Result<Vec<PathBuf>, Unknown> {
    let mut changed = Vec::new();
    for (number, file) in index.files().enumerate() {
        if number % STRIDE == 0 && Instant::now() > until {
            return Err(Unknown::because("looking at all files takes too long"));
        }
        let path = Path::new(OsStr::from_bytes(file.path));
        let is_same = work_tree.join(path).symlink_metadata().is_ok_and(|now| {
            let (secs, nanos) = file.modified;
            // The index has the lowest 32 bits, and no nanoseconds where the system that wrote it had none.
            now.size() as u32 == file.size
                && now.mtime() as u32 == secs
                && (nanos == 0 || now.mtime_nsec() as u32 == nanos)
        });
        if !is_same {
            changed.push(path.to_owned());
        }
    }
    Ok(changed)
}
