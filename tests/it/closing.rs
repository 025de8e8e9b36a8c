//! Closing sessions, listing them in pages, and resuming them at unusual points.
//!
//! A closed session leaves memory and stays on disk; nothing is lost.

use std::sync::Arc;

use adjutant_protocol::SessionId;
use adjutant_protocol::ask::{AskKind, AskListResult};
use adjutant_protocol::methods;
use adjutant_protocol::session::{Done, ReplayFrom, ResumeResult, SessionListResult};
use adjutant_protocol::state::{Outcome, State};
use adjutant_protocol::update::{RunView, Update};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::{Value, json};

use crate::images::{block, png};
use crate::rig::{Rig, facts, refused, session_dir, twin_for};

fn start(replies: impl IntoIterator<Item = Reply>) -> (ModelServer, Workspace, Rig) {
    let model = ModelServer::start(replies);
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    (model, workspace, rig)
}

fn close(rig: &Rig, session: &SessionId) {
    let _: Done = rig.call(methods::SESSION_CLOSE, json!({"sessionId": session}));
}

#[test]
fn closing_a_session_cancels_its_run_tells_so_and_resume_opens_it_again() {
    let (model, workspace, rig) =
        start([Reply::call("run_command", json!({"command": "sleep 100"})), Reply::text("Here again.")]);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Sleep.").run_id;
    let ask = rig.await_ask_of(AskKind::Command);
    rig.answer(&ask.ask_id, "allow");
    rig.await_update(|update| {
        matches!(&update.update, Update::ToolCallUpdate(call) if call.status == adjutant_protocol::update::ToolStatus::InProgress)
    });
    close(&rig, &session);
    assert_eq!(rig.await_run_end(&session, &run).outcome, Outcome::Cancelled);
    let last = facts(&workspace, &session).last().map(|event| event["type"].clone());
    assert_eq!(last, Some(Value::from("run_ended")));

    let now = rig.resume(&session, None);
    assert_eq!(now.state.state, State::Idle);
    assert_eq!(rig.run_to_end(&session, "Go on.").outcome, Outcome::Stopped);
    assert_eq!(model.requests().len(), 2);
    rig.end();
}

#[test]
fn a_session_may_be_closed_twice_and_one_that_is_not_there_never() {
    let (_model, workspace, rig) = start([Reply::text("hello")]);
    let session = rig.new_session();
    rig.run_to_end(&session, "Hello.");
    let params = json!({"sessionId": session});
    let first = rig.request_nowait(methods::SESSION_CLOSE, params.clone());
    let second = rig.request_nowait(methods::SESSION_CLOSE, params.clone());
    assert!(rig.await_response(&first).is_ok() && rig.await_response(&second).is_ok());
    close(&rig, &session);
    let unknown = json!({"sessionId": "s-0000000000000000"});
    assert_eq!(refused(rig.try_call::<Done>(methods::SESSION_CLOSE, unknown)).1, "SessionNotFound");
    let odd = json!({"sessionId": "../a"});
    assert_eq!(refused(rig.try_call::<Done>(methods::SESSION_CLOSE, odd)).1, "SessionNotFound");

    // A session without a prompt exists only in memory.
    let unused = rig.new_session();
    close(&rig, &unused);
    assert!(!session_dir(&workspace, &unused).exists());
    let again = json!({"sessionId": unused});
    assert_eq!(refused(rig.try_call::<Done>(methods::SESSION_CLOSE, again)).1, "SessionNotFound");
    rig.end();
}

#[test]
fn what_is_sent_right_behind_a_close_finds_the_session_open_again() {
    let (model, _workspace, rig) = start([Reply::text("one").hold_after(10), Reply::text("two")]);
    let session = rig.new_session();
    rig.prompt(&session, "One.");
    model.wait_for_holding(1);
    let closed = rig.request_nowait(methods::SESSION_CLOSE, json!({"sessionId": session}));
    let resumed = rig.request_nowait(methods::SESSION_RESUME, json!({"sessionId": session}));
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "Two."}]});
    let prompted = rig.request_nowait(methods::SESSION_PROMPT, prompt);
    rig.await_response(&closed).expect("it closes");
    let now = rig.await_response(&resumed).expect("it opens again");
    let now: ResumeResult = serde_json::from_value(now).expect("a result of resume");
    assert!(matches!(now.state.state, State::Idle | State::Running), "{:?}", now.state);
    let prompted = rig.await_response(&prompted).expect("the prompt is accepted");
    assert_eq!(prompted["disposition"], "started", "the run before was cancelled");
    let run = prompted["runId"].as_str().unwrap_or_default().into();
    assert_eq!(rig.await_run_end(&session, &run).outcome, Outcome::Stopped);
    rig.end();
}

#[test]
fn p27_a_list_comes_in_pages_of_a_hundred_and_can_be_searched_by_title() {
    let (_model, workspace, rig) = start((0..103).map(|_| Reply::text("hello")));
    let mut made: Vec<SessionId> = Vec::new();
    for number in 0..103 {
        let session = rig.new_session();
        rig.run_to_end(&session, &format!("Task {number} of ÄPFEL"));
        close(&rig, &session);
        made.push(session);
    }
    let list = |params: Value| rig.call::<SessionListResult>(methods::SESSION_LIST, params);
    let first = list(json!({}));
    assert_eq!(first.sessions.len(), 100);
    let cursor = first.next_cursor.clone().expect("there are more");
    // A session that changes between two pages moves to the front; it must not appear twice.
    rig.resume(&first.sessions[50].session_id, None);
    let second = list(json!({"cursor": cursor}));
    assert_eq!((second.sessions.len(), second.next_cursor), (3, None));
    let mut seen: Vec<_> =
        first.sessions.iter().chain(&second.sessions).map(|entry| &entry.session_id).collect();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 103);
    assert!(first.sessions.windows(2).all(|pair| pair[0].updated_at >= pair[1].updated_at));

    let found = list(json!({"query": "task 42 of äpfel"}));
    assert_eq!(found.sessions.iter().map(|entry| &entry.session_id).collect::<Vec<_>>(), [&made[42]]);
    assert_eq!(list(json!({"query": "nobody said this"})).sessions.len(), 0);
    let odd = rig.try_call::<SessionListResult>(methods::SESSION_LIST, json!({"cursor": "page 2"}));
    assert_eq!(odd.map_err(|error| error.code), Err(-32602));
    assert!(workspace.state_dir().exists());
    rig.end();
}

#[test]
fn s09_a_number_beyond_the_end_gets_what_is_true_now_and_says_that_there_is_a_gap() {
    let (_model, _workspace, rig) = start([Reply::text("hello")]);
    let session = rig.new_session();
    rig.run_to_end(&session, "Hello.");
    rig.await_state(State::Idle);
    let before = rig.updates().len();
    let now = rig.resume(&session, Some(ReplayFrom::Seq { seq: 1_000 }));
    assert!(now.gap);
    assert_eq!(now.state.state, State::Idle);
    let level = rig.resume(&session, Some(ReplayFrom::Seq { seq: now.seq }));
    assert!(!level.gap);
    assert_eq!(rig.updates().len(), before, "no update is sent again");
    let ended = |update: &Update| matches!(update, Update::Run(RunView::Ended { .. }));
    assert_eq!(rig.updates().iter().filter(|update| ended(&update.update)).count(), 1);
    rig.end();
}

/// Number of sessions to close while one is busy: enough that the list reaches one of them after the busy one.
const OTHERS: usize = 12;

#[test]
fn the_list_of_asks_is_given_although_sessions_close_meanwhile() {
    let model = ModelServer::start([Reply::text("A cat.")]);
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    workspace.add_config("images = true\n");
    let disk = twin_for(&workspace);
    let rig = Rig::start_on(&workspace, Arc::new(disk.clone()));
    let busy = rig.new_session();
    let others: Vec<SessionId> = (0..OTHERS).map(|_| rig.new_session()).collect();
    // The busy session waits for its images and reads no other message.
    disk.hold_syncs();
    let prompt = json!({"sessionId": busy, "prompt": [block("image/png", &png(1))]});
    let prompted = rig.request_nowait(methods::SESSION_PROMPT, prompt);
    let listed = rig.request_nowait(methods::ASK_LIST, json!({}));
    others.iter().for_each(|session| close(&rig, session));
    disk.release_syncs();
    let listed = rig.await_response(&listed).unwrap_or_else(|error| panic!("no list: {error}"));
    assert_eq!(serde_json::from_value::<AskListResult>(listed).expect("a list").asks, []);
    assert!(rig.await_response(&prompted).is_ok());
    rig.await_state(State::Idle);
    rig.end();
}
