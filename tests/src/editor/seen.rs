//! The last messages on the wire, for the report of a failed test.
//!
//! Never unbounded: it cuts long lines and drops old ones, and reports both.

use std::collections::VecDeque;

use super::wire::{Message, to_value};

/// The most lines to keep.
const MAX_LINES: usize = 400;
/// The most bytes of one line.
const MAX_LINE: usize = 1_000;

/// The last messages, in both directions.
#[derive(Default)]
pub struct Seen {
    lines: VecDeque<String>,
    dropped: usize,
}

impl Seen {
    /// Records a message to the server.
    pub fn sent(&mut self, message: &Message) {
        self.note(&format!("editor -> {}", to_value(message)));
    }

    /// Records a message from the server.
    pub fn received(&mut self, message: &Message) {
        self.note(&format!("server -> {}", to_value(message)));
    }

    /// Records any other event.
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

    /// Returns all lines as one text.
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
