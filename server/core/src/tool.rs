//! The closed set of tools: names, schemas, typed arguments.
//!
//! Never runs one and never reads the world.

/// A tool call whose arguments passed every check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arguments {
    ListFiles { path: String },
    /// `offset` is the one-based first line; `limit` the number of lines.
    ReadFile { path: String, offset: Option<usize>, limit: Option<usize> },
    FindFiles { pattern: String },
    SearchText { pattern: String, path: Option<String>, glob: Option<String> },
    EditFile { path: String, old_text: String, new_text: String, replace_all: bool },
    WriteFile { path: String, content: String },
    RunCommand { command: String, cwd: Option<String>, timeout_seconds: Option<u64> },
    AskUser { question: String, options: Vec<String> },
    TaskComplete { summary: String },
    Fail { reason: String },
}
