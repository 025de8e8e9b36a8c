//! Replies that the output limit cut, over every wire of HTTP (S69).
//!
//! Never checks which replies are asked for again; the tests of the core do.

use adjutant_protocol::state::{Outcome, State, StopReason};
use adjutant_protocol::update::{TurnPhase, Update};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{Dialect, ModelServer, Reply, Request};
use serde_json::{Value, json};

use crate::rig::{Rig, count, log_text};

/// Returns a workspace whose model writes at most 128,000 tokens in one reply.
fn workspace_with(wire: Dialect, model: &ModelServer) -> Workspace {
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.provider(wire, &model.base_url());
    let name = if wire == Dialect::Messages { "claude-opus-4-6" } else { "gpt-5" };
    let config = std::fs::read_to_string(workspace.config_file()).expect("a settings file");
    workspace.config(&config.replace("local/test", &format!("local/{name}")));
    workspace
}

fn limit_of(request: &Request) -> Option<u64> {
    let body = request.json();
    ["max_tokens", "max_output_tokens"].iter().find_map(|name| body[name].as_u64())
}

fn conversation(request: &Request) -> Value {
    let body = request.json();
    ["messages", "input"].iter().find_map(|name| body.get(name)).expect("a conversation").clone()
}

fn cut() -> Reply {
    Reply::text("It is a long ").and_call("list_files", json!({"path": "."})).finish("length").usage(100, 30)
}

#[test]
fn s69_a_cut_reply_is_asked_for_once_more_with_all_the_room_of_the_model_on_every_wire() {
    for wire in Dialect::ALL {
        let model = ModelServer::start([cut(), Reply::text("It is a long story.").usage(100, 70)]);
        let workspace = workspace_with(wire, &model);
        let rig = Rig::start(&workspace);
        let session = rig.new_session();
        let end = rig.run_to_end(&session, "Tell it.");
        rig.await_state(State::Idle);
        assert_eq!((end.outcome, end.stop_reason), (Outcome::Stopped, StopReason::EndTurn), "{wire:?}");
        // Both replies cost tokens, and only the second was said.
        assert_eq!((end.turns, end.usage.output_tokens), (1, 100), "{wire:?}");
        let requests = model.requests();
        let usual = (wire == Dialect::Messages).then_some(32_000);
        let limits: Vec<Option<u64>> = requests.iter().map(limit_of).collect();
        assert_eq!(limits, [usual, Some(128_000)], "{wire:?}");
        assert_eq!(conversation(&requests[0]), conversation(&requests[1]), "{wire:?}");
        // One message, which the second reply replaced, and a reason in between.
        let mut said = Vec::new();
        let mut reasons = Vec::new();
        for update in rig.updates() {
            match update.update {
                Update::AgentMessage { message_id, text, interrupted } => {
                    said.push((message_id, text, interrupted));
                }
                Update::Turn(turn) if turn.phase == TurnPhase::AttemptFailed => reasons.extend(turn.message),
                _ => {}
            }
        }
        let [(cut_id, cut_text, true), (whole_id, whole_text, false)] = &said[..] else {
            panic!("{wire:?}: {said:?}")
        };
        assert_eq!((cut_id, cut_text.as_str()), (whole_id, "It is a long "), "{wire:?}");
        assert_eq!(whole_text, "It is a long story.", "{wire:?}");
        assert!(reasons.len() == 1 && reasons[0].contains("128000 tokens"), "{wire:?}: {reasons:?}");
        // The call of the cut reply never ran, and the log has it.
        assert_eq!(count(&workspace, &session, "call_opened"), 0, "{wire:?}");
        assert!(log_text(&workspace, &session).contains("list_files"), "{wire:?}");
        rig.end();
    }
}

#[test]
fn s69_the_limit_that_the_user_set_is_kept_and_the_cut_reply_counts_as_it_is() {
    for wire in Dialect::ALL {
        let model = ModelServer::start([cut(), Reply::text("Done.")]);
        let workspace = workspace_with(wire, &model);
        workspace.add_config("max_output_tokens = 30");
        let rig = Rig::start(&workspace);
        let session = rig.new_session();
        let end = rig.run_to_end(&session, "Tell it.");
        rig.await_state(State::Idle);
        assert_eq!((end.outcome, end.turns), (Outcome::Stopped, 2), "{wire:?}");
        let limits: Vec<Option<u64>> = model.requests().iter().map(limit_of).collect();
        assert_eq!(limits, [Some(30), Some(30)], "{wire:?}");
        assert_eq!(count(&workspace, &session, "attempt_failed"), 0, "{wire:?}");
        rig.end();
    }
}

#[test]
fn s69_a_gateway_that_refuses_the_larger_limit_costs_the_user_nothing() {
    let refused = Reply::status(400).body(r#"{"error":{"message":"max_tokens is too large"}}"#);
    let model = ModelServer::start([cut(), refused, Reply::text("Shorter, then.")]);
    let workspace = workspace_with(Dialect::Chat, &model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let end = rig.run_to_end(&session, "Tell it.");
    rig.await_state(State::Idle);
    assert_eq!((end.outcome, end.summary.as_deref()), (Outcome::Stopped, Some("Shorter, then.")));
    let requests = model.requests();
    assert_eq!(requests.iter().map(limit_of).collect::<Vec<_>>(), [None, Some(128_000), None]);
    // The model learns that its call was not run.
    assert!(conversation(&requests[2]).to_string().contains("was cut at the output limit"));
    rig.end();
}
