//! A scene in Neovim about files that the agent deletes and moves: asked, done, undone and restored.
//!
//! Never looks into the server.

use serde_json::{Value, json};

use super::Neovim;
use super::changes::wait_told;
use super::scenes::{each, press};
use crate::editor::Editor;
use crate::scenes::files::{DRAFT, GONE, GONE_TEXT, MOVED, NAMED, files, is_after, is_before};
use crate::scenes::{BEFORE, FILE};
use crate::stage::wait_for;

/// Returns each file with a buffer and its text; a `+` marks text that is not saved.
fn open_files(editor: &Neovim<'_>) -> Value {
    editor.lua(
        "local all = {} for _, buffer in ipairs(vim.api.nvim_list_bufs()) do \
         if vim.bo[buffer].buflisted and vim.bo[buffer].buftype == '' and vim.api.nvim_buf_is_loaded(buffer) then \
         local text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\\n') \
         all[vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buffer), ':.')] = \
         text .. (vim.bo[buffer].modified and ' +' or '') end end return all",
    )
}

#[track_caller]
fn wait_open(editor: &Neovim<'_>, files: &Value) {
    let is = crate::stage::wait_or(|| (open_files(editor) == *files).then_some(()));
    assert!(is.is_some(), "open are {}, not {files}\n{}", open_files(editor), editor.stage.seen().shown());
}

#[test]
fn n15_a_move_and_a_deletion_are_asked_done_and_undone_with_their_buffers() {
    let text = BEFORE.trim_end();
    let (before, after) = (json!({FILE: text}), json!({MOVED: text}));
    each(files, |editor| {
        editor.lua(&format!("vim.o.hidden = true vim.cmd('edit {GONE} | edit {FILE}')"));
        assert_eq!(open_files(editor), json!({FILE: text, GONE: GONE_TEXT}));
        editor.command("Tidy up");
        let asked =
            editor.wait_asked("Change 2 files: move greet.py to parts/hello.py, delete gone.py (2 lines)");
        for part in [
            "moving a file always asks; deleting a file always asks",
            "\nrename from greet.py\nrename to parts/hello.py\n",
            "\n--- a/gone.py\n+++ /dev/null\n",
        ] {
            assert!(asked.contains(part), "no {part:?} in\n{asked}");
        }
        assert!(!asked.contains("Yes, always"), "an answer for all times covers neither\n{asked}");
        assert!(is_before(editor.stage), "nothing is done before the answer");
        press(editor, "G");
        editor.wait_asked("\n2  Yes, once");
        editor.choose("Yes, once");
        wait_open(editor, &after);
        assert!(is_after(editor.stage));
        editor.wait_end("done");

        editor.lua("vim.cmd('Adjutant undo run')");
        let shown = editor.wait_asked("Undo “Tidy up”: 2 changes in 2 files");
        assert!(shown.contains("the deleted file comes back"), "{shown}");
        assert!(shown.contains("the file is called greet.py again"), "{shown}");
        editor.choose("Yes, undo 2 changes");
        wait_told(editor, "2 changes undone; to restore: :Adjutant restore run");
        assert!(is_before(editor.stage), "every byte is as it was");
        wait_open(editor, &before);

        editor.lua("vim.cmd('Adjutant restore run')");
        editor.wait_asked("Restore “Tidy up”: 2 changes in 2 files");
        editor.choose("Yes, restore 2 changes");
        wait_told(editor, "2 changes restored");
        assert!(is_after(editor.stage));
        wait_open(editor, &after);
        lists_what_nobody_looked_at(editor);
    });
}

/// What was restored, and what a run did with its own file, waits for a review like any change.
fn lists_what_nobody_looked_at(editor: &Neovim<'_>) {
    editor.command("Make a file");
    wait_for("the file", || editor.stage.workspace.exists(NAMED).then_some(()));
    editor.stage.model.wait_for_requests(4);
    assert!(!editor.stage.workspace.exists(DRAFT));
    editor.lua("vim.cmd('Adjutant review list')");
    editor.wait_true("the list", "return #vim.fn.getqflist() == 4");
    let listed = "local lines = {} for _, item in ipairs(vim.fn.getqflist()) do \
        local name = item.bufnr > 0 and vim.fn.fnamemodify(vim.api.nvim_buf_get_name(item.bufnr), ':.') or '' \
        lines[#lines + 1] = name .. '|' .. item.text end table.sort(lines) return lines";
    let wanted = [
        "named.txt|applied +2 −0: made",
        "named.txt|applied: moved from draft.txt",
        "parts/hello.py|applied: moved from greet.py",
        "|applied −2: deleted gone.py",
    ];
    assert_eq!(editor.lua(listed), json!(wanted));
}
