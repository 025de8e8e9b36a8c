//! Completion of mentions and slash commands in the prompt.
//!
//! Never looks into the server.

use adjutant_testkit::model::Reply;

use super::Neovim;
use super::conversation::{go, text};
use super::scenes::{each, press};
use crate::scenes;
use crate::stage::{Stage, wait_for};

fn talk() -> Stage {
    let stage = scenes::stage([Reply::text("Seen.")]);
    stage.workspace.write("docs/my notes.md", "one note\n");
    stage
}

/// Returns what the menu would have for a text with the cursor behind it.
fn offered(editor: &Neovim<'_>, typed: &str) -> String {
    editor
        .lua(&format!(
            "vim.api.nvim_buf_set_lines(0, 0, -1, false, {{ 'é', '{typed}' }}) \
         vim.api.nvim_win_set_cursor(0, {{ 2, #'{typed}' }}) \
         vim.cmd('startinsert!') \
         local start = require('adjutant.mentions').complete(1) \
         local words = start < 0 and {{}} or require('adjutant.mentions').complete(0).words \
         return start .. ':' .. table.concat(vim.tbl_map(function(item) return item.word end, words), ' ')"
        ))
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn n11_the_prompt_completes_mentions_by_the_servers_list() {
    each(talk, |editor| {
        go(editor);
        let menu = "vim.bo.omnifunc";
        assert_eq!(editor.lua(&format!("return {menu}")), "v:lua.require'adjutant.mentions'.complete");
        wait_for("the names of the files", || {
            (offered(editor, "Look at @notes") == "8:@\"docs/my notes.md\"").then_some(())
        });
        assert_eq!(offered(editor, "é @gre"), "3:@greet.py");
        assert_eq!(offered(editor, "no mention"), "-3:");
        // With the keys of a user: the list replaces what was typed.
        editor.lua("vim.cmd.stopinsert() vim.api.nvim_buf_set_lines(0, 0, -1, false, { '/rev' })");
        press(editor, "A<C-x><C-o><C-y><Esc>");
        assert_eq!(text(editor), "/review ");
    });
}
