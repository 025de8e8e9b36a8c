//! The stored types of a tool call: what it would do, what allowed it, how it ended.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{AskId, ChangeSetId, EditsMode, PlanStep, ToolCallId};
use crate::policy::cause::Cause;
use crate::text::freshness::KnownLines;
use crate::text::review::{Hunk, Presence};

/// What a tool does to the world. This decides what follows a crash between intent and outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// May be repeated freely.
    Read,
    /// Takes effect exactly once; the text shows whether it landed.
    OwnEdit,
    /// Waits for the user and survives a restart.
    Question,
    /// Ends the run.
    End,
    /// Starts at most once; after a crash the outcome is unknown. An effect that this version does not know
    /// counts as opaque.
    #[serde(other)]
    Opaque,
}

impl Effect {
    /// Returns the effect of a tool in a log of 0.1, which has only the tool's name; an unknown tool is opaque.
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

/// What a call would do, frozen when it was prepared. An approval is for exactly this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Payload {
    Read {
        /// As shown to the user.
        path: String,
        /// The call names no folder, so it searches the whole workspace. Then `path` is the text it searches for.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        everywhere: bool,
    },
    Command {
        line: String,
        /// Absolute.
        cwd: String,
        timeout_seconds: u64,
        /// Digest over the shell and the directory at preparation.
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
    Plan {
        steps: Vec<PlanStep>,
    },
    /// The call cannot be made or is forbidden; its result says why. In logs of 0.1 this value also has the
    /// reason.
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
    /// The run's consent to continue unattended.
    Consent,
    /// The setting `edits.mode`.
    EditsMode { mode: EditsMode },
    /// The call reads inside the workspace, or touches nothing.
    Default,
    /// A value of a later version.
    #[serde(other)]
    Unknown,
}

/// All edits of one file by calls of one turn that were prepared together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    pub change_set: ChangeSetId,
    /// The calls that edit the file, in their order. Empty in logs of 0.1, where one call made all hunks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<CallPart>,
    /// As shown to the user.
    pub path: String,
    /// As the editor names it.
    pub uri: String,
    /// The URI of the file after following every link. An approval is for this file.
    #[serde(default)]
    pub target: String,
    /// Whether the document was open in the editor. If so, the file on disk proves nothing.
    pub open: bool,
    /// Whether the file existed.
    pub existed: bool,
    /// Why the user was always asked. Only logs of 0.1 have it; see [`crate::policy::observation::ObservedPath`].
    #[serde(default, skip_serializing)]
    pub always_ask: Option<String>,
    /// A warning about this file, for example that a build or an install runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// The titles of the tasks of other sessions that had undecided changes of this file when the change was proposed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// Hash of the blob with the text before the change. A change with an operation always has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What is done with the file as a whole. Such a change has exactly one hunk, which stands for the operation: with
    /// the lines that go if it is a deletion, else without lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<FileOperation>,
    /// Shared, because a change may have megabytes and is in records, the session and steps at once.
    pub hunks: Arc<[Hunk]>,
}

impl FileChange {
    /// Returns what the change is, as the subject of a sentence.
    pub fn in_words(&self) -> String {
        match &self.operation {
            None => format!("The edit of {}", self.path),
            Some(FileOperation::Delete { .. }) => format!("The deletion of {}", self.path),
            Some(FileOperation::Move { path, .. }) => format!("The move of {} to {path}", self.path),
        }
    }
}

/// What is done with a file as a whole, instead of with its lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FileOperation {
    /// The file is removed.
    Delete {
        /// Its permission bits, with which an undo makes it again.
        mode: u32,
    },
    /// The file gets another name, which no file has.
    Move {
        /// The new name, as shown to the user.
        path: String,
        /// As the editor names it.
        uri: String,
        /// The URI of the new name after following every link. An approval is for this name.
        target: String,
    },
}

/// What one call contributes to a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallPart {
    pub call: ToolCallId,
    /// The ids of the hunks that it made, alone or with other calls. Empty if a later call replaced its lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hunks: Vec<String>,
}

/// Hunks of one change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HunkSet {
    pub change_set: ChangeSetId,
    pub hunks: Vec<String>,
}

/// What the result of a call says of hunks that ended, besides that they did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HunkNote {
    /// `Completed` for hunks that are in the text, `Denied` for rejected ones, `Failed` for all others.
    pub end: CallEnd,
    /// For the model; empty if nothing is to be said.
    pub text: String,
    /// For the user, a part of a line.
    pub summary: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

/// A standing answer: "allow always", which means for this session.
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
    /// The server stopped while the call ran, so its effect is unknown.
    Interrupted,
}

/// The one result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallResult {
    pub end: CallEnd,
    /// The text for the model; bounded.
    pub output: Arc<str>,
    /// One line for the user.
    pub summary: String,
    pub elapsed_ms: u64,
    /// The class of the reason why it was not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The path of the whole output, relative to the session's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
    /// For a command: the open documents that were not saved, so the command did not see their text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsaved: Vec<UnsavedText>,
    /// For a read: the lines of files that the model saw.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<FileRead>,
}

impl CallResult {
    /// Returns a result that no tool made.
    pub fn of(end: CallEnd, output: &str, summary: &str) -> Self {
        Self {
            end,
            output: output.into(),
            summary: summary.to_owned(),
            elapsed_ms: 0,
            cause: None,
            whole: None,
            unsaved: Vec::new(),
            reads: Vec::new(),
        }
    }
}

/// Lines of a file that a call showed to the model, without their text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRead {
    /// As shown to the user.
    pub path: String,
    /// The URI of the file after following every link.
    pub target: String,
    pub lines: KnownLines,
    /// What was checked out in the first folder of the workspace; `None` if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
}

/// A file of which the model saw other lines than it has now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// As shown to the user.
    pub path: String,
    /// The URI of the file after following every link.
    pub target: String,
    /// Whether there is no such file any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
    /// Whether it is open in the editor, so that the user sees its text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
}

/// An open document whose text differs from the file on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnsavedText {
    /// As the editor names it.
    pub uri: String,
    /// As shown to the user.
    pub path: String,
}

/// Whether an edit is in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditCheck {
    Landed,
    NotLanded,
    /// The text around the edit has changed, or the document is not open any more.
    Unclear,
}

impl From<Presence> for EditCheck {
    fn from(presence: Presence) -> Self {
        match presence {
            Presence::Landed => EditCheck::Landed,
            Presence::NotLanded => EditCheck::NotLanded,
            Presence::Unclear => EditCheck::Unclear,
        }
    }
}
