//! Sessions over the wire: created, followed, resumed, listed, deleted.
//!
//! Never looks into the server; checks only messages and files.

use adjutant_protocol::SessionId;
use adjutant_protocol::ask::AskKind;
use adjutant_protocol::methods;
use adjutant_protocol::session::{
    Disposition, Done, PromptResult, ReplayFrom, SessionListResult, WaitResult, WaitStatus,
};
use adjutant_protocol::state::{RequiredAction, State};
use adjutant_protocol::update::{SessionUpdateParams, Update};
use adjutant_testkit::editor::{Chunks, Options, Rule};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::wait_until;
use serde_json::{Value, json};

use crate::rig::{Rig, facts, lasting, refused, session_dir};

/// Returns a session that has a read, an approved command, text and a completion.
fn a_full_session(workspace: &Workspace, rig: &Rig) -> SessionId {
    let session = rig.new_session();
    let run = rig.prompt(&session, "Look at a.txt and say hello.").run_id;
    let ask = rig.await_ask_of(AskKind::Command);
    rig.answer(&ask.ask_id, "allow");
    rig.await_run_end(&session, &run);
    rig.await_state(State::Idle);
    assert!(facts(workspace, &session).len() > 10);
    session
}

fn full_session_model() -> ModelServer {
    ModelServer::start([
        Reply::text("I look first.").and_call("read_file", json!({"path": "a.txt"})).usage(10, 2),
        Reply::call("run_command", json!({"command": "echo hello"})).and_reasoning("now say it"),
        Reply::call("task_complete", json!({"summary": "Said hello."})),
    ])
}

fn workspace_with(model: &ModelServer) -> Workspace {
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    workspace
}

/// Resumes and returns the replayed updates when there are `count`.
fn replayed(rig: &Rig, session: &SessionId, from: ReplayFrom, count: usize) -> Vec<SessionUpdateParams> {
    let before = rig.updates().len();
    rig.resume(session, Some(from));
    wait_until("the replay", || rig.updates().len() >= before + count);
    rig.updates().split_off(before)
}

#[test]
fn s01_s09_a_replay_tells_what_was_told_from_the_start_or_from_any_number() {
    let model = full_session_model();
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = a_full_session(&workspace, &rig);
    let published = lasting(&rig.updates());
    let last = published.last().map_or(0, |update| update.seq);
    assert_eq!(published.len() as u64, last, "every lasting update has its own number");
    assert_eq!(replayed(&rig, &session, ReplayFrom::Start, published.len()), published);
    for seq in 0..=last {
        let rest: Vec<_> = published.iter().filter(|update| update.seq > seq).cloned().collect();
        assert_eq!(replayed(&rig, &session, ReplayFrom::Seq { seq }, rest.len()), rest, "from {seq}");
    }
    rig.end();
}

#[test]
fn s01_s96_s106_a_new_server_tells_the_same_and_nothing_ephemeral() {
    let model = full_session_model();
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = a_full_session(&workspace, &rig);
    let all = rig.updates();
    let published = lasting(&all);
    assert!(all.len() > published.len(), "the first server also published ephemeral updates");
    rig.end();

    let rig = Rig::start(&workspace);
    let now = rig.resume(&session, Some(ReplayFrom::Start));
    wait_until("the replay", || lasting(&rig.updates()).len() as u64 >= now.seq);
    let again = rig.updates();
    assert_eq!(again[..published.len()], published[..], "the replay has the same updates");
    assert!(again.iter().all(|update| update.sub.is_none()), "{again:?}");
    rig.end();
}

#[test]
fn s09_who_follows_a_run_under_way_misses_nothing_and_sees_nothing_twice() {
    let model = ModelServer::start([
        Reply::text("one two three four five six seven eight nine ten").hold_after(700),
        Reply::text("more"),
    ]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Count.").run_id;
    rig.await_update(|update| matches!(update.update, Update::AgentMessageChunk { .. }));
    let published = lasting(&rig.updates());
    let now = rig.resume(&session, Some(ReplayFrom::Start));
    assert_eq!((now.state.state, now.state.run_id), (State::Running, Some(run.clone())));
    model.release();
    rig.await_run_end(&session, &run);
    rig.await_state(State::Idle);
    // The double finds gaps and repetitions by itself, but not whether the replay has the same updates.
    let all = lasting(&rig.updates());
    assert_eq!(all[published.len()..published.len() * 2], published[..]);
    rig.end();
}

#[test]
fn s09_resuming_at_any_moment_of_a_busy_run_keeps_the_order() {
    let calls = (0..8).map(|_| Reply::text("Looking.").and_call("list_files", json!({"path": "."})));
    let model = ModelServer::start(calls.chain([Reply::text("Done.")]));
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Look around.").run_id;
    for _ in 0..20 {
        rig.resume(&session, Some(ReplayFrom::Start));
    }
    let wait = json!({"sessionId": session, "runId": run, "timeoutMs": 10_000});
    assert_eq!(rig.call::<WaitResult>(methods::SESSION_WAIT, wait).status, WaitStatus::Ok);
    let now = rig.resume(&session, Some(ReplayFrom::Start));
    rig.await_update(|update| update.seq == now.seq);
    rig.end();
}

#[test]
fn s02_it_waits_exactly_while_a_blocking_ask_is_open() {
    let model = full_session_model();
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    a_full_session(&workspace, &rig);
    let mut open = 0;
    for update in rig.updates() {
        match update.update {
            Update::Ask(adjutant_protocol::update::AskChange::Opened { ask }) => {
                open += usize::from(ask.group == adjutant_protocol::ask::AskGroup::Interactive);
            }
            Update::Ask(adjutant_protocol::update::AskChange::Closed { .. }) => open -= 1,
            Update::StateUpdate(view) => {
                assert_eq!(view.state == State::RequiresAction, open > 0, "{view:?}");
                assert_eq!(view.required_action == RequiredAction::Answer, open > 0, "{view:?}");
            }
            _ => {}
        }
    }
    rig.end();
}

#[test]
fn s10_calls_too_early_too_late_or_to_no_session_get_one_defined_error() {
    let workspace = Workspace::new("");
    let rig = Rig::connect(&workspace, Options::new(&workspace));
    let calls = |session: &str| -> Vec<(&'static str, Value)> {
        vec![
            (methods::SESSION_RESUME, json!({"sessionId": session})),
            (methods::SESSION_DELETE, json!({"sessionId": session})),
            (methods::SESSION_WAIT, json!({"sessionId": session, "runId": "run-1"})),
            (
                methods::SESSION_PROMPT,
                json!({"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}),
            ),
            (methods::ASK_LIST, json!({"sessionId": session})),
        ]
    };
    for (method, params) in calls("s").into_iter().chain([(methods::SESSION_NEW, json!({}))]) {
        assert_eq!(refused(rig.request(method, params)).0, -32002, "{method} before initialize");
    }
    rig.initialize().expect("the handshake works after that");
    for id in ["0123456789abcdef", "no-such", "../../etc", "", "a/b", ".", "\u{0}"] {
        for (method, params) in calls(id) {
            let (code, name) = refused(rig.request(method, params));
            assert_eq!((code, name.as_str()), (-33001, "SessionNotFound"), "{method} {id:?}");
        }
    }
    rig.request("shutdown", Value::Null).expect("shutdown");
    for (method, params) in calls("s").into_iter().chain([(methods::SESSION_NEW, json!({}))]) {
        assert_eq!(refused(rig.request(method, params)).0, -32600, "{method} after shutdown");
    }
    rig.notify("exit", Value::Null);
    rig.await_end();
}

#[test]
fn s14_the_pieces_of_every_item_add_up_to_it() {
    let text = "Grüße — a text of some length, with 🌍 and\nseveral lines in it. ".repeat(20);
    let model = ModelServer::start([
        Reply::text(&text).and_reasoning("thinking it over").in_pieces_of(7),
        Reply::text("and again").in_pieces_of(1),
    ]);
    let workspace = workspace_with(&model);
    let rig = Rig::start_with(&workspace, Options { chunks: Chunks::Equal, ..Options::new(&workspace) });
    let session = rig.new_session();
    rig.run_to_end(&session, "Speak.");
    rig.run_to_end(&session, "Again.");
    let finals = rig.updates().into_iter().filter_map(|update| match update.update {
        Update::AgentMessage { text, .. } => Some(text),
        _ => None,
    });
    assert_eq!(finals.collect::<Vec<_>>(), [text, "and again".to_owned()]);
    assert!(rig.update_kinds().contains(&"agent_message_chunk"));
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s28_a_prompt_is_answered_before_the_model_is_asked_to_its_end() {
    let model = ModelServer::start([Reply::never()]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let prompted = rig.prompt(&session, "Wait for it.");
    assert_eq!(prompted.disposition, Disposition::Started);
    assert!(prompted.accepted_at > 0);
    model.wait_for_holding(1);
    // The prompt is on disk although the model has not answered yet.
    assert!(facts(&workspace, &session).iter().any(|event| event["type"] == "prompted"));
    rig.cancel_run(&session);
    rig.await_run_end(&session, &prompted.run_id);
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s29_a_wait_that_is_over_leaves_the_run_alone_and_a_later_one_gets_its_end() {
    let model = ModelServer::start([Reply::text("slow and steady").hold_after(150)]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Go.").run_id;
    model.wait_for_holding(1);
    let wait = |timeout: u64| -> WaitResult {
        rig.call(methods::SESSION_WAIT, json!({"sessionId": session, "runId": run, "timeoutMs": timeout}))
    };
    let early = wait(1);
    assert_eq!((early.status, early.ended), (WaitStatus::Timeout, None));
    assert_eq!(rig.state_of(&session).map(|view| view.state), Some(State::Running));
    model.release();
    let late = wait(10_000);
    assert_eq!(late.status, WaitStatus::Ok);
    assert_eq!(late.ended.and_then(|end| end.summary).as_deref(), Some("slow and steady"));
    // A wait also works long after the end, but never for an unknown run.
    assert_eq!(wait(1).status, WaitStatus::Ok);
    let unknown = json!({"sessionId": session, "runId": "run-x", "timeoutMs": 1});
    assert_eq!(refused(rig.request(methods::SESSION_WAIT, unknown)).1, "RunMismatch");
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn l13_who_comes_late_is_told_the_state() {
    let model = full_session_model();
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    rig.prompt(&session, "Look at a.txt and say hello.");
    let ask = rig.await_ask_of(AskKind::Command);
    let now = rig.resume(&session, None);
    assert_eq!(now.state.state, State::RequiresAction);
    assert_eq!(now.state.required_action, RequiredAction::Answer);
    assert_eq!(now.state.asks, std::slice::from_ref(&ask.ask_id));
    assert_eq!(now.asks, std::slice::from_ref(&ask), "the snapshot has the whole ask");
    assert_eq!(now.title, "Look at a.txt and say hello.");
    rig.answer(&ask.ask_id, "reject");
    rig.await_state(State::Idle);
    let now = rig.resume(&session, None);
    assert_eq!((now.state.state, now.model), (State::Idle, None));
    rig.end();
}

#[test]
fn d10_the_same_key_gives_the_same_run_and_another_body_is_refused() {
    let model = ModelServer::start([Reply::text("once")]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let first = rig.prompt_with(&session, "Do it.", json!({"key": "k-1"}));
    rig.await_run_end(&session, &first.run_id);
    rig.await_state(State::Idle);
    let prompt = |rig: &Rig, text: &str| -> Result<PromptResult, _> {
        let body = json!({"sessionId": session, "key": "k-1", "prompt": [{"type": "text", "text": text}]});
        rig.try_call(methods::SESSION_PROMPT, body)
    };
    let again = prompt(&rig, "Do it.").expect("a repeated request gets the first result");
    assert_eq!((&again.run_id, again.disposition), (&first.run_id, first.disposition));
    assert_eq!(refused(prompt(&rig, "Do something else.")).1, "KeyReused");
    rig.end();
    // The key outlives the server.
    let rig = Rig::start(&workspace);
    assert_eq!(prompt(&rig, "Do it.").map(|again| again.run_id).ok(), Some(first.run_id));
    assert_eq!(refused(prompt(&rig, "Do something else.")).1, "KeyReused");
    assert_eq!(model.requests().len(), 1, "the prompt ran once");
    rig.end();
}

#[test]
fn a_prompt_to_a_run_under_way_steers_it_and_one_that_means_another_run_is_refused() {
    let model = ModelServer::start([
        Reply::call("list_files", json!({"path": "."})).hold_after(60),
        Reply::text("Yes, in French."),
    ]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Say it.").run_id;
    model.wait_for_holding(1);
    let wrong =
        json!({"sessionId": session, "expectedRunId": "run-x", "prompt": [{"type": "text", "text": "y"}]});
    assert_eq!(refused(rig.request(methods::SESSION_PROMPT, wrong)).1, "RunMismatch");
    for delivery in ["interrupt", "collect", "followup"] {
        let body =
            json!({"sessionId": session, "delivery": delivery, "prompt": [{"type": "text", "text": "y"}]});
        assert_eq!(refused(rig.request(methods::SESSION_PROMPT, body)).1, "DeliveryUnsupported");
    }
    // A cancel of another run does not change this one.
    rig.notify(methods::SESSION_CANCEL, json!({"sessionId": session, "runId": "run-x"}));
    let steer = rig.prompt_with(&session, "In French, please.", json!({"expectedRunId": run}));
    assert_eq!((steer.disposition, &steer.run_id), (Disposition::Steered, &run));
    model.release();
    rig.await_run_end(&session, &run);
    let body = model.wait_for_requests(2)[1].json();
    assert!(body["messages"].to_string().contains("In French, please."), "{body}");
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn a_session_is_listed_with_its_first_prompt_only_and_is_gone_once_deleted() {
    let model = ModelServer::start([Reply::text("hi"), Reply::text("ho"), Reply::never()]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let list = || rig.call::<SessionListResult>(methods::SESSION_LIST, json!({})).sessions;
    let (one, two) = (rig.new_session(), rig.new_session());
    assert!(list().is_empty());
    assert!(!session_dir(&workspace, &one).exists(), "no folder before the first prompt");
    rig.run_to_end(&one, "The first");
    rig.run_to_end(&two, "The second\nwith more lines");
    rig.await_state(State::Idle);
    let titles: Vec<String> = list().into_iter().map(|entry| entry.title).collect();
    assert_eq!(titles, ["The second", "The first"], "newest first, by the first line");
    let elsewhere = json!({"cwd": workspace.uri("").replace("/workspace", "/home")});
    assert!(rig.call::<SessionListResult>(methods::SESSION_LIST, elsewhere).sessions.is_empty());
    rig.call::<Done>(methods::SESSION_DELETE, json!({"sessionId": one}));
    assert!(!session_dir(&workspace, &one).exists());
    assert_eq!(list().len(), 1);
    assert_eq!(refused(rig.request(methods::SESSION_RESUME, json!({"sessionId": one}))).1, "SessionNotFound");
    // A session with an open run cannot be deleted.
    let run = rig.prompt(&two, "Now hang").run_id;
    model.wait_for_holding(1);
    assert_eq!(refused(rig.request(methods::SESSION_DELETE, json!({"sessionId": two}))).1, "SessionLocked");
    rig.cancel_run(&two);
    rig.await_run_end(&two, &run);
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s98_twenty_sessions_at_once_do_not_hear_of_each_other() {
    let model = ModelServer::answering(|request| {
        let body = request.json();
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let name = messages[1]["content"].as_str().unwrap_or_default().to_owned();
        match messages.len() {
            2 => Reply::call("run_command", json!({"command": format!("echo ran-{name}")})),
            _ => Reply::text(&format!("done-{name} {}", messages[3]["content"].as_str().unwrap_or_default())),
        }
    });
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let sessions: Vec<(SessionId, String)> =
        (0..20).map(|index| (rig.new_session(), format!("task{index}"))).collect();
    rig.on_ask(|_| adjutant_testkit::editor::Answer::option("allow"));
    let runs: Vec<_> = sessions.iter().map(|(session, name)| rig.prompt(session, name).run_id).collect();
    for ((session, name), run) in sessions.iter().zip(&runs) {
        let summary = rig.await_run_end(session, run).summary.unwrap_or_default();
        assert!(summary.contains(&format!("done-{name} ")), "{summary}");
    }
    for (session, name) in &sessions {
        let own = rig.updates().into_iter().filter(|update| update.session_id == *session);
        let text = format!("{:?}", own.collect::<Vec<_>>());
        assert!(text.contains(&format!("ran-{name}")) && text.contains(&format!("done-{name} ")), "{text}");
        let others = sessions.iter().filter(|(other, _)| other != session);
        for (other, other_name) in others {
            assert!(!text.contains(&other.0) && !text.contains(&format!("ran-{other_name}\"")), "{text}");
        }
    }
    assert_eq!(model.requests().len(), 40);
    rig.end();
}

#[test]
fn a_client_that_dies_leaves_its_session_to_the_next() {
    let model = ModelServer::start([Reply::text("hi"), Reply::text("again")]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    rig.run_to_end(&session, "Hello");
    rig.await_state(State::Idle);
    rig.die();
    let rig = Rig::start(&workspace);
    assert_eq!(rig.resume(&session, None).state.state, State::Idle);
    assert_eq!(rig.run_to_end(&session, "Hello again").summary.as_deref(), Some("again"));
    rig.await_state(State::Idle);
    let body = model.requests()[1].json();
    assert_eq!(
        body["messages"].as_array().map(Vec::len),
        Some(4),
        "the request has the past messages: {body}"
    );
    rig.forgive(Rule::UnreadMessage);
    rig.end();
}

#[test]
fn nothing_is_told_after_the_answer_to_shutdown() {
    let model = ModelServer::answering(|_| Reply::call("list_files", json!({"path": "."})));
    let workspace = workspace_with(&model);
    for turns in 0..6 {
        let rig = Rig::start(&workspace);
        let sessions: Vec<SessionId> = (0..4).map(|_| rig.new_session()).collect();
        for session in &sessions {
            rig.prompt(session, "Look, and look again.");
        }
        rig.await_update(|update| matches!(&update.update, Update::Turn(turn) if turn.turn > turns));
        // The double counts every message after the answer to `shutdown` as a fault.
        rig.end();
    }
}

#[test]
fn what_a_killed_process_left_half_written_or_half_deleted_is_swept() {
    let model = ModelServer::start([Reply::text("Hello.")]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    rig.run_to_end(&session, "Hello?");
    rig.await_state(State::Idle);
    rig.end();
    let grave = workspace.state_dir().join("sessions").join(".deleted-s-0123");
    let blobs = session_dir(&workspace, &session).join("blobs");
    for folder in [grave.join("blobs"), blobs.clone()] {
        std::fs::create_dir_all(&folder).expect("a folder");
        for name in [".new-1-1", "kept"] {
            std::fs::write(folder.join(name), b"x").expect("a file");
        }
    }
    let rig = Rig::start(&workspace);
    wait_until("the sweep of the deleted folder", || !grave.exists());
    assert!(blobs.join(".new-1-1").exists(), "a session that is not open stays unchanged");
    rig.resume(&session, None);
    assert!(!blobs.join(".new-1-1").exists() && blobs.join("kept").exists());
    rig.end();
}
