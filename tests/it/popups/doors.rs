//! Popups next to the other surfaces: the first answer wins, the other surfaces are cleared, and a client
//! without popups is asked in another way.

use adjutant_testkit::editor::Popups;
use adjutant_testkit::model::Reply;
use adjutant_testkit::process::wait_until;
use serde_json::json;

use super::{FILE, asking, command, start, tool_output};
use crate::plain::{Plain, at};
use crate::stage::edit;

#[test]
fn n02_an_answer_by_another_door_takes_the_popup_and_the_diagnostic_away() {
    let (plain, started) = asking(edit("a.txt", "hello", "good bye"));
    plain.rig.open("a.txt");
    let uri = plain.workspace.uri("a.txt");
    let popup = plain.rig.await_popup();
    let shown = plain.rig.await_diagnostics(&uri, 1);
    assert_eq!((&shown[0]["severity"], &shown[0]["source"]), (&json!(3), &json!("adjutant")));
    let action = plain.await_action("a.txt", "Adjutant: Yes");
    plain.pick(&action).expect("a result");
    plain.rig.await_popup_withdrawn(&popup);
    plain.rig.await_diagnostics(&uri, 0);
    plain.finish(&started);
    assert_eq!(plain.rig.text_of("a.txt"), "good bye\n");
    plain.rig.end();
}

#[test]
fn s03_a_client_that_knows_no_popups_is_asked_by_diagnostics_and_never_again_by_popup() {
    let turns = [edit("a.txt", "hello", "bye"), edit("a.txt", "bye", "ciao"), Reply::text("Done.")];
    let adapt = |options| adjutant_testkit::editor::Options { popups: Popups::Unknown, ..options };
    let plain = Plain::human(FILE, turns, std::time::Duration::ZERO, adapt);
    plain.rig.open("a.txt");
    let started = start(&plain);
    let uri = plain.workspace.uri("a.txt");
    for text in ["bye\n", "ciao\n"] {
        let shown = plain.rig.await_diagnostics(&uri, 1);
        let message = shown[0]["message"].as_str().unwrap_or_default();
        assert!(message.contains("Yes, once") && message.contains(text.trim()), "{message}");
        wait_until("the refusal of the popup", || plain.rig.popups_refused() > 0);
        let action = plain.await_action("a.txt", "Adjutant: Yes");
        plain.pick(&action).expect("a result");
        plain.rig.await_text("a.txt", text);
        plain.rig.await_diagnostics(&uri, 0);
    }
    plain.finish(&started);
    assert_eq!(plain.rig.popups_refused(), 1, "the client gets no popup after its refusal");
    plain.rig.end();
}

#[test]
fn s03_a_client_that_closes_every_popup_is_asked_by_command() {
    let turns = [command("echo said-so"), Reply::text("Done.")];
    let adapt = |options| adjutant_testkit::editor::Options { popups: Popups::Null, ..options };
    let plain = Plain::human(FILE, turns, std::time::Duration::ZERO, adapt);
    let started = start(&plain);
    let action = plain.await_action("a.txt", "Adjutant: Reject");
    plain.pick(&action).expect("a result");
    plain.finish(&started);
    assert!(tool_output(&plain).contains("reject"));
    plain.rig.end();
}

#[test]
fn finding_d1_an_answer_by_command_brings_its_own_closed_popup_not_back() {
    let runs = 5;
    let turns = (0..runs).flat_map(|run| [command(&format!("echo {run}")), Reply::text("Done.")]);
    let plain = Plain::new(FILE, turns);
    for run in 1..=runs {
        let started = start(&plain);
        let popup = plain.rig.await_popup();
        plain.rig.answer_popup(&popup, json!(null));
        let action = plain.await_action("a.txt", "Adjutant: Reject");
        plain.pick(&action).expect("a result");
        plain.finish(&started);
        assert_eq!(plain.rig.popups().len(), run, "an answered ask came again as a popup");
    }
    plain.rig.end();
}

#[test]
fn s54_l05_after_a_restart_the_open_ask_is_offered_again_and_old_ones_are_not() {
    let turns = [command("echo 1 > one.txt"), command("echo 2 > two.txt"), Reply::text("Done.")];
    let plain = Plain::new(FILE, turns);
    plain.rig.open("a.txt");
    start(&plain);
    let popup = plain.rig.await_popup();
    plain.rig.press(&popup, Some("Yes, once"));
    let second = plain.rig.await_popup();
    assert!(second.message.contains("two.txt"), "{}", second.message);
    let plain = plain.again();
    let popups = || plain.rig.popups().iter().map(|popup| popup.message.clone()).collect::<Vec<_>>();
    let again = plain.rig.await_popup();
    // The popup asks for the command, or first whether the run may resume.
    let again = if again.actions.contains(&"Resume".to_owned()) {
        plain.rig.press(&again, Some("Resume"));
        plain.rig.await_popup()
    } else {
        again
    };
    assert!(again.message.contains("two.txt"), "{}", again.message);
    assert!(popups().iter().all(|message| !message.contains("one.txt")), "{:?}", popups());
    plain.rig.press(&again, Some("Yes, once"));
    wait_until("the command ran", || plain.workspace.exists("two.txt"));
    plain.rig.die();
}

#[test]
fn d16_a_failure_is_one_message_and_no_popup() {
    let plain = Plain::new(FILE, [Reply::status(401)]);
    let started = start(&plain);
    plain.finish(&started);
    let message = plain.rig.await_message();
    assert!(message.starts_with("Adjutant: failed"), "{message}");
    assert!(plain.rig.popups().is_empty(), "an ask after the end of a run is no popup");
    assert_eq!(plain.titles("a.txt", at(0, 0)).iter().filter(|title| title.contains("Try again")).count(), 1);
    plain.rig.end();
}
