//! Positions against a plain-string oracle that counts characters one by one.

use proptest::prelude::*;
use ropey::Rope;

use super::*;

pub(crate) const ENCODINGS: [Encoding; 3] = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32];

/// Text with all difficult cases: astral and combining characters, all line
/// ends, and characters that other tools treat as line ends.
pub(crate) fn odd_text(longest: usize) -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[ab ]",
        3 => prop_oneof![Just("\n"), Just("\r"), Just("\r\n")].prop_map(str::to_owned),
        2 => prop_oneof![
            Just("😀"), Just("e\u{301}"), Just("é"), Just("汉"), Just("👩\u{200d}🚀"), Just("\u{2028}"),
            Just("\u{85}"), Just("\u{b}"), Just("\t"), Just("\0"), Just("\u{feff}")
        ].prop_map(str::to_owned),
    ];
    proptest::collection::vec(piece, 0..longest).prop_map(|pieces| pieces.concat())
}

/// Returns each position of a text with its offset.
fn places(text: &str, encoding: Encoding) -> Vec<(Position, usize)> {
    let (mut line, mut character, mut found) = (0, 0, Vec::new());
    let mut chars = text.char_indices().peekable();
    while let Some((offset, c)) = chars.next() {
        found.push((Position::new(line, character), offset));
        let pair = c == '\r' && chars.peek().is_some_and(|(_, next)| *next == '\n');
        if pair {
            chars.next();
        }
        if c == '\n' || c == '\r' {
            (line, character) = (line + 1, 0);
        } else {
            character += encoding.length(c.encode_utf8(&mut [0; 4]));
        }
    }
    found.push((Position::new(line, character), text.len()));
    found
}

#[test]
fn n07_positions_of_astral_text_differ_by_encoding() {
    let text = Rope::from_str("a😀b\r\ne\u{301}x");
    for (encoding, column_of_b, column_of_x) in
        [(Encoding::Utf8, 5, 3), (Encoding::Utf16, 3, 2), (Encoding::Utf32, 2, 2)]
    {
        assert_eq!(offset_of(&text, Position::new(0, column_of_b), encoding), Ok(5));
        assert_eq!(offset_of(&text, Position::new(1, column_of_x), encoding), Ok(11));
        assert_eq!(position_of(&text, 5, encoding), Ok(Position::new(0, column_of_b)));
    }
}

#[test]
fn past_the_end_clamps_and_inside_a_character_does_not() {
    let text = Rope::from_str("😀x\r\nlast");
    let at = |line, character, encoding| offset_of(&text, Position::new(line, character), encoding);
    assert_eq!(at(0, 99, Encoding::Utf16), Ok(5), "before the line end");
    assert_eq!(at(1, 99, Encoding::Utf16), Ok(11));
    assert_eq!(at(2, 0, Encoding::Utf16), Ok(11));
    assert_eq!(at(u32::MAX as usize, u32::MAX as usize, Encoding::Utf8), Ok(11));
    assert!(matches!(at(0, 1, Encoding::Utf16), Err(PositionError::InsideCharacter { .. })));
    assert!(matches!(at(0, 2, Encoding::Utf8), Err(PositionError::InsideCharacter { .. })));
    assert_eq!(at(0, 1, Encoding::Utf32), Ok(4));
    assert_eq!(
        position_of(&text, 12, Encoding::Utf8),
        Err(PositionError::PastEnd { offset: 12, length: 11 })
    );
    assert_eq!(position_of(&text, 2, Encoding::Utf8), Err(PositionError::InsideCodePoint { offset: 2 }));
    assert_eq!(position_of(&text, 6, Encoding::Utf16), Ok(Position::new(0, 3)), "between CR and LF");
}

#[test]
fn names_and_errors_are_what_lsp_and_people_read() {
    for encoding in ENCODINGS {
        assert_eq!(Encoding::from_name(encoding.name()), Some(encoding));
        assert_eq!(serde_json::to_value(encoding).unwrap(), encoding.name());
    }
    assert_eq!(Encoding::from_name("utf-7"), None);
    let range: Range =
        serde_json::from_str(r#"{"start":{"line":1,"character":2},"end":{"line":0,"character":0}}"#).unwrap();
    let error = offsets_of(&Rope::from_str("a"), range, Encoding::Utf8).unwrap_err();
    assert_eq!(error.to_string(), "use a range from 1:2 to 0:0: it is reversed");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn n07_every_place_agrees_with_the_oracle(text in odd_text(40), pick in 0..3_usize) {
        let encoding = ENCODINGS[pick];
        let rope = Rope::from_str(&text);
        for (position, offset) in places(&text, encoding) {
            prop_assert_eq!(offset_of(&rope, position, encoding), Ok(offset));
            prop_assert_eq!(position_of(&rope, offset, encoding), Ok(position));
        }
    }

    #[test]
    fn any_position_gives_a_boundary_or_an_error(
        text in odd_text(20), line in 0..12_u32, character in 0..12_u32, pick in 0..3_usize,
    ) {
        let encoding = ENCODINGS[pick];
        let position = Position { line, character };
        match offset_of(&Rope::from_str(&text), position, encoding) {
            Ok(offset) => prop_assert!(text.is_char_boundary(offset)),
            Err(error) => {
                // Only a position that the oracle does not list may be refused.
                let inside = matches!(error, PositionError::InsideCharacter { .. });
                prop_assert!(inside);
                prop_assert!(places(&text, encoding).iter().all(|(known, _)| *known != position));
            }
        }
    }

    #[test]
    fn any_offset_gives_a_position_or_an_error(text in odd_text(20), offset in 0..80_usize, pick in 0..3_usize) {
        let found = position_of(&Rope::from_str(&text), offset, ENCODINGS[pick]);
        prop_assert_eq!(found.is_ok(), text.is_char_boundary(offset));
    }
}
