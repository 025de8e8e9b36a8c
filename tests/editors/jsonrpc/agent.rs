//! The `agent/*` methods in a client on vscode-jsonrpc alone.
//!
//! The script plays a story and prints the result. These tests check it and never look into the server.

use std::process::Stdio;

use serde_json::{Value, json};

use super::script;
use crate::scenes;
use crate::stage::Stage;

/// Runs a story of the script and returns its printed result.
#[track_caller]
fn played(stage: &Stage, story: &str) -> Value {
    let mut command = script(stage, "agent.mjs");
    command.args([scenes::FILE, story]).stdin(Stdio::null());
    let ran = command.output().expect("node is installed");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{story}: {said}\nafter\n{}", stage.seen().shown());
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("{story}: {error}"))
}

/// The `code` of the response to a malformed request.
const INVALID_PARAMS: i64 = -32602;

#[test]
fn n01_a_client_of_the_agent_methods_is_asked_and_edits() {
    let stage = scenes::one_edit();
    stage.model.release();
    let ended = played(&stage, "allows");
    let wanted = json!({
        "reason": "end_turn", "buffer": scenes::AFTER, "messages": 2, "chunks": true, "code": INVALID_PARAMS,
    });
    assert_eq!(ended, wanted);
    assert_eq!(stage.workspace.read(scenes::FILE), scenes::BEFORE, "nothing was saved");
    let seen = stage.seen();
    assert_eq!(seen.count("out", "agent/session/request_permission"), 1, "{}", seen.shown());
    assert_eq!(seen.count("out", "window/showMessageRequest"), 0, "one question is one\n{}", seen.shown());
}

#[test]
fn n02_its_rejection_by_another_method_withdraws_the_request() {
    let stage = scenes::one_edit();
    stage.model.release();
    let ended = played(&stage, "rejects");
    assert_eq!((&ended["reason"], &ended["buffer"]), (&json!("end_turn"), &json!(scenes::BEFORE)));
    let seen = stage.seen();
    assert_eq!(seen.count("out", "workspace/applyEdit"), 0, "{}", seen.shown());
    assert_eq!(seen.count("out", "$/cancelRequest"), 1, "{}", seen.shown());
    let second = stage.model.wait_for_requests(2)[1].json().to_string();
    assert!(second.contains("leave it as it is"), "the model does not get the reason: {second}");
}

#[test]
fn s90_its_cancel_ends_the_run() {
    let stage = scenes::silence();
    let ended = played(&stage, "cancels");
    assert_eq!(ended["reason"], "cancelled");
}
