//! `apply_patch` through the whole server: a corpus of patches, and stories on the wires that models use (N24).
//!
//! Never looks into the server: the tests read the files, the log and the requests to the model.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use adjutant_protocol::state::{Outcome, State};
use adjutant_testkit::editor::Answer;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{Dialect, ModelServer, Reply, Request};
use serde::Deserialize;
use serde_json::{Value, json};

use super::rig::{Rig, facts_named, tools_offered};
use super::stage::Stage;

const CORPUS: &str = include_str!("../corpus/patches.jsonl");

/// One patch: the files before it, and either the files after it or the name of its refusal.
#[derive(Deserialize)]
struct Case {
    kind: String,
    name: String,
    before: BTreeMap<String, String>,
    patch: String,
    /// A file that is gone is null.
    after: Option<BTreeMap<String, Option<String>>>,
    refusal: Option<String>,
}

/// Returns a stage whose model edits by patches.
fn patching(workspace: Workspace, more: &str) -> Stage {
    let config = format!("edit_tool = \"apply_patch\"\n[limits]\nmistakes = 50\n{more}");
    Stage::configured(workspace, &config, |options| options)
}

/// Returns all files below a folder, by their names in it.
fn files_in(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("it is a folder") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().expect("a type").is_dir() {
            let inside = files_in(&entry.path());
            files.extend(inside.into_iter().map(|(file, text)| (format!("{name}/{file}"), text)));
        } else {
            files.insert(name, fs::read_to_string(entry.path()).expect("text"));
        }
    }
    files
}

fn empty(folder: &Path) {
    for entry in fs::read_dir(folder).expect("it is a folder") {
        let path = entry.expect("an entry").path();
        let gone = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        gone.expect("it can be removed");
    }
}

#[test]
fn n24_each_patch_of_the_corpus_is_applied_exactly_or_refused_by_name() {
    let cases: Vec<Case> =
        CORPUS.lines().map(|line| serde_json::from_str(line).expect("a line of the corpus")).collect();
    assert!(cases.len() >= 200, "{}", cases.len());
    let mut stage = patching(Workspace::new(""), "").answering("allow");
    let root = stage.workspace.path().to_owned();
    let mut faults = Vec::new();
    for case in &cases {
        empty(&root);
        case.before.iter().for_each(|(path, text)| stage.workspace.write(path, text));
        stage.session = stage.rig.new_session();
        let outputs = stage.play([Reply::call("apply_patch", json!({"input": case.patch}))]);
        let finished = facts_named(&stage.workspace, &stage.session, "tool_finished");
        let result = &finished[0]["result"];
        let cause = result["cause"].as_str().map(str::to_owned);
        let mut wanted = case.before.clone();
        for (path, text) in case.after.iter().flatten() {
            match text {
                Some(text) => wanted.insert(path.clone(), text.clone()),
                None => wanted.remove(path),
            };
        }
        let is_right = match &case.refusal {
            Some(name) => cause.as_deref() == Some(name) && result["end"] != "completed",
            None => result["end"] == "completed",
        };
        if !is_right || files_in(&root) != wanted {
            let (kind, name, found) = (&case.kind, &case.name, files_in(&root));
            faults.push(format!("{kind}: {name}: {result}\n{outputs:?}\n{found:?}\n{wanted:?}"));
        }
    }
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), cases.len(), faults.join("\n\n"));
}

const STORY: &str = "
    //- /src/a.rs
    fn a() {
        one();
    }
    //- /src/b.rs
    fn b() {
        one();
    }

    fn c() {
        one();
    }
";
const PATCH: &str = "*** Begin Patch\n*** Update File: src/a.rs\n@@ fn a() {\n-    one();\n+    two(\"x\");\n*** Update File: src/b.rs\n\
                     @@ fn c() {\n-    one();\n+    two(\"y\");\n*** Add File: src/d.rs\n+fn two(_: &str) {}\n*** End Patch\n";
const DONE: &str =
    "Edited src/a.rs: +1 -1 lines. Edited src/b.rs: +1 -1 lines. Created src/d.rs: +1 -0 lines.";

/// Returns the settings of a workspace with this model on this wire.
fn configure(workspace: &Workspace, wire: Dialect, model: &ModelServer, name: &str) {
    workspace.config(&format!(
        "model = \"local/{name}\"\n[providers.local]\nwire = \"{}\"\nbase_url = \"{}\"\n",
        wire.wire(),
        model.base_url()
    ));
}

/// Plays a prompt whose only call is this one: the user is asked once, for all files, and allows it.
fn story(wire: Dialect, name: &str, call: Reply) -> Vec<Request> {
    let model = ModelServer::start([call, Reply::text("Done.")]);
    let workspace = Workspace::new(STORY);
    configure(&workspace, wire, &model, name);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Use two.").run_id;
    let ask = rig.await_ask();
    assert!(
        !workspace.exists("src/d.rs") && workspace.read("src/a.rs").contains("one"),
        "nothing before the answer"
    );
    rig.answer(&ask.ask_id, "allow");
    let end = rig.await_run_end(&session, &run);
    assert_eq!((end.outcome, end.summary.as_deref()), (Outcome::Stopped, Some("Done.")));
    rig.await_state(State::Idle);
    assert_eq!(workspace.read("src/a.rs"), "fn a() {\n    two(\"x\");\n}\n");
    assert_eq!(workspace.read("src/b.rs"), "fn b() {\n    one();\n}\n\nfn c() {\n    two(\"y\");\n}\n");
    assert_eq!(workspace.read("src/d.rs"), "fn two(_: &str) {}\n");
    // One call made three changes.
    let opened = facts_named(&workspace, &session, "call_opened");
    let proposed = facts_named(&workspace, &session, "file_change_proposed");
    assert_eq!((opened.len(), proposed.len()), (1, 3));
    assert_eq!(opened[0]["title"], "Edit src/a.rs, src/b.rs and 1 more");
    assert_eq!(
        facts_named(&workspace, &session, "ask_opened")
            .iter()
            .filter(|event| event["ask"]["kind"] == "tool")
            .count(),
        1
    );
    rig.end();
    model.requests()
}

#[test]
fn n24_a_model_that_takes_plain_text_patches_three_files_by_one_call_on_responses() {
    let requests = story(Dialect::Responses, "gpt-5", Reply::free_call("apply_patch", PATCH));
    let first = requests[0].json();
    let tools: Vec<&Value> = first["tools"].as_array().expect("tools").iter().collect();
    let kind = |name: &str| {
        tools.iter().find(|tool| tool["name"] == name).map(|tool| tool["type"].as_str().unwrap_or_default())
    };
    assert_eq!((kind("apply_patch"), kind("read_file")), (Some("custom"), Some("function")));
    for hidden in ["edit_file", "write_file", "move_file", "delete_file"] {
        assert_eq!(kind(hidden), None);
    }
    let second = requests[1].json();
    let input = second["input"].as_array().expect("items");
    let of = |kind: &str| input.iter().find(|item| item["type"] == kind).cloned().unwrap_or_default();
    assert_eq!(of("custom_tool_call")["input"], PATCH);
    let output = of("custom_tool_call_output");
    assert_eq!(output["output"], DONE);
    assert_eq!(output["call_id"], of("custom_tool_call")["call_id"]);
    assert_eq!(of("function_call_output"), Value::Null);
}

#[test]
fn n24_a_model_that_takes_functions_patches_three_files_by_one_call_on_chat() {
    let requests = story(Dialect::Chat, "gpt-4.1", Reply::call("apply_patch", json!({"input": PATCH})));
    let offered = tools_offered(&requests[0]);
    assert!(
        offered.contains(&"apply_patch".to_owned()) && !offered.contains(&"edit_file".to_owned()),
        "{offered:?}"
    );
    let body = requests[1].json();
    let outputs =
        body["messages"].as_array().expect("messages").iter().filter(|message| message["role"] == "tool");
    assert_eq!(outputs.map(|message| message["content"].clone()).collect::<Vec<_>>(), [json!(DONE)]);
}

/// Returns the names of the tools in a request of the Messages wire.
fn named(body: &Value) -> Vec<&str> {
    body["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str()).collect()
}

#[test]
fn n24_a_run_keeps_the_tools_of_its_first_model_and_another_model_reads_its_calls_as_json() {
    let one =
        ModelServer::start([Reply::free_call("apply_patch", PATCH), Reply::status(503), Reply::status(503)]);
    let two = ModelServer::start([Reply::text("Taken over."), Reply::text("Mine.")]);
    let workspace = Workspace::new(STORY);
    workspace.config(&format!(
        "model = \"one/gpt-5\"\nfallback_models = [\"two/claude-sonnet-4\"]\n[edits]\nmode = \"auto\"\n\
         [retry]\nbase_ms = 10\ncap_ms = 20\nattempts = 2\n\
         [providers.one]\nwire = \"openai_responses\"\nbase_url = \"{}\"\n\
         [providers.two]\nwire = \"anthropic_messages\"\nbase_url = \"{}\"\n",
        one.base_url(),
        two.base_url()
    ));
    let rig = Rig::start(&workspace);
    rig.on_ask(|_| Answer::option("allow"));
    let session = rig.new_session();
    assert_eq!(rig.run_to_end(&session, "Use two.").summary.as_deref(), Some("Taken over."));
    let run =
        rig.prompt_with(&session, "And you?", json!({"overrides": {"model": "two/claude-sonnet-4"}})).run_id;
    assert_eq!(rig.await_run_end(&session, &run).summary.as_deref(), Some("Mine."));
    rig.await_state(State::Idle);
    rig.end();
    let bodies: Vec<Value> = two.requests().iter().map(Request::json).collect();
    // The fallback model has the tools of the run; the next run has those of its own model.
    for (body, has, lacks) in
        [(&bodies[0], "apply_patch", "edit_file"), (&bodies[1], "edit_file", "apply_patch")]
    {
        let names = named(body);
        assert!(names.contains(&has) && !names.contains(&lacks), "{names:?}");
        let messages = body["messages"].to_string();
        assert!(
            messages.contains(r#""input":{"input":"*** Begin Patch"#) && messages.contains(DONE),
            "{messages}"
        );
    }
}
