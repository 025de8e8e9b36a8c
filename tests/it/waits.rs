//! A model that fails or is silent, and its fallback model, as the user sees them.
//!
//! Every wait ends with a message; no test reads a clock.

use adjutant_protocol::ask::AskKind;
use adjutant_protocol::session::ReplayFrom;
use adjutant_protocol::state::{Outcome, State, SubState};
use adjutant_protocol::update::{FailureKind, RunView, TurnPhase, Update};
use adjutant_testkit::fixture::{KEY_VARIABLE, Workspace};
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::wait_until;
use serde_json::json;

use crate::rig::{Rig, count};

/// Returns a workspace with the model `one/m` and the others as its fallback models.
fn workspace_of(models: &[&ModelServer], more: &str) -> Workspace {
    let names = ["one", "two", "three"];
    let others: Vec<String> = names[1..models.len()].iter().map(|name| format!("{name}/m")).collect();
    let mut config = format!(
        "model = \"one/m\"\nfallback_models = {others:?}\n[retry]\nbase_ms = 10\ncap_ms = 20\n{more}\n"
    );
    for (name, model) in names.iter().zip(models) {
        let url = model.base_url();
        config.push_str(&format!(
            "[providers.{name}]\nbase_url = \"{url}\"\napi_key_env = \"{KEY_VARIABLE}\"\n"
        ));
    }
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.config(&config);
    workspace
}

fn is(sub: SubState) -> impl Fn(&Update) -> bool {
    move |update| matches!(update, Update::StateUpdate(view) if view.sub == Some(sub))
}

#[test]
fn s82_a_stall_is_shown_while_it_lasts() {
    let model = ModelServer::start([Reply::text("one two three").hold_after(200)]);
    let workspace = workspace_of(&[&model], "[limits]\nsilence_seconds = 1");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Count.").run_id;
    model.wait_for_holding(1);
    let is_stalled = is(SubState::Stalled);
    let update = rig.await_update(|update| is_stalled(&update.update));
    let Update::StateUpdate(stalled) = update.update else { panic!("not a state") };
    assert_eq!((stalled.state, stalled.run_id.as_ref()), (State::Running, Some(&run)));
    // A client that resumes later gets the same state, with the time when the silence started.
    assert_eq!(rig.resume(&session, None).state, stalled);
    // A client with a full replay also gets this state, as its last update.
    let before = rig.updates().len();
    rig.resume(&session, Some(ReplayFrom::Start));
    let replayed = || rig.updates().split_off(before);
    wait_until("the replay to end with the stall", || {
        replayed().last().is_some_and(|last| is_stalled(&last.update) && last.sub.is_some())
    });
    assert!(replayed().len() > 2, "{:?}", replayed());
    let before = rig.updates().len();
    model.release();
    wait_until("the model to stream again", || {
        rig.updates()[before..].iter().any(|update| is(SubState::Streaming)(&update.update))
    });
    assert_eq!(rig.await_run_end(&session, &run).summary.as_deref(), Some("one two three"));
    assert_eq!((count(&workspace, &session, "went_silent"), count(&workspace, &session, "heard")), (1, 1));
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s82_a_model_that_does_not_begin_to_answer_is_shown_as_silent() {
    let model = ModelServer::start([Reply::never()]);
    let workspace = workspace_of(&[&model], "[limits]\nsilence_seconds = 1");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Count.").run_id;
    rig.await_update(|update| is(SubState::Stalled)(&update.update));
    rig.cancel_run(&session);
    assert_eq!(rig.await_run_end(&session, &run).outcome, Outcome::Cancelled);
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s113_the_next_configured_model_takes_the_turn_and_that_is_told() {
    let busy = ModelServer::answering(|_| Reply::status(503));
    let other = ModelServer::start([Reply::text("Here."), Reply::text("Still here.")]);
    let workspace = workspace_of(&[&busy, &other], "attempts = 2");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Hello?").run_id;
    let update = rig.await_update(
        |update| matches!(&update.update, Update::Turn(turn) if turn.phase == TurnPhase::ModelReplaced),
    );
    let Update::Turn(turn) = update.update else { panic!("not a turn") };
    assert_eq!(turn.model.as_deref(), Some("two/m"));
    assert_eq!(
        turn.message.as_deref(),
        Some("one/m does not answer; two/m takes over for the rest of this run")
    );
    assert_eq!(rig.await_run_end(&session, &run).summary.as_deref(), Some("Here."));
    assert_eq!((busy.requests().len(), other.requests().len()), (2, 1));
    // The fallback model continues the same turn. The next run starts with the configured model again.
    assert_eq!(count(&workspace, &session, "turn_started"), 1);
    rig.run_to_end(&session, "And now?");
    assert_eq!((busy.requests().len(), other.requests().len()), (4, 2));
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s81_a_reply_whose_streams_break_comes_whole_and_no_word_of_it_twice() {
    let body = json!({
        "choices": [{ "message": { "role": "assistant", "content": "All of it." }, "finish_reason": "stop" }],
    });
    let model = ModelServer::start([
        Reply::text("All of it.").cut_after(150),
        Reply::text("All of it.").cut_after(300),
        Reply::status(200).body(body.to_string()),
    ]);
    let workspace = workspace_of(&[&model], "");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Tell me.").run_id;
    assert_eq!(rig.await_run_end(&session, &run).summary.as_deref(), Some("All of it."));
    let streamed: Vec<_> = model.requests().iter().map(|request| request.json()["stream"].clone()).collect();
    assert_eq!(streamed, [true, true, false]);
    // The rig itself checks that the chunks of the last attempt add up to the item.
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s83_a_refused_conversation_is_sent_once_more_and_never_again() {
    let refusal = r#"{"error":{"message":"tool_use ids without tool_result"}}"#;
    let model = ModelServer::answering(move |_| Reply::status(400).body(refusal));
    let workspace = workspace_of(&[&model], "");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Hello?").run_id;
    assert_eq!(rig.await_run_end(&session, &run).outcome, Outcome::Failed);
    assert_eq!(model.requests().len(), 2);
    let ask = rig.await_ask_of(AskKind::ApiReqFailed);
    assert!(ask.title.contains("rejected the history of the conversation"), "{}", ask.title);
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s80_the_user_may_choose_to_wait() {
    let far = Reply::status(429).header("retry-after", "121");
    let near = Reply::status(429).header("retry-after", "1");
    let model = ModelServer::start([far, near, Reply::text("Here.")]);
    let workspace = workspace_of(&[&model], "attempts = 1");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Hello?").run_id;
    rig.await_run_end(&session, &run);
    let ask = rig.await_ask_of(AskKind::ApiReqFailed);
    assert!(ask.title.contains("asks to wait 3 min"), "{}", ask.title);
    // Two minutes are too long for a test. So the test retries at once, and then waits one second.
    rig.answer(&ask.ask_id, "retry");
    let second = rig.await_update(
        |update| matches!(&update.update, Update::Run(RunView::Ended { run_id, .. }) if *run_id != run),
    );
    let ask = rig.await_ask_of(AskKind::ApiReqFailed);
    rig.answer(&ask.ask_id, "wait");
    let update = rig.await_update(|update| {
        matches!(&update.update, Update::Run(RunView::Started { .. })) && update.seq > second.seq
    });
    let Update::Run(RunView::Started { run_id, not_before, .. }) = update.update else {
        panic!("not a start of a run")
    };
    let until = not_before.expect("the update has the time of the next attempt");
    assert_eq!(rig.await_run_end(&session, &run_id).summary.as_deref(), Some("Here."));
    let now = rig.resume(&session, None).state;
    assert!(now.since >= until, "{} is before {until}", now.since);
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s115_every_failed_run_says_one_typed_error_before_it_rests() {
    let cases = [
        (401, r#"{"error":"bad key"}"#, FailureKind::Auth),
        (402, "{}", FailureKind::Quota),
        (404, r#"{"error":"no such model"}"#, FailureKind::ModelNotFound),
        (413, "{}", FailureKind::ContextExceeded),
        (400, r#"{"error":"what is this"}"#, FailureKind::InvalidRequest),
        (503, "", FailureKind::Overloaded),
    ];
    for (status, body, kind) in cases {
        let model = ModelServer::answering(move |_| Reply::status(status).body(body));
        let workspace = workspace_of(&[&model], "attempts = 2");
        let rig = Rig::start(&workspace);
        let session = rig.new_session();
        rig.prompt(&session, "Hello?");
        rig.await_state(State::Idle);
        let updates = rig.updates();
        let failure_of = |update: &Update| match update {
            Update::Turn(turn) if turn.phase == TurnPhase::Failed => turn.failure,
            _ => None,
        };
        let failures: Vec<_> =
            updates.iter().filter_map(|update| Some((update.seq, failure_of(&update.update)?))).collect();
        let [(at, failure)] = failures[..] else { panic!("{status}: one typed error, not {failures:?}") };
        assert_eq!(failure, kind, "{status}");
        let idle = updates
            .iter()
            .find(|update| matches!(&update.update, Update::StateUpdate(view) if view.state == State::Idle));
        assert!(idle.is_some_and(|idle| at < idle.seq), "{status}");
        rig.end();
    }
}
