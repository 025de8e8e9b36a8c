//! The model's wire through the whole loop: attempts, failures, history, keys.
//!
//! The model double speaks real HTTP. Never mocks the HTTP client of the server.

use std::time::Duration;

use adjutant_protocol::ask::AskKind;
use adjutant_protocol::methods;
use adjutant_protocol::state::{Outcome, RequiredAction, State, SubState};
use adjutant_protocol::update::{TurnPhase, Update};
use adjutant_testkit::editor::{Chunks, Options};
use adjutant_testkit::fixture::{KEY_VARIABLE, Workspace};
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::Server;
use serde_json::json;

use crate::rig::{Rig, assert_paired, count, facts_named, log_text, refused, session_dir, tool_outputs};

fn workspace_with(model: &ModelServer) -> Workspace {
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    workspace
}

/// Returns the same workspace with retries that are short enough for a test.
fn quick(model: &ModelServer) -> Workspace {
    let workspace = workspace_with(model);
    workspace.add_config("[retry]\nbase_ms = 10\ncap_ms = 20\n");
    workspace
}

#[test]
fn s80_a_rate_limit_is_waited_out_as_long_as_the_provider_asks() {
    let limited = Reply::status(429).header("retry-after", "1").body(r#"{"error":"slow down"}"#);
    let model = ModelServer::start([limited, Reply::text("Here.")]);
    let workspace = quick(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Hello?").run_id;
    let failed = rig.await_update(
        |update| matches!(&update.update, Update::Turn(turn) if turn.phase == TurnPhase::AttemptFailed),
    );
    let Update::Turn(failed) = failed.update else { panic!("not a turn") };
    assert!(failed.retry_at.is_some() && failed.message.is_some_and(|message| message.contains("slow down")));
    rig.await_update(
        |update| matches!(&update.update, Update::StateUpdate(view) if view.sub == Some(SubState::Retrying)),
    );
    assert_eq!(rig.await_run_end(&session, &run).summary.as_deref(), Some("Here."));
    let requests = model.requests();
    assert!(requests[1].arrived - requests[0].arrived >= Duration::from_secs(1));
    assert_eq!(requests[0].body, requests[1].body);
    assert_eq!(count(&workspace, &session, "turn_started"), 1);
    assert_eq!(count(&workspace, &session, "attempt_failed"), 1);
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s80_server_errors_are_tried_six_times_and_then_asked_about_and_retry_works() {
    let model = ModelServer::start((0..6).map(|_| Reply::status(503).body("busy")));
    let workspace = quick(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Hello?").run_id;
    let end = rig.await_run_end(&session, &run);
    assert_eq!((end.outcome, end.turns), (Outcome::Failed, 1));
    assert_eq!(model.requests().len(), 6);
    let ask = rig.await_ask_of(AskKind::ApiReqFailed);
    assert!(ask.title.contains("tried 6 times"), "{}", ask.title);
    assert_eq!(rig.await_state(State::Idle).required_action, RequiredAction::RetryOrNewTask);
    model.push(Reply::status(500));
    model.push(Reply::text("Here."));
    rig.answer(&ask.ask_id, "retry");
    let end = rig.await_update(
        |update| matches!(&update.update, Update::AgentMessage { text, .. } if text == "Here."),
    );
    let next = end.run_id.expect("the message belongs to a run");
    assert_eq!(rig.await_run_end(&session, &next).outcome, Outcome::Stopped);
    let (started, failed) =
        (count(&workspace, &session, "turn_started"), count(&workspace, &session, "attempt_failed"));
    // The last attempt of the first turn has its own event, `turn_failed`.
    let given_up = facts_named(&workspace, &session, "turn_failed").len();
    assert_eq!((started, failed, given_up), (2, 6, 1));
    assert_eq!(model.requests().len(), started + failed);
    rig.end();
}

#[test]
fn s83_what_cannot_pass_is_tried_once_and_says_what_to_do() {
    let refusals: [(&str, Reply, &str); 7] = [
        ("401", Reply::status(401).body(r#"{"error":"bad key"}"#), KEY_VARIABLE),
        ("403", Reply::status(403), KEY_VARIABLE),
        ("404", Reply::status(404).body(r#"{"error":"no such model"}"#), "test"),
        ("400", Reply::status(400).body(r#"{"error":{"message":"bad request"}}"#), "bad request"),
        ("402", Reply::status(402), "credit"),
        (
            "quota",
            Reply::status(429).body(r#"{"error":{"code":"insufficient_quota","message":"empty"}}"#),
            "credit",
        ),
        (
            "overflow",
            Reply::status(400).body(r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#),
            "window",
        ),
    ];
    for (what, reply, says) in refusals {
        let model = ModelServer::start([reply]);
        let workspace = quick(&model);
        let rig = Rig::start(&workspace);
        let session = rig.new_session();
        let end = rig.run_to_end(&session, "Hello?");
        assert_eq!(end.outcome, Outcome::Failed, "{what}");
        let ask = rig.await_ask_of(AskKind::ApiReqFailed);
        assert!(ask.title.contains(says), "{what} says {:?}", ask.title);
        assert_eq!(model.requests().len(), 1, "{what}");
        rig.await_state(State::Idle);
        rig.end();
    }
}

#[test]
fn s82_a_provider_that_does_not_begin_or_stands_still_is_given_up_and_tried_again() {
    let model = ModelServer::start([
        Reply::never(),
        Reply::text("it stands still in the middle of").hold_after(400),
        Reply::text("Here."),
    ]);
    let workspace = quick(&model);
    workspace.add_config("[limits]\nfirst_byte_seconds = 1\nidle_seconds = 1\n");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    assert_eq!(rig.run_to_end(&session, "Hello?").summary.as_deref(), Some("Here."));
    let failed = facts_named(&workspace, &session, "attempt_failed");
    let classes: Vec<&str> = failed.iter().filter_map(|event| event["failure"]["class"].as_str()).collect();
    assert_eq!(classes, ["first_byte", "stalled"]);
    model.wait_for_closed(2);
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s74_s81_a_stream_that_dies_leaves_no_text_doubled() {
    let text = "The answer is forty-two, and here is why it is so.";
    let model = ModelServer::start([
        Reply::text(text).cut_after(420),
        Reply::text(text).cut_after(700),
        Reply::text(text),
    ]);
    let workspace = quick(&model);
    let rig = Rig::start_with(&workspace, Options { chunks: Chunks::Equal, ..Options::new(&workspace) });
    let session = rig.new_session();
    rig.run_to_end(&session, "Why?");
    let said: Vec<(String, String, bool)> = rig
        .updates()
        .into_iter()
        .filter_map(|update| match update.update {
            Update::AgentMessage { message_id, text, interrupted } => Some((message_id.0, text, interrupted)),
            _ => None,
        })
        .collect();
    assert!(said.iter().all(|(id, part, _)| *id == said[0].0 && text.starts_with(part.as_str())), "{said:?}");
    assert_eq!(said.last().map(|(_, text, cut)| (text.as_str(), *cut)), Some((text, false)));
    assert!(said.iter().filter(|(.., interrupted)| *interrupted).count() >= 1, "{said:?}");
    // The next request has only the final text.
    model.push(Reply::text("Yes."));
    rig.run_to_end(&session, "Sure?");
    let body = model.requests()[3].json();
    assert_eq!(body["messages"].as_array().map(Vec::len), Some(4), "{body}");
    assert_eq!(body["messages"][2]["content"], text);
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s41_s39_every_call_gets_its_output_whatever_became_of_it() {
    let model = ModelServer::start([
        Reply::call("read_file", json!({"path": "a.txt"}))
            .and_call("no_such_tool", json!({"x": 1}))
            .and_raw_call("read_file", "{\"path\": \"a.txt\"")
            .and_raw_call("read_file", "")
            .and_call("read_file", json!({"path": 7, "surprise": true}))
            .and_call("run_command", json!({"command": "touch ran"})),
        Reply::text("Done."),
    ]);
    let workspace = quick(&model);
    workspace.add_config("[limits]\nmistakes = 100\n");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Do it all.").run_id;
    let ask = rig.await_ask_of(AskKind::Command);
    rig.answer(&ask.ask_id, "reject");
    rig.await_run_end(&session, &run);
    let request = model.requests().remove(1);
    assert_paired(&request);
    let outputs = tool_outputs(&request);
    assert_eq!(outputs.len(), 6);
    assert!(outputs[0].contains("hello"), "{outputs:?}");
    assert!(outputs[1].contains("no_such_tool"), "{outputs:?}");
    assert!(outputs[2..5].iter().all(|output| !output.contains("hello")), "{outputs:?}");
    assert!(!workspace.exists("ran"));
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s41_a_reply_with_two_calls_under_one_id_is_asked_for_again_and_none_of_them_runs() {
    let call = |index: u32| {
        json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": index, "id": "same", "type": "function",
            "function": {"name": "run_command", "arguments": "{\"command\": \"touch ran\"}"}}]}}]})
        .to_string()
    };
    let end = r#"{"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}"#.to_owned();
    let model = ModelServer::start([Reply::events([call(0), call(1), end]), Reply::text("Sorry.")]);
    let workspace = quick(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    assert_eq!(rig.run_to_end(&session, "Run it.").summary.as_deref(), Some("Sorry."));
    assert_eq!(facts_named(&workspace, &session, "attempt_failed").len(), 1);
    assert_eq!(count(&workspace, &session, "call_opened"), 0);
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s111_calls_are_put_together_however_they_are_split() {
    let path = "with spaces and ümläuts 🌍.txt";
    for size in [1, 3, 64] {
        let model = ModelServer::start([
            Reply::text("Two at once.")
                .and_call("read_file", json!({"path": path}))
                .and_call("list_files", json!({"path": "."}))
                .in_pieces_of(size),
            Reply::text("Done."),
        ]);
        let workspace = quick(&model);
        workspace.write(path, "found it\n");
        let rig = Rig::start(&workspace);
        let session = rig.new_session();
        rig.run_to_end(&session, "Read it.");
        let outputs = tool_outputs(&model.requests()[1]);
        assert!(outputs[0].contains("found it") && outputs[1].contains("a.txt"), "{outputs:?}");
        rig.await_state(State::Idle);
        rig.end();
    }
}

#[test]
fn g3_a_call_of_a_reply_that_was_cut_at_the_limit_is_not_run() {
    let model = ModelServer::start([
        Reply::call("write_file", json!({"path": "b.txt", "content": "half of it"})).finish("length"),
        Reply::text("Then not."),
    ]);
    let workspace = quick(&model);
    workspace.add_config("[unattended]\nedit = true\n");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt_with(&session, "Write it.", json!({"overrides": {"unattended": true}})).run_id;
    rig.await_run_end(&session, &run);
    assert!(!workspace.exists("b.txt") && rig.applies().is_empty());
    assert_paired(&model.requests()[1]);
    assert!(tool_outputs(&model.requests()[1])[0].contains("cut"));
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s35_tools_are_the_same_bytes_every_time_and_after_a_restart() {
    let model = ModelServer::start([
        Reply::call("list_files", json!({"path": "."})),
        Reply::text("One."),
        Reply::text("Two."),
    ]);
    let workspace = quick(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    rig.run_to_end(&session, "One");
    rig.await_state(State::Idle);
    rig.end();
    let rig = Rig::start(&workspace);
    rig.resume(&session, None);
    rig.run_to_end(&session, "Two");
    let schema = |request: &adjutant_testkit::model::Request| request.json()["tools"].to_string();
    let schemas: Vec<String> = model.requests().iter().map(schema).collect();
    assert!(schemas.iter().all(|tools| *tools == schemas[0] && tools.contains("edit_file")));
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s84_a_model_for_one_run_does_not_leak_into_the_next() {
    let model = ModelServer::start([Reply::text("a"), Reply::text("b")]);
    let workspace = quick(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt_with(&session, "One", json!({"overrides": {"model": "local/other"}})).run_id;
    rig.await_run_end(&session, &run);
    rig.run_to_end(&session, "Two");
    let models: Vec<_> = model.requests().iter().map(|request| request.json()["model"].clone()).collect();
    assert_eq!(models, ["other", "test"]);
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn without_a_model_a_prompt_says_what_to_set_and_leaves_no_trace() {
    let workspace = Workspace::new("");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "Hello?"}]});
    let answer = rig.request(methods::SESSION_PROMPT, prompt);
    let says = answer.clone().map_err(|error| error.message).expect_err("it is refused");
    assert_eq!(refused(answer), (-33010, "ProviderUnavailable".to_owned()));
    assert!(says.contains("model = ") && says.contains("adjutant demo"), "{says}");
    assert!(!session_dir(&workspace, &session).exists());
    rig.end();
}

#[test]
fn s3_the_key_goes_to_the_provider_and_nowhere_else() {
    const KEY: &str = "test-key-of-no-value";
    let model = ModelServer::start([
        Reply::call("run_command", json!({"command": "env; echo \"key: $ADJUTANT_TEST_KEY.\""})),
        Reply::status(401).body(format!(r#"{{"error":"the key {KEY} is bad"}}"#)),
    ]);
    let workspace = quick(&model);
    // A separate process has the key in its environment, as a user's server has.
    let mut server = Server::spawn(env!("CARGO_BIN_EXE_adjutant"), &workspace, &["lsp"]);
    let rig = server.editor(Options::new(&workspace));
    let session = rig.new_session();
    let run = rig.prompt(&session, "Print it.").run_id;
    let ask = rig.await_ask_of(AskKind::Command);
    rig.answer(&ask.ask_id, "allow");
    rig.await_run_end(&session, &run);
    rig.await_state(State::Idle);
    let requests = model.requests();
    assert_eq!(requests[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert!(tool_outputs(&requests[1])[0].contains("key: ."), "{:?}", tool_outputs(&requests[1]));
    for request in &requests {
        assert!(!String::from_utf8_lossy(&request.body).contains(KEY));
    }
    assert!(!rig.seen().contains(KEY), "the key does not go to the editor");
    assert!(!log_text(&workspace, &session).contains(KEY), "the key does not go to the disk");
    assert!(!server.stderr().contains(KEY), "the key does not go to stderr");
    rig.shutdown();
}
