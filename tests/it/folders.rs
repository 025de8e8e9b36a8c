//! Workspace folders and settings that the client changes while the server runs.
//!
//! Only the order of messages on the wire decides.

use adjutant_protocol::SessionId;
use adjutant_protocol::methods;
use adjutant_protocol::session::NewSessionResult;
use adjutant_testkit::editor::{Capabilities, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::{Value, json};

use crate::protocol::client;
use crate::rig::{Rig, facts_named, tool_outputs};

fn hello(workspace: &Workspace, folders: Value) -> Value {
    let _ = workspace;
    json!({"processId": null, "capabilities": {"workspace": {"workspaceFolders": true}}, "workspaceFolders": folders})
}

/// Returns an editor that has sent its folders, and the answer to `initialize`.
fn with_folders(workspace: &Workspace, folders: Value) -> (Rig, Value) {
    let bare = Capabilities { agent: Capabilities::full().agent, ..Capabilities::bare() };
    let rig = Rig::connect(workspace, Options::new(workspace).capabilities(bare));
    let mut params = hello(workspace, folders);
    params["capabilities"]["experimental"] =
        json!({"agent": {"updates": {"chunks": true}, "asks": {"request": true}}});
    let answer = rig.request("initialize", params).expect("initialize is answered");
    rig.notify("initialized", json!({}));
    (rig, answer)
}

fn roots(workspace: &Workspace, session: &SessionId) -> Value {
    facts_named(workspace, session, "session_created")[0]["roots"].clone()
}

fn path(workspace: &Workspace, below: &str) -> String {
    let path = workspace.path().join(below).canonicalize().expect("the folder exists");
    path.to_string_lossy().into_owned()
}

fn workspace_with(model: &ModelServer) -> Workspace {
    let workspace = Workspace::new("//- /one/a.txt\nhello\n//- /two/b.txt\nhi\n");
    workspace.openai(&model.base_url());
    workspace
}

#[test]
fn folders_that_change_count_for_later_sessions_and_leave_the_others_alone() {
    let model = ModelServer::start((0..3).map(|_| Reply::text("hello")));
    let workspace = workspace_with(&model);
    let one = json!([{"uri": workspace.uri("one"), "name": "one"}]);
    let two = json!([{"uri": workspace.uri("two"), "name": "two"}]);
    let (rig, answer) = with_folders(&workspace, one.clone());
    let offered = &answer["capabilities"]["workspace"]["workspaceFolders"];
    assert_eq!(*offered, json!({"supported": true, "changeNotifications": true}));
    let first = rig.new_session();
    rig.notify("workspace/didChangeWorkspaceFolders", json!({"event": {"added": two, "removed": []}}));
    let second = rig.new_session();
    rig.notify("workspace/didChangeWorkspaceFolders", json!({"event": {"added": [], "removed": one}}));
    let third = rig.new_session();
    for session in [&first, &second, &third] {
        rig.run_to_end(session, "Hello.");
    }
    let (one, two) = (path(&workspace, "one"), path(&workspace, "two"));
    assert_eq!(roots(&workspace, &first), json!([one]));
    assert_eq!(roots(&workspace, &second), json!([one, two]));
    assert_eq!(roots(&workspace, &third), json!([two]));
    rig.end();
}

#[test]
fn without_a_folder_a_session_talks_and_says_that_it_can_touch_nothing() {
    let model = ModelServer::start([
        Reply::call("read_file", json!({"path": "a.txt"})),
        Reply::call("edit_file", json!({"path": "a.txt", "old_text": "a", "new_text": "b"})),
        Reply::call("run_command", json!({"command": "echo here"})),
        Reply::text("I can only talk."),
    ]);
    let workspace = workspace_with(&model);
    workspace.add_config("[limits]\nmistakes = 9\n");
    let (rig, _) = with_folders(&workspace, json!([]));
    let session = rig.new_session();
    rig.run_to_end(&session, "Read a.txt.");
    let outputs = tool_outputs(&model.requests()[3]);
    assert_eq!(outputs.len(), 3);
    for output in outputs {
        assert!(output.contains("no workspace folder is open"), "{output}");
    }
    rig.end();
}

#[test]
fn roots_that_are_no_files_are_left_out_and_files_of_other_machines_are_told() {
    let model = ModelServer::start([Reply::text("hello")]);
    let workspace = workspace_with(&model);
    let folders = json!([
        {"uri": "http://example.org/", "name": "web"},
        {"uri": "file://elsewhere/one", "name": "far"},
        {"uri": "vscode-remote://host/one", "name": "remote"},
        {"uri": workspace.uri("one"), "name": "one"},
    ]);
    let (rig, _) = with_folders(&workspace, folders);
    let message = rig.await_message();
    assert!(message.contains("file://elsewhere/one") && message.contains("another host"), "{message}");
    let session = rig.new_session();
    rig.run_to_end(&session, "Hello.");
    assert_eq!(roots(&workspace, &session), json!([path(&workspace, "one")]));
    for cwd in ["http://example.org/", "file://elsewhere/one", "file:///no/such/folder"] {
        let refused = rig.try_call::<NewSessionResult>(methods::SESSION_NEW, json!({ "cwd": cwd }));
        assert_eq!(refused.map_err(|error| error.code), Err(-32602), "{cwd}");
    }
    rig.end();
}

/// Returns an editor that answers requests for settings with these.
fn editor_with_settings(workspace: &Workspace, settings: Value, dynamic: bool) -> Rig {
    let registers = json!({"workspace": {"didChangeConfiguration": {"dynamicRegistration": dynamic}}});
    let capabilities = Capabilities { extra: registers, ..Capabilities::full() };
    let options = Options { settings, ..Options::new(workspace).capabilities(capabilities) };
    Rig::start_with(workspace, options)
}

#[test]
fn settings_are_asked_for_and_registered_for_and_null_keeps_what_was_said_first() {
    let model = ModelServer::start([Reply::text("hello"), Reply::text("hello")]);
    let workspace = workspace_with(&model);
    let rig = editor_with_settings(&workspace, json!({"permissions": {"deny": ["nonsense("]}}), true);
    let message = rig.await_message();
    assert!(message.contains("permissions.deny"), "the server reads the editor's answer: {message}");
    let seen = rig.seen();
    assert!(
        seen.contains("client/registerCapability") && seen.contains("workspace/didChangeConfiguration"),
        "{seen}"
    );
    rig.end();

    // "Something changed" makes the server ask again; null as an answer changes nothing.
    let rig = editor_with_settings(&workspace, Value::Null, false);
    let asked = |rig: &Rig| rig.seen().matches("\"method\":\"workspace/configuration\"").count();
    adjutant_testkit::process::wait_until("the settings are asked for", || asked(&rig) == 1);
    rig.notify("workspace/didChangeConfiguration", json!({ "settings": null }));
    adjutant_testkit::process::wait_until("they are asked for again", || asked(&rig) == 2);
    assert!(!rig.seen().contains("registerCapability"));
    let session = rig.new_session();
    rig.run_to_end(&session, "Hello.");
    rig.end();
}

#[test]
fn what_is_sent_behind_pushed_settings_has_them() {
    let model = ModelServer::start((0..40).map(|_| Reply::text("hello")));
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    for number in 0..20 {
        // The test waits for nothing between the three: only their order counts.
        let name = format!("local/m{number}");
        rig.notify(
            "workspace/didChangeConfiguration",
            json!({ "settings": { "adjutant": { "model": name } } }),
        );
        let made = rig.request_nowait(methods::SESSION_NEW, json!({}));
        rig.notify(
            "workspace/didChangeConfiguration",
            json!({ "settings": { "adjutant": { "model": "local/later" } } }),
        );
        let made: NewSessionResult =
            serde_json::from_value(rig.await_response(&made).expect("a session")).expect("a result");
        assert_eq!(made.config_options[1].current_value, name);
    }
    rig.end();
}

#[test]
fn what_is_sent_right_behind_an_answer_about_settings_has_them() {
    let mut rig = client::Rig::start("[[turn]]\ntext = \"Hello.\"\n");
    let client = &mut rig.client;
    client.send(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "processId": null, "capabilities": {"workspace": {"configuration": true}}
    }}));
    client.until(&[client::is_answer]);
    client.send(json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}));
    let asks: fn(&Value) -> bool = |message| client::is_method(message, "workspace/configuration");
    for number in 0..50 {
        let came = client.until(&[asks]);
        let id = came.iter().find(|message| asks(message)).map(|message| message["id"].clone());
        let name = format!("play/m{number}");
        // The answer and the request are sent together: only their order decides which settings apply.
        client.send(json!({"jsonrpc": "2.0", "id": id, "result": [{"model": name}]}));
        client.send(
            json!({"jsonrpc": "2.0", "id": 100 + number, "method": methods::SESSION_NEW, "params": {}}),
        );
        let came = client.until(&[client::is_answer]);
        let made = came.iter().find(|message| client::is_answer(message)).expect("an answer");
        assert_eq!(made["result"]["configOptions"][1]["currentValue"], name, "{came:#?}");
        client.send(json!({"jsonrpc": "2.0", "method": "workspace/didChangeConfiguration", "params": {"settings": null}}));
    }
    client.until(&[asks]);
    rig.stop();
}
