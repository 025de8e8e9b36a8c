//! An editor that does not support `workspace/applyEdit`: the code action that allows an edit carries it.
//!
//! Adjutant sends such an editor no second edit; the text decides, as everywhere.

use std::time::Duration;

use adjutant_testkit::editor::{ApplyBehaviour, Capabilities, Place, RpcError};
use adjutant_testkit::model::Reply;
use serde_json::{Value, json};

use crate::plain::{INVOKED, Plain, at, capabilities, titles};
use crate::rig::tool_outputs;
use crate::stage::edit;

const YES: &str = "Adjutant: Yes, apply: edit a.txt (+1 -1)";

/// Returns an editor without `workspace/applyEdit`, but with code actions as objects, after the first edit was
/// sent and refused.
fn asked_again(document_changes: bool) -> (Plain, Value) {
    asked_again_by(Capabilities { document_changes, ..capabilities() })
}

/// As [`asked_again`], with these capabilities.
fn asked_again_by(can: Capabilities) -> (Plain, Value) {
    let turns = [edit("a.txt", "hello", "good bye"), Reply::text("Done.")];
    let message = "Unhandled method workspace/applyEdit".to_owned();
    let unknown = ApplyBehaviour::Fail(RpcError { code: -32601, message, data: None });
    let can = Capabilities { apply_edit: false, file_operations: false, ..can };
    let plain = Plain::human("//- /a.txt\nhello\n", turns, Duration::ZERO, |options| {
        options.capabilities(can).apply(unknown)
    });
    plain.rig.open("a.txt");
    let started = plain.command("adjutant.start", json!(["do it"])).expect("it is started");
    let popup = plain.rig.await_popup();
    let first = plain.await_action("a.txt", YES);
    assert!(first["edit"].is_null(), "Adjutant does not know yet that the editor refuses edits: {first}");
    plain.pick(&first).expect("it is accepted");
    plain.rig.await_popup_withdrawn(&popup);
    // The sent edit is not in the text, so Adjutant asks again and names the way that is left.
    let popup = plain.rig.await_popup();
    let message =
        "only the code action \"Adjutant: Yes, apply\" makes this edit in your editor; choose it there";
    assert!(popup.message.contains(message), "{}", popup.message);
    assert_eq!(popup.actions, ["Reject", "Show"], "a button carries no edit");
    assert_eq!(plain.rig.text_of("a.txt"), "hello\n");
    (plain, started)
}

/// Waits for the end of the run, and returns the tool results that the model received.
fn outputs(plain: &Plain, started: &Value) -> String {
    plain.finish(started);
    assert_eq!(plain.rig.applies().len(), 1, "a refused edit is not sent again");
    tool_outputs(plain.model.requests().last().expect("a request")).join("\n")
}

#[test]
fn finding_c2_an_editor_that_takes_no_edits_gets_the_edit_with_the_code_action() {
    for document_changes in [true, false] {
        let (plain, started) = asked_again(document_changes);
        let action = plain.await_action("a.txt", YES);
        let offered = titles(&plain.actions("a.txt", at(0, 0), json!({ "triggerKind": INVOKED })));
        assert!(
            !offered.iter().any(|title| title.contains("always")),
            "a rule cannot make an edit: {offered:?}"
        );
        let form = if document_changes { "documentChanges" } else { "changes" };
        assert!(!action["edit"][form].is_null() && action["command"].is_object(), "{action}");
        // The user types before the choice: the client requests the action again, and gets it for the current
        // text.
        plain.rig.type_at("a.txt", Place::End, "mine\nand\nmine\nagain\n");
        let action = plain.await_action("a.txt", YES);
        plain.rig.make(&action["edit"]);
        plain.pick(&action).expect("it is accepted");
        let outputs = outputs(&plain, &started);
        assert!(outputs.starts_with("Edited a.txt: +1 -1 lines."), "{outputs}");
        assert_eq!(plain.rig.text_of("a.txt"), "good bye\nmine\nand\nmine\nagain\n", "once");
        assert_eq!(plain.workspace.read("a.txt"), "hello\n", "the user saves it");
        plain.rig.end();
    }
}

#[test]
fn finding_c2_a_carried_edit_that_is_not_made_is_one_warning() {
    let (plain, started) = asked_again(true);
    let action = plain.await_action("a.txt", YES);
    // A client that runs only the command, without the edit.
    plain.pick(&action).expect("it is accepted");
    let outputs = outputs(&plain, &started);
    let why = "not applied: only the code action \"Adjutant: Yes, apply\" makes this edit";
    assert!(outputs.starts_with(&format!("The edit of a.txt was {why}")), "{outputs}");
    let said = plain.rig.await_message();
    assert!(said.starts_with("Adjutant: ") && said.contains(why), "{said}");
    assert!(plain.rig.messages().is_empty(), "{:?}", plain.rig.messages());
    assert_eq!(plain.rig.text_of("a.txt"), "hello\n");
    plain.rig.end();
}

/// The client reports the change after the answer: Adjutant waits for the text, and the edit is made once.
#[test]
fn finding_c2_a_carried_edit_that_is_told_after_the_answer_is_seen() {
    let (plain, started) = asked_again(true);
    let action = plain.await_action("a.txt", YES);
    let command = &action["command"];
    let params = json!({ "command": command["command"], "arguments": command["arguments"] });
    plain.rig.request_nowait("workspace/executeCommand", params);
    plain.rig.make(&action["edit"]);
    let outputs = outputs(&plain, &started);
    assert!(outputs.starts_with("Edited a.txt: +1 -1 lines."), "{outputs}");
    assert_eq!(plain.rig.text_of("a.txt"), "good bye\n");
    plain.rig.end();
}

/// One action carries the edits of all open files; files that are not open are written on disk.
#[test]
fn the_action_that_allows_several_files_carries_the_edits_of_those_that_are_open() {
    let arguments = |path: &str| json!({ "path": path, "old_text": "hello", "new_text": "good bye" });
    let all = Reply::call("edit_file", arguments("a.txt"))
        .and_call("edit_file", arguments("b.txt"))
        .and_call("edit_file", arguments("c.txt"));
    let turns = [edit("a.txt", "first", "second"), all, Reply::text("Done.")];
    let message = "Unhandled method workspace/applyEdit".to_owned();
    let unknown = ApplyBehaviour::Fail(RpcError { code: -32601, message, data: None });
    let can = Capabilities { apply_edit: false, file_operations: false, ..capabilities() };
    let files = "//- /a.txt\nfirst\nhello\n//- /b.txt\nhello\n//- /c.txt\nhello\n";
    let plain =
        Plain::human(files, turns, Duration::ZERO, |options| options.capabilities(can).apply(unknown));
    plain.rig.open("a.txt");
    plain.rig.open("b.txt");
    let started = plain.command("adjutant.start", json!(["do it"])).expect("it is started");
    for round in 0..2 {
        let popup = plain.rig.await_popup();
        let action = plain.await_action("a.txt", YES);
        if round == 1 {
            plain.rig.make(&action["edit"]);
        }
        plain.pick(&action).expect("it is accepted");
        plain.rig.await_popup_withdrawn(&popup);
    }
    plain.rig.await_popup();
    // Three diffs are too long for a popup, so the user opens them first.
    let show = plain.await_action("a.txt", "Adjutant: Show: edit a.txt and 2 more (+3 -3)");
    plain.pick(&show).expect("it is opened");
    let action = plain.await_action("a.txt", "Adjutant: Yes, apply: edit a.txt and 2 more (+3 -3)");
    let carried = action["edit"]["documentChanges"].as_array().expect("it carries edits");
    assert_eq!(carried.len(), 2, "{action}");
    plain.rig.make(&action["edit"]);
    plain.pick(&action).expect("it is accepted");
    let outputs = outputs(&plain, &started);
    assert_eq!(outputs.matches("Edited ").count(), 4, "{outputs}");
    assert_eq!(plain.rig.text_of("a.txt"), "second\ngood bye\n");
    assert_eq!(plain.rig.text_of("b.txt"), "good bye\n");
    assert_eq!(plain.workspace.read("c.txt"), "good bye\n");
    plain.rig.end();
}

/// A hunk that another client rejected is not in the edit that the action carries.
#[test]
fn an_action_carries_only_what_still_waits() {
    let content = "1\n.\n.\n.\n.\n2\n";
    let call = Reply::call("write_file", json!({ "path": "a.txt", "content": content }));
    let turns = [edit("b.txt", "hello", "good bye"), call, Reply::text("Done.")];
    let message = "Unhandled method workspace/applyEdit".to_owned();
    let unknown = ApplyBehaviour::Fail(RpcError { code: -32601, message, data: None });
    let can = Capabilities { apply_edit: false, file_operations: false, ..capabilities() };
    let files = "//- /a.txt\none\n.\n.\n.\n.\ntwo\n//- /b.txt\nhello\n";
    let plain =
        Plain::human(files, turns, Duration::ZERO, |options| options.capabilities(can).apply(unknown));
    plain.rig.open("a.txt");
    plain.rig.open("b.txt");
    let started = plain.command("adjutant.start", json!(["do it"])).expect("it is started");
    for round in 0..2 {
        let popup = plain.rig.await_popup();
        let action = plain.await_action("b.txt", "Adjutant: Yes, apply: edit b.txt (+1 -1)");
        if round == 1 {
            plain.rig.make(&action["edit"]);
        }
        plain.pick(&action).expect("it is accepted");
        plain.rig.await_popup_withdrawn(&popup);
    }
    plain.rig.await_popup();
    let action = plain.await_action("a.txt", "Adjutant: Yes, apply: edit a.txt (+2 -2)");
    assert!(action["edit"].to_string().contains("\"2\""), "{action}");
    let session = &started["sessionId"];
    let listed = plain.rig.request("agent/review/list", json!({ "sessionId": session })).expect("hunks");
    let first = &listed["hunks"][0];
    let target = json!([{ "changeSetId": first["changeSetId"], "hunkIds": [first["hunkId"]] }]);
    let params = json!({ "sessionId": session, "targets": target, "action": "reject" });
    plain.rig.request("agent/review/decide", params).expect("it is rejected");
    let action = plain.await_action("a.txt", "Adjutant: Yes, apply: edit a.txt (+1 -1)");
    plain.rig.make(&action["edit"]);
    plain.pick(&action).expect("it is accepted");
    plain.finish(&started);
    assert_eq!(plain.rig.text_of("a.txt"), "one\n.\n.\n.\n.\n2\n");
    plain.rig.end();
}

#[test]
fn n21_an_action_that_brings_an_edit_of_the_model_is_tagged_where_the_editor_shows_it() {
    let tagged = |support: Value| {
        let mut can = capabilities();
        let actions = &mut can.extra["textDocument"]["codeAction"];
        *actions = json!({"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}});
        if !support.is_null() {
            actions["tagSupport"] = support;
        }
        let (plain, _started) = asked_again_by(can);
        let yes = plain.await_action("a.txt", YES);
        let others = plain.actions("a.txt", at(0, 0), json!({ "triggerKind": INVOKED }));
        let tags = others.iter().filter(|action| !action["tags"].is_null()).count();
        assert!(others.len() > tags, "a rejection and a start bring no edit: {others:?}");
        let found = (yes["tags"].clone(), tags);
        plain.rig.end();
        found
    };
    let (tags, count) = tagged(json!({"valueSet": [1]}));
    assert_eq!((tags, count), (json!([1]), 1));
    for none in [Value::Null, json!({"valueSet": []}), json!({"valueSet": [2]}), json!(true)] {
        assert_eq!(tagged(none), (Value::Null, 0));
    }
}

#[test]
fn n21_the_edit_of_a_code_action_carries_a_label_too() {
    let mut can = capabilities();
    can.extra["workspace"] =
        json!({"workspaceEdit": {"documentChanges": true, "changeAnnotationSupport": {}}});
    let (plain, started) = asked_again_by(can);
    let action = plain.await_action("a.txt", YES);
    let edit = &action["edit"];
    assert_eq!(
        edit["changeAnnotations"]["adjutant"],
        json!({"label": "Adjutant: Edit a.txt", "needsConfirmation": false}),
        "{action}"
    );
    let edits = edit["documentChanges"][0]["edits"].as_array().expect("edits");
    assert!(!edits.is_empty() && edits.iter().all(|edit| edit["annotationId"] == "adjutant"), "{action}");
    plain.rig.make(edit);
    plain.pick(&action).expect("it is accepted");
    assert!(outputs(&plain, &started).starts_with("Edited a.txt: +1 -1 lines."));
    plain.rig.end();
}
