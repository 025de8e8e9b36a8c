//! Line ends, and edits that lead from any text to any other.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::machine_tests::spent::spent;
use crate::text::position::tests::{ENCODINGS, odd_text};

/// Two texts of a few different lines, so that they have lines in common.
pub(crate) fn similar_texts(longest: usize) -> impl Strategy<Value = (String, String)> {
    let line = prop_oneof![Just("a"), Just("b"), Just("}"), Just(""), Just("  c😀"), Just("d")];
    let end = prop_oneof![6 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\r"), 1 => Just("")];
    let text = || {
        proptest::collection::vec((line.clone(), end.clone()), 0..longest)
            .prop_map(|lines| lines.into_iter().flat_map(|(line, end)| [line, end]).collect::<String>())
    };
    (text(), text())
}

fn check(before: &str, after: &str, expected: Expect) {
    let edits = text_edits(before, after, Encoding::Utf16);
    let place = |p: Position| format!("{}:{}", p.line, p.character);
    let shown: Vec<String> = edits
        .iter()
        .map(|e| format!("{}-{} {:?}", place(e.range.start), place(e.range.end), e.new_text))
        .collect();
    expected.assert_eq(&shown.join("\n"));
    assert_eq!(apply_edits(before, &edits, Encoding::Utf16).as_deref(), Ok(after));
}

#[test]
fn edits_name_only_the_lines_that_change() {
    check("a\nb\nc\n", "a\nB\nc\n", expect![[r#"1:0-2:0 "B\n""#]]);
    check(
        "a\nb\nc\n",
        "a\nc\nd\n",
        expect![[r#"
        1:0-2:0 ""
        2:1-2:1 "\nd""#]],
    );
    check("a\n😀", "a\nb", expect![[r#"1:0-1:2 "b""#]]);
    check("", "a\n", expect![[r#"0:0-0:0 "a\n""#]]);
    check("a\nb", "", expect![[r#"0:0-1:1 """#]]);
    check("same\r\n", "same\r\n", expect![""]);
}

/// Kakoune has no line after the last line end. It applied an edit up to there one line too early and joined two
/// lines of the user.
#[test]
fn finding_d5_an_edit_at_the_end_stops_before_the_last_line_end() {
    check("a\nb\nc\n", "a\nb\nC\n", expect![[r#"2:0-2:1 "C""#]]);
    check("a\nb\n", "a\nb\nc\nd\n", expect![[r#"1:1-1:1 "\nc\nd""#]]);
    check("a\nb\nc\n", "a\n", expect![[r#"0:1-2:1 """#]]);
    check("a\r\n😀\r\n", "a\r\nb\r\n", expect![[r#"1:0-1:2 "b""#]]);
    check("a\n", "b\nc\n", expect![[r#"0:0-0:1 "b\nc""#]]);
    // Exceptions: the last line end changes, no text is before it, or the edit would touch the previous edit.
    check("a\nb\n", "a\nb", expect![[r#"1:0-2:0 "b""#]]);
    check("a\n", "", expect![[r#"0:0-1:0 """#]]);
    check(
        "a\n\n",
        "\nb\n",
        expect![[r#"
        0:0-1:0 ""
        2:0-2:0 "b\n""#]],
    );
}

#[test]
fn line_ends_are_counted_and_the_most_frequent_wins() {
    let mixed = LineEnds::of("a\r\nb\nc\r\nd\re");
    assert_eq!(mixed, LineEnds { lf: 1, crlf: 2, cr: 1 });
    assert_eq!(mixed.dominant(), Some(LineEnd::CrLf));
    assert_eq!(LineEnds::of("one line").dominant(), None);
    assert_eq!(LineEnds::of("a\r\nb\n").dominant(), Some(LineEnd::Lf));
    assert_eq!(LineEnds::of("a\n\nb\n"), LineEnds { lf: 3, crlf: 0, cr: 0 });
}

#[test]
fn a_models_text_takes_the_line_ends_of_the_file() {
    assert_eq!(with_line_ends("a\nb\r\nc", LineEnd::CrLf), "a\r\nb\r\nc");
    assert_eq!(with_line_ends("a\nb\r\nc\rd", LineEnd::Lf), "a\nb\nc\rd");
    assert_eq!(with_line_ends("a\n", LineEnd::Cr), "a\r");
    assert_eq!(split_bom("\u{feff}a"), (true, "a"));
    assert_eq!(split_bom("a\u{feff}"), (false, "a\u{feff}"));
}

#[test]
fn edits_that_make_no_sense_are_refused() {
    let edit = |a, b, c, d, text: &str| TextEdit {
        range: Range { start: Position::new(a, b), end: Position::new(c, d) },
        new_text: text.into(),
    };
    let apply = |edits: &[TextEdit]| apply_edits("abc\ndef\n", edits, Encoding::Utf8);
    assert_eq!(
        apply(&[edit(1, 0, 1, 1, "D"), edit(0, 1, 0, 1, "x"), edit(0, 1, 0, 1, "y")]).unwrap(),
        "axybc\nDef\n"
    );
    assert_eq!(
        apply(&[edit(0, 0, 0, 2, ""), edit(0, 1, 0, 3, "")]),
        Err(EditError::Overlap { first: 0, second: 1 })
    );
    assert!(matches!(apply(&[edit(1, 0, 0, 0, "")]), Err(EditError::Position { index: 0, .. })));
}

#[test]
fn unlike_texts_of_many_lines_are_compared_in_bounded_time() {
    let text = |odd: usize| (0..20_000).map(|n| format!("{}\n", n * odd % 997)).collect::<String>();
    let (before, after) = (text(7), text(11));
    let started = spent();
    let edits = text_edits(&before, &after, Encoding::Utf8);
    assert!(spent() - started < Duration::from_secs(10));
    assert_eq!(apply_edits(&before, &edits, Encoding::Utf8).unwrap(), after);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn lines_are_the_text(text in odd_text(40)) {
        prop_assert_eq!(lines(&text).collect::<String>(), text.as_str());
        let count = lines(&text).filter(|line| !line_end(line).is_empty()).count();
        prop_assert_eq!(Rope::from_str(&text).len_lines(), count + 1);
    }

    #[test]
    fn n07_edits_lead_from_any_text_to_any_other((before, after) in similar_texts(20), pick in 0..3_usize) {
        let edits = text_edits(&before, &after, ENCODINGS[pick]);
        prop_assert!(edits.windows(2).all(|pair| pair[0].range.end < pair[1].range.start));
        prop_assert_eq!(apply_edits(&before, &edits, ENCODINGS[pick]).unwrap(), after);
    }

    #[test]
    fn n07_edits_lead_between_odd_texts(before in odd_text(30), after in odd_text(30), pick in 0..3_usize) {
        let edits = text_edits(&before, &after, ENCODINGS[pick]);
        prop_assert_eq!(apply_edits(&before, &edits, ENCODINGS[pick]).unwrap(), after);
    }

    #[test]
    fn n07_what_edits_replace_is_the_same_in_their_lines_as_in_the_whole_text(
        text in odd_text(20), lines in proptest::collection::vec((0..12_u32, 0..6_u32, 0..3_u32, 0..6_u32), 0..4), pick in 0..3_usize,
    ) {
        let edit = |(line, character, more, to): (u32, u32, u32, u32)| TextEdit {
            range: Range { start: Position { line, character }, end: Position { line: line + more, character: to } },
            new_text: String::new(),
        };
        let edits: Vec<TextEdit> = lines.into_iter().map(edit).collect();
        let rope = Rope::from_str(&text);
        let whole = |edit: &TextEdit| {
            let range = offsets_of(&rope, edit.range, ENCODINGS[pick]).ok()?;
            text.get(range).map(str::to_owned)
        };
        let expected: Option<Vec<String>> = edits.iter().map(whole).collect();
        prop_assert_eq!(replaced(&text, &edits, ENCODINGS[pick]), expected);
    }

    #[test]
    fn n07_a_difference_of_many_lines_leads_from_one_text_to_the_other(
        around in (similar_texts(8), similar_texts(8)), (before, after) in similar_texts(12),
    ) {
        let ((head, _), (tail, _)) = around;
        let (before, after) = (format!("{head}\n{before}\n{tail}"), format!("{head}\n{after}\n{tail}"));
        let (old, new): (Vec<&str>, Vec<&str>) = (lines(&before).collect(), lines(&after).collect());
        let (mut from, mut to) = (0, 0);
        for op in middle_diff(&old, &new) {
            prop_assert_eq!((op.old_range().start, op.new_range().start), (from, to), "nothing is left out");
            let is_same = old[op.old_range()] == new[op.new_range()];
            prop_assert_eq!(is_same, matches!(op, DiffOp::Equal { .. }));
            (from, to) = (op.old_range().end, op.new_range().end);
        }
        prop_assert_eq!((from, to), (old.len(), new.len()));
    }
}

#[test]
fn a_rewritten_text_keeps_the_form_of_the_file() {
    let cases = [
        ("", "a\r\nb\n", "a\r\nb\n"),
        ("one line", "\u{feff}a\r\n", "\u{feff}a\r\n"),
        ("\u{feff}", "a\n", "\u{feff}a\n"),
        ("a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"),
        ("a\r\nb\nc\n", "a\nb\nx\nc\n", "a\r\nb\nx\nc\n"),
        ("a\r\nb\nc\r\n", "new\na\nb\n", "new\r\na\r\nb\n"),
        ("a\nb", "a\nb\nc", "a\nb\nc"),
        ("a\rb\r", "a\nc\n", "a\rc\r"),
        ("\u{feff}a\n", "\u{feff}b\n", "\u{feff}b\n"),
        ("a\n", "", ""),
        // An unchanged line must not form one line end with the next line.
        ("x\n\ry", "\n\nc", "\r\rc"),
        ("a\rb\n\n", "a\n\n", "a\r\r"),
    ];
    for (before, content, after) in cases {
        assert_eq!(rewritten(before, content), after, "{before:?} by {content:?}");
        assert_eq!(rewritten(after, content), after, "and once more");
    }
}
