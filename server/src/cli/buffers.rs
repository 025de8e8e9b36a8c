//! The buffers of a client without an editor: real text, versions, and edits
//! that land whole or not at all.
//!
//! Never writes a file but to save a buffer, and never applies an edit that
//! was made for another version than the buffer has.

mod disk;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use adjutant_core::edit::{TextEdit, apply_edits};
use adjutant_core::position::Encoding;
use adjutant_protocol::document::{DocumentSaveParams, DocumentSaveResult, SavedDocument};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::uri;
use disk::Found;

/// Params of `workspace/applyEdit`.
#[derive(Debug, Deserialize)]
pub struct ApplyEdit {
    edit: WorkspaceEdit,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WorkspaceEdit {
    #[serde(default)]
    document_changes: Option<Vec<DocumentChange>>,
    #[serde(default)]
    changes: BTreeMap<String, Vec<TextEdit>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum DocumentChange {
    Operation(Operation),
    #[serde(rename_all = "camelCase")]
    Edit {
        text_document: Identifier,
        edits: Vec<TextEdit>,
    },
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Operation {
    Create {
        uri: String,
        #[serde(default)]
        options: CreateOptions,
    },
    #[serde(rename_all = "camelCase")]
    Rename {
        old_uri: String,
    },
    Delete {
        uri: String,
    },
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CreateOptions {
    overwrite: bool,
    ignore_if_exists: bool,
}

#[derive(Debug, Deserialize)]
struct Identifier {
    uri: String,
    #[serde(default)]
    version: Option<i32>,
}

/// The result of `workspace/applyEdit`.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    pub applied: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_change: Option<usize>,
}

/// A notification the server must get, in order, before the answer.
#[derive(Debug, PartialEq)]
pub struct Telling {
    pub method: &'static str,
    pub params: Value,
}

#[derive(Clone, Debug)]
struct Buffer {
    path: PathBuf,
    text: String,
    version: i32,
    /// What is on disk as far as this buffer knows.
    found: Found,
    /// Whether it differs from that.
    dirty: bool,
}

/// Every open buffer, by URI.
#[derive(Debug, Default)]
pub struct Buffers {
    open: BTreeMap<String, Buffer>,
    /// Versions go on where they ended, so that an edit made for an earlier
    /// life of a buffer never fits a later one.
    last: BTreeMap<String, i32>,
}

impl Buffers {
    /// Applies an edit whole, or leaves everything as it is and says why.
    pub fn apply(&mut self, edit: ApplyEdit) -> (Vec<Telling>, Applied) {
        let changes = edit.edit.document_changes.unwrap_or_else(|| {
            let plain = edit.edit.changes.into_iter();
            plain
                .map(|(uri, edits)| DocumentChange::Edit {
                    text_document: Identifier { uri, version: None },
                    edits,
                })
                .collect()
        });
        let mut staged = Staged { buffers: self, touched: BTreeMap::new(), opened: BTreeSet::new() };
        for (at, change) in changes.into_iter().enumerate() {
            if let Err(why) = staged.change(change) {
                let refused = Applied { applied: false, failure_reason: Some(why), failed_change: Some(at) };
                return (Vec::new(), refused);
            }
        }
        let Staged { touched, opened, .. } = staged;
        let tellings = self.commit(touched, &opened);
        (tellings, Applied { applied: true, failure_reason: None, failed_change: None })
    }

    /// Takes over what was staged; a buffer that was opened for it is announced with the text it had on disk.
    fn commit(&mut self, touched: BTreeMap<String, Buffer>, opened: &BTreeSet<String>) -> Vec<Telling> {
        let mut tellings = Vec::new();
        for (uri, mut buffer) in touched {
            if opened.contains(&uri) {
                tellings.push(did_open(&uri, &buffer));
            }
            let before = buffer.found.text().unwrap_or_default();
            if before != buffer.text || !opened.contains(&uri) {
                buffer.version = buffer.version.saturating_add(1);
                tellings.push(Telling {
                    method: "textDocument/didChange",
                    params: json!({
                        "textDocument": { "uri": uri, "version": buffer.version },
                        "contentChanges": [{ "text": buffer.text }],
                    }),
                });
            }
            self.last.insert(uri.clone(), buffer.version);
            self.open.insert(uri, buffer);
        }
        tellings
    }

    /// Saves buffers and closes those that are saved, so that the disk is the truth again.
    pub fn save(&mut self, wanted: &DocumentSaveParams) -> (Vec<Telling>, DocumentSaveResult) {
        let mut tellings = Vec::new();
        let documents = wanted.uris.iter().map(|uri| {
            let saved = self.save_one(uri, &mut tellings);
            SavedDocument { uri: uri.clone(), saved: saved.is_ok(), message: saved.err() }
        });
        let documents = documents.collect();
        (tellings, DocumentSaveResult { documents })
    }

    /// Saves everything that is not saved; returns what could not be, with the reason.
    pub fn save_all(&mut self) -> (Vec<Telling>, Vec<String>) {
        let uris = self.open.iter().filter(|(_, buffer)| buffer.dirty).map(|(uri, _)| uri.clone()).collect();
        let wanted = DocumentSaveParams { uris, reason: String::new() };
        let (tellings, result) = self.save(&wanted);
        (tellings, result.documents.into_iter().filter_map(|document| document.message).collect())
    }

    fn save_one(&mut self, uri: &str, tellings: &mut Vec<Telling>) -> Result<(), String> {
        let Some(buffer) = self.open.get(uri) else {
            // A file that is not open is saved already, if it is a file at all.
            return uri::to_path(uri).map(drop);
        };
        if buffer.dirty {
            disk::write(&buffer.path, &buffer.found, &buffer.text)?;
            tellings.push(telling("textDocument/didSave", uri));
        }
        tellings.push(telling("textDocument/didClose", uri));
        self.open.remove(uri);
        Ok(())
    }

    fn load(&self, uri: &str) -> Result<Buffer, String> {
        let path = uri::to_path(uri)?;
        let found = disk::read(&path)?;
        let text = found.text().ok_or_else(|| format!("\"{}\" does not exist", path.display()))?.to_owned();
        Ok(Buffer { path, text, version: self.next_version(uri), found, dirty: false })
    }

    fn next_version(&self, uri: &str) -> i32 {
        self.last.get(uri).map_or(1, |last| last.saturating_add(1))
    }
}

/// The buffers as they would be after an edit.
struct Staged<'a> {
    buffers: &'a Buffers,
    touched: BTreeMap<String, Buffer>,
    opened: BTreeSet<String>,
}

impl Staged<'_> {
    fn change(&mut self, change: DocumentChange) -> Result<(), String> {
        match change {
            DocumentChange::Edit { text_document, edits } => self.edit(text_document, &edits),
            DocumentChange::Operation(Operation::Create { uri, options }) => self.create(uri, &options),
            DocumentChange::Operation(Operation::Rename { old_uri: uri } | Operation::Delete { uri }) => Err(
                format!("\"{uri}\" cannot be renamed or deleted here: this client only creates and edits"),
            ),
        }
    }

    fn edit(&mut self, document: Identifier, edits: &[TextEdit]) -> Result<(), String> {
        let Identifier { uri, version } = document;
        let mut buffer = match self.present(&uri) {
            Some(buffer) => buffer,
            None => {
                let buffer = self.buffers.load(&uri)?;
                self.opened.insert(uri.clone());
                buffer
            }
        };
        if version.is_some_and(|wanted| wanted != buffer.version) {
            return Err(format!(
                "\"{uri}\" is at version {}, and the edit was made for version {}",
                buffer.version,
                version.unwrap_or_default()
            ));
        }
        buffer.text =
            apply_edits(&buffer.text, edits, Encoding::Utf8).map_err(|error| format!("{uri}: {error}"))?;
        buffer.dirty = true;
        self.touched.insert(uri, buffer);
        Ok(())
    }

    fn create(&mut self, uri: String, options: &CreateOptions) -> Result<(), String> {
        let path = uri::to_path(&uri)?;
        let present = self.present(&uri);
        let found = disk::read(&path)?;
        let exists = present.is_some() || found != Found::Missing;
        match (exists, options.overwrite, options.ignore_if_exists) {
            (true, false, true) => return Ok(()),
            (true, false, false) => return Err(format!("\"{}\" exists already", path.display())),
            _ => {}
        }
        let version =
            present.as_ref().map_or_else(|| self.buffers.next_version(&uri), |buffer| buffer.version);
        if present.is_none() {
            self.opened.insert(uri.clone());
        }
        self.touched.insert(uri, Buffer { path, text: String::new(), version, found, dirty: true });
        Ok(())
    }

    fn present(&self, uri: &str) -> Option<Buffer> {
        self.touched.get(uri).or_else(|| self.buffers.open.get(uri)).cloned()
    }
}

fn telling(method: &'static str, uri: &str) -> Telling {
    Telling { method, params: json!({ "textDocument": { "uri": uri } }) }
}

fn did_open(uri: &str, buffer: &Buffer) -> Telling {
    let before = buffer.found.text().unwrap_or_default();
    let language = language_of(&buffer.path);
    Telling {
        method: "textDocument/didOpen",
        params: json!({
            "textDocument": { "uri": uri, "languageId": language, "version": buffer.version, "text": before },
        }),
    }
}

fn language_of(path: &Path) -> &str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("rs") => "rust",
        Some("py") => "python",
        Some("js" | "mjs" | "cjs") => "javascript",
        Some("ts") => "typescript",
        Some("md") => "markdown",
        Some("sh") => "shellscript",
        Some(extension) if !extension.is_empty() && extension.is_ascii() => extension,
        _ => "plaintext",
    }
}
