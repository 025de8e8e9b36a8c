//! Asks: durable questions to the user.
//!
//! A request or popup is only one delivery of an ask; the ask itself outlives it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::origin::Origin;
use crate::{AskId, RunId, SessionId, ToolCallId};

/// The twelve kinds, under the same names on the wire and in the log.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS,
)]
#[serde(rename_all = "snake_case")]
pub enum AskKind {
    /// An edit, or a read outside the roots; `subject` says which.
    Tool,
    Command,
    /// A question of the model's own, with suggestions and free text.
    Followup,
    BrowserActionLaunch,
    UseMcpServer,
    CompletionResult,
    ApiReqFailed,
    MistakeLimitReached,
    AutoApprovalMaxReqReached,
    /// A finished session was opened again.
    ResumeCompletedTask,
    /// The server stopped in the middle of a run.
    ResumeTask,
    /// A command has been running for a while.
    CommandOutput,
}

/// The four groups of kinds: they decide the state the session is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum AskGroup {
    /// Blocks the run until answered.
    Interactive,
    /// State after the end of a run; blocks nothing.
    Idle,
    /// The run is open and waits to be resumed or discarded.
    Resumable,
    /// Open beside a working run.
    NonBlocking,
}

impl AskKind {
    pub const ALL: [AskKind; 12] = [
        AskKind::Tool,
        AskKind::Command,
        AskKind::Followup,
        AskKind::BrowserActionLaunch,
        AskKind::UseMcpServer,
        AskKind::CompletionResult,
        AskKind::ApiReqFailed,
        AskKind::MistakeLimitReached,
        AskKind::AutoApprovalMaxReqReached,
        AskKind::ResumeCompletedTask,
        AskKind::ResumeTask,
        AskKind::CommandOutput,
    ];

    /// The group of this kind; exhaustive, so a new kind does not compile until it has one (S12).
    pub fn group(self) -> AskGroup {
        match self {
            AskKind::Tool
            | AskKind::Command
            | AskKind::Followup
            | AskKind::BrowserActionLaunch
            | AskKind::UseMcpServer => AskGroup::Interactive,
            AskKind::CompletionResult
            | AskKind::ApiReqFailed
            | AskKind::MistakeLimitReached
            | AskKind::AutoApprovalMaxReqReached
            | AskKind::ResumeCompletedTask => AskGroup::Idle,
            AskKind::ResumeTask => AskGroup::Resumable,
            AskKind::CommandOutput => AskGroup::NonBlocking,
        }
    }
}

/// What an ask of kind `tool` or `command` is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AskSubject {
    /// A change to one file, shown whole as a unified diff.
    Edit { uri: String, path: String, diff: Arc<str>, new_file: bool },
    /// A command line, shown whole, with the directory it runs in and the time it may take.
    Command {
        command: String,
        cwd: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional, type = "number")]
        timeout_seconds: Option<u64>,
        /// The open documents of the workspace that were not saved when this was asked, at most 100: the command
        /// sees each as it was saved last. `description` says it in words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(optional, as = "Option<Vec<UnsavedDocument>>")]
        unsaved: Vec<UnsavedDocument>,
    },
    /// A read of a file outside the workspace, or of one that may hold secrets.
    Read { path: String, reason: String },
}

/// An open document whose text in the editor is not what is on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct UnsavedDocument {
    pub uri: String,
    /// As shown to the user.
    pub path: String,
}

/// What choosing an option means, in the words of the Agent Client Protocol;
/// `choose` marks options that neither allow nor reject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    AllowOnce,
    AllowAlways,
    RejectOnce,
    Choose,
}

/// One way to answer an ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct AskOption {
    pub option_id: String,
    /// In full: what a tooltip or a numbered list says.
    pub name: String,
    pub kind: OptionKind,
    /// What a button says, in at most 16 characters; always there where the server tells of an ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub label: Option<String>,
}

/// An ask as a client sees it; also the params of `agent/session/request_permission`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct AskView {
    pub session_id: SessionId,
    pub ask_id: AskId,
    pub kind: AskKind,
    pub group: AskGroup,
    /// One line: what is asked.
    pub title: String,
    /// Why it is asked, and what is known about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub subject: Option<AskSubject>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub run_id: Option<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub tool_call_id: Option<ToolCallId>,
    /// Where the run was started from; an ask is shown there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub origin: Option<Origin>,
    pub options: Vec<AskOption>,
    /// Whether a text of the user's own counts as an answer.
    pub free_text: bool,
    /// Milliseconds since the Unix epoch.
    #[ts(type = "number")]
    pub opened_at: u64,
}

/// The answer to `agent/session/request_permission`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct PermissionResponse {
    pub outcome: PermissionOutcome,
}

/// `cancelled` says that this surface closed; the ask stays open elsewhere. `absent` says that no user is
/// present: a permission is rejected, the model is told that nobody answers its question, and other asks stay open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "outcome", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum PermissionOutcome {
    Selected {
        option_id: String,
        /// The reason of a rejection, or what the user adds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        text: Option<String>,
    },
    /// A text of the user's own, for asks with `freeText`.
    Answered {
        text: String,
    },
    Cancelled,
    Absent,
}

/// Params of `agent/ask/list`; without a session id, every open ask.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct AskListParams {
    #[serde(default)]
    #[ts(optional)]
    pub session_id: Option<SessionId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct AskListResult {
    pub asks: Vec<AskView>,
}

/// Params of `agent/ask/respond`: an option, or a text where the ask takes one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AskRespondParams {
    pub ask_id: AskId,
    #[serde(default)]
    #[ts(optional)]
    pub option_id: Option<String>,
    #[serde(default)]
    #[ts(optional)]
    pub answer: Option<String>,
    /// The reason of a rejection; the model is told.
    #[serde(default)]
    #[ts(optional)]
    pub reason: Option<String>,
    /// Consent: the run that this answer continues may do what `[unattended]` allows without asking. Consent
    /// of an earlier run or process is never taken over. Not taken from an inbox.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub unattended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum RespondStatus {
    Accepted,
    AlreadyResolved,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct AskRespondResult {
    pub status: RespondStatus,
    /// What the ask was resolved to: this answer, or the one that came first.
    pub resolution: Resolution,
}

/// How an ask was closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Resolution {
    Selected {
        option_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        text: Option<String>,
        /// The door the answer came by.
        surface: String,
    },
    Answered {
        text: String,
        surface: String,
    },
    /// The run was cancelled or discarded.
    Cancelled,
    /// What it asked about changed or a newer fact replaced it.
    Superseded,
    /// What it asked about ended by itself.
    Withdrawn,
}

/// Params of the notification `agent/ask/resolved`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct AskResolvedParams {
    pub session_id: SessionId,
    pub ask_id: AskId,
    pub resolution: Resolution,
}
