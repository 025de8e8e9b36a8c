//! A client that does not read: memory stays bounded, and a cancel still works. When it reads again, it gets
//! every lasting update once and in order.
//!
//! The test editor checks the order itself, in every test.

use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use adjutant_protocol::SessionId;
use adjutant_protocol::session::ReplayFrom;
use adjutant_protocol::state::Outcome;
use adjutant_protocol::update::{AskChange, RunView, SessionUpdateParams, Update};
use adjutant_testkit::campaign;
use adjutant_testkit::editor::Options;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::{Server, wait_until};
use serde_json::json;

use super::rig::{Rig, count, facts_named, lasting, session_dir};

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");
/// The most memory that queued messages may use while the client does not read: pipe, writer, outbound queue.
const GROWTH: u64 = 64 << 20;

fn workspace(model: &ModelServer) -> Workspace {
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.openai(&model.base_url()).roomy();
    workspace
}

/// Returns options of an editor that will have a lot to read.
fn patient(workspace: &Workspace) -> Options {
    Options { deadline: Duration::from_secs(60), ..Options::new(workspace) }
}

fn prompt(rig: &adjutant_testkit::editor::Editor, session: &SessionId, text: &str) {
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
    rig.request_nowait("agent/session/prompt", prompt);
}

/// Waits until a log has this many ended runs. It reads the disk, because a client that does not read gets no
/// updates. A million deltas need some time.
fn await_ends(workspace: &Workspace, session: &SessionId, ends: usize) {
    let until = Instant::now() + Duration::from_secs(240);
    let log = session_dir(workspace, session).join("events.jsonl");
    while !log.exists() || count(workspace, session, "run_ended") < ends {
        assert!(Instant::now() < until, "{ends} runs of session {session} do not end");
        thread::park_timeout(Duration::from_millis(10));
    }
}

#[test]
fn f8_l09_a_client_that_does_not_read_costs_bounded_memory_and_finds_all_text_later() {
    many_deltas_unread(campaign::size("ADJUTANT_DELTAS", 1_000_000, 20_000));
}

/// Streams deltas to a client that does not read, cancels the next run, and reads again.
pub fn many_deltas_unread(deltas: usize) {
    let letter = |number: usize| char::from(b'a' + u8::try_from(number % 26).unwrap_or_default());
    let text: String = (0..deltas).flat_map(|n| [letter(n), letter(n / 26), ' ']).collect();
    let model = ModelServer::start([
        Reply::text("Here I am."),
        Reply::text(&text).at_once(),
        Reply::text("I go on and on").hold_after(300),
    ]);
    let workspace = workspace(&model);
    let mut server = Server::spawn(BINARY, &workspace, &["lsp"]);
    let editor = server.editor(patient(&workspace));
    let session = editor.new_session();
    editor.run_to_end(&session, "Say something short.");
    let before = server.memory().expect("the system reports memory").resident;

    editor.stall();
    prompt(&editor, &session, "Talk and talk.");
    await_ends(&workspace, &session, 2);
    let growth = server.memory().expect("it runs").peak.saturating_sub(before);
    eprintln!("{deltas} unread deltas: {} MiB more", growth >> 20);
    assert!(growth <= GROWTH, "{growth} bytes more");
    // A run whose updates are not read can still be cancelled.
    prompt(&editor, &session, "Once more.");
    model.wait_for_holding(1);
    editor.cancel_run(&session);
    await_ends(&workspace, &session, 3);

    editor.unstall();
    editor.await_update(|params| {
        matches!(&params.update, Update::Run(RunView::Ended { end, .. }) if end.outcome == Outcome::Cancelled)
    });
    let whole = editor
        .updates()
        .into_iter()
        .any(|params| matches!(&params.update, Update::AgentMessage { text: shown, .. } if *shown == text));
    assert!(whole, "the client gets the whole text when it reads again");
    editor.shutdown();
}

/// Plays one run in each session, without reading: more waits than there is room for.
fn flood(rig: &Rig, workspace: &Workspace, sessions: &[SessionId]) {
    let text = "0123456789abcdef".repeat(60_000);
    for session in sessions {
        prompt(rig, session, &text);
        await_ends(workspace, session, 1);
    }
}

#[test]
fn f8_l09_what_had_no_room_comes_from_the_log_in_order_and_once() {
    lasting_updates_unread();
}

/// Publishes more lasting updates than there is room for to a client that does not read, then reads. Plays once
/// for all callers, because it is slow.
pub fn lasting_updates_unread() {
    static PLAYED: OnceLock<()> = OnceLock::new();
    PLAYED.get_or_init(play_lasting_updates);
}

fn play_lasting_updates() {
    // One word is one delta.
    let text = "A".repeat(840_000);
    let sessions = 21;
    // Each session has a prompt and its answer. The writer has room, and the queue before it has as much again.
    assert!(sessions * (960_000 + text.len()) > 2 * (16 << 20), "nothing would have to come from the log");
    let replies = (0..sessions).map(|_| Reply::text(&text).at_once());
    let command = Reply::call("run_command", json!({"command": "echo hello"}));
    let model = ModelServer::start(replies.chain([command, Reply::text("Done.")]));
    let workspace = workspace(&model);
    let rig = Rig::start_with(&workspace, patient(&workspace));
    let all: Vec<SessionId> = (0..sessions).map(|_| rig.new_session()).collect();
    rig.stall();
    flood(&rig, &workspace, &all);
    // The ask and its delivery come after updates that are not sent yet. Another request answers it, and the
    // update of its end comes from the log too.
    let last = all.last().expect("there are sessions");
    prompt(&rig, last, "Run a command.");
    wait_until("the ask", || count(&workspace, last, "ask_opened") == 1);
    let ask = facts_named(&workspace, last, "ask_opened")[0]["ask"]["id"].clone();
    rig.request_nowait("agent/ask/respond", json!({"askId": ask, "optionId": "allow"}));
    await_ends(&workspace, last, 2);

    rig.unstall();
    rig.await_update(|params| {
        params.session_id == *last && matches!(&params.update, Update::Ask(AskChange::Closed { .. }))
    });
    rig.await_update(|params| {
        params.session_id == *last && matches!(&params.update, Update::Run(RunView::Ended { .. }))
    });
    let ask = adjutant_protocol::AskId(ask.as_str().unwrap_or_default().to_owned());
    rig.await_resolved(&ask);
    for session in &all {
        wait_until("the end of every run", || {
            let ended = |params: &SessionUpdateParams| {
                params.session_id == *session && matches!(params.update, Update::Run(RunView::Ended { .. }))
            };
            rig.updates().iter().any(ended)
        });
    }
    let published = lasting(&rig.updates());
    // The late updates equal those of a replay, to the last word.
    for session in [&all[0], &all[sessions / 2], last] {
        let late: Vec<_> = published.iter().filter(|params| params.session_id == *session).cloned().collect();
        let before = rig.updates().len();
        // Updates of other sessions may still be on their way.
        let again = || {
            let mut since = lasting(&rig.updates().split_off(before));
            since.retain(|params| params.session_id == *session);
            since
        };
        rig.resume(session, Some(ReplayFrom::Start));
        wait_until("the replay", || again().len() >= late.len());
        assert!(again() == late, "the replay of session {session} differs");
    }
    rig.shutdown();
}
