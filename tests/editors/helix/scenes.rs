//! What Helix' users do and see: no popups, so questions are diagnostics and
//! answers are code actions.
//!
//! Never looks into the server.

use super::Helix;
use crate::editor::Editor;
use crate::scenes;
use crate::stage::Stage;

/// The only way to give a task: its commands take no text.
const ACTION: Option<&str> = Some("Do what this comment says");

fn with(stage: Stage, scene: impl Fn(&Helix<'_>)) {
    scene(&Helix::open(&stage, scenes::FILE));
}

#[test]
fn n08_a_code_action_makes_an_edit_that_one_undo_takes_back() {
    with(scenes::one_edit(), |editor| {
        scenes::edits(editor, ACTION);
        let seen = editor.stage().seen();
        let popups = seen.answers("out", "window/showMessageRequest");
        assert!(popups.iter().all(|popup| popup.refused), "Helix has no popups:\n{}", seen.shown());
        assert!(popups.len() <= 1, "a client that has no popups is offered one once:\n{}", seen.shown());
        assert!(seen.count("out", "textDocument/publishDiagnostics") >= 2, "{}", seen.shown());
    });
}

#[test]
fn s03_a_rejection_leaves_the_text_alone() {
    with(scenes::one_edit(), |editor| scenes::rejects(editor, ACTION));
}

#[test]
fn s90_a_cancel_ends_the_run() {
    with(scenes::silence(), |editor| scenes::cancels(editor, ACTION));
}

#[test]
fn n04_what_is_typed_while_the_edit_is_on_its_way_stays() {
    with(scenes::one_edit(), |editor| scenes::keeps_what_is_typed(editor, ACTION));
}

#[test]
fn s95_a_killed_server_is_replaced_and_finds_its_session() {
    with(scenes::edit_again(), |editor| scenes::survives_a_kill(editor, ACTION));
}
