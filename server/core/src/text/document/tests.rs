//! Documents under good and bad changes, and against a string oracle.

use proptest::prelude::*;

use super::*;
use crate::text::position::tests::{ENCODINGS, odd_text};
use crate::text::position::{Position, position_of};

fn change(range: Option<[usize; 4]>, text: &str) -> ContentChange {
    let range = range.map(|[a, b, c, d]| Range { start: Position::new(a, b), end: Position::new(c, d) });
    ContentChange { range, text: text.into() }
}

fn text_of(document: &Document) -> String {
    document.text().map_or_else(|reason| format!("!{reason}"), ToString::to_string)
}

#[test]
fn changes_apply_in_order() {
    let mut document = Document::open("untitled:a", 1, "one\r\ntwo\r\n");
    let changes =
        [change(Some([0, 3, 1, 0]), " "), change(Some([0, 4, 0, 7]), "2"), change(Some([9, 9, 9, 9]), "end")];
    document.apply_changes(4, &changes, Encoding::Utf16).unwrap();
    assert_eq!(text_of(&document), "one 2\r\nend");
    assert_eq!((document.version(), document.uri()), (4, "untitled:a"));
}

#[test]
fn a_bad_change_leaves_no_text_until_a_full_one_comes() {
    let bad: [(&str, i32, ContentChange, &str); 4] = [
        (
            "😀x",
            2,
            change(Some([0, 1, 0, 1]), "y"),
            "!apply change 0 of version 2: find line 0 character 1 in utf-16: it is inside a character",
        ),
        (
            "ab",
            2,
            change(Some([0, 2, 0, 1]), "y"),
            "!apply change 0 of version 2: use a range from 0:2 to 0:1: it is reversed",
        ),
        (
            "ab",
            1,
            change(Some([0, 0, 0, 1]), "y"),
            "!follow the changes of the document: version 1 came after version 1",
        ),
        (
            "ab",
            -3,
            change(Some([0, 0, 0, 1]), "y"),
            "!follow the changes of the document: version -3 came after version 1",
        ),
    ];
    for (text, version, change_, reason) in bad {
        let mut document = Document::open("file:///a", 1, text);
        let said = document.apply_changes(version, &[change_], Encoding::Utf16).unwrap_err();
        assert_eq!(text_of(&document), reason);
        assert_eq!(document.snapshot().unwrap_err(), said);
        // A later valid change does not sync the document, because its text is not known.
        document.apply_changes(7, &[change(Some([0, 0, 0, 0]), "z")], Encoding::Utf16).unwrap_err();
        assert_eq!(document.text().unwrap_err(), said, "the first reason stays");
        document.apply_changes(8, &[change(None, "whole")], Encoding::Utf16).unwrap();
        assert_eq!(document.snapshot().map(|s| (s.version, s.string())).unwrap(), (Some(8), "whole".into()));
    }
}

#[test]
fn a_full_text_in_the_same_notification_heals_and_is_edited_further() {
    let mut document = Document::open("file:///a", 5, "ab");
    let changes = [change(Some([0, 2, 0, 1]), "y"), change(None, "new"), change(Some([0, 0, 0, 1]), "N")];
    document.apply_changes(3, &changes, Encoding::Utf8).unwrap();
    assert_eq!((text_of(&document).as_str(), document.version()), ("New", 3));
}

#[test]
fn a_document_past_the_limit_is_known_but_has_no_text() {
    let large = "x".repeat(MAX_DOCUMENT_BYTES);
    let mut document = Document::open("file:///a", 1, &large);
    document.apply_changes(2, &[change(Some([0, 0, 0, 0]), "y")], Encoding::Utf8).unwrap_err();
    assert_eq!(document.text().unwrap_err(), UnsyncedReason::TooLarge { bytes: MAX_DOCUMENT_BYTES + 1 });
    document.apply_changes(3, &[change(None, "small")], Encoding::Utf8).unwrap();
    assert_eq!(text_of(&document), "small");
}

#[test]
fn a_snapshot_does_not_follow_later_changes() {
    let mut document = Document::open("file:///a", 1, "a");
    let before = document.snapshot().unwrap();
    document.apply_changes(2, &[change(None, "b")], Encoding::Utf8).unwrap();
    assert_eq!((before.string().as_str(), before.version.is_some()), ("a", true));
    assert_eq!(Snapshot::of_file("file:///a", "disk").version, None);
}

#[test]
fn the_wire_form_is_the_one_of_lsp() {
    let wire = r#"[{"range":{"start":{"line":0,"character":1},"end":{"line":0,"character":2}},"rangeLength":1,"text":"x"},{"text":"y"}]"#;
    let changes: Vec<ContentChange> = serde_json::from_str(wire).unwrap();
    assert_eq!(changes, [change(Some([0, 1, 0, 2]), "x"), change(None, "y")]);
}

/// Rounds byte offsets down to positions that an LSP client can name.
fn bounds(text: &str, a: usize, b: usize) -> (usize, usize) {
    let fit = |mut at: usize| {
        at %= text.len() + 1;
        while !text.is_char_boundary(at) || (text[..at].ends_with('\r') && text[at..].starts_with('\n')) {
            at -= 1;
        }
        at
    };
    let (a, b) = (fit(a), fit(b));
    (a.min(b), a.max(b))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn n07_random_edits_agree_with_a_string(
        first in odd_text(30),
        edits in proptest::collection::vec((0..200_usize, 0..200_usize, odd_text(6)), 1..12),
        pick in 0..3_usize,
    ) {
        let encoding = ENCODINGS[pick];
        let mut oracle = first.clone();
        let mut document = Document::open("file:///a", 0, &first);
        for (number, (a, b, insert)) in edits.into_iter().enumerate() {
            let (start, end) = bounds(&oracle, a, b);
            let rope = document.text().unwrap();
            let range = Range {
                start: position_of(rope, start, encoding).unwrap(),
                end: position_of(rope, end, encoding).unwrap(),
            };
            oracle.replace_range(start..end, &insert);
            let change = ContentChange { range: Some(range), text: insert };
            document.apply_changes(number as i32 + 1, &[change], encoding).unwrap();
            prop_assert_eq!(&text_of(&document), &oracle);
        }
    }

    #[test]
    fn any_change_is_applied_or_leaves_a_reason(
        first in odd_text(12),
        at in (0..5_usize, 0..9_usize, 0..5_usize, 0..9_usize),
        version in -1..3_i32,
        insert in odd_text(4),
    ) {
        let mut document = Document::open("file:///a", 0, &first);
        let change = change(Some([at.0, at.1, at.2, at.3]), &insert);
        let result = document.apply_changes(version, &[change], Encoding::Utf16);
        prop_assert_eq!(result.is_ok(), document.snapshot().is_ok());
        prop_assert!(version > 0 || result.is_err());
    }
}
