//! The output of a command as text: decoded, without control sequences, cut to its head and tail.
//!
//! Never keeps more than the head and twice the tail, however long the output is.

use adjutant_core::text::display::hidden;

/// The most bytes to keep from the start, and from the end.
const PART: usize = 12 * 1024;
/// How many bytes a cut may move to be at the end of a line.
const NEAR: usize = 1024;

/// The output so far.
#[derive(Debug, Default)]
pub(super) struct GatheredOutput {
    /// The number of bytes that the command wrote.
    pub(super) raw: u64,
    clean: Cleaner,
    head: String,
    tail: String,
    /// The number of bytes of decoded text, kept or not.
    total: u64,
}

impl GatheredOutput {
    /// Adds bytes and returns them as text.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.raw += bytes.len() as u64;
        let text = self.clean.push(bytes);
        self.total += text.len() as u64;
        let room = floor(&text, PART.saturating_sub(self.head.len()).min(text.len()));
        // Once the tail has text, the head is complete.
        let (first, rest) = if self.tail.is_empty() { text.split_at(room) } else { ("", text.as_str()) };
        self.head.push_str(first);
        self.tail.push_str(rest);
        if self.tail.len() > 2 * PART {
            let from = ceil(&self.tail, self.tail.len() - PART);
            self.tail.drain(..from);
        }
        text
    }

    /// Returns the text, and the number of bytes that were left out of it.
    ///
    /// If bytes were left out, [`GAP`] is in their place; the caller replaces it with a note.
    pub(super) fn finish(self) -> (String, u64) {
        if self.total == (self.head.len() + self.tail.len()) as u64 && self.tail.len() <= PART {
            return (self.head + &self.tail, 0);
        }
        let near = floor(&self.head, self.head.len().saturating_sub(NEAR));
        let end = match self.head.get(near..).and_then(|end| end.rfind('\n')) {
            Some(at) => near + at + 1,
            None => self.head.len(),
        };
        let from = ceil(&self.tail, self.tail.len().saturating_sub(PART));
        let window = self.tail.get(from..ceil(&self.tail, (from + NEAR).min(self.tail.len())));
        let from = match window.and_then(|window| window.find('\n')) {
            Some(at) => from + at + 1,
            None => from,
        };
        let head = self.head.get(..end).unwrap_or_default();
        let tail = self.tail.get(from..).unwrap_or_default();
        let left_out = self.total - (head.len() + tail.len()) as u64;
        let gap = if head.ends_with('\n') { GAP.to_owned() } else { format!("\n{GAP}") };
        (format!("{head}{gap}{tail}"), left_out)
    }
}

/// Marks the place of omitted text. No output contains it, because control characters are removed.
pub(crate) const GAP: &str = "\u{1}";

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil(text: &str, mut at: usize) -> usize {
    while at < text.len() && !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// Decodes bytes as plain text: UTF-8 with replacement characters, without terminal sequences and hidden characters.
/// The bytes may be cut into pieces at any place.
#[derive(Debug, Default)]
pub(super) struct Cleaner {
    partial: Vec<u8>,
    state: TerminalState,
    carriage: bool,
}

/// The position inside a terminal sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TerminalState {
    #[default]
    Text,
    Escape,
    /// One more character belongs to the sequence.
    Single,
    /// Until a letter: colours, cursor movements.
    Control,
    /// Until its terminator: titles, links, clipboard writes.
    Device,
    DeviceEscape,
}

impl Cleaner {
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.partial.extend_from_slice(bytes);
        let bytes = std::mem::take(&mut self.partial);
        let mut rest = bytes.as_slice();
        let mut out = String::with_capacity(rest.len());
        while !rest.is_empty() {
            let (valid, bad) = match std::str::from_utf8(rest) {
                Ok(text) => (text, None),
                Err(error) => {
                    let valid = rest.get(..error.valid_up_to()).unwrap_or_default();
                    (std::str::from_utf8(valid).unwrap_or_default(), Some(error.error_len()))
                }
            };
            valid.chars().for_each(|c| self.character(c, &mut out));
            rest = rest.get(valid.len()..).unwrap_or_default();
            match bad {
                None => {}
                Some(Some(length)) => {
                    self.character('\u{fffd}', &mut out);
                    rest = rest.get(length..).unwrap_or_default();
                }
                Some(None) => {
                    self.partial = rest.to_vec();
                    break;
                }
            }
        }
        out
    }

    fn character(&mut self, c: char, out: &mut String) {
        // No sequence continues on the next line: an unfinished one must not hide the rest of the output.
        if c == '\n' {
            self.state = TerminalState::Text;
        }
        self.state = match (self.state, c) {
            (TerminalState::Text, '\u{1b}') => TerminalState::Escape,
            (TerminalState::Text, '\u{9b}') => TerminalState::Control,
            (TerminalState::Text, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}') => TerminalState::Device,
            (TerminalState::Text, c) => {
                self.plain(c, out);
                TerminalState::Text
            }
            (TerminalState::Escape, '[') => TerminalState::Control,
            (TerminalState::Escape, ']' | 'P' | '_' | '^' | 'X') => TerminalState::Device,
            (TerminalState::Escape, ' '..='/') => TerminalState::Single,
            (TerminalState::Escape, '\u{1b}') => TerminalState::Escape,
            (TerminalState::Escape | TerminalState::Single, _) => TerminalState::Text,
            (TerminalState::Control, ' '..='?') => TerminalState::Control,
            (TerminalState::Control, '\u{1b}') => TerminalState::Escape,
            (TerminalState::Control, _) => TerminalState::Text,
            (TerminalState::Device, '\u{7}' | '\u{9c}') => TerminalState::Text,
            (TerminalState::Device, '\u{1b}') => TerminalState::DeviceEscape,
            (TerminalState::Device, _) => TerminalState::Device,
            (TerminalState::DeviceEscape, '\\') => TerminalState::Text,
            (TerminalState::DeviceEscape, _) => TerminalState::Device,
        };
    }

    fn plain(&mut self, c: char, out: &mut String) {
        // A lone carriage return would hide the text before it.
        if std::mem::take(&mut self.carriage) && c != '\n' && c != '\r' {
            out.push('\n');
        }
        match c {
            '\r' => self.carriage = true,
            '\n' | '\t' => out.push(c),
            c if hidden(c) => {}
            c => out.push(c),
        }
    }
}
