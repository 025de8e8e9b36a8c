//! A client's answers: lies, errors, and answers to another request.

use adjutant_protocol::AskId;
use adjutant_protocol::update::{AskChange, Update};
use adjutant_testkit::editor::{Answer, ApplyBehaviour, Place, RpcError};
use adjutant_testkit::process::wait_until;
use serde_json::json;

use super::Seen;
use crate::rig::{facts_named, refused};
use crate::stage::{Stage, edit};

const TEXT: &str = "one\ntwo\nthree\n";

fn stage() -> Stage {
    Stage::opening_files(&format!("//- /a.txt\n{TEXT}"))
}

/// Waits until an ask is open, whether or not it was delivered.
fn opened(stage: &Stage) -> AskId {
    let update =
        stage.rig.await_update(|params| matches!(params.update, Update::Ask(AskChange::Opened { .. })));
    match update.update {
        Update::Ask(AskChange::Opened { ask }) => ask.ask_id,
        other => panic!("{other:?} opens no ask"),
    }
}

/// Asserts that the model and the log have the failure, and that no byte changed.
fn failed(stage: &Stage, output: &str) -> Seen {
    assert!(output.starts_with("The edit of a.txt was not applied"), "{output}");
    let finished = facts_named(&stage.workspace, &stage.session, "tool_finished");
    let last = finished.last().expect("the call ended");
    assert_eq!(last["result"]["end"], "failed", "{last}");
    assert_eq!(stage.rig.text_of("a.txt"), TEXT);
    assert_eq!(stage.workspace.read("a.txt"), TEXT);
    Seen::Shown("tool_error")
}

pub fn edit_refused() -> Seen {
    let stage = stage().answering("allow");
    stage.rig.open("a.txt");
    stage.rig.set_apply(ApplyBehaviour::RefuseAlways("not now".to_owned()));
    let output = stage.edit("a.txt", "two", "2");
    assert!(output.contains("not now"), "{output}");
    failed(&stage, &output)
}

pub fn edit_answered_with_an_error() -> Seen {
    let stage = stage().answering("allow");
    let error = RpcError { code: -32603, message: "no idea".to_owned(), data: None };
    stage.rig.set_apply(ApplyBehaviour::Fail(error));
    let output = stage.edit("a.txt", "two", "2");
    failed(&stage, &output)
}

pub fn user_types_before_the_edit() -> Seen {
    let stage = stage();
    stage.rig.open("a.txt");
    let run = stage.send([edit("a.txt", "two", "2")]);
    let ask = stage.rig.await_ask();
    stage.rig.replace("a.txt", "two", "zwei");
    stage.rig.answer(&ask.ask_id, "allow");
    let outputs = stage.finish(&run);
    assert!(outputs[0].contains("was not applied"), "the approved line no longer exists: {outputs:?}");
    assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace("two", "zwei"));
    // Typing in another line does not affect the edit.
    let run = stage.send([edit("a.txt", "three", "3")]);
    let ask = stage.rig.await_ask();
    stage.rig.type_at("a.txt", Place::Start, "zero\n");
    stage.rig.answer(&ask.ask_id, "allow");
    stage.finish(&run);
    assert_eq!(stage.rig.text_of("a.txt"), "zero\none\nzwei\n3\n");
    Seen::Shown("reask")
}

pub fn file_deleted_before_the_edit() -> Seen {
    let stage = stage();
    let run = stage.send([edit("a.txt", "two", "2")]);
    let ask = stage.rig.await_ask();
    std::fs::remove_file(stage.workspace.path().join("a.txt")).expect("the file is there");
    stage.rig.answer(&ask.ask_id, "allow");
    let outputs = stage.finish(&run);
    assert!(outputs[0].starts_with("The edit of a.txt was not applied: "), "{outputs:?}");
    assert!(!stage.workspace.exists("a.txt"), "the deleted file is not created again");
    Seen::Shown("tool_error")
}

/// A popup with such an answer has a test of its own.
pub fn option_not_offered() -> Seen {
    let stage = stage();
    stage.rig.open("a.txt");
    stage.rig.answer_next(Answer::option("yes, and everything else"));
    let run = stage.send([edit("a.txt", "two", "2")]);
    let ask = opened(&stage);
    let answer = json!({"askId": ask, "optionId": "Allow"});
    let (_, name) = refused(stage.rig.request("agent/ask/respond", answer));
    assert_eq!(name, "AnswerInvalid");
    assert_eq!(stage.rig.text_of("a.txt"), TEXT, "an invalid answer approved the edit");
    stage.rig.respond(&ask, "reject");
    stage.finish(&run);
    assert_eq!(stage.rig.text_of("a.txt"), TEXT);
    Seen::Shown("rejected")
}

pub fn answer_to_another_id() -> Seen {
    let stage = stage();
    stage.rig.open("a.txt");
    let run = stage.send([edit("a.txt", "two", "2")]);
    let ask = stage.rig.await_ask();
    stage.rig.await_delivery(&ask.ask_id);
    // The server's requests have small numbers as ids; none of these ids is open.
    for id in [json!(999), json!("1"), json!("2"), json!(0), json!(-1), json!(null)] {
        let result = json!({"outcome": {"outcome": "selected", "optionId": "allow"}});
        let body = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        stage.rig.send_bytes(&super::raw::framed(body.as_bytes()));
    }
    assert!(stage.rig.request("agent/session/list", json!({})).is_ok(), "the server ignored the answers");
    assert_eq!(stage.rig.held_asks().len(), 1);
    assert_eq!(stage.rig.text_of("a.txt"), TEXT);
    stage.rig.answer(&ask.ask_id, "reject");
    stage.finish(&run);
    Seen::Shown("ignore")
}

pub fn everything_unknown() -> Seen {
    let unknown = || RpcError { code: -32601, message: "no such method".to_owned(), data: None };
    let stage = stage();
    stage.rig.on_ask(move |_| Answer::Fail(unknown()));
    stage.rig.set_apply(ApplyBehaviour::Fail(unknown()));
    let run = stage.send([edit("a.txt", "two", "2")]);
    let ask = opened(&stage);
    // The request is sent once, and the ask stays open for other ways to answer.
    wait_until("the refusal", || stage.rig.seen().contains("no such method"));
    stage.rig.respond(&ask, "allow");
    let outputs = stage.finish(&run);
    assert!(outputs[0].contains("was not applied"), "{outputs:?}");
    assert!(stage.rig.applies().len() <= 2, "the edit is sent too often");
    let asked = r#""method":"agent/session/request_permission""#;
    let seen = stage.rig.seen();
    let count = seen.lines().filter(|line| line.contains(asked)).count();
    assert_eq!(count, 1, "the ask is sent too often\n{seen}");
    assert_eq!((stage.rig.text_of("a.txt"), stage.workspace.read("a.txt")), (TEXT.into(), TEXT.into()));
    Seen::Shown("degraded")
}
