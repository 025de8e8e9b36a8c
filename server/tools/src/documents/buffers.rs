//! The texts of the open documents for the tools: an immutable copy of the mirror.
//!
//! Never changes and never sends a message to the editor.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_core::text::edit::split_bom;

const BOM_BYTES: &[u8] = "\u{feff}".as_bytes();

/// The texts of the documents that are open in the editor; tools read them instead of the disk.
#[derive(Clone, Debug, Default)]
pub struct Buffers {
    open: Arc<BTreeMap<PathBuf, Result<Buffer, String>>>,
}

/// The text of one open document.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub text: Arc<str>,
    pub version: i32,
}

impl Buffers {
    /// Returns the open documents by resolved path. An unsynced one has the reason why its text is unknown.
    pub fn new(documents: impl IntoIterator<Item = (PathBuf, Result<Buffer, String>)>) -> Self {
        Self { open: Arc::new(documents.into_iter().collect()) }
    }

    /// Returns the document at a resolved path, if one is open there.
    pub fn get(&self, absolute: &Path) -> Option<Result<&Buffer, &str>> {
        self.open.get(absolute).map(|text| text.as_ref().map_err(String::as_str))
    }

    /// Returns the resolved paths of the open documents, in order.
    pub fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.open.keys()
    }

    /// Returns the open documents whose text differs from the disk, or is unknown. A command does not see it (N06).
    pub fn unsaved(&self) -> Vec<PathBuf> {
        self.open
            .iter()
            .filter(|(path, text)| text.as_ref().map_or(true, |b| !is_on_disk(path, &b.text)))
            .map(|(path, _)| path.clone())
            .collect()
    }

    /// Returns the documents that have another text than in `before`, and that no file has.
    pub fn typed_since(&self, before: &Buffers) -> Vec<PathBuf> {
        let text_before = |path: &Path| Some(&before.get(path)?.ok()?.text);
        let is_typed = |path: &Path, now: &Buffer| {
            text_before(path).is_some_and(|then| *then != now.text) && !is_on_disk(path, &now.text)
        };
        let open = self.open.iter().filter_map(|(path, text)| Some((path, text.as_ref().ok()?)));
        open.filter(|(path, now)| is_typed(path, now)).map(|(path, _)| path.clone()).collect()
    }

    /// Whether the disk has the text that this document has here. `false` if it is not open or unknown.
    pub fn is_on_disk(&self, path: &Path) -> bool {
        matches!(self.get(path), Some(Ok(buffer)) if is_on_disk(path, &buffer.text))
    }

    /// Returns the open documents below a folder.
    pub fn below<'a>(
        &'a self,
        start: &'a Path,
    ) -> impl Iterator<Item = (&'a PathBuf, &'a Result<Buffer, String>)> {
        self.open.iter().filter(move |(path, _)| path.starts_with(start))
    }
}

/// Whether the file at a path has this text.
fn is_on_disk(path: &Path, text: &str) -> bool {
    // For most editors a byte order mark is not a part of the text.
    let text = split_bom(text).1.as_bytes();
    let size = |found: std::fs::Metadata| found.is_file().then_some(found.len() as usize);
    let size = path.metadata().ok().and_then(size);
    let fits = size == Some(text.len()) || size == Some(text.len() + BOM_BYTES.len());
    let same = |bytes: Vec<u8>| bytes.strip_prefix(BOM_BYTES).unwrap_or(&bytes) == text;
    fits && std::fs::read(path).is_ok_and(same)
}
