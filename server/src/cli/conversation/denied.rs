//! What was not allowed because no person was present to answer, and how to allow it.
//!
//! Never recommends a flag that was already given.

use adjutant_core::text::display::one_line;
use adjutant_protocol::ask::{AskSubject, AskView};

/// The most titles in the line.
const MAX_NAMED: usize = 5;
/// The most characters of one title.
const MAX_TITLE: usize = 120;

/// What the command line allows without asking.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllowedFlags {
    pub edits: bool,
    pub commands: bool,
}

#[derive(Debug, Default)]
pub struct DenialSummary {
    titles: Vec<String>,
    edits: bool,
    commands: bool,
}

impl DenialSummary {
    pub fn add(&mut self, ask: &AskView) {
        let title = one_line(&ask.title, MAX_TITLE);
        if !self.titles.contains(&title) {
            self.titles.push(title);
        }
        match ask.subject {
            Some(AskSubject::Edit(_) | AskSubject::Edits { .. }) => self.edits = true,
            Some(AskSubject::Command { .. }) => self.commands = true,
            Some(AskSubject::Read { .. }) | None => {}
        }
    }

    /// Returns the titles of the denied asks.
    pub fn titles(&self) -> &[String] {
        &self.titles
    }

    /// Returns one line with the denied asks and how to allow them; `None` if none was denied.
    pub fn in_words(&self, allowed: AllowedFlags) -> Option<String> {
        if self.titles.is_empty() {
            return None;
        }
        let named = self.titles.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ");
        let more = match self.titles.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let flags = match (self.edits && !allowed.edits, self.commands && !allowed.commands) {
            (true, true) => "add `-y` to allow edits, with `--allow-commands` to allow commands too, or ",
            (true, false) => "add `-y` to allow edits, or ",
            (false, true) if allowed.edits => "add `--allow-commands` to allow commands, or ",
            (false, true) => "add `-y --allow-commands` to allow commands, or ",
            (false, false) => "",
        };
        let how = format!("{flags}run it at a terminal and answer there");
        Some(format!("not allowed, because nobody was present to answer: {named}{more}; {how}"))
    }
}
