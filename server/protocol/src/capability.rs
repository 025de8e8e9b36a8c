//! What client and server tell each other under `experimental.agent`.
//!
//! Absent means not supported; a plain client sends nothing and gets nothing of ours.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The highest protocol version this server speaks.
pub const VERSION: u32 = 0;

/// `capabilities.experimental.agent` of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientAgentCapabilities {
    #[ts(optional, as = "Option<u32>")]
    pub version: u32,
    #[ts(optional, as = "Option<ClientUpdates>")]
    pub updates: ClientUpdates,
    #[ts(optional, as = "Option<ClientAsks>")]
    pub asks: ClientAsks,
    #[ts(optional, as = "Option<ClientDocuments>")]
    pub documents: ClientDocuments,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientUpdates {
    /// Wants text while it streams, not only finished items.
    #[ts(optional, as = "Option<bool>")]
    pub chunks: bool,
    /// Update kinds never to be sent.
    #[ts(optional, as = "Option<Vec<String>>")]
    pub opt_out: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientAsks {
    /// Answers `agent/session/request_permission`.
    #[ts(optional, as = "Option<bool>")]
    pub request: bool,
    /// Shows the text of a popup as one line; what has several lines is then not allowed from there
    /// before it was shown.
    #[ts(optional, as = "Option<bool>")]
    pub popup_line: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientDocuments {
    /// Answers `agent/document/save`.
    #[ts(optional, as = "Option<bool>")]
    pub save: bool,
    /// Announces every open text document, so that a file without `didOpen` is not open.
    #[ts(optional, as = "Option<bool>")]
    pub complete: bool,
}

/// `capabilities.experimental.agent` of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerAgentCapabilities {
    pub version: u32,
    pub session_methods: Vec<String>,
    pub update_kinds: Vec<String>,
    pub modes: Vec<String>,
    pub prompt_capabilities: PromptCapabilities,
    /// Feature to the surface chosen for this client (N19).
    pub fallbacks: BTreeMap<String, String>,
    pub limits: ServerLimits,
}

/// What a prompt may hold beside text, as in the Agent Client Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct PromptCapabilities {
    /// Whether images are taken where the model takes them.
    pub image: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerLimits {
    /// Of the text of a prompt.
    pub max_prompt_bytes: u32,
    /// Images of one prompt.
    pub max_images: u32,
    /// Of one image, before base64.
    pub max_image_bytes: u32,
    /// Of all images of one prompt, in base64.
    pub max_images_encoded_bytes: u32,
    /// Requests one session keeps waiting before it answers `Overloaded`.
    pub max_queue: u32,
}
