//! What a plain client made of the library does and sees.
//!
//! Never looks into the server.

use super::Client;
use crate::scenes;
use crate::stage::Stage;

fn with(stage: Stage, scene: impl Fn(&Client<'_>)) {
    scene(&Client::open(&stage, scenes::FILE));
}

#[test]
fn n08_a_command_makes_an_edit_that_one_undo_takes_back() {
    with(scenes::one_edit(), |editor| scenes::edits(editor, None));
}

#[test]
fn n08_a_code_action_makes_an_edit() {
    with(scenes::one_edit(), |editor| scenes::edits(editor, Some("Do what this comment says")));
}

#[test]
fn s03_a_rejection_leaves_the_text_alone() {
    with(scenes::one_edit(), |editor| scenes::rejects(editor, None));
}

/// No other client of these tests cancels by its progress.
#[test]
fn s90_the_progress_cancels_the_run() {
    with(scenes::silence(), |editor| {
        scenes::cancels(editor, None);
        let seen = editor.stage.seen();
        assert_eq!(seen.count("in", "window/workDoneProgress/cancel"), 1, "{}", seen.shown());
        assert_eq!(seen.count("in", "workspace/executeCommand"), 1, "no command cancels\n{}", seen.shown());
    });
}

#[test]
fn n04_what_is_typed_while_the_edit_is_on_its_way_stays() {
    with(scenes::one_edit(), |editor| scenes::keeps_what_is_typed(editor, None));
}

#[test]
fn n04_what_was_typed_before_the_answer_stays() {
    with(scenes::one_edit(), |editor| scenes::keeps_what_was_typed_before_the_answer(editor));
}

#[test]
fn s95_a_killed_server_is_replaced_and_finds_its_session() {
    with(scenes::edit_again(), |editor| scenes::survives_a_kill(editor, None));
}

#[test]
fn n05_a_file_that_is_not_open_is_edited_on_disk() {
    with(scenes::edit_elsewhere(), |editor| scenes::edits_a_closed_file(editor));
}
