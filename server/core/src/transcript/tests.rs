//! Updates in, whole Markdown blocks out.

use adjutant_protocol::ask::AskKind;
use adjutant_protocol::update::{ImageView, TurnView};
use proptest::prelude::*;

use super::*;

fn message(text: &str, interrupted: bool) -> Update {
    Update::AgentMessage { message_id: "m-1".into(), text: text.to_owned(), interrupted }
}

fn call(title: &str, status: ToolStatus, summary: &str) -> Update {
    Update::ToolCallUpdate(ToolCallView {
        tool_call_id: "call-1".into(),
        tool: "read_file".to_owned(),
        title: title.to_owned(),
        status,
        summary: Some(summary.to_owned()),
        elapsed_ms: None,
    })
}

fn opened(kind: AskKind, subject: Option<AskSubject>) -> Update {
    let ask = AskView {
        session_id: "s-1".into(),
        ask_id: "ask-1".into(),
        kind,
        group: kind.group(),
        title: "Change a.md".to_owned(),
        description: None,
        subject,
        run_id: None,
        tool_call_id: None,
        origin: None,
        options: crate::ask::options(kind, Some("Always"), &[]),
        free_text: true,
        opened_at: 0,
    };
    Update::Ask(AskChange::Opened { ask: Box::new(ask) })
}

fn written(updates: &[Update]) -> String {
    let mut transcript = Transcript::default();
    updates.iter().filter_map(|update| transcript.block(update)).collect()
}

#[test]
fn s101_a_session_reads_as_whole_blocks() {
    let diff = "--- a/a.md\n+++ b/a.md\n@@ -1,1 +1,1 @@\n-```\n+````\n".into();
    let subject = AskSubject::Edit { uri: String::new(), path: "a.md".to_owned(), diff, new_file: false };
    let resolution =
        Resolution::Selected { option_id: "allow".to_owned(), text: None, surface: "popup".to_owned() };
    let text = written(&[
        Update::UserMessage {
            message_id: "u-1".into(),
            text: "Fix it.\n```\nopen".to_owned(),
            images: vec![ImageView { mime_type: "image/png".to_owned(), bytes: 11_500 }],
        },
        Update::AgentMessageChunk { message_id: "m-1".into(), text: "Half a sen".to_owned() },
        message("I look.\n\n```rust\nfn a() {}\n```\nThat is all.", false),
        call("Read a.md", ToolStatus::InProgress, ""),
        call("Read `a`.md", ToolStatus::Completed, "1 line"),
        opened(AskKind::Tool, Some(subject)),
        Update::Ask(AskChange::Closed { ask_id: "ask-1".into(), resolution }),
        call("Run *x*", ToolStatus::Denied, "no"),
    ]);
    let wanted = "> [image image/png 12 kB]\n> Fix it.\n> ```\n> open\n\n\
        I look.\n\n```rust\nfn a() {}\n```\nThat is all.\n\n\
        - ``Read `a`.md`` … `1 line`\n\n\
        **Asked:** `Change a.md`\n\n`````diff\n--- a/a.md\n+++ b/a.md\n@@ -1,1 +1,1 @@\n-```\n+````\n`````\n\n\
        **Answered:** `Allow once`\n\n\
        - ✗ denied: `Run *x*` … `no`\n\n";
    assert_eq!(text, wanted);
}

#[test]
fn s101_s111_a_huge_diff_leaves_room_for_what_follows() {
    let diff = format!("--- a/a.md\n+++ b/a.md\n{}", "+a line\n".repeat(1_000_000));
    let subject =
        AskSubject::Edit { uri: String::new(), path: "a.md".to_owned(), diff: diff.into(), new_file: false };
    let text = written(&[opened(AskKind::Tool, Some(subject))]);
    assert!(text.len() < 2 * MAX_DIFF && text.contains("+a line\n```\n"), "{} bytes", text.len());
    let shown = text.matches("+a line\n").count();
    assert!(
        text.contains(&format!("*{} more lines are left out here.*", 1_000_000 - shown)),
        "{}",
        &text[text.len() - 200..]
    );
}

#[test]
fn s101_a_fence_the_model_left_open_is_closed() {
    for (text, end) in [
        ("a\n```rust\nfn", "\n```"),
        ("a\n````\n```\nx", "\n````"),
        ("a\n~~~\n```\nx", "\n~~~"),
        ("a\n```\nx\n```", "```"),
        ("a ``` b", "a ``` b"),
        ("a\n    ```\nb", "b"),
        ("```a`b\nc", "c"),
    ] {
        let block = written(&[message(text, false)]);
        assert_eq!(block, format!("{}{}\n\n", text, if text.ends_with(end) { "" } else { end }));
    }
    let cut = written(&[message("a\n```\nx", true), call("Read a.md", ToolStatus::Completed, "")]);
    assert_eq!(cut, "a\n```\nx\n```\n\n*The answer broke off here.*\n\n- `Read a.md`\n\n");
}

#[test]
fn s101_s80_what_an_attempt_said_before_it_broke_off_stands_there_once() {
    let turn = |phase| {
        Update::Turn(TurnView {
            turn: 1,
            phase,
            attempt: 1,
            usage: None,
            failure: None,
            message: Some("it broke".to_owned()),
            model: None,
            retry_at: None,
        })
    };
    let failed = || turn(TurnPhase::AttemptFailed);
    let steer =
        Update::UserMessage { message_id: "u-1".into(), text: "Go on.".to_owned(), images: Vec::new() };
    let broken = [message("One tw", true), failed(), steer, message("One two th", true), failed()];
    let whole = [&broken[..], &[message("One two three.", false)]].concat();
    let lines = "- ✗ `it broke`\n\n> Go on.\n\n- ✗ `it broke`\n\n";
    assert_eq!(written(&whole), format!("{lines}One two three.\n\n"));
    let ask = opened(AskKind::ResumeTask, None);
    let last = [turn(TurnPhase::Failed), message("One two th", true), ask];
    let given_up = written(&[&broken[..], &last].concat());
    let cut = format!("{lines}- ✗ `it broke`\n\nOne two th\n\n*The answer broke off here.*\n\n**Asked:**");
    assert!(given_up.starts_with(&cut), "{given_up}");
    let other =
        Update::AgentMessage { message_id: "m-2".into(), text: "Two.".to_owned(), interrupted: false };
    assert_eq!(written(&[message("One", true), other]), "One\n\n*The answer broke off here.*\n\nTwo.\n\n");
}

#[test]
fn s101_html_that_would_swallow_the_rest_is_text() {
    let text =
        written(&[message("see <!-- this\n<!-- all\n  <PRE>x\n```\n<!-- code\n```\n<b>fine</b>", false)]);
    assert_eq!(text, "see <!-- this\n\\<!-- all\n  \\<PRE>x\n```\n<!-- code\n```\n<b>fine</b>\n\n");
}

#[test]
fn what_nobody_sees_is_escaped_and_idle_questions_are_no_part_of_it() {
    assert_eq!(written(&[message("a\u{202e}b\r\nc\u{1b}", false)]), "a\\u{202e}b\nc\\u{1b}\n\n");
    assert_eq!(written(&[opened(AskKind::CompletionResult, None)]), "");
    assert_eq!(written(&[message("  \n", false)]), "");
    let summary = Update::Complete { summary: "Done.".to_owned() };
    assert_eq!(written(&[message("Done.", false), summary.clone()]), "Done.\n\n", "not said again");
    assert_eq!(written(&[message("First.", false), summary]), "First.\n\nDone.\n\n");
}

/// A reader of Markdown that knows nothing but fences: whether one is open at the end.
fn is_open(text: &str) -> bool {
    let mut open: Option<String> = None;
    for line in text.lines() {
        let body = line.trim_start_matches(' ');
        if line.len() - body.len() > 3 {
            continue;
        }
        let mark: String =
            body.chars().take_while(|c| body.starts_with(*c) && matches!(c, '`' | '~')).collect();
        let rest = &body[mark.len()..];
        match &open {
            None if mark.len() >= 3 && !(mark.starts_with('`') && rest.contains('`')) => open = Some(mark),
            Some(fence)
                if mark.len() >= fence.len() && mark.starts_with(&fence[..1]) && rest.trim().is_empty() =>
            {
                open = None;
            }
            _ => {}
        }
    }
    open.is_some()
}

proptest! {
    /// Whatever the model and the tools say, every block ends where it began: outside of any fence.
    #[test]
    fn s101_every_block_leaves_no_fence_open(texts in prop::collection::vec("[`~ a>\n\r\t<!-]{0,60}", 1..6)) {
        let mut transcript = Transcript::default();
        let mut whole = String::new();
        for text in &texts {
            for update in [
                message(text, true),
                Update::UserMessage { message_id: "u".into(), text: text.clone(), images: Vec::new() },
                call(text, ToolStatus::Failed, text),
                Update::Complete { summary: text.clone() },
            ] {
                let Some(block) = transcript.block(&update) else { continue };
                prop_assert!(block.ends_with("\n\n") && !block.starts_with('\n'), "{block:?}");
                whole.push_str(&block);
                prop_assert!(!is_open(&whole), "{whole:?}");
            }
        }
    }
}
