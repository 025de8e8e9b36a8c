//! Asks as the core makes them, put on a page in memory and answered by lines.

use std::time::{Duration, Instant};

use adjutant_core::policy::ask::{options, takes_text};
use adjutant_core::wire::ask::options as shown_options;
use adjutant_protocol::ask::{AskKind, AskSubject, AskView, EditedFile, PermissionOutcome};

use super::*;
use crate::cli::page::tests::{coloured, plain};

fn ask(kind: AskKind, suggestions: &[&str]) -> AskView {
    let suggestions: Vec<String> = suggestions.iter().map(|text| (*text).to_owned()).collect();
    AskView {
        session_id: "session-1".into(),
        ask_id: format!("ask-{kind:?}").as_str().into(),
        kind,
        group: kind.group(),
        title: "Run sh test.sh".to_owned(),
        description: Some("every command asks".to_owned()),
        subject: None,
        run_id: None,
        tool_call_id: None,
        tool_call_ids: Vec::new(),
        origin: None,
        options: shown_options(&options(kind.into(), Some("Allow exactly this"), &suggestions)),
        free_text: takes_text(kind.into()),
        opened_at: 0,
    }
}

fn selected(id: &str, text: Option<&str>) -> TypedAnswer {
    TypedAnswer::Answer(PermissionOutcome::Selected {
        option_id: id.to_owned(),
        text: text.map(str::to_owned),
    })
}

fn answered(text: &str) -> TypedAnswer {
    TypedAnswer::Answer(PermissionOutcome::Answered { text: text.to_owned() })
}

fn delivery(number: u32, ask: AskView) -> PendingAsk {
    let body = format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"m"}}"#);
    let read = crate::transport::envelope::parse(body.as_bytes());
    let Ok(crate::transport::envelope::Envelope::Request { id, .. }) = read else { panic!("no request") };
    PendingAsk { request: Some(id), ask }
}

#[test]
fn s16_a_permission_takes_yes_no_always_or_a_reason() {
    for kind in [AskKind::Tool, AskKind::Command] {
        let ask = ask(kind, &[]);
        assert_eq!(parse(&ask, "y\n"), selected("allow", None));
        assert_eq!(parse(&ask, " YES "), selected("allow", None));
        assert_eq!(parse(&ask, "n"), selected("reject", None));
        assert_eq!(parse(&ask, "always"), selected("allow_always", None));
        assert_eq!(parse(&ask, "use tabs"), selected("reject", Some("use tabs")));
        // A line that only looks like a yes is no yes.
        assert_eq!(parse(&ask, "yy"), selected("reject", Some("yy")));
        assert!(matches!(parse(&ask, " \n"), TypedAnswer::Unclear(_)));
    }
}

#[test]
fn s15_a_question_takes_a_number_a_suggestion_or_a_text() {
    let ask = ask(AskKind::Followup, &["Tabs", "Spaces"]);
    assert_eq!(parse(&ask, "2"), selected("option-2", None));
    assert_eq!(parse(&ask, "tabs"), selected("option-1", None));
    assert_eq!(parse(&ask, "3"), answered("3"));
    assert_eq!(parse(&ask, "neither, please"), answered("neither, please"));
    assert!(matches!(parse(&ask, ""), TypedAnswer::Unclear(_)));
}

#[test]
fn what_takes_no_text_takes_none() {
    let ask = ask(AskKind::CommandOutput, &[]);
    assert_eq!(parse(&ask, "2"), selected("abort", None));
    assert_eq!(parse(&ask, "stop the command"), selected("abort", None));
    assert!(matches!(parse(&ask, "what?"), TypedAnswer::Unclear(_)));
}

#[test]
fn a2_the_whole_diff_is_put_and_odd_characters_are_seen() {
    let lines: String = (0..500).map(|line| format!("+line {line} {}\n", "x".repeat(120))).collect();
    let diff = format!("--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,500 @@\n{lines}+odd\u{202e}\u{1b}[2J\r\n");
    let subject = AskSubject::Edit(EditedFile {
        uri: "file:///a.txt".into(),
        path: "a.txt".into(),
        diff: diff.into(),
        new_file: true,
        operation: None,
    });
    let (mut page, paper) = plain(40, true);
    put(&mut page, &AskView { subject: Some(subject), ..ask(AskKind::Tool, &[]) });
    let text = paper.text();
    for line in lines.lines() {
        assert!(text.contains(&format!("\n{line}\n")), "{line} is not shown whole");
    }
    assert!(text.contains("+odd\\u{202e}\\u{1b}[2J\\u{d}\n"), "{text}");
}

#[test]
fn a2_the_whole_command_is_put_with_its_folder() {
    let command = format!("echo {}\nrm -r x\u{200b}", "a".repeat(300));
    let subject =
        AskSubject::Command { command, cwd: "/work".into(), timeout_seconds: None, unsaved: Vec::new() };
    let (mut page, paper) = plain(40, true);
    put(&mut page, &AskView { subject: Some(subject), ..ask(AskKind::Command, &[]) });
    let text = paper.text();
    assert!(text.contains(&format!("  $ echo {}\n  > rm -r x\\u{{200b}}\n", "a".repeat(300))), "{text}");
    assert!(text.contains("runs in /work"), "{text}");
}

#[test]
fn appr_013_blanks_at_the_end_of_a_command_are_seen() {
    for (command, seen) in
        [("echo a  ", "echo a\\u{20}\\u{20}"), ("ls \t\nrm b", "ls\\u{20}\\u{9}\n  > rm b")]
    {
        let subject = AskSubject::Command {
            command: command.to_owned(),
            cwd: "/work".into(),
            timeout_seconds: None,
            unsaved: Vec::new(),
        };
        let (mut page, paper) = plain(60, true);
        put(&mut page, &AskView { subject: Some(subject), ..ask(AskKind::Command, &[]) });
        let text = paper.text();
        assert!(text.contains(&format!("  $ {seen}\n")), "{text}");
    }
}

#[test]
fn finding_a6_a_long_command_says_how_many_lines_it_has() {
    for (command, said) in
        [("a\n".repeat(19) + "b", true), ("x".repeat(1_300), true), ("a\nb".to_owned(), false)]
    {
        let count = command.lines().count();
        let subject = AskSubject::Command {
            command,
            cwd: "/work".into(),
            timeout_seconds: Some(7),
            unsaved: Vec::new(),
        };
        let (mut page, paper) = plain(60, true);
        put(&mut page, &AskView { subject: Some(subject), ..ask(AskKind::Command, &[]) });
        let text = paper.text();
        assert!(text.contains("runs in /work, for at most 7 s:"), "{text}");
        assert_eq!(text.contains(&format!("{count} lines in all")), said, "{text}");
    }
}

#[test]
fn finding_a6_a_line_that_looks_like_the_head_of_a_file_is_drawn_as_what_it_is() {
    let diff = "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-- b/README.md\n+++ b/README.md\n+a \n";
    let subject = AskSubject::Edit(EditedFile {
        uri: "file:///x".into(),
        path: "x".into(),
        diff: diff.into(),
        new_file: false,
        operation: None,
    });
    let (mut page, paper) = coloured(60);
    put(&mut page, &AskView { subject: Some(subject), ..ask(AskKind::Tool, &[]) });
    let text = paper.text();
    for line in [
        "\u{1b}[1m--- a/x",
        "\u{1b}[1m+++ b/x",
        "\u{1b}[31m-- b/README.md",
        "\u{1b}[32m+++ b/README.md",
        "\u{1b}[32m+a\\u{20}",
    ] {
        assert!(text.contains(line), "{line:?} is not in {text:?}");
    }
}

#[test]
fn an_answer_counts_only_when_the_ask_could_be_read() {
    let mut desk = AskDesk::default();
    let start = Instant::now();
    desk.add(delivery(1, ask(AskKind::Command, &[])));
    assert!(desk.next(start).is_some());
    assert!(!desk.was_read(start));
    assert!(!desk.was_read(start + READING_TIME - Duration::from_millis(1)));
    assert!(desk.was_read(start + READING_TIME));
}

#[test]
fn one_ask_is_on_the_desk_and_what_blocks_comes_first() {
    let mut desk = AskDesk::default();
    let now = Instant::now();
    let (slow, edit, question) =
        (ask(AskKind::CommandOutput, &[]), ask(AskKind::Tool, &[]), ask(AskKind::Followup, &[]));
    for (number, ask) in [(1, &slow), (2, &edit), (3, &question)] {
        desk.add(delivery(number, ask.clone()));
    }
    assert_eq!(desk.next(now), Some(&edit));
    assert_eq!(desk.next(now), None);
    let (gone, was_shown) = desk.closed(&question.ask_id);
    assert_eq!((gone.len(), was_shown), (1, false));
    let (gone, was_shown) = desk.withdrawn("2");
    assert_eq!((gone.len(), was_shown), (1, true));
    assert_eq!(desk.next(now), Some(&slow));
    desk.add(delivery(4, edit.clone()));
    assert_eq!(desk.next(now), Some(&edit), "a hint makes room for what blocks the run");
    assert_eq!(desk.clear().len(), 2);
    assert_eq!(desk.current(), None);
}

#[test]
fn finding_a2_line_ends_that_are_all_alike_are_no_news() {
    let put_diff = |diff: &str| {
        let subject = AskSubject::Edit(EditedFile {
            uri: "file:///x".into(),
            path: "x".into(),
            diff: diff.into(),
            new_file: false,
            operation: None,
        });
        let (mut page, paper) = plain(60, true);
        put(&mut page, &AskView { subject: Some(subject), ..ask(AskKind::Tool, &[]) });
        paper.text()
    };
    let text = put_diff("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\r\n-a\r\n+b\r\n");
    assert!(text.contains(" same\n-a\n+b\n"), "{text}");
    let text = put_diff("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\r\n+a\n");
    assert!(text.contains("-a\\u{d}\n+a\n"), "{text}");
}
