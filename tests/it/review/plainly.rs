//! The review in editors that draw no changes themselves: code actions, hovers and code lenses of the language server protocol.

use adjutant_testkit::editor::Capabilities;

use super::*;

/// An editor without a plugin that has these capabilities too.
fn editor(extra: Value) -> Capabilities {
    let mut capabilities = plain::capabilities();
    for (name, value) in extra.as_object().expect("capabilities") {
        match name.as_str() {
            "workspace" => capabilities.extra["workspace"] = value.clone(),
            _ => capabilities.extra["textDocument"][name] = value.clone(),
        }
    }
    capabilities
}

/// Lets a run number the lines of `a.txt`, without a question for the last three.
fn numbered(capabilities: Capabilities, task: &str) -> Plain {
    numbered_with(capabilities, task, None)
}

/// The same, with a prompt that steers the run while its first edit waits for an answer.
fn numbered_with(capabilities: Capabilities, task: &str, steering: Option<&str>) -> Plain {
    let edit = |old: &str, new: &str| json!({"path": "a.txt", "old_text": old, "new_text": new});
    let three = Reply::call("edit_file", edit("one\n", "1\n"))
        .and_call("edit_file", edit("two\n", "2\n"))
        .and_call("edit_file", edit("three\n", "3\n"));
    let first = edit_call("first.txt", "0\n", "zero\n");
    let plain = Plain::with(FILES, [first, three, Reply::text("Done.")], capabilities);
    plain.rig.open("a.txt");
    let started = plain.command("adjutant.start", json!([task])).expect("it is started");
    let always = plain.await_action("a.txt", "Adjutant: Yes, always");
    if let Some(text) = steering {
        let prompt = json!([{"text": text, "sessionId": started["sessionId"]}]);
        let steered = plain.command("adjutant.start", prompt).expect("it steers the run");
        assert_eq!(steered["runId"], started["runId"]);
    }
    plain.pick(&always).expect("the answer is accepted");
    plain.finish(&started);
    plain.rig.await_text("a.txt", EDITED);
    plain
}

fn hover(plain: &Plain, name: &str, line: u32) -> Option<(String, String)> {
    let params = json!({
        "textDocument": {"uri": plain.workspace.uri(name)}, "position": {"line": line, "character": 0},
    });
    let answer = plain.rig.request("textDocument/hover", params).expect("a hover is answered");
    let text = |name: &str| answer["contents"][name].as_str().unwrap_or_default().to_owned();
    (!answer.is_null()).then(|| (text("kind"), text("value")))
}

fn lenses(plain: &Plain, name: &str) -> Vec<Value> {
    let params = json!({"textDocument": {"uri": plain.workspace.uri(name)}});
    let answer = plain.rig.request("textDocument/codeLens", params).expect("lenses are answered");
    answer.as_array().cloned().unwrap_or_default()
}

fn drawn(lenses: &[Value]) -> Vec<(u64, &str)> {
    let one = |lens: &'_ Value| lens["range"]["start"]["line"].as_u64().unwrap_or(99);
    lenses.iter().map(|lens| (one(lens), title(&lens["command"]))).collect()
}

#[test]
fn n09_a_hover_says_who_wrote_a_line_and_whether_a_person_looked() {
    let markdown = json!({"hover": {"contentFormat": ["markdown", "plaintext"]}});
    let plain = numbered(editor(markdown.clone()), "number ```` them");
    let (kind, text) = hover(&plain, "a.txt", 5).expect("Adjutant wrote it");
    assert_eq!(kind, "markdown");
    for part in [
        "wrote it today:\n",
        "\ntask      number ```` them\n",
        "\nallowed   the answer that allowed all edits in this session\n",
        "\nreviewed  nobody has looked at it yet\n",
        "```diff\n-two\n```",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert!(text.starts_with("`````text\n"), "the task cannot end its block: {text}");
    assert_eq!(hover(&plain, "a.txt", 3), None, "a line of the user");
    // The user types inside and above: the words are about the line of now.
    plain.rig.replace("a.txt", "2\n", "2\nmine\n");
    plain.rig.replace("a.txt", "2\n", "two and a half\n");
    plain.rig.type_at("a.txt", 0, "top\n");
    let (_, text) = hover(&plain, "a.txt", 6).expect("it is inside a change");
    assert!(text.contains("You wrote this line, inside a change that "), "{text}");
    // Kept, and after a restart.
    let keep = |line: u32| json!([{"action": "keep", "uri": plain.workspace.uri("a.txt"), "line": line}]);
    plain.command("adjutant.review", keep(1)).expect("it is kept");
    let (_, text) = hover(&plain, "a.txt", 1).expect("Adjutant wrote it");
    assert!(text.contains("reviewed  a person kept it") && !text.contains("diff"), "{text}");
    for line in [6, 12] {
        plain.command("adjutant.review", keep(line)).expect("it is kept");
    }
    plain.rig.save("a.txt");
    let Plain { rig, model, workspace } = plain;
    rig.die();
    let options = Options::new(&workspace).capabilities(editor(json!({"hover": {}})));
    let plain = Plain { rig: Rig::start_with(&workspace, options), model, workspace };
    plain.rig.open("a.txt");
    let (kind, text) = hover(&plain, "a.txt", 1).expect("its log says it");
    assert_eq!(kind, "plaintext");
    assert!(text.contains("reviewed  a person kept it") && !text.contains("```\n"), "{text}");
    plain.rig.end();
}

/// Each line names what the model had read when it wrote it, in the user's words and so that nothing of it is drawn.
#[test]
fn n09_a_hover_says_the_prompts_on_which_a_line_was_written() {
    let markdown = json!({"hover": {"contentFormat": ["markdown"]}});
    let task = "number them\n\n````\n[all](command:quit) of \u{202e}them";
    let plain = numbered_with(editor(markdown), task, Some("no zero"));
    let words = "\nprompt    number them ```` [all]\\u{28}command:quit) of \\u{202e}them\n";
    let (_, first) = hover(&plain, "first.txt", 0).expect("Adjutant wrote it");
    assert!(first.contains(words) && !first.contains("no zero"), "{first}");
    let (_, later) = hover(&plain, "a.txt", 5).expect("Adjutant wrote it");
    assert!(later.contains(&format!("{words}prompt    no zero\n")), "{later}");
    for text in [first, later] {
        assert!(text.starts_with("`````text\n") && text.contains("\ntask      number them\n"), "{text}");
    }
    plain.rig.end();
}

#[test]
fn n09_a_hover_does_not_double_what_a_client_draws() {
    let announced = |capabilities: Capabilities| {
        let workspace = Workspace::new(FILES);
        let rig = Rig::start_with(&workspace, Options::new(&workspace).capabilities(capabilities));
        let result = rig.initialize_result()["capabilities"].clone();
        rig.end();
        (result["hoverProvider"].clone(), result["codeLensProvider"].clone())
    };
    let both = json!({"hover": {}, "codeLens": {}});
    assert_eq!(announced(editor(both.clone())), (json!(true), json!({"resolveProvider": false})));
    assert_eq!(announced(editor(json!({}))), (Value::Null, Value::Null));
    // A client that draws changes gets no lenses, and hovers only for lines that it does not draw any more.
    let drawing = Capabilities { extra: json!({"textDocument": both}), ..Capabilities::full() };
    assert_eq!(announced(drawing.clone()), (json!(true), Value::Null));
    let model = ModelServer::start([edit_call("b.txt", "four\n", "4\n"), Reply::text("Done.")]);
    let workspace = Workspace::new(FILES);
    workspace.openai(&model.base_url());
    let mut options = Options::new(&workspace).capabilities(drawing);
    options.capabilities.agent.as_mut().expect("a rich client").workspace.trusted = true;
    let plain = Plain { rig: Rig::start_with(&workspace, options), model, workspace };
    plain.rig.open("b.txt");
    let session = plain.rig.new_session();
    let run = plain.rig.prompt(&session, "number it").run_id;
    plain.rig.await_run_end(&session, &run);
    assert_eq!(hover(&plain, "b.txt", 0), None);
    plain.command("adjutant.review", json!(["keep"])).expect("it is kept");
    let (_, text) = hover(&plain, "b.txt", 0).expect("it is not drawn any more");
    assert!(text.contains("a person kept it"), "{text}");
    plain.rig.end();
}

/// The actions are asked for in the moment in which the document is opened, as a user does who goes to a file for its change.
#[test]
fn n03_what_is_opened_has_its_decisions_at_once() {
    let plain = numbered(plain::capabilities(), "number them");
    let keep = "Adjutant: Yes, keep change (+1 −1)".to_owned();
    plain.rig.open("b.txt");
    plain.rig.save("a.txt");
    plain.rig.close("a.txt");
    for _ in 0..10 {
        // What is typed is looked at just before.
        plain.rig.type_at("b.txt", 0, "more\n");
        plain.rig.open("a.txt");
        let titles = plain.titles("a.txt", at(0, 0));
        assert!(titles.contains(&keep), "{titles:?}");
        plain.rig.close("a.txt");
    }
    plain.rig.end();
}

#[test]
fn n03_code_lenses_keep_and_undo_where_an_editor_has_them() {
    let lens = json!({"codeLens": {}, "workspace": {"codeLens": {"refreshSupport": true}}});
    let plain = numbered(editor(lens), "number them");
    plain.rig.await_refresh("workspace/codeLens/refresh");
    let (undo, keep) = ("Adjutant: Undo change (+1 −1)", "Adjutant: Yes, keep change (+1 −1)");
    let now = lenses(&plain, "a.txt");
    assert_eq!(drawn(&now), [(0, undo), (0, keep), (5, undo), (5, keep), (10, undo), (10, keep)]);
    let mut titles: Vec<&str> = drawn(&now).into_iter().map(|(_, title)| title).collect();
    titles.sort_unstable();
    assert!(titles[0].contains("Undo"), "no approval is first where titles are sorted");
    // At each version of the text they are where the change is.
    plain.rig.type_at("a.txt", 0, "top\n");
    let now = lenses(&plain, "a.txt");
    assert_eq!(drawn(&now)[2..4], [(6, undo), (6, keep)]);
    plain.pick(&now[2]).expect("it is undone");
    assert_eq!(plain.rig.text_of("a.txt"), "top\n1\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\n3\n");
    plain.rig.await_refresh("workspace/codeLens/refresh");
    let now = lenses(&plain, "a.txt");
    assert_eq!(drawn(&now).len(), 4);
    // One that the user changed says so, and drops only the text that was shown.
    plain.rig.replace("a.txt", "3\n", "3!\n");
    plain.pick(&now[2]).expect("it is answered");
    assert!(plain.rig.text_of("a.txt").ends_with("3!\n"), "an undo for another text is refused");
    plain.rig.await_message();
    let now = lenses(&plain, "a.txt");
    assert_eq!(drawn(&now)[2], (11, "Adjutant: Undo change with your line (+1 −1)"));
    plain.pick(&now[2]).expect("it is undone");
    assert!(plain.rig.text_of("a.txt").ends_with("three\n"));
    assert_eq!(lenses(&plain, "b.txt"), [Value::Null; 0], "no lens on a document that is not open");
    plain.rig.end();
}

#[test]
fn n21_edits_carry_a_label_where_the_editor_shows_whose_they_are() {
    let able =
        json!({"workspace": {"workspaceEdit": {"documentChanges": true, "changeAnnotationSupport": {}}}});
    let plain = numbered(editor(able), "number them");
    let edit = plain.rig.applies().last().expect("an edit").params["edit"].clone();
    let annotation = &edit["changeAnnotations"]["adjutant"];
    assert_eq!(annotation["needsConfirmation"], json!(false));
    let label = annotation["label"].as_str().expect("a label");
    assert!(label == "Adjutant: Edit a.txt", "{label}");
    let edits = edit["documentChanges"][0]["edits"].as_array().expect("edits");
    assert_eq!(edits.len(), 3);
    assert!(edits.iter().all(|edit| edit["annotationId"] == "adjutant" && edit["newText"].is_string()));
    plain.rig.end();
    let plain = numbered(plain::capabilities(), "number them");
    let edit = plain.rig.applies().last().expect("an edit").params["edit"].to_string();
    assert!(!edit.contains("nnotation"), "{edit}");
    plain.rig.end();
}

#[test]
fn n01_an_editor_without_a_plugin_keeps_and_undoes_changes_by_code_actions() {
    let edit = |old: &str, new: &str| json!({"path": "a.txt", "old_text": old, "new_text": new});
    let three = Reply::call("edit_file", edit("one\n", "1\n"))
        .and_call("edit_file", edit("two\n", "2\n"))
        .and_call("edit_file", edit("three\n", "3\n"));
    let plain = Plain::with(FILES, [edit_call("first.txt", "0\n", "zero\n"), three, Reply::text("Done.")], {
        let published = json!({"publishDiagnostics": {"dataSupport": true, "versionSupport": true}});
        let mut capabilities = plain::capabilities();
        capabilities.extra["textDocument"]["publishDiagnostics"] = published["publishDiagnostics"].clone();
        capabilities
    });
    plain.rig.open("a.txt");
    let started = plain.command("adjutant.start", json!(["number", "them"])).expect("it is started");
    let always = plain.await_action("a.txt", "Adjutant: Yes, always");
    plain.pick(&always).expect("the answer is accepted");
    plain.finish(&started);
    plain.rig.await_text("a.txt", EDITED);
    // Each change is marked, and says by itself what it is.
    let marks = plain.rig.await_diagnostics(&plain.workspace.uri("a.txt"), 3);
    let marked: Vec<(u64, u64)> = marks
        .iter()
        .map(|mark| {
            (mark["range"]["start"]["line"].as_u64().unwrap_or(99), mark["severity"].as_u64().unwrap_or(0))
        })
        .collect();
    assert_eq!(marked, [(0, 4), (5, 4), (10, 4)]);
    let words = marks[1]["message"].as_str().expect("a text");
    assert!(words.contains("number them") && words.contains("-two\n+2\n"), "{words}");
    let here = |line: u32| titles(&plain.actions("a.txt", at(line, 0), json!({"triggerKind": AUTOMATIC})));
    let one = ["Adjutant: Undo change (+1 −1)", "Adjutant: Yes, keep change (+1 −1)"];
    let all = ["Adjutant: Undo all 3 changes of this file", "Adjutant: Yes, keep all 3 changes of this file"];
    assert_eq!(here(5), [one, all].concat());
    assert_eq!(here(3), [""; 0]);
    // The user types above and inside: the action is at the line of now and says what it drops.
    plain.rig.replace("a.txt", "2\n", "2\nmine\n");
    plain.rig.type_at("a.txt", 0, "top\n");
    assert_eq!(here(6)[0], "Adjutant: Undo change (+1 −1)");
    plain.rig.replace("a.txt", "2\n", "2!\n");
    assert_eq!(here(6)[0], "Adjutant: Undo change with your line (+1 −1)");
    let pick = |line: u32, wanted: &str| {
        let actions = plain.actions("a.txt", at(line, 0), json!({"triggerKind": AUTOMATIC}));
        let action = actions.iter().find(|action| title(action).starts_with(wanted));
        plain
            .pick(action.unwrap_or_else(|| panic!("{wanted}: {:?}", titles(&actions))))
            .expect("it is decided")
    };
    pick(6, "Adjutant: Undo change with your line");
    assert_eq!(plain.rig.text_of("a.txt"), "top\n1\n.\n.\n.\n.\ntwo\nmine\n.\n.\n.\n.\n3\n");
    pick(1, "Adjutant: Yes, keep change");
    // By command, where an editor has no menu.
    let uri = plain.workspace.uri("a.txt");
    let decided = plain.command("adjutant.review", json!([{"action": "undo", "uri": uri}]));
    assert_eq!(decided, Ok(json!({"decided": 1, "refused": 0})));
    assert_eq!(plain.rig.text_of("a.txt"), "top\n1\n.\n.\n.\n.\ntwo\nmine\n.\n.\n.\n.\nthree\n");
    plain.rig.await_diagnostics(&uri, 0);
    assert!(plain.command("adjutant.review", json!(["keep"])).is_err(), "nothing is left");
    plain.rig.await_message();
    plain.rig.end();
}
