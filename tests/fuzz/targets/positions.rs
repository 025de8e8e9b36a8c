//! Positions in three encodings, and the mirror of a document that applies changes at these positions.

use adjutant_core::text::document::{ContentChange, Document, Snapshot};
use adjutant_core::text::position::{Encoding, Position, Range, offset_of, position_of};

use super::{BETWEEN, number, text};

const ENCODINGS: [Encoding; 3] = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32];

pub fn check(mut input: &[u8]) {
    let encoding = ENCODINGS[number(&mut input) % 3];
    let mut parts = input.split(|byte| *byte == BETWEEN);
    let mut plain = text(parts.next().unwrap_or_default()).into_owned();
    let mut document = Document::open("file:///a", 0, &plain);
    for (version, mut part) in (1..).zip(parts.take(8)) {
        places(&plain, encoding);
        let range = Range {
            start: Position::new(number(&mut part), number(&mut part)),
            end: Position::new(number(&mut part), number(&mut part)),
        };
        let new = text(part).into_owned();
        let (start, end) = (offset(&plain, range.start, encoding), offset(&plain, range.end, encoding));
        let change = ContentChange { range: Some(range), text: new.clone() };
        let followed = document.apply_changes(version, &[change], encoding);
        match (start, end) {
            (Some(start), Some(end)) if range.start <= range.end => {
                plain.replace_range(start..end, &new);
                assert_eq!(followed, Ok(()));
                let rope = document.text().expect("the change was applied");
                assert_eq!(rope.to_string(), plain);
                assert_eq!(rope.len_bytes(), plain.len());
            }
            _ => {
                assert!(followed.is_err(), "{range:?} does not exist in {plain:?}");
                assert!(document.text().is_err() && document.snapshot().is_err());
                let whole = ContentChange { range: None, text: plain.clone() };
                assert_eq!(document.apply_changes(version, &[whole], encoding), Ok(()));
            }
        }
    }
    places(&plain, encoding);
}

/// Every offset has the position that a simple count finds, and the position gives the offset again.
fn places(plain: &str, encoding: Encoding) {
    let rope = Snapshot::of_file("file:///a", plain).text;
    for at in 0..=plain.len() + 1 {
        let found = position_of(&rope, at, encoding);
        assert_eq!(found.is_ok(), plain.is_char_boundary(at) && at <= plain.len(), "byte {at}");
        let Ok(position) = found else { continue };
        let within_end = at > 0 && plain.as_bytes()[at - 1..].starts_with(b"\r\n");
        let meant = if within_end { at - 1 } else { at };
        assert_eq!(position, counted(plain, meant, encoding), "byte {at} of {plain:?}");
        assert_eq!(offset_of(&rope, position, encoding), Ok(meant), "{position:?} of {plain:?}");
        let next = Position { character: position.character + 1, ..position };
        assert_eq!(offset_of(&rope, next, encoding).ok(), offset(plain, next, encoding), "{next:?}");
    }
}

/// Returns the byte offset of each line's begin.
fn starts(plain: &str) -> Vec<usize> {
    let ends = plain.char_indices().filter(|(at, c)| match c {
        '\n' => true,
        '\r' => !plain[at + 1..].starts_with('\n'),
        _ => false,
    });
    [0].into_iter().chain(ends.map(|(at, _)| at + 1)).collect()
}

fn counted(plain: &str, at: usize, encoding: Encoding) -> Position {
    let starts = starts(plain);
    let line = starts.iter().rposition(|start| *start <= at).expect("the first line begins at zero");
    Position::new(line, encoding.length(&plain[starts[line]..at]))
}

/// Counts the offset of a position; returns `None` inside a character.
fn offset(plain: &str, position: Position, encoding: Encoding) -> Option<usize> {
    let starts = starts(plain);
    let Some(start) = starts.get(position.line as usize) else { return Some(plain.len()) };
    let line = plain[*start..].split(['\r', '\n']).next().unwrap_or_default();
    let mut left = position.character as usize;
    for (at, c) in line.char_indices() {
        if left == 0 {
            return Some(start + at);
        }
        left = left.checked_sub(encoding.length(c.encode_utf8(&mut [0; 4])))?;
    }
    Some(start + line.len())
}
