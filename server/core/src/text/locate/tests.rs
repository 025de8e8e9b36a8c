//! The ladder by example, and properties of any text and any quotation.

use std::time::Duration;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::machine_tests::spent::spent;
use crate::text::position::tests::odd_text;

/// Compares the result of a replacement, or the text that the model reads.
fn check(text: &str, old: &str, new: &str, expected: Expect) {
    show(replace(text, old, new, false), &expected);
}

fn check_all(text: &str, old: &str, new: &str, expected: Expect) {
    show(replace(text, old, new, true), &expected);
}

fn show(result: Result<String, EditFailure>, expected: &Expect) {
    match result {
        Ok(text) => expected.assert_eq(&format!("{text:?}")),
        Err(failure) => expected.assert_eq(&failure.to_string()),
    }
}

fn rung(text: &str, old: &str) -> Rung {
    locate(text, old, false).unwrap().rung
}

#[test]
fn an_exact_quotation_is_replaced_within_lines_and_across_them() {
    check("let a = 1;\nlet b = 2;\n", "b = 2", "b = 3", expect![[r#""let a = 1;\nlet b = 3;\n""#]]);
    check("a\nb\nc\n", "b\n", "", expect![[r#""a\nc\n""#]]);
    check("a\nb\nc", "b\nc", "B\nC\nD", expect![[r#""a\nB\nC\nD""#]]);
    assert_eq!(rung("  a\n", "a"), Rung::Exact);
}

#[test]
fn a7_line_ends_and_the_byte_order_mark_stay() {
    check("\u{feff}a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\ny\n", expect![[r#""\u{feff}a\r\nx\r\ny\r\nc\r\n""#]]);
    check("\u{feff}a\n", "\u{feff}a", "\u{feff}b", expect![[r#""\u{feff}b\n""#]]);
    // Mixed: unchanged lines keep their line end, new lines get the most frequent one around them.
    check("a\r\nb\nc\r\nd\n", "a\nb\nc\n", "a\nb\nnew\nc\n", expect![[r#""a\r\nb\nnew\r\nc\r\nd\n""#]]);
    check("a\nb\r\nc\r\n", "a", "x\ny", expect![[r#""x\r\ny\nb\r\nc\r\n""#]]);
    check("a\rb\rc", "a\nb\n", "x\nb\n", expect![[r#""x\rb\rc""#]]);
    assert_eq!(rung("a\r\nb", "a\nb"), Rung::Exact);
    // A model that replaces every line end of the file does not mean a change.
    check(
        "a\r\nb\r\n",
        "\r\n",
        "\n",
        expect![
            "this edit changes nothing: new_text is the same as what it would replace. Read the file again if you expected something else there."
        ],
    );
}

#[test]
fn a_line_that_stays_makes_no_line_end_with_the_next() {
    check("a\rb\nc\nd\n", "a\nb\nc\nd\n", "a\n\nd\n", expect![[r#""a\r\rd\n""#]]);
}

#[test]
fn trailing_white_space_is_forgiven_and_kept_where_nothing_changes() {
    let text = "fn a() {  \n    one();\t\n\n    two();\n}\n";
    assert_eq!(rung(text, "fn a() {\n    one();\n"), Rung::TrailingSpace);
    check(
        text,
        "fn a() {\n    one();\n \n    two();",
        "fn a() {\n    one();\n \n    three();",
        expect![[r#""fn a() {  \n    one();\t\n\n    three();\n}\n""#]],
    );
    // If a quotation ends in the indentation of a line, that is not trailing space.
    check("a\n    c\n", "a  \n    ", "b\n    ", expect![[r#""b\n    c\n""#]]);
}

#[test]
fn a_final_line_end_that_the_file_lacks_is_neither_needed_nor_added() {
    check("a\nb", "b\n", "c\n", expect![[r#""a\nc""#]]);
    check("a\nb", "b\n", "b\nc\n", expect![[r#""a\nb\nc""#]]);
    check("a\r\nb", "a\nb\n", "", expect![[r#""""#]]);
}

#[test]
fn a_uniform_shift_of_indentation_is_found_and_taken_over() {
    let text = "mod m {\n    fn a() {\n        one();\n\n        two();\n    }\n}\n";
    let old = "fn a() {\n    one();\n\n    two();\n}\n";
    assert_eq!(rung(text, old), Rung::Indentation);
    check(
        text,
        old,
        "fn a() {\n    one();\n\n    if x {\n        two();\n    }\n}\n",
        expect![[
            r#""mod m {\n    fn a() {\n        one();\n\n        if x {\n            two();\n        }\n    }\n}\n""#
        ]],
    );
    check("a:\n\tb\n", "\t\ta:\n\t\t\tb\n", "\t\ta:\n\t\t\tc\n\td\n", expect![[r#""a:\n\tc\nd\n""#]]);
    let uneven = replace(text, "fn a() {\n  one();\n\n      two();\n}\n", "x", false);
    assert!(matches!(uneven, Err(EditFailure::NotLocated(NotLocated::Missing { .. }))));
}

#[test]
fn typography_is_folded_last_and_only_where_lines_change() {
    let text = "say(“hello”)\nwait…\nx – y\u{a0}z\n";
    assert_eq!(rung(text, "say(\"hello\")"), Rung::Typography);
    check(
        text,
        "say(\"hello\")\nwait...\nx - y z\n",
        "say(\"hello\")\nstop\nx - y z\n",
        expect![[r#""say(“hello”)\nstop\nx – y\u{a0}z\n""#]],
    );
    // And together with a shift of the indentation.
    check("  ‘a’\n    b\n", "'a'\n  b\n", "'a'\n  c\n", expect![[r#""  ‘a’\n    c\n""#]]);
    // A quotation cannot end inside a character.
    assert!(matches!(locate("wait…", "wait..", false), Err(NotLocated::Missing { .. })));
}

#[test]
fn an_exact_place_wins_over_lenient_ones() {
    check("a \nb\na\nb\n", "a\nb\n", "x\n", expect![[r#""a \nb\nx\n""#]]);
    check("“q”\n\"q\"\n", "\"q\"", "r", expect![[r#""“q”\nr\n""#]]);
}

#[test]
fn several_places_are_named_and_none_is_changed() {
    check(
        "x\ny\nx\nz x\n",
        "x",
        "w",
        expect![
            "old_text occurs 3 times, on lines 1, 3 and 4. Nothing was changed. Give more of the lines around the place you mean, so that it occurs once, or set replace_all to change every one."
        ],
    );
    check(
        "aaa",
        "aa",
        "b",
        expect![
            "old_text occurs 2 times, on line 1. Nothing was changed. Give more of the lines around the place you mean, so that it occurs once, or set replace_all to change every one."
        ],
    );
    check(
        &"x\n".repeat(40),
        "x\n",
        "w",
        expect![
            "old_text occurs more than 10 times, the first on lines 1, 2, 3, 4, 5, 6, 7, 8, 9 and 10. Nothing was changed. Give more of the lines around the place you mean, so that it occurs once, or set replace_all to change every one."
        ],
    );
    check(
        " a \n b\n  a \n  b\n",
        "a\nb\n",
        "c\n",
        expect![
            "old_text occurs 2 times, on lines 1 and 3. Nothing was changed. Give more of the lines around the place you mean, so that it occurs once, or set replace_all to change every one."
        ],
    );
}

#[test]
fn every_place_is_replaced_when_asked_for() {
    check_all("x\ny\nx\n", "x", "w", expect![[r#""w\ny\nw\n""#]]);
    check_all("aaa", "aa", "b", expect![[r#""ba""#]]);
    check_all(" a \n b\n\t a \n\t b\n", "a\nb\n", "c\n", expect![[r#"" c\n\t c\n""#]]);
    assert_eq!(replace(&"x".repeat(100_000), "x", &"y".repeat(10_000), true), Err(EditFailure::TooLarge));
}

#[test]
fn a_missing_quotation_comes_with_the_place_most_like_it() {
    let text =
        "use a;\n\nfn parse(input: &str) -> Tree {\n    let tokens = lex(input);\n    build(tokens)\n}\n";
    check(
        text,
        "fn parse(input: &str) -> Node {\n    let tokens = lex(input);\n    build(tokens)\n}\n",
        "x",
        expect![[r#"
        old_text is not in the file. The place most like it, on line 3:
            3| fn parse(input: &str) -> Tree {
            4|     let tokens = lex(input);
            5|     build(tokens)
            6| }
        Nothing was changed. Read the file again there and copy old_text from it exactly."#]],
    );
    check(
        text,
        "    let token = lexer(input);",
        "x",
        expect![[r#"
        old_text is not in the file. The place most like it, on line 4:
            4|     let tokens = lex(input);
        Nothing was changed. Read the file again there and copy old_text from it exactly."#]],
    );
    check(
        text,
        "something else entirely",
        "x",
        expect![
            "old_text is not in the file, nor anything much like it. Nothing was changed. Read the file again and copy old_text from it exactly."
        ],
    );
}

#[test]
fn an_edit_that_was_made_before_is_told_apart() {
    check(
        "let tokens = lex(input);\n",
        "let t = lex(input);",
        "let tokens = lex(input);",
        expect![
            "old_text is not in the file, but new_text is, on line 1: this edit seems to have been made before. Nothing was changed. Read the file again before the next edit."
        ],
    );
}

#[test]
fn an_empty_or_equal_quotation_is_an_error_of_its_own() {
    check(
        "a",
        "",
        "b",
        expect![
            "old_text is empty. Give the text to be replaced, with enough lines that it occurs once; to make a new file, write it as a whole."
        ],
    );
    check(
        "a",
        "a",
        "a",
        expect![
            "this edit changes nothing: new_text is the same as what it would replace. Read the file again if you expected something else there."
        ],
    );
    assert_eq!(replace("“a”", "\"a\"", "“a”", false), Err(EditFailure::NoChange));
    assert!(matches!(locate("", "a", false), Err(NotLocated::Missing { nearest: None })));
}

#[test]
fn large_and_hostile_texts_take_bounded_time() {
    let code: String = (0..30_000).map(|n| format!("    let value_{n} = compute({n}, other);\r\n")).collect();
    let absent: String =
        (0..300).map(|n| format!("  let value_{} = compute({n}, another);\n", n * 7)).collect();
    let braces = "}\n".repeat(200_000);
    let many_braces = format!("{}x\n", " }\n".repeat(5_000));
    let dots = "…".repeat(200_000);
    for (text, old) in [(&code, &absent), (&braces, &many_braces), (&dots, &".".repeat(999))] {
        let started = spent();
        assert!(matches!(replace(text, old, "y", false), Err(EditFailure::NotLocated(_))));
        assert!(spent() - started < Duration::from_secs(10), "took {:?}", spent() - started);
    }
}

/// Returns the visible characters in plain form. No rung may change them.
fn essence(text: &str) -> String {
    let plain = View::new(text, Fold::Typography).text;
    plain.chars().filter(|c| !c.is_whitespace() && *c != '\u{feff}').collect()
}

/// Distinct lines, so that each quotation has exactly one place.
fn code() -> impl Strategy<Value = Vec<(usize, String)>> {
    proptest::collection::vec(0..4_usize, 1..14).prop_map(|indents| {
        let line = |(n, depth)| (depth, format!("line_{n}(“{}”)", (b'a' + n as u8) as char));
        indents.into_iter().enumerate().map(line).collect()
    })
}

fn joined(lines: &[(usize, String)], indent: usize, before_end: &str, end: &str) -> String {
    lines
        .iter()
        .map(|(depth, line)| format!("{}{line}{before_end}{end}", "  ".repeat(depth + indent)))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a7_nothing_outside_the_place_changes(
        text in odd_text(30), cut in (0..60_usize, 0..60_usize), new in odd_text(6), all in any::<bool>(),
    ) {
        let old: String = text.chars().skip(cut.0).take(cut.1).collect();
        let Ok(located) = locate(&text, &old, all) else { return Ok(()) };
        for place in &located.places {
            prop_assert_eq!(essence(&text[place.range.clone()]), essence(&old));
            prop_assert_eq!(place.line, lines(&text[..place.range.start]).filter(|l| l.ends_with(['\n', '\r'])).count() + 1);
        }
        if let (Ok(result), [place]) = (replace(&text, &old, &new, all), &located.places[..]) {
            prop_assert!(result.starts_with(&text[..place.range.start]));
            prop_assert!(result.ends_with(&text[place.range.end..]));
            let inside = &result[place.range.start..result.len() - (text.len() - place.range.end)];
            prop_assert_eq!(essence(inside), essence(&new));
        }
    }

    #[test]
    fn any_quotation_of_any_text_ends_without_panic(
        text in any::<String>(), old in any::<String>(), new in any::<String>(), all in any::<bool>(),
    ) {
        if let Err(failure) = replace(&text, &old, &new, all) {
            prop_assert!(failure.to_string().len() < 8_000);
        }
    }

    #[test]
    fn odd_quotations_end_without_panic(text in odd_text(25), old in odd_text(5), new in odd_text(5), all in any::<bool>()) {
        if let Ok(result) = replace(&text, &old, &new, all) {
            prop_assert_ne!(result, text);
        }
    }

    #[test]
    fn a_distorted_quotation_finds_its_lines(
        code in code(), at in (0..14_usize, 1..5_usize),
        indent in (0..3_usize, 0..3_usize), crlf in any::<bool>(), spaces in any::<bool>(), plain in any::<bool>(),
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        let start = at.0 % code.len();
        let stop = (start + at.1).min(code.len());
        let text = joined(&code, indent.0, "", end);
        let old = joined(&code[start..stop], indent.1, if spaces { " \t" } else { "" }, "\n");
        let old = if plain { old.replace(['“', '”'], "\"") } else { old };
        let new = old.replace("line_", "row_");
        let result = replace(&text, &old, &new, false).unwrap();
        let mut expected = code.clone();
        for (_, line) in &mut expected[start..stop] {
            *line = line.replace("line_", "row_");
            if plain { *line = line.replace(['“', '”'], "\""); }
        }
        let trimmed: Vec<&str> = result.lines().map(str::trim_end).collect();
        let wanted = joined(&expected, indent.0, "", end);
        prop_assert_eq!(trimmed, wanted.lines().collect::<Vec<_>>());
        prop_assert_eq!(result.matches("\r\n").count(), if crlf { code.len() } else { 0 });
    }
}
