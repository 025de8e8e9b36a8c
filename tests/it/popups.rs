//! Asks as popups of a plain client: one popup at a time. Only a popup with the whole text can approve, and
//! only a pressed button is an answer.
//!
//! Reads at the model and on disk whether something ran, never from the popup.

mod doors;

use std::time::{Duration, Instant};

use adjutant_testkit::editor::{Capabilities, Options, Popup};
use adjutant_testkit::model::Reply;
use adjutant_testkit::process::wait_until;
use serde_json::{Value, json};

use crate::plain::Plain;
use crate::rig::tool_outputs;
use crate::stage::edit;

const FILE: &str = "//- /a.txt\nhello\n";

fn command(line: &str) -> Reply {
    Reply::call("run_command", json!({ "command": line }))
}

/// Returns a plain editor, and a run that asks once and then ends.
fn asking(asks: Reply) -> (Plain, Value) {
    let plain = Plain::new(FILE, [asks, Reply::text("Done.")]);
    let started = start(&plain);
    (plain, started)
}

fn start(plain: &Plain) -> Value {
    plain.command("adjutant.start", json!(["do", "it"])).expect("the run starts")
}

/// Returns the output of the run's only tool call, as the model gets it.
fn tool_output(plain: &Plain) -> String {
    let requests = plain.model.wait_for_requests(2);
    tool_outputs(&requests[1]).join("\n")
}

/// Returns the text of the last of `count` files that the user sees, and the params of that request.
fn shown(plain: &Plain, count: usize) -> (String, Value) {
    let params = plain.rig.await_shown(count);
    let uri = params["uri"].as_str().unwrap_or_default().to_owned();
    let path = adjutant_testkit::fixture::path_of_uri(&uri).expect("a file is shown");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("read {path:?}: {error}"));
    (text, params)
}

fn press_again(plain: &Plain, popup: &Popup, title: &str) -> Popup {
    plain.rig.press(popup, Some(title));
    plain.rig.await_popup()
}

#[test]
fn s03_d15_a_popup_shows_the_whole_and_an_approval_runs_it_once() {
    let (plain, started) = asking(command("echo said-so >> out.txt"));
    let popup = plain.rig.await_popup();
    assert!(popup.message.contains("echo said-so >> out.txt"), "{}", popup.message);
    assert!(popup.message.contains(&plain.workspace.path().display().to_string()), "{}", popup.message);
    assert_eq!(popup.actions[..3], ["Reject", "Show", "Yes, once"]);
    plain.rig.press(&popup, Some("Yes, once"));
    plain.finish(&started);
    assert_eq!(plain.workspace.read("out.txt"), "said-so\n");
    plain.rig.end();
}

#[test]
fn s03_an_edit_is_allowed_by_a_popup_and_made_in_the_buffer_alone() {
    let (plain, started) = asking(edit("a.txt", "hello", "good bye"));
    plain.rig.open("a.txt");
    let popup = plain.rig.await_popup();
    assert!(popup.message.contains("-hello\n+good bye"), "{}", popup.message);
    plain.rig.press(&popup, Some("Yes, once"));
    plain.finish(&started);
    assert_eq!(plain.rig.text_of("a.txt"), "good bye\n");
    assert_eq!(plain.workspace.read("a.txt"), "hello\n");
    plain.rig.end();
}

#[test]
fn d15_what_is_too_long_is_shown_first_and_then_allowed() {
    let line = format!("echo {} > out.txt", "word ".repeat(200));
    let (plain, started) = asking(command(&line));
    let popup = plain.rig.await_popup();
    assert_eq!(popup.actions, ["Reject", "Show"]);
    plain.rig.answer_popup(&popup, json!({ "title": "Yes, once" }));
    // The popup did not offer this button, so it is no answer. After an action of the user the popup comes back.
    plain.command("adjutant.capabilities", json!([])).expect("a result");
    plain.rig.await_message();
    let popup = plain.rig.await_popup();
    let whole = press_again(&plain, &popup, "Show");
    let (text, params) = shown(&plain, 1);
    assert!(text.trim_end().ends_with(&format!(":\n\n{}", line.trim_end())), "{text}");
    assert_eq!(params["takeFocus"], json!(false));
    assert_eq!(whole.actions[..3], ["Reject", "Show", "Yes, once"]);
    assert!(
        whole.message.contains("asks/"),
        "the popup names the file with the whole text: {}",
        whole.message
    );
    plain.rig.press(&whole, Some("Yes, once"));
    plain.finish(&started);
    assert!(plain.workspace.exists("out.txt"));
    plain.rig.end();
}

#[test]
fn d15_who_opens_no_documents_is_told_where_it_is() {
    let capabilities = Capabilities { show_document: false, ..crate::plain::capabilities() };
    let line = format!("echo {}", "word ".repeat(200));
    let plain = Plain::with(FILE, [command(&line), Reply::text("Done.")], capabilities);
    let started = start(&plain);
    let popup = plain.rig.await_popup();
    let whole = press_again(&plain, &popup, "Show");
    let message = plain.rig.await_message();
    let path = message.split_whitespace().last().expect("a path");
    let metadata = std::fs::metadata(path).unwrap_or_else(|error| panic!("{message}: {error}"));
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777, 0o600);
    plain.rig.press(&whole, Some("Reject"));
    plain.finish(&started);
    plain.rig.end();
}

#[test]
fn n02_nothing_but_an_offered_button_is_consent() {
    let (plain, started) = asking(command("echo no > out.txt"));
    let wrong = [
        json!(null),
        json!({ "title": "Yes" }),
        json!({ "title": "allow" }),
        json!("Yes, once"),
        json!({ "title": "Yes, once", "askId": "ask-of-somebody-else", "optionId": "allow" }),
    ];
    for answer in wrong {
        let popup = plain.rig.await_popup();
        plain.rig.answer_popup(&popup, answer);
        // A closed popup comes back only after an action of the user.
        plain.command("adjutant.capabilities", json!([])).expect("a result");
        plain.rig.await_message();
    }
    let popup = plain.rig.await_popup();
    assert_eq!(plain.model.requests().len(), 1, "the run waits");
    plain.rig.press(&popup, Some("Reject"));
    plain.finish(&started);
    assert!(
        !plain.workspace.exists("out.txt") && tool_output(&plain).contains("reject"),
        "{}",
        tool_output(&plain)
    );
    plain.rig.end();
}

#[test]
fn n02_buttons_that_lose_what_they_carry_are_known_by_their_title() {
    let without = json!({ "messageActionItem": { "additionalPropertiesSupport": false } });
    let mut capabilities = crate::plain::capabilities();
    capabilities.extra["window"] = json!({ "showMessage": without });
    let turns = [command("echo 1 > one.txt"), command("echo 2 > two.txt"), Reply::text("Done.")];
    let plain = Plain::with(FILE, turns, capabilities);
    let started = start(&plain);
    let popup = plain.rig.await_popup();
    plain.rig.press(&popup, Some("Yes, once"));
    let popup = plain.rig.await_popup();
    plain.rig.answer_popup(&popup, json!({ "title": "Yes, once" }));
    plain.finish(&started);
    assert!(plain.workspace.exists("one.txt") && plain.workspace.exists("two.txt"));
    plain.rig.end();
}

#[test]
fn d15_an_approval_that_nobody_can_have_read_does_not_count() {
    let reaction = Duration::from_millis(400);
    let turns = [command("echo yes > out.txt"), Reply::text("Done.")];
    let plain = Plain::human(FILE, turns, reaction, |options| options);
    let started = start(&plain);
    for _ in 0..3 {
        let popup = plain.rig.await_popup();
        plain.rig.press(&popup, Some("Yes, once"));
    }
    // After three such answers the user may lean on a key, so the ask waits in the other surfaces.
    plain.await_action("a.txt", "Adjutant: Reject");
    plain.command("adjutant.capabilities", json!([])).expect("a result");
    plain.rig.await_message();
    let popup = plain.rig.await_popup();
    assert_eq!(plain.rig.popups().len(), 4, "no popup came by itself");
    assert!(!plain.workspace.exists("out.txt"));
    let seen = Instant::now();
    wait_until("the time to read the popup", || seen.elapsed() > reaction + Duration::from_millis(50));
    plain.rig.press(&popup, Some("Yes, once"));
    plain.finish(&started);
    assert!(plain.workspace.exists("out.txt"));
    plain.rig.end();
}

#[test]
fn d15_a_rejection_counts_at_once() {
    let turns = [command("echo no > out.txt"), Reply::text("Done.")];
    let plain = Plain::human(FILE, turns, Duration::from_secs(3_600), |options| options);
    let started = start(&plain);
    let popup = plain.rig.await_popup();
    plain.rig.press(&popup, Some("Reject"));
    plain.finish(&started);
    assert_eq!(plain.rig.popups().len(), 1);
    plain.rig.end();
}

#[test]
fn s03_one_popup_at_a_time_and_the_oldest_first() {
    let runs: Vec<Reply> = (0..4).map(|run| command(&format!("echo {run} > {run}.txt"))).collect();
    let plain = Plain::new(FILE, runs.into_iter().chain((0..4).map(|_| Reply::text("Done."))));
    let sessions: Vec<_> = (0..4).map(|_| plain.rig.new_session()).collect();
    let ends: Vec<_> = sessions.iter().map(|session| plain.rig.prompt(session, "do it").run_id).collect();
    let mut seen = Vec::new();
    for _ in 0..4 {
        // The double reports a second open popup as a fault of the server.
        let popup = plain.rig.await_popup();
        assert!(!seen.contains(&popup.message), "{seen:?}");
        seen.push(popup.message.clone());
        plain.rig.press(&popup, Some("Yes, once"));
    }
    sessions.iter().zip(&ends).for_each(|(session, run)| drop(plain.rig.await_run_end(session, run)));
    assert!((0..4).all(|run| plain.workspace.exists(&format!("{run}.txt"))));
    plain.rig.end();
}

#[test]
fn s03_a_question_is_answered_by_a_suggestion() {
    let (plain, started) =
        asking(Reply::call("ask_user", json!({ "question": "Which one?", "options": ["red", "green"] })));
    let popup = plain.rig.await_popup();
    assert!(popup.message.contains("Which one?"), "{}", popup.message);
    assert_eq!(popup.actions, ["red", "green"]);
    plain.rig.press(&popup, Some("green"));
    plain.finish(&started);
    assert!(tool_output(&plain).contains("green"));
    plain.rig.end();
}

#[test]
fn finding_d1_a_closed_popup_comes_back_by_a_command_or_a_prompt_and_by_nothing_else() {
    // The command starts a second run. The model ends both runs with "Done.".
    let plain = Plain::new(FILE, [command("echo no > out.txt"), Reply::text("Done."), Reply::text("Done.")]);
    let started = start(&plain);
    let popup = plain.rig.await_popup();
    plain.rig.answer_popup(&popup, json!(null));
    for context in [json!({}), json!({ "triggerKind": crate::plain::INVOKED })] {
        for line in 0..5 {
            plain.actions("a.txt", crate::plain::at(line % 2, 0), context.clone());
        }
    }
    // The effects of a request come before the answer to a later request.
    let other = plain.command("adjutant.start", json!(["look", "too"])).expect("the run starts");
    let popup = plain.rig.await_popup();
    assert_eq!(plain.rig.popups().len(), 2, "a moved cursor brings no popup back");
    plain.rig.press(&popup, Some("Reject"));
    for run in [&started, &other] {
        assert_eq!(plain.finish(run).summary.as_deref(), Some("Done."));
    }
    plain.rig.die();
}

#[test]
fn finding_d2_no_popup_where_none_is_wanted_or_none_can_be_answered() {
    let turns = || [command("echo no > out.txt"), Reply::text("Done.")];
    let quiet = json!({ "asks": { "popup": "never" } });
    let without_popups = Plain::human(FILE, turns(), Duration::ZERO, |options| Options {
        initialization_options: quiet,
        capabilities: Capabilities { configuration: false, ..options.capabilities.clone() },
        ..options
    });
    let named = |name: &str| {
        let name = name.to_owned();
        Plain::human(FILE, turns(), Duration::ZERO, |options| Options { name, ..options })
    };
    for plain in [without_popups, named("Qt Creator"), named("vim-lsp")] {
        let started = start(&plain);
        let reject = plain.await_action("a.txt", "Adjutant: Reject");
        plain.command("adjutant.capabilities", json!([])).expect("a result");
        let table = plain.rig.await_message();
        plain.pick(&reject).expect("a result");
        plain.finish(&started);
        assert!(plain.rig.popups().is_empty(), "{table}");
        assert!(tool_output(&plain).contains("reject"));
        plain.rig.end();
    }
}

#[test]
fn finding_a3_from_four_lines_on_an_editor_that_says_nothing_gets_show_first() {
    let capabilities = Capabilities { configuration: false, ..crate::plain::capabilities() };
    let turns = ["echo 1\necho 2\necho 3", "echo 1\necho 2\necho 3\necho 4"].map(command);
    let model = adjutant_testkit::model::ModelServer::start(turns.into_iter().chain([Reply::text("Done.")]));
    let workspace = adjutant_testkit::fixture::Workspace::new(FILE);
    workspace.openai(&model.base_url());
    let options = Options::new(&workspace).capabilities(capabilities);
    let rig = crate::rig::Rig::start_with(&workspace, options);
    let plain = Plain { rig, model, workspace };
    let started = start(&plain);
    let popup = plain.rig.await_popup();
    assert_eq!(popup.actions[..3], ["Reject", "Show", "Yes, once"]);
    plain.rig.press(&popup, Some("Reject"));
    let popup = plain.rig.await_popup();
    assert_eq!(popup.actions, ["Reject", "Show"]);
    plain.rig.press(&popup, Some("Reject"));
    plain.finish(&started);
    plain.rig.end();
}
