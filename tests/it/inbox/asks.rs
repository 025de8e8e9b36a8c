//! Asks listed and answered from the terminal while an editor has the session.
//!
//! Never reads the server's memory: the tests use the binary, the editor and the disk.

use std::os::unix::fs::PermissionsExt;

use adjutant_protocol::ask::{AskKind, Resolution, RespondStatus};
use adjutant_protocol::state::Outcome;
use adjutant_testkit::editor::Answer;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::inbox;
use adjutant_testkit::model::Reply;
use adjutant_testkit::process::wait_until;
use serde_json::{Value, json};

use super::{Held, command, letters, run, serve};
use crate::rig::{count, facts_named, tool_outputs};

#[test]
fn n02_a_terminal_answers_a_command_that_an_editor_holds() {
    let held = Held::at_command();
    held.editor.await_delivery(&held.ask.ask_id);
    let ran = held.answer(&["allow"]);
    assert_eq!(ran.expect(0).stdout, "accepted\n");
    let resolved = held.editor.await_resolved(&held.ask.ask_id);
    let by_inbox =
        Resolution::Selected { option_id: "allow".to_owned(), text: None, surface: "inbox".to_owned() };
    assert_eq!(resolved, by_inbox);
    held.editor.await_withdrawal(&held.ask.ask_id);
    let end = held.editor.await_run_end(&held.session, &held.run);
    assert_eq!(end.outcome, Outcome::Stopped);
    assert_eq!(held.ledger(), 1);
    assert_eq!(letters(&held.workspace, &held.session), [""; 0], "a processed answer is removed");

    // A late answer gets the winning one and has no effect.
    let late = held.answer(&["reject"]);
    assert_eq!(late.expect(4).stdout, "already answered: allow, from another terminal\n");
    let late = held.editor.respond(&held.ask.ask_id, "allow");
    assert_eq!((late.status, late.resolution), (RespondStatus::AlreadyResolved, by_inbox));
    assert_eq!((held.ledger(), count(&held.workspace, &held.session, "ask_closed")), (1, 1));
    held.end();
}

#[test]
fn n02_a_terminal_hears_that_the_editor_was_first() {
    let held = Held::at_command();
    held.editor.answer(&held.ask.ask_id, "reject");
    held.editor.await_resolved(&held.ask.ask_id);
    let ran = held.answer(&["allow"]);
    assert_eq!(ran.expect(4).stdout, "already answered: reject, where its session is open\n");
    held.editor.await_run_end(&held.session, &held.run);
    assert_eq!(held.ledger(), 0);
    held.end();
}

#[test]
fn n20_an_edit_is_rejected_with_a_reason_from_the_terminal() {
    let edit = json!({"path": "a.txt", "old_text": "hello", "new_text": "good bye"});
    let held = Held::at_ask([Reply::call("edit_file", edit)], AskKind::Tool);
    let shown = run(&held.workspace, &["asks"]);
    for part in
        ["-hello\n", "+good bye\n", "  allow = Allow once\n", "  reject = Reject\n", &held.ask.ask_id.0[..12]]
    {
        assert!(shown.expect(0).stdout.contains(part), "{part:?} is missing in\n{shown}");
    }
    held.answer(&["reject", "--reason", "be polite"]).expect(0);
    held.editor.await_run_end(&held.session, &held.run);
    let outputs = tool_outputs(&held.model.requests()[1]);
    assert_eq!(outputs, ["The user rejected this and says: be polite"]);
    assert_eq!(held.workspace.read("a.txt"), "hello\n");
    held.end();
}

#[test]
fn s15_a_question_is_answered_with_a_text_from_the_terminal() {
    let question = json!({"question": "Which one?", "options": ["red", "green"]});
    let held = Held::at_ask([Reply::call("ask_user", question)], AskKind::Followup);
    let refused = held.answer(&["blue"]);
    assert!(refused.expect(2).stderr.contains("choose one of: option-1, option-2"), "{refused}");
    assert!(held.answer(&["--text", "  "]).expect(2).stderr.contains("empty"));
    held.answer(&["--text", "blue, actually \u{1b}[2J"]).expect(0);
    held.editor.await_run_end(&held.session, &held.run);
    let outputs = tool_outputs(&held.model.requests()[1]);
    assert_eq!(outputs, ["The user answered: blue, actually \u{1b}[2J"]);
    let late = held.answer(&["option-1"]);
    let shown = "already answered: \"blue, actually \\u{1b}[2J\", from another terminal\n";
    assert_eq!(late.expect(4).stdout, shown, "invisible characters are escaped");
    held.end();
}

#[test]
fn a2_asks_are_listed_whole_with_what_cannot_be_seen_escaped() {
    let long = format!("echo {} #", "x".repeat(400));
    let options = json!({"question": format!("Really\u{1b}[2J\u{202e}?"), "options": ["a\u{200b}b"]});
    let held = Held::at_ask([Reply::call("ask_user", options)], AskKind::Followup);
    let shown = run(&held.workspace, &["asks", "--all"]);
    assert!(shown.expect(0).stdout.contains("Really\\u{1b}[2J\\u{202e}?"), "{shown}");
    assert!(shown.stdout.contains("option-1 = a\\u{200b}b\n"), "{shown}");
    let lines = run(&held.workspace, &["asks", "--json"]).expect(0).stdout.clone();
    assert!(lines.is_ascii(), "{lines}");
    let line: Value = serde_json::from_str(lines.trim_end()).expect("one ask a line");
    assert_eq!(line, json!(held.ask));
    held.end();

    let held = Held::at_ask([command(&format!("{long} "))], AskKind::Command);
    let shown = run(&held.workspace, &["asks", "--session", &held.session.0]);
    assert!(shown.expect(0).stdout.contains(&format!("  $ {long}\\u{{20}}\n")), "{shown}");
    held.end();
}

#[test]
fn where_nothing_is_asked_the_list_says_so() {
    let workspace = Workspace::new("");
    assert_eq!(run(&workspace, &["asks"]).expect(0).stdout, "Nothing is asked.\n");
    assert_eq!(run(&workspace, &["asks", "--json"]).expect(0).stdout, "");
    let none = run(&workspace, &["answer", "ask-0123456789", "allow"]);
    assert!(none.expect(2).stderr.contains("there is no question \"ask-0123456789\""), "{none}");
    assert!(!workspace.state_dir().join("sessions").exists(), "listing creates nothing");
    run(&workspace, &["answer", "ask-0123456789"]).expect(2);
    run(&workspace, &["answer", "ask-0123456789", "allow", "--text", "both"]).expect(2);
    let help = run(&workspace, &["answer", "--help"]);
    assert!(help.expect(0).stdout.contains("4 another answer came first"), "{help}");
}

#[test]
fn the_beginning_of_an_id_is_enough_when_it_is_long_and_the_only_one() {
    let held = Held::at_command();
    let tail = held.ask.ask_id.0.strip_prefix("ask-").expect("an id of an ask").to_owned();
    let answer = |id: &str| run(&held.workspace, &["answer", id, "reject"]);
    answer(&tail[..3]).expect(2);
    answer("ask-").expect(2);
    answer("").expect(2);
    answer(&format!("{}zz", &tail[..8])).expect(2);
    assert_eq!(count(&held.workspace, &held.session, "ask_closed"), 0);
    answer(&format!("ask-{}…", &tail[..4])).expect(0);
    held.end();
}

#[test]
fn s109_a_session_that_an_editor_holds_is_shown_exported_and_listed() {
    let held = Held::at_command();
    let before = crate::rig::log_text(&held.workspace, &held.session);
    let shown = run(&held.workspace, &["sessions", "show", &held.session.0]);
    assert!(shown.expect(0).stdout.contains("> go on\n"), "{shown}");
    assert_eq!(shown.stderr, "", "{shown}");
    let exported = run(&held.workspace, &["sessions", "export", &held.session.0]);
    let lines: Vec<Value> =
        exported.expect(0).stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let published = crate::rig::lasting(&held.editor.updates());
    assert_eq!(lines, published.iter().map(|update| json!(update)).collect::<Vec<_>>());
    assert!(run(&held.workspace, &["sessions", "list"]).expect(0).stdout.contains("asks"));
    assert_eq!(crate::rig::log_text(&held.workspace, &held.session), before, "reading changes nothing");
    held.editor.answer(&held.ask.ask_id, "reject");
    held.editor.await_run_end(&held.session, &held.run);
    held.end();
}

#[test]
fn g1_the_inbox_is_for_its_owner_alone_and_watched_only_while_something_is_asked() {
    let held = Held::at_command();
    let folder = inbox::folder(&held.workspace, &held.session);
    wait_until("the inbox", || folder.is_dir());
    let mode = std::fs::metadata(&folder).expect("the inbox").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    held.editor.answer(&held.ask.ask_id, "reject");
    held.editor.await_run_end(&held.session, &held.run);
    held.end();
}

#[test]
fn an_answer_for_a_session_that_nobody_holds_opens_it_and_its_run_goes_on_here() {
    let held = Held::at_command();
    held.editor.shutdown();
    let Held { editor, mut server, model, workspace, session, ask, .. } = held;
    server.wait();
    drop(editor);
    let asked = run(&workspace, &["asks"]);
    assert!(asked.expect(0).stdout.contains("  $ echo ran >> ledger\n"), "{asked}");
    let ran = run(&workspace, &["answer", &ask.ask_id.0, "allow"]);
    assert!(ran.expect(0).stdout.starts_with("accepted\n"), "{ran}");
    assert!(ran.stdout.contains("Done."), "the run continued to its end: {ran}");
    assert_eq!(super::ledger(&workspace), 1);
    assert_eq!(count(&workspace, &session, "run_ended"), 1);
    assert_eq!(model.requests().len(), 2);
    assert_eq!(run(&workspace, &["asks"]).expect(0).stdout, "Nothing is asked.\n");
}

#[test]
fn finding_e5_an_answer_from_a_folder_within_sees_the_rules_of_the_repository() {
    let held =
        Held::at_ask([command("echo ran >> ledger"), command("echo more >> ledger")], AskKind::Command);
    held.editor.shutdown();
    let Held { editor, mut server, model, workspace, ask, .. } = held;
    server.wait();
    drop(editor);
    for (path, text) in [
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".adjutant/config.toml", "[permissions]\ndeny = [\"run_command(echo more)\"]\n"),
        ("sub/b.txt", ""),
    ] {
        let path = workspace.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
        std::fs::write(path, text).expect("it is written");
    }
    let args = ["answer", &ask.ask_id.0, "allow"];
    let ran = super::line(&workspace, &args).at(&workspace.path().join("sub")).run();
    assert!(ran.expect(0).stdout.contains("Done."), "there is no further ask: {ran}");
    assert_eq!(super::ledger(&workspace), 1);
    let outputs = tool_outputs(&model.requests()[2]);
    assert!(outputs[1].starts_with("Denied: "), "{outputs:?}");
}

#[test]
fn where_nobody_is_at_the_terminal_the_next_ask_stays_open() {
    let held =
        Held::at_ask([command("echo ran >> ledger"), command("echo more >> ledger")], AskKind::Command);
    held.editor.shutdown();
    let Held { editor, mut server, model, workspace, session, ask, .. } = held;
    server.wait();
    drop(editor);
    let ran = run(&workspace, &["answer", &ask.ask_id.0, "allow"]);
    assert!(ran.expect(0).stderr.contains("the run waits for an answer"), "{ran}");
    assert_eq!((super::ledger(&workspace), model.requests().len()), (1, 2));
    let asked = run(&workspace, &["asks", "--json"]).expect(0).stdout.clone();
    let next: Value = serde_json::from_str(asked.trim_end()).expect("one ask");
    assert_eq!(next["subject"]["command"], "echo more >> ledger");
    assert_eq!(facts_named(&workspace, &session, "run_ended").len(), 0);
}

#[test]
fn s03_a_client_that_was_restarted_answers_an_ask_it_knows_without_resuming() {
    let held = Held::at_command();
    held.editor.shutdown();
    let Held { editor, mut server, model: _model, workspace, session, run: open, ask } = held;
    server.wait();
    drop(editor);
    let (mut server, editor) = serve(&workspace);
    let answered = editor.respond(&ask.ask_id, "allow");
    assert_eq!(answered.status, RespondStatus::Accepted);
    editor.await_run_end(&session, &open);
    assert_eq!(super::ledger(&workspace), 1);
    let unknown = editor.request("agent/ask/respond", json!({"askId": "ask-none", "optionId": "allow"}));
    assert_eq!(crate::rig::refused(unknown).1, "AskNotFound");
    editor.shutdown();
    server.wait();
}

#[test]
fn finding_f5_an_answer_to_an_ask_that_was_just_closed_elsewhere_says_who_won() {
    let held = Held::at_command();
    let (mut server, editor) = serve(&held.workspace);
    held.editor.respond(&held.ask.ask_id, "reject");
    let late = json!({"askId": held.ask.ask_id, "optionId": "allow"});
    let late = editor.request("agent/ask/respond", late);
    let message = late.as_ref().map_or_else(|error| error.message.clone(), Value::to_string);
    assert_eq!(message, "this question is closed: \"reject\" was chosen");
    assert_eq!(crate::rig::refused(late).1, "AskClosed");
    assert_eq!(held.ledger(), 0);
    editor.shutdown();
    server.wait();
    held.editor.await_run_end(&held.session, &held.run);
    held.end();
}

#[test]
fn an_answer_with_no_text_it_takes_is_refused_and_the_ask_stays() {
    let held = Held::at_command();
    let letter =
        inbox::leave(&held.workspace, &held.session, &held.ask.ask_id, &Answer::option("no-such-option"));
    wait_until("the refusal", || letter.is_gone());
    assert_eq!(count(&held.workspace, &held.session, "ask_closed"), 0);
    held.answer(&["reject"]).expect(0);
    held.end();
}
