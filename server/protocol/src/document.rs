//! Requests about documents that LSP does not have.
//!
//! Edits use `workspace/applyEdit`, never a method of this protocol.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Params of `agent/document/save` (to the client).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct DocumentSaveParams {
    pub uris: Vec<String>,
    /// Why the server asks, for the user.
    pub reason: String,
}

/// Params of `agent/window/reach` (to the client).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct WindowReachParams {}

/// The window of the user has been reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct WindowReachResult {}

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
    /// Why the client did not save it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub message: Option<String>,
}
