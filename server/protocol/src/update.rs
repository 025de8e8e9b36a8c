//! Updates: what the server tells a client while a session lives.
//!
//! Every item is an upsert by id; chunks append; the finished item is authoritative.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::ask::{AskView, Resolution};
use crate::option::{ConfigChange, ConfigOption};
use crate::origin::Origin;
use crate::session::{RunEnd, UsageView};
use crate::state::StateView;
use crate::{AskId, ChangeSetId, MessageId, RunId, SessionId, ToolCallId};

/// Params of `agent/session/update`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionUpdateParams {
    pub session_id: SessionId,
    /// One more for each lasting update; ephemeral ones carry the last with `sub`.
    #[ts(type = "number")]
    pub seq: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub sub: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub run_id: Option<RunId>,
    pub update: Update,
}

/// The kinds of update. A name with `_` is ours, the others are ACP's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Update {
    UserMessage {
        message_id: MessageId,
        text: String,
        /// What images it had; what they show is not told again.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(optional, as = "Option<Vec<ImageView>>")]
        images: Vec<ImageView>,
    },
    AgentMessage {
        message_id: MessageId,
        text: String,
        /// The stream broke off here; the next attempt replaces this item.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        interrupted: bool,
    },
    /// Ephemeral.
    AgentMessageChunk {
        message_id: MessageId,
        text: String,
    },
    AgentThought {
        message_id: MessageId,
        text: String,
    },
    /// Ephemeral.
    AgentThoughtChunk {
        message_id: MessageId,
        text: String,
    },
    ToolCallUpdate(ToolCallView),
    /// Ephemeral.
    ToolCallContentChunk {
        tool_call_id: ToolCallId,
        text: String,
    },
    /// Ephemeral where it has a `sub`: a state that only passes.
    StateUpdate(StateView),
    /// Ephemeral: something the user should know that is no item.
    Notice {
        message: String,
    },
    /// A choice for the session changed: all options, and which it was.
    ConfigOptionUpdate {
        config_options: Vec<ConfigOption>,
        changed: ConfigChange,
    },
    #[serde(rename = "_turn")]
    Turn(TurnView),
    #[serde(rename = "_run")]
    Run(RunView),
    /// The model said the task is complete; at most one per run.
    #[serde(rename = "_complete")]
    Complete {
        summary: String,
    },
    #[serde(rename = "_ask")]
    Ask(AskChange),
    #[serde(rename = "_change_set")]
    ChangeSet(ChangeSetView),
    /// A standing answer was recorded; the text says what it allows.
    #[serde(rename = "_rule")]
    Rule {
        text: String,
    },
}

impl Update {
    /// Every kind with its lasting or ephemeral nature; the table in `docs/protocol.md`.
    pub const KINDS: [(&'static str, bool); 16] = [
        ("user_message", true),
        ("agent_message", true),
        ("agent_message_chunk", false),
        ("agent_thought", true),
        ("agent_thought_chunk", false),
        ("tool_call_update", true),
        ("tool_call_content_chunk", false),
        ("state_update", true),
        ("notice", false),
        ("config_option_update", true),
        ("_turn", true),
        ("_run", true),
        ("_complete", true),
        ("_ask", true),
        ("_change_set", true),
        ("_rule", true),
    ];

    /// The name of this kind on the wire.
    pub fn kind(&self) -> &'static str {
        match self {
            Update::UserMessage { .. } => "user_message",
            Update::AgentMessage { .. } => "agent_message",
            Update::AgentMessageChunk { .. } => "agent_message_chunk",
            Update::AgentThought { .. } => "agent_thought",
            Update::AgentThoughtChunk { .. } => "agent_thought_chunk",
            Update::ToolCallUpdate(_) => "tool_call_update",
            Update::ToolCallContentChunk { .. } => "tool_call_content_chunk",
            Update::StateUpdate(_) => "state_update",
            Update::Notice { .. } => "notice",
            Update::ConfigOptionUpdate { .. } => "config_option_update",
            Update::Turn(_) => "_turn",
            Update::Run(_) => "_run",
            Update::Complete { .. } => "_complete",
            Update::Ask(_) => "_ask",
            Update::ChangeSet(_) => "_change_set",
            Update::Rule { .. } => "_rule",
        }
    }
}

/// An image of a prompt, without what it shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ImageView {
    pub mime_type: String,
    /// Its length before base64.
    #[ts(type = "number")]
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    Pending,
    InProgress,
    Completed,
    Failed,
    Cancelled,
    #[serde(rename = "_denied")]
    Denied,
    /// The server stopped while it ran; whether it took effect may be unknown.
    #[serde(rename = "_interrupted")]
    Interrupted,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallView {
    pub tool_call_id: ToolCallId,
    /// The tool's name as the model knows it.
    pub tool: String,
    pub title: String,
    pub status: ToolStatus,
    /// One line on the result, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub summary: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub elapsed_ms: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct TurnView {
    /// Counts from 1 within the session.
    pub turn: u32,
    pub phase: TurnPhase,
    pub attempt: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub usage: Option<UsageView>,
    /// Of a failed attempt or turn: what kind of failure it was (S115).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub failure: Option<FailureKind>,
    /// Of a failed attempt or turn, and of a model that took over: what happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub message: Option<String>,
    /// Of a model that took over: `provider/model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub model: Option<String>,
    /// Of a failed attempt: when the next one starts, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub retry_at: Option<u64>,
}

/// Why a call of the model failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Too many requests for now.
    RateLimited,
    /// The provider has trouble.
    Overloaded,
    /// No connection, or it was lost.
    Network,
    /// The answer did not begin, stood still, or took too long.
    TimedOut,
    /// The stream broke off or made no sense.
    Broken,
    /// The key is missing or was refused.
    Auth,
    /// The credit is used up.
    Quota,
    /// The conversation does not fit the window of the model.
    ContextExceeded,
    /// The provider does not know the model.
    ModelNotFound,
    /// The request or the settings are wrong.
    InvalidRequest,
    /// The server stopped meanwhile.
    Interrupted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum TurnPhase {
    Started,
    AttemptFailed,
    /// The retries of one model are over, and another goes on with the same turn (S113).
    ModelReplaced,
    Failed,
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "phase", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum RunView {
    Started {
        run_id: RunId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        continues: Option<RunId>,
        /// `provider/model`.
        model: String,
        /// The model of the run before in this session, where that was another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        previous_model: Option<String>,
        /// Its first call waits until then, as the user chose; milliseconds since the Unix epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional, type = "number")]
        not_before: Option<u64>,
        /// What a start is called, else the first line of the prompt; at most 80 characters.
        #[serde(default)]
        title: String,
        /// Where it was started from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        origin: Option<Origin>,
    },
    Ended {
        run_id: RunId,
        end: RunEnd,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "phase", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AskChange {
    Opened { ask: Box<AskView> },
    Closed { ask_id: AskId, resolution: Resolution },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum HunkState {
    Proposed,
    /// Allowed and on its way.
    Applying,
    /// In the text.
    Applied,
    Rejected,
    /// Sent, and not found in the text afterwards.
    NotApplied,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChangeSetView {
    pub change_set_id: ChangeSetId,
    pub tool_call_id: ToolCallId,
    pub uri: String,
    pub path: String,
    pub hunks: Vec<HunkView>,
    /// What the user has to know of the change, for example that the file runs on build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub mark: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct HunkView {
    pub hunk_id: String,
    pub state: HunkState,
    /// Lines it takes out.
    pub removed: u32,
    /// Lines it puts in.
    pub inserted: u32,
}
