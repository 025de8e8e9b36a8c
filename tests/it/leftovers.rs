//! No process that a command starts outlives the command, however it tries to escape and however the command ends.
//!
//! Tests both ways to find the processes of a command: control groups, which this machine must let the test
//! create, and the walk by number and parent. Checks processes only.

use std::path::Path;

use adjutant_protocol::ask::AskKind;
use adjutant_protocol::methods;
use adjutant_protocol::session::ReplayFrom;
use adjutant_testkit::editor::{Editor, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::nobody::as_nobody;
use adjutant_testkit::process::{Server, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::kill::story::BINARY;

/// Starts two processes that lose their parent, session, environment and output. The second also changes
/// the limit that would identify it. Then the command waits.
const ESCAPES: &str = "for how in '' 'prlimit --rttime=100000:unlimited'; do \
    (setsid env -i PATH=\"$PATH\" $how sh -c 'echo $$ >> escaped; exec sleep 1000' </dev/null >/dev/null 2>&1 &); \
    done; sleep 1000";

/// A server while it runs such a command.
struct Playing {
    // The fields are dropped in this order: the editor before the model.
    editor: Editor,
    server: Server,
    workspace: Workspace,
    session: adjutant_protocol::SessionId,
    _model: ModelServer,
}

fn playing(hold: &str, nobody: bool) -> Playing {
    let model = ModelServer::start([Reply::call("run_command", json!({ "command": ESCAPES }))]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.openai(&model.base_url());
    let workspace = if nobody { workspace.given_to_nobody() } else { workspace };
    let (server, editor) = serve(&workspace, hold, nobody);
    let session = editor.new_session();
    editor.prompt(&session, "go");
    let ask = editor.await_ask_of(AskKind::Command);
    editor.answer(&ask.ask_id, "allow");
    wait_until("both to get away", || escaped(&workspace).len() == 2);
    if hold == "group" {
        wait_until("the group to have them", || escaped(&workspace).iter().all(|pid| is_grouped(*pid)));
    }
    assert!(escaped(&workspace).iter().all(|pid| lives(*pid)));
    Playing { editor, server, workspace, session, _model: model }
}

fn serve(workspace: &Workspace, hold: &str, nobody: bool) -> (Server, Editor) {
    let mut server = Server::spawn_with(BINARY, workspace, &["lsp"], |command| {
        command.env("ADJUTANT_PROCESSES", hold);
        if nobody {
            as_nobody(command);
        }
    });
    let editor = server.editor(Options::new(workspace));
    (server, editor)
}

fn escaped(workspace: &Workspace) -> Vec<i32> {
    let text = std::fs::read_to_string(workspace.path().join("escaped")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

fn lives(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Whether the process exists; a zombie does.
fn is_there(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

fn is_grouped(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/cgroup"))
        .is_ok_and(|groups| groups.contains("/adjutant-call-"))
}

#[test]
fn finding_b7_nothing_outlives_cancel_close_shutdown_end_of_input_and_signals() {
    for (hold, nobody) in [("walk", false), ("group", false), ("walk", true)] {
        for way in ["cancel", "close", "shutdown", "end of input", "SIGTERM", "SIGHUP"] {
            let playing = playing(hold, nobody);
            let Playing { editor, server, workspace, session, .. } = &playing;
            let stays = matches!(way, "cancel" | "close");
            match way {
                "cancel" => editor.cancel_run(session),
                "close" => {
                    drop(editor.request(methods::SESSION_CLOSE, json!({ "sessionId": session })).unwrap())
                }
                "shutdown" => editor.shutdown(),
                "end of input" => editor.hang_up(),
                signal => {
                    editor.expect_loss();
                    let signal = if signal == "SIGHUP" { Signal::HUP } else { Signal::TERM };
                    let pid = Pid::from_raw(i32::try_from(server.pid()).unwrap()).unwrap();
                    kill_process(pid, signal).unwrap();
                }
            }
            let pids = escaped(workspace);
            wait_until(&format!("the end of all after {way} ({hold})"), || {
                !pids.iter().any(|pid| lives(*pid))
            });
            if stays {
                // No adopted process stays a zombie while the server lives.
                wait_until(&format!("all to be reaped after {way} ({hold}, {nobody})"), || {
                    !pids.iter().any(|pid| is_there(*pid))
                });
                editor.shutdown();
            }
        }
    }
}

#[test]
fn finding_b7_what_a_killed_server_left_is_ended_by_the_next_one() {
    for hold in ["walk", "group"] {
        let Playing { editor, mut server, workspace, session, _model } = playing(hold, false);
        editor.expect_loss();
        server.kill();
        let pids = escaped(&workspace);
        assert!(pids.iter().all(|pid| lives(*pid)), "no server was there to end them");
        // Only the group finds the process that changed its limit.
        let found: Vec<i32> =
            pids.iter().copied().filter(|pid| hold == "group" || is_numbered(*pid)).collect();
        assert_eq!(found.len(), if hold == "group" { 2 } else { 1 });
        let (_next, editor) = serve(&workspace, hold, false);
        editor.resume(&session, Some(ReplayFrom::Start));
        wait_until(&format!("the end of what was left ({hold})"), || !found.iter().any(|pid| lives(*pid)));
        editor.shutdown();
        for pid in pids.into_iter().filter(|pid| lives(*pid)) {
            kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
        }
    }
}

/// Whether a process still has the limit that it was started with.
fn is_numbered(pid: i32) -> bool {
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
    !limits.lines().any(|line| line.starts_with("Max realtime timeout") && line.contains(" 100000 "))
}

#[test]
fn finding_b7_a_command_that_can_have_no_group_says_so_where_it_needs_one() {
    // An account without rights may not create a group in the group of root. Without root, the machine may allow a group.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let model = ModelServer::start([
        Reply::call("run_command", json!({ "command": "echo ran >> ledger" })),
        Reply::text("Done."),
    ]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.openai(&model.base_url());
    let workspace = workspace.given_to_nobody();
    let (_server, editor) = serve(&workspace, "group", true);
    let session = editor.new_session();
    let run = editor.prompt(&session, "go").run_id;
    let ask = editor.await_ask_of(AskKind::Command);
    editor.answer(&ask.ask_id, "allow");
    editor.await_run_end(&session, &run);
    editor.shutdown();
    assert!(!workspace.exists("ledger"));
    let request = format!("{:?}", model.requests()[1].json());
    assert!(request.contains("start the command: make a group in "), "{request}");
}
