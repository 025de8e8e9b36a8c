//! Starting work from what the editor shows: params and result of `agent/start`.
//!
//! The same object is the argument of the command `adjutant.start`. Holds no
//! words for the model; they are made in the core.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::origin::Range;
use crate::session::Disposition;
use crate::{RunId, SessionId};

/// What is to be done at a place; without one, the text says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Template {
    /// Mend what the diagnostics say.
    Fix,
    /// Say what is there; changes nothing.
    Explain,
    WriteTests,
    /// Do what the comment at the place says.
    Comment,
}

/// A diagnostic as the editor has it; what we do not use of it is passed over.
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

/// The code of a diagnostic: a number for some tools, a name for others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(untagged)]
pub enum DiagnosticCode {
    Number(i32),
    Name(String),
}

/// Params of `agent/start`: a template or a text, and the place it is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StartParams {
    /// Absent: a new session.
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
    /// In the encoding that was agreed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub range: Option<Range>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<StartDiagnostic>>")]
    pub diagnostics: Vec<StartDiagnostic>,
    /// The name of what the range is in: a function, a type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub symbol: Option<String>,
    /// What is to be done, or what the user adds to the template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub text: Option<String>,
    /// Same key and body: the first result again.
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
