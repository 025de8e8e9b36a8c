//! Positions in the three encodings of LSP. The double has its own code for them.
//!
//! Never clamps silently: a position outside of the text is an error, and the caller decides what an
//! editor would do with it.

use serde_json::{Value, json};

/// The unit of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Utf16,
    Utf32,
}

impl Encoding {
    /// Returns the name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "utf-8",
            Encoding::Utf16 => "utf-16",
            Encoding::Utf32 => "utf-32",
        }
    }

    /// Finds an encoding by its name on the wire.
    pub fn of_name(name: &str) -> Option<Encoding> {
        [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32].into_iter().find(|known| known.name() == name)
    }

    fn width(self, c: char) -> usize {
        match self {
            Encoding::Utf8 => c.len_utf8(),
            Encoding::Utf16 => c.len_utf16(),
            Encoding::Utf32 => 1,
        }
    }
}

/// A zero-based line and column; the column is in the units of an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: usize,
    pub character: usize,
}

impl Position {
    /// Returns the position as JSON.
    pub fn to_value(self) -> Value {
        json!({"line": self.line, "character": self.character})
    }

    /// Parses a position; returns none for negative or fractional numbers.
    pub fn from_value(value: &Value) -> Option<Position> {
        let number = |name: &str| value.get(name)?.as_u64().and_then(|number| usize::try_from(number).ok());
        Some(Position { line: number("line")?, character: number("character")? })
    }
}

/// The error for a position that is not in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outside {
    /// The byte offset that an editor would use instead.
    pub nearest: usize,
}

/// Returns the byte offset of each line's begin; LSP ends lines at `\n`, `\r\n` and `\r` only.
fn line_starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut starts = vec![0];
    for (index, byte) in bytes.iter().enumerate() {
        let ends = match byte {
            b'\n' => true,
            b'\r' => bytes.get(index + 1) != Some(&b'\n'),
            _ => false,
        };
        if ends {
            starts.push(index + 1);
        }
    }
    starts
}

/// Returns the byte offset of a position.
pub fn offset_of(text: &str, position: Position, encoding: Encoding) -> Result<usize, Outside> {
    let starts = line_starts(text);
    let Some(&start) = starts.get(position.line) else { return Err(Outside { nearest: text.len() }) };
    let rest = &text[start..];
    let line = &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())];
    let mut column = 0;
    for (index, c) in line.char_indices() {
        if column == position.character {
            return Ok(start + index);
        }
        if column > position.character {
            // Inside the character before this one.
            return Err(Outside { nearest: start + index });
        }
        column += encoding.width(c);
    }
    if column == position.character {
        Ok(start + line.len())
    } else {
        Err(Outside { nearest: start + line.len() })
    }
}

/// Returns the position of a byte offset; panics when it splits a character.
pub fn position_of(text: &str, offset: usize, encoding: Encoding) -> Position {
    let starts = line_starts(text);
    let line = starts.partition_point(|start| *start <= offset) - 1;
    let character = text[starts[line]..offset].chars().map(|c| encoding.width(c)).sum();
    Position { line, character }
}
