//! Asks: durable questions to the user.
//!
//! A request or popup is only one delivery of an ask. The ask stays open when the delivery ends.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::operation::FileOperation;
use crate::origin::Origin;
use crate::{AskId, RunId, SessionId, ToolCallId};

/// The twelve kinds of ask. The wire and the log use the same names.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS,
)]
#[serde(rename_all = "snake_case")]
pub enum AskKind {
    /// An edit, or a read outside the workspace or of a possible secret; `subject` says which.
    Tool,
    Command,
    /// A question from the model, with suggestions and free text.
    Followup,
    BrowserActionLaunch,
    UseMcpServer,
    CompletionResult,
    ApiReqFailed,
    MistakeLimitReached,
    AutoApprovalMaxReqReached,
    /// The user opened a finished session again.
    ResumeCompletedTask,
    /// The server stopped in the middle of a run.
    ResumeTask,
    /// A command has been running for a while.
    CommandOutput,
}

/// The four groups of kinds. The group decides the state of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum AskGroup {
    /// Blocks the run until the user answers.
    Interactive,
    /// Describes the state after a run ended; blocks nothing.
    Idle,
    /// The run is open and waits to be resumed or discarded.
    Resumable,
    /// Is open while the run continues.
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

    /// Returns the group of this kind. The match is exhaustive, so a new kind compiles only with a group (S12).
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

/// The action that an ask of kind `tool` or `command` asks about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AskSubject {
    /// A change to one file.
    Edit(EditedFile),
    /// Changes to several files, which one answer allows or rejects together.
    Edits { files: Vec<EditedFile> },
    /// A complete command line, with its working directory and time limit.
    Command {
        command: String,
        cwd: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional, type = "number")]
        timeout_seconds: Option<u64>,
        /// The documents of the workspace with unsaved changes when the ask was opened, at most 100. The command
        /// reads the saved text of each. `description` contains the same as prose.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(optional, as = "Option<Vec<UnsavedDocument>>")]
        unsaved: Vec<UnsavedDocument>,
    },
    /// A read of a file outside the workspace, or of a file that may contain secrets.
    Read { path: String, reason: String },
}

impl AskSubject {
    /// Returns the files that would be changed; empty if the ask is about no edit.
    pub fn files(&self) -> &[EditedFile] {
        match self {
            AskSubject::Edit(file) => std::slice::from_ref(file),
            AskSubject::Edits { files } => files,
            AskSubject::Command { .. } | AskSubject::Read { .. } => &[],
        }
    }
}

/// The change to one file, as a complete unified diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct EditedFile {
    pub uri: String,
    /// The path as the user sees it.
    pub path: String,
    pub diff: Arc<str>,
    pub new_file: bool,
    /// What is done with the file as a whole; absent for an edit of its lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub operation: Option<FileOperation>,
}

/// An open document whose text in the editor differs from the file on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct UnsavedDocument {
    pub uri: String,
    /// The path as the user sees it.
    pub path: String,
}

/// The meaning of an option, named as in the Agent Client Protocol.
/// `choose` is for options that neither allow nor reject.
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
    /// The full name, for a tooltip or a numbered list.
    pub name: String,
    pub kind: OptionKind,
    /// The text of a button, at most 16 characters. The server always sends it.
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
    /// The question, in one line.
    pub title: String,
    /// Why the server asks, and what it knows about the subject.
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
    /// All calls that wait for the answer, if they are several. `toolCallId` is the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<ToolCallId>>")]
    pub tool_call_ids: Vec<ToolCallId>,
    /// The place from which the run was started. Clients show the ask there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub origin: Option<Origin>,
    pub options: Vec<AskOption>,
    /// Whether the user may answer with free text.
    pub free_text: bool,
    /// Milliseconds since the Unix epoch.
    #[ts(type = "number")]
    pub opened_at: u64,
}

impl AskView {
    /// Returns the files that would be changed; empty if the ask is about no edit.
    pub fn files(&self) -> &[EditedFile] {
        self.subject.as_ref().map_or(&[], AskSubject::files)
    }
}

/// The answer to `agent/session/request_permission`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct PermissionResponse {
    pub outcome: PermissionOutcome,
}

/// The outcome of one delivery. `cancelled` means that this surface closed; the ask stays open elsewhere.
/// `absent` means that no user is present: the server rejects a permission, answers a question of the model
/// with the notice that no user is there, and leaves other asks open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "outcome", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum PermissionOutcome {
    Selected {
        option_id: String,
        /// The reason for a rejection, or a remark of the user.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        text: Option<String>,
    },
    /// Free text, for asks with `freeText`.
    Answered {
        text: String,
    },
    Cancelled,
    Absent,
}

/// Params of `agent/ask/list`. Without a session id, the result has every open ask.
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

/// Params of `agent/ask/respond`: an option, or a text if the ask accepts one.
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
    /// The reason for a rejection; the model gets it.
    #[serde(default)]
    #[ts(optional)]
    pub reason: Option<String>,
    /// Consent: the run that this answer continues may do what `[unattended]` allows without asking.
    /// The server never reuses the consent of an earlier run or process, and refuses it in an inbox message.
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
    /// The resolution of the ask: this answer, or the earlier one.
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
        /// The way by which the answer arrived, for example `request_permission`.
        surface: String,
    },
    Answered {
        text: String,
        surface: String,
    },
    /// The user decided hunk by hunk, or what was left to decide ended by itself.
    Decided,
    /// The run was cancelled or discarded.
    Cancelled,
    /// The subject of the ask changed, or a newer event replaced the ask.
    Superseded,
    /// The subject of the ask ended by itself.
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
