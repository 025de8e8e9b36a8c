//! One review in two editors at the same time: begun in VS Code, decided in Neovim, while VS Code runs and after it quit.
//!
//! Never looks into a server: it checks both screens and the bytes on disk.

use adjutant_testkit::model::Reply;
use serde_json::{Value, json};

use crate::editor::Editor;
use crate::neovim::changes::wait_told;
use crate::neovim::scenes::press;
use crate::neovim::{Neovim, VERSIONS};
use crate::stage::{Stage, wait_for, wait_or};
use crate::vscode::Code;
use crate::vscode::changes::wait_coloured;

const FILE: &str = "shop.py";
const OTHER: &str = "other.py";
const BEFORE: &str = "a = 1\n\n\n\n\nb = 2\n\n\n\n\nc = 3\n";
const AFTER: &str = "a = 10\n\n\n\n\nb = 20\n\n\n\n\nc = 3\n";

fn stage() -> Stage {
    let edit = |path: &str, old: &str, new: &str| -> Value {
        json!({"path": path, "old_text": old, "new_text": new})
    };
    let edits = Reply::text("Ten times as much.")
        .and_call("edit_file", edit(FILE, "a = 1\n", "a = 10\n"))
        .and_call("edit_file", edit(FILE, "b = 2\n", "b = 20\n"))
        .and_call("edit_file", edit(OTHER, "d = 4\n", "d = 40\n"));
    let files = format!("//- /{FILE}\n{BEFORE}//- /{OTHER}\nd = 4\n");
    Stage::new(&files, [edits, Reply::text("Done.")]).without_edits_mode()
}

#[track_caller]
fn wait_disk(stage: &Stage, file: &str, text: &str) {
    let is = wait_or(|| (stage.workspace.read(file) == text).then_some(()));
    assert!(is.is_some(), "{file} is {:?}, not {text:?}", stage.workspace.read(file));
}

/// Waits until Neovim draws a number of changes in the current file.
#[track_caller]
fn wait_changes(editor: &Neovim<'_>, count: usize) {
    let drawn = || editor.lua("return Drawn(0)").as_str().unwrap_or_default().to_owned();
    let is = wait_or(|| (drawn().matches("DiffAdd").count() == count).then_some(()));
    assert!(is.is_some(), "not {count} changes in\n{}\nsaid: {}", drawn(), editor.lua("return vim.g.told"));
}

#[test]
fn n03_a_review_begun_in_vscode_is_finished_in_neovim_while_vscode_runs_and_after_it_quit() {
    let stage = stage();
    let code = Code::open(&stage, FILE);
    code.command("Ten times as much");
    code.wait_buffer(AFTER);
    wait_coloured(&code, &["a = 10", "b = 20"]);
    wait_disk(&stage, FILE, AFTER);
    wait_disk(&stage, OTHER, "d = 40\n");
    let vim = Neovim::open(&stage, VERSIONS[1], FILE);
    vim.lua("vim.o.autoread = true");
    vim.wait_buffer(AFTER);
    wait_changes(&vim, 2);

    // A change kept in one is kept in the other.
    vim.go_to_line(1);
    press(&vim, "\\\\ak");
    wait_changes(&vim, 1);
    wait_coloured(&code, &["b = 20"]);

    // A change undone in one is undone in the text of the other, which has the file open too and saves it.
    vim.go_to_line(6);
    press(&vim, "\\\\au");
    let undone = AFTER.replace("b = 20", "b = 2");
    code.wait_buffer(&undone);
    wait_coloured(&code, &[]);
    wait_disk(&stage, FILE, &undone);
    wait_for("the file in Neovim to be read again", || {
        vim.lua("vim.cmd('checktime')");
        (vim.buffer() == undone).then_some(())
    });
    wait_changes(&vim, 0);
    // And the other way round.
    code.undo();
    code.wait_buffer(AFTER);
    wait_coloured(&code, &["b = 20"]);
    code.save();
    wait_disk(&stage, FILE, AFTER);
    wait_for("the file in Neovim to be read again", || {
        vim.lua("vim.cmd('checktime')");
        (vim.buffer() == AFTER).then_some(())
    });
    wait_changes(&vim, 1);

    // VS Code quits.
    drop(code);
    vim.lua(&format!("vim.cmd('edit {OTHER}')"));
    wait_changes(&vim, 1);
    vim.go_to_line(1);
    press(&vim, "\\\\au");
    vim.wait_true("the change to be undone", "return vim.fn.getline(1) == 'd = 4'");
    wait_told(&vim, "undone; :Adjutant restore brings it back");
    wait_disk(&stage, OTHER, "d = 4\n");
    vim.lua(&format!("vim.cmd('edit {FILE}')"));
    wait_changes(&vim, 1);
    vim.go_to_line(6);
    press(&vim, "\\\\ak");
    wait_changes(&vim, 0);
    assert_eq!(stage.workspace.read(FILE), AFTER);
}
