//! Problems that an editor reports, as a client sends them with a start or a prompt.
//!
//! Never a diagnostic that Adjutant itself shows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::origin::Range;

/// A diagnostic of the editor. Adjutant ignores the fields that it does not use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct StartDiagnostic {
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub range: Option<Range>,
    /// As in LSP: 1 is an error, 4 a hint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub severity: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub code: Option<DiagnosticCode>,
}

/// The code of a diagnostic; some tools use numbers, others names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(untagged)]
pub enum DiagnosticCode {
    Number(i32),
    Name(String),
}

/// The problems that the editor reports in one document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DocumentDiagnostics {
    /// A `file:` URI in the workspace.
    pub uri: String,
    pub diagnostics: Vec<StartDiagnostic>,
}
