//! What the log holds of a question to the user, and of its answer.

use serde::{Deserialize, Serialize};

use super::{AskId, RunId, ToolCallId, UnsavedText};
use crate::policy::cause::Cause;

/// The twelve kinds, under the same names on the wire and in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

/// What choosing an option means, in the words of the Agent Client Protocol;
/// `choose` marks options that neither allow nor reject.
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
    /// In full: what a tooltip or a numbered list says.
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

/// A durable question to the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    pub id: AskId,
    pub kind: AskKind,
    /// The run it belongs to, or that it is about after its end.
    pub run: RunId,
    /// The calls that wait for its answer, in their order; none where it is about the run itself. One is in
    /// the log by its name, as it always was.
    #[serde(default, rename = "call", with = "one_or_more", skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCallId>,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub options: Vec<AskOption>,
    pub free_text: bool,
    /// SHA-256 of the frozen payload; an approval binds exactly that.
    pub digest: String,
    pub opened_at: u64,
    /// Why it is asked, as a class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Of a command: the open documents that were not saved when it was asked; never part of the digest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsaved: Vec<UnsavedText>,
}

impl Ask {
    /// Whether a call waits for its answer.
    pub fn is_about(&self, call: &ToolCallId) -> bool {
        self.calls.contains(call)
    }
}

/// A list of which one alone is written as itself, without brackets.
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
