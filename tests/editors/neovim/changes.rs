//! Scenes in Neovim about changes in the text: how they are drawn, and what the user decides.
//!
//! Never looks into the server.

use adjutant_testkit::model::Reply;
use serde_json::{Value, json};

use super::Neovim;
use super::scenes::{each, press};
use crate::editor::Editor;
use crate::scenes;
use crate::stage::{Stage, wait_for};

const BEFORE: &str = "one\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\nthree\n";
const EDITED: &str = "1\n.\n.\n.\n.\n2\n.\n.\n.\n.\n";

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "old_text": old, "new_text": new})
}

/// Returns a stage whose model makes one edit with a question, and then these edits.
fn edits(before: &str, edits: &[(&str, &str)]) -> Stage {
    let first = Reply::call("edit_file", edit("first.py", "0\n", "zero\n"));
    let mut calls = edits.iter().map(|(old, new)| edit(scenes::FILE, old, new));
    let reply = Reply::call("edit_file", calls.next().expect("an edit"));
    let reply = calls.fold(reply, |reply, call| reply.and_call("edit_file", call));
    let text = format!("//- /{}\n{before}//- /first.py\n0\n", scenes::FILE);
    Stage::new(&text, [first, reply, Reply::text("Done."), Reply::text("Seen.")])
}

/// Three changes: two of one line, and one that only removes.
fn three() -> Stage {
    edits(BEFORE, &[("one\n", "1\n"), ("two\n", "2\n"), ("three\n", "")])
}

/// Lets the run make its edits, and waits until this text is drawn with them.
#[track_caller]
pub fn run(editor: &Neovim<'_>) {
    editor.command("Make them numbers");
    editor.wait_asked("Edit first.py");
    editor.choose("Yes, always");
    editor.wait_end("done");
}

#[track_caller]
fn wait_drawn(editor: &Neovim<'_>, wanted: &str) {
    let mut last = String::new();
    let found = crate::stage::wait_or(|| {
        last = drawn(editor);
        (last == wanted).then_some(())
    });
    assert!(
        found.is_some(),
        "wanted\n{wanted}\n\nit is\n{last}\n\nsaid: {}\n{}",
        told(editor),
        editor.stage.seen().shown()
    );
}

fn drawn(editor: &Neovim<'_>) -> String {
    editor.lua("return Drawn()").as_str().unwrap_or_default().to_owned()
}

fn told(editor: &Neovim<'_>) -> String {
    editor.lua("return table.concat(vim.g.told, '|')").as_str().unwrap_or_default().to_owned()
}

#[track_caller]
fn wait_told(editor: &Neovim<'_>, part: &str) {
    wait_for(&format!("{part:?} in {:?}", told(editor)), || told(editor).contains(part).then_some(()));
}

const HINT: &str = r"«keep \ak · undo \au»";

fn plain(lines: &str) -> String {
    lines.lines().map(|line| format!("| {line}\n")).collect()
}

/// The three changes below some lines that the user typed.
fn all_three(typed: &str) -> String {
    let dots = plain(".\n.\n.\n.\n");
    format!(
        "{}  DiffDelete one\n+ DiffAdd 1 {HINT}\n{dots}  DiffDelete two\n+ DiffAdd 2 {HINT}\n{}- .\n  DiffDelete three\n  Comment keep \\ak · undo \\au",
        plain(typed),
        plain(".\n.\n.\n"),
    )
}

#[test]
fn n03_changes_are_drawn_in_the_text_and_follow_typing() {
    each(three, |editor| {
        run(editor);
        editor.wait_buffer(EDITED);
        wait_drawn(editor, &all_three(""));
        editor.type_at_top("typed");
        wait_drawn(editor, &all_three("typed\n"));
        assert_eq!(editor.lua("return vim.api.nvim_win_get_cursor(0)[1]"), 2, "the cursor stays at its text");
        assert_eq!(editor.lua("return #vim.api.nvim_list_wins()"), 1, "nothing opens by itself");
    });
}

#[test]
fn p02_a_key_keeps_a_change_and_another_undoes_it_as_one_step() {
    each(three, |editor| {
        run(editor);
        wait_drawn(editor, &all_three(""));
        press(editor, "]h");
        assert_eq!(editor.lua("return vim.api.nvim_win_get_cursor(0)[1]"), 6);
        press(editor, "\\\\ak");
        let rest = all_three("").replace(&format!("  DiffDelete two\n+ DiffAdd 2 {HINT}\n"), "| 2\n");
        wait_drawn(editor, &rest);
        press(editor, "[h");
        assert_eq!(editor.lua("return vim.api.nvim_win_get_cursor(0)[1]"), 1);
        press(editor, "\\\\au");
        editor.wait_buffer(&EDITED.replacen('1', "one", 1));
        wait_told(editor, "undone; :AdjutantRestore brings it back");
        editor.undo();
        editor.wait_buffer(EDITED);
        wait_drawn(editor, &rest);
    });
}
