//! No surface displays a link that hides its target, or an invisible character.

use proptest::prelude::*;

use super::*;

/// Whether VS Code displays a part of a message as a link. This matches more than its own expression
/// (`src/vs/base/common/linkedText.ts`), which also needs a closing bracket.
fn holds_a_link(text: &str) -> bool {
    text.match_indices("](").any(|(at, _)| {
        let target = text[at + 2..].to_ascii_lowercase();
        let label = text[..at].rsplit(']').next().and_then(|before| before.split_once('['));
        let after =
            ["http://", "https://", "command:", "file:"].iter().find_map(|one| target.strip_prefix(one));
        label.is_some_and(|(_, label)| !label.is_empty())
            && after.is_some_and(|rest| rest.starts_with(|c: char| c != ')' && !c.is_whitespace()))
    })
}

const HOSTILE: [&str; 9] = [
    "[tests passed](https://x/`touch${IFS}pwned`)",
    "[a](command:adjutant.respond?%5B%5D)",
    "[a](FILE:///etc/passwd \"title\")",
    "[[x](http://a)](http://b)",
    "[a\nb](http://c)",
    "[a](\n<command:x>)",
    "[](command:x) [y](command::x)",
    "x](http://a",
    "[a](https: x)",
];

#[test]
fn finding_a1_no_surface_draws_a_link_that_hides_where_it_leads() {
    for text in HOSTILE {
        for surface in [Surface::Line(400), Surface::Status(400), Surface::Message(400)] {
            let drawn = display(text, surface);
            assert!(!holds_a_link(&drawn.text), "{text:?} on {surface:?}: {}", drawn.text);
            assert!(drawn.changed, "{text:?} on {surface:?}");
        }
        assert!(display_command(text, Surface::Message(400)).changed, "{text}");
        assert_eq!(display(text, Surface::Plain).text, text, "a file has no links");
    }
    let shown = display(HOSTILE[0], Surface::Line(400)).text;
    assert_eq!(shown, "[tests passed]\\u{28}https://x/`touch${IFS}pwned`)", "every byte can be read");
}

#[test]
fn finding_a1_pieces_of_programs_are_no_links() {
    for text in
        ["run[at](event)", "[&](std::string x) { return x; }", "[x](y.md)", "a[0](b: c)", "[a]: http://b"]
    {
        assert!(!display(text, Surface::Message(400)).changed, "{text}");
    }
}

#[test]
fn finding_a1_a_status_bar_draws_no_icons_and_evaluates_nothing() {
    let drawn = display("Run echo $(rm) %{system('id')} 100% $x", Surface::Status(80));
    assert_eq!(drawn.text, "Run echo $\\u{28}rm) %\\u{7b}system('id')} 100% $x");
    assert!(!display("echo $(rm)", Surface::Message(80)).changed, "elsewhere it means nothing");
    for item in ["%0{f()}", "%-5.9{f()}", "%1@f@", "%.3!x", "%-{x}"] {
        let drawn = display(item, Surface::Status(80)).text;
        assert!(drawn.starts_with('%') && drawn.contains("\\u{"), "a width stands before it: {drawn}");
    }
    assert!(!display("5%-rate, 5% {x} %5d", Surface::Status(80)).changed);
}

#[test]
fn finding_a6_marks_are_bounded_and_stand_on_a_letter() {
    let pile = format!("a{}b", "\u{301}".repeat(3_000));
    let drawn = display(&pile, Surface::Plain);
    assert!(drawn.changed && drawn.text.chars().filter(|c| is_mark(*c)).count() == MAX_MARKS);
    assert!(drawn.text.ends_with("\\u{301}b"), "marks beyond the limit are visible");
    assert_eq!(display("\u{301}a \u{302}b", Surface::Line(80)).text, "\\u{301}a \\u{302}b");
    for letter in ['\u{aab1}', '\u{aabd}', '\u{aac0}', 'a', '€'] {
        assert!(!is_mark(letter), "{letter} is a letter or a sign of its own");
    }
    for mark in ['\u{301}', '\u{bc0}', '\u{c00}', '\u{1e2ec}', '\u{20dd}'] {
        assert!(is_mark(mark), "U+{:04X}", mark as u32);
    }
    // A mark on punctuation is escaped: a rule or a path that begins with a mark would look like another one.
    assert_eq!(display("edit(\u{301}a) b/\u{302}c", Surface::Plain).text, "edit(\\u{301}a) b/\\u{302}c");
    for text in ["Vie\u{302}\u{323}t Nam", "ภาษาไทยที่นี่", "हिन्दी में", "שָׁלוֹם", "e\u{301}te\u{301}"]
    {
        assert!(!display(text, Surface::Plain).changed, "{text} is how people write");
    }
}

#[test]
fn finding_a6_blanks_that_nobody_sees_are_marked() {
    let diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n \n-a\n+a  \n+\t\n old \n";
    let drawn = display_diff(diff, Surface::Plain);
    assert!(drawn.changed);
    assert_eq!(drawn.text, "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n \n-a\n+a\\u{20}\\u{20}\n+\\u{9}\n old \n");
    let drawn = display_command("rm\u{a0}-r x \nls", Surface::Message(80));
    assert!(drawn.changed);
    assert_eq!(drawn.text, "rm\\u{a0}-r x\\u{20}\nls");
}

#[test]
fn finding_a1_what_is_left_out_is_marked() {
    let long = format!("echo {}rm", " ".repeat(10_000));
    assert_eq!(display(&long, Surface::Line(20)).text, "echo…");
    assert!(display(&long, Surface::Line(20)).changed);
    assert_eq!(display("abcdef", Surface::Line(4)).text, "abc…");
    assert_eq!(display("abcd", Surface::Line(4)), Readable { text: "abcd".into(), changed: false });
    assert_eq!(display("a\nb", Surface::Message(2)).text, "a…");
}

proptest! {
    /// Any text: no link, no hidden character, not longer than the limit, and idempotent.
    #[test]
    fn finding_a1_any_text_is_drawn_as_what_it_is(
        text in "([ -~\n\t\u{80}-\u{400}\u{202e}]|\\[a\\]\\(|https://|COMMAND:|file:|\\$\\(|\u{301}){0,40}",
        limit in 1usize..200,
    ) {
        for surface in [Surface::Line(limit), Surface::Status(limit), Surface::Message(limit), Surface::Plain] {
            let drawn = display(&text, surface).text.into_owned();
            prop_assert!(surface == Surface::Plain || !holds_a_link(&drawn), "{drawn:?}");
            prop_assert!(!drawn.contains(|c: char| hidden(c) && c != '\n' && c != '\t'), "{drawn:?}");
            prop_assert!(surface == Surface::Plain || drawn.chars().count() <= limit, "{drawn:?}");
            prop_assert_eq!(display(&drawn, surface).text.into_owned(), drawn.clone(), "again");
            prop_assert!(!display(&drawn, surface).changed);
        }
    }
}

/// One line of the table that the tests of the server, the VS Code extension and the Neovim setup share.
#[derive(serde::Deserialize)]
struct Case {
    id: String,
    input: String,
    enc: String,
    expect: String,
}

#[test]
fn finding_a1_a6_the_table_of_texts_that_the_clients_are_tested_by_as_well() {
    let table = include_str!("../../../../../tests/corpus/display.jsonl");
    for line in table.lines() {
        let case: Case = serde_json::from_str(line).unwrap_or_else(|why| panic!("{line}: {why}"));
        let (surface, limit) = case.enc.split_once(' ').expect("a surface and a limit");
        let limit = limit.parse().expect("a number");
        let drawn = match surface {
            "line" => display(&case.input, Surface::Line(limit)),
            "status" => display(&case.input, Surface::Status(limit)),
            "message" => display(&case.input, Surface::Message(limit)),
            "plain" => display(&case.input, Surface::Plain),
            "command" => display_command(&case.input, Surface::Plain),
            "diff" => display_diff(&case.input, Surface::Plain),
            other => panic!("{}: {other}", case.id),
        };
        assert_eq!(drawn.text, case.expect, "{}", case.id);
    }
}
