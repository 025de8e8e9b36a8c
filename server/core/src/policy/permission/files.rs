//! What the class of a file means for writing it, and the cause and the words of each class.
//!
//! No other file decides this. The parent module decides when reading asks; the crate `tools` decides which names belong
//! to which class. Never sees the name of a file.

use crate::policy::cause::Cause;
use crate::policy::observation::FileClass;

/// What the class of a file means for writing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnWrite {
    /// Never written.
    Denied,
    /// Every edit asks, also if a standing answer or an unattended run allows edits.
    Asked,
    /// A note next to the change says so; it does not ask (design 8).
    Marked,
}

/// Returns what a class means for a write (P3):
/// - Denied: what runs by itself or decides what does; keys; the memory of a process; Adjutant's own files; a file with
///   other names; the file system itself.
/// - Asked: what has an effect on other people or later sessions, chooses the programs of a build, or sets the
///   environment of programs.
/// - Marked: what runs on build.
pub fn on_write(class: FileClass) -> OnWrite {
    match class {
        FileClass::Own
        | FileClass::VersionControl
        | FileClass::Repository
        | FileClass::EditorSettings
        | FileClass::AgentSettings
        | FileClass::StartUp
        | FileClass::Programs
        | FileClass::Interpreter
        | FileClass::Keys
        | FileClass::Schedule
        | FileClass::Process
        | FileClass::SecondName
        | FileClass::WholeSystem => OnWrite::Denied,
        FileClass::VersionControlList
        | FileClass::EditorExtra
        | FileClass::Instructions
        | FileClass::BuildServer
        | FileClass::BuildTools
        | FileClass::Environment
        // The strictest choice that still lets the user decide.
        | FileClass::Unknown => OnWrite::Asked,
        FileClass::Build => OnWrite::Marked,
    }
}

/// Returns the stricter of two classes of one file, which may have several names.
pub fn stricter(one: Option<FileClass>, other: Option<FileClass>) -> Option<FileClass> {
    let rank = |class: Option<FileClass>| match class.map(on_write) {
        Some(OnWrite::Denied) => 3,
        Some(OnWrite::Asked) => 2,
        Some(OnWrite::Marked) => 1,
        None => 0,
    };
    if rank(other) > rank(one) { other } else { one }
}

/// Returns the cause that the log keeps for a decision because of this class.
pub(super) fn cause(class: FileClass) -> Cause {
    match class {
        FileClass::Own => Cause::OwnFiles,
        FileClass::VersionControl | FileClass::VersionControlList | FileClass::Repository => {
            Cause::VersionControl
        }
        FileClass::EditorSettings | FileClass::EditorExtra => Cause::EditorSettings,
        FileClass::AgentSettings => Cause::AgentSettings,
        FileClass::StartUp | FileClass::Programs | FileClass::Interpreter => Cause::StartUp,
        FileClass::Keys => Cause::Keys,
        FileClass::Schedule => Cause::Schedule,
        FileClass::Instructions => Cause::Instructions,
        FileClass::BuildServer => Cause::BuildServer,
        FileClass::BuildTools | FileClass::Build => Cause::Build,
        FileClass::Environment => Cause::Environment,
        FileClass::Process => Cause::Process,
        FileClass::SecondName => Cause::SecondName,
        FileClass::WholeSystem => Cause::Directory,
        FileClass::Unknown => Cause::Other,
    }
}

/// Returns what a file of this class is, as a phrase that follows its name.
pub(super) fn words(class: FileClass) -> &'static str {
    match class {
        FileClass::Own => "holds Adjutant's own settings, rules and records",
        FileClass::VersionControl | FileClass::VersionControlList => {
            "belongs to version control, which runs programs named there"
        }
        FileClass::Repository => "is the inside of a repository, and git runs programs named there",
        FileClass::EditorSettings | FileClass::EditorExtra => "configures what the editor runs",
        FileClass::AgentSettings => "configures or is run by a coding agent",
        FileClass::StartUp => "is run when a shell, a terminal, a desktop or a login starts",
        FileClass::Programs => "lies in the folder of your own programs, which run by their name",
        FileClass::Interpreter => "is run whenever a debugger or an interpreter starts",
        FileClass::Keys => "holds keys or logins",
        FileClass::Schedule => "is run by the system on its own",
        FileClass::Instructions => "instructs agents in later sessions",
        FileClass::BuildServer => "runs on build servers, which hold secrets",
        FileClass::BuildTools | FileClass::Build => "runs or chooses programs on build",
        FileClass::Environment => "sets the environment of programs and often holds secrets",
        FileClass::Process => "shows the memory or environment of a process",
        FileClass::SecondName => "has other names (hard links), and a write would show under all of them",
        FileClass::WholeSystem => "is the whole file system",
        FileClass::Unknown => "is special in a way that this version does not know",
    }
}
