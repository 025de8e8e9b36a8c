//! What the log holds of a tool call: what it would do, what allowed it, how it ended.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{AskId, ChangeSetId};
use crate::policy::cause::Cause;
use crate::text::review::Hunk;

/// What a tool does to the world: decides what a crash between intent and outcome means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// May be repeated freely.
    Read,
    /// Takes effect exactly once; whether it landed can be found by the text.
    OwnEdit,
    /// Waits for the user and survives a restart.
    Question,
    /// Ends the run.
    End,
    /// Starts at most once; after a crash the outcome is unknown. So is what a later version calls otherwise.
    #[serde(other)]
    Opaque,
}

impl Effect {
    /// The effect of a tool of 0.1, whose logs name the tool alone; an unknown tool counts as opaque.
    pub(crate) fn in_0_1(tool: &str) -> Self {
        match tool {
            "list_files" | "read_file" | "find_files" | "search_text" => Effect::Read,
            "edit_file" | "write_file" => Effect::OwnEdit,
            "ask_user" => Effect::Question,
            "task_complete" | "fail" => Effect::End,
            _ => Effect::Opaque,
        }
    }
}

/// What a call would do, frozen when it was prepared: what an approval binds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Payload {
    Read {
        /// As shown to the user.
        path: String,
        /// No place is named, so all folders of the workspace are looked through: `path` is what is looked for.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        everywhere: bool,
    },
    Command {
        line: String,
        /// Absolute.
        cwd: String,
        timeout_seconds: u64,
        /// Digest over the shell and the directory as they were.
        binding: String,
    },
    Question {
        question: String,
        options: Vec<String>,
    },
    Complete {
        summary: String,
    },
    Fail {
        reason: String,
    },
    /// The call cannot be made or is forbidden: its result says why. Logs of 0.1 say it here, too.
    #[serde(other)]
    Nothing,
}

/// What allowed an effect, or a read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum AllowedBy {
    /// The answer to this ask.
    Answer { ask: AskId },
    /// A standing answer of the session.
    Standing { rule: Rule },
    /// The consent that the run was given to go on unattended.
    Consent,
    /// It reads inside the workspace, or touches nothing.
    Default,
    /// Something that a later version knows.
    #[serde(other)]
    Unknown,
}

/// All edits of one tool call to one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    pub change_set: ChangeSetId,
    /// As shown to the user.
    pub path: String,
    /// As the editor names it.
    pub uri: String,
    /// The URI of the file itself, every link followed: what an approval binds.
    #[serde(default)]
    pub target: String,
    /// Whether the document was open in the editor: then disk is no evidence.
    pub open: bool,
    /// Whether the file existed.
    pub existed: bool,
    /// Why the user was always asked; in logs of 0.1 alone, see [`crate::policy::observation::Seen`].
    #[serde(default, skip_serializing)]
    pub always_ask: Option<String>,
    /// What the user should know of this file: it runs on build or install.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// Hash of the before-image, a blob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Shared: a change may have megabytes, and is in facts, in the session and in steps at once.
    pub hunks: Arc<[Hunk]>,
}

/// A standing answer: "always", which here means this session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Rule {
    /// Every edit inside the workspace.
    Edits,
    /// This line in this directory, and no other.
    Command { line: String, cwd: String },
    /// Reading this file.
    Read { path: String },
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallEnd {
    Completed,
    Failed,
    Denied,
    Cancelled,
    /// The server stopped while it ran: its effect is unknown.
    Interrupted,
}

/// The one result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallResult {
    pub end: CallEnd,
    /// What the model reads; bounded.
    pub output: Arc<str>,
    /// One line for the user.
    pub summary: String,
    pub elapsed_ms: u64,
    /// Why it was not done, as a class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Where the whole output is, relative to the session's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
    /// Of a command: the open documents whose text in the editor it did not see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsaved: Vec<UnsavedText>,
}

/// An open document whose text in the editor is not what is on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnsavedText {
    /// As the editor names it.
    pub uri: String,
    /// As shown to the user.
    pub path: String,
}

/// What the text says about an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditCheck {
    Landed,
    NotLanded,
    /// The text was changed around it, or the document is not open any more.
    Unclear,
}
