//! The place in the workspace from which a run was started. Asks and diagnostics appear there.
//!
//! Never used for an edit: the text may have moved since.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// A position in a document, as in LSP: zero-based, in units of the negotiated encoding.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS,
)]
pub struct Position {
    pub line: u32,
    pub character: u32,
}

/// A half-open range of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
pub struct Range {
    pub start: Position,
    pub end: Position,
}

/// The document and the lines where the user was.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
pub struct Origin {
    pub uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub range: Option<Range>,
}
