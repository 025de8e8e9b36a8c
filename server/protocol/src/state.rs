//! The state of a session as users and clients are told of it.
//!
//! Computed by the loop, never guessed by a client.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::ask::AskKind;
use crate::{AskId, RunId};

/// The one source of state; sent on every change and part of every snapshot (L13).
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
    /// Nobody has prompted yet.
    None,
    Running,
    /// The run waits for an answer.
    RequiresAction,
    /// The last run is over.
    Idle,
    /// The server stopped during a run, and nobody has said what to do with it.
    Resumable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum SubState {
    /// A tool call is being looked at before it is judged.
    Preparing,
    /// The model was asked and has not begun to answer.
    Model,
    Streaming,
    /// The model has sent nothing for a while, since `since`; it is waited for within the limits.
    Stalled,
    Tools,
    /// An attempt failed, or the user chose to wait; the next one waits.
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

/// Why a run ended: the stop reasons of the Agent Client Protocol, and ours with `_`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    MaxTokens,
    MaxTurnRequests,
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
    /// The model said the task is complete.
    Completed,
    /// The model stopped without saying so.
    Stopped,
    Failed,
    /// A limit was reached; the idle ask says which.
    Limit,
    Cancelled,
}
