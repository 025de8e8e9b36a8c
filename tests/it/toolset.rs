//! Added tools: each needs one file and one row, and works like the others.
//!
//! No file of the product names the tool of these tests.

mod count_lines;

use adjutant::tools::{Toolbox, UnfitTool};
use adjutant_core::tool::{Effect, Tool};
use adjutant_protocol::ask::{AskKind, AskSubject};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::json;

use crate::rig::{Rig, facts_named, tool_outputs};
use crate::tidy::source::files;
use count_lines::COUNT_LINES;

/// Returns a server with one more tool, in a workspace with a rule that denies some files.
fn rig(model: &ModelServer) -> (Rig, Workspace) {
    let workspace = Workspace::new("//- /a.txt\none\ntwo\n//- /private/plan.md\nsecret\n");
    workspace.openai(&model.base_url());
    let settings = std::fs::read_to_string(workspace.config_file()).expect("the settings");
    workspace.config(&format!("{settings}\n[permissions]\ndeny = [\"read_file(private/**)\"]\n"));
    let rig = Rig::set_up(&workspace, |server| {
        server.tools.add(COUNT_LINES).expect("its name is its own");
    });
    (rig, workspace)
}

#[test]
fn a_tool_that_is_added_is_offered_judged_and_run_like_the_others() {
    let model = ModelServer::start([
        Reply::call("count_lines", json!({"path": "a.txt"})),
        Reply::call("count_lines", json!({"path": "private/plan.md"})),
        Reply::call("count_lines", json!({"file": "a.txt"})),
        Reply::call("count_lines", json!({"path": "/etc/hostname"})),
        Reply::text("Done."),
    ]);
    let (rig, workspace) = rig(&model);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Count.").run_id;
    let ask = rig.await_ask_of(AskKind::Tool);
    assert_eq!(ask.title, "Count the lines of /etc/hostname");
    assert!(
        matches!(&ask.subject, Some(AskSubject::Read { reason, .. }) if reason.contains("outside the workspace"))
    );
    rig.answer(&ask.ask_id, "reject");
    rig.await_run_end(&session, &run);
    let requests = model.requests();
    let offered = requests[0].json()["tools"].as_array().map(|tools| tools.last().cloned());
    assert_eq!(offered.flatten().expect("tools")["function"]["name"], "count_lines");
    let outputs = tool_outputs(requests.last().expect("requests"));
    let expected = [
        "2 lines",
        "read_file(private/**)",
        "has no argument `file`; it takes {\"path\"}",
        "The user rejected",
    ];
    assert_eq!(outputs.len(), expected.len());
    for (output, part) in outputs.iter().zip(expected) {
        assert!(output.contains(part), "{part:?} is not in {output:?}");
    }
    // The log has the effect of the tool and the hash of the run's tools.
    let opened = facts_named(&workspace, &session, "call_opened");
    assert!(opened.iter().all(|event| event["effect"] == "read"), "{opened:?}");
    let toolset = Toolbox::default().with(COUNT_LINES).expect("its name is its own").set().hash().to_owned();
    assert_ne!(toolset, Toolbox::default().set().hash());
    assert_eq!(facts_named(&workspace, &session, "run_started")[0]["toolset"], *toolset);
    rig.end();
}

#[test]
fn a_tool_that_is_added_while_a_run_goes_on_is_there_from_the_next_run_on() {
    let model = ModelServer::start([
        Reply::call("run_command", json!({"command": "echo hi"})),
        Reply::call("count_lines", json!({"path": "a.txt"})),
        Reply::text("Done."),
        Reply::call("count_lines", json!({"path": "a.txt"})),
        Reply::text("Done."),
    ]);
    let workspace = Workspace::new("//- /a.txt\none\ntwo\n");
    workspace.openai(&model.base_url());
    let mut shelf = None;
    let rig = Rig::set_up(&workspace, |server| shelf = Some(server.tools.clone()));
    let shelf = shelf.expect("the tools of the server");
    let session = rig.new_session();
    let run = rig.prompt(&session, "Run it.").run_id;
    let ask = rig.await_ask_of(AskKind::Command);
    shelf.add(COUNT_LINES).expect("its name is its own");
    rig.answer(&ask.ask_id, "allow");
    rig.await_run_end(&session, &run);
    let again = rig.prompt(&session, "Count.").run_id;
    rig.await_run_end(&session, &again);
    let requests = model.requests();
    let tools = |number: usize| requests[number].json()["tools"].as_array().map_or(0, Vec::len);
    assert_eq!([0, 1, 2, 3, 4].map(tools), [13, 13, 13, 14, 14], "a run has the tools that it started with");
    let outputs = tool_outputs(requests.last().expect("requests"));
    assert!(outputs[1].contains("there is no tool `count_lines`"), "{outputs:?}");
    assert_eq!(outputs[2], "2 lines");
    rig.end();
}

#[test]
fn a_run_that_began_with_other_tools_says_so_when_it_is_resumed() {
    let model = ModelServer::answering(|_| Reply::call("run_command", json!({"command": "echo hi"})));
    let (first, workspace) = rig(&model);
    let session = first.new_session();
    first.prompt(&session, "Run it.");
    first.await_ask_of(AskKind::Command);
    first.die();
    let says = |rig: &Rig| {
        let notices = rig.resume(&session, None).notices;
        notices.iter().any(|notice| notice.contains("tools have changed since this run began"))
    };
    let second = Rig::start(&workspace);
    assert!(says(&second), "the run continues with other tools");
    second.die();
    let third = Rig::set_up(&workspace, |server| {
        server.tools.add(COUNT_LINES).expect("its name is its own");
    });
    assert!(!says(&third), "the run started with these tools");
    third.end();
}

#[test]
fn a_tool_that_is_not_what_it_says_is_not_taken() {
    let with = |change: fn(&mut Tool)| {
        let mut other = COUNT_LINES;
        change(&mut other.tool);
        Toolbox::default().with(other).map(drop)
    };
    assert_eq!(with(|_| {}), Ok(()));
    assert_eq!(with(|tool| tool.effect = Effect::Opaque), Err(UnfitTool::Effect("count_lines".to_owned())));
    let same = with(|tool| tool.name = "read_file".into());
    assert_eq!(same.expect_err("a name is used once").to_string(), "there is a tool \"read_file\" already");
}

#[test]
fn a_tool_touches_one_file_and_one_row_of_the_product() {
    let naming = |name: &str| -> Vec<String> {
        let crates = ["server/src", "server/core/src", "server/tools/src"];
        let product = crates.into_iter().flat_map(|folder| files(folder, &[".rs"]));
        let code = product.filter(|source| !source.is_test());
        code.filter(|source| source.text.contains(name)).map(|source| source.path).collect()
    };
    assert_eq!(naming("count_lines"), [""; 0], "the product names the tool of this test");
    // Only its own file and its row name a tool of the product.
    assert_eq!(naming("FIND_FILES"), ["server/tools/src/find_files.rs", "server/tools/src/lib.rs"]);
    let rows =
        files("server/tools/src", &[".rs"]).into_iter().find(|source| source.path.ends_with("/lib.rs"));
    let rows = rows.expect("the list of tools").text;
    assert_eq!(rows.matches("FIND_FILES").count(), 1);
}
