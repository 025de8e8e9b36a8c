//! Updates: what the server sends to clients about a session.
//!
//! Every item is an upsert by its id. Chunks append; the finished item replaces them. Never contains logic.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::ask::{AskView, Resolution};
use crate::operation::FileOperation;
use crate::option::{ConfigChange, ConfigOption};
use crate::origin::{Origin, Range};
use crate::plan::PlanEntry;
use crate::session::{ContextUsage, CostView, RunEnd, UsageView};
use crate::state::StateView;
use crate::{AskId, ChangeSetId, MessageId, RunId, SessionId, ToolCallId};

/// Params of `agent/session/update`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionUpdateParams {
    pub session_id: SessionId,
    /// Each lasting update has the next number. An ephemeral update has the last number, and a `sub`.
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

/// The kinds of update. A name with `_` is Adjutant's; the others come from the Agent Client Protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Update {
    UserMessage {
        message_id: MessageId,
        text: String,
        /// The images of the message, without their content.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(optional, as = "Option<Vec<ImageView>>")]
        images: Vec<ImageView>,
        /// What the user attached, each as a short name; its lines are in `added`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(optional, as = "Option<Vec<String>>")]
        attached: Vec<String>,
        /// The end of `text` that the user did not write: the place and the problems that the editor added, and what the user attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        added: Option<String>,
    },
    AgentMessage {
        message_id: MessageId,
        text: String,
        /// The stream ended here too early; the next attempt replaces this item.
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
    /// Ephemeral if it has a `sub`: such a state is short-lived.
    StateUpdate(StateView),
    /// Ephemeral: a message for the user that belongs to no item.
    Notice {
        message: String,
    },
    /// A config option of the session changed: all options, and the change.
    ConfigOptionUpdate {
        config_options: Vec<ConfigOption>,
        changed: ConfigChange,
    },
    /// The plan of the task, whole; empty if it was taken away.
    PlanUpdate {
        entries: Vec<PlanEntry>,
    },
    /// The conversation that the model reads was made smaller; what the user reads stays.
    CompactionUpdate(CompactionView),
    /// Ephemeral: how full the context of the model is.
    UsageUpdate(ContextUsage),
    #[serde(rename = "_turn")]
    Turn(TurnView),
    #[serde(rename = "_run")]
    Run(RunView),
    /// The model reported that the task is complete; at most one per run.
    #[serde(rename = "_complete")]
    Complete {
        summary: String,
        /// Whether the last text of the model says the same; it is not drawn again (S104).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[ts(optional, as = "Option<bool>")]
        said: bool,
    },
    #[serde(rename = "_ask")]
    Ask(AskChange),
    #[serde(rename = "_change_set")]
    ChangeSet(ChangeSetView),
    /// The user allowed something for the rest of the session; the text says what.
    #[serde(rename = "_rule")]
    Rule {
        text: String,
    },
}

impl Update {
    /// Every kind, and whether it is lasting. A table in `docs/protocol.md` is generated from it.
    pub const KINDS: [(&'static str, bool); 19] = [
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
        ("plan_update", true),
        ("compaction_update", true),
        ("usage_update", false),
        ("_turn", true),
        ("_run", true),
        ("_complete", true),
        ("_ask", true),
        ("_change_set", true),
        ("_rule", true),
    ];

    /// Returns the name of this kind on the wire.
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
            Update::PlanUpdate { .. } => "plan_update",
            Update::CompactionUpdate(_) => "compaction_update",
            Update::UsageUpdate(_) => "usage_update",
            Update::Turn(_) => "_turn",
            Update::Run(_) => "_run",
            Update::Complete { .. } => "_complete",
            Update::Ask(_) => "_ask",
            Update::ChangeSet(_) => "_change_set",
            Update::Rule { .. } => "_rule",
        }
    }
}

/// An image of a prompt, without its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ImageView {
    pub mime_type: String,
    /// Its size before base64.
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
    /// The server stopped while the call ran; its effect may be unknown.
    #[serde(rename = "_interrupted")]
    Interrupted,
}

/// What a tool does, for an icon; the names are those of the Agent Client Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    Other,
}

/// A file of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct FileLocation {
    pub uri: String,
    /// Whole lines, as they were when the call read or changed them; absent for the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub range: Option<Range>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallView {
    pub tool_call_id: ToolCallId,
    /// The name of the tool, as the model uses it.
    pub tool: String,
    pub title: String,
    pub kind: ToolKind,
    pub status: ToolStatus,
    /// The files that it changes, and at the end of a read those that it read; at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<FileLocation>>")]
    pub locations: Vec<FileLocation>,
    /// The beginning of its arguments for people, at most 1,000 characters. Hidden characters are escaped.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[ts(optional, as = "Option<String>")]
    pub arguments_text: String,
    /// Whether it only looks or thinks, and nothing has gone wrong with it so far: a brief view leaves it out (S102).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub minor: bool,
    /// One line about the result; absent while there is none.
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
    /// What that costs; absent if the settings have no price of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub cost: Option<CostView>,
    /// The kind of failure, for a failed attempt or turn (S115).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub failure: Option<FailureKind>,
    /// What happened, for a failed attempt or turn and for a change to a fallback model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub message: Option<String>,
    /// The fallback model that continues, as `provider/model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub model: Option<String>,
    /// When the next attempt starts after a failed one, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub retry_at: Option<u64>,
    /// For a turn that began: the first part of its request that is not as in the request before, so that the provider's cache
    /// ends there (S70).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub cache_break: Option<CacheBreak>,
    /// Whether the turn only asks for a summary of the conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub compacts: bool,
}

/// A part of a request that changed, although it stands before the new messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum CacheBreak {
    Model,
    Tools,
    Mode,
    /// Instructions, memory or skills.
    Instructions,
    /// Earlier messages, by a compaction.
    History,
}

/// The conversation was made smaller, or is about to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct CompactionView {
    pub compaction_id: MessageId,
    /// One line that says what happened.
    pub title: String,
    pub kind: CompactionKind,
    pub status: CompactionStatus,
    /// Tokens of the next request without it; an estimate.
    #[ts(type = "number")]
    pub before: u64,
    /// Tokens of the next request with it; an estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub after: Option<u64>,
    /// What the model reads in place of the earlier messages. The user can still read those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub text: Option<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub message: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum CompactionKind {
    /// Large old outputs of tools became placeholders.
    Outputs,
    /// A summary of the model replaces earlier messages.
    Summary,
    /// A list of what was done replaces earlier messages, because no model could summarise them.
    Cut,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum CompactionStatus {
    InProgress,
    Completed,
    Failed,
}

/// Why a model call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Too many requests for now.
    RateLimited,
    /// The provider reports a server error or too much load.
    Overloaded,
    /// No connection, or it was lost.
    Network,
    /// The answer did not begin, paused too long, or took too long as a whole.
    TimedOut,
    /// The stream ended too early, or could not be parsed.
    Broken,
    /// The key is missing, or the provider refused it.
    Auth,
    /// The credit is used up.
    Quota,
    /// The conversation is longer than the context window of the model.
    ContextExceeded,
    /// The provider does not know the model.
    ModelNotFound,
    /// The request or the settings are wrong.
    InvalidRequest,
    /// The server stopped during the call.
    Interrupted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum TurnPhase {
    Started,
    AttemptFailed,
    /// All attempts of one model failed, and a fallback model continues the same turn (S113).
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
        /// The model of the previous run in this session; absent if it is the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        previous_model: Option<String>,
        /// The first model call waits until this time, as the user chose; milliseconds since the Unix epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional, type = "number")]
        not_before: Option<u64>,
        /// The title of an `agent/start`, else the first line of the prompt; at most 80 characters.
        #[serde(default)]
        title: String,
        /// The place from which the run was started.
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
    Opened {
        ask: Box<AskView>,
    },
    /// A part of it was decided; `ask` shows what is left.
    Changed {
        ask: Box<AskView>,
    },
    Closed {
        ask_id: AskId,
        resolution: Resolution,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum HunkState {
    Proposed,
    /// Allowed; the edit is being applied.
    Applying,
    /// The text has the edit.
    Applied,
    Rejected,
    /// The edit was sent, but the text does not have it.
    NotApplied,
    /// In the text, with other lines in its place: the user changed it.
    Amended,
    /// In the text, and the user wants it.
    Kept,
    /// Only in the reply to a decision: it was not carried out, because another text than the one that was shown is in its
    /// place. The hunk is as it was.
    Conflicted,
    /// On its way out of the text.
    Undoing,
    /// Taken out of the text; it can be restored.
    Undone,
    /// Its text is not in the file now: it is on another branch or in the stash, or neither its lines nor those around them are
    /// there. It is back when the text is.
    Away,
}

impl HunkState {
    /// Returns where it stands in a list, by how much it needs a look: first those with text of the user, then those that wait
    /// for an answer or are on their way, then all others.
    pub fn rank(self) -> u8 {
        match self {
            HunkState::Conflicted | HunkState::Amended => 0,
            HunkState::Proposed | HunkState::Applying => 1,
            HunkState::Applied
            | HunkState::Undoing
            | HunkState::Kept
            | HunkState::Undone
            | HunkState::NotApplied
            | HunkState::Away
            | HunkState::Rejected => 2,
        }
    }

    /// Whether the review of an applied hunk has ended. An undo and a restore are still possible.
    pub fn is_decided(self) -> bool {
        matches!(self, HunkState::Kept | HunkState::Undone)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChangeSetView {
    pub change_set_id: ChangeSetId,
    pub tool_call_id: ToolCallId,
    /// All calls that made the change, if they are several. `toolCallId` is the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<ToolCallId>>")]
    pub tool_call_ids: Vec<ToolCallId>,
    pub uri: String,
    pub path: String,
    /// What is done with the file as a whole; absent for an edit of its lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub operation: Option<FileOperation>,
    pub hunks: Vec<HunkView>,
    /// What the user has to know about the change, for example that the file runs on build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub mark: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct HunkView {
    pub hunk_id: String,
    pub state: HunkState,
    /// Lines that it removes.
    pub removed: u32,
    /// Lines that it inserts.
    pub inserted: u32,
}
