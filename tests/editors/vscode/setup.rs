//! A scene in VS Code: from no model to a first answer, without leaving the editor.
//!
//! The service is on loopback; no other service is contacted.

use std::fs;
use std::path::PathBuf;

use adjutant_testkit::model::Reply;
use serde_json::json;

use super::{Code, chat, driver};
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
    code.wait_chat(&["prompt: Say hello Sent with it", "reply: Hello.", "end: Done"]);
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
    let last = rows.as_array().and_then(|rows| rows.last()).cloned().unwrap_or_default();
    assert!(last.to_string().contains("Add a provider…"), "{rows}");
    code.picture("setup-models");
    code.do_("pick", json!(["Add a provider…"]));
    wait_for("the services", || {
        code.do_("picks", json!([])).to_string().contains("OpenRouter").then_some(())
    });
}

/// The settings of the machine, which all scenes share. Dropping it restores them.
struct Machine(String);

impl Machine {
    fn file() -> PathBuf {
        driver::output_folder().join("user/Machine/settings.json")
    }

    /// Sets the path of the program.
    fn with_program(path: &str) -> Machine {
        let before = fs::read_to_string(Machine::file()).expect("the driver has written it");
        fs::write(Machine::file(), json!({ "adjutant.server.path": path }).to_string()).expect("write it");
        Machine(before)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        fs::write(Machine::file(), &self.0).expect("write it");
    }
}

fn wait_draft(code: &Code<'_>, text: &str) {
    wait_for("the text in the box of the chat", || (code.chat()["draft"] == text).then_some(()));
}

#[test]
fn p26_without_the_program_the_ways_to_it_are_buttons_and_a_task_waits_in_the_chat() {
    let stage = Stage::new("//- /greet.py\nprint(1)\n", [Reply::text("Hello.")]);
    drop(Code::open(&stage, scenes::FILE));
    let machine = Machine::with_program("/nowhere/adjutant");
    let code = Code::open_at_once(&stage, scenes::FILE);
    told(&code, "there is no program “/nowhere/adjutant”. Set its path, or install it.");
    let popups = code.do_("popups", json!([])).to_string();
    assert!(popups.contains("Set Path") && popups.contains("Install…"), "{popups}");
    assert!(!popups.contains("create connection"), "{popups}");
    code.picture("setup-no-program");
    code.do_("command", json!(["Say hello"]));
    wait_draft(&code, "Say hello");
    code.do_("chatPress", json!(["Send"]));
    wait_for("the way to the program", || {
        code.chat().to_string().contains("Find the Program…").then_some(())
    });
    drop(machine);
    wait_for("the server", || code.status().split(" | ").any(|item| item == "Adjutant").then_some(()));
    assert_eq!(code.chat()["draft"], "Say hello");
    code.do_("chatPress", json!(["Send"]));
    code.wait_chat(&["prompt: Say hello Sent with it", "reply: Hello.", "end: Done"]);
}

#[test]
fn p26_a_task_that_is_given_without_a_model_waits_in_the_chat_beside_the_way_to_one() {
    let stage = Stage::new("//- /greet.py\nprint(1)\n", []);
    stage.workspace.config("# Mine.\n");
    let code = Code::open(&stage, scenes::FILE);
    for text in ["Say hello", "Say goodbye"] {
        code.do_("command", json!([text]));
        told(&code, "no model is configured");
    }
    wait_draft(&code, "Say hello\n\nSay goodbye");
    let shown = code.chat();
    assert!(shown["items"].to_string().contains("No model is set up yet"), "{shown:#}");
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
    code.wait_chat(&["prompt: Say hello Sent with it", "reply: Hello.", "end: Done"]);
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
