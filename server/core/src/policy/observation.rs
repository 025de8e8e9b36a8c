//! What was seen of the world for one call: facts for `permission` to judge.
//!
//! No verdict and no sentence stands here, and nothing is looked at.

use serde::{Deserialize, Serialize};

/// The file or folder that a call is about, as it was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedPath {
    /// As shown to the user; as it was given where nobody has allowed to look where it leads.
    pub path: String,
    /// Whether it lies in a folder of the workspace.
    pub inside: bool,
    /// What it likely holds, by its names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<FileClass>,
    /// What follows from writing it, by its names; of edits alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<FileClass>,
    /// Further names of the file (hard links) that a deny rule may keep from being read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// It has further names, and there was no time to find them all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub names_unknown: bool,
    /// How an edit of it would reach it.
    #[serde(default, skip_serializing_if = "EditRoute::is_editor")]
    pub way: EditRoute,
    /// An edit of it was allowed, and its text moved on while that was on its way: how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overtaken: Option<String>,
}

impl ObservedPath {
    /// A place in the workspace of which nothing else is known, as in logs of 0.1.
    pub fn inside(path: impl Into<String>) -> Self {
        Self { path: path.into(), inside: true, ..Self::default() }
    }

    /// A place outside the workspace, by the name that was given.
    pub fn outside(path: impl Into<String>) -> Self {
        Self { path: path.into(), ..Self::default() }
    }
}

/// What a file is, by its names alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileClass {
    /// Adjutant's own settings, rules and records.
    Own,
    /// Names programs that version control runs by itself.
    VersionControl,
    /// Of version control, and counts with the next commit or checkout.
    VersionControlList,
    /// The inside of a repository.
    Repository,
    EditorSettings,
    /// Beside the editor's settings, and not known to start anything by itself.
    EditorExtra,
    AgentSettings,
    /// Runs when a shell, a terminal, a desktop or a login starts.
    StartUp,
    /// In the folder of the user's own programs.
    Programs,
    /// Runs whenever a debugger or an interpreter starts.
    Interpreter,
    Keys,
    /// Runs by the system on its own.
    Schedule,
    /// Text that agents take for the user's words.
    Instructions,
    BuildServer,
    /// Chooses what a build runs or fetches.
    BuildTools,
    /// Runs on build or install.
    Build,
    Environment,
    /// The memory or environment of a process.
    Process,
    /// It has a second name (hard link).
    SecondName,
    /// The root of the file system.
    WholeSystem,
    /// One that a later version knows.
    #[serde(other)]
    Unknown,
}

/// How an edit reaches a file (decision 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditRoute {
    #[default]
    Editor,
    /// Nobody has it open, so it is replaced on disk.
    Disk,
    /// On disk as well, but the client may have it open without saying so.
    DiskIfSaved,
    /// The code action that allows it carries it: it is open in an editor that takes no other edits.
    Action,
    /// It is open in an editor that takes no edits.
    Nowhere,
}

impl EditRoute {
    fn is_editor(&self) -> bool {
        *self == EditRoute::Editor
    }
}
