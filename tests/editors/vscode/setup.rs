//! A scene in VS Code: from no model to a first answer, without leaving the editor.
//!
//! The service is on loopback; no other service is contacted.

use std::fs;

use adjutant_testkit::model::Reply;
use serde_json::json;

use super::{Code, chat};
use crate::scenes;
use crate::stage::{Stage, wait_for, wait_or};

const KEY: &str = "sk-a-key-that-nobody-may-see";

/// Answers the questions from the choice of a service to the model.
fn describe(code: &Code<'_>, address: &str) {
    let shown = |part: &str| {
        wait_for(&format!("the row {part:?}"), || {
            code.do_("picks", json!([])).to_string().contains(part).then_some(())
        });
    };
    shown("another service");
    code.do_("pick", json!(["another service"]));
    code.do_("input", json!(["Address of its API", address]));
    code.do_("confirm", json!([]));
    shown("Type the key");
    code.do_("pick", json!(["Type the key"]));
    code.do_("input", json!(["It is not shown", KEY]));
    code.picture("setup-key");
    code.do_("confirm", json!([]));
    code.do_("input", json!(["as the service calls it", "m1"]));
    code.do_("confirm", json!([]));
}

fn told(code: &Code<'_>, part: &str) {
    wait_for(&format!("a notification with {part:?}"), || {
        code.do_("popups", json!([])).to_string().contains(part).then_some(())
    });
}

#[test]
fn p26_the_chat_without_a_model_leads_to_one_and_to_a_first_answer() {
    let replies = [Reply::status(401), Reply::text("ok"), Reply::text("Hello.")];
    let stage = Stage::new("//- /greet.py\nprint(1)\n", replies);
    stage.workspace.config("# Mine.\n");
    let address = stage.model.base_url();
    let code = Code::open(&stage, scenes::FILE);
    code.do_("palette", json!(["Adjutant: Open Chat"]));
    let shown = wait_for("the one step", || {
        let shown = code.chat();
        shown["items"].to_string().contains("No model is set up yet").then_some(shown)
    });
    assert_eq!((&shown["box"], &shown["cut"]), (&json!(false), &json!(0)), "{shown:#}");
    chat::wait_usable(&code, "setup-empty");
    code.do_("chatPress", json!(["Add a Provider"]));
    describe(&code, &address);
    told(&code, "the key that you typed was refused by provider");
    assert_eq!(fs::read_to_string(stage.workspace.config_file()).unwrap(), "# Mine.\n");
    code.picture("setup-refused");
    code.do_("press", json!(["Try Again"]));
    describe(&code, &address);
    told(&code, "service/m1 is the model of new conversations");
    let text = fs::read_to_string(stage.workspace.config_file()).unwrap();
    assert!(text.contains("# Mine.") && text.contains("api_key_file = \"service-"), "{text}");
    wait_for("the box", || (code.chat()["box"] == true).then_some(()));
    code.say_in_chat("Say hello");
    code.wait_chat(&["prompt: Say hello With its place in the file", "reply: Hello.", "end: Done"]);
    let sent = &stage.model.requests()[2];
    assert_eq!(sent.header("authorization"), Some(format!("Bearer {KEY}").as_str()));

    // The list of models begins with the same way.
    code.do_("palette", json!(["Adjutant: Choose Model, Mode or Effort…"]));
    wait_for("what there is to choose", || {
        code.do_("picks", json!([])).to_string().contains("Mode").then_some(())
    });
    code.do_("pick", json!(["Model"]));
    let rows = wait_for("the models", || {
        let rows = code.do_("picks", json!([]));
        rows.to_string().contains("service/m1").then_some(rows)
    });
    assert!(rows[0].to_string().contains("Add a provider…"), "{rows}");
    code.picture("setup-models");
    code.do_("pick", json!(["Add a provider…"]));
    wait_for("the services", || {
        code.do_("picks", json!([])).to_string().contains("OpenRouter").then_some(())
    });
}

/// Waits until these steps of the walkthrough are the ones that are checked.
fn wait_checked(code: &Code<'_>, wanted: &[&str]) {
    let mut last = serde_json::Value::Null;
    let checked = || {
        last = code.do_("walkthroughDone", json!([]));
        (last == json!(wanted)).then_some(())
    };
    wait_or(checked).unwrap_or_else(|| panic!("checked are {last}, not {wanted:?}"));
}

/// VS Code never counts a condition that was true before its page of the walkthrough was opened.
#[test]
fn p26_the_walkthrough_checks_what_is_set_up_before_it_is_opened() {
    let stage = Stage::new("//- /greet.py\nprint(1)\n", [Reply::text("Hello.")]);
    let code = Code::open(&stage, scenes::FILE);
    // The server runs, has a model, and did a task before anyone looked.
    code.do_("chatOpen", json!([]));
    code.say_in_chat("Say hello");
    code.wait_chat(&["prompt: Say hello With its place in the file", "reply: Hello.", "end: Done"]);
    code.do_("walkthroughOpen", json!(["Begin with Adjutant"]));
    wait_checked(&code, &["Find the program", "Choose a model", "Give the first task"]);
    code.picture("walkthrough");
}

#[test]
fn p26_the_walkthrough_checks_a_step_while_it_is_open_and_none_that_is_not_done() {
    let stage = Stage::new("//- /greet.py\nprint(1)\n", [Reply::text("Hello.")]);
    let with_model = fs::read_to_string(stage.workspace.config_file()).unwrap();
    stage.workspace.config("");
    let code = Code::open(&stage, scenes::FILE);
    code.do_("walkthroughOpen", json!(["Begin with Adjutant"]));
    wait_checked(&code, &["Find the program"]);
    stage.workspace.config(&with_model);
    code.do_("palette", json!(["Adjutant: Restart the Server"]));
    wait_checked(&code, &["Find the program", "Choose a model"]);
}
