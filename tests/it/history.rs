//! The prompts of a folder, over the wire: whose they are, their order, their pages, and what they cost.
//!
//! Never looks into the server.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::time::{Duration, UNIX_EPOCH};

use adjutant::session::log::line;
use adjutant_protocol::SessionId;
use adjutant_protocol::history::PromptHistoryResult;
use adjutant_protocol::methods;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::{Value, json};

use crate::rig::Rig;
use crate::stage::edit;

/// Returns a page of the prompts of the workspace.
fn page(rig: &Rig, workspace: &Workspace, more: Value) -> PromptHistoryResult {
    let mut params = json!({ "cwd": workspace.uri("") });
    for (name, value) in more.as_object().into_iter().flatten() {
        params[name] = value.clone();
    }
    rig.call(methods::PROMPT_HISTORY, params)
}

fn texts(page: &PromptHistoryResult) -> Vec<&str> {
    page.prompts.iter().map(|prompt| prompt.text.as_str()).collect()
}

fn talking() -> (ModelServer, Workspace) {
    let model = ModelServer::answering(|_| Reply::text("Done."));
    let workspace = Workspace::new("//- /a.txt\nhello\n//- /sub/b.txt\nhello\n");
    workspace.openai(&model.base_url());
    (model, workspace)
}

#[test]
fn p27_the_history_is_what_the_user_wrote_in_this_folder_newest_first_in_pages() {
    let (_model, workspace) = talking();
    let rig = Rig::start(&workspace);
    let (first, second) = (rig.new_session(), rig.new_session());
    rig.run_to_end(&first, "one");
    rig.run_to_end(&second, "two\nin lines\n");
    rig.run_to_end(&first, "two\nin lines");
    rig.run_to_end(&first, " not this one");
    let uri = workspace.uri("a.txt");
    let place = json!({ "uri": uri, "range": {
        "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 5 } } });
    for (name, value) in [("text", "at a place"), ("template", "explain")] {
        let mut params = place.clone();
        params[name] = json!(value);
        let done: adjutant_protocol::start::StartResult = rig.call(methods::START, params);
        rig.await_run_end(&done.session_id, &done.run_id);
    }
    let elsewhere: adjutant_protocol::session::NewSessionResult =
        rig.call(methods::SESSION_NEW, json!({ "cwd": workspace.uri("sub") }));
    rig.run_to_end(&elsewhere.session_id, "in another folder");
    let whole = page(&rig, &workspace, json!({}));
    assert_eq!(texts(&whole), ["at a place", "two\nin lines", "one"]);
    assert_eq!(whole.before, None, "nothing is older");
    assert_eq!(whole.prompts[2].session_id, first);
    assert!(whole.prompts[0].at >= whole.prompts[1].at && whole.prompts[2].at > 0);

    let mut before = Value::Null;
    for (number, wanted) in ["at a place", "two\nin lines", "one"].into_iter().enumerate() {
        let one = page(&rig, &workspace, json!({ "limit": 1, "before": before }));
        assert_eq!(texts(&one), [wanted]);
        assert_eq!(one.before.is_some(), number < 2, "{one:?}");
        before = json!(one.before);
    }
    for wrong in [json!({ "limit": 0 }), json!({ "limit": 201 }), json!({ "before": "yesterday" })] {
        let mut params = json!({ "cwd": workspace.uri("") });
        params.as_object_mut().expect("params").extend(wrong.as_object().cloned().unwrap_or_default());
        let refused = rig.try_call::<Value>(methods::PROMPT_HISTORY, params).expect_err("it makes no sense");
        assert_eq!(refused.code, -32_602, "{wrong}: {}", refused.message);
    }
    rig.end();
}

/// Another process works in the session, which is locked.
#[test]
fn p27_the_history_of_a_session_that_is_at_work_elsewhere_is_read_and_nothing_is_opened() {
    let model = ModelServer::start([edit("a.txt", "hello", "bye"), Reply::text("Done.")]);
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    let busy = Rig::start(&workspace);
    let session = busy.new_session();
    let run = busy.prompt(&session, "change it").run_id;
    let ask = busy.await_ask();
    let rig = Rig::start(&workspace);
    assert_eq!(texts(&page(&rig, &workspace, json!({}))), ["change it"]);
    let locked = rig.try_call::<Value>(methods::SESSION_RESUME, json!({ "sessionId": session }));
    assert!(locked.is_err(), "the other process still has it");
    rig.end();
    busy.answer(&ask.ask_id, "reject");
    busy.await_run_end(&session, &run);
    busy.end();
}

/// Writes the log of a session with one prompt.
fn plant(workspace: &Workspace, number: u64) {
    let id = SessionId(format!("s-{number:016x}"));
    let dir = workspace.state_dir().join("sessions").join(&id.0);
    let mut private = fs::DirBuilder::new();
    private.recursive(true).mode(0o700).create(&dir).expect("make the folder of a session");
    let mut log = Vec::new();
    line::put_header(&mut log, &id.0, 1);
    line::put_epoch(&mut log, &id.0, 1, 1);
    let root = workspace.path().canonicalize().expect("the workspace");
    let created = json!({ "type": "session_created", "session": id, "roots": [root], "title": "t" });
    let text = format!("prompt {number}");
    let prompted = json!({ "type": "prompted", "run": "r", "message": "m", "text": text, "steer": false });
    line::put_record(&mut log, &id.0, (1, number * 1_000, false), &created).expect("a record");
    line::put_record(&mut log, &id.0, (2, number * 1_000, false), &prompted).expect("a record");
    let path = dir.join("events.jsonl");
    fs::write(&path, log).expect("write the log");
    let file = fs::File::options().write(true).open(path).expect("open the log");
    file.set_modified(UNIX_EPOCH + Duration::from_secs(number)).expect("set its time");
}

/// However many sessions there are, only the newest logs are read.
#[test]
fn p27_of_many_sessions_the_newest_are_looked_at() {
    const PLANTED: u64 = 300;
    let (_model, workspace) = talking();
    (1..=PLANTED).for_each(|number| plant(&workspace, number));
    let rig = Rig::start(&workspace);
    let mut found = Vec::new();
    let mut before = Value::Null;
    loop {
        let now = page(&rig, &workspace, json!({ "limit": 200, "before": before }));
        found.extend(now.prompts.iter().map(|prompt| prompt.text.clone()));
        before = json!(now.before);
        if before.is_null() {
            break;
        }
    }
    let newest: Vec<String> =
        (PLANTED - 255..=PLANTED).rev().map(|number| format!("prompt {number}")).collect();
    assert_eq!(found, newest);
    rig.end();
}
