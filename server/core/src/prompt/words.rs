//! The words of the system prompt, as data.
//!
//! Never holds anything about a session. What was tried on which model is on `docs/prompt.md`.

/// The rules of every session with tools. [`EDITS`] stands for the line about the tools that edit.
pub const RULES: &str = include_str!("words/rules.md");

/// The place of the line about the tools that edit.
pub const EDITS: &str = "{edits}";
/// The line for a model that edits by exact replacement.
pub const BY_EDIT_FILE: &str =
    "edit_file replaces text that must be unique in the file; give enough lines around it.";
/// The line for a model that edits by patches.
pub const BY_APPLY_PATCH: &str =
    "apply_patch edits, creates, moves and deletes files; give each hunk enough lines that it has one place.";

/// Is added in ask mode, because no tool can change anything then.
pub const READ_ONLY: &str = include_str!("words/ask_mode.md");

/// The rules for a model that does not support tools (S60).
pub const NO_TOOLS: &str = include_str!("words/no_tools.md");

/// Asks for the summary of a conversation, in fixed headings.
pub const SUMMARISE: &str = include_str!("words/summarise.md");
