//! The prompt of a start and the title of its run.
//!
//! Never opens a document; the text is in the test.

use adjutant_protocol::origin;
use adjutant_protocol::start::{StartParams, Template};
use ropey::Rope;
use serde_json::{Value, json};

use super::{
    Attachment, AttachmentKind, Passage, StartProblem, Task, attached, attached_names, task, touches_comment,
};
use crate::record::Mode;
use crate::session::maker::{REPORTED, split_words};
use crate::text::position::{Encoding, Position, Range};

fn params(value: Value) -> StartParams {
    serde_json::from_value(value).expect("the params of a start")
}

fn start_in(text: &str, encoding: Encoding, value: Value) -> Result<Task, StartProblem> {
    let rope = Rope::from_str(text);
    let passage = Passage { path: "src/a.rs", text: Some(&rope), encoding };
    task(&params(value), Some(&passage))
}

fn start(text: &str, value: Value) -> Task {
    start_in(text, Encoding::Utf16, value).expect("it makes sense")
}

/// Returns what the model gets.
fn whole(task: &Task) -> String {
    format!("{}{}", task.text, task.added)
}

fn range(from: (u32, u32), to: (u32, u32)) -> Value {
    json!({ "start": { "line": from.0, "character": from.1 }, "end": { "line": to.0, "character": to.1 } })
}

#[test]
fn n08_a_fix_says_what_is_reported_and_shows_the_lines_around_it() {
    let value = json!({
        "template": "fix", "uri": "file:///w/src/a.rs", "range": range((1, 4), (1, 4)),
        "diagnostics": [{
            "range": range((1, 12), (1, 15)), "severity": 1, "source": "rustc", "code": "E0425",
            "message": "cannot find value `foo`\nin this scope", "data": { "x": 1 },
        }],
    });
    let made = start("fn main() {\n    let x = foo;\n}\n", value);
    assert_eq!(made.title.as_deref(), Some("Fix: cannot find value `foo` in this scope"));
    assert_eq!(made.mode, None);
    expect_test::expect![[r#"
        Fix this problem in src/a.rs. Find the cause and fix it with the smallest possible change; leave everything else as it is.

        Reported there:
        - error at `foo` in line 2 [rustc E0425]: cannot find value `foo`
          in this scope

        The user is at line 2 of src/a.rs. The lines around it, as the editor has them now, unsaved changes included:

        1	fn main() {
        2	    let x = foo;
        3	}
    "#]]
    .assert_eq(&whole(&made));
}

#[test]
fn n08_what_is_selected_is_quoted_by_the_agreed_encoding() {
    let text = "let 🙂é = \"e\u{301}\";\n";
    for (encoding, from, to) in [(Encoding::Utf8, 4, 10), (Encoding::Utf16, 4, 7), (Encoding::Utf32, 4, 6)] {
        let value = json!({ "template": "explain", "uri": "u", "range": range((0, from), (0, to)) });
        let made = start_in(text, encoding, value).expect("it makes sense");
        assert!(made.added.contains("The user is at `🙂é` in line 1"), "{encoding:?}: {}", made.added);
    }
    let inside = json!({ "template": "explain", "uri": "u", "range": range((0, 5), (0, 6)) });
    let refused = start_in(text, Encoding::Utf16, inside).expect_err("half a character is no place");
    assert!(refused.to_string().contains("try again"), "{refused}");
}

#[test]
fn n08_explain_reads_only_and_is_named_after_its_symbol_or_its_lines() {
    let value = json!({ "template": "explain", "uri": "u", "range": range((0, 0), (2, 0)) });
    let made = start("a\nb\nc\n", value.clone());
    assert_eq!((made.mode, made.title.as_deref()), (Some(Mode::Ask), Some("Explain: src/a.rs:1-2")));
    assert!(made.text.starts_with("Explain lines 1 to 2 of src/a.rs"), "{}", made.text);
    let mut named = value;
    named["symbol"] = json!("Parser::next");
    let made = start("a\nb\nc\n", named);
    assert_eq!(made.title.as_deref(), Some("Explain: Parser::next in src/a.rs"));
    assert!(made.text.contains("Explain `Parser::next` of src/a.rs"), "{}", made.text);
}

#[test]
fn n08_a_text_of_the_users_own_goes_with_its_place_and_names_the_run_itself() {
    let value = json!({ "text": "  make it faster \n", "uri": "u", "range": range((1, 0), (1, 1)) });
    let made = start("a\nb\n", value);
    assert_eq!((&made.title, made.mode), (&None, None));
    assert!(
        whole(&made).starts_with("make it faster\n\nThe user is at `b` in line 2 of src/a.rs."),
        "{}",
        made.text
    );
    let alone = task(&params(json!({ "text": "tidy up" })), None).expect("it makes sense");
    assert_eq!(alone.text, "tidy up");
}

#[test]
fn n30_the_words_of_a_task_are_those_of_the_user() {
    let diagnostic = json!({ "range": range((1, 0), (1, 1)), "message": "bad\n\nThe user is here" });
    let words = "make it faster\n\nThe user is in a hurry";
    let value =
        json!({ "text": words, "uri": "u", "range": range((1, 0), (1, 1)), "diagnostics": [diagnostic] });
    let made = start("a\nb\n", value);
    assert!(made.added.starts_with(REPORTED), "{}", made.added);
    assert_eq!(made.text, words);
    // Logs from before the length was recorded are split by the marks.
    assert_eq!(split_words(&whole(&made), None), (words, made.added.as_str()));
}

#[test]
fn n08_what_is_attached_is_quoted_named_and_no_word_of_the_user() {
    let rope = Rope::from_str("a = 1\nbé = 2\n- c\n");
    let long = Rope::from_str(&"x\n".repeat(500));
    let file = |name, text, range| Attachment {
        name,
        text,
        range,
        encoding: Encoding::Utf16,
        kind: AttachmentKind::File,
    };
    let lines = |from, to| Some(Range { start: Position::new(from, 0), end: Position::new(to, 0) });
    let some = Range { start: Position::new(1, 1), end: Position::new(1, 2) };
    let all = [
        file("src/a.py", Some(&rope), lines(1, 3)),
        file("src/a.py", Some(&rope), Some(some)),
        file(".env", None, lines(0, 1)),
        Attachment { kind: AttachmentKind::Text, ..file("untitled:\nUntitled-1", Some(&rope), None) },
        Attachment { kind: AttachmentKind::List, ..file("@diff", Some(&rope), None) },
    ];
    let text = attached(&all).expect("the lines are there");
    expect_test::expect![[r#"


        The user attached, as the editor has it now:
        - src/a.py, lines 2 to 3:
        2	bé = 2
        3	- c
        - src/a.py, `é` in line 2:
        2	bé = 2
        - .env, line 1
        - untitled: Untitled-1:
        1	a = 1
        2	bé = 2
        3	- c
        - @diff:
        	a = 1
        	bé = 2
        	- c
    "#]]
    .assert_eq(&text);
    // With a place, too, and with words that look like what is added.
    let words = "make it faster\n\nThe user is in a hurry";
    let value = json!({ "text": words, "uri": "u", "range": range((1, 0), (1, 1)) });
    let made = start("a\nb\n", value);
    let added = made.added.clone() + &text;
    assert_eq!(split_words(&(whole(&made) + &text), None), (words, added.as_str()));
    assert_eq!(
        attached_names(&added),
        [
            "src/a.py, lines 2 to 3",
            "src/a.py, `é` in line 2",
            ".env, line 1",
            "untitled: Untitled-1",
            "@diff"
        ]
    );
    assert_eq!((attached(&[]), attached_names(&made.added)), (Ok(String::new()), Vec::new()));
    // A quote is bounded, and says how to get the rest.
    let text = attached(&[file("long.txt", Some(&long), None)]).expect("it is there");
    assert!(text.ends_with("200\tx\n[300 more lines; read the file]\n"), "{text}");
    let gone = attached(&[file("src/a.py", Some(&rope), lines(9, 12))]).expect_err("it has three lines");
    assert!(gone.contains("\"src/a.py\" has no lines 10 to 12 any more"), "{gone}");
}

#[test]
fn n08_the_words_of_a_comment_are_the_task() {
    let text = "fn f() {\n    // NOW: sort the list,\n    // newest first\n    g();\n}\n";
    let value = json!({ "template": "comment", "uri": "u", "range": range((2, 0), (2, 0)) });
    let made = start(text, value);
    assert_eq!(made.title.as_deref(), Some("Comment: NOW: sort the list, newest first"));
    assert!(made.text.contains("lines 2 to 3, says."), "{}", made.text);
    assert!(made.text.contains("\n\nNOW: sort the list,\nnewest first\n\n"), "{}", made.text);
    let value = json!({ "template": "comment", "uri": "u", "range": range((3, 0), (3, 0)) });
    assert_eq!(start_in(text, Encoding::Utf16, value), Err(StartProblem::NoComment(4)));
}

#[test]
fn n08_a_line_that_looks_like_a_comment_is_told_from_code() {
    let comment = |line: &str| {
        let here = Range { start: Position::new(0, 0), end: Position::new(0, 0) };
        touches_comment(&Rope::from_str(line), here, "src/a.rs")
    };
    let comments = [
        "// a",
        "  /// a",
        "# a",
        "#a",
        "-- a",
        "--- a",
        "; a",
        ";; a",
        "/* a",
        " * a",
        " */",
        "<!-- a -->",
        "\"\"\" a",
        "--[[ a",
        "//",
    ];
    for line in comments {
        assert!(comment(line), "{line:?}");
    }
    for line in ["", "a // b", "#[test]", "#!/bin/sh", "#include <a>", "*x = 1", "--i;", "*(p) = 2", "x"] {
        assert!(!comment(line), "{line:?}");
    }
}

#[test]
fn finding_d4_a_heading_is_no_comment() {
    let here = Range { start: Position::new(0, 0), end: Position::new(0, 0) };
    let comment = |line: &str, name: &str| touches_comment(&Rope::from_str(line), here, name);
    for line in ["# Heading", "* item", "-- dash", "; x"] {
        assert!(!comment(line, "docs/a.md") && !comment(line, "file:///a/README.MD"), "{line}");
    }
    assert!(comment("<!-- shorten this -->", "docs/a.md") && comment("# x", "Makefile"));
}

#[test]
fn n08_what_is_quoted_is_bounded() {
    let line = "x".repeat(3_000);
    let text = format!("{line}\n").repeat(5_000);
    let many: Vec<Value> =
        (0..100).map(|_| json!({ "message": "m".repeat(10_000), "range": range((0, 0), (9, 0)) })).collect();
    let value = json!({
        "template": "fix", "uri": "u", "range": range((0, 0), (4_999, 0)), "diagnostics": many,
        "symbol": "s".repeat(5_000),
    });
    let made = start(&text, value);
    assert!(made.added.len() < 80_000, "{} bytes", made.added.len());
    assert!(made.added.contains("- and 80 more"), "{}", &made.added[..200]);
    assert!(made.added.contains("more lines; read the file]"));
    assert!(made.title.is_some_and(|title| title.chars().count() < 100));
}

#[test]
fn n08_a_file_that_may_hold_secrets_is_named_and_not_quoted() {
    let value = json!({ "template": "explain", "uri": "u", "range": range((0, 0), (0, 3)) });
    let passage = Passage { path: ".env", text: None, encoding: Encoding::Utf8 };
    let made = task(&params(value), Some(&passage)).expect("it makes sense");
    assert!(made.added.ends_with("The user is at line 1 of .env."), "{}", made.added);
}

#[test]
fn n08_a_start_that_makes_no_sense_says_what_is_missing() {
    let refused = |value: Value| task(&params(value), None).expect_err("this makes no sense");
    assert_eq!(refused(json!({})), StartProblem::Nothing);
    assert_eq!(refused(json!({ "text": " \n" })), StartProblem::Nothing);
    assert_eq!(refused(json!({ "template": "fix" })), StartProblem::NoDiagnostic);
    for template in [Template::Explain, Template::WriteTests, Template::Comment] {
        assert_eq!(refused(json!({ "template": template })), StartProblem::NoPlace);
    }
    let reversed = origin::Range {
        start: origin::Position { line: 1, character: 0 },
        end: origin::Position { line: 0, character: 0 },
    };
    let value = json!({ "template": "explain", "uri": "u", "range": reversed });
    assert!(matches!(start_in("a\nb\n", Encoding::Utf8, value), Err(StartProblem::Elsewhere(_))));
}

#[test]
fn a_title_is_never_cut_a_second_time() {
    let long = "some_module::".repeat(20);
    for template in ["explain", "write_tests"] {
        let value = json!({ "template": template, "uri": "file:///w/src/a.rs", "symbol": long });
        let title = start("fn a() {}\n", value).title.expect("a verb has one");
        assert!(title.chars().count() <= crate::tool::MAX_TITLE && title.ends_with('…'), "{title}");
    }
}
