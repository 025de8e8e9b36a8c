//! Scenes in Vim with ALE: problems, and numbers in a menu.
//!
//! Never looks into the server.

use super::Ale;
use crate::editor::Editor;
use crate::scenes;
use crate::stage::{Stage, wait_for};

fn with(stage: Stage, scene: impl Fn(&Ale<'_>)) {
    scene(&Ale::open(&stage, scenes::FILE));
}

#[test]
fn n08_a_code_action_makes_an_edit_that_one_undo_takes_back() {
    with(scenes::one_edit(), |editor| {
        edits(editor, Some("Do what this comment says"));
        let seen = editor.stage.seen();
        assert_eq!(seen.count("out", "window/showMessageRequest"), 0, "{}", seen.shown());
        let back = seen.messages().iter().filter(|one| one.way == "in" && one.method.is_empty()).count();
        assert_eq!(back, 0, "ALE answers no request:\n{}", seen.shown());
    });
}

#[test]
fn n08_a_command_makes_an_edit() {
    with(scenes::one_edit(), |editor| edits(editor, None));
}

/// As [`scenes::edits`], without progress.
fn edits(editor: &Ale<'_>, action: Option<&str>) {
    scenes::start(editor, action);
    editor.wait_asked("Edit greet.py");
    assert_eq!(editor.buffer(), scenes::BEFORE, "an edit that was not allowed is in the buffer");
    editor.choose(scenes::ALLOW);
    editor.wait_buffer(scenes::AFTER);
    editor.wait_end("done");
    assert_eq!(editor.stage.workspace.read(scenes::FILE), scenes::BEFORE, "nothing was saved");
    editor.save();
    wait_for("the saved file", || (editor.stage.workspace.read(scenes::FILE) == scenes::AFTER).then_some(()));
    editor.undo();
    editor.wait_buffer(scenes::BEFORE);
    let seen = editor.stage.seen();
    assert_eq!(seen.count("out", "workspace/applyEdit"), 1, "{}", seen.shown());
    assert_eq!(seen.count("out", "$/progress"), 0, "ALE announces no progress\n{}", seen.shown());
}

#[test]
fn s03_a_rejection_leaves_the_text_alone() {
    with(scenes::one_edit(), |editor| scenes::rejects(editor));
}

#[test]
fn s90_a_cancel_ends_the_run() {
    with(scenes::silence(), |editor| scenes::cancels(editor));
}

/// Finding C2: ALE announces no edits and answers none. It applies an edit once, and the server trusts the text.
#[test]
fn finding_c2_an_allowed_edit_is_made_once_and_reported_as_made() {
    with(scenes::one_edit(), |editor| {
        edits(editor, None);
        let seen = editor.stage.seen();
        // The beginning of the answer, and nothing to warn of.
        seen.wait("out", "window/showMessage", 1);
        assert_eq!(seen.count("out", "window/showMessage"), 1, "{}", seen.shown());
        let request = editor.stage.model.requests().last().expect("a request").json().to_string();
        assert!(request.contains("Edited greet.py: +1 -1 lines."), "{request}");
    });
}

/// A user who avoids the menu answers in a terminal; ALE applies the edit anyway.
#[test]
fn finding_d5_an_answer_from_the_terminal_makes_the_edit_in_the_buffer() {
    with(scenes::one_edit(), |editor| {
        editor.stage.model.release();
        editor.command(scenes::TASK);
        editor.wait_asked("Edit greet.py");
        scenes::answers_in_a_terminal(editor.stage, "allow");
        editor.wait_buffer(scenes::AFTER);
        editor.wait_end("done");
        assert_eq!(editor.stage.workspace.read(scenes::FILE), scenes::BEFORE, "nothing was saved");
    });
}
