//! An editor that takes no edits that are sent to it: the code action that allows an edit carries it.
//!
//! Nothing is sent to such an editor a second time; the text decides as everywhere.

use std::time::Duration;

use adjutant_testkit::editor::{ApplyBehaviour, Capabilities, Place, RpcError};
use adjutant_testkit::model::Reply;
use serde_json::{Value, json};

use crate::plain::{INVOKED, Plain, at, capabilities, titles};
use crate::rig::tool_outputs;
use crate::stage::edit;

const YES: &str = "Adjutant: Yes, apply: edit a.txt (+1 -1)";

/// An editor with code actions as objects that knows no `workspace/applyEdit`, past the one that was sent.
fn asked_again(document_changes: bool) -> (Plain, Value) {
    let turns = [edit("a.txt", "hello", "good bye"), Reply::text("Done.")];
    let message = "Unhandled method workspace/applyEdit".to_owned();
    let unknown = ApplyBehaviour::Fail(RpcError { code: -32601, message, data: None });
    let can = Capabilities { apply_edit: false, create_files: false, document_changes, ..capabilities() };
    let plain = Plain::human("//- /a.txt\nhello\n", turns, Duration::ZERO, |options| {
        options.capabilities(can).apply(unknown)
    });
    plain.rig.open("a.txt");
    let started = plain.command("adjutant.start", json!(["do it"])).expect("it is started");
    let popup = plain.rig.await_popup();
    let first = plain.await_action("a.txt", YES);
    assert!(first["edit"].is_null(), "nobody knows yet that it takes no edits: {first}");
    plain.pick(&first).expect("it is taken");
    plain.rig.await_popup_withdrawn(&popup);
    // The edit that was sent is not in the text: it is asked again, with the way that is left.
    let popup = plain.rig.await_popup();
    let words =
        "only the code action \"Adjutant: Yes, apply\" makes this edit in your editor; choose it there";
    assert!(popup.message.contains(words), "{}", popup.message);
    assert_eq!(popup.actions, ["Reject", "Show"], "a button carries no edit");
    assert_eq!(plain.rig.text_of("a.txt"), "hello\n");
    (plain, started)
}

/// Waits for the end, and returns what the model was told.
fn told(plain: &Plain, started: &Value) -> String {
    plain.finish(started);
    assert_eq!(plain.rig.applies().len(), 1, "what was refused is not sent again");
    tool_outputs(plain.model.requests().last().expect("a request")).join("\n")
}

#[test]
fn finding_c2_an_editor_that_takes_no_edits_gets_the_edit_with_the_code_action() {
    for document_changes in [true, false] {
        let (plain, started) = asked_again(document_changes);
        let action = plain.await_action("a.txt", YES);
        let offered = titles(&plain.actions("a.txt", at(0, 0), json!({ "triggerKind": INVOKED })));
        assert!(!offered.iter().any(|title| title.contains("always")), "no rule makes an edit: {offered:?}");
        let form = if document_changes { "documentChanges" } else { "changes" };
        assert!(!action["edit"][form].is_null() && action["command"].is_object(), "{action}");
        // Typed before the choice: the action is asked for again, and made for the text as it is.
        plain.rig.type_at("a.txt", Place::End, "mine\nand\nmine\nagain\n");
        let action = plain.await_action("a.txt", YES);
        plain.rig.make(&action["edit"]);
        plain.pick(&action).expect("it is taken");
        let told = told(&plain, &started);
        assert!(told.starts_with("Edited a.txt: +1 -1 lines."), "{told}");
        assert_eq!(plain.rig.text_of("a.txt"), "good bye\nmine\nand\nmine\nagain\n", "once");
        assert_eq!(plain.workspace.read("a.txt"), "hello\n", "saving is the user's");
        plain.rig.end();
    }
}

#[test]
fn finding_c2_a_carried_edit_that_is_not_made_is_one_warning() {
    let (plain, started) = asked_again(true);
    let action = plain.await_action("a.txt", YES);
    // A client that runs the command alone.
    plain.pick(&action).expect("it is taken");
    let told = told(&plain, &started);
    let why = "not applied: only the code action \"Adjutant: Yes, apply\" makes this edit";
    assert!(told.starts_with(&format!("The edit of a.txt was {why}")), "{told}");
    let said = plain.rig.await_message();
    assert!(said.starts_with("Adjutant: ") && said.contains(why), "{said}");
    assert!(plain.rig.messages().is_empty(), "{:?}", plain.rig.messages());
    assert_eq!(plain.rig.text_of("a.txt"), "hello\n");
    plain.rig.end();
}

/// Told late: the text is waited for, and what was made is made once.
#[test]
fn finding_c2_a_carried_edit_that_is_told_after_the_answer_is_seen() {
    let (plain, started) = asked_again(true);
    let action = plain.await_action("a.txt", YES);
    let command = &action["command"];
    let params = json!({ "command": command["command"], "arguments": command["arguments"] });
    plain.rig.request_nowait("workspace/executeCommand", params);
    plain.rig.make(&action["edit"]);
    let told = told(&plain, &started);
    assert!(told.starts_with("Edited a.txt: +1 -1 lines."), "{told}");
    assert_eq!(plain.rig.text_of("a.txt"), "good bye\n");
    plain.rig.end();
}
