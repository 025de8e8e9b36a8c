//! Requests to a session that opens or closes keep their order.
//!
//! Never waits for a fixed time: the disk delays the opening until the test releases it.

use std::sync::Arc;

use adjutant::session::storage::faulty::{Fault, FaultyDisk, Op};
use adjutant_protocol::SessionId;
use adjutant_protocol::methods;
use adjutant_protocol::session::{PromptResult, ResumeResult};
use adjutant_protocol::state::{Outcome, State};
use adjutant_testkit::editor::RpcError;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::wait_until;
use serde_json::{Value, json};

use crate::rig::{Rig, refused, session_dir, twin_for};

/// The number of sessions that are closed, prompted and deleted at once.
const REPETITIONS: usize = 60;

/// A server whose sessions are on a disk double. A prompt with the word "wait" gets no reply from the model.
struct Scene {
    _model: ModelServer,
    workspace: Workspace,
    disk: FaultyDisk,
    rig: Rig,
}

impl Scene {
    fn new() -> Scene {
        let model = ModelServer::answering(|request| {
            let messages = request.json()["messages"].as_array().cloned().unwrap_or_default();
            let last = messages.last().map(Value::to_string).unwrap_or_default();
            if last.contains("wait") { Reply::never() } else { Reply::text("Done.") }
        });
        let workspace = Workspace::new("//- /a.txt\nhello\n");
        workspace.openai(&model.base_url());
        let disk = twin_for(&workspace);
        let rig = Rig::start_on(&workspace, Arc::new(disk.clone()));
        Scene { _model: model, workspace, disk, rig }
    }

    /// Returns a closed session with one finished run; it is only on disk.
    fn closed_session(&self) -> SessionId {
        let session = self.rig.new_session();
        self.rig.run_to_end(&session, "Hello.");
        self.send(methods::SESSION_CLOSE, &session).expect("the session closes");
        session
    }

    /// Returns a closed session that cannot open until the disk is released.
    fn slow_session(&self) -> SessionId {
        let session = self.closed_session();
        self.disk.hold(&session_dir(&self.workspace, &session));
        session
    }

    fn send(&self, method: &str, session: &SessionId) -> Result<Value, RpcError> {
        self.rig.request(method, json!({"sessionId": session}))
    }

    fn opening_begins(&self) {
        wait_until("the session to be opened", || self.disk.stuck() > 0);
    }
}

fn prompt(session: &SessionId, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}

fn started(answer: Result<Value, RpcError>) -> PromptResult {
    let answer = answer.unwrap_or_else(|error| panic!("the prompt is refused: {error}"));
    serde_json::from_value(answer).expect("a result of a prompt")
}

#[test]
fn a_cancel_reaches_a_session_that_is_still_opening() {
    let scene = Scene::new();
    let session = scene.slow_session();
    let rig = &scene.rig;
    let first = rig.request_nowait(methods::SESSION_PROMPT, prompt(&session, "Now wait."));
    scene.opening_begins();
    rig.cancel_run(&session);
    let second = rig.request_nowait(methods::SESSION_PROMPT, prompt(&session, "And now?"));
    let _ = rig.request("agent/nothing", json!({}));
    scene.disk.release();
    let (first, second) = (started(rig.await_response(&first)), started(rig.await_response(&second)));
    assert_eq!(rig.await_run_end(&session, &first.run_id).outcome, Outcome::Cancelled);
    assert_ne!(first.run_id, second.run_id, "the cancel comes between the two prompts");
    assert_eq!(rig.await_run_end(&session, &second.run_id).outcome, Outcome::Stopped);
    scene.rig.end();
}

#[test]
fn a_prompt_that_is_withdrawn_while_its_session_opens_stays_posted() {
    let scene = Scene::new();
    let session = scene.slow_session();
    let rig = &scene.rig;
    let prompted = rig.request_nowait(methods::SESSION_PROMPT, prompt(&session, "Hello again."));
    scene.opening_begins();
    rig.cancel_request(&prompted);
    rig.await_response(&prompted).expect_err("the request is withdrawn");
    scene.disk.release();
    // As for a session in memory, only the reply is withdrawn, not the prompt.
    let resumed = rig.resume(&session, None);
    assert_eq!(resumed.title, "Hello.");
    rig.await_state(State::Idle);
    let log = scene.disk.content(&session_dir(&scene.workspace, &session).join("events.jsonl"));
    let log = String::from_utf8(log.expect("a log")).expect("text");
    assert!(log.contains("Hello again."), "{log}");
    scene.rig.end();
}

#[test]
fn a_session_that_cannot_be_opened_refuses_all_that_waits_and_opens_later() {
    let scene = Scene::new();
    let session = scene.slow_session();
    let rig = &scene.rig;
    let prompts: Vec<_> =
        (0..3).map(|_| rig.request_nowait(methods::SESSION_PROMPT, prompt(&session, "Hello?"))).collect();
    let resumed = rig.request_nowait(methods::SESSION_RESUME, json!({"sessionId": session}));
    scene.opening_begins();
    rig.cancel_run(&session);
    let _ = rig.request("agent/nothing", json!({}));
    scene.disk.fail_from(Op::Read, 1, Fault::Broken);
    scene.disk.release();
    for waiting in prompts.iter().chain([&resumed]) {
        let error = rig.await_response(waiting).expect_err("it cannot be opened");
        assert!(error.message.contains(&session.0), "the error names the session: {error}");
        assert_eq!(refused::<Value>(Err(error)).1, "SessionReadOnly");
    }
    // The failed opening left no registration, so this request waits for nothing.
    scene.send(methods::SESSION_CLOSE, &session).expect("the session is only on disk");
    scene.disk.heal();
    assert_eq!(rig.run_to_end(&session, "Hello again.").outcome, Outcome::Stopped);
    scene.rig.end();
}

#[test]
fn one_slow_disk_holds_up_no_other_session() {
    let scene = Scene::new();
    let (other, slow) = (scene.closed_session(), scene.slow_session());
    let waiting = scene.rig.request_nowait(methods::SESSION_RESUME, json!({"sessionId": slow}));
    scene.opening_begins();
    scene.rig.resume(&other, None);
    assert!(!scene.rig.is_answered(&waiting));
    assert_eq!(scene.rig.run_to_end(&other, "Hello again.").outcome, Outcome::Stopped);
    scene.disk.release();
    scene.rig.await_response(&waiting).expect("the session opens in the end");
    scene.rig.end();
}

#[test]
fn a_session_that_many_ask_for_is_opened_once() {
    let scene = Scene::new();
    let session = scene.slow_session();
    let rig = &scene.rig;
    let log = session_dir(&scene.workspace, &session).join("events.jsonl");
    let opened = |scene: &Scene| {
        let log = String::from_utf8(scene.disk.content(&log).expect("a log")).expect("text");
        log.lines().filter(|line| line.starts_with("{\"epoch\":")).count()
    };
    let before = opened(&scene);
    let resumed: Vec<_> =
        (0..40).map(|_| rig.request_nowait(methods::SESSION_RESUME, json!({"sessionId": session}))).collect();
    scene.opening_begins();
    scene.disk.release();
    for waiting in &resumed {
        let now = rig.await_response(waiting).expect("the session opens");
        serde_json::from_value::<ResumeResult>(now).expect("a result of resume");
    }
    assert_eq!(opened(&scene), before + 1);
    scene.rig.end();
}

#[test]
fn a_session_closed_or_deleted_while_it_opens_does_both_behind_what_was_sent_before() {
    let scene = Scene::new();
    let rig = &scene.rig;
    let (closed, deleted) = (scene.slow_session(), scene.slow_session());
    let both = [&closed, &deleted];
    let prompts = both.map(|it| rig.request_nowait(methods::SESSION_PROMPT, prompt(it, "Now wait.")));
    scene.opening_begins();
    let close = rig.request_nowait(methods::SESSION_CLOSE, json!({"sessionId": closed}));
    let delete = rig.request_nowait(methods::SESSION_DELETE, json!({"sessionId": deleted}));
    let after_close = rig.request_nowait(methods::SESSION_PROMPT, prompt(&closed, "And now?"));
    let _ = rig.request("agent/nothing", json!({}));
    scene.disk.release();
    let runs = prompts.map(|prompt| started(rig.await_response(&prompt)).run_id);
    rig.await_response(&close).expect("the session closes");
    assert_eq!(rig.await_run_end(&closed, &runs[0]).outcome, Outcome::Cancelled);
    let after_close = started(rig.await_response(&after_close));
    assert_eq!(rig.await_run_end(&closed, &after_close.run_id).outcome, Outcome::Stopped);
    assert_eq!(refused(rig.await_response(&delete)).1, "SessionLocked", "its run is open");
    scene.rig.end();
}

#[test]
fn a_delete_never_overtakes_a_prompt_that_was_sent_before_it() {
    let scene = Scene::new();
    let rig = &scene.rig;
    for repetition in 0..REPETITIONS {
        let session = rig.new_session();
        rig.run_to_end(&session, "Hello.");
        let params = json!({"sessionId": session});
        let close = rig.request_nowait(methods::SESSION_CLOSE, params.clone());
        let prompted = rig.request_nowait(methods::SESSION_PROMPT, prompt(&session, "Now wait."));
        let delete = rig.request_nowait(methods::SESSION_DELETE, params.clone());
        rig.await_response(&close).expect("the session closes");
        let prompted = rig.await_response(&prompted);
        assert!(prompted.is_ok(), "{repetition}: the delete overtook the prompt: {prompted:?}");
        let delete = refused(rig.await_response(&delete)).1;
        assert_eq!(delete, "SessionLocked", "{repetition}: a run is open");
        rig.cancel_run(&session);
        rig.await_run_end(&session, &started(prompted).run_id);
        let delete = rig.request_nowait(methods::SESSION_DELETE, params.clone());
        let late = rig.request_nowait(methods::SESSION_PROMPT, prompt(&session, "Hello?"));
        rig.await_response(&delete).unwrap_or_else(|error| panic!("{repetition}: {error}"));
        let late = refused(rig.await_response(&late)).1;
        assert_eq!(late, "SessionNotFound", "{repetition}: a request after the delete finds no session");
    }
    scene.rig.end();
}

#[test]
fn a_session_that_cannot_be_opened_is_not_where_the_user_goes_on() {
    let scene = Scene::new();
    let rig = &scene.rig;
    let session = rig.new_session();
    rig.run_to_end(&session, "Hello.");
    let command = |arguments: Value| json!({"command": "adjutant.prompt", "arguments": [arguments]});
    let nowhere = command(json!({"sessionId": "s-0000000000000000", "text": "Hello?"}));
    let answer = rig.request("workspace/executeCommand", nowhere);
    assert_eq!(refused(answer).1, "SessionNotFound");
    let answer = rig.request("workspace/executeCommand", command(json!({"text": "Hello again."})));
    assert_eq!(answer.expect("the prompt goes to the session before")["sessionId"], json!(session));
    scene.rig.end();
}
