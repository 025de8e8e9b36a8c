//! The stored types of a question to the user and of its answer.

use serde::{Deserialize, Serialize};

use super::{AskId, ChangeSetId, RunId, ToolCallId, UnsavedText};
use crate::policy::cause::Cause;

/// The twelve kinds of asks, with the same names on the wire and in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskKind {
    /// An edit, or a read outside the roots; the `subject` of the ask says which.
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
    /// A finished session was opened again.
    ResumeCompletedTask,
    /// The server stopped in the middle of a run.
    ResumeTask,
    /// A command has been running for a while.
    CommandOutput,
}

/// The four groups of kinds. The group decides which state the session is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskGroup {
    /// Blocks the run until answered.
    Interactive,
    /// State after the end of a run; blocks nothing.
    Idle,
    /// The run is open and waits to be resumed or discarded.
    Resumable,
    /// Open while the run works.
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

    /// Returns the group of this kind. The match is exhaustive, so a new kind does not compile without one (S12).
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

/// What an option means, with the names of the Agent Client Protocol. `choose` is for options that neither allow
/// nor reject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    AllowOnce,
    AllowAlways,
    RejectOnce,
    Choose,
}

/// One way to answer an ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AskOption {
    pub option_id: String,
    /// The full text, as in a tooltip or a numbered list.
    pub name: String,
    pub kind: OptionKind,
}

/// How an ask was closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Resolution {
    Selected {
        option_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// The surface that the answer came from.
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

/// A durable question to the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    pub id: AskId,
    pub kind: AskKind,
    /// The run that it belongs to; for an idle ask, the run that has ended.
    pub run: RunId,
    /// The calls that wait for its answer, in their order; empty if it is about the run itself. The log keeps a
    /// single call without brackets, as older versions wrote it.
    #[serde(default, rename = "call", with = "one_or_more", skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCallId>,
    /// The changes that it is about; empty for any other ask, and in logs of 0.1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeSetId>,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub options: Vec<AskOption>,
    pub free_text: bool,
    /// SHA-256 of the frozen payload; an approval is for exactly that.
    pub digest: String,
    pub opened_at: u64,
    /// The class of the reason why it is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// For a command: the open documents that were not saved when the ask was opened; never part of the digest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsaved: Vec<UnsavedText>,
}

impl Ask {
    /// Whether a call waits for its answer.
    pub fn is_about(&self, call: &ToolCallId) -> bool {
        self.calls.contains(call)
    }
}

/// Serialises a list with a single item as the item alone, without brackets.
mod one_or_more {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMore<T> {
        One(T),
        More(Vec<T>),
    }

    pub fn serialize<T: Serialize, S: Serializer>(list: &[T], serializer: S) -> Result<S::Ok, S::Error> {
        match list {
            [one] => one.serialize(serializer),
            more => more.serialize(serializer),
        }
    }

    pub fn deserialize<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
    where
        T: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Ok(match OneOrMore::deserialize(deserializer)? {
            OneOrMore::One(one) => vec![one],
            OneOrMore::More(more) => more,
        })
    }
}
