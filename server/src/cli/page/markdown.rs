//! Which ink a character of a Markdown text has, as the text streams.
//!
//! Never changes, adds or drops a character: text that is copied from the terminal is the text of the model.

use super::Ink;

/// The most characters of a heading's or list's mark.
const MOST_MARK: usize = 8;
/// The most bytes of a line that can decide its kind.
const MOST_START: usize = 256;

/// The place in a Markdown text.
#[derive(Clone, Debug, Default)]
pub(super) struct Markdown {
    /// The current line so far, as long as its kind is not known.
    start: String,
    /// The kind of the line is known.
    known: bool,
    line: LineKind,
    /// Between two fences: whether the text there is a diff.
    fence: Option<bool>,
    code: bool,
    bold: bool,
    /// The character before, for marks of two.
    before: Option<char>,
    /// One for each character that was not drawn yet.
    inks: Vec<Ink>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LineKind {
    #[default]
    Text,
    Heading,
    /// Its further lines are indented by so many cells.
    Item(usize),
    Fence,
}

impl Markdown {
    /// Notes the next character; `in_word` says whether it is drawn as a part of a word.
    pub(super) fn read(&mut self, character: char, in_word: bool) {
        if character == '\n' {
            self.end_line();
            return;
        }
        if !self.known && self.start.len() < MOST_START {
            self.start.push(character);
            self.classify();
        }
        let ink = self.ink(character);
        if in_word {
            self.inks.push(ink);
        }
    }

    /// Returns the cells by which a line that continues this one is indented.
    pub(super) fn indent(&self, width: usize) -> usize {
        match self.line {
            LineKind::Item(cells) => cells.min(width / 4),
            LineKind::Text | LineKind::Heading | LineKind::Fence => 0,
        }
    }

    /// Forgets the inks of the next word.
    pub(super) fn take(&mut self) {
        self.inks.clear();
    }

    /// Returns a word in pieces of one ink.
    pub(super) fn pieces(&mut self, word: &str) -> Vec<(Ink, String)> {
        let inks = std::mem::take(&mut self.inks);
        let mut pieces: Vec<(Ink, String)> = Vec::new();
        for (at, character) in word.chars().enumerate() {
            let ink = inks.get(at).copied().unwrap_or_default();
            match pieces.last_mut() {
                Some((last, piece)) if *last == ink => piece.push(character),
                _ => pieces.push((ink, character.to_string())),
            }
        }
        pieces
    }

    fn end_line(&mut self) {
        if self.line == LineKind::Fence {
            let info = self.start.trim_start().trim_start_matches('`').trim();
            self.fence = match self.fence {
                Some(_) => None,
                None => Some(info == "diff" || info == "patch"),
            };
        }
        // A paragraph may go on after one line end; an empty line ends what was left open.
        if self.start.trim().is_empty() {
            (self.code, self.bold) = (false, false);
        }
        self.start.clear();
        (self.known, self.line, self.before) = (false, LineKind::Text, None);
    }

    /// Finds the kind of the line by its beginning.
    fn classify(&mut self) {
        let text = self.start.trim_start();
        let blanks = self.start.chars().count() - text.chars().count();
        if text.starts_with("```") {
            self.line = LineKind::Fence;
            return;
        }
        if self.fence.is_some() || text.is_empty() || "```".starts_with(text) {
            return;
        }
        let Some((mark, _)) = text.split_once(' ') else {
            self.known = text.chars().count() > MOST_MARK;
            return;
        };
        let is_number = |digits: &str| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
        let is_item = matches!(mark, "-" | "*" | "+") || mark.strip_suffix(['.', ')']).is_some_and(is_number);
        self.line = if (1..=6).contains(&mark.len()) && mark.chars().all(|c| c == '#') {
            LineKind::Heading
        } else if is_item {
            LineKind::Item(blanks + mark.len() + 1)
        } else {
            LineKind::Text
        };
        self.known = true;
    }

    fn ink(&mut self, character: char) -> Ink {
        match (self.line, self.fence) {
            (LineKind::Fence, _) => return Ink::Dim,
            (_, Some(true)) => {
                return match self.start.chars().next() {
                    Some('+') => Ink::Green,
                    Some('-') => Ink::Red,
                    Some('@') => Ink::Cyan,
                    _ => Ink::Plain,
                };
            }
            (_, Some(false)) => return Ink::Cyan,
            (LineKind::Heading, None) => return Ink::Bold,
            (LineKind::Text | LineKind::Item(_), None) => {}
        }
        if character == '`' {
            self.code = !self.code;
            return Ink::Cyan;
        }
        if self.code {
            return Ink::Cyan;
        }
        let before = self.before.replace(character);
        if character == '*' && before == Some('*') {
            self.bold = !self.bold;
            // Four asterisks are two marks.
            self.before = None;
            return Ink::Bold;
        }
        if self.bold { Ink::Bold } else { Ink::Plain }
    }
}
