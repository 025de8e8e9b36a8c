//! Scenes in Neovim about the keys of the chat.
//!
//! Never looks into the server.

use adjutant_testkit::model::Reply;

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
        editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(Chat()))");
        let line = || editor.lua("return vim.api.nvim_get_current_line()");
        press(editor, "gg]]");
        assert_eq!(line(), "# Once more", "what the model wrote is no prompt");
        press(editor, "[[");
        assert_eq!(line(), "# Look at it");
        press(editor, "2]]");
        assert_eq!(line(), "# Once more");
        press(editor, "a");
        editor.wait_true("the prompt", IN_PROMPT);
        editor.lua("vim.cmd.stopinsert() vim.api.nvim_set_current_win(vim.fn.bufwinid(Chat()))");
        press(editor, "gg/such<CR>gf");
        wait_for("a message", || {
            super::scenes::notices(editor).contains("there is no file no/such.py").then_some(())
        });
        press(editor, "gg/deep<CR>gf");
        let at = "local at = vim.api.nvim_win_get_cursor(0) \
            return vim.fn.expand('%:.') .. ' ' .. at[1] .. ' ' .. at[2]";
        assert_eq!(editor.lua(at), "sub/deep.py 3 4");
        assert_eq!(editor.lua("return vim.fn.bufwinid(Chat()) > 0"), true, "the chat is still there");
        editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(Chat()))");
        press(editor, "q");
        editor.wait_true("one window", "return vim.fn.winnr('$') == 1");
        editor.lua("vim.cmd('Adjutant chat')");
        assert_eq!(text(editor), "", "both are open again");
    });
}
