//! What an editor without a plugin shows before the user can approve, and what the user learns about the
//! server.
//!
//! No test approves something that the user could not see; that rule is what they check.

use adjutant_testkit::model::Reply;
use adjutant_testkit::process::wait_until;
use serde_json::{Value, json};

use super::{FILE, command, under_way};
use crate::plain::{AUTOMATIC, Plain, at, title, titles};
use crate::stage::write;

/// Returns the last message with this method that the server sent.
fn last(plain: &Plain, method: &str) -> Option<Value> {
    let seen = plain.rig.seen();
    let lines = seen.lines().rev().filter_map(|line| line.strip_prefix("server -> "));
    lines
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find(|message| message["method"] == method)
}

#[test]
fn s03_an_approval_is_offered_only_after_the_whole_was_shown() {
    let long = format!("echo {}", "word ".repeat(60));
    let plain = Plain::new(
        FILE,
        [command(long.trim()), write("new.txt", &"line\n".repeat(400)), Reply::text("Done.")],
    );
    let started = plain.command("adjutant.start", json!(["go"])).expect("it is started");
    for (verb, what) in [("once", "run `echo word"), ("apply", "create new.txt (+400 -0)")] {
        let reject = plain.await_action("a.rs", &format!("Adjutant: Reject: {what}"));
        let offered = || titles(&plain.actions("a.rs", at(1, 0), json!({})));
        assert!(!offered().iter().any(|title| title.starts_with("Adjutant: Yes")), "{:?}", offered());
        let show = plain.await_action("a.rs", &format!("Adjutant: Show: {what}"));
        plain.pick(&show).expect("it is shown");
        let allow = plain.await_action("a.rs", &format!("Adjutant: Yes, {verb}: {what}"));
        let first = offered();
        assert!(first[0].starts_with("Adjutant: Reject"), "{first:?}");
        plain.pick(if what.starts_with("run") { &allow } else { &reject }).expect("it is accepted");
    }
    plain.finish(&started);
    assert!(!plain.workspace.exists("new.txt"));
    plain.rig.end();
}

#[test]
fn s03_unasked_an_answer_is_offered_on_the_diagnostic_of_its_ask_alone() {
    let plain = Plain::new(FILE, [command("echo hi"), Reply::text("Done.")]);
    plain.rig.open("a.rs");
    let uri = plain.workspace.uri("a.rs");
    let arguments = json!([{ "template": "write_tests", "uri": uri, "range": at(1, 3) }]);
    let started = plain.command("adjutant.start", arguments).expect("it is started");
    wait_until("the diagnostic of the ask", || !plain.rig.diagnostics(&uri)[0].is_null());
    let diagnostics = plain.rig.diagnostics(&uri);
    let context = json!({ "triggerKind": AUTOMATIC, "diagnostics": diagnostics });
    let actions = plain.actions("a.rs", at(1, 0), context);
    let wanted =
        ["Reject", "Show", "Yes, once"].map(|way| format!("Adjutant: {way}: run `echo hi`, at most 120 s"));
    assert_eq!(titles(&actions)[..3], wanted);
    assert_eq!(actions[2]["diagnostics"], diagnostics);
    let allow =
        actions.iter().find(|action| title(action).starts_with("Adjutant: Yes")).expect("it is there");
    plain.pick(allow).expect("it is accepted");
    plain.finish(&started);
    wait_until("the diagnostic to go", || plain.rig.diagnostics(&uri) == json!([]));
    plain.rig.end();
}

#[test]
fn n08_the_cancel_button_of_a_progress_ends_its_run() {
    let (plain, started) = under_way();
    let mut token = Value::Null;
    wait_until("the progress", || {
        let created = last(&plain, "window/workDoneProgress/create").unwrap_or_default();
        token = created["params"]["token"].clone();
        !token.is_null()
    });
    plain.rig.notify("window/workDoneProgress/cancel", json!({ "token": "another" }));
    plain.rig.notify("window/workDoneProgress/cancel", json!({ "token": 7 }));
    plain.rig.notify("window/workDoneProgress/cancel", json!({ "token": token }));
    assert_eq!(json!(plain.finish(&started).outcome), "cancelled");
    plain.rig.end();
}

#[test]
fn n19_the_user_asks_what_stands_for_what_and_sees_the_transcript() {
    let plain = Plain::new(FILE, [Reply::text("Hello yourself.")]);
    let table = plain.command("adjutant.capabilities", json!([])).expect("it is answered");
    assert_eq!(table["progress"], "window/workDoneProgress", "{table}");
    let message = plain.rig.await_message();
    assert!(message.contains("the command adjutant.start"), "{message}");
    let started = plain.command("adjutant.start", json!(["hello"])).expect("it is started");
    plain.finish(&started);
    assert_eq!(plain.command("adjutant.showTranscript", json!([])), Ok(Value::Null));
    wait_until("the transcript", || last(&plain, "window/showDocument").is_some());
    plain.rig.end();
}

#[test]
fn n01_what_another_process_works_on_is_left_to_it() {
    let (plain, started) = under_way();
    let options = adjutant_testkit::editor::Options::new(&plain.workspace);
    let other =
        crate::rig::Rig::start_with(&plain.workspace, options.capabilities(crate::plain::capabilities()));
    let params = json!({ "command": "adjutant.resume", "arguments": [] });
    let error = other.request("workspace/executeCommand", params).expect_err("nothing waits");
    assert!(error.message.contains("waits to be resumed"), "{error}");
    other.await_message();
    other.end();
    plain.command("adjutant.cancel", json!([])).expect("the run still belongs to this process");
    assert_eq!(json!(plain.finish(&started).outcome), "cancelled");
    plain.rig.end();
}
