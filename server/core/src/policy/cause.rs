//! Why a call asks, is denied or is refused: a class for the log and tests, and a text for people and models.
//!
//! Never decides anything, and no other code decides anything by it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The class of a reason. The log spells it in snake case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// There is no tool of that name.
    UnknownTool,
    /// The mode hides the tool.
    HiddenTool,
    /// One argument, or all together, exceed the length limit.
    TooLong,
    /// The reply with the call broke off.
    CutReply,
    /// The arguments are not JSON.
    NotJson,
    /// The arguments are JSON, but not an object.
    NotAnObject,
    RepeatedArgument,
    UnknownArgument,
    MissingArgument,
    /// An argument has the wrong type, is out of bounds, or has forbidden characters.
    WrongArgument,
    /// The command cannot be shown exactly as it would run.
    NotShowable,
    /// The edit would change only line ends.
    LineEnds,
    /// The path names no place: it is empty, not expanded, not saved, or relative to no folder.
    NoPlace,
    BadUri,
    /// A name in the path is longer than the system supports.
    LongName,
    /// A name in the middle of the path is not a directory.
    NotADirectory,
    /// The path has a link of the process file system, or a link that leads to itself.
    BadLink,
    Missing,
    Directory,
    /// A device, a pipe or a socket.
    Special,
    /// The system refused to read the file, or its text in the editor is not known.
    Unreadable,
    NotText,
    TooLarge,
    /// The file has a second name (hard link), which may be protected.
    SecondName,
    Outside,
    OwnFiles,
    VersionControl,
    EditorSettings,
    AgentSettings,
    StartUp,
    Keys,
    Schedule,
    Instructions,
    BuildServer,
    Build,
    Environment,
    /// The memory or environment of a process.
    Process,
    /// The file is written on disk, and the editor may have unsaved changes of it.
    OnDisk,
    /// The editor applies the edit only through the code action that allows it.
    ByAction,
    /// The file does not have the quoted text.
    NotFound,
    /// The file has the quoted text more than once.
    Ambiguous,
    NothingToChange,
    /// The call would now do something else than the user allowed.
    Changed,
    /// A deny rule of the settings, or a file of which it is not known whether such a rule covers it.
    Rule,
    /// The mode of the run.
    Mode,
    /// Edits ask until the user allows them for the session.
    EveryEdit,
    EveryCommand,
    /// A file would be deleted.
    Delete,
    /// A file would get another name.
    Move,
    Question,
    /// The user rejected the call.
    Rejected,
    /// An allowed edit was not made, or only in part.
    NotMade,
    /// An allowed edit is in the buffer, but saving it failed.
    NotSaved,
    /// Any other cause, or one that a later version wrote.
    #[serde(other)]
    Other,
}

/// A cause, and the sentence that explains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    pub cause: Cause,
    pub text: String,
}

impl Reason {
    /// Returns the reason of a denial by a deny rule of the settings.
    pub fn of_rule(rule: &str) -> Self {
        Self::new(Cause::Rule, format!("the rule \"{rule}\" of your settings forbids it"))
    }

    pub fn new(cause: Cause, text: impl Into<String>) -> Self {
        Self { cause, text: text.into() }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
