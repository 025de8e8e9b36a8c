//! The families of protected and secret files: each with its reason, and the names that are in it.
//!
//! Never decides anything; `protected` looks names up in these.

mod asked;
mod denied;
mod secrets;

use adjutant_core::cause::Cause;

use super::Why;

pub(super) use asked::{ASKED, MARKED};
pub(super) use denied::DENIED;
pub(super) use secrets::{COPIES, OF_A_PROCESS, SAMPLES, SECRET};

/// Files that are special for one reason; how the patterns are read stands in `patterns`.
pub(super) struct Family {
    pub why: Why,
    pub patterns: &'static [&'static str],
}

pub(super) const OWN: Why = Why::new(Cause::OwnFiles, "holds Adjutant's own settings, rules and records");
pub(super) const VCS: Why =
    Why::new(Cause::VersionControl, "belongs to version control, which runs programs named there");
/// Counts from the workspace on: work trees are often kept beside the inside of their repository.
pub(super) const BARE: Why =
    Why::new(Cause::VersionControl, "is the inside of a repository, and git runs programs named there");
pub(super) const EDITOR: Why = Why::new(Cause::EditorSettings, "configures what the editor runs");
/// Counts from the workspace on: agents keep whole checkouts in their directories.
pub(super) const AGENT: Why = Why::new(Cause::AgentSettings, "configures or is run by a coding agent");
pub(super) const SHELL: Why =
    Why::new(Cause::StartUp, "is run when a shell, a terminal, a desktop or a login starts");
/// Counts where the workspace is not such a folder itself.
pub(super) const PROGRAMS: Why =
    Why::new(Cause::StartUp, "lies in the folder of your own programs, which run by their name");
pub(super) const INTERPRETER: Why =
    Why::new(Cause::StartUp, "is run whenever a debugger or an interpreter starts");
pub(super) const KEYS: Why = Why::new(Cause::Keys, "holds keys or logins");
pub(super) const CRON: Why = Why::new(Cause::Schedule, "is run by the system on its own");
pub(super) const TEXT: Why = Why::new(Cause::Instructions, "instructs agents in later sessions");
pub(super) const CI: Why = Why::new(Cause::BuildServer, "runs on build servers, which hold secrets");
pub(super) const BUILD: Why = Why::new(Cause::Build, "runs or chooses programs on build");
pub(super) const PROCESS: Why = Why::new(Cause::Process, "shows the memory or environment of a process");
pub(super) const LINKED: Why =
    Why::new(Cause::SecondName, "has other names (hard links), and a write would show under all of them");
pub(super) const TOP: Why = Why::new(Cause::Directory, "is the whole file system");
pub(super) const ENVIRONMENT: Why =
    Why::new(Cause::Environment, "sets the environment of programs and often holds secrets");
