//! A disk that does not answer one session, and texts that need long to compare: other sessions still work.
//!
//! Never waits for a time: the work stops at a named point, or at a sync, until the test releases it.

use std::fs;
use std::sync::Arc;

use adjutant::session::storage::faulty::{Fault, FaultyDisk, Op};
use adjutant_protocol::commands::SHOW_TRANSCRIPT;
use adjutant_protocol::session::{ReplayFrom, ResumeResult};
use adjutant_protocol::state::{Outcome, State};
use adjutant_protocol::update::{RunView, Update};
use adjutant_protocol::{SessionId, methods};
use adjutant_testkit::editor::{Answer, Editor, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::{Server, wait_until};
use serde_json::{Value, json};

use crate::rig::{Rig, twin_for};

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");

const READ: &str = r#"
[[turn]]
text = "I read."
[[turn.call]]
tool = "read_file"
arguments = { path = "a.txt" }

[[turn]]
text = "Done."
"#;

const EDIT: &str = r#"
[[turn]]
text = "I edit."
[[turn.call]]
tool = "write_file"
arguments = { path = "a.txt", content = "two\n" }

[[turn]]
text = "Done."
"#;

fn is_over(editor: &Editor, session: &SessionId) -> bool {
    let ended = |update: &Update| matches!(update, Update::Run(RunView::Ended { .. }));
    editor.updates().iter().any(|params| params.session_id == *session && ended(&params.update))
}

/// Stops as many sessions at a point as the server has threads. Asserts that another session is still served.
fn one_more_is_served(script: &str, point: &str) {
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.script(script);
    let mut server = Server::spawn_with(BINARY, &workspace, &["lsp"], |command| {
        command.env("ADJUTANT_FAULT", format!("{point}:1:hold,{point}:2:hold"));
    });
    let editor = server.editor(Options::new(&workspace));
    editor.on_ask(|_| Answer::option("reject"));
    let mut held = Vec::new();
    for number in 1..=2 {
        let session = editor.new_session();
        let run = editor.prompt(&session, "go on").run_id;
        wait_until(&format!("piece of work {number} to stop"), || {
            server.stderr().matches("held at ").count() == number
        });
        held.push((session, run));
    }
    let other = editor.new_session();
    let end = editor.run_to_end(&other, "go on");
    assert_eq!(end.outcome, Outcome::Stopped, "{end:?}");
    for (session, _) in &held {
        assert!(!is_over(&editor, session), "{point}: the other session was served only after this one");
    }
    fs::write(workspace.state_dir().join("fault-released"), "").expect("the server is released");
    for (session, run) in &held {
        editor.await_run_end(session, run);
    }
    editor.shutdown();
}

#[test]
fn a_file_that_does_not_open_for_a_read_holds_up_no_other_session() {
    one_more_is_served(READ, "file-opened");
}

#[test]
fn a_file_that_does_not_open_for_an_edit_holds_up_no_other_session() {
    one_more_is_served(EDIT, "file-opened");
}

#[test]
fn texts_that_take_long_to_compare_hold_up_no_other_session() {
    one_more_is_served(EDIT, "change-compared");
}

#[test]
fn l4_a_log_that_is_saved_after_a_failed_sync_holds_up_no_other_session() {
    let model = ModelServer::answering(|_| Reply::text("Done."));
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.openai(&model.base_url());
    let disk = twin_for(&workspace);
    let (rig, broken, other) = two_sessions(&workspace, &disk);

    disk.hold_syncs_behind_failure();
    disk.fail(Op::Sync, 1, Fault::Broken);
    let prompt = json!({"sessionId": broken, "prompt": [{"type": "text", "text": "go on"}]});
    let prompt = rig.request_nowait("agent/session/prompt", prompt);
    wait_until("the log to be saved again", || disk.waiting_syncs() > 0);
    let now: ResumeResult = rig.resume(&other, None);
    assert_eq!(now.state.state, State::Idle);
    assert!(disk.waiting_syncs() > 0, "the other session was served only after the log was saved");
    disk.release_syncs();
    rig.await_response(&prompt).expect("the prompt is accepted once the log is saved");
    wait_until("the run is over", || rig.state_of(&broken).is_some_and(|now| now.state == State::Idle));
    rig.end();
}

/// Returns two sessions in memory, each with an ended run, on a server with one thread.
fn two_sessions(workspace: &Workspace, disk: &FaultyDisk) -> (Rig, SessionId, SessionId) {
    let rig = Rig::start_narrow_on(workspace, Arc::new(disk.clone()));
    let (one, other) = (rig.new_session(), rig.new_session());
    for session in [&one, &other] {
        rig.run_to_end(session, "begin");
        let is_idle = || rig.state_of(session).is_some_and(|now| now.state == State::Idle);
        wait_until("the end of the run to be published", is_idle);
    }
    (rig, one, other)
}

/// Sends a request that reads one session's log from a disk that does not answer. Asserts that the other
/// session is served.
fn reads_while_the_other_is_served(method: &str, params: impl Fn(&SessionId) -> Value) {
    let model = ModelServer::answering(|_| Reply::text("Done."));
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.openai(&model.base_url());
    let disk = twin_for(&workspace);
    let (rig, one, other) = two_sessions(&workspace, &disk);
    disk.hold_reads();
    let asked = rig.request_nowait(method, params(&one));
    wait_until("the log is read", || disk.waiting_reads() > 0);
    // The other session's updates wait for the replay to the same client, but the session works.
    let before = model.requests().len();
    rig.prompt(&other, "go on");
    wait_until("the other session asks its model", || model.requests().len() > before);
    assert!(disk.waiting_reads() > 0, "the other session was served only after the log was read");
    disk.release_reads();
    rig.await_response(&asked).expect("it is answered");
    // Replayed updates come before new ones.
    rig.run_to_end(&one, "go on");
    rig.end();
}

#[test]
fn a_log_that_is_read_for_a_replay_holds_up_no_other_session() {
    reads_while_the_other_is_served(
        methods::SESSION_RESUME,
        |session| json!({"sessionId": session, "replayFrom": ReplayFrom::Start}),
    );
}

#[test]
fn a_log_that_is_read_for_a_transcript_holds_up_no_other_session() {
    reads_while_the_other_is_served(
        "workspace/executeCommand",
        |session| json!({"command": SHOW_TRANSCRIPT, "arguments": [{"sessionId": session}]}),
    );
}
