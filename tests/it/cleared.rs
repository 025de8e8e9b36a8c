//! Old outputs that became placeholders can be had again, also those of commands, which do not run a second time.
//!
//! Never reads the folder of the session: what the model gets counts.

use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply, Request};
use serde_json::json;

use crate::rig::{Rig, count, tool_outputs};
use crate::stage::Stage;

const COUNTS: &str =
    "echo ran >> runs.txt; i=0; while [ $i -lt 900 ]; do echo \"result $i\"; i=$((i+1)); done";

/// Returns the path in the placeholder of a request, if it has one.
fn placeholder(request: &Request) -> Option<String> {
    let outputs = tool_outputs(request);
    let text = outputs.iter().find(|text| text.starts_with("[left out to save room: "))?;
    Some(text.split('`').nth(1).expect("a path").to_owned())
}

#[test]
fn s65_the_output_of_a_command_is_read_again_without_running_it_and_without_a_question() {
    let workspace = Workspace::new("//- /a.txt\none\n");
    let model = ModelServer::answering(|request| {
        let turns = tool_outputs(request).len();
        match (turns, placeholder(request)) {
            (0, _) => Reply::call("run_command", json!({"command": COUNTS})),
            (5, Some(path)) => Reply::call("read_file", json!({"path": path, "offset": 899})),
            (6.., _) => Reply::text("Done."),
            _ => Reply::call("read_file", json!({"path": "a.txt"})),
        }
    });
    let config = "context_window = 20000\n[compact]\noutputs_percent = 20";
    workspace.openai(&model.base_url()).add_config(config);
    let rig = Rig::start(&workspace);
    rig.on_ask(|_| adjutant_testkit::editor::Answer::option("allow"));
    let session = rig.new_session();
    rig.run_to_end(&session, "Count, and look at the end again.");
    let last = model.requests().pop().expect("a request");
    let outputs = tool_outputs(&last);
    let path = placeholder(&last).unwrap_or_else(|| panic!("no placeholder in {outputs:?}"));
    assert!(path.starts_with("output:"), "{path}");
    assert!(outputs[5].starts_with("result 898\nresult 899\n"), "{:?}", outputs[5]);
    assert_eq!(workspace.read("runs.txt"), "ran\n", "it ran once");
    assert_eq!(count(&workspace, &session, "ask_opened"), 1, "only the command was asked about");
    rig.end();
}

#[test]
fn s65_no_other_file_is_read_by_the_name_of_an_output() {
    let stage = Stage::new("//- /a.txt\none\n").answering("reject");
    let outputs = stage.play(
        ["output:", "output:../events", "output:call-unknown", "output:a/b"]
            .map(|path| Reply::call("read_file", json!({"path": path}))),
    );
    for output in &outputs {
        assert!(!output.contains("\"type\"") && !output.is_empty(), "{outputs:?}");
    }
    stage.rig.shutdown();
}
