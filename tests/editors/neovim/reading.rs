//! Scenes in Neovim about the chat itself: its keys, and what a step gave.
//!
//! Never looks into the server.

use adjutant_testkit::model::Reply;
use serde_json::json;

use super::conversation::{IN_PROMPT, send, text, wait_done};
use super::scenes::{chat, each, press};
use crate::scenes;
use crate::stage::wait_for;

#[test]
fn n08_the_keys_of_the_chat_close_it_go_to_the_prompt_and_from_prompt_to_prompt() {
    let named = || {
        let text = "# not yours\nSee `sub/deep.py:3:5`, and no/such.py:1.";
        scenes::stage([Reply::text(text), Reply::text("Second words.")])
    };
    each(named, |editor| {
        editor.stage.workspace.write("sub/deep.py", "one = 1\ntwo = 2\nthree = 3\n");
        send(editor, "Look at it");
        wait_for("the answer", || chat(editor).contains("no/such.py:1.\n\n— done").then_some(()));
        send(editor, "Once more");
        wait_done(editor, "Second words.");
        editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('adjutant://chat'))");
        let line = || editor.lua("return vim.api.nvim_get_current_line()");
        press(editor, "gg]]");
        assert_eq!(line(), "# Once more", "what the model wrote is no prompt");
        press(editor, "[[");
        assert_eq!(line(), "# Look at it");
        press(editor, "2]]");
        assert_eq!(line(), "# Once more");
        press(editor, "a");
        editor.wait_true("the prompt", IN_PROMPT);
        editor.lua("vim.cmd.stopinsert() vim.api.nvim_set_current_win(vim.fn.bufwinid('adjutant://chat'))");
        press(editor, "gg/such<CR>gf");
        wait_for("a message", || {
            super::scenes::notices(editor).contains("there is no file no/such.py").then_some(())
        });
        press(editor, "gg/deep<CR>gf");
        let at = "local at = vim.api.nvim_win_get_cursor(0) \
            return vim.fn.expand('%:.') .. ' ' .. at[1] .. ' ' .. at[2]";
        assert_eq!(editor.lua(at), "sub/deep.py 3 4");
        assert_eq!(
            editor.lua("return vim.fn.bufwinid('adjutant://chat') > 0"),
            true,
            "the chat is still there"
        );
        editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('adjutant://chat'))");
        press(editor, "q");
        editor.wait_true("one window", "return vim.fn.winnr('$') == 1");
        editor.lua("vim.cmd('Adjutant chat')");
        assert_eq!(text(editor), "", "both are open again");
    });
}

/// `<CR>` on a step shows what it gave, whichever session the next text goes to, and again hides it.
#[test]
fn s105_a_step_of_the_chat_unfolds_to_what_it_gave() {
    let reads = || {
        let call = Reply::call("read_file", json!({"path": "greet.py"}));
        scenes::stage([call, Reply::text("It is *short*."), Reply::text("Another one.")])
    };
    each(reads, |editor| {
        send(editor, "Read it");
        wait_done(editor, "It is *short*.");
        editor.lua("vim.cmd('Adjutant! Begin anew')");
        wait_done(editor, "Another one.");
        editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('adjutant://chat'))");
        let folded = chat(editor);
        press(editor, "gg/Read greet<CR><CR>");
        wait_for("what it gave", || chat(editor).contains("\n\n    ").then_some(()));
        let unfolded = chat(editor);
        assert!(unfolded.contains("return \"Helo, \""), "{unfolded}");
        assert!(unfolded.ends_with("Another one.\n\n— done"), "what follows stays below it: {unfolded}");
        let line = editor.lua("return vim.api.nvim_get_current_line()");
        assert!(line.as_str().is_some_and(|line| line.contains("Read greet.py")), "the cursor stays: {line}");
        press(editor, "j<CR>");
        assert_eq!(chat(editor), folded);
        // Elsewhere the key goes to the next line, as it does everywhere.
        press(editor, "gg<CR>");
        assert_eq!(editor.lua("return vim.api.nvim_win_get_cursor(0)[1]"), 2);
    });
}
