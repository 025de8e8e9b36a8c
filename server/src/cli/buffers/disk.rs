//! Files as buffers see them: text without its mark, and an atomic write back.
//!
//! Never replaces bytes other than those the buffer was made from, and never
//! turns a link into a file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use adjutant_core::edit::BOM;
use rustix::fs::OFlags;

/// The largest file that is opened.
const MOST_BYTES: u64 = 64 << 20;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Missing,
    /// Text, and whether a byte order mark stood before it.
    Text {
        text: String,
        mark: bool,
    },
}

impl Found {
    /// Returns the text, which for nothing at all is none.
    pub fn text(&self) -> Option<&str> {
        match self {
            Found::Missing => None,
            Found::Text { text, .. } => Some(text),
        }
    }
}

/// Reads a file as an editor would open it.
pub fn read(path: &Path) -> Result<Found, String> {
    let name = path.display();
    let cannot = |error: io::Error| format!("\"{name}\" could not be read: {error}");
    // Without NONBLOCK, opening a named pipe would wait for a writer for ever.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Missing),
        Err(error) => return Err(cannot(error)),
    };
    let size = match file.metadata() {
        Ok(found) if !found.is_file() => return Err(format!("\"{name}\" is no regular file")),
        Ok(found) => found.len(),
        Err(error) => return Err(cannot(error)),
    };
    let too_long = || format!("\"{name}\" is longer than {} MiB", MOST_BYTES >> 20);
    if size > MOST_BYTES {
        return Err(too_long());
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(too_long());
    }
    let whole = String::from_utf8(bytes).map_err(|_| format!("\"{name}\" is not UTF-8 text"))?;
    Ok(match whole.strip_prefix(BOM) {
        Some(text) => Found::Text { text: text.to_owned(), mark: true },
        None => Found::Text { text: whole, mark: false },
    })
}

/// Writes the text of a buffer to its file, whose content is still what it was.
pub fn write(path: &Path, before: &Found, text: &str) -> Result<(), String> {
    let name = path.display();
    if read(path)? != *before {
        return Err(format!("\"{name}\" changed on disk since it was opened"));
    }
    let mark = matches!(before, Found::Text { mark: true, .. });
    let mut bytes = Vec::with_capacity(text.len() + 3);
    if mark {
        bytes.extend_from_slice(BOM.encode_utf8(&mut [0; 4]).as_bytes());
    }
    bytes.extend_from_slice(text.as_bytes());
    let written = match before {
        Found::Missing => create(path, &bytes),
        Found::Text { .. } => replace(path, &bytes),
    };
    written.map_err(|error| format!("\"{name}\" could not be written: {error}"))
}

fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A plain file is replaced in one step; one with several names is written in
/// place, so that it stays what it is.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    if found.is_symlink() || found.nlink() > 1 {
        let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
        file.write_all(bytes)?;
        return file.sync_all();
    }
    // A rename asks the folder for leave, not the file: a read-only file stays as it is.
    OpenOptions::new().write(true).open(path)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    let beside = folder.join(format!(".adjutant-{:016x}.tmp", u64::from_le_bytes(random)));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    let landed = fill(&mut file, &found, bytes).and_then(|()| fs::rename(&beside, path));
    if landed.is_err() {
        // Nothing more can be done about a file that cannot be removed.
        let _ = fs::remove_file(&beside);
    }
    landed?;
    File::open(folder)?.sync_all()
}

fn fill(file: &mut File, before: &fs::Metadata, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    let now = file.metadata()?;
    if (now.uid(), now.gid()) != (before.uid(), before.gid()) {
        // Only root may give a file away; for others the file becomes theirs.
        let _ = std::os::unix::fs::fchown(&*file, Some(before.uid()), Some(before.gid()));
    }
    file.set_permissions(fs::Permissions::from_mode(before.mode() & 0o7777))?;
    file.sync_all()
}
