//! The text of a file with changes: now, in the editor or on the disk, and before a change.
//!
//! Never reads outside of the folders of the session.

use std::io::Read;

use adjutant_core::session::AppliedChange;
use adjutant_core::text::edit::split_bom;
use adjutant_host::uri;
use adjutant_store::blobs::Blobs;
use adjutant_tools::documents::{Documents, Text};
use adjutant_tools::paths::{ResolvedPath, open_read, resolve};

use super::OwnedChange;

/// The largest file that is read, in bytes.
pub(super) const MAX_FILE: u64 = 16 * 1024 * 1024;

/// Returns the URI of a document's file after following every link. Blocks.
pub fn target_of(uri: &str) -> String {
    let path = uri::to_path(uri);
    path.map_or_else(|_| uri.to_owned(), |path| uri::of_path(&path.canonicalize().unwrap_or(path)))
}

/// The text of a file now.
pub struct FileNow {
    /// Without a byte order mark.
    pub text: String,
    /// Of the open document.
    pub version: Option<i32>,
    pub(super) at: ResolvedPath,
}

/// Returns the text of the file of a change: the buffer if it is open, else the disk. `None` if it cannot be read, or if
/// its path leads to another file now. Blocks.
pub fn file_now(documents: &Documents, owned: &OwnedChange) -> Option<FileNow> {
    let at = resolve(&owned.roots, &owned.change.path).ok()?;
    if !at.inside || uri::of_path(&at.absolute) != owned.change.target {
        return None;
    }
    text_at(documents, at)
}

/// Returns the text of a file: the buffer if it is open, else the disk. `None` if it cannot be read. Blocks.
pub(super) fn text_at(documents: &Documents, at: ResolvedPath) -> Option<FileNow> {
    let (text, version) = match documents.text(&at.absolute) {
        Text::Open(snapshot) => (snapshot.string(), snapshot.version),
        Text::Unsynced(_) => return None,
        Text::Closed => {
            let mut bytes = Vec::new();
            open_read(&at).ok()?.take(MAX_FILE + 1).read_to_end(&mut bytes).ok()?;
            let text = String::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= MAX_FILE)?;
            (split_bom(&text).1.to_owned(), None)
        }
    };
    Some(FileNow { text, version, at })
}

/// Returns the text of the file of a change, as [`file_now`] does. Blocks.
pub fn text_now(documents: &Documents, owned: &OwnedChange) -> Option<String> {
    file_now(documents, owned).map(|now| now.text)
}

/// Returns the text before a change, without a byte order mark; `None` if it is not kept, or no text. Blocks.
pub fn text_before(blobs: &Blobs, change: &AppliedChange) -> Option<String> {
    let bytes = blobs.get(change.before.as_deref()?).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    Some(split_bom(&text).1.to_owned())
}
