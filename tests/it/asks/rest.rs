//! Asks of an ended run, and what the user can answer.
//!
//! Never trusts the reply to an answer: each test follows the next run to its end.

use adjutant_protocol::RunId;
use adjutant_protocol::ask::{AskKind, Resolution};
use adjutant_protocol::state::{Outcome, RequiredAction, State, StopReason};
use adjutant_protocol::update::{RunView, Update};
use adjutant_testkit::editor::Answer;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::json;

use super::workspace_with;
use crate::rig::{Rig, count, tool_outputs};

/// Returns the run that the answer to an idle ask started.
fn next_run(rig: &Rig, after: &RunId) -> RunId {
    let started = rig.await_update(|update| match &update.update {
        Update::Run(RunView::Started { continues, .. }) => continues.as_ref() == Some(after),
        _ => false,
    });
    started.run_id.expect("an update of a run names it")
}

#[test]
fn s04_a_failed_request_is_retried() {
    let model = ModelServer::start([Reply::status(401), Reply::text("There I am.")]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let end = rig.run_to_end(&session, "Hello?");
    assert_eq!((end.outcome, end.stop_reason), (Outcome::Failed, StopReason::Failed));
    assert_eq!(rig.await_state(State::Idle).required_action, RequiredAction::RetryOrNewTask);
    let ask = rig.await_ask_of(AskKind::ApiReqFailed);
    let first = ask.run_id.clone().expect("an ask names its run");
    rig.answer(&ask.ask_id, "retry");
    let run = next_run(&rig, &first);
    assert_eq!(rig.await_run_end(&session, &run).summary.as_deref(), Some("There I am."));
    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].body, requests[1].body, "the same request again");
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s04_a_failed_request_is_retried_after_a_restart_too() {
    let model = ModelServer::start([Reply::status(401), Reply::text("There I am.")]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    rig.run_to_end(&session, "Hello?");
    let asked = rig.await_ask_of(AskKind::ApiReqFailed);
    rig.await_state(State::Idle);
    rig.end();
    let rig = Rig::start(&workspace);
    let now = rig.resume(&session, None);
    assert_eq!(now.asks, std::slice::from_ref(&asked));
    rig.answer(&asked.ask_id, "retry");
    let run = next_run(&rig, asked.run_id.as_ref().expect("an ask names its run"));
    assert_eq!(rig.await_run_end(&session, &run).summary.as_deref(), Some("There I am."));
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s04_s26_too_many_mistakes_ask_and_go_on() {
    let miss = || Reply::call("read_file", json!({"path": "no-such.txt"}));
    let model = ModelServer::start([miss(), miss(), miss(), Reply::text("I found another way.")]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Read it.").run_id;
    let end = rig.await_run_end(&session, &run);
    assert_eq!((end.outcome, end.stop_reason), (Outcome::Limit, StopReason::Mistakes));
    let outputs = tool_outputs(&model.requests()[2]);
    assert!(
        outputs.iter().all(|output| output.contains("no-such.txt")),
        "the model saw each failure: {outputs:?}"
    );
    assert_eq!(rig.await_state(State::Idle).required_action, RequiredAction::ContinueOrNewTask);
    let ask = rig.await_ask_of(AskKind::MistakeLimitReached);
    rig.answer_with(&ask.ask_id, Answer::OptionWithText("continue".to_owned(), "try src instead".to_owned()));
    let next = next_run(&rig, &run);
    assert_eq!(rig.await_run_end(&session, &next).outcome, Outcome::Stopped);
    let last = model.requests()[3].json().to_string();
    assert!(last.contains("try src instead"), "the user's text reaches the model: {last}");
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s04_s25_the_unattended_limit_asks_and_goes_on_by_hand() {
    let model = ModelServer::start([
        Reply::call("list_files", json!({"path": "."})),
        Reply::call("write_file", json!({"path": "b.txt", "content": "b\n"})),
        Reply::call("write_file", json!({"path": "c.txt", "content": "c\n"})),
        Reply::text("Done."),
    ]);
    let workspace = workspace_with(&model);
    workspace.add_config("[unattended]\nmax_requests = 2\n");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt_with(&session, "Write.", json!({"overrides": {"unattended": true}})).run_id;
    let end = rig.await_run_end(&session, &run);
    assert_eq!((end.outcome, end.stop_reason), (Outcome::Limit, StopReason::MaxTurnRequests));
    assert_eq!(model.requests().len(), 2);
    assert_eq!(rig.text_of("b.txt"), "b\n", "the edit was made without an ask");
    let ask = rig.await_ask_of(AskKind::AutoApprovalMaxReqReached);
    assert_eq!(rig.await_state(State::Idle).required_action, RequiredAction::ContinueOrNewTask);
    rig.answer(&ask.ask_id, "continue");
    let next = next_run(&rig, &run);
    // The next run is attended, so every edit asks.
    let edit = rig.await_ask_of(AskKind::Tool);
    rig.answer(&edit.ask_id, "reject");
    assert_eq!(rig.await_run_end(&session, &next).outcome, Outcome::Stopped);
    assert!(!workspace.exists("c.txt"));
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s25_the_limit_of_requests_asks_and_each_continue_gives_as_many_again() {
    let model = ModelServer::answering(|_| Reply::call("list_files", json!({"path": "."})));
    let workspace = workspace_with(&model);
    workspace.add_config("[limits]\nrequests = 2\n");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let mut run = rig.prompt(&session, "Look for ever.").run_id;
    for round in 1..=3 {
        let end = rig.await_run_end(&session, &run);
        assert_eq!((end.outcome, end.stop_reason), (Outcome::Limit, StopReason::MaxTurnRequests));
        assert_eq!(model.requests().len(), round * 2);
        let ask = rig.await_ask_of(AskKind::AutoApprovalMaxReqReached);
        rig.answer(&ask.ask_id, if round < 3 { "continue" } else { "stop" });
        if round < 3 {
            run = next_run(&rig, &run);
        } else {
            rig.await_resolved(&ask.ask_id);
        }
    }
    assert_eq!(model.requests().len(), 6, "stop means stop");
    rig.end();
}

#[test]
fn s04_a_completed_task_takes_feedback_or_a_new_task() {
    let model = ModelServer::start([
        Reply::call("task_complete", json!({"summary": "Made it."})),
        Reply::call("task_complete", json!({"summary": "Made it better."})),
        Reply::text("Something else."),
    ]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Make it.").run_id;
    let ask = rig.await_ask_of(AskKind::CompletionResult);
    rig.answer_with(&ask.ask_id, Answer::Text("Almost; make it better.".to_owned()));
    let next = next_run(&rig, &run);
    assert_eq!(rig.await_run_end(&session, &next).summary.as_deref(), Some("Made it better."));
    assert!(model.requests()[1].json().to_string().contains("Almost; make it better."));
    // A new task closes the question about the last one.
    let ask = rig.await_ask_of(AskKind::CompletionResult);
    rig.run_to_end(&session, "Now something else.");
    assert_eq!(rig.await_resolved(&ask.ask_id), Resolution::Superseded);
    rig.await_state(State::Idle);
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests[2].json().to_string().contains("Now something else."));
    rig.end();
}

#[test]
fn s04_a_finished_session_that_is_opened_again_takes_feedback() {
    let model = ModelServer::start([
        Reply::call("task_complete", json!({"summary": "Made it."})),
        Reply::text("Better now."),
    ]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Make it.").run_id;
    rig.await_ask_of(AskKind::CompletionResult);
    rig.await_state(State::Idle);
    rig.end();
    let rig = Rig::start(&workspace);
    let now = rig.resume(&session, None);
    assert_eq!(now.state.ask_kind, Some(AskKind::ResumeCompletedTask));
    let ask = rig.await_ask_of(AskKind::ResumeCompletedTask);
    rig.answer_with(&ask.ask_id, Answer::Text("Make it better.".to_owned()));
    let next = next_run(&rig, &run);
    assert_eq!(rig.await_run_end(&session, &next).summary.as_deref(), Some("Better now."));
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s05_a_run_that_the_server_left_is_resumed_and_finished_as_the_same_run() {
    let model = ModelServer::start([
        Reply::call("read_file", json!({"path": "a.txt"})),
        Reply::text("half a sentence that never").hold_after(300),
        Reply::text("It says hello."),
    ]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "What does it say?").run_id;
    model.wait_for_holding(1);
    rig.die();

    let rig = Rig::start(&workspace);
    let now = rig.resume(&session, None);
    assert_eq!((now.state.state, now.state.run_id), (State::Resumable, Some(run.clone())));
    assert_eq!(now.state.required_action, RequiredAction::ResumeOrDiscard);
    let ask = rig.await_ask_of(AskKind::ResumeTask);
    rig.answer(&ask.ask_id, "resume");
    assert_eq!(rig.await_run_end(&session, &run).summary.as_deref(), Some("It says hello."));
    let outputs = tool_outputs(&model.requests()[2]);
    assert!(outputs.len() == 1 && outputs[0].contains("hello"), "{outputs:?}");
    assert_eq!(count(&workspace, &session, "run_ended"), 1);
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s05_an_interrupted_run_can_be_discarded_and_a_prompt_goes_on_with_it() {
    let model = ModelServer::start([Reply::never(), Reply::never(), Reply::text("Gone on.")]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let (one, two) = (rig.new_session(), rig.new_session());
    let first = rig.prompt(&one, "The first").run_id;
    let second = rig.prompt(&two, "The second").run_id;
    model.wait_for_holding(2);
    rig.end();
    let rig = Rig::start(&workspace);
    let ask = rig.resume(&one, None).asks.remove(0);
    rig.answer(&ask.ask_id, "discard");
    assert_eq!(rig.await_run_end(&one, &first).outcome, Outcome::Cancelled);
    let ask = rig.resume(&two, None).asks.remove(0);
    assert_eq!(ask.kind, AskKind::ResumeTask);
    let started = rig.prompt(&two, "Go on, in short.");
    assert_eq!(started.run_id, second);
    assert_eq!(rig.await_run_end(&two, &second).summary.as_deref(), Some("Gone on."));
    assert_eq!(rig.await_resolved(&ask.ask_id), Resolution::Superseded);
    rig.await_state(State::Idle);
    // The prompt is in the very next request (finding F2).
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    assert!(String::from_utf8_lossy(&requests[2].body).contains("Go on, in short."));
    rig.end();
}
