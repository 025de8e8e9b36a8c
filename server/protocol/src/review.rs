//! The review of edits: hunks, and decisions about them one by one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::update::HunkState;
use crate::{AskId, ChangeSetId, RunId, SessionId, ToolCallId};

/// Params of `agent/review/list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewListParams {
    pub session_id: SessionId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReviewListResult {
    /// The hunks of the edits that wait for an answer or are on their way, in the order of their calls.
    pub hunks: Vec<ReviewHunk>,
}

/// One reviewable group of lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReviewHunk {
    pub change_set_id: ChangeSetId,
    pub hunk_id: String,
    pub state: HunkState,
    pub uri: String,
    /// The path as the user sees it.
    pub path: String,
    /// The first line that it replaces, from zero, in the text for which it was proposed.
    pub line: u32,
    /// The lines that it removes, with their line ends.
    pub removed: String,
    /// The lines that it inserts, with their line ends.
    pub inserted: String,
    /// The hunk as a unified diff with its context.
    pub diff: String,
    pub run_id: RunId,
    /// The calls that made it.
    pub tool_call_ids: Vec<ToolCallId>,
    /// The ask that it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub ask_id: Option<AskId>,
}

/// What is done with hunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum ReviewAction {
    /// Apply proposed hunks.
    Apply,
    /// Reject proposed hunks; the model gets the reason.
    Reject,
}

/// Hunks of one change set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewTarget {
    pub change_set_id: ChangeSetId,
    /// Without ids, all of its hunks that wait for an answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub hunk_ids: Vec<String>,
}

/// Params of `agent/review/decide`. All targets are decided, or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewDecideParams {
    pub session_id: SessionId,
    pub targets: Vec<ReviewTarget>,
    pub action: ReviewAction,
    /// Why hunks are rejected, in the user's own words.
    #[serde(default)]
    #[ts(optional)]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReviewDecideResult {
    /// The decided hunks, each with the state that the decision gave it.
    pub hunks: Vec<DecidedHunk>,
}

/// A hunk after a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct DecidedHunk {
    pub change_set_id: ChangeSetId,
    pub hunk_id: String,
    pub state: HunkState,
}
