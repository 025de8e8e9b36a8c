//! Scenes in Neovim about the pages of the chat, one for each session.
//!
//! Never looks into the server.

use adjutant_testkit::model::Reply;
use serde_json::json;

use super::Neovim;
use super::conversation::{go, send, text, wait_done};
use super::scenes::{chat, each, press};
use crate::editor::Editor;
use crate::scenes;
use crate::stage::{Stage, wait_for};

/// Chooses a session in the list.
fn pick(editor: &Neovim<'_>, title: &str) {
    editor.lua("vim.cmd('Adjutant sessions')");
    editor.choose(title);
    wait_for(&format!("the page of {title}"), || {
        chat(editor).starts_with(&format!("# {title}\n")).then_some(())
    });
}

/// The pages that Neovim has.
fn pages(editor: &Neovim<'_>) -> u64 {
    let count = editor.lua(
        "local count = 0 for _, buffer in ipairs(vim.api.nvim_list_bufs()) do \
           if vim.api.nvim_buf_get_name(buffer):find('^adjutant://s%-') then count = count + 1 end end return count",
    );
    count.as_u64().unwrap_or_default()
}

#[test]
fn s28_each_session_has_a_page_of_its_own_that_stays_as_it_was_left() {
    let two = || {
        let call = Reply::call("read_file", json!({ "path": scenes::FILE }));
        scenes::stage([call, Reply::text("First words."), Reply::text("Second words.")])
    };
    each(two, |editor| {
        send(editor, "One");
        wait_done(editor, "First words.");
        let page = "local is = vim.bo[Chat()] local _, session = require('adjutant.sessions').target() \
            return vim.api.nvim_buf_get_name(Chat()) == 'adjutant://' .. session and is.filetype == 'adjutant' \
              and is.buftype == 'nofile' and not is.modifiable and not is.buflisted";
        assert_eq!(editor.lua(page), true);
        editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(Chat()))");
        press(editor, "gg/Read greet<CR>za");
        let open = "return vim.api.nvim_win_call(vim.fn.bufwinid(Chat()), function() \
            return vim.fn.line('.') .. ' ' .. vim.fn.foldclosed('.') end)";
        let left = editor.lua(open);
        assert_eq!(left, "3 -1", "the step is open");
        editor.lua("vim.cmd.wincmd('t') vim.cmd('Adjutant! Two')");
        wait_done(editor, "Second words.");
        assert!(chat(editor).starts_with("# Two\n"), "its page alone: {}", chat(editor));
        assert_eq!(editor.lua(page), true);
        pick(editor, "One");
        assert_eq!(editor.lua(open), left, "the cursor and the folds are as they were left");
        assert!(!chat(editor).contains("Second words."), "{}", chat(editor));
        assert_eq!(editor.lua("return vim.wo[vim.fn.bufwinid(Chat())].number"), false);
        pick(editor, "Two");
        assert!(chat(editor).ends_with("Second words.\n\n— done"), "{}", chat(editor));
    });
}

#[test]
fn s28_two_tab_pages_show_two_sessions_and_a_text_goes_to_the_one_in_sight() {
    let three = || scenes::stage(["First words.", "Second words.", "Third words."].map(Reply::text));
    each(three, |editor| {
        send(editor, "One");
        wait_done(editor, "First words.");
        editor.lua(
            "vim.cmd.wincmd('t') vim.cmd('tab split') vim.cmd('Adjutant chat') vim.cmd('Adjutant! Two')",
        );
        wait_done(editor, "Second words.");
        assert!(chat(editor).starts_with("# Two\n"), "{}", chat(editor));
        editor.lua("vim.cmd('tabprevious')");
        assert!(chat(editor).starts_with("# One\n"), "the other tab page keeps its own: {}", chat(editor));
        editor.lua("vim.cmd('Adjutant and more')");
        let request = editor.stage.model.wait_for_requests(3)[2].json().to_string();
        assert!(request.contains("First words.") && !request.contains("Second words."), "{request}");
        wait_done(editor, "Third words.");
        go(editor);
        assert_eq!(text(editor), "");
        editor.lua("vim.cmd('tabnext')");
        assert!(chat(editor).starts_with("# Two\n"), "{}", chat(editor));
    });
}

/// Neovim keeps a few pages; the others come back from the server.
#[test]
fn s28_pages_that_nobody_shows_are_bounded_and_come_back() {
    const SESSIONS: u64 = 12;
    let many = || {
        let replies = (1..=SESSIONS).map(|number| Reply::text(&format!("Words {number}.")));
        Stage::new("//- /greet.py\nprint(1)\n", replies)
    };
    each(many, |editor| {
        editor.lua("vim.cmd('Adjutant chat')");
        for number in 1..=SESSIONS {
            editor.lua(&format!("vim.cmd('Adjutant! Task {number}.')"));
            wait_done(editor, &format!("Words {number}."));
        }
        // Eight that were left, and the one in sight; the last one may still have counted as at work when it was looked at.
        assert!((9..=10).contains(&pages(editor)), "{} pages", pages(editor));
        pick(editor, "Task 1.");
        wait_done(editor, "Words 1.");
        assert!((9..=10).contains(&pages(editor)), "{} pages", pages(editor));
    });
}
