//! The closed set of tools: names, schemas, typed arguments.
//!
//! Never runs one and never reads the world.

mod named;
mod schema;
mod strict;
#[cfg(test)]
mod tests;

pub use adjutant_protocol::session::Mode;
pub use named::{allowed_in, effect_of, title_of};
pub(crate) use schema::names;
pub use schema::{specs, specs_for};
pub(crate) use strict::nearest_with_distance;
pub use strict::{nearest, parse, parse_for};

use crate::display::one_line;

/// The most bytes of a path.
pub const MAX_PATH: usize = 4096;
/// The most bytes of a glob or a regular expression.
pub const MAX_PATTERN: usize = 1024;
/// The most bytes of a command line.
pub const MAX_COMMAND: usize = 16 * 1024;
/// The longest time a command may ask for, in seconds.
pub const MAX_TIMEOUT_SECONDS: u64 = 3600;
/// The most bytes of all arguments of a call that carries no file text.
pub const MAX_ARGUMENTS: usize = 1024 * 1024;
/// The most bytes of all arguments of `edit_file` and `write_file`: 8 MiB of text, and what its
/// quotes and line ends become in JSON.
pub const MAX_EDIT_ARGUMENTS: usize = 12 * 1024 * 1024;
/// The most characters of a title or a summary.
pub const MAX_TITLE: usize = 80;

/// A tool call whose arguments passed every check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arguments {
    ListFiles {
        path: String,
    },
    /// `offset` is the one-based first line; `limit` the number of lines.
    ReadFile {
        path: String,
        offset: Option<usize>,
        limit: Option<usize>,
    },
    FindFiles {
        pattern: String,
    },
    SearchText {
        pattern: String,
        path: Option<String>,
        glob: Option<String>,
    },
    EditFile {
        path: String,
        old_text: String,
        new_text: String,
        replace_all: bool,
    },
    WriteFile {
        path: String,
        content: String,
    },
    RunCommand {
        command: String,
        cwd: Option<String>,
        timeout_seconds: Option<u64>,
    },
    AskUser {
        question: String,
        options: Vec<String>,
    },
    TaskComplete {
        summary: String,
    },
    Fail {
        reason: String,
    },
}

/// What a tool does to the world: decides what a crash between intent and outcome means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// May be repeated freely.
    Read,
    /// Takes effect exactly once; whether it landed can be found by the text.
    OwnEdit,
    /// Starts at most once; after a crash the outcome is unknown.
    Opaque,
    /// Waits for the user and survives a restart.
    Question,
    /// Ends the run.
    End,
}

/// Returns one line of at most [`MAX_TITLE`] characters that names a call to the user.
pub fn title(arguments: &Arguments) -> String {
    let (verb, what) = match arguments {
        Arguments::ListFiles { path } => ("List", path),
        Arguments::ReadFile { path, .. } => ("Read", path),
        Arguments::FindFiles { pattern } => ("Find", pattern),
        Arguments::SearchText { pattern, .. } => ("Search", pattern),
        Arguments::EditFile { path, .. } => ("Edit", path),
        Arguments::WriteFile { path, .. } => ("Write", path),
        Arguments::RunCommand { command, .. } => ("Run", command),
        Arguments::AskUser { question, .. } => ("Ask", question),
        Arguments::TaskComplete { summary } => ("Done", summary),
        Arguments::Fail { reason } => ("Give up", reason),
    };
    let line = match arguments {
        Arguments::SearchText { path: Some(path), .. } => format!("{verb} {what} in {path}"),
        Arguments::TaskComplete { .. } | Arguments::Fail { .. } => format!("{verb}: {what}"),
        _ => format!("{verb} {what}"),
    };
    one_line(&line, MAX_TITLE)
}
