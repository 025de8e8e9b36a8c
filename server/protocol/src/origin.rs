//! Where in the workspace a run was started from, to show things there again.
//!
//! Never used to edit: the text may have moved since.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// A place in a document, as LSP counts: zero-based, in units of the agreed encoding.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS,
)]
pub struct Position {
    pub line: u32,
    pub character: u32,
}

/// A half-open stretch of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
pub struct Range {
    pub start: Position,
    pub end: Position,
}

/// The document and the lines the user was at.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
pub struct Origin {
    pub uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub range: Option<Range>,
}
