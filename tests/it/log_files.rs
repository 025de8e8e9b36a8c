//! The files that sessions leave on disk: their permissions, what can be counted in them, and how the next
//! server continues after a kill.
//!
//! Never writes a log itself; the server does.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use adjutant_protocol::SessionId;
use adjutant_protocol::ask::AskKind;
use adjutant_protocol::methods;
use adjutant_protocol::session::SessionListResult;
use adjutant_protocol::state::{Outcome, State};
use adjutant_protocol::update::Update;
use adjutant_testkit::editor::{Answer, Editor, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::{MARK, Server, wait_until};
use serde_json::{Value, json};

use crate::rig::{Rig, count, facts, log_text, refused, session_dir};

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");

fn workspace_with(model: &ModelServer) -> Workspace {
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    workspace
}

/// Starts a server as a separate process, with an editor.
fn spawn(workspace: &Workspace) -> (Server, Editor) {
    // An approval is for one environment, so all servers of a test have the same.
    let mut server = Server::spawn_with(BINARY, workspace, &["lsp"], |command| {
        command.env(MARK, "the same for all");
    });
    let editor = server.editor(Options::new(workspace));
    (server, editor)
}

fn kill(mut server: Server, editor: &Editor) {
    editor.expect_loss();
    server.kill();
}

fn all_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(all_below(&path));
        }
        found.push(path);
    }
    found
}

/// Collects every text of a field with one of these names, anywhere in a value.
fn texts_named(value: &Value, names: &[&str], found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let (true, Some(text)) = (names.contains(&name.as_str()), value.as_str()) {
                    found.push(text.to_owned());
                }
                texts_named(value, names, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| texts_named(value, names, found)),
        _ => {}
    }
}

#[test]
fn all_state_is_its_owners_alone() {
    let model = ModelServer::start([
        Reply::call("run_command", json!({"command": "seq 1 20000"}))
            .and_call("edit_file", json!({"path": "a.txt", "old_text": "hello", "new_text": "bye"})),
        Reply::text("Done."),
    ]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    rig.on_ask(|_| Answer::option("allow"));
    let session = rig.new_session();
    rig.run_to_end(&session, "Make some state.");
    rig.await_state(State::Idle);
    rig.end();
    let state = workspace.state_dir();
    let files = all_below(&state);
    assert!(files.iter().any(|path| path.ends_with("events.jsonl")), "{files:?}");
    assert!(files.iter().any(|path| path.components().any(|part| part.as_os_str() == "blobs")), "{files:?}");
    assert!(
        files.iter().any(|path| path.components().any(|part| part.as_os_str() == "outputs")),
        "{files:?}"
    );
    for path in files.iter().chain([&state]) {
        let found = fs::symlink_metadata(path).expect("the path exists");
        let expected = if found.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(found.permissions().mode() & 0o777, expected, "{path:?}");
    }
}

#[test]
fn nothing_is_written_before_the_first_prompt() {
    let model = ModelServer::start([]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    rig.resume(&session, None);
    rig.call::<SessionListResult>(methods::SESSION_LIST, json!({}));
    rig.end();
    assert_eq!(all_below(&workspace.state_dir().join("sessions")), Vec::<PathBuf>::new());
}

#[test]
fn s97_turns_asks_and_tokens_can_be_counted_in_the_log_line_by_line() {
    let model = ModelServer::start([
        Reply::call("run_command", json!({"command": "true"})).usage(10, 1),
        Reply::call("run_command", json!({"command": "true"})).usage(20, 2),
        Reply::text("Done.").usage(30, 3),
    ]);
    let workspace = workspace_with(&model);
    workspace.add_config("[prices.\"local/test\"]\ninput = 500\noutput = 1000\n");
    let rig = Rig::start(&workspace);
    rig.on_ask(|_| Answer::option("allow"));
    let session = rig.new_session();
    rig.run_to_end(&session, "Run it.");
    rig.await_state(State::Idle);
    rig.end();
    assert_eq!(count(&workspace, &session, "turn_started"), model.requests().len());
    assert_eq!(count(&workspace, &session, "ask_opened"), 2);
    let tokens: u64 = facts(&workspace, &session)
        .iter()
        .filter_map(|event| event["reply"]["usage"]["input_tokens"].as_u64())
        .sum();
    assert_eq!(tokens, 60);
    assert_eq!(
        counted_as_documented(&workspace, &session),
        "3 turns, 60 tokens read, 6 written, 0.0360 spent, 2 asks"
    );
}

/// Runs the `awk` line of `docs/log.md` as written and returns its output.
fn counted_as_documented(workspace: &Workspace, session: &SessionId) -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/log.md");
    let page = std::fs::read_to_string(page).expect("the page is readable");
    let (_, line) = page.split_once("```sh\nawk ").expect("the line is documented");
    let (line, _) = line.split_once("```").expect("the line ends");
    let ran = std::process::Command::new("sh")
        .args(["-c", &format!("awk {line}")])
        .current_dir(session_dir(workspace, session))
        .output()
        .expect("a shell runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).trim().to_owned()
}

#[test]
fn l02_ids_of_one_moment_are_distinct_and_in_order() {
    let mut burst = Reply::text("All at once.");
    for _ in 0..30 {
        burst = burst.and_call("list_files", json!({"path": "."}));
    }
    let model = ModelServer::start([burst, Reply::text("Done.")]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    rig.run_to_end(&session, "Look thirty times.");
    rig.await_state(State::Idle);
    rig.end();
    let opened: Vec<Value> =
        facts(&workspace, &session).into_iter().filter(|event| event["type"] == "call_opened").collect();
    let indices: Vec<u64> = opened.iter().filter_map(|event| event["index"].as_u64()).collect();
    assert_eq!(indices, (0..30).collect::<Vec<u64>>());
    let mut ids = Vec::new();
    opened.iter().for_each(|event| texts_named(event, &["call"], &mut ids));
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 30);
    // The lines are in the order of their numbers, whatever any clock says.
    let lines: Vec<Value> =
        log_text(&workspace, &session).lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let seqs: Vec<u64> = lines.iter().filter_map(|line| line["seq"].as_u64()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<u64>>());
}

#[test]
fn s95_a_server_killed_right_after_accepting_has_the_session_in_its_list() {
    let model = ModelServer::start([Reply::never()]);
    let workspace = workspace_with(&model);
    let (server, editor) = spawn(&workspace);
    let session = editor.new_session();
    editor.prompt(&session, "Remember this.");
    kill(server, &editor);
    let rig = Rig::start(&workspace);
    let listed = rig.call::<SessionListResult>(methods::SESSION_LIST, json!({})).sessions;
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].title.as_str(), listed[0].state), ("Remember this.", State::Resumable));
    rig.end();
}

#[test]
fn s05_a_server_killed_in_a_run_leaves_it_to_be_resumed_and_finished() {
    let model = ModelServer::start([
        Reply::call("read_file", json!({"path": "a.txt"})),
        Reply::text("half a sentence").hold_after(150),
        Reply::text("It says hello."),
    ]);
    let workspace = workspace_with(&model);
    let (server, editor) = spawn(&workspace);
    let session = editor.new_session();
    let run = editor.prompt(&session, "What does it say?").run_id;
    model.wait_for_holding(1);
    kill(server, &editor);

    let rig = Rig::start(&workspace);
    let now = rig.resume(&session, None);
    assert_eq!((now.state.state, now.state.run_id), (State::Resumable, Some(run.clone())));
    let ask = rig.await_ask_of(AskKind::ResumeTask);
    rig.answer(&ask.ask_id, "resume");
    let end = rig.await_run_end(&session, &run);
    assert_eq!((end.outcome, end.summary.as_deref()), (Outcome::Stopped, Some("It says hello.")));
    assert_eq!(count(&workspace, &session, "run_ended"), 1);
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s54_an_ask_of_a_killed_server_is_answered_at_the_next_and_runs_once() {
    let model = ModelServer::start([
        Reply::call("run_command", json!({"command": "echo ran >> ledger"})),
        Reply::text("Done."),
    ]);
    let workspace = workspace_with(&model);
    let (server, editor) = spawn(&workspace);
    let session = editor.new_session();
    let run = editor.prompt(&session, "Run it.").run_id;
    let asked = editor.await_ask_of(AskKind::Command);
    kill(server, &editor);

    let (_server, editor) = spawn(&workspace);
    let now = editor.resume(&session, None);
    assert_eq!(now.state.state, State::RequiresAction);
    assert_eq!(now.asks, std::slice::from_ref(&asked));
    editor.respond(&asked.ask_id, "allow");
    editor.await_run_end(&session, &run);
    assert_eq!(workspace.read("ledger"), "ran\n");
    editor.await_state(State::Idle);
    editor.shutdown();
}

#[test]
fn a_command_that_a_killed_server_left_is_not_repeated_and_the_model_is_told() {
    let model = ModelServer::start([
        Reply::call("run_command", json!({"command": "echo ran >> ledger; sleep 300"})),
        Reply::text("I will look first."),
    ]);
    let workspace = workspace_with(&model);
    let (server, editor) = spawn(&workspace);
    let session = editor.new_session();
    let run = editor.prompt(&session, "Run it.").run_id;
    let asked = editor.await_ask_of(AskKind::Command);
    editor.answer(&asked.ask_id, "allow");
    wait_until("the command to run", || workspace.exists("ledger"));
    kill(server, &editor);

    let rig = Rig::start(&workspace);
    let ask = rig.resume(&session, None).asks.remove(0);
    assert_eq!(ask.kind, AskKind::ResumeTask);
    rig.answer(&ask.ask_id, "resume");
    rig.await_run_end(&session, &run);
    let outputs = crate::rig::tool_outputs(&model.requests()[1]);
    assert!(outputs[0].contains("outcome is unknown"), "{outputs:?}");
    assert_eq!(workspace.read("ledger"), "ran\n");
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s94_a_second_server_is_refused_what_the_first_one_writes_and_lists_it_all_the_same() {
    let model = ModelServer::start([Reply::never(), Reply::text("Mine now.")]);
    let workspace = workspace_with(&model);
    let (server, editor) = spawn(&workspace);
    let session = editor.new_session();
    editor.prompt(&session, "Keep it.");
    model.wait_for_holding(1);
    let rig = Rig::start(&workspace);
    let listed = rig.call::<SessionListResult>(methods::SESSION_LIST, json!({})).sessions;
    assert_eq!(listed.len(), 1);
    let of = |session: &SessionId| json!({"sessionId": session});
    for method in [methods::SESSION_RESUME, methods::SESSION_DELETE] {
        let (code, name) = refused(rig.request(method, of(&session)));
        assert_eq!((code, name.as_str()), (-33003, "SessionLocked"), "{method}");
    }
    assert!(session_dir(&workspace, &session).exists());
    kill(server, &editor);
    assert_eq!(rig.resume(&session, None).state.state, State::Resumable);
    rig.prompt(&session, "And now?");
    rig.await_state(State::Idle);
    rig.end();
}

/// Renames the log while the server writes it, as a clean-up tool or a second copy would.
fn move_log_away(workspace: &Workspace, session: &SessionId) {
    let log = session_dir(workspace, session).join("events.jsonl");
    fs::rename(&log, log.with_extension("moved")).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn l4_a_session_that_can_no_longer_be_written_says_so_and_leaves_nobody_waiting() {
    let model = ModelServer::start([Reply::text("some words").hold_after(1)]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "go on").run_id;
    model.wait_for_holding(1);
    let waiting = rig.request_nowait(
        methods::SESSION_WAIT,
        json!({ "sessionId": session, "runId": run, "timeoutMs": 60_000 }),
    );
    move_log_away(&workspace, &session);
    model.release();
    rig.await_update(|params| match &params.update {
        Update::Notice { message } => message.contains("can no longer be written"),
        _ => false,
    });
    rig.await_state(State::Resumable);
    let (_, name) = refused(rig.await_response(&waiting));
    assert_eq!(name, "SessionReadOnly");
    // Later requests get the same error at once.
    let late = json!({ "sessionId": session, "runId": run, "timeoutMs": 60_000 });
    assert_eq!(refused(rig.request(methods::SESSION_WAIT, late)).1, "SessionReadOnly");
    let again = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "more" }] });
    let (_, name) = refused(rig.request(methods::SESSION_PROMPT, again));
    assert_eq!(name, "SessionReadOnly");
}

#[test]
fn l4_a_session_that_could_not_be_written_is_opened_again_by_a_resume() {
    let model = ModelServer::start([Reply::text("some words").hold_after(1), Reply::text("More.")]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    rig.prompt(&session, "go on");
    model.wait_for_holding(1);
    let log = session_dir(&workspace, &session).join("events.jsonl");
    move_log_away(&workspace, &session);
    model.release();
    rig.await_state(State::Resumable);
    // As long as the cause is there, it is refused.
    refused(rig.request(methods::SESSION_RESUME, json!({ "sessionId": session })));
    fs::rename(log.with_extension("moved"), &log).unwrap_or_else(|error| panic!("{error}"));
    let now = rig.resume(&session, None);
    assert_eq!(now.state.state, State::Resumable);
    let end = rig.run_to_end(&session, "more");
    assert_eq!(end.outcome, Outcome::Stopped, "{end:?}");
    rig.end();
}
