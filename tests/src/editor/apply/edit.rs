//! The double's parser and executor of `WorkspaceEdit`: text edits, and files that are made, renamed and deleted.
//!
//! Checks the whole edit before it changes anything. Never renames or deletes a folder.

use std::fs;
use std::ops::Range;

use serde_json::Value;

use super::super::buffers::Buffers;
use super::super::position::{Encoding, Position, offset_of};
use super::super::violation::{Rule, Violation};

/// One text edit.
#[derive(Clone, Debug, PartialEq)]
pub struct TextChange {
    pub start: Position,
    pub end: Position,
    pub text: String,
}

/// One part of a workspace edit.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    Edit { uri: String, version: Option<i64>, changes: Vec<TextChange> },
    Create { uri: String, overwrite: bool, ignore_if_exists: bool },
    Rename { uri: String, to: String },
    Delete { uri: String },
}

impl Operation {
    /// Returns the URI of its document.
    pub fn uri(&self) -> &str {
        match self {
            Operation::Edit { uri, .. }
            | Operation::Create { uri, .. }
            | Operation::Rename { uri, .. }
            | Operation::Delete { uri } => uri,
        }
    }

    /// Whether it belongs to another version of an open document.
    pub fn is_stale(&self, buffers: &Buffers) -> bool {
        match self {
            Operation::Edit { uri, version: Some(version), .. } => {
                buffers.buffer(uri).is_some_and(|buffer| buffer.version != *version)
            }
            _ => false,
        }
    }
}

/// Parses a `WorkspaceEdit`; `documentChanges` wins over `changes`.
pub fn parse(edit: &Value) -> Result<Vec<Operation>, String> {
    if let Some(list) = edit.get("documentChanges") {
        let list = list.as_array().ok_or("documentChanges that are not a list")?;
        return list.iter().map(operation).collect();
    }
    let changes =
        edit.get("changes").and_then(Value::as_object).ok_or("neither documentChanges nor changes")?;
    let parse = |(uri, edits): (&String, &Value)| {
        Ok(Operation::Edit { uri: uri.clone(), version: None, changes: text_changes(edits)? })
    };
    changes.iter().map(parse).collect()
}

fn operation(value: &Value) -> Result<Operation, String> {
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(|| format!("the uri {value}"));
    match value.get("kind") {
        None => {
            let document = &value["textDocument"];
            let version = match document.get("version") {
                Some(Value::Null) => None,
                Some(version) => Some(version.as_i64().ok_or_else(|| format!("the version {version}"))?),
                None => return Err("a text document without a version".to_owned()),
            };
            Ok(Operation::Edit {
                uri: text(&document["uri"])?,
                version,
                changes: text_changes(&value["edits"])?,
            })
        }
        Some(kind) if kind == "create" => Ok(Operation::Create {
            uri: text(&value["uri"])?,
            overwrite: value["options"]["overwrite"] == true,
            ignore_if_exists: value["options"]["ignoreIfExists"] == true,
        }),
        Some(kind) if kind == "rename" && value["options"]["overwrite"] != true => {
            Ok(Operation::Rename { uri: text(&value["oldUri"])?, to: text(&value["newUri"])? })
        }
        Some(kind) if kind == "delete" && value["options"]["recursive"] != true => {
            Ok(Operation::Delete { uri: text(&value["uri"])? })
        }
        Some(kind) => Err(format!("the operation {kind}, which was not offered")),
    }
}

fn text_changes(edits: &Value) -> Result<Vec<TextChange>, String> {
    let change = |edit: &Value| {
        Some(TextChange {
            start: Position::from_value(&edit["range"]["start"])?,
            end: Position::from_value(&edit["range"]["end"])?,
            text: edit["newText"].as_str()?.to_owned(),
        })
    };
    let list = edits.as_array().ok_or("edits that are not a list")?;
    list.iter().map(|edit| change(edit).ok_or_else(|| format!("the text edit {edit}"))).collect()
}

/// Keeps only the first text edit of the first document, and every new file.
pub fn first_only(operations: Vec<Operation>) -> Vec<Operation> {
    let mut taken = false;
    let keep = |mut operation: Operation| {
        if let Operation::Edit { changes, .. } = &mut operation {
            changes.truncate(usize::from(!taken));
            taken = true;
        }
        operation
    };
    operations.into_iter().map(keep).collect()
}

/// Applies all operations, or none. Opens documents that are not open, as editors do.
pub fn commit(
    operations: &[Operation],
    buffers: &mut Buffers,
    faults: &mut Vec<Violation>,
) -> Result<(), String> {
    let mut created: Vec<&str> = Vec::new();
    for operation in operations {
        check(operation, &created, buffers, faults)?;
        if let Operation::Create { uri, .. } = operation {
            created.push(uri);
        }
    }
    for operation in operations {
        match operation {
            Operation::Create { uri, overwrite, .. } => create(uri, *overwrite, buffers)?,
            Operation::Rename { uri, to } => rename(uri, to, buffers)?,
            Operation::Delete { uri } => {
                let path = buffers.path(uri);
                if buffers.buffer(uri).is_some() {
                    buffers.close(uri);
                }
                fs::remove_file(&path).map_err(|error| format!("delete {path:?}: {error}"))?;
            }
            Operation::Edit { uri, changes, .. } => {
                buffers.open(uri)?;
                let text = buffers.text(uri).unwrap_or_default();
                let (edits, _) = byte_edits(&text, changes, buffers.encoding());
                if !edits.is_empty() {
                    buffers.change(uri, &edits);
                }
            }
        }
    }
    Ok(())
}

fn create(uri: &str, overwrite: bool, buffers: &Buffers) -> Result<(), String> {
    let path = buffers.path(uri);
    if path.exists() && !overwrite {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("make {folder:?}: {error}"))?;
    }
    fs::write(&path, "").map_err(|error| format!("create {path:?}: {error}"))
}

/// Renames a file; its buffer follows, as in real editors.
fn rename(uri: &str, to: &str, buffers: &mut Buffers) -> Result<(), String> {
    let (from, new) = (buffers.path(uri), buffers.path(to));
    let is_open = buffers.buffer(uri).is_some();
    if is_open {
        buffers.close(uri);
    }
    if let Some(folder) = new.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("make {folder:?}: {error}"))?;
    }
    fs::rename(&from, &new).map_err(|error| format!("rename {from:?}: {error}"))?;
    if is_open { buffers.open(to) } else { Ok(()) }
}

fn check(
    operation: &Operation,
    created: &[&str],
    buffers: &Buffers,
    faults: &mut Vec<Violation>,
) -> Result<(), String> {
    match operation {
        Operation::Create { uri, overwrite, ignore_if_exists } => {
            let allowed = *overwrite || *ignore_if_exists || !buffers.path(uri).exists();
            if allowed { Ok(()) } else { Err(format!("{uri} exists already")) }
        }
        Operation::Rename { uri, to } if buffers.path(uri).is_file() && !buffers.path(to).exists() => Ok(()),
        Operation::Delete { uri } if buffers.path(uri).is_file() => Ok(()),
        Operation::Rename { uri, .. } | Operation::Delete { uri } => {
            Err(format!("{uri} is no file, or its new name is not free"))
        }
        Operation::Edit { uri, changes, .. } => {
            let present = buffers.text(uri).or_else(|| created.contains(&uri.as_str()).then(String::new));
            let text = present.ok_or_else(|| format!("{uri} cannot be opened"))?;
            let (edits, outside) = byte_edits(&text, changes, buffers.encoding());
            // The positions of another version may be outside of this text.
            if !operation.is_stale(buffers) {
                let violations =
                    outside.into_iter().map(|what| Violation::new(Rule::BadEdit, format!("{what} of {uri}")));
                faults.extend(violations);
            }
            if edits.windows(2).any(|pair| pair[1].0.start < pair[0].0.end) {
                faults
                    .push(Violation::new(Rule::BadEdit, format!("overlapping edits of {uri}: {changes:?}")));
                return Err(format!("the edits of {uri} overlap"));
            }
            Ok(())
        }
    }
}

/// Returns text edits as sorted byte ranges, and the problems of their positions. A position outside of
/// the text becomes the nearest one.
fn byte_edits(
    text: &str,
    changes: &[TextChange],
    encoding: Encoding,
) -> (Vec<(Range<usize>, String)>, Vec<String>) {
    let mut outside = Vec::new();
    let mut place = |position: Position| {
        offset_of(text, position, encoding).unwrap_or_else(|error| {
            outside.push(format!("{position:?} in {} does not exist", encoding.name()));
            error.nearest
        })
    };
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut reversed = Vec::new();
    for change in changes {
        let (start, end) = (place(change.start), place(change.end));
        if change.start > change.end {
            reversed.push(format!("{change:?} ends before it starts, which is not a range"));
        }
        edits.push((start..end.max(start), change.text.clone()));
    }
    outside.extend(reversed);
    // A stable sort: insertions at one place keep the order of the list.
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    (edits, outside)
}
