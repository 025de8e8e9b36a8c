//! Scenes in Neovim about changes in the text: how they are drawn, and what the user decides.
//!
//! Never looks into the server.

use adjutant_testkit::model::Reply;
use serde_json::{Value, json};

use super::scenes::{each, press};
use super::terminal::{command, key_of, open_sized, read};
use super::{Neovim, VERSIONS};
use crate::editor::Editor;
use crate::scenes;
use crate::screen::Screen;
use crate::stage::{Stage, wait_for};

const BEFORE: &str = "one\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\nthree\n";
pub const EDITED: &str = "1\n.\n.\n.\n.\n2\n.\n.\n.\n.\n";

pub fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "old_text": old, "new_text": new})
}

/// Returns a stage whose model makes one edit with a question, and then these edits.
fn edits(before: &str, edits: &[(&str, &str)]) -> Stage {
    let first = Reply::call("edit_file", edit("first.py", "0\n", "zero\n"));
    let mut calls = edits.iter().map(|(old, new)| edit(scenes::FILE, old, new));
    let reply = Reply::call("edit_file", calls.next().expect("an edit"));
    let reply = calls.fold(reply, |reply, call| reply.and_call("edit_file", call));
    let reply = reply.and_call("edit_file", edit(scenes::OTHER, "four\n", "4\n"));
    let text = format!("//- /{}\n{before}//- /{}\nfour\n//- /first.py\n0\n", scenes::FILE, scenes::OTHER);
    Stage::new(&text, [first, reply, Reply::text("Done."), Reply::text("Seen.")])
}

/// Three changes: two of one line, and one that only removes.
pub fn three() -> Stage {
    edits(BEFORE, &[("one\n", "1\n"), ("two\n", "2\n"), ("three\n", "")])
}

/// Lets the run make its edits. From the second on, they need no answer.
#[track_caller]
pub fn run(editor: &Neovim<'_>) {
    editor.command("Make them numbers");
    editor.wait_asked("Edit first.py");
    editor.choose("Yes, always");
    editor.wait_end("done");
}

#[track_caller]
pub fn wait_drawn(editor: &Neovim<'_>, wanted: &str) {
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

pub fn drawn(editor: &Neovim<'_>) -> String {
    editor.lua("return Drawn(vim.bo.buftype == '' and 0 or nil)").as_str().unwrap_or_default().to_owned()
}

pub fn told(editor: &Neovim<'_>) -> String {
    editor.lua("return table.concat(vim.g.told, '|')").as_str().unwrap_or_default().to_owned()
}

#[track_caller]
pub fn wait_told(editor: &Neovim<'_>, part: &str) {
    wait_for(&format!("{part:?} in {:?}", told(editor)), || told(editor).contains(part).then_some(()));
}

pub const HINT: &str = r"«keep \ak · undo \au»";

pub fn plain(lines: &str) -> String {
    lines.lines().map(|line| format!("| {line}\n")).collect()
}

/// The three changes below some lines that the user typed.
pub fn all_three(typed: &str) -> String {
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
        wait_told(editor, "undone; :Adjutant restore brings it back");
        editor.undo();
        editor.wait_buffer(EDITED);
        wait_drawn(editor, &rest);
    });
}

/// Presses keys right after a change of the text, before the server can know it.
fn change_and_press(editor: &Neovim<'_>, change: &str, keys: &str) {
    editor.lua(&format!("{change} vim.api.nvim_feedkeys(vim.keycode('{keys}'), 'mx', false)"));
}

/// Returns Lua code that passes changes to the client as an update of the server does.
pub fn update(version: &str, hunks: &str) -> String {
    format!(
        "local client = vim.lsp.get_clients({{ name = 'adjutant' }})[1] \
         local now = vim.lsp.util.buf_versions[File()] \
         local list = vim.lsp.buf_request_sync(File(), 'agent/review/list', \
           {{ uri = vim.uri_from_bufnr(File()) }}) \
         local real = list[client.id].result.hunks \
         client.handlers['agent/review/update'](nil, {{ uri = vim.uri_from_bufnr(File()), version = {version}, \
           hunks = {hunks} }}, {{ client_id = client.id }}) "
    )
}

#[test]
fn p02_undo_of_a_change_names_the_users_lines_and_restore_brings_them_back() {
    each(three, |editor| {
        run(editor);
        wait_drawn(editor, &all_three(""));
        editor.lua("vim.api.nvim_win_set_cursor(0, { 6, 0 })");
        let halved = "vim.api.nvim_buf_set_lines(File(), 5, 6, false, { '2 and a half' })";
        // What was drawn did not have the user's text, so the key must not drop it.
        change_and_press(editor, halved, "\\\\au");
        assert!(told(editor).ends_with("the change moved; press again"), "{}", told(editor));
        editor.wait_buffer(&EDITED.replace('2', "2 and a half"));
        let amended = all_three("").replace(
            &format!("+ DiffAdd 2 {HINT}"),
            "~ DiffAdd 2 and a half «keep \\ak · undo with your line \\au»",
        );
        wait_drawn(editor, &amended);
        editor.lua("vim.cmd('Adjutant show')");
        let sides = "(function() local sides = {} for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do local text = \
                     vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false) sides[#sides + 1] = \
                     ('%s %s %s'):format(vim.wo[window].winbar, text[1], vim.wo[window].diff) end return sides end)()";
        let shown = editor.lua(&format!("return {sides}"));
        let wanted = ["before two true", "the agent's 2 true", "now 2 and a half true"];
        assert_eq!(shown, serde_json::json!(wanted));
        press(editor, "q");
        assert_eq!(editor.lua("return vim.fn.tabpagenr('$')"), 1);
        press(editor, "\\\\au");
        editor.wait_buffer(&EDITED.replace('2', "two"));
        wait_told(editor, "undone;");
        editor.lua("vim.cmd('Adjutant restore')");
        editor.wait_buffer(&EDITED.replace('2', "2 and a half"));
        // It is the user's text as before.
        wait_drawn(editor, &amended);
        editor.lua("vim.cmd('Adjutant restore')");
        wait_told(editor, "nothing was undone in this file");
    });
}

#[test]
fn p02_a_refusal_of_the_server_is_one_line() {
    each(three, |editor| {
        run(editor);
        wait_drawn(editor, &all_three(""));
        editor.lua("vim.api.nvim_buf_set_lines(File(), 5, 6, false, { '2 and a half' })");
        wait_drawn(
            editor,
            &all_three("").replace(
                &format!("+ DiffAdd 2 {HINT}"),
                "~ DiffAdd 2 and a half «keep \\ak · undo with your line \\au»",
            ),
        );
        let other = "(function() for _, hunk in ipairs(real) do hunk.text = hunk.text and 'other text' end return real end)()";
        editor.lua("vim.api.nvim_win_set_cursor(0, { 6, 0 })");
        editor.lua("vim.o.columns = 200");
        change_and_press(editor, &update("now", other), "\\\\au");
        wait_told(editor, "the text in its place is not what was shown");
        editor.wait_buffer(&EDITED.replace('2', "2 and a half"));
    });
}

#[test]
fn n03_an_update_about_another_version_of_the_text_is_not_drawn() {
    each(three, |editor| {
        run(editor);
        wait_drawn(editor, &all_three(""));
        editor.lua(&update("now - 1", "{ real[1] }"));
        assert_eq!(drawn(editor), all_three(""), "lines of another text");
        // Nor is one of a server that is not attached to the buffer.
        editor.lua(
            &update("now", "{ real[1] }").replace("client_id = client.id", "client_id = client.id + 1000"),
        );
        assert_eq!(drawn(editor), all_three(""), "changes of another server");
        editor.lua(&update("now", "{ real[1] }"));
        assert!(!drawn(editor).contains("DiffDelete two"), "{}", drawn(editor));
        editor.lua(&update("now", "{}"));
        assert_eq!(drawn(editor), plain(EDITED).trim_end());
    });
}

#[test]
fn p02_all_changes_of_a_file_are_undone_restored_and_kept_by_one_key_each() {
    each(three, |editor| {
        run(editor);
        wait_drawn(editor, &all_three(""));
        for (keys, line) in [("2]h", 10), ("]h", 1), ("[h", 10), ("gg", 1)] {
            press(editor, keys);
            assert_eq!(editor.lua("return vim.api.nvim_win_get_cursor(0)[1]"), line, "after {keys}");
        }
        press(editor, "\\\\aU");
        editor.wait_buffer(BEFORE);
        wait_told(editor, "3 changes undone; :Adjutant restore brings them back");
        wait_drawn(editor, plain(BEFORE).trim_end());
        editor.lua("vim.cmd('Adjutant restore')");
        editor.wait_buffer(EDITED);
        wait_drawn(editor, &all_three(""));
        press(editor, "\\\\aK");
        wait_drawn(editor, plain(EDITED).trim_end());
        wait_told(editor, "3 changes kept");
    });
}

#[test]
fn p02_a_range_decides_about_the_changes_in_it_and_a_reason_can_be_given() {
    each(three, |editor| {
        run(editor);
        wait_drawn(editor, &all_three(""));
        editor.lua("vim.cmd('1,6Adjutant keep')");
        let rest = plain("1\n.\n.\n.\n.\n2\n.\n.\n.\n");
        wait_drawn(editor, &format!("{rest}- .\n  DiffDelete three\n  Comment keep \\ak · undo \\au"));
        editor.lua(
            "vim.ui.input = function(options, done) vim.g.asked = options.prompt done('three stays') end",
        );
        editor.lua("vim.api.nvim_win_set_cursor(0, { 10, 0 })");
        press(editor, "\\\\ar");
        editor.wait_buffer(&format!("{EDITED}three\n"));
        assert_eq!(editor.lua("return vim.g.asked"), "Undo because: ");
    });
}

#[test]
fn n03_the_changes_of_all_files_are_a_quickfix_list() {
    each(three, |editor| {
        run(editor);
        wait_drawn(editor, &all_three(""));
        editor.lua("vim.cmd('Adjutant review list')");
        editor.wait_true("the list", "return #vim.api.nvim_list_wins() == 2");
        let listed = "local lines = {} for _, item in ipairs(vim.fn.getqflist()) do \
            local file = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(item.bufnr), ':t') \
            lines[#lines + 1] = file .. ':' .. item.lnum .. ' ' .. item.text end \
            table.sort(lines) return table.concat(lines, '|')";
        let wanted = "greet.py:1 applied +1 −1: 1|greet.py:11 applied +0 −1: three|\
            greet.py:6 applied +1 −1: 2|other.py:1 applied +1 −1: 4";
        assert_eq!(editor.lua(listed), wanted);
        assert_eq!(editor.lua("return vim.api.nvim_get_current_buf() == File()"), true, "the focus stays");
    });
}

#[test]
fn n03_keys_exist_only_with_changes_and_never_replace_a_map_of_the_user() {
    const OWN: &str = "local own = {} for _, map in ipairs(vim.api.nvim_buf_get_keymap(File(), 'n')) do \
        if map.rhs and map.rhs:find('adjutant', 1, true) then own[#own + 1] = map.lhs end end \
        table.sort(own) return table.concat(own, ' ')";
    each(three, |editor| {
        editor.lua("vim.keymap.set('n', ']h', '<Cmd>let g:mine = 1<CR>')");
        editor.lua("vim.keymap.set('n', '<leader>ak', '<Cmd>let g:mine = 2<CR>', { buffer = File() })");
        editor.lua("vim.keymap.set('n', 'gu', '<Plug>(adjutant-undo)')");
        assert_eq!(editor.lua(OWN), "");
        run(editor);
        let hint = "«keep :Adjutant keep · undo \\au»";
        let text = all_three("").replace(HINT, hint).replace("keep \\ak", "keep :Adjutant keep");
        wait_drawn(editor, &text);
        assert_eq!(editor.lua(OWN), "[h \\aK \\aU \\ac \\ar \\au");
        press(editor, "]h");
        assert_eq!(editor.lua("return vim.g.mine"), 1);
        press(editor, "\\\\ak");
        assert_eq!(editor.lua("return vim.g.mine"), 2);
        // A map that the user makes later wins too, and the hint prints the user's own key.
        editor.lua("vim.keymap.set('n', '<leader>au', '<Cmd>let g:mine = 3<CR>')");
        editor.type_at_top("typed");
        wait_for("the hint with the own key", || drawn(editor).contains("undo gu").then_some(()));
        press(editor, "\\\\au");
        assert_eq!(editor.lua("return vim.g.mine"), 3);
        editor.lua("vim.cmd('Adjutant keep file')");
        wait_drawn(editor, plain(&format!("typed\n{EDITED}")).trim_end());
        assert_eq!(editor.lua(OWN), "");
        assert_eq!(
            editor.lua("return vim.fn.maparg(']h', 'n') ~= '' and vim.fn.maparg('\\\\ak', 'n') ~= ''"),
            true
        );
    });
}

#[test]
fn n03_the_keys_can_be_turned_off() {
    each(three, |editor| {
        editor.lua("require('adjutant.keymaps').setup(false)");
        run(editor);
        wait_drawn(
            editor,
            &all_three("").replace("\\ak", ":Adjutant keep").replace("\\au", ":Adjutant undo"),
        );
        assert_eq!(editor.lua("return vim.fn.maparg('\\\\ak', 'n') .. vim.fn.maparg(']h', 'n')"), "");
        editor.lua("vim.cmd('Adjutant previous') vim.cmd('Adjutant undo')");
        editor.wait_buffer(&format!("{EDITED}three\n"));
    });
}

#[test]
fn n03_changes_stay_through_a_reload_and_a_hidden_or_wiped_buffer() {
    each(three, |editor| {
        run(editor);
        wait_drawn(editor, &all_three(""));
        editor.lua("vim.v.errmsg = '' vim.cmd('silent write')");
        // Until the server knows the text that was read again, no key is about what was drawn before.
        let reload = "vim.cmd('edit!') return vim.fn.maparg('\\\\ak', 'n')";
        assert_eq!(editor.lua(reload), "");
        wait_drawn(editor, &all_three(""));
        press(editor, "gg]h");
        assert_eq!(editor.lua("return vim.api.nvim_win_get_cursor(0)[1]"), 6, "the keys are back");
        editor.lua("vim.g.file = vim.api.nvim_buf_get_name(0) vim.o.hidden = true vim.cmd('enew') vim.cmd('buffer #')");
        assert_eq!(drawn(editor), all_three(""));
        // The last buffer cannot be unloaded.
        editor.lua("vim.cmd('badd other.py')");
        for close in ["bdelete", "bwipeout", "bunload"] {
            editor.lua(&format!("vim.cmd('{close}') vim.cmd('edit ' .. vim.g.file)"));
            wait_drawn(editor, &all_three(""));
            press(editor, "gg]h");
            assert_eq!(editor.lua("return vim.api.nvim_win_get_cursor(0)[1]"), 6, "after {close}");
        }
        assert_eq!(editor.lua("return vim.v.errmsg"), "");
        editor.lua("vim.lsp.get_clients({ name = 'adjutant' })[1].stop(true)");
        wait_drawn(editor, plain(EDITED).trim_end());
        assert_eq!(editor.lua("return vim.fn.maparg('\\\\ak', 'n')"), "");
    });
}

#[test]
fn n03_what_is_removed_is_drawn_as_text_with_odd_characters_and_a_bound() {
    let old: String = (1..=30).map(|line| format!("line {line}\n")).collect();
    let odd = "a\u{200b}b\tc\u{1b}[31m  \n";
    each(
        || {
            edits(
                &format!("{odd}# stays\n# stays\n# stays\n# stays\n# stays\n# stays\n{old}end\n"),
                &[(odd, "ab\n"), (&old, "")],
            )
        },
        |editor| {
            editor.lua("vim.bo.tabstop = 8");
            run(editor);
            let shown: String = (1..=20).map(|line| format!("  DiffDelete line {line}\n")).collect();
            wait_for("the changes", || drawn(editor).contains("more lines").then_some(()));
            let odd = "  DiffDelete a\\u{200b}b      c\\u{1b}[31m\\u{20}\\u{20}\n";
            assert!(drawn(editor).starts_with(odd), "{}", drawn(editor));
            let bound = format!("{shown}  Comment … 10 more lines, :Adjutant show\n");
            assert!(drawn(editor).contains(&bound), "{}", drawn(editor));
            press(editor, "G");
            editor.lua("vim.cmd('Adjutant show')");
            assert_eq!(
                editor.lua("return vim.fn.search('^-line 30$', 'n') > 0 and vim.fn.tabpagenr('$')"),
                2
            );
            press(editor, "q");
            assert_eq!(editor.lua("return vim.api.nvim_get_current_buf() == File()"), true);
        },
    );
}

#[test]
fn n03_a_proposed_change_is_drawn_and_applied_only_after_it_was_in_sight() {
    each(three, |editor| {
        run(editor);
        wait_drawn(editor, &all_three(""));
        let proposed = |inserted: &str| {
            format!(
                "{{ {{ sessionId = real[1].sessionId, changeSetId = 'change-0', hunkId = 'h1', state = 'proposed', \
                 uri = '', path = '', line = 1, removed = '.\\n', inserted = {inserted}, diff = '' }} }}"
            )
        };
        editor.lua("vim.api.nvim_win_set_cursor(0, { 2, 0 })");
        let decided = || editor.stage.seen().count("in", "agent/review/decide");
        change_and_press(editor, &update("now", &proposed("'new\\nlines\\n'")), "\\\\ak");
        let wanted = "| 1\n? DiffDelete . «apply \\ak · reject \\au»\n  DiffAdd new\n  DiffAdd lines\n| .\n";
        assert!(drawn(editor).starts_with(wanted), "{}", drawn(editor));
        assert!(told(editor).ends_with("the change is new; press again"), "{}", told(editor));
        read();
        press(editor, "\\\\ak");
        wait_for("the decision", || (decided() == 1).then_some(()));
        editor.lua(&update("now", &proposed("('x\\n'):rep(30)")));
        read();
        press(editor, "\\\\ak");
        assert!(told(editor).ends_with("first look at all of it: :Adjutant show"), "{}", told(editor));
        editor.lua("vim.cmd('Adjutant show')");
        press(editor, "q\\\\ak");
        wait_for("the second decision", || (decided() == 2).then_some(()));
    });
}

#[test]
fn n03_in_a_narrow_window_the_keys_get_lines_of_their_own() {
    each(three, |editor| {
        run(editor);
        wait_drawn(editor, &all_three(""));
        editor.lua("vim.cmd('vsplit') vim.api.nvim_win_set_width(0, 14)");
        let own = "  Comment keep \\ak\n  Comment undo \\au\n";
        let narrow = all_three("")
            .replace(&format!("+ DiffAdd 1 {HINT}"), &format!("{own}+ DiffAdd 1"))
            .replace(&format!("+ DiffAdd 2 {HINT}"), &format!("{own}+ DiffAdd 2"))
            .replace("  Comment keep \\ak · undo \\au", own.trim_end());
        wait_drawn(editor, &narrow);
        editor.lua("vim.cmd('close')");
        wait_drawn(editor, &all_three(""));
    });
}

/// Lets the run make its edits in a terminal, by keys.
fn run_in(screen: &Screen) {
    command(screen, ":Adjutant Make them numbers");
    screen.wait("? Edit first.py");
    command(screen, ":Adjutant answer");
    let asked = screen.wait("q later");
    read();
    screen.keys(&[&key_of(&asked, "Yes, always")]);
    screen.wait("done");
}

/// Neovim shows nothing above the first line by itself.
#[test]
fn n03_a_terminal_shows_what_was_removed_above_the_first_line_in_two_windows() {
    for version in VERSIONS {
        let before = format!("{BEFORE}def greet(): pass\n");
        let stage = edits(&before, &[("one\n", "1\n"), ("two\n", "2\n")]);
        let screen = open_sized(&stage, version, ("100", "30"));
        run_in(&screen);
        let both = |text: &str| text.lines().next().is_some_and(|line| line.trim() == "one");
        let shown = screen.wait_until("the removed line at the top", both);
        assert!(shown.contains("+ 1  keep \\ak · undo \\au"), "{shown}");
        command(&screen, ":vsplit");
        let twice = |text: &str| text.lines().next().is_some_and(|line| line.matches("one").count() == 2);
        screen.wait_until("the removed line in both windows", twice);
        command(&screen, ":5split");
        screen.keys(&["G"]);
        screen.wait_until("the end", |text| !text.lines().next().unwrap_or_default().starts_with("  one"));
        screen.keys(&["g", "g"]);
        screen.wait_until("the removed line again", twice);
        screen.text_in("\\au");
        screen.wait("undone; :Adjutant restore brings it back");
        assert!(!screen.text().contains("Press ENTER"), "{}", screen.text());
    }
}

/// Neovim leaves virtual lines on the screen that are cut by the edge of the window, if nothing else changes there.
#[test]
fn n03_nothing_of_a_kept_change_stays_on_a_terminal_that_is_too_low_for_it() {
    let long: String = (1..=40).map(|line| format!("old = {line}\n")).collect();
    for version in VERSIONS {
        let before = format!("def greet(): pass\n{}{long}end\n", ".\n".repeat(9));
        let stage = edits(&before, &[(&long, "")]);
        let screen = open_sized(&stage, version, ("100", "26"));
        run_in(&screen);
        screen.wait_until("a part of the change", |text| {
            text.contains("old = 9") && !text.contains("more lines")
        });
        command(&screen, ":Adjutant keep file");
        screen.wait_until("no rest of the change", |text| !text.contains("old = "));
    }
}

impl scenes::Reviewer for Neovim<'_> {
    const MARKS: &'static str = scenes::DRAWN;

    fn open(&self, file: &str) {
        // The tests read the first listed buffer.
        self.lua(&format!("vim.bo.buflisted = false vim.cmd('edit {file}')"));
    }

    fn insert_above(&self, line: usize, text: &str) {
        self.lua(&format!("vim.fn.append({}, '{text}')", line - 1));
    }

    fn hover(&self) -> String {
        unreachable!("Neovim draws what was there before")
    }

    fn undo_change(&self, line: usize) {
        decide(self, line, "u");
    }

    fn keep_change(&self, line: usize, _with: &str) {
        decide(self, line, "k");
    }
}

/// Presses a key about the change at a line, once the change is no longer new.
fn decide(editor: &Neovim<'_>, line: usize, key: &str) {
    wait_for("a change in the text", || drawn(editor).contains("DiffAdd").then_some(()));
    read();
    editor.go_to_line(line);
    press(editor, &format!("\\\\a{key}"));
}

#[test]
fn n01_n03_a_review_goes_on_after_its_server_was_killed() {
    each(scenes::three_changes, |editor| scenes::reviews_over_a_kill(editor));
}
