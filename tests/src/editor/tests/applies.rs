//! Edits: applied correctly, and with each known fault of real editors.

use serde_json::{Value, json};

use super::super::{ApplyBehaviour, Capabilities, Editor, Place, RpcError, Rule};
use super::{Peer, broken, with_document};
use crate::fixture::Workspace;

const TEXT: &str = "one\ntwo\nthree\n";

fn change(line: u32, from: u32, to: u32, text: &str) -> Value {
    let at = |character: u32| json!({"line": line, "character": character});
    json!({"range": {"start": at(from), "end": at(to)}, "newText": text})
}

fn edit(workspace: &Workspace, version: Value, edits: Value) -> Value {
    let document = json!({"uri": workspace.uri("a.txt"), "version": version});
    json!({"label": "Agent: test", "edit": {"documentChanges": [{"textDocument": document, "edits": edits}]}})
}

/// Replaces "two" by "2" and "three" by "3".
fn two_and_three(workspace: &Workspace, version: i64) -> Value {
    edit(workspace, json!(version), json!([change(1, 0, 3, "2"), change(2, 0, 5, "3")]))
}

fn document(behaviour: ApplyBehaviour) -> (Workspace, Editor, Peer) {
    with_document(TEXT, |options| options.apply(behaviour))
}

/// Sends the edit, reads `didChange` if `notifies`, and then the answer.
fn apply(peer: &mut Peer, params: Value, notifies: bool) -> Result<Value, RpcError> {
    let id = peer.request("workspace/applyEdit", params);
    if notifies {
        peer.read_notification("textDocument/didChange");
    }
    peer.read_response(&id)
}

#[test]
fn an_edit_is_made_told_and_answered_in_this_order() {
    for behaviour in [ApplyBehaviour::Faithful, ApplyBehaviour::StaleRefuse, ApplyBehaviour::IgnoreVersions] {
        let (workspace, editor, mut peer) = document(behaviour);
        let answer = apply(&mut peer, two_and_three(&workspace, 1), true).unwrap();
        assert_eq!(answer, json!({"applied": true}));
        assert_eq!(editor.text_of("a.txt"), "one\n2\n3\n");
        assert_eq!((editor.buffer("a.txt").unwrap().version, workspace.read("a.txt").as_str()), (2, TEXT));
        assert_eq!(editor.await_apply(1).reply, Some(Ok(answer)));
        editor.undo("a.txt");
        assert_eq!(editor.text_of("a.txt"), TEXT, "one edit is one undo step");
        assert_eq!(broken(editor), []);
    }
}

#[test]
fn a_stale_edit_is_treated_as_each_editor_treats_it() {
    let stale = |behaviour: ApplyBehaviour, notifies: bool| {
        let (workspace, editor, mut peer) = document(behaviour);
        editor.type_at("a.txt", Place::Start, "zero ");
        peer.read_notification("textDocument/didChange");
        let answer = apply(&mut peer, two_and_three(&workspace, 1), notifies).unwrap();
        let text = editor.text_of("a.txt");
        assert_eq!(broken(editor), []);
        (answer["applied"] == true, answer.get("failureReason").is_some(), text)
    };
    let untouched = || "zero one\ntwo\nthree\n".to_owned();
    assert_eq!(stale(ApplyBehaviour::Faithful, false), (false, true, untouched()));
    assert_eq!(stale(ApplyBehaviour::StaleRefuse, false), (false, false, untouched()));
    assert_eq!(stale(ApplyBehaviour::SkipStaleButSayApplied, false), (true, false, untouched()));
    assert_eq!(stale(ApplyBehaviour::IgnoreVersions, true), (true, false, "zero one\n2\n3\n".to_owned()));
}

#[test]
fn n05_answers_that_do_not_say_what_happened() {
    let fresh = |behaviour: ApplyBehaviour, notifies: bool| {
        let (workspace, editor, mut peer) = document(behaviour);
        let answer = apply(&mut peer, two_and_three(&workspace, 1), notifies);
        let text = editor.text_of("a.txt");
        assert_eq!(broken(editor), []);
        (answer.map(|answer| answer["applied"] == true), text)
    };
    let (old, new) = (TEXT.to_owned(), "one\n2\n3\n".to_owned());
    assert_eq!(fresh(ApplyBehaviour::SayAppliedDoNothing, false), (Ok(true), old.clone()));
    assert_eq!(fresh(ApplyBehaviour::ApplyButSayFailed, true), (Ok(false), new.clone()));
    assert_eq!(fresh(ApplyBehaviour::RefuseAlways("no".into()), false), (Ok(false), old.clone()));
    assert_eq!(fresh(ApplyBehaviour::ApplyUntold, false), (Ok(true), new));
    assert_eq!(fresh(ApplyBehaviour::ApplyFirstOnly, true), (Ok(true), "one\n2\nthree\n".to_owned()));
    let error = RpcError { code: -32601, message: "unknown".into(), data: None };
    assert_eq!(fresh(ApplyBehaviour::Fail(error.clone()), false), (Err(error), old));
}

#[test]
fn an_edit_made_twice_is_told_twice() {
    let (workspace, editor, mut peer) = document(ApplyBehaviour::ApplyTwice);
    let insert = edit(&workspace, json!(1), json!([change(0, 0, 0, "x")]));
    let id = peer.request("workspace/applyEdit", insert);
    peer.read_notification("textDocument/didChange");
    peer.read_notification("textDocument/didChange");
    assert_eq!(peer.read_response(&id).unwrap()["applied"], true);
    assert_eq!(editor.text_of("a.txt"), "xxone\ntwo\nthree\n");
    assert_eq!(broken(editor), []);
}

#[test]
fn an_answer_may_come_before_the_change() {
    let (workspace, editor, mut peer) = document(ApplyBehaviour::ReplyFirst);
    let id = peer.request("workspace/applyEdit", two_and_three(&workspace, 1));
    assert_eq!(peer.read_response(&id).unwrap()["applied"], true);
    peer.read_notification("textDocument/didChange");
    assert_eq!(broken(editor), []);
}

#[test]
fn an_answer_may_never_come() {
    let (workspace, editor, mut peer) = document(ApplyBehaviour::NeverAnswer);
    editor.apply_next(ApplyBehaviour::ApplyNeverAnswer);
    peer.request("workspace/applyEdit", two_and_three(&workspace, 1));
    peer.read_notification("textDocument/didChange");
    let never = peer.request("workspace/applyEdit", two_and_three(&workspace, 2));
    peer.notify("$/cancelRequest", json!({"id": never.to_value()}));
    // `settle` would fail at an answer.
    peer.settle();
    assert_eq!(editor.text_of("a.txt"), "one\n2\n3\n");
    assert!(editor.applies()[1].withdrawn && editor.applies()[1].reply.is_none());
    assert_eq!(broken(editor), []);
}

#[test]
fn a_late_edit_lands_even_after_it_was_withdrawn() {
    let (workspace, editor, mut peer) = document(ApplyBehaviour::ApplyLate);
    let first =
        peer.request("workspace/applyEdit", edit(&workspace, json!(1), json!([change(0, 0, 3, "1")])));
    peer.settle();
    assert_eq!(editor.text_of("a.txt"), TEXT);
    editor.release_applies();
    peer.read_notification("textDocument/didChange");
    assert_eq!(peer.read_response(&first).unwrap()["applied"], true);

    let second =
        peer.request("workspace/applyEdit", edit(&workspace, json!(2), json!([change(1, 0, 3, "2")])));
    peer.notify("$/cancelRequest", json!({"id": second.to_value()}));
    assert_eq!(peer.read_response(&second).unwrap_err().code, -32800);
    editor.release_applies();
    peer.read_notification("textDocument/didChange");
    peer.settle();
    assert_eq!(editor.text_of("a.txt"), "1\n2\nthree\n");
    assert_eq!(editor.withdrawn(), [second]);
    assert_eq!(broken(editor), []);
}

#[test]
fn the_user_types_while_an_edit_is_on_its_way() {
    let (workspace, editor, mut peer) = document(ApplyBehaviour::StaleRefuse);
    let mut left = 1;
    editor.before_apply(move |buffers| {
        if left > 0 {
            left -= 1;
            buffers.type_at("a.txt", Place::End, "typed");
        }
    });
    let stale = apply(&mut peer, two_and_three(&workspace, 1), true).unwrap();
    assert_eq!(stale, json!({"applied": false}));
    let again = apply(&mut peer, two_and_three(&workspace, 2), true).unwrap();
    assert_eq!(again, json!({"applied": true}));
    assert_eq!(editor.text_of("a.txt"), "one\n2\n3\ntyped");
    assert_eq!(broken(editor), []);
}

#[test]
fn a_document_that_is_not_told_of_can_be_told_again() {
    let (workspace, editor, mut peer) = document(ApplyBehaviour::ApplyUntold);
    apply(&mut peer, two_and_three(&workspace, 1), false).unwrap();
    editor.type_at("a.txt", Place::End, "!");
    editor.edit(|buffers| buffers.tell_again("a.txt"));
    let change = peer.read_notification("textDocument/didChange");
    assert_eq!(change["contentChanges"], json!([{"text": "one\n2\n3\n!"}]));
    assert_eq!(change["textDocument"]["version"], 4);
    assert_eq!(broken(editor), []);
}

#[test]
fn closed_and_new_files_are_opened_for_their_edit() {
    let (workspace, editor, mut peer) = document(ApplyBehaviour::Faithful);
    workspace.write("closed.txt", "old\n");
    let (closed, new) = (workspace.uri("closed.txt"), workspace.uri("sub/new.txt"));
    let insert = |text: &str| json!([change(0, 0, 0, text)]);
    let edit = json!({"documentChanges": [
        {"textDocument": {"uri": closed, "version": null}, "edits": insert("very ")},
        {"kind": "create", "uri": new},
        {"textDocument": {"uri": new, "version": null}, "edits": insert("fresh\n")},
    ]});
    let id = peer.request("workspace/applyEdit", json!({"edit": edit}));
    for uri in [&closed, &new] {
        assert_eq!(peer.read_notification("textDocument/didOpen")["textDocument"]["uri"], **uri);
        peer.read_notification("textDocument/didChange");
    }
    assert_eq!(peer.read_response(&id).unwrap()["applied"], true);
    assert_eq!(editor.text_of("closed.txt"), "very old\n");
    assert_eq!(editor.text_of(&new), "fresh\n");
    assert_eq!(
        (workspace.read("closed.txt"), workspace.read("sub/new.txt")),
        ("old\n".into(), String::new())
    );
    // All or nothing: the second file exists now.
    let again = json!({"documentChanges": [
        {"textDocument": {"uri": closed, "version": 2}, "edits": insert("not ")},
        {"kind": "create", "uri": new},
    ]});
    assert_eq!(peer.ask("workspace/applyEdit", json!({"edit": again})).unwrap()["applied"], false);
    assert_eq!(editor.text_of("closed.txt"), "very old\n");
    assert_eq!(broken(editor), []);
}

#[test]
fn edits_that_no_editor_should_get_are_violations() {
    let after = |version: Value, edits: Value| {
        let (workspace, editor, mut peer) = document(ApplyBehaviour::Faithful);
        peer.request("workspace/applyEdit", edit(&workspace, version, edits));
        editor.await_apply(1);
        (editor.text_of("a.txt"), broken(editor))
    };
    let overlapping = after(json!(1), json!([change(0, 0, 3, "a"), change(0, 2, 3, "b")]));
    assert_eq!(overlapping, (TEXT.to_owned(), vec![Rule::BadEdit]));
    let outside = after(json!(1), json!([change(0, 3, 9, "!")]));
    assert_eq!(outside, ("one!\ntwo\nthree\n".to_owned(), vec![Rule::BadEdit]));
    let unversioned = after(Value::Null, json!([change(0, 0, 0, "x")]));
    assert_eq!(unversioned.1, [Rule::Unversioned]);
    let malformed = after(json!("1"), json!([]));
    assert_eq!(malformed.1, [Rule::Malformed]);
    let several_at_one_place =
        after(json!(1), json!([change(0, 0, 0, "a"), change(0, 0, 0, "b"), change(0, 0, 1, "c")]));
    assert_eq!(several_at_one_place, ("abcne\ntwo\nthree\n".to_owned(), vec![]));
}

#[test]
fn plain_changes_are_taken_only_after_a_refusal() {
    let (workspace, editor, mut peer) = document(ApplyBehaviour::Faithful);
    let changes = json!({"edit": {"changes": {workspace.uri("a.txt"): [change(0, 0, 3, "1")]}}});
    editor.apply_next(ApplyBehaviour::RefuseAlways("no".into()));
    apply(&mut peer, two_and_three(&workspace, 1), false).unwrap();
    apply(&mut peer, changes.clone(), true).unwrap();
    assert_eq!(broken(editor), []);

    let (workspace, editor, mut peer) = document(ApplyBehaviour::Faithful);
    let changes = json!({"edit": {"changes": {workspace.uri("a.txt"): [change(0, 0, 3, "1")]}}});
    apply(&mut peer, changes, true).unwrap();
    assert_eq!(broken(editor), [Rule::Unversioned]);
}

#[test]
fn an_edit_may_be_tried_at_a_client_that_announces_none() {
    let (workspace, editor, mut peer) =
        with_document(TEXT, |options| options.capabilities(Capabilities::bare()));
    apply(&mut peer, two_and_three(&workspace, 1), true).unwrap();
    assert_eq!(broken(editor), []);
}
