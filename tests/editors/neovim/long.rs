//! A conversation that is too long for its model, in the chat of Neovim.
//!
//! Never looks into the server.

use adjutant_testkit::long;

use super::conversation::{send, wait_done};
use super::scenes::{chat, each, press};
use crate::stage::{Stage, wait_for};

#[test]
fn s76_a_compaction_is_one_line_that_opens_to_what_the_model_reads() {
    each(Stage::long, |editor| {
        send(editor, "Read all parts");
        editor.stage.model.wait_for_holding(1);
        let begun = "\n… Compacting the conversation (about ";
        wait_for("its begin", || chat(editor).contains(begun).then_some(()));
        editor.stage.model.release();
        wait_done(editor, long::LAST);
        let text = chat(editor);
        assert!(!text.contains(begun) && text.contains("\n✓ Compacted the conversation (about "), "{text}");
        assert_eq!(text.matches("ompact").count(), 1, "{text}");
        editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(Chat()))");
        press(editor, "gg/✓ Compacted<CR>");
        editor.wait_true("a folded line", "return vim.fn.foldclosed('.') > 0");
        press(editor, "<CR>");
        editor.wait_true("an open one", "return vim.fn.foldclosed('.') < 0");
        let below = format!("\n    ## Goal\n    {}\n", long::GOAL);
        assert!(chat(editor).contains(&below), "{}", chat(editor));
    });
}
