//! What a person at the terminal typed.
//!
//! Never says what it means.

use std::time::Instant;

/// One input from the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalInput {
    Line {
        text: String,
        at: Instant,
    },
    /// In the loop: what is typed from now on is the answer.
    Ready,
    /// In the loop: a key was pressed while a run works. It is the first of a prompt.
    Key,
    Prompt(PromptEnd),
    /// The terminal is closed, so no person is there any more.
    Gone,
}

/// How a prompt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptEnd {
    Entered(String),
    /// Ctrl-C, and the text so far.
    Interrupted(String),
    /// Ctrl-D on an empty line, or the terminal is gone.
    Left,
}
