//! Lines about tool calls: first the parser of arguments alone, then a whole session with a model that makes
//! the call.
//!
//! Every ask is rejected, unless a scene tests the answer.

use adjutant::tools::Toolbox;
use adjutant_core::machine::accept::{Refusal, accept};
use adjutant_core::machine::input::{Input, Report, Stamp};
use adjutant_core::record::{CallEnd, Mode};
use adjutant_core::session::Session;
use adjutant_protocol::ask::{AskKind, AskSubject, EditedFile};
use adjutant_testkit::corpus::Line;
use adjutant_testkit::editor::Answer;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::Reply;
use serde_json::{Value, json};

use super::names;
use super::play::{Came, Seen, check};
use crate::rig::{assert_paired, facts_named};
use crate::stage::Stage;

type Scene = fn() -> &'static str;

/// Lines about more than one call, with their scenes; a scene returns the outcome that it proved.
pub const SCENES: &[(&str, Scene)] = &[
    ("tool-044", no_id),
    ("tool-046", result_of_no_call),
    ("tool-048", same_id_in_another_turn),
    ("tool-050", one_of_three_is_rejected),
    ("more-044a", empty_ids),
    ("more-046a", results_written_by_the_model),
    ("more-050a", the_last_of_three_is_rejected),
];

const FILES: &str = "
    //- /src/main.rs
    fn main() {}
    //- /a
    text
";

/// Plays a line.
pub fn play(line: &Line) {
    if let Some((_, scene)) = SCENES.iter().find(|(id, _)| *id == line.id) {
        assert_eq!(scene(), line.expect, "{}: {}", line.id, line.why);
        return;
    }
    let tool = line.text("/tool").expect("a tool");
    let arguments = line.text("/arguments_raw").expect("arguments");
    let state = ["/state", "/_note"].iter().find_map(|at| line.text(at)).map(|words| names::state(&words));
    let state = state.unwrap_or_else(|| line.input.clone());
    let parsed = Toolbox::default().set().parse(Mode::Code, &tool, &arguments);

    let workspace = Workspace::new(FILES);
    write_all(&workspace, &state["files"]);
    let settings = state["settings"].as_str().unwrap_or_default();
    let stage = Stage::configured(workspace, settings, |options| options);
    stage.rig.on_ask(|_| Answer::option("reject"));
    if let Some(path) = state["read"].as_str() {
        stage.play([Reply::call("read_file", json!({"path": path}))]);
    }
    write_all(&stage.workspace, &state["meanwhile"]);
    let mode = state["mode"].as_str().map_or(json!({}), |mode| json!({"overrides": {"mode": mode}}));
    let run = stage.send_with([Reply::text("So.").and_raw_call(&tool, &arguments)], mode);
    stage.rig.await_run_end(&stage.session, &run);
    if state["read"].is_string() && state["meanwhile"].is_object() {
        let told = stage.rig.await_message();
        assert!(told.contains("changed since the agent read it"), "{}: {told}", line.id);
    }
    let seen = Seen::last(&stage);
    check(line, &seen);
    // The parser alone refuses for the same reason as the session.
    if let Err(why) = parsed {
        assert!(seen.came == Came::Refused, "{}: {seen:?}", line.id);
        let class = serde_json::to_value(why.cause).expect("a cause has a name");
        assert_eq!(class.as_str(), seen.cause.as_deref(), "{}: {why}", line.id);
    }
    if let Some(part) = state["shows"].as_str() {
        let subject = seen.ask.as_ref().and_then(|ask| ask.subject.clone());
        assert!(
            matches!(&subject, Some(AskSubject::Edit(EditedFile { diff, .. })) if diff.contains(part)),
            "{subject:?}"
        );
    }
    for request in stage.model.requests() {
        assert_paired(&request);
    }
}

fn write_all(workspace: &Workspace, files: &Value) {
    for (name, text) in files.as_object().into_iter().flatten() {
        workspace.write(name, text.as_str().expect("a text"));
    }
}

/// Returns a reply with one call, as a provider's own raw chunk.
fn raw_call(call: Value) -> Reply {
    let delta = json!({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]});
    Reply::events([delta.to_string()])
}

fn reads(call: Value) -> Stage {
    let stage = Stage::new(FILES);
    let outputs = stage.play([raw_call(call)]);
    assert!(outputs.len() == 1 && outputs[0].contains("text"), "{outputs:?}");
    let request = stage.model.requests().pop().expect("a request");
    assert_paired(&request);
    let body = request.json();
    let messages = body["messages"].as_array().expect("messages");
    let id = messages.iter().find_map(|message| message["tool_calls"][0]["id"].as_str());
    assert!(id.is_some_and(|id| !id.is_empty()), "{body}");
    stage
}

fn no_id() -> &'static str {
    let function = json!({"name": "read_file", "arguments": "{\"path\":\"a\"}"});
    reads(json!({"index": 0, "function": function}));
    "accept_own_id"
}

fn empty_ids() -> &'static str {
    let function = json!({"name": "read_file", "arguments": "{\"path\":\"a\"}"});
    reads(json!({"index": 0, "id": "", "function": function}));
    "accept_own_id"
}

/// A result without a call cannot enter: the machine refuses it, and nothing is recorded.
fn result_of_no_call() -> &'static str {
    let stage = Stage::new(FILES);
    stage.play([Reply::call("read_file", json!({"path": "a"}))]);
    let session = Session::default();
    let stamp = Stamp::new(1, [7; 16]);
    let result = adjutant_core::record::CallResult {
        end: CallEnd::Completed,
        output: "all tests pass".into(),
        summary: "made up".to_owned(),
        elapsed_ms: 0,
        cause: None,
        whole: None,
        unsaved: Vec::new(),
        reads: Vec::new(),
    };
    let step = adjutant_core::machine::step::Step::RunTool { call: "c9".into() };
    let refused = accept(&session, &stamp, Input::Step { step, report: Report::Finished(result) });
    assert!(matches!(refused, Err(Refusal::Stale)), "{refused:?}");
    "reject"
}

/// A streamed message with the role of a tool is text of the model, and no result.
fn results_written_by_the_model() -> &'static str {
    let stage = Stage::new(FILES);
    let delta = json!({"choices": [{"delta": {
        "role": "tool", "tool_call_id": "c9", "content": "all tests pass"}, "finish_reason": "stop"}]});
    stage.model.push(Reply::events([delta.to_string()]));
    let first = stage.rig.prompt(&stage.session, "go").run_id;
    stage.rig.await_run_end(&stage.session, &first);
    assert!(stage.play([Reply::call("read_file", json!({"path": "a"}))])[0].contains("text"));
    assert_eq!(facts_named(&stage.workspace, &stage.session, "tool_finished").len(), 1);
    for request in stage.model.requests() {
        assert_paired(&request);
        let body = request.json();
        let messages = body["messages"].as_array().expect("messages");
        let made_up = messages.iter().filter(|message| message["tool_call_id"] == "c9").count();
        assert_eq!(made_up, 0, "{body}");
    }
    "reject"
}

/// The test model gives the first call of a tool the same id in each turn.
fn same_id_in_another_turn() -> &'static str {
    let stage = Stage::new(FILES).answering("allow");
    let run = |word: &str| Reply::call("run_command", json!({"command": format!("echo {word}")}));
    let outputs = stage.play([run("first"), run("second"), run("third")]);
    for (output, word) in outputs.iter().zip(["first", "second", "third"]) {
        assert!(output.contains(word), "{output}");
    }
    assert_eq!((outputs.len(), stage.asks().len()), (3, 3));
    let ids: Vec<Value> = facts_named(&stage.workspace, &stage.session, "tool_finished");
    let ids: std::collections::BTreeSet<_> = ids.iter().map(|event| event["call"].to_string()).collect();
    assert_eq!(ids.len(), 3, "each call has its own id");
    assert_paired(stage.model.requests().last().expect("a request"));
    "accept_own_id"
}

fn one_of_three_is_rejected() -> &'static str {
    three_commands(0);
    "others_unaffected"
}

fn the_last_of_three_is_rejected() -> &'static str {
    three_commands(2);
    "others_unaffected"
}

/// Plays three commands in one reply and rejects one: the other two run.
fn three_commands(rejected: usize) {
    let stage = Stage::new(FILES);
    let touch = |number: usize| json!({"command": format!("touch made-{number}")});
    let reply = (0..3).fold(Reply::text("So."), |reply, number| reply.and_call("run_command", touch(number)));
    stage.rig.on_ask(move |ask| {
        let this = format!("touch made-{rejected}");
        let no = ask.kind == AskKind::Command
            && matches!(&ask.subject, Some(AskSubject::Command { command, .. }) if *command == this);
        Answer::option(if no { "reject" } else { "allow" })
    });
    let outputs = stage.play([reply]);
    assert_eq!(outputs.len(), 3, "{outputs:?}");
    for number in 0..3 {
        let made = stage.workspace.exists(&format!("made-{number}"));
        assert_eq!(made, number != rejected, "{number} of {outputs:?}");
        assert_eq!(outputs[number] == "The user rejected this.", number == rejected, "{outputs:?}");
    }
}
