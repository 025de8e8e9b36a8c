//! The commands, folders and settings of one editor window.
//!
//! Checks the messages to the window and the logs of its sessions; never reads a clock.

use adjutant_protocol::SessionId;
use adjutant_testkit::editor::{Capabilities, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::wait_until;
use serde_json::{Value, json};

use crate::plain::{INVOKED, Plain, at, title, titles};
use crate::rig::{Rig, facts_named};

const FILE: &str = "//- /a.rs\nfn main() {}\n";

fn session(started: &Value) -> SessionId {
    started["sessionId"].as_str().expect("a session").into()
}

#[test]
fn finding_d13_cancel_ends_the_last_run_of_the_window_and_no_other() {
    let plain = Plain::new(FILE, [Reply::never(), Reply::never(), Reply::never()]);
    let start = |text: &str| plain.command("adjutant.start", json!([text])).expect("the run starts");
    let (one, two, three) = (start("one"), start("two"), start("three"));
    plain.model.wait_for_requests(3);
    let cancel =
        |arguments: Value| plain.command("adjutant.cancel", arguments).expect("the run is cancelled");
    let cancelled = |done: &Value| {
        let runs = done["cancelled"].as_array().expect("a list").iter();
        runs.map(|run| run["title"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(cancelled(&cancel(json!([]))), ["three"]);
    let message = plain.rig.await_message();
    assert!(message.contains("“three”") && message.contains("Still open: “one”, “two”"), "{message}");
    assert_eq!(json!(plain.finish(&three).outcome), "cancelled");
    // The user steers the first run, so it is the last one now.
    let steer = json!([{ "sessionId": one["sessionId"], "text": "and more" }]);
    plain.command("adjutant.prompt", steer).expect("the run is steered");
    assert_eq!(cancelled(&cancel(json!([]))), ["one"]);
    assert_eq!(json!(plain.finish(&one).outcome), "cancelled");
    // The answer to the cancel may come before the end of the progress.
    wait_until("only one progress to be open", || plain.rig.open_progress() == 1);
    assert_eq!(cancelled(&cancel(json!([{ "all": true }]))), ["two"]);
    assert_eq!(json!(plain.finish(&two).outcome), "cancelled");
    plain.rig.await_message();
    plain.rig.end();
}

/// Returns a rig whose workspace folders are these folders, in this order.
fn in_folders(workspace: &Workspace, folders: &[&str], extra: Value) -> Rig {
    let capabilities = Capabilities { extra, ..crate::plain::capabilities() };
    let rig = Rig::connect(workspace, Options::new(workspace).capabilities(capabilities.clone()));
    let folders: Vec<Value> =
        folders.iter().map(|name| json!({ "uri": workspace.uri(name), "name": name })).collect();
    let params = json!({
        "processId": null, "rootUri": null, "workspaceFolders": folders, "capabilities": capabilities.to_value(),
    });
    rig.request("initialize", params).expect("initialize is answered");
    rig.notify("initialized", json!({}));
    rig
}

#[test]
fn finding_d3_a_task_begun_in_a_file_of_the_second_folder_runs_there() {
    let model = ModelServer::start((0..3).map(|_| Reply::text("hello")));
    let workspace = Workspace::new("//- /one/a.rs\n\n//- /two/b.rs\n\n//- /two/inner/c.rs\n\n");
    workspace.openai(&model.base_url());
    let rig = in_folders(&workspace, &["one", "two", "two/inner"], json!({}));
    for (file, first) in [("two/b.rs", "two"), ("two/inner/c.rs", "two/inner"), ("one/a.rs", "one")] {
        let start = json!([{ "text": "look", "uri": workspace.uri(file) }]);
        let params = json!({ "command": "adjutant.start", "arguments": start });
        let started = rig.request("workspace/executeCommand", params).expect("the run starts");
        let run = started["runId"].as_str().expect("a run").into();
        rig.await_run_end(&session(&started), &run);
        let roots = facts_named(&workspace, &session(&started), "session_created")[0]["roots"].clone();
        let expected = workspace.path().join(first).canonicalize().expect("the path exists");
        assert_eq!(roots[0], json!(expected), "a task in {file}");
        assert_eq!(
            roots.as_array().map(Vec::len),
            Some(3),
            "the session has the other folders, too: {roots}"
        );
    }
    rig.end();
}

fn actions_at(rig: &Rig, uri: &str) -> Vec<Value> {
    let params = json!({
        "textDocument": { "uri": uri }, "range": at(0, 0),
        "context": { "diagnostics": [], "triggerKind": INVOKED },
    });
    let actions = rig.request("textDocument/codeAction", params).expect("code actions are answered");
    actions.as_array().cloned().unwrap_or_default()
}

#[test]
fn finding_d3_with_several_folders_an_approval_names_the_one_it_runs_in() {
    for folders in [&["one", "two"][..], &["one"]] {
        let model = ModelServer::start([
            Reply::call("run_command", json!({"command": "echo x"})),
            Reply::text("Done."),
        ]);
        let workspace = Workspace::new("//- /one/a.rs\n\n//- /two/b.rs\n\n");
        workspace.openai(&model.base_url());
        let rig = in_folders(&workspace, folders, json!({}));
        let uri = workspace.uri("one/a.rs");
        let start = json!({ "command": "adjutant.start", "arguments": [{ "text": "go", "uri": uri }] });
        let started = rig.request("workspace/executeCommand", start).expect("the run starts");
        let mut reject = Value::Null;
        wait_until("the question", || {
            let found = actions_at(&rig, &uri)
                .into_iter()
                .find(|action| title(action).starts_with("Adjutant: Reject: run `echo x`"));
            reject = found.unwrap_or_default();
            !reject.is_null()
        });
        let one = workspace.path().join("one").canonicalize().expect("the path exists");
        let place = format!(" in {}", one.display());
        assert_eq!(title(&reject).contains(&place), folders.len() > 1, "{reject}");
        let command = if reject["command"].is_object() { &reject["command"] } else { &reject };
        let params = json!({ "command": command["command"], "arguments": command["arguments"] });
        rig.request("workspace/executeCommand", params).expect("a result");
        let run = started["runId"].as_str().expect("a run").into();
        rig.await_run_end(&session(&started), &run);
        rig.end();
    }
}

#[test]
fn finding_d3_where_nothing_can_be_started_the_code_actions_say_why() {
    let model = ModelServer::start([]);
    let workspace = Workspace::new("//- /one/a.rs\n\n//- /b.rs\n\n");
    workspace.openai(&model.base_url());
    let kinds = json!({ "codeActionKind": { "valueSet": [""] } });
    let shows = json!({ "textDocument": { "codeAction": { "codeActionLiteralSupport": kinds, "disabledSupport": true } } });
    let no_folder = "open the folder of this file first";
    for (folders, uri, why) in [
        (&[][..], workspace.uri("one/a.rs"), no_folder),
        (&["one"], workspace.uri("b.rs"), "outside the workspace folders"),
        (&["one"], "untitled:Untitled-1".to_owned(), "save it in the workspace first"),
    ] {
        let rig = in_folders(&workspace, folders, shows.clone());
        let actions = actions_at(&rig, &uri);
        let [action] = actions.as_slice() else { panic!("one action for {uri}: {actions:?}") };
        assert!(action["disabled"]["reason"].as_str().is_some_and(|reason| reason.contains(why)), "{action}");
        assert!(action["command"].is_null(), "a disabled action has no command: {action}");
        rig.end();
    }
    // If the client cannot show a disabled action, its command fails with the reason.
    let rig = in_folders(&workspace, &[], crate::plain::capabilities().extra);
    let actions = actions_at(&rig, &workspace.uri("one/a.rs"));
    assert!(titles(&actions)[0].contains(no_folder), "{actions:?}");
    let command = &actions[0]["command"];
    let params = json!({ "command": command["command"], "arguments": command["arguments"] });
    let refused = rig.request("workspace/executeCommand", params).expect_err("nothing can be started");
    assert!(refused.message.contains(no_folder), "{refused}");
    assert!(rig.await_message().contains(no_folder));
    rig.end();
}

#[test]
fn finding_d4_empty_settings_say_nothing_and_a_list_is_told() {
    let model = ModelServer::start([Reply::text("hello")]);
    let workspace = Workspace::new(FILE);
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    for empty in [
        json!(""),
        json!([]),
        json!({ "adjutant": "" }),
        json!({ "adjutant": [] }),
        json!({ "adjutant": null }),
    ] {
        rig.notify("workspace/didChangeConfiguration", json!({ "settings": empty }));
    }
    rig.notify("workspace/didChangeConfiguration", json!({ "settings": ["model"] }));
    let message = rig.await_message();
    assert!(message.contains("are a list") && message.contains("as an object"), "{message}");
    // The model from the settings file is still configured.
    let session = rig.new_session();
    rig.run_to_end(&session, "Hello.");
    rig.end();
}

#[test]
fn finding_d4_settings_that_are_answered_as_a_list_are_told() {
    let model = ModelServer::start([Reply::text("hello")]);
    let workspace = Workspace::new(FILE);
    workspace.openai(&model.base_url());
    let options = Options { settings: json!(["model", "local/other"]), ..Options::new(&workspace) };
    let rig = Rig::start_with(&workspace, options);
    let message = rig.await_message();
    assert!(message.contains("are a list") && message.contains("as an object"), "{message}");
    let session = rig.new_session();
    rig.run_to_end(&session, "Hello.");
    rig.end();
}

#[test]
fn finding_d4_a_workspace_folder_that_does_not_exist_is_told() {
    let model = ModelServer::start([]);
    let workspace = Workspace::new(FILE);
    workspace.openai(&model.base_url());
    let rig = in_folders(&workspace, &["gone"], json!({}));
    let message = rig.await_message();
    assert!(message.contains("does not exist") && message.contains("gone"), "{message}");
    let gone = json!([{ "uri": workspace.uri("missing"), "name": "missing" }]);
    rig.notify("workspace/didChangeWorkspaceFolders", json!({ "event": { "added": gone, "removed": [] } }));
    let message = rig.await_message();
    assert!(message.contains("does not exist") && message.contains("missing"), "{message}");
    rig.end();
}

#[test]
fn finding_d15_a_long_title_leaves_room_for_the_step() {
    let plain = Plain::new(FILE, [Reply::never()]);
    let title = "Rename every function of the module so that the names say what they return";
    let started = plain.command("adjutant.start", json!([title])).expect("the run starts");
    let begin = plain.rig.await_progress("its beginning", |value| value["kind"] == "begin");
    let shown = begin["title"].as_str().expect("a title");
    assert!(shown.chars().count() <= 40 && shown.contains("Rename every"), "{shown}");
    plain.rig.cancel_progress();
    plain.finish(&started);
    plain.rig.end();
}
