//! How a connection starts and ends.

use std::process::{Command, Stdio};
use std::time::Instant;

use adjutant_testkit::editor::{ApplyBehaviour, Capabilities, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::wait_until;
use serde_json::{Value, json};

use super::Seen;
use super::raw::{Heard, Raw, framed};
use crate::rig::Rig;
use crate::stage::{Stage, edit};

/// A command that ends only when it is killed.
pub const FOR_EVER: &str = "while :; do read word < /dev/null; done";

fn workspace() -> Workspace {
    Workspace::new("//- /a.txt\none\n")
}

/// Returns this answer as the only one, after checking that the server answers the next request too.
pub fn one_answer(raw: &mut Raw, answer: Value) -> Seen {
    let again = raw.request("again", "agent/session/list", Value::Null);
    assert_eq!(again["id"], "again");
    Seen::Heard(Heard { answers: vec![answer], lives: true, ..Heard::default() })
}

/// Starts a command that never ends; returns the server and the id of its session.
pub fn with_a_command(workspace: &Workspace, more: Value) -> (Raw, String) {
    workspace.script(&format!(
        "[[turn]]\ntext = \"I run it.\"\n[[turn.call]]\ntool = \"run_command\"\n\
         arguments = {{ command = \"{FOR_EVER}\" }}\n[[turn]]\ntext = \"Done.\"\n"
    ));
    let mut raw = Raw::start(workspace);
    raw.initialize(workspace, more);
    let session = raw.request("new", "agent/session/new", json!({}))["result"]["sessionId"].clone();
    let session = session.as_str().expect("a session is made").to_owned();
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "go"}]});
    assert!(raw.request("prompt", "agent/session/prompt", prompt)["result"].is_object());
    let mut count = 0;
    let ask = loop {
        count += 1;
        let asks = raw.request(&format!("asks-{count}"), "agent/ask/list", json!({"sessionId": session}));
        if let Some(ask) = asks["result"]["asks"][0]["askId"].as_str() {
            break ask.to_owned();
        }
        assert!(count < 10_000, "there is no ask for the command");
    };
    let answer = json!({"askId": ask, "optionId": "allow"});
    assert!(raw.request("allow", "agent/ask/respond", answer)["result"].is_object());
    wait_until("the command", || !raw.server.marked().is_empty());
    (raw, session)
}

/// Waits for the end of a server and of all its processes.
pub fn gone_soon(mut raw: Raw, since: Instant) -> Seen {
    let status = raw.server.wait();
    eprintln!("gone after {:?}", since.elapsed());
    assert_eq!(status.code(), Some(1), "it ends by itself\n{}", raw.server.stderr());
    wait_until("the end of its commands", || raw.server.marked().is_empty());
    Seen::Shown("exit_soon")
}

pub fn byte_by_byte() -> Seen {
    let workspace = workspace();
    let mut raw = Raw::start(&workspace);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}});
    for byte in framed(body.to_string().as_bytes()) {
        raw.bytes(&[byte]);
    }
    let answer = raw.answer(&json!(1));
    one_answer(&mut raw, answer)
}

pub fn request_before_initialize() -> Seen {
    let workspace = workspace();
    let mut raw = Raw::start(&workspace);
    let answer = raw.request("early", "agent/session/new", json!({}));
    let seen = Seen::Heard(Heard { answers: vec![answer], lives: true, ..Heard::default() });
    assert!(
        raw.initialize(&workspace, json!({}))["result"].is_object(),
        "the server can still be initialized"
    );
    seen
}

pub fn request_after_shutdown() -> Seen {
    let mut raw = Raw::initialized(&workspace());
    assert_eq!(raw.request("bye", "shutdown", Value::Null)["result"], Value::Null);
    let answer = raw.request("late", "agent/session/new", json!({}));
    one_answer(&mut raw, answer)
}

pub fn farewell() -> Seen {
    let workspace = workspace();
    let mut raw = Raw::initialized(&workspace);
    raw.request("bye", "shutdown", Value::Null);
    raw.notify("exit", Value::Null);
    // The input is still open.
    assert_eq!(raw.end().code(), Some(0));
    let mut rude = Raw::initialized(&workspace);
    rude.notify("exit", Value::Null);
    assert_eq!(rude.end().code(), Some(1), "exit without shutdown");
    Seen::Shown("exit_code_0")
}

/// Closes standard input, as the system does when the parent process is killed.
pub fn parent_killed() -> Seen {
    let workspace = workspace();
    let (mut raw, _) = with_a_command(&workspace, json!({}));
    raw.input = None;
    gone_soon(raw, Instant::now())
}

pub fn named_process_ends() -> Seen {
    let workspace = workspace();
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().expect("a process starts");
    let (raw, _) = with_a_command(&workspace, json!({"processId": child.id()}));
    let since = Instant::now();
    child.kill().expect("the test owns the process");
    child.wait().expect("it ends");
    gone_soon(raw, since)
}

pub fn named_process_unknown() -> Seen {
    let workspace = workspace();
    let mut child = Command::new("true").spawn().expect("a process starts");
    child.wait().expect("it ends");
    let mut raw = Raw::start(&workspace);
    raw.initialize(&workspace, json!({"processId": child.id()}));
    assert!(raw.request("new", "agent/session/new", json!({}))["result"].is_object());
    raw.request("bye", "shutdown", Value::Null);
    raw.notify("exit", Value::Null);
    assert_eq!(raw.end().code(), Some(0));
    Seen::Shown("stays")
}

pub fn initialize_in_wrong_shape_twice() -> Seen {
    let mut raw = Raw::start(&workspace());
    for id in ["one", "two"] {
        let refused = raw.request(id, "initialize", json!({"capabilities": []}));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    assert!(raw.request("three", "initialize", json!({"capabilities": {}}))["result"].is_object());
    let answer = raw.request("four", "initialize", json!({"capabilities": {}}));
    one_answer(&mut raw, answer)
}

pub fn root_of_another_scheme() -> Seen {
    let workspace = workspace();
    let model =
        ModelServer::start([Reply::call("read_file", json!({"path": "a.txt"})), Reply::text("Done.")]);
    workspace.openai(&model.base_url());
    let rig = Rig::connect(&workspace, Options::new(&workspace));
    let capabilities = json!({"experimental": {"agent": {"version": 0, "asks": {"request": true}}}});
    let params = json!({"processId": null, "rootUri": "http://x/", "capabilities": capabilities});
    rig.request("initialize", params).expect("it is answered");
    rig.notify("initialized", json!({}));
    let session = rig.new_session();
    rig.run_to_end(&session, "Read it.");
    let outputs = crate::rig::tool_outputs(&model.requests()[1]);
    assert!(!outputs[0].contains("one"), "no folder is the workspace: {outputs:?}");
    Seen::Shown("ok_no_workspace")
}

pub fn no_apply_edit() -> Seen {
    let stage = Stage::with(workspace(), |options| {
        options.capabilities(Capabilities { apply_edit: false, ..Capabilities::full() })
    });
    let stage = stage.answering("allow");
    stage.rig.set_apply(ApplyBehaviour::Faithful);
    stage.rig.open("a.txt");
    let outputs = stage.play([edit("a.txt", "one", "two")]);
    // The edit is sent anyway, and the text decides.
    assert!(outputs[0].starts_with("Edited a.txt"), "{outputs:?}");
    assert_eq!(stage.rig.text_of("a.txt"), "two\n");
    Seen::Shown("ok")
}

pub fn capabilities_of_the_future() -> Seen {
    let workspace = workspace();
    let mut raw = Raw::start(&workspace);
    let future = json!({"capabilities": {
        "window": {"hologram": true}, "textDocument": {"synchronization": {"telepathy": {"range": 5}}},
        "experimental": {"agent": {"version": 9, "asks": {"dreams": true}, "odours": []}, "else": 1},
    }, "later": {"x": null}});
    let answer = raw.initialize(&workspace, future);
    one_answer(&mut raw, answer)
}
