//! Converts LSP lines and characters to byte offsets and back.
//!
//! The only file that counts UTF-16. Only `\n`, `\r\n` and `\r` end a line.
//! Never panics and never guesses: a position that does not exist is clamped
//! where LSP says so, and is an error everywhere else.

use ropey::{Rope, RopeSlice};
use serde::{Deserialize, Serialize};

#[cfg(test)]
pub(crate) mod tests;

/// How a client counts characters within a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Encoding {
    #[serde(rename = "utf-8")]
    Utf8,
    /// The default of LSP if the client and the server agree on none.
    #[default]
    #[serde(rename = "utf-16")]
    Utf16,
    #[serde(rename = "utf-32")]
    Utf32,
}

impl Encoding {
    /// Returns the LSP name, e.g. `utf-16`.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "utf-8",
            Encoding::Utf16 => "utf-16",
            Encoding::Utf32 => "utf-32",
        }
    }

    /// Returns the encoding of an LSP name; `None` if it is not supported.
    pub fn from_name(name: &str) -> Option<Self> {
        [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32].into_iter().find(|e| e.name() == name)
    }

    /// Returns the length of a text in units of this encoding.
    pub fn length(self, text: &str) -> usize {
        match self {
            Encoding::Utf8 => text.len(),
            Encoding::Utf16 => text.chars().map(char::len_utf16).sum(),
            Encoding::Utf32 => text.chars().count(),
        }
    }
}

/// A place between two characters. Both numbers start at zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Position {
    pub line: u32,
    /// In units of the agreed encoding.
    pub character: u32,
}

impl Position {
    /// Returns the position. Numbers that do not fit in `u32` become its maximum.
    pub fn new(line: usize, character: usize) -> Self {
        Position { line: saturate(line), character: saturate(character) }
    }
}

/// A half-open range of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Range {
    pub start: Position,
    pub end: Position,
}

/// Why a position or an offset names no place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PositionError {
    #[error(
        "find line {} character {} in {}: it is inside a character",
        position.line, position.character, encoding.name()
    )]
    InsideCharacter { position: Position, encoding: Encoding },
    #[error(
        "use a range from {}:{} to {}:{}: it is reversed",
        range.start.line, range.start.character, range.end.line, range.end.character
    )]
    Reversed { range: Range },
    #[error("find byte {offset}: the text has {length} bytes")]
    PastEnd { offset: usize, length: usize },
    #[error("find byte {offset}: it is inside a character")]
    InsideCodePoint { offset: usize },
}

/// Returns the byte offset of a position.
///
/// A character past the end of its line means the end of the line, before the
/// line end. A line past the last one means the end of the text. A position
/// inside a character is an error and not clamped, because the text of a
/// client that sends it differs from the mirror.
pub fn offset_of(text: &Rope, position: Position, encoding: Encoding) -> Result<usize, PositionError> {
    let line = position.line as usize;
    let (Some(slice), Ok(start)) = (text.get_line(line), text.try_line_to_byte(line)) else {
        return Ok(text.len_bytes());
    };
    let content = without_line_end(slice);
    let wanted = position.character as usize;
    let inside = PositionError::InsideCharacter { position, encoding };
    if wanted >= length_of(content, encoding) {
        return Ok(start + content.len_bytes());
    }
    let within = match encoding {
        Encoding::Utf8 if is_boundary(content, wanted) => wanted,
        Encoding::Utf8 => return Err(inside),
        Encoding::Utf16 => {
            // ropey rounds down inside a surrogate pair; converting back detects that.
            let char_index = content.try_utf16_cu_to_char(wanted).map_err(|_| inside)?;
            if content.try_char_to_utf16_cu(char_index).ok() != Some(wanted) {
                return Err(inside);
            }
            content.try_char_to_byte(char_index).map_err(|_| inside)?
        }
        Encoding::Utf32 => content.try_char_to_byte(wanted).map_err(|_| inside)?,
    };
    Ok(start + within)
}

/// Returns the byte offsets of a range.
pub fn offsets_of(
    text: &Rope,
    range: Range,
    encoding: Encoding,
) -> Result<std::ops::Range<usize>, PositionError> {
    if range.start > range.end {
        return Err(PositionError::Reversed { range });
    }
    Ok(offset_of(text, range.start, encoding)?..offset_of(text, range.end, encoding)?)
}

/// Returns the position of a byte offset.
///
/// LSP has no position between `\r` and `\n`. That offset becomes the end of
/// the line before them.
pub fn position_of(text: &Rope, offset: usize, encoding: Encoding) -> Result<Position, PositionError> {
    let past_end = PositionError::PastEnd { offset, length: text.len_bytes() };
    if offset > text.len_bytes() {
        return Err(past_end);
    }
    if !is_boundary(text.slice(..), offset) {
        return Err(PositionError::InsideCodePoint { offset });
    }
    let line = text.try_byte_to_line(offset).map_err(|_| past_end)?;
    let start = text.try_line_to_byte(line).map_err(|_| past_end)?;
    let content = without_line_end(text.get_line(line).ok_or(past_end)?);
    let before = content.get_byte_slice(..content.len_bytes().min(offset - start)).ok_or(past_end)?;
    Ok(Position::new(line, length_of(before, encoding)))
}

fn length_of(slice: RopeSlice<'_>, encoding: Encoding) -> usize {
    match encoding {
        Encoding::Utf8 => slice.len_bytes(),
        Encoding::Utf16 => slice.len_utf16_cu(),
        Encoding::Utf32 => slice.len_chars(),
    }
}

/// Returns a line of a rope without its line end.
fn without_line_end(line: RopeSlice<'_>) -> RopeSlice<'_> {
    let length = line.len_bytes();
    let byte = |back: usize| length.checked_sub(back).and_then(|at| line.get_byte(at));
    let end = match (byte(2), byte(1)) {
        (Some(b'\r'), Some(b'\n')) => 2,
        (_, Some(b'\n' | b'\r')) => 1,
        _ => 0,
    };
    line.get_byte_slice(..length - end).unwrap_or(line)
}

fn is_boundary(slice: RopeSlice<'_>, offset: usize) -> bool {
    // Bytes 10xxxxxx continue a character; the end of the text is a boundary.
    slice.get_byte(offset).is_none_or(|byte| byte & 0b1100_0000 != 0b1000_0000)
}

fn saturate(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
