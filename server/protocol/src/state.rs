//! The state of a session as users and clients see it.
//!
//! The server computes it; a client never derives it from other updates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::ask::AskKind;
use crate::{AskId, RunId};

/// The only source of state. The server sends it on every change and in every snapshot (L13).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct StateView {
    pub state: State,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub sub: Option<SubState>,
    /// Milliseconds since the Unix epoch at which this state began.
    #[ts(type = "number")]
    pub since: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub run_id: Option<RunId>,
    /// Open asks, oldest first.
    pub asks: Vec<AskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub ask_kind: Option<AskKind>,
    pub required_action: RequiredAction,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub stop_reason: Option<StopReason>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The session has no prompt yet.
    None,
    Running,
    /// The run waits for an answer.
    RequiresAction,
    /// The last run is over.
    Idle,
    /// The server stopped during a run, and the user has not yet resumed or discarded it.
    Resumable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum SubState {
    /// The server inspects the subject of a tool call before it decides about the call.
    Preparing,
    /// The server called the model, and the reply has not begun.
    Model,
    Streaming,
    /// The model summarises a part of the conversation, which fills its context.
    Compacting,
    /// The model has sent nothing since `since`; the server waits within its limits.
    Stalled,
    Tools,
    /// An attempt failed, or the user chose to wait; the next attempt starts later.
    Retrying,
    Completed,
    Stopped,
    Failed,
    Limit,
    Cancelled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum RequiredAction {
    None,
    Start,
    Answer,
    ResumeOrDiscard,
    NewTask,
    RetryOrNewTask,
    ContinueOrNewTask,
}

/// Why a run ended. Reasons with `_` are Adjutant's; the others come from the Agent Client Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    MaxTokens,
    MaxTurnRequests,
    /// A limit of tokens or of money is used up.
    #[serde(rename = "_budget")]
    Budget,
    Refusal,
    Cancelled,
    #[serde(rename = "_failed")]
    Failed,
    #[serde(rename = "_mistakes")]
    Mistakes,
    /// The model called `fail`.
    #[serde(rename = "_gave_up")]
    GaveUp,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The model reported that the task is complete.
    Completed,
    /// The model stopped without such a report.
    Stopped,
    Failed,
    /// A limit was reached; the idle ask says which.
    Limit,
    Cancelled,
}
