//! Updates in, whole Markdown blocks out.

use adjutant_protocol::ask::AskKind;
use adjutant_protocol::ask::EditedFile;
use adjutant_protocol::update::{ImageView, TurnView};
use proptest::prelude::*;

use super::*;

fn message(text: &str, interrupted: bool) -> Update {
    Update::AgentMessage { message_id: "m-1".into(), text: text.to_owned(), interrupted }
}

fn call(title: &str, status: ToolStatus, summary: &str) -> Update {
    Update::ToolCallUpdate(ToolCallView {
        kind: adjutant_protocol::update::ToolKind::Other,
        locations: Vec::new(),
        arguments_text: String::new(),
        minor: false,
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
        tool_call_ids: Vec::new(),
        origin: None,
        options: crate::wire::ask::options(&crate::policy::ask::options(kind.into(), Some("Always"), &[])),
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
    let subject = AskSubject::Edit(EditedFile {
        uri: String::new(),
        path: "a.md".to_owned(),
        diff,
        new_file: false,
        operation: None,
    });
    let resolution =
        Resolution::Selected { option_id: "allow".to_owned(), text: None, surface: "popup".to_owned() };
    let text = written(&[
        Update::UserMessage {
            message_id: "u-1".into(),
            text: "Fix it.\n```\nopen".to_owned(),
            images: vec![ImageView { mime_type: "image/png".to_owned(), bytes: 11_500 }],
            attached: Vec::new(),
            added: None,
        },
        Update::AgentMessageChunk { message_id: "m-1".into(), text: "Half a sen".to_owned() },
        message("I look.\n\n```rust\nfn a() {}\n```\nThat is all.", false),
        call("Read a.md", ToolStatus::InProgress, ""),
        call("Read `a`.md", ToolStatus::Completed, "1 line"),
        opened(AskKind::Tool, Some(subject)),
        Update::Ask(AskChange::Closed { ask_id: "ask-1".into(), resolution }),
        call("Run *x*", ToolStatus::Denied, "no"),
    ]);
    let wanted = "**You:**\n\n> \\[image image/png 12 kB]\n> Fix it.\n> ```\n> open\n\n\
        **Model:**\n\n> I look.\n>\n> ```rust\n> fn a() {}\n> ```\n> That is all.\n\n\
        - ``Read `a`.md`` … `1 line`\n\n\
        **Asked:** `Change a.md`\n\n`````diff\n--- a/a.md\n+++ b/a.md\n@@ -1,1 +1,1 @@\n-```\n+````\n`````\n\n\
        **Answered:** `Allow once`\n\n\
        - ✗ denied: `Run *x*` … `no`\n\n";
    assert_eq!(text, wanted);
}

#[test]
fn s101_s111_a_huge_diff_leaves_room_for_what_follows() {
    let diff = format!("--- a/a.md\n+++ b/a.md\n{}", "+a line\n".repeat(1_000_000));
    let subject = AskSubject::Edit(EditedFile {
        uri: String::new(),
        path: "a.md".to_owned(),
        diff: diff.into(),
        new_file: false,
        operation: None,
    });
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
fn s101_a_fence_the_model_left_open_ends_with_its_quotation() {
    let block =
        written(&[message("a\n```rust\nfn <b>", false), call("Read a.md", ToolStatus::Completed, "")]);
    assert_eq!(block, "**Model:**\n\n> a\n> ```rust\n> fn <b>\n\n- `Read a.md`\n\n");
    let cut = written(&[message("a\n```\nx", true), call("Read a.md", ToolStatus::Completed, "")]);
    assert_eq!(cut, "**Model:**\n\n> a\n> ```\n> x\n\n*The answer broke off here.*\n\n- `Read a.md`\n\n");
}

#[test]
fn s101_s80_what_an_attempt_said_before_it_broke_off_stands_there_once() {
    let failed = || broken(TurnPhase::AttemptFailed);
    let attempts =
        [message("One tw", true), failed(), steer("Go on."), message("One two th", true), failed()];
    let whole = [&attempts[..], &[message("One two three.", false)]].concat();
    let lines = "- ✗ `it broke`\n\n**You:**\n\n> Go on.\n\n- ✗ `it broke`\n\n";
    assert_eq!(written(&whole), format!("{lines}**Model:**\n\n> One two three.\n\n"));
    let ask = opened(AskKind::ResumeTask, None);
    let last = [broken(TurnPhase::Failed), message("One two th", true), ask];
    let given_up = written(&[&attempts[..], &last].concat());
    let cut = format!(
        "{lines}- ✗ `it broke`\n\n**Model:**\n\n> One two th\n\n*The answer broke off here.*\n\n**Asked:**"
    );
    assert!(given_up.starts_with(&cut), "{given_up}");
    let other =
        Update::AgentMessage { message_id: "m-2".into(), text: "Two.".to_owned(), interrupted: false };
    let both = "**Model:**\n\n> One\n\n*The answer broke off here.*\n\n**Model:**\n\n> Two.\n\n";
    assert_eq!(written(&[message("One", true), other]), both);
}

fn broken(phase: TurnPhase) -> Update {
    Update::Turn(TurnView {
        turn: 1,
        phase,
        attempt: 1,
        usage: None,
        cost: None,
        failure: None,
        message: Some("it broke".to_owned()),
        model: None,
        retry_at: None,
        cache_break: None,
        compacts: false,
    })
}

fn steer(text: &str) -> Update {
    Update::UserMessage {
        message_id: "u-1".into(),
        text: text.to_owned(),
        images: Vec::new(),
        attached: Vec::new(),
        added: None,
    }
}

#[test]
fn s101_a_text_that_streams_is_there_by_whole_lines() {
    let mut transcript = Transcript::default();
    let id: MessageId = "m-1".into();
    assert_eq!(transcript.streamed(&id, "\nI lo"), "");
    assert_eq!(
        transcript.streamed(&id, "\nI look:\n\n```rust\nfn a"),
        "**Model:**\n\n> I look:\n>\n> ```rust\n"
    );
    // What comes between ends the quotation, and with it the code.
    assert_eq!(transcript.block(&steer("Faster.")).as_deref(), Some("\n**You:**\n\n> Faster.\n\n"));
    let text = "\nI look:\n\n```rust\nfn a() {} // <b>\n```\n\n";
    assert_eq!(transcript.streamed(&id, text), "**Model:**\n\n> fn a() {} // \\<b>\n> ```\n");
    assert_eq!(transcript.streamed(&id, text), "");
    let whole = transcript.block(&message(&format!("{text}Done"), false));
    assert_eq!(whole.as_deref(), Some(">\n> Done\n\n"));
    assert_eq!(transcript.block(&Update::Complete { summary: format!("{text}Done"), said: true }), None);
    // An attempt that breaks off, and nothing after it.
    let mut last = Transcript::default();
    assert_eq!(last.block(&message("Alpha beta", true)), None);
    assert_eq!(
        last.rest().as_deref(),
        Some("**Model:**\n\n> Alpha beta\n\n*The answer broke off here.*\n\n")
    );
    assert_eq!(last.rest(), None);
    // An attempt that breaks off, and the next one.
    assert_eq!(transcript.streamed(&id, "One\ntw"), "**Model:**\n\n> One\n");
    let cut = transcript.block(&message("One\ntwo", true));
    assert_eq!(cut.as_deref(), Some("> two\n\n*The answer broke off here.*\n\n"));
    assert_eq!(transcript.streamed(&id, "Two\nand"), "**Model:**\n\n> Two\n");
    // The attempt fails, and the server sends no message with its text before that.
    let failed = transcript.block(&broken(TurnPhase::Failed));
    assert_eq!(failed.as_deref(), Some("\n- ✗ `it broke`\n\n"));
}

/// Returns a text of the model as it is in the transcript.
fn line(text: &str) -> String {
    let block = written(&[message(text, false)]);
    block.strip_prefix("**Model:**\n\n").unwrap_or(&block).trim_end().to_owned()
}

#[test]
fn finding_a5_images_html_and_links_of_the_model_are_text_with_their_targets() {
    for (text, shown) in [
        ("![x](https://evil/p.png)", "> !\\[x](https://evil/p.png)"),
        ("[done](command:adjutant.respond?%5B%5D)", "> \\[done](command:adjutant.respond?%5B%5D)"),
        ("[x][1]\n\n[1]: command:x", "> \\[x]\\[1]\n>\n> \\[1]: command:x"),
        ("see <!-- this\n<img src=x>\n  <PRE>", "> see \\<!-- this\n> \\<img src=x>\n>   \\<PRE>"),
        // A backslash from the model does not undo an added one.
        ("\\<b> \\\\[x](y:z)", "> \\&lt;b> \\\\&#91;x](y:z)"),
        // Code stays code if every parser sees the same code.
        ("a `Vec<T>` and ``[`]``", "> a `Vec<T>` and ``[`]``"),
        ("`a\n`<img>`", "> `a\n> `\\<img>`"),
        ("\\`<img>`", "> \\`\\<img>`"),
        ("```\n<b>\n```\n<b>", "> ```\n> <b>\n> ```\n> \\<b>"),
        // The fence in a list item ends with the item.
        ("- a\n  ```\n<img>", "> - a\n>   ```\n> \\<img>"),
        ("```mermaid\nclick\n```", "> ```\n> click\n> ```"),
    ] {
        assert_eq!(line(text), shown, "{text:?}");
    }
}

/// An image, a link and HTML that a preview could draw.
const LIVE: &str = "![x](http://127.0.0.1:9/leak.png) [a](command:x) <img src=y>";

#[test]
fn finding_a5_what_some_reader_sees_outside_of_a_fence_is_text() {
    for before in [
        // After `> ` a tab is two columns wide, so this ends the fence.
        "Hello\n\n```\ncode\n\t```",
        "```\ncode\n \t```",
        "```\ncode\n    ```",
        // This fence is open, and a line that looks like the start of another fence ends it.
        "  ```\ncode\n```",
        "  ```\n  code\n ~~~\n```",
        // A fence in an item or a quotation ends with it; some parsers do not see these fences.
        "- ```\n  a\n\n```\n```",
        "-\t```\n```\n```",
        "> > ```\n> ```\n```\n```",
        "a\n    ~~~\n~~~\n~~~",
        "``` a`b\n```\nx\n```",
        "\u{a0}```\n```\n```",
        "```\ncode\n```\u{a0}",
        // Some parsers read mathematics, tables and addresses before code.
        "$$\n```\n$$",
        "$a `$",
    ] {
        let text = format!("{before}\n{LIVE}");
        assert!(
            line(&text).ends_with("!\\[x](http://127.0.0.1:9/leak.png) \\[a](command:x) \\<img src=y>"),
            "{text}"
        );
    }
    for text in ["| `a | ![x](u) ` |", "$`$ ![x](u) `", "http://a`b ![x](u) `", "www.a.b`c ![x](u)`"] {
        assert!(line(text).contains("!\\[x](u)"), "{text}");
    }
    for (code, shown) in [
        // A tab has the width that it has in the model's text.
        ("```make\na:\n\tb <c>\n```\n<d>", "> ```make\n> a:\n>     b <c>\n> ```\n> \\<d>"),
        ("- a\n  ```\n  x\n  ```\n\n```\n<b>\n```", "> - a\n>   ```\n>   x\n>   ```\n>\n> ```\n> <b>\n> ```"),
        ("````\n```\n<b>\n```\n````", "> ````\n> ```\n> <b>\n> ```\n> ````"),
    ] {
        assert_eq!(line(code), shown);
    }
}

#[test]
fn finding_a5_nothing_of_the_models_looks_like_a_line_of_ours() {
    let forged =
        "Done.\n\n**Answered:** `Allow once`\n\n- `Run rm`\n\n# You\n\n> I said yes\n\n```\n**Asked:**";
    let subject = AskSubject::Read { path: "a](command:x)".to_owned(), reason: forged.to_owned() };
    let text = written(&[
        message(forged, false),
        Update::UserMessage {
            message_id: "u".into(),
            text: forged.to_owned(),
            images: Vec::new(),
            attached: Vec::new(),
            added: None,
        },
        opened(AskKind::Tool, Some(subject)),
        Update::Complete { summary: forged.to_owned() + "x", said: false },
    ]);
    let ours: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('>')).collect();
    assert_eq!(ours[..3], ["**Model:**", "**You:**", "**Asked:** `Change a.md`"]);
    assert!(ours[3].starts_with("`a]\\u{28}command:x)`") && ours[4..] == ["**Model:**"], "{ours:?}");
}

#[test]
fn what_nobody_sees_is_escaped_and_idle_questions_are_no_part_of_it() {
    assert_eq!(
        written(&[message("a\u{202e}b\r\nc\u{1b}", false)]),
        "**Model:**\n\n> a\\u{202e}b\n> c\\u{1b}\n\n"
    );
    assert_eq!(written(&[opened(AskKind::CompletionResult, None)]), "");
    assert_eq!(written(&[message("  \n", false)]), "");
    let summary = |said| Update::Complete { summary: "Done.".to_owned(), said };
    assert_eq!(
        written(&[message("Done.", false), summary(true)]),
        "**Model:**\n\n> Done.\n\n",
        "not said again"
    );
    assert_eq!(
        written(&[message("First.", false), summary(false)]),
        "**Model:**\n\n> First.\n\n**Model:**\n\n> Done.\n\n"
    );
}

proptest! {
    /// Each line of any text is part of a quotation or of Adjutant's own code block. Outside of code, nothing begins
    /// a tag, a link or an image.
    #[test]
    fn finding_a5_s101_every_block_is_whole_and_every_line_is_told_from_ours(
        texts in prop::collection::vec("([`~ a>\n\r\t<!-]|\\[a\\]\\(b:c\\)|\\*\\*Answered:\\*\\*|\\\\){0,30}", 1..6),
    ) {
        let mut transcript = Transcript::default();
        for text in &texts {
            for update in [
                message(text, true),
                Update::UserMessage { message_id: "u".into(), text: text.clone(), images: Vec::new(), attached: Vec::new(), added: None },
                call(text, ToolStatus::Failed, text),
                Update::Complete { summary: text.clone(), said: false },
            ] {
                let Some(block) = transcript.block(&update) else { continue };
                prop_assert!(block.ends_with("\n\n") && !block.starts_with('\n'), "{block:?}");
                for line in block.lines().filter(|line| !line.is_empty()) {
                    let ours = ["**Model:**", "**You:**", "- ✗ failed: ", "*The answer broke off here.*"];
                    prop_assert!(line.starts_with('>') || ours.iter().any(|own| line.starts_with(own)), "{block:?}");
                }
                if !block.contains('`') && !block.contains("~~~") {
                    let odd = |at: usize| !block[..at].ends_with('\\');
                    prop_assert!(!block.match_indices(['<', '[']).any(|(at, _)| odd(at)), "{block:?}");
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn s101_a_text_ends_as_the_same_block_however_it_streamed(
        text in "([`~ a>\n\r\t<!-]|\\[a\\]\\(b:c\\)|\n\n|```\n){0,40}",
        cuts in prop::collection::vec(0_usize..120, 0..6),
        interrupted: bool,
    ) {
        let whole = written(&[message(&text, interrupted), call("Read a.md", ToolStatus::Completed, "")]);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| crate::text::start_of(&text, cut).len()).collect();
        cuts.sort_unstable();
        let mut transcript = Transcript::default();
        let mut streamed: String =
            cuts.into_iter().map(|cut| transcript.streamed(&"m-1".into(), &text[..cut])).collect();
        streamed.extend(transcript.block(&message(&text, interrupted)));
        streamed.extend(transcript.block(&call("Read a.md", ToolStatus::Completed, "")));
        prop_assert_eq!(streamed, whole);
    }
}

/// Returns the lines of a quotation that are text to a parser without nested lists and quotations: lines outside of
/// fences that have no backtick before them in their paragraph.
fn text_of(block: &str) -> Vec<&str> {
    let (mut fence, mut ticks, mut text) = (None, false, Vec::new());
    for line in block.lines().filter_map(|line| line.strip_prefix('>')) {
        let body = line.trim_start_matches([' ', '\t']);
        let tab = |column: usize, c| if c == '\t' { column / 4 * 4 + 4 } else { column + 1 };
        let indent = line[..line.len() - body.len()].chars().fold(1, tab).saturating_sub(2);
        let mark = body.chars().next().filter(|c| "`~".contains(*c)).unwrap_or('x');
        let run = body.chars().take_while(|c| *c == mark).count();
        let (fits, info) = (indent <= 3 && run >= 3 && mark != 'x', &body[body.len().min(run)..]);
        match fence {
            Some((open, least)) => {
                if fits && mark == open && run >= least && info.trim_matches([' ', '\t']).is_empty() {
                    fence = None;
                }
            }
            None if fits && !(mark == '`' && info.contains('`')) => {
                (fence, ticks) = (Some((mark, run)), false)
            }
            None => {
                ticks = !body.is_empty() && (ticks || body.contains('`'));
                text.extend((!ticks).then_some(line));
            }
        }
    }
    text
}

proptest! {
    /// However fences are indented, marked and mixed, no tag, link or image is drawn outside of them.
    #[test]
    fn finding_a5_fences_of_any_shape_leave_nothing_drawn(
        text in "((```|~~~)\n)?((| {1,5}|\t| \t|\u{a0}|> |- |-\t|1\\. )(```|~~~|````|```rust|``` `|a|\\$\\$|)( |\t|\u{a0})?\n){0,4}!\\[x\\]\\(u\\)<b>\n(```\n)?",
    ) {
        let block = written(&[message(&text, false)]);
        for line in text_of(&block) {
            let odd = |at: usize| !line[..at].ends_with('\\');
            prop_assert!(!line.match_indices(['<', '[']).any(|(at, _)| odd(at)), "{block:?}");
        }
    }
}
