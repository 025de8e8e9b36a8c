//! Requests about documents that LSP lacks.
//!
//! Edits themselves travel by `workspace/applyEdit`, never by a method of ours.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Params of `agent/document/save` (to the client).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct DocumentSaveParams {
    pub uris: Vec<String>,
    /// For the user: why the server asks.
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct DocumentSaveResult {
    pub documents: Vec<SavedDocument>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct SavedDocument {
    pub uri: String,
    pub saved: bool,
    /// Why it was not saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub message: Option<String>,
}
