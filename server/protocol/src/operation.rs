//! Changes of whole files: deleting and moving.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What is done with a file as a whole, as one hunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum FileOperation {
    Delete,
    /// The file gets this name.
    Move {
        uri: String,
        /// The new path as the user sees it.
        path: String,
    },
}
