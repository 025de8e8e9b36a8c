//! What Emacs' users do and see through lsp-mode.
//!
//! Never looks into the server.

use super::LspMode;
use crate::scenes;
use crate::stage::Stage;

fn with(stage: Stage, scene: impl Fn(&LspMode<'_>)) {
    scene(&LspMode::open(&stage, scenes::FILE));
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

#[test]
fn s90_a_cancel_ends_the_run() {
    with(scenes::silence(), |editor| scenes::cancels(editor, None));
}

#[test]
fn n04_what_is_typed_while_the_edit_is_on_its_way_stays() {
    with(scenes::one_edit(), |editor| scenes::keeps_what_is_typed(editor, None));
}

#[test]
fn s95_a_killed_server_is_replaced_and_finds_its_session() {
    with(scenes::edit_again(), |editor| scenes::survives_a_kill(editor, None));
}
