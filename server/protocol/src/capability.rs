//! Capabilities that client and server exchange under `experimental.agent`.
//!
//! An absent capability is not supported. A plain client sends none, and Adjutant never sends it
//! a message of this protocol unasked.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The highest protocol version that this server supports.
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
    #[ts(optional, as = "Option<ClientReview>")]
    pub review: ClientReview,
    /// The client has a status line, and gets `agent/overview`.
    #[ts(optional, as = "Option<bool>")]
    pub overview: bool,
    /// The client shows a list of sessions, and gets `agent/session/changed` from its first `agent/session/list` on.
    #[ts(optional, as = "Option<bool>")]
    pub sessions: bool,
    #[ts(optional, as = "Option<ClientWorkspace>")]
    pub workspace: ClientWorkspace,
    #[ts(optional, as = "Option<ClientWindow>")]
    pub window: ClientWindow,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientWindow {
    /// The window of the user may be on another machine than the client, and the client answers `agent/window/reach`.
    #[ts(optional, as = "Option<bool>")]
    pub reach: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientWorkspace {
    /// The user has said that this workspace may be trusted.
    #[ts(optional, as = "Option<bool>")]
    pub trusted: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientReview {
    /// The client draws hunks in the text, and gets `agent/review/update`.
    #[ts(optional, as = "Option<bool>")]
    pub hunks: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientUpdates {
    /// The client wants text while it streams, not only finished items.
    #[ts(optional, as = "Option<bool>")]
    pub chunks: bool,
    /// Update kinds that the server must not send.
    #[ts(optional, as = "Option<Vec<String>>")]
    pub opt_out: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientAsks {
    /// The client answers `agent/session/request_permission`.
    #[ts(optional, as = "Option<bool>")]
    pub request: bool,
    /// The client shows the text of a popup as one line. A popup can then allow a diff or command of several
    /// lines only after the user has opened it.
    #[ts(optional, as = "Option<bool>")]
    pub popup_line: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientDocuments {
    /// The client answers `agent/document/save`.
    #[ts(optional, as = "Option<bool>")]
    pub save: bool,
    /// The client announces every open text document, so a file without `didOpen` is not open.
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
    /// For each feature, the surface that the server chose for this client (N19).
    pub fallbacks: BTreeMap<String, String>,
    pub limits: ServerLimits,
}

/// Content that a prompt may have in addition to text, as in the Agent Client Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct PromptCapabilities {
    /// Whether the server accepts images for a model that accepts them.
    pub image: bool,
    /// Whether the server accepts `resource` and `resource_link`.
    pub embedded_context: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerLimits {
    /// Bytes of the text of a prompt.
    pub max_prompt_bytes: u32,
    /// Number of images in one prompt.
    pub max_images: u32,
    /// Bytes of one image, before base64.
    pub max_image_bytes: u32,
    /// Bytes of all images of one prompt, in base64.
    pub max_images_encoded_bytes: u32,
    /// Requests that may wait for one session; a further request fails with `Overloaded`.
    pub max_queue: u32,
}
