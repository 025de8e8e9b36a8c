//! What settings there are, for editors that complete and check them.
//!
//! Never contains a value of the user.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Params of `agent/config/schema`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ConfigSchemaParams {}

/// Result of `agent/config/schema`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConfigSchemaResult {
    /// The JSON Schema (draft 7) of an editor's settings section `adjutant`, as JSON text. Its descriptions are Markdown. Keys that
    /// only the user's own settings file may set, and those that change nothing in an editor, are not in it.
    pub schema_text: String,
}
