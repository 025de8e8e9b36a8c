//! Edits and saves on their way to this client, and what it says of them.
//!
//! Never touches a text, and takes no answer that makes no sense for a yes.

use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_core::display::one_line;
use adjutant_core::edit::TextEdit;
use adjutant_protocol::document::{DocumentSaveParams, DocumentSaveResult};
use adjutant_protocol::methods;
use serde_json::json;
use tokio::sync::mpsc;

use super::Doors;
use crate::editor::{Applied, DocumentEdit, NoAnswer, Question};

/// Characters of the name under which an editor lists an edit.
const MAX_LABEL: usize = 120;

impl Doors {
    /// Answers the questions of steps until nobody can ask any more.
    pub async fn serve_editor(self, mut questions: mpsc::Receiver<Question>) {
        while let Some(question) = questions.recv().await {
            let doors = self.clone();
            tokio::spawn(async move { doors.answer(question).await });
        }
    }

    async fn answer(&self, question: Question) {
        match question {
            Question::ApplyEdit { edit, mut answer } => {
                // Not asked any more: dropping the request withdraws it at the client.
                tokio::select! {
                    biased;
                    () = answer.closed() => {}
                    reply = self.apply(&edit) => { let _ = answer.send(reply); }
                }
            }
            Question::Save { uri, reason, mut answer } => {
                tokio::select! {
                    reply = self.save(uri, reason) => { let _ = answer.send(reply); }
                    () = answer.closed() => {}
                }
            }
        }
    }

    async fn apply(&self, edit: &DocumentEdit) -> Result<Applied, NoAnswer> {
        let params = ApplyEdit { label: one_line(&edit.label, MAX_LABEL), edit: workspace_edit(edit) };
        let reply = self.request("workspace/applyEdit", params).await?;
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Reply {
            applied: bool,
            failure_reason: Option<String>,
        }
        match serde_json::from_str::<Reply>(&reply) {
            Ok(reply) => Ok(Applied { applied: reply.applied, reason: reply.failure_reason }),
            // The text decides; a reply that makes no sense is no answer either way.
            Err(error) => Ok(Applied { applied: false, reason: Some(error.to_string()) }),
        }
    }

    async fn save(&self, uri: String, reason: String) -> Result<(), NoAnswer> {
        let params = DocumentSaveParams { uris: vec![uri.clone()], reason };
        let reply = self.request(methods::DOCUMENT_SAVE, params).await?;
        let result: DocumentSaveResult =
            serde_json::from_str(&reply).map_err(|error| NoAnswer::Refused(error.to_string()))?;
        match result.documents.into_iter().find(|document| document.uri == uri) {
            Some(document) if document.saved => Ok(()),
            Some(document) => {
                Err(NoAnswer::Refused(document.message.unwrap_or_else(|| "not saved".to_owned())))
            }
            None => Err(NoAnswer::Refused("the client did not name the document".to_owned())),
        }
    }
}

/// Returns an edit as a code action carries it.
pub fn carried(edit: &DocumentEdit) -> serde_json::Value {
    serde_json::to_value(workspace_edit(edit)).unwrap_or_default()
}

/// An edit as the client is asked to make it; written straight from the edits, which may be large.
#[derive(serde::Serialize)]
struct ApplyEdit {
    label: String,
    edit: WorkspaceEdit,
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
enum WorkspaceEdit {
    Changes(BTreeMap<String, Arc<[TextEdit]>>),
    DocumentChanges(Vec<DocumentChange>),
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct DocumentChange {
    text_document: serde_json::Value,
    edits: Arc<[TextEdit]>,
}

/// Always in its version, but for a client that has refused that form.
fn workspace_edit(edit: &DocumentEdit) -> WorkspaceEdit {
    let edits = edit.edits.clone();
    if edit.unversioned {
        return WorkspaceEdit::Changes([(edit.uri.clone(), edits)].into());
    }
    let text_document = json!({ "uri": edit.uri, "version": edit.version });
    WorkspaceEdit::DocumentChanges(vec![DocumentChange { text_document, edits }])
}
