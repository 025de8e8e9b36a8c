//! The output of a running command, as lines below its own.
//!
//! Never shows more than its first lines: the model gets the text, the user only
//! an impression.

use crate::cli::page::{Ink, Printer};

/// The most lines that are shown of one command.
const MOST_LINES: usize = 40;
/// The most bytes of a line without an end that are held.
const MOST_HELD: usize = 4096;

/// The output of one command.
#[derive(Debug, Default)]
pub struct CommandOutput {
    lines: usize,
    /// The line that has not ended yet.
    held: String,
}

impl CommandOutput {
    /// Adds a piece of the output and shows the lines that are whole.
    pub fn push(&mut self, page: &mut Printer, text: &str) {
        let mut text = std::mem::take(&mut self.held) + text;
        let mut rest = text.as_str();
        while let Some((line, after)) = rest.split_once('\n') {
            self.line(page, line);
            rest = after;
        }
        if rest.len() > MOST_HELD {
            self.line(page, rest);
            rest = "";
        }
        text.drain(..text.len() - rest.len());
        self.held = text;
    }

    /// Shows what is left.
    pub fn end(&mut self, page: &mut Printer) {
        let line = std::mem::take(&mut self.held);
        if !line.is_empty() {
            self.line(page, &line);
        }
    }

    fn line(&mut self, page: &mut Printer, line: &str) {
        self.lines += 1;
        if self.lines <= MOST_LINES {
            // A carriage return belongs to the line end.
            let line = line.strip_suffix('\r').unwrap_or(line);
            page.line_in(Ink::Dim, &format!("    {line}"));
        } else if self.lines == MOST_LINES + 1 {
            page.line_in(Ink::Dim, "    (more output is not shown)");
        }
    }
}
