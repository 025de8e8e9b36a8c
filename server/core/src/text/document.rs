//! The mirror of one document that is open in the editor, and its snapshots.
//!
//! Never guesses: after a change that cannot be applied, a document has no text
//! until the client sends the whole text again.

use std::sync::Arc;

use ropey::Rope;
use serde::Deserialize;

use crate::text::position::{Encoding, PositionError, Range, offsets_of};

#[cfg(test)]
mod tests;

/// The largest document whose text is kept. A larger one is known but never read or edited.
pub const MAX_DOCUMENT_BYTES: usize = 64 * 1024 * 1024;

/// One element of `contentChanges` of `textDocument/didChange`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContentChange {
    /// `None` means that `text` is the whole document.
    #[serde(default)]
    pub range: Option<Range>,
    pub text: String,
}

/// Why the text of an open document is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsyncedReason {
    #[error("follow the changes of the document: version {got} came after version {have}")]
    Version { have: i32, got: i32 },
    #[error("apply change {index} of version {version}: {error}")]
    Change { version: i32, index: usize, error: PositionError },
    #[error("follow the changes of the document: a message of the editor could not be read")]
    Lost,
    #[error("keep the document: it has {bytes} bytes, more than the limit of {MAX_DOCUMENT_BYTES}")]
    TooLarge { bytes: usize },
}

/// A document as its client last described it.
#[derive(Clone, Debug)]
pub struct Document {
    uri: Arc<str>,
    version: i32,
    text: Result<Rope, UnsyncedReason>,
}

impl Document {
    /// Returns the document of a `didOpen`. A second `didOpen` makes a new document.
    pub fn open(uri: &str, version: i32, text: &str) -> Self {
        Document { uri: uri.into(), version, text: within_limit(text) }
    }

    /// Returns the client's URI of the document.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Returns the version that the client last sent, also while unsynced.
    pub fn version(&self) -> i32 {
        self.version
    }

    /// Returns the text, or why it is not known.
    pub fn text(&self) -> Result<&Rope, UnsyncedReason> {
        self.text.as_ref().map_err(|reason| *reason)
    }

    /// Returns an immutable copy, or why there is none. The copy is cheap.
    pub fn snapshot(&self) -> Result<Snapshot, UnsyncedReason> {
        let text = self.text()?.clone();
        Ok(Snapshot { uri: self.uri.clone(), version: Some(self.version), text })
    }

    /// Marks the document as unsynced because a change may be lost. Only a full text ends this state.
    pub fn lose(&mut self) {
        if self.text.is_ok() {
            self.text = Err(UnsyncedReason::Lost);
        }
    }

    /// Applies the changes of one `didChange` in order, each to the result of the one before.
    ///
    /// A change that cannot be applied leaves the document unsynced, and so
    /// does a version that does not increase. A full text syncs it again, with
    /// any version, because the client compares that version with Adjutant's
    /// edits. The returned reason is the new state, not a failure of the call.
    pub fn apply_changes(
        &mut self,
        version: i32,
        changes: &[ContentChange],
        encoding: Encoding,
    ) -> Result<(), UnsyncedReason> {
        if version <= self.version && self.text.is_ok() {
            self.text = Err(UnsyncedReason::Version { have: self.version, got: version });
        }
        self.version = version;
        for (index, change) in changes.iter().enumerate() {
            match (change.range, &mut self.text) {
                (None, text) => *text = within_limit(&change.text),
                (Some(_), Err(_)) => {}
                (Some(range), Ok(rope)) => {
                    if let Err(reason) = edit(rope, range, &change.text, encoding, (version, index)) {
                        self.text = Err(reason);
                    }
                }
            }
        }
        self.text().map(|_| ())
    }
}

/// An immutable copy of a text with its version. Clones share memory.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub uri: Arc<str>,
    /// The editor's version; `None` for a file that is not open.
    pub version: Option<i32>,
    pub text: Rope,
}

impl Snapshot {
    /// Returns the snapshot of a file that no editor has open.
    pub fn of_file(uri: &str, text: &str) -> Self {
        Snapshot { uri: uri.into(), version: None, text: Rope::from_str(text) }
    }

    /// Returns the whole text as one string.
    pub fn string(&self) -> String {
        let mut text = String::with_capacity(self.text.len_bytes());
        self.text.chunks().for_each(|chunk| text.push_str(chunk));
        text
    }
}

fn within_limit(text: &str) -> Result<Rope, UnsyncedReason> {
    if text.len() > MAX_DOCUMENT_BYTES {
        return Err(UnsyncedReason::TooLarge { bytes: text.len() });
    }
    Ok(Rope::from_str(text))
}

/// Replaces one range. Errors name the version and the index of the change.
fn edit(
    rope: &mut Rope,
    range: Range,
    text: &str,
    encoding: Encoding,
    (version, index): (i32, usize),
) -> Result<(), UnsyncedReason> {
    let bytes = offsets_of(rope, range, encoding).map_err(|error| UnsyncedReason::Change {
        version,
        index,
        error,
    })?;
    let after = rope.len_bytes() - bytes.len() + text.len();
    if after > MAX_DOCUMENT_BYTES {
        return Err(UnsyncedReason::TooLarge { bytes: after });
    }
    // Offsets of positions are always character boundaries, so ropey should
    // not refuse. If it does, the reason has the refused offset.
    let refused =
        |offset| UnsyncedReason::Change { version, index, error: PositionError::InsideCodePoint { offset } };
    let start = rope.try_byte_to_char(bytes.start).map_err(|_| refused(bytes.start))?;
    let end = rope.try_byte_to_char(bytes.end).map_err(|_| refused(bytes.end))?;
    rope.try_remove(start..end).map_err(|_| refused(bytes.start))?;
    rope.try_insert(start, text).map_err(|_| refused(bytes.start))
}
