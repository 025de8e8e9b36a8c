//! What went over the wire, for the one who reads a failed test.
//!
//! Bounded: long bodies are cut and old lines are dropped, and both are said.

use std::collections::VecDeque;

use super::wire::{Message, to_value};

/// The most lines kept.
const MAX_LINES: usize = 400;
/// The most bytes of one line.
const MAX_LINE: usize = 1_000;

/// The last messages, both ways.
#[derive(Default)]
pub struct Seen {
    lines: VecDeque<String>,
    dropped: usize,
}

impl Seen {
    /// Notes a message to the server.
    pub fn sent(&mut self, message: &Message) {
        self.note(&format!("editor -> {}", to_value(message)));
    }

    /// Notes a message from the server.
    pub fn received(&mut self, message: &Message) {
        self.note(&format!("server -> {}", to_value(message)));
    }

    /// Notes anything else that happened.
    pub fn note(&mut self, line: &str) {
        if self.lines.len() == MAX_LINES {
            self.lines.pop_front();
            self.dropped += 1;
        }
        let end = (0..=MAX_LINE.min(line.len())).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
        let cut = line.len() - end;
        let rest = if cut == 0 { String::new() } else { format!(" … {cut} more bytes") };
        self.lines.push_back(format!("{}{rest}", &line[..end]));
    }

    /// Returns all of it as text.
    pub fn text(&self) -> String {
        let mut text = match self.dropped {
            0 => String::new(),
            dropped => format!("({dropped} earlier messages)\n"),
        };
        for line in &self.lines {
            text.push_str(line);
            text.push('\n');
        }
        text
    }
}
