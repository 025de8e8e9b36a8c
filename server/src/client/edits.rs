//! Edits and saves that this client is asked to make, and its replies.
//!
//! Never touches a text, and never counts an unreadable reply as a yes.

use std::sync::atomic::Ordering;

use adjutant_core::text::display::one_line;
use adjutant_protocol::document::{DocumentSaveParams, DocumentSaveResult};
use adjutant_protocol::methods;

use super::ClientLink;
use super::face::Request;
use crate::editor::{Abilities, ApplyReply, DocumentEdit, FileEdit, NoAnswer};

/// Characters of the name under which an editor lists an edit.
const MAX_LABEL: usize = 120;

impl ClientLink {
    /// What the client can do, by its capabilities and its replies so far.
    pub fn abilities(&self) -> Abilities {
        Abilities { edit_unknown: self.edit_unknown.load(Ordering::Acquire), ..self.surfaces.abilities }
    }

    /// Sends one edit and waits for the client's reply. Dropping the future withdraws the edit.
    pub async fn edit(&self, edit: DocumentEdit) -> Result<ApplyReply, NoAnswer> {
        let reply = match self.face.edit(one_line(&edit.label, MAX_LABEL), &edit) {
            Some(request) => self.request(request).await,
            None => Err(NoAnswer::Unknown),
        };
        if reply == Err(NoAnswer::Unknown) {
            self.edit_unknown.store(true, Ordering::Release);
        }
        reply.map(|reply| self.face.applied(&reply))
    }

    /// Sends the deletion or the move of a file and waits for the client's reply. Dropping the future withdraws it.
    pub async fn file_edit(&self, edit: FileEdit) -> Result<ApplyReply, NoAnswer> {
        let edit = FileEdit { label: one_line(&edit.label, MAX_LABEL), ..edit };
        match self.face.file_edit(&edit) {
            Some(request) => self.request(request).await.map(|reply| self.face.applied(&reply)),
            None => Err(NoAnswer::Unknown),
        }
    }

    /// Asks the client to save one document. Dropping the future withdraws the request.
    pub async fn save(&self, uri: &str, reason: &str) -> Result<(), NoAnswer> {
        let params = DocumentSaveParams { uris: vec![uri.to_owned()], reason: reason.to_owned() };
        let reply = self.request(Request::new(methods::DOCUMENT_SAVE, params)).await?;
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
