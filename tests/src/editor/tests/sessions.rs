//! Sessions, asks and states, from a peer in the role of the server.

use std::thread;

use adjutant_protocol::ask::{AskKind, Resolution, RespondStatus};
use adjutant_protocol::state::{Outcome, State};
use serde_json::{Value, json};

use super::super::{Answer, Capabilities, Editor, Options, Rule};
use super::{Peer, broken, pair};
use crate::fixture::Workspace;

/// Returns a double with the session "s", and its peer.
fn session(adjust: impl FnOnce(Options) -> Options) -> (Editor, Peer) {
    let workspace = Workspace::new("");
    let (editor, mut peer) = pair(adjust(Options::new(&workspace)));
    thread::scope(|scope| {
        let making = scope.spawn(|| editor.new_session());
        let (id, _) = peer.read_request("agent/session/new");
        peer.respond(&id, json!({"sessionId": "s", "configOptions": []}));
        assert_eq!(making.join().unwrap().0, "s");
    });
    (editor, peer)
}

fn ask(kind: &str, group: &str) -> Value {
    json!({
        "sessionId": "s", "askId": "a1", "kind": kind, "group": group, "title": "May I?",
        "options": [{"optionId": "allow", "name": "Allow", "kind": "allow_once"}],
        "freeText": true, "openedAt": 1,
    })
}

fn started() -> Value {
    json!({"sessionUpdate": "_run", "phase": "started", "runId": "r1", "model": "play/script", "title": "t"})
}

fn ended() -> Value {
    let usage = json!({"inputTokens": 1, "outputTokens": 1, "cacheReadTokens": 0, "cacheWriteTokens": 0});
    let end =
        json!({"endedAt": 2, "outcome": "stopped", "stopReason": "end_turn", "usage": usage, "turns": 1});
    json!({"sessionUpdate": "_run", "phase": "ended", "runId": "r1", "end": end})
}

fn state(state: &str, asks: Value, action: &str) -> Value {
    json!({"sessionUpdate": "state_update", "state": state, "since": 1, "asks": asks, "requiredAction": action})
}

fn opened(ask: Value) -> Value {
    json!({"sessionUpdate": "_ask", "phase": "opened", "ask": ask})
}

fn closed() -> Value {
    let resolution = json!({"type": "selected", "optionId": "allow", "surface": "lsp"});
    json!({"sessionUpdate": "_ask", "phase": "closed", "askId": "a1", "resolution": resolution})
}

fn resolved(peer: &mut Peer) {
    let resolution = json!({"type": "selected", "optionId": "allow", "surface": "lsp"});
    peer.notify("agent/ask/resolved", json!({"sessionId": "s", "askId": "a1", "resolution": resolution}));
}

/// Sends a run up to an open ask for a tool.
fn to_ask(peer: &mut Peer) {
    peer.update(1, started());
    peer.update(2, opened(ask("tool", "interactive")));
    peer.update(3, state("requires_action", json!(["a1"]), "answer"));
}

fn end_run(peer: &mut Peer) {
    peer.update(4, closed());
    resolved(peer);
    peer.update(5, ended());
    peer.update(6, state("idle", json!([]), "new_task"));
}

#[test]
fn a_prompt_runs_to_its_end() {
    let (editor, mut peer) = session(|options| options);
    thread::scope(|scope| {
        let running = scope.spawn(|| editor.run_to_end(&"s".into(), "go"));
        let (id, params) = peer.read_request("agent/session/prompt");
        assert_eq!(params["prompt"], json!([{"type": "text", "text": "go"}]));
        // The answer may come after the first update.
        peer.update(1, started());
        peer.respond(&id, json!({"runId": "r1", "acceptedAt": 1, "disposition": "started"}));
        peer.update(2, ended());
        peer.update(3, state("idle", json!([]), "new_task"));
        assert_eq!(running.join().unwrap().outcome, Outcome::Stopped);
    });
    assert_eq!(editor.await_state(State::Idle).state, State::Idle);
    assert_eq!(editor.state_of(&"s".into()).unwrap().state, State::Idle);
    assert_eq!(editor.update_kinds(), ["_run", "_run", "state_update"]);
    assert_eq!(broken(editor), []);
}

#[test]
fn a_plain_client_waits_by_request() {
    let (editor, mut peer) = session(|options| options.capabilities(Capabilities::plain()));
    thread::scope(|scope| {
        let running = scope.spawn(|| editor.run_to_end(&"s".into(), "go"));
        let (id, _) = peer.read_request("agent/session/prompt");
        peer.respond(&id, json!({"runId": "r1", "acceptedAt": 1, "disposition": "started"}));
        let (id, params) = peer.read_request("agent/session/wait");
        assert_eq!(params["runId"], "r1");
        let end = ended()["end"].clone();
        peer.respond(&id, json!({"status": "ok", "startedAt": 1, "ended": end}));
        assert_eq!(running.join().unwrap().outcome, Outcome::Stopped);
    });
    assert_eq!(broken(editor), []);
}

#[test]
fn an_ask_is_answered_by_hand() {
    let (editor, mut peer) = session(|options| options);
    to_ask(&mut peer);
    let view = editor.await_ask();
    assert_eq!((view.ask_id.0.as_str(), view.kind), ("a1", AskKind::Tool));
    let id = peer.request("agent/session/request_permission", ask("tool", "interactive"));
    editor.await_delivery(&view.ask_id);
    assert_eq!(editor.held_asks().len(), 1);
    editor.answer(&view.ask_id, "allow");
    let answer = peer.read_response(&id).unwrap();
    assert_eq!(answer, json!({"outcome": {"outcome": "selected", "optionId": "allow"}}));
    end_run(&mut peer);
    assert!(matches!(editor.await_resolved(&view.ask_id), Resolution::Selected { .. }));
    assert_eq!(broken(editor), []);
}

#[test]
fn an_ask_is_answered_by_script_or_rule() {
    let (editor, mut peer) = session(|options| options);
    editor.on_ask(|ask| Answer::option(&ask.options[0].option_id));
    let answers = [
        (
            Answer::OptionWithText("reject".into(), "no".into()),
            json!({"outcome": "selected", "optionId": "reject", "text": "no"}),
        ),
        (Answer::Text("why?".into()), json!({"outcome": "answered", "text": "why?"})),
        (Answer::Close, json!({"outcome": "cancelled"})),
    ];
    to_ask(&mut peer);
    for (answer, expected) in answers {
        editor.answer_next(answer);
        let answer = peer.ask("agent/session/request_permission", ask("tool", "interactive")).unwrap();
        assert_eq!(answer["outcome"], expected);
    }
    editor.answer_next(Answer::Raw(Value::Null));
    assert_eq!(peer.ask("agent/session/request_permission", ask("tool", "interactive")), Ok(Value::Null));
    let answer = peer.ask("agent/session/request_permission", ask("tool", "interactive")).unwrap();
    assert_eq!(answer["outcome"]["optionId"], "allow");
    end_run(&mut peer);
    peer.settle();
    assert_eq!(broken(editor), []);
}

#[test]
fn n02_an_ask_answered_elsewhere_is_withdrawn_here() {
    let (editor, mut peer) = session(|options| options);
    to_ask(&mut peer);
    let delivery = peer.request("agent/session/request_permission", ask("tool", "interactive"));
    let view = editor.await_ask();
    editor.await_delivery(&view.ask_id);
    thread::scope(|scope| {
        let answering = scope.spawn(|| editor.respond(&view.ask_id, "allow"));
        let (id, params) = peer.read_request("agent/ask/respond");
        assert_eq!(params, json!({"askId": "a1", "optionId": "allow"}));
        let resolution = json!({"type": "selected", "optionId": "allow", "surface": "lsp"});
        peer.respond(&id, json!({"status": "accepted", "resolution": resolution}));
        assert_eq!(answering.join().unwrap().status, RespondStatus::Accepted);
    });
    peer.notify("$/cancelRequest", json!({"id": delivery.to_value()}));
    editor.await_withdrawal(&view.ask_id);
    assert_eq!(peer.read_response(&delivery).unwrap_err().code, -32800);
    end_run(&mut peer);
    peer.settle();
    assert_eq!(broken(editor), []);
}

#[test]
fn an_ask_that_does_not_come_by_request_is_answered_by_request() {
    let (editor, mut peer) = session(|options| options);
    peer.update(1, started());
    peer.update(2, ended());
    peer.update(3, opened(ask("api_req_failed", "idle")));
    let view = editor.await_ask_of(AskKind::ApiReqFailed);
    thread::scope(|scope| {
        let answering = scope.spawn(|| editor.answer(&view.ask_id, "retry"));
        let (id, params) = peer.read_request("agent/ask/respond");
        assert_eq!(params["optionId"], "retry");
        let resolution = json!({"type": "selected", "optionId": "retry", "surface": "lsp"});
        peer.respond(&id, json!({"status": "accepted", "resolution": resolution}));
        answering.join().unwrap();
    });
    assert_eq!(broken(editor), []);
}

#[test]
fn deliveries_that_are_left_open_are_told_at_the_end() {
    let (editor, mut peer) = session(|options| options);
    to_ask(&mut peer);
    peer.request("agent/session/request_permission", ask("tool", "interactive"));
    peer.update(4, closed());
    peer.update(5, ended());
    let faults = thread::scope(|scope| {
        let leaving = scope.spawn(|| {
            editor.shutdown();
            broken(editor)
        });
        let (id, _) = peer.read_request("shutdown");
        peer.respond(&id, Value::Null);
        peer.read_notification("exit");
        drop(peer);
        leaving.join().unwrap()
    });
    assert_eq!(faults, [Rule::ResolutionUntold, Rule::DeliveryLeftOpen]);
}

#[test]
fn updates_that_the_protocol_does_not_know_are_told() {
    let (editor, mut peer) = session(|options| options);
    peer.update(1, json!({"sessionUpdate": "_unheard_of"}));
    peer.update(1, json!({"sessionUpdate": "_rule", "text": "r", "extra": 1}));
    peer.ask("agent/session/request_permission", json!({"askId": "a1"})).unwrap();
    peer.settle();
    assert_eq!(broken(editor), [Rule::Malformed, Rule::Malformed, Rule::Malformed]);
}

#[test]
fn causes_are_watched_all_the_time() {
    let (editor, mut peer) = session(|options| options);
    peer.update(1, started());
    peer.update(1, state("running", json!([]), "none"));
    peer.update(2, ended());
    peer.update(3, json!({"sessionUpdate": "agent_message", "messageId": "m1", "text": "late"}));
    peer.notify(
        "agent/session/update",
        json!({"sessionId": "s", "seq": 4, "runId": "r1", "update": {"sessionUpdate": "_complete", "summary": "late"}}),
    );
    peer.settle();
    assert_eq!(broken(editor), [Rule::Sequence, Rule::AfterRunEnd]);
}

#[test]
fn waits_look_forward_and_states_of_before_the_prompt_do_not_count() {
    let (editor, mut peer) = session(|options| options);
    peer.update(1, started());
    peer.update(2, ended());
    peer.update(3, state("idle", json!([]), "new_task"));
    peer.settle();
    assert_eq!(editor.await_update(|update| update.update.kind() == "_run").seq, 1);
    assert_eq!(editor.await_update(|update| update.update.kind() == "_run").seq, 2);
    assert_eq!(editor.await_state(State::Idle).state, State::Idle);
    // A second wait finds the latest state again.
    assert_eq!(editor.await_state(State::Idle).state, State::Idle);
    thread::scope(|scope| {
        let prompting = scope.spawn(|| editor.prompt(&"s".into(), "again"));
        let (id, _) = peer.read_request("agent/session/prompt");
        peer.respond(&id, json!({"runId": "r2", "acceptedAt": 1, "disposition": "started"}));
        prompting.join().unwrap();
    });
    assert!(editor.state_of(&"s".into()).is_none());
    assert_eq!(editor.updates().len(), 3);
    assert_eq!(broken(editor), []);
}

#[test]
fn a_session_is_taken_up_where_it_is() {
    let workspace = Workspace::new("");
    let (editor, mut peer) = pair(Options::new(&workspace));
    let result = json!({
        "state": {"state": "requires_action", "since": 1, "runId": "r1", "asks": ["a1"], "requiredAction": "answer"},
        "seq": 40, "title": "t", "mode": "code", "configOptions": [], "asks": [ask("tool", "interactive")], "notices": [],
    });
    thread::scope(|scope| {
        let resuming = scope.spawn(|| editor.resume(&"s".into(), None));
        let (id, params) = peer.read_request("agent/session/resume");
        assert_eq!(params, json!({"sessionId": "s"}));
        peer.respond(&id, result);
        assert_eq!(resuming.join().unwrap().seq, 40);
    });
    assert_eq!(editor.await_ask().ask_id.0, "a1");
    peer.update(41, closed());
    peer.update(42, state("running", json!([]), "none"));
    peer.settle();
    assert_eq!(editor.violations(), []);
    peer.update(42, ended());
    peer.settle();
    assert_eq!(broken(editor), [Rule::Sequence]);
}
