//! Scenes in Neovim about the tab page that compares each changed file with its text before.
//!
//! Never looks into the server.

use adjutant_testkit::model::Reply;

use super::Neovim;
use super::changes::{edit, run, three, wait_drawn, wait_told};
use super::scenes::{each, press};
use super::{VERSIONS, changes, terminal};
use crate::scenes;
use crate::stage::{Stage, wait_for};

/// The windows of this tab page that show a diff, each with its text.
fn compared(editor: &Neovim<'_>) -> String {
    let texts = editor.lua(
        "local texts = {} for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do \
           if vim.wo[window].diff then \
             local buffer = vim.api.nvim_win_get_buf(window) \
             texts[#texts + 1] = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), ' ') end end \
         return table.concat(texts, ' | ')",
    );
    texts.as_str().unwrap_or_default().to_owned()
}

#[track_caller]
fn wait_compared(editor: &Neovim<'_>, wanted: &str) {
    wait_for(&format!("{wanted:?}, where {:?} is compared", compared(editor)), || {
        (compared(editor) == wanted).then_some(())
    });
}

/// What a review must leave as it was.
const LEFT: &str = "local names, diffs = {}, 0 \
    for _, buffer in ipairs(vim.api.nvim_list_bufs()) do \
      if vim.api.nvim_buf_is_loaded(buffer) then names[#names + 1] = vim.fn.bufname(buffer) end end \
    for _, window in ipairs(vim.api.nvim_list_wins()) do if vim.wo[window].diff then diffs = diffs + 1 end end \
    table.sort(names) return { names, diffs, vim.fn.tabpagenr('$'), vim.fn.winnr('$'), vim.wo.foldmethod, vim.wo.scrollbind }";

const NOW: &str = "1 . . . . 2 . . . .";
const BEFORE: &str = "one . . . . two . . . . three";

#[test]
fn p01_a_review_compares_each_file_and_its_keys_decide() {
    each(three, |editor| {
        run(editor);
        wait_drawn(editor, &changes::all_three(""));
        let left = editor.lua(LEFT);
        editor.lua("vim.cmd('Adjutant review')");
        wait_compared(editor, &format!("{BEFORE} | {NOW}"));
        assert_eq!(editor.lua("return #vim.fn.getqflist()"), 4);
        assert_eq!(editor.lua("return vim.fn.bufname()"), scenes::FILE, "the file has the keys");
        // The lines before stand beside it, so they are not drawn in it again.
        let drawn = editor.lua("return Drawn(0)");
        assert!(drawn.as_str().is_some_and(|text| text.starts_with("+ DiffAdd 1 «keep")), "{drawn}");
        press(editor, "gg\\\\ak");
        wait_compared(editor, &format!("1 . . . . two . . . . three | {NOW}"));
        press(editor, "]h\\\\au");
        wait_compared(editor, "1 . . . . two . . . . three | 1 . . . . two . . . .");
        wait_told(editor, "undone; :Adjutant restore brings it back");
        let next = "vim.cmd('cfirst') if vim.fn.bufname() == 'greet.py' then vim.cmd('clast') end return vim.fn.bufname()";
        assert_eq!(editor.lua(next), scenes::OTHER);
        wait_compared(editor, "four | 4");
        assert_eq!(
            editor.lua("return vim.wo[vim.fn.win_getid(1)].diff and vim.wo[vim.fn.win_getid(2)].diff"),
            true
        );
        editor.lua("vim.cmd('tabclose')");
        let now = crate::stage::wait_or(|| (editor.lua(LEFT) == left).then_some(()));
        assert!(now.is_some(), "{left} is left as {}", editor.lua(LEFT));
        // The server tells of the undo a moment later; only then Neovim draws the lines from before in the text again.
        editor.wait_true(
            "the lines before in the text",
            "return Drawn(0):find('DiffDelete three', 1, true) ~= nil",
        );
    });
}

/// However the tab page is left, nothing of it stays; a second review comes back to the one that is there.
#[test]
fn p01_a_review_leaves_nothing_however_it_is_closed() {
    each(three, |editor| {
        run(editor);
        wait_drawn(editor, &changes::all_three(""));
        let left = editor.lua(LEFT);
        for keys in [
            ":q<CR>",
            "<C-w>h:q<CR>",
            ":only<CR>",
            ":tabonly<CR>:tabnew<CR>:tabclose 1<CR>:edit greet.py<CR>",
        ] {
            editor.lua("vim.cmd('Adjutant review')");
            wait_compared(editor, &format!("{BEFORE} | {NOW}"));
            editor.lua("vim.g.list = vim.fn.getqflist({ id = 0 }).id vim.cmd('Adjutant review')");
            editor.wait_true("the second list", "return vim.fn.getqflist({ id = 0 }).id ~= vim.g.list");
            assert_eq!(editor.lua("return vim.fn.tabpagenr('$')"), 2, "one tab page of it");
            press(editor, keys);
            wait_for(&format!("nothing to be left after {keys}: {}", editor.lua(LEFT)), || {
                (editor.lua(LEFT) == left).then_some(())
            });
        }
    });
}

#[test]
fn p01_a_review_reads_well_in_a_terminal_of_80_by_24() {
    for version in VERSIONS {
        let first = Reply::call("edit_file", edit("first.py", "0\n", "zero\n"));
        let second = Reply::call("edit_file", edit(scenes::FILE, "pass", "return 1"));
        let text = format!("//- /{}\ndef greet():\n    pass\n//- /first.py\n0\n", scenes::FILE);
        let stage = Stage::new(&text, [first, second, Reply::text("Done.")]);
        let screen = terminal::open_sized(&stage, version, ("80", "24"));
        terminal::command(&screen, ":Adjutant Make them numbers");
        screen.wait("? Edit first.py");
        terminal::command(&screen, ":Adjutant answer");
        let asked = screen.wait("q later");
        terminal::read();
        screen.keys(&[&terminal::key_of(&asked, "Yes, always")]);
        screen.wait("keep \\ak");
        terminal::command(&screen, ":Adjutant review");
        // The text before comes a moment after its window.
        let shown = screen.wait_until("the lines beside each other", |screen| {
            let pair = |left: &str, right: &str| {
                let sides = screen.lines().filter_map(|line| line.split_once('│'));
                sides.into_iter().any(|(l, r)| l.contains(left) && r.contains(right))
            };
            pair("def greet():", "def greet():") && pair("    pass", "    return 1")
        });
        assert!(shown.contains("before · :tabclose ends the review"), "{shown}");
        assert!(shown.contains("greet.py|2"), "the list:\n{shown}");
        terminal::command(&screen, ":tabclose");
        screen.wait_until("one window", |screen| screen.contains("return 1") && !screen.contains("before ·"));
    }
}
