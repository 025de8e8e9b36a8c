//! The words of the system prompt, as data.
//!
//! Never holds anything about a session. What was tried on which model is on `docs/prompt.md`.

/// The rules of every session with tools.
pub const RULES: &str = include_str!("words/rules.md");

/// Is added in ask mode, because no tool can change anything then.
pub const READ_ONLY: &str = include_str!("words/ask_mode.md");

/// The rules for a model that does not support tools (S60).
pub const NO_TOOLS: &str = include_str!("words/no_tools.md");

/// Asks for the summary of a conversation, in fixed headings.
pub const SUMMARISE: &str = include_str!("words/summarise.md");
