//! An editor whose text is a list of single characters, each of which is itself and no other.
//!
//! Never uses the text, the positions or the edits of the code under test: it is what that code is compared with.

use crate::text::edit::TextEdit;
use crate::text::position::{Encoding, Position};

/// Who wrote a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// It was there before everything.
    Original,
    User,
    Task,
    /// A decision of the review brought it back: it may be anybody's.
    Review,
}

/// One character of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    pub char: char,
    /// No other character of any text has it.
    pub id: u64,
    pub author: Author,
}

/// One document, open or on disk.
#[derive(Clone, Debug)]
pub struct EditorDouble {
    pub cells: Vec<Cell>,
    pub version: i32,
    encoding: Encoding,
    next_id: u64,
    undo: Vec<Vec<Cell>>,
    redo: Vec<Vec<Cell>>,
}

/// A change of the user, in the form of `textDocument/didChange`.
pub struct Typed {
    pub edit: TextEdit,
}

impl EditorDouble {
    pub fn open(text: &str, encoding: Encoding) -> Self {
        let (undo, redo) = (Vec::new(), Vec::new());
        let mut editor = Self { cells: Vec::new(), version: 1, encoding, next_id: 0, undo, redo };
        editor.cells = editor.fresh(text, Author::Original);
        editor
    }

    pub fn text(&self) -> String {
        self.cells.iter().map(|cell| cell.char).collect()
    }

    /// Returns the lines with their line ends.
    pub fn lines(&self) -> Vec<&[Cell]> {
        lines(&self.cells)
    }

    /// Replaces the cells of a range by a text of the user.
    pub fn types(&mut self, range: std::ops::Range<usize>, text: &str) -> Typed {
        let (start, end) = (self.position(range.start), self.position(range.end));
        self.keep_step();
        let cells = self.fresh(text, Author::User);
        self.cells.splice(range, cells);
        self.version += 1;
        Typed {
            edit: TextEdit { range: crate::text::position::Range { start, end }, new_text: text.to_owned() },
        }
    }

    /// Makes edits of a server, whose ranges all refer to the text before any of them, as one step.
    pub fn accepts(&mut self, edits: &[TextEdit], author: Author) {
        self.keep_step();
        let mut places: Vec<(std::ops::Range<usize>, &str)> = edits
            .iter()
            .map(|edit| (self.index(edit.range.start)..self.index(edit.range.end), edit.new_text.as_str()))
            .collect();
        places.sort_by_key(|(range, _)| (range.start, range.end));
        for (range, text) in places.into_iter().rev() {
            let cells = self.fresh(text, author);
            self.cells.splice(range, cells);
        }
        self.version += 1;
    }

    /// Takes the last step back. Returns whether there was one.
    pub fn undoes(&mut self) -> bool {
        let Some(cells) = self.undo.pop() else { return false };
        self.redo.push(std::mem::replace(&mut self.cells, cells));
        self.version += 1;
        true
    }

    /// Makes the last undone step again. Returns whether there was one.
    pub fn redoes(&mut self) -> bool {
        let Some(cells) = self.redo.pop() else { return false };
        self.undo.push(std::mem::replace(&mut self.cells, cells));
        self.version += 1;
        true
    }

    /// Formats the text as at a save: no blanks at the ends of lines, and a line end after the last one.
    pub fn formats(&mut self) {
        let mut cells: Vec<Cell> = Vec::new();
        for line in self.lines() {
            let content = line.iter().take_while(|cell| !is_end(cell)).count();
            let kept = line[..content].iter().rposition(|cell| !matches!(cell.char, ' ' | '\t'));
            cells.extend(&line[..kept.map_or(0, |last| last + 1)]);
            cells.extend(&line[content..]);
        }
        let end = if cells.iter().any(|cell| cell.char == '\r') { "\r\n" } else { "\n" };
        if cells.last().is_some_and(|cell| !is_end(cell)) {
            cells.extend(self.fresh(end, Author::User));
        }
        if cells != self.cells {
            self.keep_step();
            self.cells = cells;
            self.version += 1;
        }
    }

    fn keep_step(&mut self) {
        self.undo.push(self.cells.clone());
        self.redo.clear();
    }

    fn fresh(&mut self, text: &str, author: Author) -> Vec<Cell> {
        let cell = |char| {
            self.next_id += 1;
            Cell { char, id: self.next_id, author }
        };
        text.chars().map(cell).collect()
    }

    fn units(&self, char: char) -> usize {
        match self.encoding {
            Encoding::Utf8 => char.len_utf8(),
            Encoding::Utf16 => char.len_utf16(),
            Encoding::Utf32 => 1,
        }
    }

    /// Returns the index of a position. As the protocol says, one after the end of its line is that end.
    fn index(&self, position: Position) -> usize {
        let lines = self.lines();
        let number = position.line as usize;
        let before: usize = lines.iter().take(number).map(|line| line.len()).sum();
        let Some(line) = lines.get(number) else { return self.cells.len() };
        let mut left = position.character as usize;
        let mut at = 0;
        for cell in line.iter().take_while(|cell| !is_end(cell)) {
            let units = self.units(cell.char);
            if left == 0 {
                break;
            }
            assert!(left >= units, "a position is inside of a character");
            left -= units;
            at += 1;
        }
        before + at
    }

    fn position(&self, index: usize) -> Position {
        let mut begin = 0;
        let lines = self.lines();
        for (number, line) in lines.iter().enumerate() {
            let is_last = number + 1 == lines.len();
            let is_ended = line.last().is_some_and(is_end);
            if index < begin + line.len() || is_last && !is_ended {
                let before = &line[..index - begin];
                return Position::new(number, before.iter().map(|cell| self.units(cell.char)).sum());
            }
            begin += line.len();
        }
        Position::new(lines.len(), 0)
    }
}

pub fn is_end(cell: &Cell) -> bool {
    matches!(cell.char, '\n' | '\r')
}

/// Returns the lines of a text with their line ends: `\n`, `\r\n` and `\r`.
pub fn lines(cells: &[Cell]) -> Vec<&[Cell]> {
    let mut lines = Vec::new();
    let mut begin = 0;
    for (at, cell) in cells.iter().enumerate() {
        let is_half = cell.char == '\r' && cells.get(at + 1).is_some_and(|next| next.char == '\n');
        if is_end(cell) && !is_half {
            lines.push(&cells[begin..=at]);
            begin = at + 1;
        }
    }
    if begin < cells.len() {
        lines.push(&cells[begin..]);
    }
    lines
}
