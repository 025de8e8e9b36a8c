//! What Neovim's users do and see, in every version that is driven.
//!
//! Never looks into the server.

use super::{Neovim, VERSIONS};
use crate::scenes;
use crate::stage::Stage;

fn each(stage: impl Fn() -> Stage, scene: impl Fn(&Neovim<'_>)) {
    for version in VERSIONS {
        let stage = stage();
        // A failure does not say in which of them otherwise.
        eprintln!("in {version}");
        scene(&Neovim::open(&stage, version, scenes::FILE));
    }
}

#[test]
fn n08_a_command_makes_an_edit_that_one_undo_takes_back() {
    each(scenes::one_edit, |editor| scenes::edits(editor, None));
}

#[test]
fn n08_a_code_action_makes_an_edit() {
    each(scenes::one_edit, |editor| scenes::edits(editor, Some("Do what this comment says")));
}

#[test]
fn s03_a_rejection_leaves_the_text_alone() {
    each(scenes::one_edit, |editor| scenes::rejects(editor, None));
}

#[test]
fn s90_a_cancel_ends_the_run() {
    each(scenes::silence, |editor| scenes::cancels(editor, None));
}

#[test]
fn n04_what_is_typed_while_the_edit_is_on_its_way_stays() {
    each(scenes::one_edit, |editor| scenes::keeps_what_is_typed(editor, None));
}

#[test]
fn n04_what_was_typed_before_the_answer_stays() {
    each(scenes::one_edit, |editor| scenes::keeps_what_was_typed_before_the_answer(editor));
}

#[test]
fn s95_a_killed_server_is_replaced_and_finds_its_session() {
    each(scenes::edit_again, |editor| scenes::survives_a_kill(editor, None));
}

#[test]
fn n05_a_file_that_was_not_open_is_edited_in_a_buffer_and_saved() {
    each(scenes::edit_elsewhere, |editor| {
        scenes::edits_a_closed_file(editor);
        let seen = editor.stage.seen();
        let saves = seen.answers("out", "agent/document/save");
        assert!(saves.len() == 1 && !saves[0].refused, "{}", seen.shown());
        editor.lua("vim.cmd('edit other.py')");
        assert_eq!(editor.lua("return vim.bo.modified"), false, "the buffer is what is on disk");
    });
}

#[test]
fn n04_what_is_typed_after_the_edit_was_sent_stays() {
    each(scenes::one_edit, |editor| {
        scenes::keeps_what_is_typed_by(editor, |editor, title, text| {
            editor.choose_and_type_once_sent(title, text)
        });
        let seen = editor.stage.seen();
        let sent = seen.count("out", "workspace/applyEdit");
        assert!(sent >= 2, "the edit was not overtaken:\n{}", seen.shown());
    });
}
