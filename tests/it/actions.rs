//! Code actions and commands in an editor without a plugin: when each is offered, and that choosing it has its
//! effect.
//!
//! Never looks into the server: the tests read the offers as the editor receives them.

mod whole;

use adjutant_testkit::editor::Capabilities;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::wait_until;
use serde_json::{Value, json};

use crate::plain::{AUTOMATIC, INVOKED, Plain, at, problem, range, title, titles};
use crate::rig::tool_outputs;
use crate::stage::edit;

const FILE: &str = "//- /a.rs\n// NOW: say more\nfn main() {}\n//- /b.txt\nhello\n";

fn command(line: &str) -> Reply {
    Reply::call("run_command", json!({ "command": line }))
}

/// Returns a plain editor whose run waits for a silent model, and the result of `adjutant.start`.
fn under_way() -> (Plain, Value) {
    let plain = Plain::new(FILE, [Reply::never()]);
    plain.rig.open("a.rs");
    let started = plain.command("adjutant.start", json!(["say", "more"])).expect("it is started");
    plain.model.wait_for_requests(1);
    (plain, started)
}

#[test]
fn n08_verbs_are_offered_on_diagnostics_and_on_request_and_never_else() {
    let plain = Plain::new(FILE, []);
    plain.rig.open("a.rs");
    let asked = |place: Value, context: Value| titles(&plain.actions("a.rs", place, context));
    // The client asks by itself: a selection alone offers nothing.
    assert_eq!(asked(range((0, 0), (1, 0)), json!({ "triggerKind": AUTOMATIC })), [""; 0]);
    let on = json!({ "triggerKind": AUTOMATIC, "diagnostics": [problem(at(1, 3), "bad\nname")] });
    assert_eq!(asked(at(1, 3), on), ["Adjutant: Fix: bad name", "Adjutant: Explain: bad name"]);
    let own_diagnostic =
        json!([{ "range": at(1, 3), "source": "adjutant", "message": "Adjutant: asks", "severity": 3 }]);
    assert_eq!(asked(at(1, 3), json!({ "triggerKind": AUTOMATIC, "diagnostics": own_diagnostic })), [""; 0]);
    let all = ["Adjutant: Explain", "Adjutant: Write tests", "Adjutant: Do what this comment says"];
    assert_eq!(asked(at(0, 3), json!({ "triggerKind": INVOKED })), all);
    assert_eq!(asked(at(1, 3), json!({ "triggerKind": INVOKED })), all[..2]);
    let two = [problem(at(1, 3), "one"), problem(at(1, 4), "two")];
    let two = json!({ "triggerKind": INVOKED, "diagnostics": two });
    let fix = ["Adjutant: Fix these 2 problems", "Adjutant: Explain: one", "Adjutant: Write tests"];
    assert_eq!(asked(at(1, 3), two), fix);
    // The client filters by kind.
    assert_eq!(asked(at(0, 3), json!({ "triggerKind": INVOKED, "only": ["refactor.rewrite"] })), all);
    for none in ["source.organizeImports", "source.fixAll", "quickfix.other", "refactor.extract"] {
        assert_eq!(asked(at(0, 3), json!({ "triggerKind": INVOKED, "only": [none] })), [""; 0], "{none}");
    }
    // A document that is no file of the workspace gets no actions.
    let params = json!({
        "textDocument": { "uri": "untitled:1" }, "range": at(0, 0), "context": { "diagnostics": [] },
    });
    assert_eq!(plain.rig.request("textDocument/codeAction", params), Ok(json!([])));
    plain.rig.end();
}

#[test]
fn n08_what_an_action_carries_is_small_and_needs_no_second_question() {
    let plain = Plain::new(FILE, []);
    let result = plain.rig.initialize_result();
    let provider = &result["capabilities"]["codeActionProvider"];
    assert_eq!(provider["resolveProvider"], false, "{provider}");
    let long = "m".repeat(100_000);
    let many: Vec<Value> = (0..100).map(|_| problem(at(1, 3), &long)).collect();
    let actions = plain.actions("a.rs", at(1, 3), json!({ "triggerKind": INVOKED, "diagnostics": many }));
    for action in &actions {
        assert!(action["command"].to_string().len() < 10_000 && action["edit"].is_null());
        assert!(action["isPreferred"].is_null());
        let kinds = provider["codeActionKinds"].as_array().cloned().unwrap_or_default();
        assert!(kinds.contains(&action["kind"]), "{} is not among {kinds:?}", action["kind"]);
    }
    plain.rig.end();
    // A client that knows no kinds gets commands.
    let bare = Plain::with(FILE, [], Capabilities::plain());
    let actions = bare.actions("a.rs", at(0, 3), json!({ "triggerKind": INVOKED }));
    assert_eq!(actions[0]["command"], "adjutant.start", "{actions:?}");
    assert!(actions[0]["kind"].is_null());
    bare.rig.end();
}

#[test]
fn s03_n08_an_ask_is_answered_by_code_action_at_any_position() {
    let turns = [command("echo one > ran.txt"), edit("b.txt", "hello", "good bye"), Reply::text("Done.")];
    let plain = Plain::new(FILE, turns);
    plain.rig.open("a.rs");
    plain.rig.open("b.txt");
    let started = plain.command("adjutant.start", json!(["do", "both"])).expect("it is started");
    let allow = plain.await_action("b.txt", "Adjutant: Yes, once: run `echo one > ran.txt`");
    // Another document offers the same answer, but not to an automatic request without the ask's diagnostic.
    assert_eq!(title(&plain.await_action("a.rs", "Adjutant: Yes")), title(&allow));
    let unasked = plain.actions("b.txt", at(0, 0), json!({ "triggerKind": AUTOMATIC }));
    assert_eq!(titles(&unasked), [""; 0]);
    let actions = plain.actions("a.rs", at(0, 0), json!({}));
    assert!(title(&actions[0]).starts_with("Adjutant: Reject: run `echo"), "{:?}", titles(&actions));
    assert!(actions.iter().all(|action| action["isPreferred"].is_null()));
    assert!(!plain.workspace.exists("ran.txt"));
    plain.pick(&allow).expect("the answer is accepted");

    let reject = plain.await_action("a.rs", "Adjutant: Reject: edit b.txt (+1 -1)");
    assert!(plain.workspace.exists("ran.txt"));
    plain.pick(&reject).expect("the answer is accepted");
    plain.finish(&started);
    assert_eq!(plain.rig.text_of("b.txt"), "hello\n");
    let outputs = tool_outputs(&plain.model.requests()[2]);
    assert!(outputs[1].to_lowercase().contains("reject"), "{outputs:?}");
    plain.rig.end();
}

#[test]
fn s22_a_question_takes_an_answer_in_the_users_own_words_by_command() {
    let question = Reply::call("ask_user", json!({ "question": "Which one?", "options": ["red", "green"] }));
    let again = Reply::call("ask_user", json!({ "question": "And now?", "options": ["up", "down"] }));
    let plain = Plain::new(FILE, [question, again, Reply::text("Blue it is.")]);
    let started = plain.command("adjutant.start", json!(["paint"])).expect("it is started");
    plain.await_action("a.rs", "Adjutant: green: ");
    let done =
        plain.command("adjutant.respond", json!(["neither,", "take", "blue"])).expect("it is accepted");
    assert_eq!(done["status"], "accepted", "{done}");
    plain.await_action("a.rs", "Adjutant: down: ");
    plain.command("adjutant.respond", json!(["Down"])).expect("it is accepted");
    plain.finish(&started);
    let outputs = tool_outputs(&plain.model.requests()[2]);
    assert!(outputs[0].contains("neither, take blue") && outputs[1].contains("down"), "{outputs:?}");
    plain.rig.end();
}

#[test]
fn n08_a_run_is_cancelled_by_code_action_by_command_and_by_its_progress() {
    let (plain, started) = under_way();
    let cancel = plain.await_action("a.rs", "Adjutant: Cancel “say more”");
    assert_eq!(cancel["kind"], "source.agent.cancel");
    plain.pick(&cancel).expect("it is accepted");
    assert_eq!(json!(plain.finish(&started).outcome), "cancelled");
    plain.rig.end();

    let (plain, started) = under_way();
    let done = plain.command("adjutant.cancel", json!([])).expect("it is accepted");
    assert_eq!(done["cancelled"][0]["runId"], started["runId"], "{done}");
    assert_eq!(json!(plain.finish(&started).outcome), "cancelled");
    wait_until("the run to be over", || plain.titles("a.rs", at(1, 0)).len() == 2);
    assert!(plain.refused("adjutant.cancel", json!([])).contains("nothing runs"));
    plain.rig.end();

    // Two runs at once: `all` cancels both, and a message names both.
    let plain = Plain::new(FILE, [Reply::never(), Reply::never()]);
    let one = plain.command("adjutant.start", json!(["one"])).expect("it is started");
    let two = plain.command("adjutant.start", json!(["two"])).expect("it is started");
    plain.model.wait_for_requests(2);
    plain.command("adjutant.cancel", json!([{ "all": true }])).expect("it is accepted");
    let message = plain.rig.await_message();
    assert!(
        message.contains("2 runs") && message.contains("“one”") && message.contains("“two”"),
        "{message}"
    );
    for started in [one, two] {
        assert_eq!(json!(plain.finish(&started).outcome), "cancelled");
    }
    plain.rig.end();
}

#[test]
fn n08_a_prompt_by_command_steers_the_open_run_and_goes_on_after_it() {
    let turns = [command("echo hi"), Reply::text("Both done."), Reply::text("And more.")];
    let plain = Plain::new(FILE, turns);
    assert!(plain.refused("adjutant.prompt", json!(["go on"])).contains("nothing was started"));
    let started = plain.command("adjutant.start", json!(["first"])).expect("it is started");
    let allow = plain.await_action("a.rs", "Adjutant: Yes, once: run `echo hi`");
    let steered =
        plain.command("adjutant.prompt", json!([{ "text": "and second" }])).expect("it is accepted");
    assert_eq!(steered, started, "the same session, the same run");
    plain.pick(&allow).expect("the answer is accepted");
    plain.finish(&started);
    assert_eq!(plain.told(1), "and second");
    let next = plain.command("adjutant.prompt", json!(["third"])).expect("it is accepted");
    assert_eq!(next["sessionId"], started["sessionId"]);
    assert_ne!(next["runId"], started["runId"]);
    plain.finish(&next);
    assert_eq!(plain.told(2), "third");
    plain.rig.end();
}

#[test]
fn n08_bad_commands_and_arguments_are_refused_by_name_and_told_to_the_user() {
    let plain = Plain::new(FILE, []);
    for (name, arguments, why) in [
        ("adjutant.nothing", json!([]), "adjutant.start"),
        ("adjutant.start", json!([]), "say what to do"),
        ("adjutant.start", json!([{ "txt": "x" }]), "txt"),
        ("adjutant.start", json!([{ "template": "destroy" }]), "destroy"),
        ("adjutant.start", json!([["x"]]), "one object, or plain strings"),
        ("adjutant.prompt", json!([{ "text": "x", "run": "y" }]), "run"),
        ("adjutant.cancel", json!([{ "sesion": "x" }]), "sesion"),
        ("adjutant.cancel", json!(["run-0"]), "not open"),
        ("adjutant.respond", json!(["allow"]), "nothing is asked"),
        ("adjutant.respond", json!([{ "askId": "ask-0", "optionId": "allow" }]), "no ask has this id"),
        ("adjutant.show", json!([]), "nothing is asked"),
        ("adjutant.showTranscript", json!([]), "nothing was started"),
        ("adjutant.resume", json!([]), "waits to be resumed"),
    ] {
        let message = plain.refused(name, arguments.clone());
        assert!(message.contains(why), "{name} {arguments}: {message}");
    }
    assert_eq!(
        plain.rig.request("workspace/executeCommand", json!({ "command": 1 })).map_err(|e| e.code),
        Err(-32602)
    );
    plain.rig.end();
}

#[test]
fn s03_a_click_on_a_stale_action_changes_nothing_and_says_who_answered() {
    let plain = Plain::new(FILE, [command("echo ran > ran.txt"), Reply::text("Not done.")]);
    let started = plain.command("adjutant.start", json!(["run it"])).expect("it is started");
    let allow = plain.await_action("a.rs", "Adjutant: Yes, once: run");
    let ask = allow["command"]["arguments"][0]["askId"].clone();
    let reject = json!({ "askId": ask, "optionId": "reject" });
    plain.rig.call::<Value>(adjutant_protocol::methods::ASK_RESPOND, reject);
    let late = plain.pick(&allow).expect("a late answer is no error");
    assert_eq!(
        (&late["status"], &late["resolution"]["optionId"]),
        (&json!("already_resolved"), &json!("reject"))
    );
    let message = plain.rig.await_message();
    assert!(message.contains("answered before: rejected"), "{message}");
    plain.finish(&started);
    assert!(!plain.workspace.exists("ran.txt"));
    plain.rig.end();
}

#[test]
fn s03_several_questions_are_told_apart() {
    let model = ModelServer::answering(|request| match tool_outputs(request).is_empty() {
        true => command("echo x"),
        false => Reply::text("Done."),
    });
    let plain = Plain { model, ..Plain::new(FILE, []) };
    plain.workspace.openai(&plain.model.base_url());
    let Plain { rig, model, workspace } = plain;
    rig.end();
    let options =
        adjutant_testkit::editor::Options::new(&workspace).capabilities(crate::plain::capabilities());
    let rig = crate::rig::Rig::start_with(&workspace, options);
    let plain = Plain { rig, model, workspace };
    let runs: Vec<Value> =
        (0..2).map(|_| plain.command("adjutant.start", json!(["go"])).expect("it is started")).collect();
    let rejects = || {
        let actions = plain.actions("a.rs", at(0, 0), json!({}));
        actions.into_iter().filter(|action| title(action).starts_with("Adjutant: Reject")).collect::<Vec<_>>()
    };
    wait_until("both questions", || rejects().len() == 2);
    let message = plain.refused("adjutant.respond", json!(["reject"]));
    assert!(message.contains("2 questions are open") && message.contains("askId"), "{message}");
    for reject in rejects() {
        plain.pick(&reject).expect("it is accepted");
    }
    runs.iter().for_each(|run| drop(plain.finish(run)));

    plain.rig.end();
}

#[test]
fn finding_a2_an_approval_names_its_question_and_words_may_do_so() {
    let turns = [command("echo 1 >> ran.txt"), command("echo 2 >> ran.txt"), command("echo 3 >> ran.txt")];
    let plain = Plain::new(FILE, turns.into_iter().chain([Reply::text("Done.")]));
    let run = plain.command("adjutant.start", json!(["go"])).expect("it is started");
    let question = |line: &str| {
        let allow = plain.await_action("a.rs", &format!("Adjutant: Yes, once: run `{line}"));
        allow["command"]["arguments"][0]["askId"].as_str().unwrap_or_default().to_owned()
    };
    let first = question("echo 1");
    for unnamed in [
        json!(["allow"]),
        json!(["Allow", "once"]),
        json!(["yes,", "once"]),
        json!(["Yes, always"]),
        json!([{ "optionId": "allow" }]),
    ] {
        let message = plain.refused("adjutant.respond", unnamed.clone());
        assert!(
            message.contains("has to name its question") && message.contains(&first),
            "{unnamed}: {message}"
        );
    }
    assert!(!plain.workspace.exists("ran.txt"));
    let done = plain.command("adjutant.respond", json!([first, "yes,", "once"]));
    let done = done.expect("it names its question and uses the label of the button");
    assert_eq!(
        done["resolution"]["optionId"], "allow",
        "the answer is an option, not text for the model: {done}"
    );
    // The same answer again belongs to the closed question, not to the open one.
    let second = question("echo 2");
    let late = plain.command("adjutant.respond", json!([first, "allow"])).expect("it is late");
    assert_eq!(late["status"], "already_resolved", "{late}");
    plain.rig.await_message();
    plain.refused("adjutant.respond", json!([second]));
    plain.command("adjutant.respond", json!(["reject"])).expect("a rejection needs no name");
    question("echo 3");
    plain.command("adjutant.respond", json!(["not", "like", "this"])).expect("a text needs no name either");
    plain.finish(&run);
    assert_eq!(plain.workspace.read("ran.txt"), "1\n");
    let outputs = tool_outputs(&plain.model.requests()[3]);
    assert!(outputs[2].contains("not like this"), "{outputs:?}");
    plain.rig.end();
}

#[test]
fn finding_d4_a_client_that_does_not_say_why_it_asks_gets_no_light_bulb_on_every_line() {
    let plain =
        Plain::new("//- /a.rs\n// NOW: say more\nfn main() {}\n//- /a.md\n# Title\n<!-- do it -->\n", []);
    plain.rig.open("a.rs");
    plain.rig.open("a.md");
    let asked = |file: &str, place: Value, context: Value| titles(&plain.actions(file, place, context));
    // The cursor, and the line of the cursor.
    for line in [at(1, 3), range((1, 0), (1, 12)), range((1, 0), (2, 0))] {
        assert_eq!(asked("a.rs", line.clone(), json!({})), [""; 0], "{line}");
    }
    let says = "Adjutant: Do what this comment says";
    assert_eq!(asked("a.rs", at(0, 3), json!({})), [says]);
    let on = json!({ "diagnostics": [problem(at(1, 3), "bad")] });
    assert_eq!(asked("a.rs", at(1, 3), on), ["Adjutant: Fix: bad", "Adjutant: Explain: bad"]);
    // A selection of several lines is an explicit request.
    assert_eq!(
        asked("a.rs", range((0, 3), (1, 4)), json!({})),
        ["Adjutant: Explain", "Adjutant: Write tests", says]
    );
    let explicit = json!({ "triggerKind": INVOKED });
    assert!(!asked("a.md", at(0, 0), explicit.clone()).contains(&says.to_owned()), "a heading is no comment");
    assert!(asked("a.md", at(1, 0), explicit).contains(&says.to_owned()));
    plain.rig.end();
}

#[test]
fn n01_what_was_left_open_is_resumed_by_command() {
    let plain = Plain::new(FILE, [Reply::never(), Reply::text("Done after all."), Reply::text("More.")]);
    let started = plain.command("adjutant.start", json!(["the long work"])).expect("it is started");
    plain.model.wait_for_requests(1);
    let plain = plain.again();
    assert_eq!(plain.command("adjutant.resume", json!([])), Ok(started.clone()));
    assert_eq!(json!(plain.finish(&started).outcome), "stopped");
    let next = plain.command("adjutant.prompt", json!(["more"])).expect("the session continues");
    assert_eq!(next["sessionId"], started["sessionId"]);
    plain.finish(&next);
    plain.rig.end();
}
#[test]
fn n01_after_a_restart_what_was_left_open_is_offered_again() {
    let plain = Plain::new(FILE, [Reply::never(), Reply::text("Done after all.")]);
    let started = plain.command("adjutant.start", json!(["the long work"])).expect("it is started");
    plain.model.wait_for_requests(1);
    let plain = plain.again();
    let resume = plain.await_action("a.rs", "Adjutant: Resume: ");
    plain.await_action("a.rs", "Adjutant: Cancel “the long work”");
    plain.pick(&resume).expect("the answer is accepted");
    assert_eq!(json!(plain.finish(&started).outcome), "stopped");
    plain.rig.end();
}
