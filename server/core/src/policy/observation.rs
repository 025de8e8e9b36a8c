//! What a step observed of the world for one call. `permission` judges these observations.
//!
//! Never decides, and never reads a file itself.

use serde::{Deserialize, Serialize};

/// The file or folder of a call, as its step observed it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedPath {
    /// The resolved path as the user sees it. The path as the model gave it, if resolving it needs an answer first.
    pub path: String,
    /// Whether it is in a folder of the workspace.
    pub inside: bool,
    /// The class of the secrets that the file probably contains, judged by its names. Reading such a file asks.
    #[serde(rename = "holds", default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<FileClass>,
    /// What a write of it would affect, judged by its names. Only edits have it.
    #[serde(rename = "class", default, skip_serializing_if = "Option::is_none")]
    pub write_class: Option<FileClass>,
    /// Other names by which a deny rule may forbid to read it: hard links that one does, or the file of a skill.
    #[serde(rename = "also", default, skip_serializing_if = "Vec::is_empty")]
    pub other_names: Vec<String>,
    /// The file has other names, and there was no time to find them all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub names_unknown: bool,
    /// How an edit would reach the file.
    #[serde(rename = "way", default, skip_serializing_if = "EditRoute::is_editor")]
    pub route: EditRoute,
    /// How the text changed after the user allowed an edit and before the edit was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overtaken: Option<String>,
    /// The lines that an edit would replace and that the model has not seen as they are; `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen: Option<UnseenLines>,
    /// What would be done with the file as a whole; `None` for an edit of its lines and for a read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<ObservedOperation>,
}

/// Lines of a file that the model has not seen as they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnseenLines {
    /// Whether it saw other lines in their place; else it was never shown any there.
    pub changed: bool,
    /// Whether all that it has not seen of them stays: the edit replaces only what it quoted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stays: bool,
    /// The sentence that says so.
    pub why: String,
}

/// The deletion or move of a file, as its step observed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedOperation {
    /// The new name of a move; `None` for a deletion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Box<ObservedPath>>,
    /// The id of the run that created the file. `None` if the user, a command or another run has changed its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
}

impl ObservedPath {
    /// Returns a path in the workspace with no other observation, as in logs of 0.1.
    pub fn inside(path: impl Into<String>) -> Self {
        Self { path: path.into(), inside: true, ..Self::default() }
    }

    /// Returns the names that a write of it concerns: its own, and the new one of a move.
    pub fn written(&self) -> impl Iterator<Item = &ObservedPath> {
        let to = self.operation.as_ref().and_then(|operation| operation.to.as_deref());
        std::iter::once(self).chain(to)
    }

    /// Returns a path outside the workspace, as the model gave it.
    pub fn outside(path: impl Into<String>) -> Self {
        Self { path: path.into(), ..Self::default() }
    }
}

/// What a file is, judged only by its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileClass {
    /// Adjutant's own settings, rules and records.
    Own,
    /// Names programs that version control runs by itself.
    VersionControl,
    /// Belongs to version control, and has an effect at the next commit or checkout.
    VersionControlList,
    /// The inside of a repository.
    Repository,
    EditorSettings,
    /// Is next to the editor's settings, and is not known to start anything by itself.
    EditorExtra,
    AgentSettings,
    /// Runs when a shell, a terminal, a desktop or a login starts.
    StartUp,
    /// Is in the folder of the user's own programs.
    Programs,
    /// Runs whenever a debugger or an interpreter starts.
    Interpreter,
    Keys,
    /// The system runs it at times of its own, such as a cron table.
    Schedule,
    /// Text that agents read as instructions of the user.
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
    /// A class that a later version wrote.
    #[serde(other)]
    Unknown,
}

/// How an edit reaches a file (design 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditRoute {
    #[default]
    Editor,
    /// The file is not open, so it is replaced on disk.
    Disk,
    /// The file is replaced on disk, but the client may have it open without a notification.
    DiskIfSaved,
    /// The file is open in an editor that accepts edits only through a code action. The action that allows the edit
    /// carries it.
    Action,
    /// The file is open in an editor that accepts no edits.
    Nowhere,
}

impl EditRoute {
    fn is_editor(&self) -> bool {
        *self == EditRoute::Editor
    }
}
