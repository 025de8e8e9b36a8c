//! The face of LSP: it writes messages in LSP's words.
//!
//! Never decides what to send.

use std::collections::BTreeMap;

use adjutant_core::text::edit::TextEdit;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};
use std::sync::Arc;

use super::text_before;
use crate::client::face::{Face, MarkedDocument, Note, Popup, Request, Step};
use crate::client::refreshes::RefreshTarget;
use crate::client::surfaces::Surfaces;
use crate::client::{Level, Offer, message};
use crate::editor::{ApplyReply, DocumentEdit, FileEdit};

/// The source of Adjutant's diagnostics.
pub const SOURCE: &str = "adjutant";

/// Which parts of LSP's messages a client supports.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    item_properties: bool,
    diagnostic_data: bool,
    annotations: bool,
}

impl Words {
    pub fn new(surfaces: &Surfaces) -> Self {
        let Surfaces { item_properties, diagnostic_data, annotations, .. } = *surfaces;
        Self { item_properties, diagnostic_data, annotations }
    }
}

impl Face for Words {
    fn message(&self, level: Level, text: &str) -> Option<Note> {
        let params = json!({ "type": level as u8, "message": message(text) });
        Some(Note { method: "window/showMessage", params })
    }

    fn show_document(&self, uri: &str, focus: bool) -> Option<Request> {
        let params = json!({ "uri": uri, "external": false, "takeFocus": focus });
        Some(Request::new("window/showDocument", params))
    }

    fn was_shown(&self, reply: &str) -> bool {
        #[derive(Deserialize)]
        struct ShowDocumentReply {
            success: bool,
        }
        serde_json::from_str::<ShowDocumentReply>(reply).is_ok_and(|shown| shown.success)
    }

    fn popup(&self, popup: &Popup<'_>) -> Option<Request> {
        Some(Request::new("window/showMessageRequest", self.popup_params(popup)))
    }

    fn pressed<'a>(&self, popup: &Popup<'a>, reply: &Value) -> Option<&'a Offer> {
        let item = reply.as_object()?;
        let title = item.get("title").and_then(Value::as_str);
        match (item.get("askId"), item.get("optionId")) {
            (None, None) => popup.buttons.iter().find(|offer| Some(offer.title.as_str()) == title),
            (of, id) => {
                let named = of.and_then(Value::as_str) == Some(popup.ask.0.as_str());
                let id = id.and_then(Value::as_str);
                popup.buttons.iter().find(|offer| {
                    named && id == Some(offer.id()) && title.is_none_or(|title| title == offer.title)
                })
            }
        }
    }

    fn edit(&self, label: String, edit: &DocumentEdit) -> Option<Request> {
        let annotation = self.annotations.then(|| label.clone());
        let edit = workspace_edit(std::slice::from_ref(edit), annotation);
        Some(Request::new("workspace/applyEdit", ApplyEdit { label, edit }))
    }

    fn file_edit(&self, edit: &FileEdit) -> Option<Request> {
        let FileEdit { label, uri, to } = edit;
        let mut operation = match to {
            Some(to) => json!({
                "kind": "rename",
                "oldUri": uri,
                "newUri": to,
                "options": { "overwrite": false, "ignoreIfExists": false },
            }),
            None => json!({
                "kind": "delete",
                "uri": uri,
                "options": { "recursive": false, "ignoreIfNotExists": false },
            }),
        };
        let mut params = json!({ "label": label, "edit": {} });
        if self.annotations {
            operation["annotationId"] = json!(ANNOTATION);
            params["edit"]["changeAnnotations"] = json!(annotation(label.clone()));
        }
        params["edit"]["documentChanges"] = json!([operation]);
        Some(Request::new("workspace/applyEdit", params))
    }

    fn applied(&self, reply: &str) -> ApplyReply {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct ApplyEditReply {
            applied: bool,
            failure_reason: Option<String>,
        }
        match serde_json::from_str::<ApplyEditReply>(reply) {
            Ok(reply) => ApplyReply { applied: reply.applied, reason: reply.failure_reason },
            // The text decides; an unreadable reply counts neither as yes nor as no.
            Err(error) => ApplyReply { applied: false, reason: Some(error.to_string()) },
        }
    }

    fn diagnostics(&self, document: &MarkedDocument) -> Option<Note> {
        let MarkedDocument { uri, version, diagnostics, hunks } = document;
        let mut diagnostics: Vec<Value> = diagnostics
            .iter()
            .map(|ask| {
                let mut diagnostic = diagnostic(ask.line, 3, &ask.message);
                if self.diagnostic_data {
                    diagnostic["data"] = json!({ "askId": ask.ask });
                }
                diagnostic
            })
            .collect();
        diagnostics.extend(hunks.iter().map(|hunk| {
            let mut diagnostic = diagnostic(hunk.line, HINT, &hunk.message);
            if self.diagnostic_data {
                diagnostic["data"] = json!({ "changeSetId": hunk.change_set, "hunkId": hunk.hunk });
            }
            diagnostic
        }));
        let mut params = json!({ "uri": uri, "diagnostics": diagnostics });
        if let Some(version) = version {
            params["version"] = json!(version);
        }
        Some(Note { method: "textDocument/publishDiagnostics", params })
    }

    fn refresh(&self, what: &RefreshTarget) -> Option<Request> {
        Some(match what {
            RefreshTarget::Lenses => Request::new("workspace/codeLens/refresh", Value::Null),
            RefreshTarget::TextBefore(document) => {
                let params = json!({ "uri": text_before::uri_of(document)? });
                Request::new("workspace/textDocumentContent/refresh", params)
            }
        })
    }

    fn progress(&self, token: &str) -> Option<Request> {
        Some(Request::new("window/workDoneProgress/create", json!({ "token": token })))
    }

    fn step(&self, token: &str, step: &Step) -> Option<Note> {
        let value = match step {
            Step::Begin { title, message } => {
                json!({ "kind": "begin", "title": title, "cancellable": true, "message": message })
            }
            Step::Report { message } => json!({ "kind": "report", "message": message }),
            Step::End { message } => json!({ "kind": "end", "message": message }),
        };
        Some(Note { method: "$/progress", params: json!({ "token": token, "value": value }) })
    }
}

impl Words {
    /// Returns the params of a popup. Its items carry their ids if the client returns items whole.
    fn popup_params(&self, popup: &Popup<'_>) -> Value {
        let item = |offer: &Offer| {
            let mut item = json!({ "title": offer.title });
            if self.item_properties {
                item["askId"] = json!(popup.ask);
                item["optionId"] = json!(offer.id());
            }
            item
        };
        let actions: Vec<Value> = popup.buttons.iter().map(item).collect();
        json!({ "type": 3, "message": message(popup.text), "actions": actions })
    }
}

/// Returns the edits of several documents in the form for a code action. `label` is for a client that shows whose edits they
/// are.
pub fn carried(edits: &[DocumentEdit], label: Option<String>) -> Value {
    serde_json::to_value(workspace_edit(edits, label)).unwrap_or_default()
}

/// The params of `workspace/applyEdit`, serialized directly from the edits, which may be large.
#[derive(Serialize)]
struct ApplyEdit {
    label: String,
    edit: WorkspaceEdit,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase", untagged)]
enum WorkspaceEdit {
    Changes {
        changes: BTreeMap<String, Arc<[TextEdit]>>,
    },
    #[serde(rename_all = "camelCase")]
    DocumentChanges {
        document_changes: Vec<DocumentChange>,
        #[serde(skip_serializing_if = "Option::is_none")]
        change_annotations: Option<BTreeMap<&'static str, ChangeAnnotation>>,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DocumentChange {
    text_document: Value,
    #[serde(serialize_with = "annotated")]
    edits: (Arc<[TextEdit]>, Option<&'static str>),
}

/// The label of edits, for a client that shows which edits are Adjutant's.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChangeAnnotation {
    label: String,
    /// The user was asked before, or allowed edits without a question.
    needs_confirmation: bool,
}

/// The id of the annotation of an edit: each message has one.
pub const ANNOTATION: &str = "adjutant";

/// Serializes edits, each with its annotation.
fn annotated<S: Serializer>(
    (edits, annotation): &(Arc<[TextEdit]>, Option<&'static str>),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct AnnotatedEdit<'e> {
        #[serde(flatten)]
        edit: &'e TextEdit,
        annotation_id: &'static str,
    }
    match annotation {
        None => edits.serialize(serializer),
        Some(annotation_id) => {
            serializer.collect_seq(edits.iter().map(|edit| AnnotatedEdit { edit, annotation_id }))
        }
    }
}

/// Returns edits with the versions of their documents, except for clients that do not support that. `label` is for a client
/// that shows whose edits they are.
fn workspace_edit(edits: &[DocumentEdit], label: Option<String>) -> WorkspaceEdit {
    if edits.iter().any(|edit| edit.unversioned) {
        let changes = edits.iter().map(|edit| (edit.uri.clone(), edit.edits.clone())).collect();
        return WorkspaceEdit::Changes { changes };
    }
    let change = |edit: &DocumentEdit| DocumentChange {
        text_document: json!({ "uri": edit.uri, "version": edit.version }),
        edits: (edit.edits.clone(), label.is_some().then_some(ANNOTATION)),
    };
    let document_changes = edits.iter().map(change).collect();
    WorkspaceEdit::DocumentChanges { document_changes, change_annotations: label.map(annotation) }
}

/// Returns the annotation with this label, by its id.
fn annotation(label: String) -> BTreeMap<&'static str, ChangeAnnotation> {
    BTreeMap::from([(ANNOTATION, ChangeAnnotation { label, needs_confirmation: false })])
}

/// The severity of a diagnostic that is only a mark.
const HINT: u8 = 4;

/// Returns a diagnostic of one line.
fn diagnostic(line: u32, severity: u8, text: &str) -> Value {
    json!({
        "range": {
            "start": { "line": line, "character": 0 },
            "end": { "line": line.saturating_add(1), "character": 0 },
        },
        "severity": severity,
        "source": SOURCE,
        "message": message(text),
    })
}

#[cfg(test)]
mod tests;
