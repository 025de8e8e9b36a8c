//! What the next request of a session holds, and the wish to make the conversation smaller.
//!
//! Never says what the request should hold: the server does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::session::SpentView;
use crate::{RunId, SessionId};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionContextParams {
    pub session_id: SessionId,
    /// Whether the answer has the texts of the sections, too.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub texts: bool,
}

/// What the next request of a session holds, in the order of the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionContextResult {
    /// `provider/model`: the model of the open run, else of the next.
    pub model: String,
    /// Tokens of the whole request; an estimate that learns from what the provider counts.
    #[ts(type = "number")]
    pub tokens: u64,
    /// The most tokens of a conversation with this model. For a model that nobody has described, the least of most models.
    pub context_size: u32,
    pub sections: Vec<ContextSection>,
    pub tools: Vec<ContextTool>,
    /// What the session has used so far.
    pub spent: SpentView,
}

/// A part of the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ContextSection {
    /// Also its name in the setting `prompt.off`, if it can be switched off.
    pub name: String,
    /// Where it is from: Adjutant, the editor, this machine, or the path of a file.
    pub source: String,
    pub lifetime: ContextLifetime,
    /// Bytes of its text.
    #[ts(type = "number")]
    pub bytes: u64,
    /// About how many tokens it has.
    #[ts(type = "number")]
    pub tokens: u64,
    /// Whether the setting `prompt.off` keeps it out of the request. It has no text then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub off: bool,
    /// Its text, if it was asked for. Hidden characters are as the model gets them. The conversation and the tools have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub text: Option<String>,
}

/// When a part of the request can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum ContextLifetime {
    /// With the version of Adjutant.
    Version,
    /// With the session, its mode or its model.
    Session,
    /// When a run begins.
    Run,
    /// It only grows, until it is compacted.
    Grows,
    /// With every request. It comes last and is no part of the conversation.
    Turn,
}

/// A tool that a model can get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ContextTool {
    pub name: String,
    /// About how many tokens its description has.
    #[ts(type = "number")]
    pub tokens: u64,
    /// Why the request does not have it; absent if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub hidden: Option<String>,
}

/// The conversation is made smaller: by the run that does nothing else, or by the open run before its next turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionCompactResult {
    pub run_id: RunId,
}
