//! The buffers of the editor double: text, versions, saved or not.
//!
//! Never writes to the connection: each change puts the notifications of a real editor into an outbox.

mod place;

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

pub use place::Place;

use super::position::{Encoding, position_of};
use crate::fixture::{path_of_uri, uri_of_path};

/// The kind of change notifications that the server wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncKind {
    Nothing,
    Full,
    Incremental,
}

/// The notifications that the server wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncOptions {
    pub open_close: bool,
    pub change: SyncKind,
    pub save: bool,
    pub save_with_text: bool,
}

impl SyncOptions {
    /// Parses `textDocumentSync`, a number or an object.
    pub fn of(value: &Value) -> SyncOptions {
        let kind = |value: &Value| match value.as_u64() {
            Some(1) => SyncKind::Full,
            Some(2) => SyncKind::Incremental,
            _ => SyncKind::Nothing,
        };
        if value.is_number() {
            let change = kind(value);
            let open_close = change != SyncKind::Nothing;
            return SyncOptions { open_close, change, save: open_close, save_with_text: false };
        }
        let save = &value["save"];
        SyncOptions {
            open_close: value["openClose"] == true,
            change: kind(&value["change"]),
            save: save.is_object() || *save == true,
            save_with_text: save["includeText"] == true,
        }
    }
}

/// One open document.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub uri: String,
    pub version: i64,
    pub text: String,
    /// Whether the text was changed since it was read from or written to disk.
    pub dirty: bool,
    /// Whether the file begins with a byte order mark.
    mark: bool,
    /// Whether the server gets `didChange` for it.
    notifies: bool,
    undo: Vec<String>,
}

/// All open documents of one editor.
pub struct Buffers {
    root: PathBuf,
    encoding: Encoding,
    sync: SyncOptions,
    first_version: i64,
    open: BTreeMap<PathBuf, Buffer>,
    outbox: Vec<(&'static str, Value)>,
}

impl Buffers {
    /// Returns buffers without documents, for a workspace.
    pub fn new(root: PathBuf, first_version: i64) -> Self {
        let sync = SyncOptions {
            open_close: true,
            change: SyncKind::Incremental,
            save: true,
            save_with_text: false,
        };
        Self {
            root,
            encoding: Encoding::Utf16,
            sync,
            first_version,
            open: BTreeMap::new(),
            outbox: Vec::new(),
        }
    }

    /// Sets the encoding and the notifications that `initialize` agreed on.
    pub fn agree(&mut self, encoding: Encoding, sync: SyncOptions) {
        self.encoding = encoding;
        self.sync = sync;
    }

    /// Returns the agreed encoding.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Returns the path of a document; `name` is a `file:` URI or a path inside the workspace.
    pub fn path(&self, name: &str) -> PathBuf {
        path_of_uri(name).unwrap_or_else(|| self.root.join(name))
    }

    /// Returns the buffer of a document, if it is open.
    pub fn buffer(&self, name: &str) -> Option<&Buffer> {
        self.open.get(&self.path(name))
    }

    /// Returns the URIs of all open documents.
    pub fn uris(&self) -> impl Iterator<Item = &str> {
        self.open.values().map(|buffer| buffer.uri.as_str())
    }

    /// Returns the text a user would see: the buffer, or the file if it is not open.
    pub fn text(&self, name: &str) -> Option<String> {
        match self.buffer(name) {
            Some(buffer) => Some(buffer.text.clone()),
            None => fs::read_to_string(self.path(name)).ok().map(|text| without_mark(&text).1.to_owned()),
        }
    }

    /// Opens a file and announces it. An open file stays as it is; a missing file has one empty line,
    /// as in Neovim.
    pub fn open(&mut self, name: &str) -> Result<(), String> {
        let path = self.path(name);
        if self.open.contains_key(&path) {
            return Ok(());
        }
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => "\n".to_owned(),
            read => read.map_err(|error| format!("read {path:?}: {error}"))?,
        };
        // In real editors, the mark is a property of the file and not a part of its text.
        let (mark, text) = without_mark(&text);
        self.announce(path, mark, text.to_owned(), false);
        Ok(())
    }

    /// Announces a document with a text that is not on disk, as an editor does that outlived its server.
    pub fn open_unsaved(&mut self, name: &str, text: &str) {
        self.announce(self.path(name), false, text.to_owned(), true);
    }

    fn announce(&mut self, path: PathBuf, mark: bool, text: String, dirty: bool) {
        let uri = uri_of_path(&path);
        if self.sync.open_close {
            let item = json!({"uri": uri, "languageId": language(&path), "version": self.first_version, "text": text});
            self.outbox.push(("textDocument/didOpen", json!({"textDocument": item})));
        }
        let version = self.first_version;
        let buffer = Buffer { uri, version, text, mark, dirty, notifies: true, undo: Vec::new() };
        self.open.insert(path, buffer);
    }

    /// Closes a document; unsaved changes are lost.
    pub fn close(&mut self, name: &str) {
        let path = self.path(name);
        let buffer = self.open.remove(&path).unwrap_or_else(|| panic!("{name:?} is not open"));
        if self.sync.open_close {
            self.outbox.push(("textDocument/didClose", json!({"textDocument": {"uri": buffer.uri}})));
        }
    }

    /// Types a text at a place, as one change.
    pub fn type_at(&mut self, name: &str, place: impl Into<Place>, text: &str) {
        let place = place.into();
        let offset = place.offset(&self.present(name).text);
        let offset = offset.unwrap_or_else(|| panic!("{name:?} has no place {place:?}"));
        self.change(name, &[(offset..offset, text.to_owned())]);
    }

    /// Replaces the first occurrence of a text.
    pub fn replace(&mut self, name: &str, old: &str, new: &str) {
        let at = self.present(name).text.find(old);
        let at = at.unwrap_or_else(|| panic!("{name:?} does not contain {old:?}"));
        self.change(name, &[(at..at + old.len(), new.to_owned())]);
    }

    /// Replaces the whole text.
    pub fn set_text(&mut self, name: &str, text: &str) {
        let end = self.present(name).text.len();
        self.change(name, &[(0..end, text.to_owned())]);
    }

    /// Returns whether a change can be undone.
    pub fn has_undo(&self, name: &str) -> bool {
        self.buffer(name).is_some_and(|buffer| !buffer.undo.is_empty())
    }

    /// Undoes the last change, as one more change.
    pub fn undo(&mut self, name: &str) {
        let path = self.path(name);
        let before = self.open.get_mut(&path).and_then(|buffer| buffer.undo.pop());
        let before = before.unwrap_or_else(|| panic!("{name:?} has nothing to undo"));
        self.set_text(name, &before);
        // The undo itself is not an undo step.
        self.open.get_mut(&path).and_then(|buffer| buffer.undo.pop());
    }

    /// Replaces byte ranges of the text: one undo step, one version, one notification.
    /// The ranges are sorted, do not overlap and refer to the current text.
    pub fn change(&mut self, name: &str, edits: &[(Range<usize>, String)]) {
        let (encoding, sync) = (self.encoding, self.sync.change);
        let path = self.path(name);
        let buffer = self.open.get_mut(&path).unwrap_or_else(|| panic!("{name:?} is not open"));
        buffer.undo.push(buffer.text.clone());
        let mut changes = Vec::new();
        // From the end, so that earlier ranges stay valid.
        for (range, text) in edits.iter().rev() {
            let start = position_of(&buffer.text, range.start, encoding).to_value();
            let end = position_of(&buffer.text, range.end, encoding).to_value();
            changes.push(json!({"range": {"start": start, "end": end}, "text": text}));
            buffer.text.replace_range(range.clone(), text);
        }
        buffer.version += 1;
        buffer.dirty = true;
        if !buffer.notifies || sync == SyncKind::Nothing {
            return;
        }
        if sync == SyncKind::Full {
            changes = vec![json!({"text": buffer.text})];
        }
        let document = json!({"uri": buffer.uri, "version": buffer.version});
        self.outbox
            .push(("textDocument/didChange", json!({"textDocument": document, "contentChanges": changes})));
    }

    /// Stops `didChange` for a document until `tell_again`.
    pub fn tell_nothing(&mut self, name: &str) {
        let path = self.path(name);
        if let Some(buffer) = self.open.get_mut(&path) {
            buffer.notifies = false;
        }
    }

    /// Sends the whole text, and again every change from now on.
    pub fn tell_again(&mut self, name: &str) {
        let path = self.path(name);
        let buffer = self.open.get_mut(&path).unwrap_or_else(|| panic!("{name:?} is not open"));
        buffer.notifies = true;
        buffer.version += 1;
        let document = json!({"uri": buffer.uri, "version": buffer.version});
        let change = json!({"textDocument": document, "contentChanges": [{"text": buffer.text}]});
        self.outbox.push(("textDocument/didChange", change));
    }

    /// Writes a buffer to disk and sends `didSave`.
    pub fn save(&mut self, name: &str) -> Result<(), String> {
        let path = self.path(name);
        let Some(buffer) = self.open.get_mut(&path) else { return Err(format!("{name:?} is not open")) };
        let mark = if buffer.mark { "\u{feff}" } else { "" };
        fs::write(&path, format!("{mark}{}", buffer.text))
            .map_err(|error| format!("write {path:?}: {error}"))?;
        buffer.dirty = false;
        if self.sync.save {
            let mut saved = json!({"textDocument": {"uri": buffer.uri}});
            if self.sync.save_with_text {
                saved["text"] = json!(buffer.text);
            }
            self.outbox.push(("textDocument/didSave", saved));
        }
        Ok(())
    }

    /// Replaces the file of a buffer by an empty folder, as another program may do.
    pub fn replace_with_folder(&mut self, name: &str) -> Result<(), String> {
        let path = self.path(name);
        fs::remove_file(&path)
            .and_then(|()| fs::create_dir(&path))
            .map_err(|error| format!("replace {path:?}: {error}"))
    }

    /// Removes and returns the pending notifications, in order.
    pub fn take_outbox(&mut self) -> Vec<(&'static str, Value)> {
        std::mem::take(&mut self.outbox)
    }

    fn present(&self, name: &str) -> &Buffer {
        self.buffer(name).unwrap_or_else(|| panic!("{name:?} is not open; open it before it is edited"))
    }
}

fn without_mark(text: &str) -> (bool, &str) {
    text.strip_prefix('\u{feff}').map_or((false, text), |rest| (true, rest))
}

fn language(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("rs") => "rust",
        Some("md") => "markdown",
        Some("py") => "python",
        Some("json") => "json",
        Some("toml") => "toml",
        _ => "plaintext",
    }
}
