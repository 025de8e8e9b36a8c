//! A conversation is forked: whole or before a prompt, here and in other processes, and both go on.
//!
//! Never looks into the server: what the model was sent, what clients are told and the files on disk count.

use std::fs;

use adjutant::faults::FORK_POINTS;
use adjutant::session::log::line;
use adjutant_protocol::ask::AskKind;
use adjutant_protocol::methods;
use adjutant_protocol::review::ReviewListResult;
use adjutant_protocol::session::{
    Done, ReplayFrom, SessionEntry, SessionForkResult, SessionListResult, WaitResult,
};
use adjutant_protocol::state::{Outcome, State};
use adjutant_protocol::update::{RunView, SessionUpdateParams, ToolStatus, Update};
use adjutant_protocol::{MessageId, SessionId};
use adjutant_testkit::command::Line;
use adjutant_testkit::editor::Options;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{Dialect, ModelServer, Reply, Request};
use adjutant_testkit::process::{Server, wait_until};
use serde_json::{Value, json};

use crate::images::{body, coded, png, show};
use crate::kill::sessions;
use crate::rig::{Rig, facts, log_text, refused, session_dir};
use crate::stage::edit;

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");

/// The cache mark of a provider, which moves between requests.
const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

fn workspace_of(wire: Dialect, model: &ModelServer) -> Workspace {
    let workspace = Workspace::new("//- /a.txt\nhello\n//- /b.txt\nbye\n");
    workspace.provider(wire, &model.base_url());
    workspace
}

fn talking(replies: impl IntoIterator<Item = Reply>) -> (ModelServer, Workspace) {
    let model = ModelServer::start(replies);
    let workspace = workspace_of(Dialect::Chat, &model);
    (model, workspace)
}

fn fork(rig: &Rig, session: &SessionId, at: Option<&MessageId>) -> SessionForkResult {
    let mut params = json!({ "sessionId": session });
    if let Some(at) = at {
        params["atMessageId"] = json!(at);
    }
    rig.call(methods::SESSION_FORK, params)
}

fn entry(rig: &Rig, session: &SessionId) -> SessionEntry {
    let listed = rig.call::<SessionListResult>(methods::SESSION_LIST, json!({})).sessions;
    listed.into_iter().find(|entry| entry.session_id == *session).expect("it is listed")
}

/// Returns the id of the user's prompt with this text.
fn prompt_named(rig: &Rig, session: &SessionId, wanted: &str) -> MessageId {
    let found = rig.updates().into_iter().find_map(|params| match params.update {
        Update::UserMessage { message_id, text, .. } if params.session_id == *session && text == wanted => {
            Some(message_id)
        }
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no prompt {wanted:?}"))
}

/// Resumes a session from the start, and returns its past.
fn past_of(rig: &Rig, session: &SessionId) -> Vec<SessionUpdateParams> {
    let before = rig.updates().len();
    let seq = rig.resume(session, Some(ReplayFrom::Start)).seq;
    let told = || rig.updates().split_off(before);
    let is_last = |params: &SessionUpdateParams| params.session_id == *session && params.seq == seq;
    wait_until("the past", || seq == 0 || told().iter().any(is_last));
    told().into_iter().filter(|params| params.session_id == *session).collect()
}

/// Returns the body without cache marks and without the brackets that close the conversation.
fn unmarked(request: &Request) -> String {
    let bare = body(request).replace(MARK, "");
    bare.strip_suffix("]}").expect("the conversation comes last").to_owned()
}

/// Returns the last request; every call in it has exactly one output, after it.
#[track_caller]
fn last_valid(model: &ModelServer) -> String {
    let requests = model.requests();
    let request = requests.last().expect("a request");
    let body = request.json();
    let (mut open, mut seen): (Vec<String>, usize) = (Vec::new(), 0);
    let mut item = |item: &Value| {
        let text = |name: &str| item[name].as_str().map(str::to_owned);
        let opened = match item["type"].as_str() {
            Some("tool_use" | "function") => text("id"),
            Some("function_call") => text("call_id"),
            _ => None,
        };
        open.extend(opened);
        let is_output = item["role"] == "tool"
            || matches!(item["type"].as_str(), Some("tool_result" | "function_call_output"));
        if is_output {
            let of = text("tool_call_id").or(text("tool_use_id")).or(text("call_id")).expect("an id");
            let at = open.iter().position(|call| *call == of);
            open.remove(at.unwrap_or_else(|| panic!("an output of no open call {of:?}: {body}")));
            seen += 1;
        }
    };
    for message in body["messages"].as_array().or(body["input"].as_array()).expect("a conversation") {
        item(message);
        for part in ["content", "tool_calls"] {
            message[part].as_array().into_iter().flatten().for_each(&mut item);
        }
    }
    assert!(open.is_empty(), "{open:?} have no output: {body}");
    assert!(seen > 0, "there are calls in it: {body}");
    body.to_string()
}

#[test]
fn p05_a_fork_begins_with_the_same_bytes_on_every_wire_and_both_conversations_go_on() {
    for wire in Dialect::ALL {
        let model = ModelServer::start([
            Reply::text("I look. ").and_reasoning("There?").and_call("read_file", json!({"path": "a.txt"})),
            Reply::text("Found it."),
            Reply::text("In the fork."),
            Reply::text("In the original."),
            Reply::text("In the fork again."),
        ]);
        let workspace = workspace_of(wire, &model);
        let rig = Rig::start(&workspace);
        let session = rig.new_session();
        rig.run_to_end(&session, "Find it.");
        let log = log_text(&workspace, &session);
        let forked = fork(&rig, &session, None);
        assert_eq!((forked.title.as_str(), forked.prompt), ("Find it. (fork)", None));
        assert_eq!(forked.notices, [""; 0]);
        assert_eq!(log_text(&workspace, &session), log, "the original is only read");
        let listed = entry(&rig, &forked.session_id);
        assert_eq!((listed.title.as_str(), listed.state), ("Find it. (fork)", State::Idle));
        assert_eq!((listed.parent_session_id.as_ref(), listed.damaged), (Some(&session), None));
        assert_eq!(entry(&rig, &session).parent_session_id, None);

        rig.resume(&forked.session_id, None);
        rig.run_to_end(&forked.session_id, "Is it?");
        rig.run_to_end(&session, "And here?");
        rig.end();
        // Another process goes on with it.
        let rig = Rig::start(&workspace);
        rig.resume(&forked.session_id, None);
        rig.run_to_end(&forked.session_id, "Still?");
        last_valid(&model);
        let bodies: Vec<String> = model.requests().iter().map(unmarked).collect();
        let [_, found, in_fork, in_original, again] = &bodies[..] else { panic!("{wire:?}: five requests") };
        for (before, after) in [(found, in_fork), (found, in_original), (in_fork, again)] {
            assert!(after.starts_with(before.as_str()), "{wire:?}:\n{before}\n{after}");
        }
        assert!(in_fork.contains("Is it?") && !in_fork.contains("And here?"), "{wire:?}: {in_fork}");
        assert!(!in_original.contains("Is it?"), "{wire:?}: {in_original}");
        rig.end();
    }
}

#[test]
fn p05_a_fork_at_a_prompt_has_what_was_said_before_it_and_gives_its_words_back() {
    let (model, workspace) = talking(["One.", "Two.", "Three.", "Other.", "New."].map(Reply::text));
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    for text in ["first", "second", "third"] {
        rig.run_to_end(&session, text);
    }
    rig.call::<Done>(methods::SESSION_RENAME, json!({ "sessionId": session, "title": "Mine" }));
    rig.call::<Value>(
        methods::SESSION_SET_CONFIG_OPTION,
        json!({ "sessionId": session, "configId": "mode", "value": "ask" }),
    );
    let second = fork(&rig, &session, Some(&prompt_named(&rig, &session, "second")));
    assert_eq!((second.prompt.as_deref(), second.title.as_str()), (Some("second"), "Mine (fork)"));
    let past = past_of(&rig, &second.session_id);
    let said = past.iter().filter_map(|params| match &params.update {
        Update::UserMessage { text, .. } | Update::AgentMessage { text, .. } => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(said.collect::<Vec<_>>(), ["first", "One."]);
    let resumed = rig.resume(&second.session_id, None);
    assert_eq!((resumed.title.as_str(), resumed.mode.name()), ("Mine (fork)", "ask"), "as it is chosen now");
    rig.run_to_end(&second.session_id, "another second");
    let request = model.requests().last().expect("a request").json().to_string();
    assert!(request.contains("One.") && request.contains("another second"), "{request}");
    assert!(!request.contains("Two.") && !request.contains("third"), "{request}");

    let first = fork(&rig, &session, Some(&prompt_named(&rig, &session, "first")));
    assert_eq!(first.prompt.as_deref(), Some("first"));
    assert_eq!(entry(&rig, &first.session_id).state, State::None, "nothing was said in it");
    assert_eq!(past_of(&rig, &first.session_id), []);
    rig.run_to_end(&first.session_id, "a new beginning");
    let request = model.requests().last().expect("a request").json().to_string();
    assert!(!request.contains("One."), "{request}");
    assert_eq!(entry(&rig, &first.session_id).title, "Mine (fork)");
    rig.end();
}

/// A command waits for an answer, and a read beside it has ended.
#[test]
fn p05_open_calls_and_questions_end_in_a_fork_and_go_on_in_the_original_on_every_wire() {
    for wire in Dialect::ALL {
        let model = ModelServer::start([
            Reply::text("Both. ")
                .and_call("read_file", json!({"path": "a.txt"}))
                .and_call("run_command", json!({"command": "echo hi"})),
            Reply::text("In the fork."),
            Reply::text("Ran."),
        ]);
        let workspace = workspace_of(wire, &model);
        let rig = Rig::start(&workspace);
        let session = rig.new_session();
        let run = rig.prompt(&session, "Run it.").run_id;
        let ask = rig.await_ask_of(AskKind::Command);
        let forked = fork(&rig, &session, None);
        let [notice] = &forked.notices[..] else { panic!("{:?}", forked.notices) };
        assert!(notice.contains("in this copy it ends here"), "{notice}");
        let past = past_of(&rig, &forked.session_id);
        assert!(past.iter().all(|params| !matches!(params.update, Update::Ask(_))), "no question is copied");
        let ended = past.iter().rev().find_map(|params| match &params.update {
            Update::ToolCallUpdate(view) if view.summary.is_some() => Some((view.title.clone(), view.status)),
            _ => None,
        });
        assert_eq!(ended, Some(("Run echo hi".to_owned(), ToolStatus::Cancelled)));
        let resumed = rig.resume(&forked.session_id, None);
        assert_eq!((resumed.state.state, resumed.asks.len()), (State::Idle, 0));
        rig.run_to_end(&forked.session_id, "What now?");
        let request = last_valid(&model);
        assert!(request.contains("hello") && request.contains("the conversation was copied"), "{request}");
        rig.answer(&ask.ask_id, "allow");
        // The fork has a run of this id that has ended.
        let wait = json!({ "sessionId": session, "runId": run, "timeoutMs": 10_000 });
        let ended = rig.call::<WaitResult>(methods::SESSION_WAIT, wait).ended.expect("it ends");
        assert_eq!(ended.outcome, Outcome::Stopped);
        let request = last_valid(&model);
        assert!(!request.contains("the conversation was copied"), "{request}");
        rig.end();
    }
}

/// The model is silent while the user steers; the fork ends before what the user said then.
#[test]
fn p05_a_fork_at_a_prompt_that_steered_a_run_ends_the_run_before_it() {
    let (model, workspace) = talking([Reply::never(), Reply::text("In the fork.")]);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    rig.prompt(&session, "begin");
    model.wait_for_holding(1);
    rig.prompt(&session, "no, otherwise");
    let at = prompt_named_soon(&rig, &session, "no, otherwise");
    let forked = fork(&rig, &session, Some(&at));
    assert_eq!(forked.prompt.as_deref(), Some("no, otherwise"));
    let past = past_of(&rig, &forked.session_id);
    let ended = past.iter().find_map(|params| match &params.update {
        Update::Run(RunView::Ended { end, .. }) => Some(end.outcome),
        _ => None,
    });
    assert_eq!(ended, Some(Outcome::Cancelled));
    rig.run_to_end(&forked.session_id, "go on");
    let request = body(model.requests().last().expect("a request"));
    assert!(request.contains("begin") && !request.contains("otherwise"), "{request}");
    assert_eq!(entry(&rig, &session).state, State::Running, "the original works on");
    rig.cancel_run(&session);
    rig.end();
}

fn prompt_named_soon(rig: &Rig, session: &SessionId, wanted: &str) -> MessageId {
    let is = |params: &SessionUpdateParams| matches!(&params.update, Update::UserMessage { text, .. } if params.session_id == *session && text == wanted);
    rig.await_update(is);
    prompt_named(rig, session, wanted)
}

#[test]
fn p05_changes_and_standing_answers_stay_with_the_original() {
    let (model, workspace) = talking([
        edit("a.txt", "hello", "hey"),
        edit("a.txt", "hey", "hi"),
        Reply::text("Changed."),
        edit("b.txt", "bye", "cu"),
        Reply::text("Not changed."),
    ]);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Change it").run_id;
    let ask = rig.await_ask_of(AskKind::Tool);
    rig.answer(&ask.ask_id, "allow_always");
    rig.await_run_end(&session, &run);
    let forked = fork(&rig, &session, None).session_id;
    let listed = rig.call::<ReviewListResult>(methods::REVIEW_LIST, json!({})).hunks;
    assert_eq!(listed.iter().map(|hunk| &hunk.session_id).collect::<Vec<_>>(), [&session]);
    assert_eq!((entry(&rig, &session).unreviewed_hunks, entry(&rig, &forked).unreviewed_hunks), (1, 0));
    let past = past_of(&rig, &forked);
    assert!(past.iter().all(|params| !matches!(params.update, Update::ChangeSet(_) | Update::Rule { .. })));
    let edits = past.iter().find_map(|params| match &params.update {
        Update::Run(RunView::Ended { end, .. }) => Some(end.edits.clone()),
        _ => None,
    });
    assert_eq!(edits, Some(None), "its run offers nothing to review");
    let run = rig.prompt(&forked, "The other, too").run_id;
    let ask = rig.await_ask_of(AskKind::Tool);
    assert_eq!(ask.session_id, forked, "what was allowed there is not allowed here");
    // The model knows its own edit: nobody tells it that others have changed the file.
    let request = last_valid(&model);
    assert!(!request.contains("changed by others") && !request.contains("[note]"), "{request}");
    rig.answer(&ask.ask_id, "reject");
    rig.await_run_end(&forked, &run);
    assert_eq!(workspace.read("a.txt"), "hi\n");
    rig.end();
}

#[test]
fn p05_a_fork_of_a_fork_outlives_both_and_shows_images_of_them() {
    let model = ModelServer::answering(|_| Reply::text("A cat."));
    let workspace = workspace_of(Dialect::Chat, &model);
    workspace.add_config("images = true\n");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = show(&rig, &session, "What is this?", &[png(1)]);
    rig.await_run_end(&session, &run);
    let first = fork(&rig, &session, None);
    rig.resume(&first.session_id, None);
    rig.run_to_end(&first.session_id, "Sure?");
    let second = fork(&rig, &first.session_id, None);
    assert_eq!(second.title, "What is this? (fork 2)");
    assert_eq!(entry(&rig, &second.session_id).parent_session_id, Some(first.session_id.clone()));
    // At a prompt that the first fork has only inherited.
    let inherited = prompt_named(&rig, &session, "What is this?");
    let empty = fork(&rig, &first.session_id, Some(&inherited));
    assert_eq!(past_of(&rig, &empty.session_id), []);
    for id in [&session, &first.session_id] {
        rig.call::<Done>(methods::SESSION_DELETE, json!({ "sessionId": id }));
    }
    rig.end();
    let rig = Rig::start(&workspace);
    let past = past_of(&rig, &second.session_id);
    let prompts = past.iter().filter(|params| matches!(params.update, Update::UserMessage { .. })).count();
    assert_eq!(prompts, 2);
    rig.run_to_end(&second.session_id, "And now?");
    let request = body(model.requests().last().expect("a request"));
    assert!(request.contains(&coded(&png(1))), "the image is copied");
    assert_eq!(entry(&rig, &second.session_id).damaged, None);
    rig.end();
}

#[test]
fn p05_a_session_that_another_process_has_is_forked_while_it_works() {
    let model = ModelServer::start([Reply::text("One."), Reply::never(), Reply::text("In the fork.")]);
    let workspace = workspace_of(Dialect::Chat, &model);
    let (one, other) = (Rig::start(&workspace), Rig::start(&workspace));
    let session = one.new_session();
    one.run_to_end(&session, "first");
    one.prompt(&session, "second");
    model.wait_for_holding(1);
    assert_eq!(entry(&other, &session).state, State::Running);
    let log = log_text(&workspace, &session);
    let forked = fork(&other, &session, None);
    assert_eq!(forked.notices.len(), 1, "{:?}", forked.notices);
    assert_eq!(log_text(&workspace, &session), log);
    other.await_listed(0, |changed| changed.session_id == forked.session_id && changed.session.is_some());
    other.resume(&forked.session_id, None);
    other.run_to_end(&forked.session_id, "third");
    let request = body(model.requests().last().expect("a request"));
    assert!(["first", "One.", "second", "third"].iter().all(|text| request.contains(text)), "{request}");
    other.end();
    one.cancel_run(&session);
    one.await_state(State::Idle);
    one.end();
}

/// A prompt and a fork that follows it at once: the fork has the prompt.
#[test]
fn p05_what_was_sent_before_the_fork_is_in_it() {
    let (_model, workspace) = talking([Reply::never()]);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "at once" }] });
    let prompted = rig.request_nowait(methods::SESSION_PROMPT, prompt);
    let asked = rig.request_nowait(methods::SESSION_FORK, json!({ "sessionId": session }));
    rig.await_response(&prompted).expect("the prompt is accepted");
    let forked = rig.await_response(&asked).expect("it is forked");
    let forked: SessionForkResult = serde_json::from_value(forked).expect("a fork");
    assert_eq!(forked.title, "at once (fork)");
    let texts: Vec<Value> = facts(&workspace, &forked.session_id);
    assert!(texts.iter().any(|fact| fact["text"] == "at once"), "{texts:#?}");
    rig.cancel_run(&session);
    rig.end();
}

/// Writes the log of a session in this format, with an event after its beginning.
fn planted(workspace: &Workspace, id: &str, format: u64, event: &Value) -> SessionId {
    let id = SessionId(id.to_owned());
    let dir = session_dir(workspace, &id);
    fs::create_dir(&dir).expect("a folder");
    let head = format!("{{\"adjutant_log\":{format},\"session\":\"{id}\",\"created_at\":1");
    let mut sum = crc32fast::Hasher::new();
    sum.update(id.0.as_bytes());
    sum.update(head.as_bytes());
    let mut log = format!("{head},\"sum\":\"{:08x}\"}}\n", sum.finalize()).into_bytes();
    line::put_epoch(&mut log, &id.0, 1, 1);
    let created = json!({ "type": "session_created", "session": id, "roots": [], "title": "t" });
    line::put_record(&mut log, &id.0, (1, 1, false), &created).expect("a record");
    line::put_record(&mut log, &id.0, (2, 2, false), event).expect("a record");
    fs::write(dir.join("events.jsonl"), log).expect("a log");
    id
}

#[test]
fn p05_what_cannot_be_forked_is_refused_with_what_to_do() {
    let (_model, workspace) = talking(["One.", "Other."].map(Reply::text));
    let rig = Rig::start(&workspace);
    let (session, other, empty) = (rig.new_session(), rig.new_session(), rig.new_session());
    rig.run_to_end(&session, "first");
    rig.run_to_end(&other, "elsewhere");
    let elsewhere = prompt_named(&rig, &other, "elsewhere");
    let answer = rig.updates().into_iter().find_map(|params| match params.update {
        Update::AgentMessage { message_id, .. } => Some(message_id),
        _ => None,
    });
    let log = log_text(&workspace, &session);
    let newer =
        planted(&workspace, "s-00000000000000aa", 99, &json!({ "type": "heard", "turn": 1, "attempt": 1 }));
    let strange = planted(&workspace, "s-00000000000000bb", 1, &json!({ "type": "of_tomorrow" }));
    let ask = |id: &SessionId, at: Option<MessageId>| {
        let mut params = json!({ "sessionId": id });
        if let Some(at) = at {
            params["atMessageId"] = json!(at);
        }
        let error = rig.request(methods::SESSION_FORK, params).expect_err("it is refused");
        let message = error.message.clone();
        (refused::<()>(Err(error)).1, message)
    };
    let nobody = SessionId("s-0000000000000000".to_owned());
    for (id, at, name, words) in [
        (&nobody, None, "SessionNotFound", "s-0000000000000000"),
        (&empty, None, "AnswerInvalid", "send one first"),
        (&session, Some(MessageId("msg-0".to_owned())), "AnswerInvalid", "name one that the user sent in it"),
        (&session, Some(elsewhere), "AnswerInvalid", "name one that the user sent in it"),
        (&session, answer, "AnswerInvalid", "name one that the user sent in it"),
        (&newer, None, "VersionUnsupported", "(format 99); update to continue it"),
        (&strange, None, "VersionUnsupported", "update to continue it"),
    ] {
        let (got, message) = ask(id, at);
        assert_eq!(got, name, "{message}");
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(log_text(&workspace, &session), log);
    let left = fs::read_dir(workspace.state_dir().join("sessions")).expect("the sessions");
    let left: Vec<String> =
        left.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    assert!(left.iter().all(|name| name.starts_with("s-")), "nothing is left of what was refused: {left:?}");
    rig.end();
}

#[test]
fn p05_a_kill_in_a_fork_leaves_a_whole_one_or_none_and_the_original_as_it_was() {
    for point in FORK_POINTS {
        let (_model, workspace) = talking([Reply::text("One."), Reply::text("Two."), Reply::text("Three.")]);
        let rig = Rig::start(&workspace);
        let session = rig.new_session();
        rig.run_to_end(&session, "first");
        rig.end();
        let log = log_text(&workspace, &session);
        let mut server = Server::spawn_with(BINARY, &workspace, &["lsp"], |command| {
            command.env("ADJUTANT_FAULT", format!("{point}:1"));
        });
        let editor = server.editor(Options::new(&workspace));
        editor.expect_loss();
        editor.request_nowait(methods::SESSION_FORK, json!({ "sessionId": session }));
        server.wait();
        drop(editor);
        assert_eq!(log_text(&workspace, &session), log, "{point}");
        let rig = Rig::start(&workspace);
        let sessions = workspace.state_dir().join("sessions");
        let hidden = || {
            let names = fs::read_dir(&sessions).expect("the sessions");
            names
                .filter(|entry| {
                    entry.as_ref().expect("an entry").file_name().to_string_lossy().starts_with('.')
                })
                .count()
        };
        wait_until("what was hidden is removed", || hidden() == 0);
        let listed = rig.call::<SessionListResult>(methods::SESSION_LIST, json!({})).sessions;
        let forks: Vec<&SessionEntry> = listed.iter().filter(|entry| entry.session_id != session).collect();
        assert_eq!(forks.len(), usize::from(point == "fork-appeared"), "{point}: {forks:?}");
        for fork in forks {
            assert_eq!((fork.title.as_str(), fork.damaged.as_ref()), ("first (fork)", None));
            rig.resume(&fork.session_id, None);
            rig.run_to_end(&fork.session_id, "second");
        }
        rig.run_to_end(&session, "third");
        rig.end();
    }
}

#[test]
fn p05_a_session_is_forked_at_a_terminal() {
    let (_model, workspace) = talking([Reply::text("One.")]);
    let run = |args: &[&str]| Line::new(BINARY, &workspace, args).run();
    run(&["run", "first"]).expect(0);
    let [id] = &sessions(&workspace)[..] else { panic!("one session") };
    let forked = run(&["sessions", "fork", id]);
    let stdout = forked.expect(0).stdout.clone();
    let fork = stdout.trim().strip_prefix("forked: ").and_then(|rest| rest.strip_suffix("  first (fork)"));
    let fork = fork.unwrap_or_else(|| panic!("{forked}"));
    let shown = run(&["sessions", "show", fork]);
    assert!(shown.expect(0).stdout.contains("One."), "{shown}");
    let refused = run(&["sessions", "fork", "nobody"]);
    assert!(refused.expect(2).stderr.contains("nobody"), "{refused}");
}
