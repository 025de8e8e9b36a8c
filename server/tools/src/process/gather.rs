//! The output of a command as text: decoded, without control sequences, its head and tail.
//!
//! Never holds more than the head and twice the tail, whatever comes.

use adjutant_core::text::display::hidden;

/// The most bytes kept from the start, and from the end.
const PART: usize = 12 * 1024;
/// How far a cut is moved to stand at the end of a line.
const NEAR: usize = 1024;

/// What came so far.
#[derive(Debug, Default)]
pub(super) struct GatheredOutput {
    /// How many bytes the command wrote.
    pub(super) raw: u64,
    clean: Cleaner,
    head: String,
    tail: String,
    /// How many bytes of text came, kept or not.
    total: u64,
}

impl GatheredOutput {
    /// Takes bytes and returns them as text.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.raw += bytes.len() as u64;
        let text = self.clean.push(bytes);
        self.total += text.len() as u64;
        let room = floor(&text, PART.saturating_sub(self.head.len()).min(text.len()));
        // Once something went to the tail, nothing may go to the head any more.
        let (first, rest) = if self.tail.is_empty() { text.split_at(room) } else { ("", text.as_str()) };
        self.head.push_str(first);
        self.tail.push_str(rest);
        if self.tail.len() > 2 * PART {
            let from = ceil(&self.tail, self.tail.len() - PART);
            self.tail.drain(..from);
        }
        text
    }

    /// Returns the text, with a gap after the head where some was left out (the
    /// mark is the caller's: the text then holds [`GAP`]), and how much that was.
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

/// Stands where text was left out; no output holds it, since control characters are removed.
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

/// Turns bytes into plain text, wherever the pieces are cut: UTF-8 with
/// replacement, no terminal sequences, no hidden characters.
#[derive(Debug, Default)]
pub(super) struct Cleaner {
    partial: Vec<u8>,
    state: TerminalState,
    carriage: bool,
}

/// Where in a terminal sequence the text is.
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
        // No sequence crosses a line: an unfinished one must not swallow the rest.
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
        // A lone carriage return would hide what stands before it.
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
