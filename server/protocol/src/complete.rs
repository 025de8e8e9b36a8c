//! What can be completed in a prompt that is being written: mentions after `@`, and commands after `/`.
//!
//! Never a text for the model; the server reads what is mentioned when the prompt is sent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PromptCompleteParams {
    /// The whole prompt so far.
    pub text: String,
    /// Where the cursor is, from the beginning of the text, in units of the negotiated position encoding.
    pub offset: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct PromptCompleteResult {
    /// Where the text begins that an item replaces; it ends at the cursor.
    pub start: u32,
    /// The best first, at most 50; empty where nothing can be completed.
    pub items: Vec<PromptItem>,
    /// Whether the next letter may bring items that are not here, so that the client asks again.
    pub incomplete: bool,
}

/// Something that a prompt can have at the cursor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct PromptItem {
    /// What a list shows.
    pub label: String,
    /// The text that replaces what was typed.
    pub insert: String,
    pub kind: PromptItemKind,
    /// One line about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub detail: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum PromptItemKind {
    File,
    Folder,
    /// A mention that names no path, such as `@diff`.
    Mention,
    /// A slash command.
    Command,
}
