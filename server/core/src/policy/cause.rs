//! Why a call is asked about, denied or refused: the class that stands beside the text.
//!
//! People and models read the text; the log and tests name the class. Never decides
//! anything, and nothing is decided by it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The class of a reason; the log spells it in small letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// There is no tool of that name.
    UnknownTool,
    /// The mode hides the tool.
    HiddenTool,
    /// All arguments together, or one of them, are longer than any may be.
    TooLong,
    /// The reply that asked for it broke off.
    CutReply,
    /// The arguments are no JSON.
    NotJson,
    /// They are JSON, and not one object.
    NotAnObject,
    RepeatedArgument,
    UnknownArgument,
    MissingArgument,
    /// Of the wrong type, out of bounds, or with characters it may not have.
    WrongArgument,
    /// A command that cannot be shown as it would run.
    NotShowable,
    /// The edit would change line ends alone.
    LineEnds,
    /// The path stands for no place: empty, not expanded, not saved, no folder to start from.
    NoPlace,
    BadUri,
    /// A name on the way is longer than the system takes.
    LongName,
    /// A name on the way is no directory.
    NotADirectory,
    /// A link of the process file system, or one that leads to itself.
    BadLink,
    Missing,
    Directory,
    /// A device, a pipe or a socket.
    Special,
    /// The system did not let it be read, or its text in the editor is not known.
    Unreadable,
    NotText,
    TooLarge,
    /// The file has a second name, which may be a protected one.
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
    /// It is written on disk, where the editor may have unsaved changes.
    OnDisk,
    /// The editor makes it by the code action that allows it, and in no other way.
    ByAction,
    /// The quoted text is not there.
    NotFound,
    /// The quoted text is there more than once.
    Ambiguous,
    NothingToChange,
    /// What was allowed is not what would be done now.
    Changed,
    /// A rule of the settings.
    Rule,
    /// The mode of the run.
    Mode,
    /// Edits ask until they are allowed.
    EveryEdit,
    EveryCommand,
    Question,
    /// The user said no.
    Rejected,
    /// An allowed edit was not made, or only in part.
    NotMade,
    /// An allowed edit is in the buffer, but saving it failed.
    NotSaved,
    /// Anything else, also what a later version writes.
    #[serde(other)]
    Other,
}

/// A class and the text that says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    pub cause: Cause,
    pub text: String,
}

impl Reason {
    /// The reason of a denial by a deny rule of the settings.
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
