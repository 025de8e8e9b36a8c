//! Runs that start at a place in the editor: `agent/start`, the command, and the prompt that the model gets.
//!
//! Never trusts the reply alone; also reads the request to the model.

use adjutant_protocol::methods;
use adjutant_protocol::start::StartResult;
use adjutant_protocol::update::{RunView, Update};
use adjutant_testkit::editor::{Editor, Encoding};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::{Value, json};

use crate::plain::{Plain, at, problem, range};
use crate::rig::{Rig, refused, tools_offered};
use crate::stage::edit;

const FILE: &str = "//- /src/a.rs\nfn main() {\n    let x = 1\n}\n";

fn start(editor: &Editor, params: Value) -> StartResult {
    editor.call(methods::START, params)
}

/// Returns the title of the run that started last.
fn title(rig: &Rig) -> String {
    let started = rig.await_update(|update| matches!(update.update, Update::Run(RunView::Started { .. })));
    match started.update {
        Update::Run(RunView::Started { title, .. }) => title,
        _ => unreachable!("only a start matches"),
    }
}

fn rich(turns: impl IntoIterator<Item = Reply>) -> (ModelServer, Workspace, Rig) {
    let model = ModelServer::start(turns);
    let workspace = Workspace::new(FILE);
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    (model, workspace, rig)
}

#[test]
fn n08_fix_this_on_a_diagnostic_makes_a_reviewed_edit_from_one_action() {
    let turns = [edit("src/a.rs", "let x = 1", "let x = 1;"), Reply::text("Done.")];
    let plain = Plain::new(FILE, turns);
    plain.rig.open("src/a.rs");
    let diagnostics = json!([problem(range((1, 13), (1, 13)), "expected `;`, found `}`")]);
    let actions =
        plain.actions("src/a.rs", at(1, 13), json!({ "diagnostics": diagnostics, "triggerKind": 2 }));
    let fix = &actions[0];
    assert_eq!(fix["title"], "Adjutant: Fix: expected `;`, found `}`", "{actions:?}");
    assert_eq!((&fix["kind"], &fix["diagnostics"]), (&json!("quickfix.agent.fix"), &diagnostics));
    let started = plain.pick(fix).expect("the action is executed");

    let prompt = plain.told(0);
    assert!(prompt.starts_with("Fix this problem in src/a.rs."), "{prompt}");
    assert!(prompt.contains("- error at line 2 [rustc E0001]: expected `;`, found `}`"), "{prompt}");
    assert!(prompt.contains("2\t    let x = 1\n"), "{prompt}");
    // The edit is reviewed: nothing changes before the user allows it.
    let allow = plain.await_action("src/a.rs", "Adjutant: Yes, apply: edit src/a.rs (+1 -1)");
    assert_eq!(plain.rig.text_of("src/a.rs"), "fn main() {\n    let x = 1\n}\n");
    plain.pick(&allow).expect("the answer is accepted");
    plain.finish(&started);
    assert_eq!(plain.rig.text_of("src/a.rs"), "fn main() {\n    let x = 1;\n}\n");
    assert_eq!(plain.workspace.read("src/a.rs"), "fn main() {\n    let x = 1\n}\n", "the edit is not saved");
    plain.rig.end();
}

#[test]
fn n08_the_model_sees_unsaved_text_and_not_what_is_typed_later() {
    let plain = Plain::new(FILE, [Reply::text("Done.")]);
    plain.rig.open("src/a.rs");
    plain.rig.type_at("src/a.rs", 0, "// unsaved\n");
    let action = plain.await_action("src/a.rs", "Adjutant: Write tests");
    let id = {
        let params = json!({
            "command": action["command"]["command"], "arguments": action["command"]["arguments"],
        });
        plain.rig.request_nowait("workspace/executeCommand", params)
    };
    plain.rig.type_at("src/a.rs", 0, "// too late\n");
    let started = plain.rig.await_response(&id).expect("the run starts");
    let prompt = plain.told(0);
    assert!(prompt.contains("1\t// unsaved\n2\tfn main() {"), "{prompt}");
    assert!(!prompt.contains("too late"), "{prompt}");
    plain.finish(&started);
    plain.rig.end();
}

#[test]
fn n08_a_selection_means_the_same_text_in_three_encodings() {
    for (encoding, from, to) in
        [(Encoding::Utf8, 15, 21), (Encoding::Utf16, 11, 14), (Encoding::Utf32, 10, 12)]
    {
        let plain = Plain::counting("//- /a.txt\nlet é🙂 = «é🙂»;\n", [Reply::text("A text.")], encoding);
        plain.rig.open("a.txt");
        let selected = range((0, from), (0, to));
        let arguments =
            json!([{ "template": "explain", "uri": plain.workspace.uri("a.txt"), "range": selected }]);
        let started = plain.command("adjutant.start", arguments).expect("the run starts");
        let prompt = plain.told(0);
        assert!(prompt.contains("The user is at `é🙂` in line 1 of a.txt"), "{encoding:?}: {prompt}");
        plain.finish(&started);
        plain.rig.end();
    }
}

#[test]
fn n08_a_comment_is_done_and_explain_cannot_change_anything() {
    let (model, workspace, rig) = rich([Reply::text("Sorted."), Reply::text("It says hello.")]);
    rig.open("src/a.rs");
    rig.type_at("src/a.rs", 12, "    // NOW: greet the user\n");
    let uri = workspace.uri("src/a.rs");
    let place = json!({ "template": "comment", "uri": uri, "range": at(1, 8) });
    let done = start(&rig, place);
    assert_eq!(title(&rig), "Comment: NOW: greet the user");
    rig.await_run_end(&done.session_id, &done.run_id);
    assert!(tools_offered(&model.requests()[0]).contains(&"edit_file".to_owned()));

    let explain =
        json!({ "template": "explain", "uri": uri, "range": range((0, 0), (3, 0)), "symbol": "main" });
    let done = start(&rig, explain);
    assert_eq!(title(&rig), "Explain: main in src/a.rs");
    rig.await_run_end(&done.session_id, &done.run_id);
    let offered = tools_offered(&model.requests()[1]);
    assert!(offered.contains(&"read_file".to_owned()), "{offered:?}");
    for tool in ["edit_file", "write_file", "run_command"] {
        assert!(!offered.contains(&tool.to_owned()), "{offered:?}");
    }
    rig.end();
}

/// A start at a place took a session out of the mode that was chosen for it.
#[test]
fn n08_a_start_keeps_the_mode_of_its_session_unless_it_says_one() {
    let (model, workspace, rig) = rich(["Read.", "Fixed.", "Explained.", "Edited."].map(Reply::text));
    let session = rig.new_session();
    let choose = |mode: &str| {
        let params = json!({ "sessionId": session, "configId": "mode", "value": mode });
        rig.request(methods::SESSION_SET_CONFIG_OPTION, params).expect("the mode is chosen");
    };
    let uri = workspace.uri("src/a.rs");
    let place = json!({ "sessionId": session, "uri": uri, "range": range((0, 0), (1, 0)) });
    let with = |more: Value| {
        let mut params = place.clone();
        params.as_object_mut().expect("params").extend(more.as_object().cloned().unwrap_or_default());
        let done = start(&rig, params);
        rig.await_run_end(&done.session_id, &done.run_id);
        let offered = tools_offered(model.requests().last().expect("a request"));
        offered.contains(&"edit_file".to_owned())
    };
    choose("ask");
    assert!(!with(json!({ "text": "look" })), "a text of the user");
    assert!(
        !with(json!({ "template": "fix", "text": "it is wrong" })),
        "a template without a mode of its own"
    );
    choose("code");
    assert!(!with(json!({ "template": "explain" })), "a template with a mode of its own");
    assert!(with(json!({ "text": "edit" })), "that mode was for one run");
    rig.end();
}

#[test]
fn n08_the_origin_of_a_start_is_told_with_its_run() {
    let (_model, workspace, rig) = rich([Reply::text("Done.")]);
    let uri = workspace.uri("src/a.rs");
    let diagnostics = json!([problem(range((1, 4), (1, 7)), "unused"), problem(at(0, 0), "also")]);
    let done = start(&rig, json!({ "template": "fix", "uri": uri, "diagnostics": diagnostics }));
    let started = rig.await_update(|update| matches!(update.update, Update::Run(RunView::Started { .. })));
    let Update::Run(RunView::Started { title, origin, .. }) = started.update else { unreachable!() };
    assert_eq!(title, "Fix: 2 problems in src/a.rs");
    assert_eq!(json!(origin), json!({ "uri": uri, "range": range((1, 4), (1, 7)) }));
    rig.await_run_end(&done.session_id, &done.run_id);
    rig.end();
}

#[test]
fn n08_two_starts_at_once_are_two_sessions_and_a_key_makes_them_one() {
    let turns = ModelServer::answering(|_| Reply::text("Done."));
    let workspace = Workspace::new(FILE);
    workspace.openai(&turns.base_url());
    let rig = Rig::start(&workspace);
    let both: Vec<_> = (0..2).map(|_| rig.request_nowait(methods::START, json!({ "text": "Go." }))).collect();
    let both: Vec<Value> = both.iter().map(|id| rig.await_response(id).expect("the run starts")).collect();
    assert_ne!(both[0]["sessionId"], both[1]["sessionId"]);

    // The text of the document changes between the two starts, but the request is the same.
    rig.open("src/a.rs");
    let keyed = json!({ "text": "Go.", "key": "k", "uri": workspace.uri("src/a.rs"), "range": at(0, 0) });
    let first = start(&rig, keyed.clone());
    rig.type_at("src/a.rs", 0, "// new\n");
    assert_eq!(start(&rig, keyed.clone()), first);
    let mut other = keyed;
    other["text"] = json!("Stop.");
    let (_, name) = refused(rig.try_call::<StartResult>(methods::START, other));
    assert_eq!(name, "KeyReused");
    for started in &both {
        let id = |name: &str| started[name].as_str().unwrap_or_default().to_owned();
        rig.await_run_end(&id("sessionId").as_str().into(), &id("runId").as_str().into());
    }
    rig.await_run_end(&first.session_id, &first.run_id);
    rig.end();
}

#[test]
fn s90_a_cancel_right_behind_a_start_cancels_it() {
    for at_a_place in [false, true] {
        let plain = Plain::new(FILE, [Reply::never()]);
        plain.rig.open("src/a.rs");
        let place = json!({ "text": "Go.", "uri": plain.workspace.uri("src/a.rs"), "range": at(0, 0) });
        let arguments = if at_a_place { json!([place]) } else { json!(["Go."]) };
        let params = json!({ "command": "adjutant.start", "arguments": arguments });
        let start = plain.rig.request_nowait("workspace/executeCommand", params);
        let cancelled = plain.command("adjutant.cancel", json!([])).expect("the start is cancelled");
        let started = plain.rig.await_response(&start).expect("the run starts");
        assert_eq!(cancelled["cancelled"][0]["runId"], started["runId"], "{cancelled}");
        assert_eq!(json!(plain.finish(&started).outcome), "cancelled");
        plain.rig.end();
    }
}

#[test]
fn n08_a_place_that_cannot_be_worked_on_is_refused_by_name_and_leaves_no_session() {
    let (_model, workspace, rig) = rich([]);
    let outside = workspace.write_beside("secret.txt", "x\n");
    let outside = format!("file://{}", outside.display());
    rig.open("src/a.rs");
    let of = |uri: &str, place: Value| json!({ "template": "explain", "uri": uri, "range": place });
    let inside = workspace.uri("src/a.rs");
    for (params, why) in [
        (of(&outside, at(0, 0)), "outside the workspace"),
        (of("untitled:Untitled-1", at(0, 0)), "save it in the workspace first"),
        (of(&workspace.uri("none.rs"), at(0, 0)), "does not exist"),
        (of(&workspace.uri("src"), at(0, 0)), "directory"),
        (of(&inside, range((1, 0), (0, 0))), "reversed"),
        (json!({ "template": "fix", "uri": inside, "range": at(0, 0) }), "give `diagnostics`"),
        (json!({ "template": "comment", "uri": inside, "range": at(0, 0) }), "no comment at line 1"),
        (json!({}), "say what to do"),
        (json!({ "text": "x", "verb": "fix" }), "verb"),
    ] {
        let error = rig.try_call::<Value>(methods::START, params.clone()).expect_err("it is refused");
        assert!(error.code == -32602 && error.message.contains(why), "{params}: {error}");
    }
    // A change with a wrong version cannot be applied, so the text is not known any more.
    let change = json!({
        "textDocument": { "uri": inside, "version": 1 },
        "contentChanges": [{ "range": at(0, 0), "text": "x" }],
    });
    rig.notify("textDocument/didChange", change);
    let error = rig.try_call::<Value>(methods::START, of(&inside, at(0, 0))).expect_err("it is refused");
    assert!(error.message.contains("is not known"), "{error}");
    assert_eq!(rig.request(methods::SESSION_LIST, json!({})), Ok(json!({ "sessions": [] })));
    rig.end();
}

#[test]
fn n08_without_a_model_the_user_is_told_what_to_set() {
    let workspace = Workspace::new(FILE);
    let options = adjutant_testkit::editor::Options::new(&workspace);
    let rig = Rig::start_with(&workspace, options.capabilities(crate::plain::capabilities()));
    let params = json!({ "command": "adjutant.start", "arguments": ["fix", "it"] });
    let (_, name) = refused(rig.request("workspace/executeCommand", params));
    assert_eq!(name, "ProviderUnavailable");
    let message = rig.await_message();
    assert!(message.contains("model"), "{message}");
    assert_eq!(rig.request(methods::SESSION_LIST, json!({})), Ok(json!({ "sessions": [] })));
    rig.end();
}

#[test]
fn n08_a_file_that_may_hold_secrets_is_not_sent_unasked() {
    let plain = Plain::new("//- /.env\nTOKEN=hunter2\n", [Reply::text("Settings.")]);
    plain.rig.open(".env");
    let arguments = json!([{ "template": "explain", "uri": plain.workspace.uri(".env"), "range": at(0, 0) }]);
    let started = plain.command("adjutant.start", arguments).expect("the run starts");
    plain.finish(&started);
    let prompt = plain.told(0);
    assert!(prompt.contains("line 1 of .env") && !prompt.contains("hunter2"), "{prompt}");
    plain.rig.end();
}
