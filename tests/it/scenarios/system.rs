//! A failing system, as scenarios.
//!
//! Ends and limits only processes that the test started.

use std::path::Path;

use adjutant_core::record::CallEnd;
use adjutant_protocol::session::PromptResult;
use adjutant_protocol::state::Outcome;
use adjutant_testkit::command::Line;
use adjutant_testkit::editor::Options;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::{Server, wait_until};
use rustix::process::Signal;
use serde_json::json;

use crate::kill::ends::send;
use crate::kill::story::{BINARY, calls, facts, only_session, ran_once};
use crate::rig::tool_outputs;

fn command(line: &str) -> Reply {
    Reply::call("run_command", json!({"command": line}))
}

#[test]
fn os_007_a_command_that_cannot_be_started_is_an_error_of_its_call() {
    let model = ModelServer::start([
        command("touch ran"),
        Reply::call("read_file", json!({"path": "a.txt"})).hold_after(1),
        Reply::text("I go on without."),
    ]);
    let workspace = Workspace::new("//- /a.txt\nstill here\n");
    workspace.openai(&model.base_url());
    let mut server = Server::spawn(BINARY, &workspace, &["lsp"]);
    let editor = server.editor(Options::new(&workspace));
    let session = editor.new_session();
    let run = editor.prompt(&session, "go on").run_id;
    let ask = editor.await_ask().ask_id;
    // A limit on processes does not stop root, but no user can start a process without descriptors.
    let before = descriptors(&server, open_now(&server) + 3);
    editor.answer(&ask, "allow");
    model.wait_for_holding(1);
    descriptors(&server, before);
    model.release();
    let end = editor.await_run_end(&session, &run);
    assert_eq!((end.outcome, end.summary.as_deref()), (Outcome::Stopped, Some("I go on without.")));
    let outputs = tool_outputs(model.requests().last().expect("a request"));
    assert!(outputs[0].contains("Too many open files"), "{outputs:?}");
    assert!(outputs[1].contains("still here"), "the run continues: {outputs:?}");
    assert!(!workspace.exists("ran"));
    editor.shutdown();
    ran_once(&facts(&workspace, &session.0), Outcome::Stopped);
}

pub fn open_now(server: &Server) -> u64 {
    server.handles().expect("the server runs").descriptors as u64
}

/// Sets the limit of a server on descriptors and returns the limit before.
pub fn descriptors(server: &Server, most: u64) -> u64 {
    let pid = i32::try_from(server.pid()).ok().and_then(rustix::process::Pid::from_raw);
    // The server inherited the hard limit of this process.
    let maximum = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    let now = rustix::process::Rlimit { current: Some(most), maximum };
    let before = rustix::process::prlimit(pid, rustix::process::Resource::Nofile, now);
    before.expect("the limit can be set").current.unwrap_or(1024)
}

#[test]
fn os_014_another_time_zone_changes_nothing_that_is_kept() {
    let model = ModelServer::start([Reply::text("One."), Reply::text("Two.")]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.openai(&model.base_url());
    let run = |zone: &str, args: &[&str]| Line::new(BINARY, &workspace, args).env("TZ", zone).run();
    run("Pacific/Kiritimati", &["run", "go on"]).expect(0);
    run("Pacific/Pago_Pago", &["run", "--continue", "and on"]).expect(0);
    let records = facts(&workspace, &only_session(&workspace));
    let spread =
        records.iter().map(|record| record.at).max().zip(records.iter().map(|record| record.at).min());
    let (last, first) = spread.expect("there are records");
    // The two zones are 25 hours apart.
    assert!(last - first < 3_600_000, "{first} .. {last}");
    let list = |zone: &str| run(zone, &["sessions", "list"]).expect(0).stdout.clone();
    assert_eq!(list("Pacific/Kiritimati").lines().count(), list("Pacific/Pago_Pago").lines().count());
}

#[test]
fn os_019_an_interrupt_ends_a_run_with_its_command() {
    let model = ModelServer::start([command("echo begun > ledger; cat gate; echo through >> ledger")]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.openai(&model.base_url());
    let gate = workspace.path().join("gate");
    rustix::fs::mkfifoat(rustix::fs::CWD, &gate, rustix::fs::Mode::from_raw_mode(0o600))
        .expect("a file of the test");
    let running = Line::new(BINARY, &workspace, &["run", "-y", "--allow-commands", "go on"]).start();
    wait_until("the command to wait at the gate", || {
        workspace.exists("ledger") && workspace.read("ledger") == "begun\n"
    });
    send(running.pid(), Signal::INT);
    let ran = running.wait();
    ran.expect(1);
    assert!(ran.stderr.contains("Cancelled"), "{ran}");
    assert_eq!(ran.left(), [], "the command outlives its run");
    assert_eq!(workspace.read("ledger"), "begun\n");
    let records = facts(&workspace, &only_session(&workspace));
    ran_once(&records, Outcome::Cancelled);
    let ends: Vec<CallEnd> = calls(&records).into_values().flat_map(|call| call.ends).collect();
    assert_eq!(ends, [CallEnd::Cancelled]);
}

#[test]
fn os_021_a_server_that_was_stopped_goes_on() {
    let words: String = (0..400).map(|word| format!("word{word} ")).collect();
    let model = ModelServer::start([Reply::text(&words).hold_after(2_000), Reply::text("And after it.")]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.openai(&model.base_url());
    let mut server = Server::spawn(BINARY, &workspace, &["lsp"]);
    let editor = server.editor(Options::new(&workspace));
    let session = editor.new_session();
    let run = editor.prompt(&session, "Talk.").run_id;
    model.wait_for_holding(1);
    send(server.pid(), Signal::STOP);
    let stopped = || {
        std::fs::read_to_string(format!("/proc/{}/stat", server.pid())).is_ok_and(|it| it.contains(") T "))
    };
    wait_until("the server to stop", stopped);
    // The rest of the reply and a prompt arrive while the server is stopped.
    model.release();
    let next = json!({"sessionId": session, "prompt": [{"type": "text", "text": "And on."}]});
    let next = editor.request_nowait("agent/session/prompt", next);
    send(server.pid(), Signal::CONT);
    // The server may read either first. Either way it accepts the prompt, for the open run or for a new one.
    let accepted = editor.await_response(&next).expect("the prompt is accepted");
    let accepted: PromptResult = serde_json::from_value(accepted).expect("a result");
    assert_eq!(editor.await_run_end(&session, &run).outcome, Outcome::Stopped);
    let end = editor.await_run_end(&session, &accepted.run_id);
    assert_eq!((end.outcome, end.summary.as_deref()), (Outcome::Stopped, Some("And after it.")));
    let text = editor.updates().into_iter().find_map(|params| match params.update {
        adjutant_protocol::update::Update::AgentMessage { text, .. } => Some(text),
        _ => None,
    });
    assert_eq!(text.as_deref(), Some(words.as_str()), "no word is lost or doubled");
    editor.shutdown();
    server.wait();
}

/// Sends a prompt whose session cannot be written. Checks that the model gets no request, and returns the error.
fn refused(program: &str, args: &[&str], state: &Path, workspace: &Workspace) -> String {
    let model = ModelServer::start([Reply::text("Hello.")]);
    workspace.openai(&model.base_url());
    let mut server = Server::spawn_with(program, workspace, args, |command| {
        command.env("ADJUTANT_STATE_DIR", state);
    });
    let editor = server.editor(Options::new(workspace));
    let session = editor.new_session();
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "go on"}]});
    let refused = editor.request("agent/session/prompt", prompt).expect_err("the session cannot be written");
    assert!(model.requests().is_empty(), "the model got a request that no log has");
    let read = editor.request("agent/session/list", json!({}));
    assert!(read.is_ok(), "the server continues: {read:?}");
    editor.shutdown();
    refused.message
}

#[test]
fn os_003_where_no_file_can_be_made_a_prompt_is_refused() {
    let workspace = Workspace::new("//- /a.txt\none\n");
    let state = workspace.path().with_file_name("small");
    std::fs::create_dir(&state).expect("a file of the test");
    // The mount is visible only to this server. The folder itself uses the first of the three inodes.
    let script = "mount -t tmpfs -o nr_inodes=3,mode=700 none \"$ADJUTANT_STATE_DIR\" && exec \"$0\" lsp";
    let message = refused("unshare", &["-rm", "--", "sh", "-c", script, BINARY], &state, &workspace);
    assert!(message.contains("no space is left; free some"), "{message}");
    assert_eq!(
        std::fs::read_dir(&state).expect("a file of the test").count(),
        0,
        "the server wrote outside the mount"
    );
}

#[test]
fn os_005_where_nothing_can_be_written_a_prompt_is_refused_and_says_so() {
    let workspace = Workspace::new("//- /a.txt\none\n");
    // No user can write there, not even root.
    let message = refused(BINARY, &["lsp"], Path::new("/proc/adjutant"), &workspace);
    assert!(message.contains("/proc/adjutant"), "{message}");
}
