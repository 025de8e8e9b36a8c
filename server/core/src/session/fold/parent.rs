//! How a session that began as a copy of another one becomes a session of its own.
//!
//! Never touches the conversation: the model reads the same as in the session that was copied.

use crate::record::Choices;
use crate::session::Session;

impl Session {
    /// Leaves to the parent what belongs to it alone: its changes, questions and standing answers, the keys of its prompts, and the
    /// commands that a rewind of its runs would name.
    pub(super) fn end_inheritance(&mut self, title: &str, choices: &Choices) {
        title.clone_into(&mut self.title);
        self.choices = choices.clone();
        self.inherits = false;
        self.changes.clear();
        self.applied = Default::default();
        self.asks.clear();
        self.closed_asks.clear();
        self.rules.clear();
        self.keys.clear();
        self.commands.clear();
    }
}
