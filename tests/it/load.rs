//! Many sessions of one process at once: nothing is lost or out of order (F6), every stream arrives whole
//! (F7), and hours of work leave nothing over (F14, in `soak.rs`).
//!
//! Prints times but asserts none. The bounds on memory are valid on any machine.

mod soak;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use adjutant_protocol::SessionId;
use adjutant_protocol::state::Outcome;
use adjutant_protocol::update::{RunView, Update};
use adjutant_testkit::campaign;
use adjutant_testkit::editor::{Editor, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::Server;
use serde_json::json;

use super::kill::story::{facts, told as published_of};
use super::rig::{lasting, tool_outputs};

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");
/// The number of file reads in one run.
const READS: usize = 12;
/// The most memory that the server may use, in bytes.
const MOST_MEMORY: u64 = 512 << 20;

fn serve(workspace: &Workspace) -> (Server, Editor) {
    let mut server = Server::spawn(BINARY, workspace, &["lsp"]);
    let options = Options { deadline: Duration::from_secs(60), ..Options::new(workspace) };
    let editor = server.editor(options);
    (server, editor)
}

/// Sends a prompt to every session and waits for no reply.
fn prompt_all(editor: &Editor, sessions: &[SessionId]) {
    for (number, session) in sessions.iter().enumerate() {
        let prompt = json!([{"type": "text", "text": format!("Number {number}.")}]);
        editor.request_nowait("agent/session/prompt", json!({"sessionId": session, "prompt": prompt}));
    }
}

/// Waits until a run of each session ends. Returns the time from now to each end, in the order of the ends.
fn await_all(editor: &Editor, sessions: &[SessionId]) -> Vec<Duration> {
    let since = Instant::now();
    let mut took = Vec::new();
    while took.len() < sessions.len() {
        let update =
            editor.await_update(|params| matches!(params.update, Update::Run(RunView::Ended { .. })));
        let Update::Run(RunView::Ended { end, .. }) = update.update else { continue };
        assert_eq!(end.outcome, Outcome::Stopped, "{}", update.session_id);
        took.push(since.elapsed());
    }
    took
}

#[test]
fn f6_ten_thousand_facts_of_two_hundred_sessions_are_told_whole_and_in_order() {
    let count = campaign::size("ADJUTANT_SESSIONS", 200, 40);
    let model = ModelServer::answering(|request| match tool_outputs(request).len() {
        0 => (0..READS)
            .fold(Reply::text("I look."), |reply, _| reply.and_call("read_file", json!({"path": "a.txt"}))),
        _ => Reply::text("I have looked."),
    });
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    let (_server, editor) = serve(&workspace);
    let sessions: Vec<SessionId> = (0..count).map(|_| editor.new_session()).collect();
    prompt_all(&editor, &sessions);
    let slowest = await_all(&editor, &sessions).pop().unwrap_or_default();
    editor.shutdown();
    let mut all = 0;
    let mut received: BTreeMap<SessionId, Vec<Update>> = BTreeMap::new();
    for update in lasting(&editor.updates()) {
        received.entry(update.session_id).or_default().push(update.update);
    }
    for session in &sessions {
        let records = facts(&workspace, &session.0);
        all += records.len();
        let expected = published_of(&records);
        let received = received.remove(session).unwrap_or_default();
        // The log also has the end of the server, which no client gets.
        assert!(
            expected.starts_with(&received) && !received.is_empty(),
            "session {session}: {received:#?}\n{expected:#?}"
        );
        assert!(
            received.iter().any(|update| matches!(update, Update::Run(RunView::Ended { .. }))),
            "{session}"
        );
    }
    eprintln!("{all} records of {count} sessions in {slowest:?}");
    assert!(all >= count * 50, "only {all} records were written");
}

#[test]
fn f7_l16_many_sessions_stream_at_once_and_each_text_comes_whole() {
    let count = campaign::size("ADJUTANT_STREAMS", 50, 20);
    const WORDS: usize = 200;
    let text = |number: usize| (0..WORDS).map(|word| format!("w{number}-{word} ")).collect::<String>();
    let model = ModelServer::answering(move |request| {
        let body = request.json();
        let prompt = body["messages"][1]["content"].as_str().unwrap_or_default().to_owned();
        let number = prompt.trim_start_matches("Number ").trim_end_matches('.').parse().unwrap_or(0);
        Reply::text(&text(number)).paced(Duration::from_millis(5))
    });
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    let (server, editor) = serve(&workspace);
    let sessions: Vec<SessionId> = (0..count).map(|_| editor.new_session()).collect();
    prompt_all(&editor, &sessions);
    let took = await_all(&editor, &sessions);
    let peak = server.memory().expect("the server runs").peak;
    eprintln!(
        "{count} streams: median {:?}, slowest {:?}, {} MiB",
        took[count / 2],
        took[count - 1],
        peak >> 20
    );
    assert!(peak <= MOST_MEMORY, "{peak} bytes");
    let (mut whole, mut streamed): (BTreeMap<_, String>, BTreeMap<_, String>) = Default::default();
    for update in editor.updates() {
        match update.update {
            Update::AgentMessage { text, .. } => drop(whole.insert(update.session_id, text)),
            Update::AgentMessageChunk { text, .. } => {
                streamed.entry(update.session_id).or_default().push_str(&text)
            }
            _ => {}
        }
    }
    for (number, session) in sessions.iter().enumerate() {
        assert_eq!(whole.get(session), Some(&text(number)), "session {number}");
        assert_eq!(streamed.get(session), Some(&text(number)), "session {number}, as it streamed");
    }
    editor.shutdown();
}
