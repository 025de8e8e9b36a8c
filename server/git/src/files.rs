//! Reads files of a repository whole, up to a limit.
//!
//! Never waits: a pipe or a device in the place of a file is refused.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::unknown::Unknown;

/// The most bytes of a file that holds one path or one reference.
pub(crate) const MAX_LINE: u64 = 8 << 10;

/// Whether an error means that nothing has this path.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Opens a regular file without waiting for anything. Returns `None` if nothing has this path.
pub(crate) fn open(path: &Path) -> Result<Option<(File, Metadata)>, Unknown> {
    // Without NONBLOCK, opening a pipe waits for a writer that may never come.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from) {
        Ok(file) => File::from(file),
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(Unknown::io(path, &error)),
    };
    let metadata = file.metadata().map_err(|error| Unknown::io(path, &error))?;
    if !metadata.is_file() {
        return Err(Unknown::because(format!("{path:?} is not a regular file")));
    }
    Ok(Some((file, metadata)))
}

/// Returns the content of a regular file of at most `limit` bytes; `None` if nothing has this path.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, Unknown> {
    let Some((file, metadata)) = open(path)? else { return Ok(None) };
    let too_large = || Unknown::too_large(format_args!("{path:?}"), format_args!("{limit} bytes"));
    if metadata.len() > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    // The file may grow meanwhile.
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| Unknown::io(path, &error))?;
    if bytes.len() as u64 > limit { Err(too_large()) } else { Ok(Some(bytes)) }
}

/// Returns the path in a file of one line, after `prefix`. A relative path begins at `folder`.
pub(crate) fn path_in(bytes: &[u8], prefix: &[u8], folder: &Path) -> Option<PathBuf> {
    let rest = bytes.strip_prefix(prefix)?;
    let end = rest.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'))? + 1;
    let path = rest.get(..end).filter(|path| !path.contains(&0))?;
    Some(folder.join(std::ffi::OsStr::from_bytes(path)))
}

/// Whether a folder has this path. A link counts as what it leads to.
pub(crate) fn is_folder(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_dir())
}
