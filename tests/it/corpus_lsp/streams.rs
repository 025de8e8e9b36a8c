//! Cancels, ids, and streams that one side no longer serves.

use std::time::{Duration, Instant};

use adjutant_protocol::state::Outcome;
use adjutant_testkit::editor::{Options, UnknownRequests};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::Reply;
use adjutant_testkit::process::{processes_with, wait_until};
use serde_json::{Value, json};

use super::Seen;
use super::lifecycle::{gone_soon, one_answer, with_a_command};
use super::raw::Raw;
use crate::flow;
use crate::rig::facts_named;
use crate::stage::Stage;

fn workspace() -> Workspace {
    Workspace::new("//- /a.txt\none\n")
}

pub fn cancel_of_what_is_over() -> Seen {
    let workspace = workspace();
    let mut raw = Raw::initialized(&workspace);
    raw.request("over", "agent/session/list", Value::Null);
    raw.notify("$/cancelRequest", json!({"id": "over"}));
    raw.notify("$/cancelRequest", json!({"id": 12345}));
    raw.notify("$/cancelRequest", json!({"id": {"no": "id"}}));
    raw.say(&json!({"jsonrpc": "2.0", "id": "next", "method": "agent/session/list"}));
    let next: Value = serde_json::from_str(&raw.hear().expect("it lives")).expect("JSON");
    assert_eq!(next["id"], "next", "the cancels get no answer");
    Seen::Shown("ignore")
}

pub fn cancel_of_a_command() -> Seen {
    let stage = Stage::new("//- /a.txt\none\n").answering("allow");
    let command = "echo corpus-lsp-091; while :; do read word < /dev/null; done";
    let run = stage.send([Reply::call("run_command", json!({"command": command}))]);
    wait_until("the command", || !processes_with("corpus-lsp-091").is_empty());
    let since = Instant::now();
    stage.rig.cancel_run(&stage.session);
    let end = stage.rig.await_run_end(&stage.session, &run);
    assert_eq!(end.outcome, Outcome::Cancelled);
    wait_until("the end of its group", || processes_with("corpus-lsp-091").is_empty());
    assert!(since.elapsed() < Duration::from_secs(10));
    assert_eq!(facts_named(&stage.workspace, &stage.session, "tool_finished").len(), 1);
    Seen::Shown("cancelled")
}

pub fn id_used_twice() -> Seen {
    let workspace = workspace();
    let (mut raw, session) = with_a_command(&workspace, json!({}));
    let resumed = raw.request("state", "agent/session/resume", json!({"sessionId": session}));
    let run = resumed["result"]["state"]["runId"].clone();
    let wait = json!({"sessionId": session, "runId": run, "timeoutMs": 60_000});
    for _ in 0..2 {
        raw.say(&json!({"jsonrpc": "2.0", "id": 7, "method": "agent/session/wait", "params": wait}));
    }
    let answer = raw.answer(&json!(7));
    let seen = one_answer(&mut raw, answer);
    // The first request is still served, once.
    raw.notify("agent/session/cancel", json!({"sessionId": session}));
    assert_eq!(raw.answer(&json!(7))["result"]["status"], "cancelled");
    // The command must end before the test kills the server.
    wait_until("the end of its command", || raw.server.marked().is_empty());
    seen
}

/// The line says ten minutes; the test uses the amount of output in that time.
pub fn client_does_not_read() -> Seen {
    flow::many_deltas_unread(20_000);
    Seen::Shown("backpressure")
}

pub fn client_does_not_read_lasting() -> Seen {
    flow::lasting_updates_unread();
    Seen::Shown("backpressure")
}

pub fn client_does_not_read_and_cancels() -> Seen {
    flow::many_deltas_unread(100);
    Seen::Shown("cancelled")
}

pub fn output_closed() -> Seen {
    let workspace = workspace();
    let (mut server, input) = deaf(&workspace);
    let mut input = input;
    let request = json!({"jsonrpc": "2.0", "id": 2, "method": "agent/session/list"}).to_string();
    // The server may have ended already, which is fine too.
    let _ = std::io::Write::write_all(&mut input, &super::raw::framed(request.as_bytes()));
    assert_eq!(server.wait().code(), Some(1));
    drop(input);
    Seen::Shown("exit_soon")
}

pub fn output_closed_in_silence() -> Seen {
    let workspace = workspace();
    let (mut server, input) = deaf(&workspace);
    assert_eq!(server.wait().code(), Some(1));
    drop(input);
    Seen::Shown("exit_soon")
}

/// Returns a server whose standard output is closed while its input is open.
fn deaf(workspace: &Workspace) -> (adjutant_testkit::process::Server, std::process::ChildStdin) {
    let mut server = adjutant_testkit::process::Server::spawn(super::raw::BINARY, workspace, &["lsp"]);
    let (output, mut input) = server.take_pipes();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}});
    std::io::Write::write_all(&mut input, &super::raw::framed(hello.to_string().as_bytes()))
        .expect("it reads");
    let mut output = std::io::BufReader::new(output);
    adjutant_testkit::editor::wire::read_frame(&mut output).expect("it answers");
    (server, input)
}

pub fn output_closed_while_a_command_runs() -> Seen {
    let workspace = workspace();
    let (mut raw, session) = with_a_command(&workspace, json!({}));
    let since = Instant::now();
    raw.stop_reading();
    // The reader is gone: updates to it are lost, but the log has them.
    let input = raw.input.take();
    let seen = gone_soon(raw, since);
    drop(input);
    let started = facts_named(&workspace, &adjutant_protocol::SessionId(session), "tool_started");
    assert_eq!(started.len(), 1);
    seen
}

pub fn unknown_progress() -> Seen {
    let stage = Stage::with(workspace(), |options| Options {
        unknown_requests: UnknownRequests::MethodNotFound,
        ..options
    });
    stage.rig.notify("$/progress", json!({"token": "never created", "value": {"kind": "end"}}));
    let output = stage.call("read_file", json!({"path": "a.txt"}));
    assert!(output.contains("one"), "the run does not wait for progress: {output}");
    Seen::Shown("ok")
}
