//! Rules of the connection (G1) with the real server: a request to the editor delays nothing, messages keep
//! their order, and the output has only frames.

use std::fmt::Write;
use std::time::Duration;

use adjutant_protocol::state::State;
use adjutant_testkit::editor::{ApplyBehaviour, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::Reply;
use adjutant_testkit::process::Server;
use serde_json::json;

use super::stage::{Stage, edit};

#[test]
fn b6_1_nothing_waits_for_an_editor_that_answers_nothing() {
    let stage = Stage::with(Workspace::new("//- /a.txt\none\n"), |options| {
        options.apply(ApplyBehaviour::NeverAnswer)
    });
    stage.rig.open("a.txt");
    // One session waits for its edit, sixteen wait for their ask.
    stage.model.push(edit("a.txt", "one", "1"));
    let first = stage.rig.prompt(&stage.session, "go on").run_id;
    let ask = stage.rig.await_ask();
    stage.rig.answer(&ask.ask_id, "allow");
    stage.rig.await_apply(1);
    for _ in 0..16 {
        let session = stage.rig.new_session();
        stage.model.push(Reply::call("run_command", json!({"command": "echo"})));
        stage.rig.prompt(&session, "go on");
        stage.rig.await_ask();
    }
    for _ in 0..100 {
        stage.rig.request("agent/session/list", json!({})).expect("a result");
        stage.rig.request("agent/ask/list", json!({"sessionId": stage.session})).expect("a result");
    }
    stage.rig.cancel_run(&stage.session);
    stage.rig.await_run_end(&stage.session, &first);
    stage.rig.shutdown();
}

#[test]
fn b6_3_a_read_sent_behind_a_change_sees_it() {
    let stage = Stage::new("//- /a.txt\none\n");
    for round in 0..50 {
        let session = stage.rig.new_session();
        stage.model.push(Reply::never());
        let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "go on"}]});
        let prompted = stage.rig.request_nowait("agent/session/prompt", prompt);
        let resumed = stage.rig.request("agent/session/resume", json!({"sessionId": session}));
        let resumed = resumed.expect("a result");
        assert_eq!(resumed["state"]["state"], json!(State::Running), "round {round}: {resumed}");
        stage.rig.await_response(&prompted).expect("the prompt is accepted");
        stage.rig.cancel_run(&session);
    }
}

#[test]
fn b6_8_standard_output_is_frames_and_nothing_else() {
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.script("[[turn]]\ntext = \"I look.\"\n[[turn.call]]\ntool = \"read_file\"\narguments = { path = \"a.txt\" }\n[[turn]]\ntext = \"Done.\"\n");
    // A debug log and unreadable settings both write messages.
    workspace.add_config("nonsense = [1, 2\n");
    let mut server = Server::spawn(env!("CARGO_BIN_EXE_adjutant"), &workspace, &["lsp", "-d"]);
    let editor = server.editor(Options::new(&workspace));
    editor.await_message();
    let session = editor.new_session();
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "go"}]});
    // The answer may be an error because of the settings. The editor double accepts only frames.
    let _ = editor.request("agent/session/prompt", prompt);
    editor.send_bytes(b"");
    editor.shutdown();
    assert_eq!(editor.violations(), []);
}

#[test]
fn b6_9_twenty_thousand_edits_end_in_the_exact_document() {
    const EDITS: u64 = 20_000;
    let stage = Stage::with(Workspace::new("//- /a.txt\none\n"), |options| Options {
        // A debug build on a busy machine needs long for all of them.
        deadline: Duration::from_secs(60),
        ..options
    });
    stage.rig.open("a.txt");
    let uri = stage.workspace.uri("a.txt");
    // Characters of one, two and four bytes make a wrong order or a wrong unit visible.
    let marks = ["a", "é", "\u{1f600}", "z"];
    let mut lines: Vec<Vec<usize>> = vec![Vec::new(); 40];
    let mut seed = 7_u64;
    for number in 0..EDITS {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let pick = |of: usize| usize::try_from(seed >> 33).unwrap_or_default() % of.max(1);
        let version = number + 2;
        let document = json!({"uri": uri, "version": version});
        let change = if number == 0 {
            json!({"text": "\n".repeat(40)})
        } else {
            let line = pick(40);
            let units = |mark: &usize| if *mark == 2 { 2 } else { 1 };
            let at = pick(lines[line].len() + 1);
            let start: usize = lines[line][..at].iter().map(units).sum();
            let (end, text) = if lines[line].len() > 30 {
                let removed: usize = lines[line][at..].iter().map(units).sum();
                lines[line].truncate(at);
                (start + removed, "")
            } else {
                let mark = pick(4);
                lines[line].insert(at, mark);
                (start, marks[mark])
            };
            let place = |character| json!({"line": line, "character": character});
            json!({"range": {"start": place(start), "end": place(end)}, "text": text})
        };
        let params = json!({"textDocument": document, "contentChanges": [change]});
        stage.rig.notify("textDocument/didChange", params);
        if number % 500 == 0 {
            // Requests between the changes do not change their order.
            stage.rig.request_nowait("agent/session/list", json!({}));
        }
    }
    let mut expected = String::new();
    for line in &lines {
        let text: String = line.iter().map(|mark| marks[*mark]).collect();
        writeln!(expected, "{text}").expect("a write to a string");
    }
    let read = stage.call("read_file", json!({"path": "a.txt"}));
    assert_eq!(read, expected);
}
