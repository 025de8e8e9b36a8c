//! Starting work from what the editor shows: params and result of `agent/start`.
//!
//! The same object is the argument of the command `adjutant.start`. Never contains
//! text for the model; `adjutant-core` writes that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::origin::Range;
pub use crate::problem::{DiagnosticCode, StartDiagnostic};
use crate::session::{ContentBlock, Disposition};
use crate::{RunId, SessionId};

/// The task at a place; without a template, `text` describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Template {
    /// Fix the problems that the diagnostics report.
    Fix,
    /// Explain the code; changes nothing.
    Explain,
    WriteTests,
    /// Do what the comment at this place asks for.
    Comment,
}

/// Params of `agent/start`: a template or a text, and the place in the document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StartParams {
    /// If absent, the server creates a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub session_id: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub template: Option<Template>,
    /// A `file:` URI in the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub uri: Option<String>,
    /// In the negotiated position encoding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub range: Option<Range>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<StartDiagnostic>>")]
    pub diagnostics: Vec<StartDiagnostic>,
    /// The name of the function, type or other symbol that contains the range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub symbol: Option<String>,
    /// The task, or what the user adds to the template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub text: Option<String>,
    /// What goes along with the text: images, links to files and texts; no block of the type `text`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<ContentBlock>>")]
    pub attach: Vec<ContentBlock>,
    /// A second request with the same key and body gets the first result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub key: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct StartResult {
    pub session_id: SessionId,
    pub run_id: RunId,
    /// Milliseconds since the Unix epoch.
    #[ts(type = "number")]
    pub accepted_at: u64,
    pub disposition: Disposition,
}
