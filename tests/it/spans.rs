//! The debug log shows which step of which run, turn and call was slow.

use std::fs;

use adjutant_core::record::Event;
use adjutant_testkit::editor::{Answer, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::process::Server;
use serde_json::{Map, Value};

use crate::kill::story::facts;

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");

const SCRIPT: &str = r#"
[[turn]]
text = "I look around."
[[turn.call]]
tool = "list_files"
arguments = { path = "." }

[[turn]]
text = "I run three."
[[turn.call]]
tool = "run_command"
arguments = { command = "echo first" }
[[turn.call]]
tool = "run_command"
arguments = { command = "sleep 0.7" }
[[turn.call]]
tool = "write_file"
arguments = { path = "new.txt", content = "x" }

[[turn]]
text = "Done."
"#;

/// Returns the lines of the debug log, each with the fields of all spans around it.
fn lines(workspace: &Workspace) -> Vec<Map<String, Value>> {
    let logs = fs::read_dir(workspace.state_dir().join("log")).expect("a folder");
    let text: String = logs.flatten().map(|log| fs::read_to_string(log.path()).expect("a log")).collect();
    let with_spans = |line: &str| {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        let mut fields = Map::new();
        for span in line["spans"].as_array().into_iter().flatten().chain([&line["fields"]]) {
            fields.extend(span.as_object().cloned().unwrap_or_default());
        }
        fields
    };
    text.lines().map(with_spans).collect()
}

#[test]
fn s17_the_debug_log_says_which_call_of_which_turn_took_the_time() {
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.script(SCRIPT);
    let mut server = Server::spawn(BINARY, &workspace, &["lsp", "-d"]);
    let editor = server.editor(Options::new(&workspace));
    editor.on_ask(|_| Answer::option("allow"));
    let session = editor.new_session();
    editor.run_to_end(&session, "look");
    editor.shutdown();
    server.wait();
    let lines = lines(&workspace);

    let said = |message: &'static str| lines.iter().filter(move |line| line["message"] == message);
    let slowest = said("step over")
        .filter(|line| line["step"] == "run_tool")
        .max_by(|one, other| {
            one["elapsed_ms"].as_f64().partial_cmp(&other["elapsed_ms"].as_f64()).expect("numbers")
        })
        .expect("a tool ran");
    assert!(slowest["elapsed_ms"].as_f64() >= Some(700.0), "{slowest:?}");
    assert_eq!(slowest["session"], session.0);
    let records = facts(&workspace, &session.0);
    let mut turn_of_log = 0;
    let mut runs = Vec::new();
    let call = records.iter().find_map(|record| match &record.event {
        Event::RunStarted { run, .. } => {
            runs.push(run.to_string());
            None
        }
        Event::TurnStarted { turn, .. } => {
            turn_of_log = *turn;
            None
        }
        Event::CallOpened { call, title, .. } if title.contains("sleep") => Some(call.to_string()),
        _ => None,
    });
    let call = call.expect("the slow call is in the log");
    assert_eq!(slowest["call"], call);
    assert_eq!(slowest["turn"], turn_of_log);
    assert_eq!(slowest["run"], runs[0]);
    assert_eq!(slowest["tool"], "run_command");
    assert_eq!(slowest["end"], "done");

    for step in ["call_model", "prepare", "run_tool"] {
        let of_step = said("step over").filter(|line| line["step"] == step);
        for line in of_step.clone() {
            let ids = ["session", "run", "turn"].iter().all(|id| line.contains_key(*id));
            assert!(ids && line["elapsed_ms"].is_number(), "{line:?}");
            assert!(step == "call_model" || line.contains_key("call"), "{line:?}");
        }
        assert!(of_step.count() > 0, "the log has no line of {step}");
    }
    for written in ["written", "synced"] {
        let timed =
            |line: &&Map<String, Value>| line.contains_key("session") && line["elapsed_ms"].is_number();
        assert!(said(written).all(|line| timed(&line)) && said(written).count() > 3, "{written}");
        assert!(said(written).any(|line| line.contains_key("run") && line.contains_key("turn")), "{written}");
    }
}
