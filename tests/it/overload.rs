//! Overload: if a queue is full, the client gets `Overloaded`, nothing is recorded, and the same request
//! works later (P28).
//!
//! Never waits for a fixed time: the test fills a queue and empties it.

use std::sync::Arc;

use adjutant_protocol::methods;
use adjutant_protocol::session::NewSessionResult;
use adjutant_protocol::state::Outcome;
use adjutant_testkit::editor::RpcError;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::{Value, json};

use crate::rig::{Rig, assert_overloaded, count, session_dir, twin_for};

/// The most requests that may wait for one session (`capabilities.limits`).
const MAX_QUEUE: usize = 256;
/// The most prompts that may wait for one turn.
const MAX_PENDING: usize = 100;
/// The most sessions that one server may have open.
const MAX_OPEN: usize = 1_000;

fn answering() -> (ModelServer, Workspace) {
    let model = ModelServer::answering(|_| Reply::text("Done."));
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    (model, workspace)
}

#[test]
fn p28_a_full_mailbox_refuses_requests_and_commands_that_work_later() {
    let (_model, workspace) = answering();
    let disk = twin_for(&workspace);
    let rig = Rig::start_on(&workspace, Arc::new(disk.clone()));
    let session = rig.new_session();
    rig.run_to_end(&session, "Hello.");
    let params = json!({"sessionId": session});
    rig.request(methods::SESSION_CLOSE, params.clone()).expect("the session closes");
    let log = session_dir(&workspace, &session).join("events.jsonl");
    let log = || disk.content(&log).expect("a log");
    let before = log();
    disk.hold(&session_dir(&workspace, &session));
    let waiting: Vec<_> =
        (0..MAX_QUEUE).map(|_| rig.request_nowait(methods::SESSION_RESUME, params.clone())).collect();
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "Hello?"}]});
    let command = |name: &str, arguments: Value| json!({"command": name, "arguments": [arguments]});
    let start = command("adjutant.start", json!({"sessionId": session, "text": "Hello?"}));
    let resume = command("adjutant.resume", params.clone());
    let prompt_command = command("adjutant.prompt", json!({"sessionId": session, "text": "Hello?"}));
    let refused = [
        (methods::SESSION_PROMPT, prompt),
        (methods::SESSION_RESUME, params.clone()),
        (methods::SESSION_DELETE, params.clone()),
        ("workspace/executeCommand", start),
        ("workspace/executeCommand", prompt_command),
        ("workspace/executeCommand", resume),
    ];
    for (method, params) in &refused {
        assert_overloaded(rig.request(method, params.clone()));
    }
    assert!(log() == before, "nothing is recorded");
    disk.release();
    for id in &waiting {
        rig.await_response(id).expect("the session opens");
    }
    for (method, params) in refused.iter().filter(|(method, _)| *method != methods::SESSION_DELETE) {
        rig.request(method, params.clone()).unwrap_or_else(|error| panic!("{method} {params}: {error}"));
    }
    rig.end();
}

#[test]
fn p28_too_many_sessions_are_refused_until_one_is_closed() {
    let (_model, workspace) = answering();
    let rig = Rig::start(&workspace);
    let first = rig.new_session();
    (1..MAX_OPEN).for_each(|_| _ = rig.new_session());
    assert_overloaded(rig.request(methods::SESSION_NEW, json!({})));
    let start = json!({"command": "adjutant.start", "arguments": ["look", "around"]});
    assert_overloaded(rig.request("workspace/executeCommand", start.clone()));
    rig.request(methods::SESSION_CLOSE, json!({"sessionId": first})).expect("the session closes");
    let made: NewSessionResult = rig.call(methods::SESSION_NEW, json!({}));
    rig.request(methods::SESSION_CLOSE, json!({"sessionId": made.session_id})).expect("the session closes");
    rig.request("workspace/executeCommand", start).expect("there is room for this session too");
    rig.end();
}

#[test]
fn p28_too_many_prompts_for_the_next_turn_are_refused_and_not_recorded() {
    let model = ModelServer::start([Reply::never(), Reply::text("Done.")]);
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let prompt = || json!({"sessionId": session, "prompt": [{"type": "text", "text": "And this."}]});
    let send = || -> Result<Value, RpcError> { rig.request(methods::SESSION_PROMPT, prompt()) };
    let run = rig.prompt(&session, "Hello.").run_id;
    model.wait_for_requests(1);
    (0..MAX_PENDING).for_each(|_| _ = send().expect("the prompt waits for the next turn"));
    let before = count(&workspace, &session, "prompted");
    assert_overloaded(send());
    assert_eq!(count(&workspace, &session, "prompted"), before, "nothing is recorded");
    rig.cancel_run(&session);
    assert_eq!(rig.await_run_end(&session, &run).outcome, Outcome::Cancelled);
    assert_eq!(send().expect("there is room again")["disposition"], "started");
    rig.end();
}
