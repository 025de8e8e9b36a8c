//! Scenes in Neovim about following the agent: what another window shows, and what the user's own keeps.
//!
//! Never looks into the server.

use adjutant_testkit::model::Reply;
use serde_json::json;

use super::changes::wait_told;
use super::conversation::wait_done;
use super::scenes::{chat, each};
use super::terminal::{command, open_sized};
use super::{Neovim, VERSIONS, program};
use crate::editor::Editor;
use crate::scenes;
use crate::stage::{Stage, shipped, wait_for, wait_or};

/// What the user can lose: the window, the cursor, the mode, the text, the file of before and the list of jumps.
const MINE: &str = "local jumps = vim.fn.getjumplist() \
    return { vim.api.nvim_get_current_win(), vim.api.nvim_win_get_cursor(0), vim.api.nvim_get_mode().mode, \
      vim.api.nvim_buf_get_lines(0, 0, -1, false), vim.fn.expand('#:t'), jumps[2], #jumps[1], vim.fn.line('w0') }";

/// The windows with files in order: the name of each, the line of its cursor, and the lines that are marked.
const SHOWN: &str = "local all, space = {}, vim.api.nvim_get_namespaces()['adjutant.follow'] \
    for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do \
      local buffer = vim.api.nvim_win_get_buf(window) \
      if vim.bo[buffer].buftype == '' then \
        local marks = '' \
        for _, mark in ipairs(space and vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, { details = true }) or {}) do \
          marks = marks .. ('[%d-%d]'):format(mark[2] + 1, mark[4].end_row + 1) end \
        all[#all + 1] = ('%s:%d%s'):format(vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buffer), ':t'), \
          vim.api.nvim_win_get_cursor(window)[1], marks) end end \
    return table.concat(all, ' ')";

fn shown(editor: &Neovim<'_>) -> String {
    editor.lua(SHOWN).as_str().unwrap_or_default().to_owned()
}

#[track_caller]
fn wait_shown(editor: &Neovim<'_>, wanted: &str) {
    wait_or(|| (shown(editor) == wanted).then_some(()))
        .unwrap_or_else(|| panic!("the windows are {:?}, not {wanted:?}", shown(editor)));
}

/// Returns a call that reads ten lines of a file.
fn read(path: &str, line: usize) -> Reply {
    Reply::call("read_file", json!({ "path": path, "offset": line, "limit": 10 }))
}

/// Returns a stage with two long files. `replies` say when the model reads them.
fn stage(replies: impl IntoIterator<Item = Reply>) -> Stage {
    let lines = |word: &str| (1..=60).map(|line| format!("{word} = {line}\n")).collect::<String>();
    let text = format!(
        "//- /greet.py\nprint(1)\nprint(2)\nprint(3)\n//- /one.py\n{}//- /two.py\n{}",
        lines("one"),
        lines("two")
    );
    Stage::new(&text, replies)
}

/// Types as a user does: the keys are those of a keyboard.
fn typed(editor: &Neovim<'_>, keys: &str) {
    editor.lua(&format!("vim.api.nvim_input('{keys}')"));
}

/// When what happens is decided without a clock of its own: the newest place, one in a second, three quiet seconds.
#[test]
fn p20_the_newest_place_is_shown_once_a_second_and_only_when_the_user_is_quiet() {
    for version in VERSIONS {
        let (program, runtime) = program(version);
        let mut neovim = std::process::Command::new(program);
        neovim.env("VIMRUNTIME", runtime).args(["--headless", "-u", "NONE", "-l"]);
        neovim
            .arg(shipped("tests/editors/neovim/pace.lua"))
            .arg(shipped("editors/nvim/lua/adjutant/pace.lua"));
        let said = neovim.output().expect("start Neovim");
        let wrong =
            String::from_utf8_lossy(&said.stdout).into_owned() + &String::from_utf8_lossy(&said.stderr);
        assert!(said.status.success() && wrong.is_empty(), "{version}: {wrong}");
    }
}

#[test]
fn p20_another_window_follows_the_agent_while_the_user_types_and_nothing_of_theirs_moves() {
    let reads = || {
        stage([
            read("one.py", 20),
            read("two.py", 40),
            Reply::text("Read both.").hold_after(1),
            read("one.py", 5),
            Reply::text("Read again."),
        ])
    };
    each(reads, |editor| {
        editor.lua("vim.cmd('Adjutant follow')");
        wait_told(editor, "Adjutant: follows the agent in another window");
        editor.lua("vim.cmd('edit other.py') vim.cmd('edit greet.py')");
        typed(editor, "GAabc");
        editor.wait_true("the text", "return vim.api.nvim_get_current_line() == 'print(3)abc'");
        editor.command("Look at both");
        editor.stage.model.wait_for_holding(1);
        wait_for("the steps", || chat(editor).contains("two.py").then_some(()));
        let mine = editor.lua(MINE);
        assert_eq!(mine[2], "i");
        let since = std::time::Instant::now();
        wait_for("a time in which nothing is shown", || {
            assert_eq!(shown(editor), "greet.py:3", "while the user types");
            (since.elapsed() >= std::time::Duration::from_millis(3500)).then_some(())
        });
        assert_eq!(editor.lua(MINE), mine);
        typed(editor, "<Esc>");
        editor.wait_true("Normal mode", "return vim.api.nvim_get_mode().mode == 'n'");
        let since = std::time::Instant::now();
        let mine = editor.lua(MINE);
        wait_shown(editor, "greet.py:3 two.py:40[40-49]");
        assert!(since.elapsed() >= std::time::Duration::from_millis(2500), "{:?}", since.elapsed());
        assert_eq!(editor.lua(MINE), mine);
        assert_eq!(editor.lua("return vim.fn.bufexists('one.py')"), 0, "what was not shown was not opened");
        editor.stage.model.release();
        wait_done(editor, "Read both.");
        wait_shown(editor, "greet.py:3 two.py:40");
        editor.lua("vim.cmd('Adjutant follow')");
        wait_told(editor, "Adjutant: no longer follows the agent");
        editor.command("Look once more");
        wait_done(editor, "Read again.");
        assert_eq!(shown(editor), "greet.py:3 two.py:40");
        assert_eq!(editor.lua(MINE), mine);
        assert_eq!(editor.lua("return vim.on_key()"), 0, "no key is watched");
    });
}

/// Lets the held answer come, and waits until the next one is held.
fn go_on(editor: &Neovim<'_>, request: usize) {
    editor.stage.model.release();
    editor.stage.model.wait_for_requests(request);
    editor.stage.model.wait_for_holding(1);
}

/// Returns a call that comes when the test lets it.
fn held(path: &str, line: usize) -> Reply {
    read(path, line).hold_after(1)
}

#[test]
fn p20_a_window_that_the_user_takes_is_theirs_and_one_that_they_close_ends_it() {
    let reads = || {
        let calls = [("one.py", 20), ("two.py", 40), ("one.py", 5), ("two.py", 10)];
        stage(calls.map(|(path, line)| held(path, line)).into_iter().chain([Reply::never()]))
    };
    each(reads, |editor| {
        let focus = "return vim.fn.winnr() .. vim.fn.expand(':%:t')";
        editor.lua("vim.cmd('Adjutant follow')");
        editor.command("Look at both");
        editor.stage.model.wait_for_holding(1);
        go_on(editor, 2);
        wait_shown(editor, "greet.py:1 one.py:20[20-29]");
        // Who passes through takes nothing.
        editor.lua("vim.cmd('wincmd w') vim.cmd('wincmd w')");
        go_on(editor, 3);
        wait_shown(editor, "greet.py:1 two.py:40[40-49]");
        assert_eq!(editor.lua("return vim.fn.buflisted('two.py')"), 0);
        assert_eq!(editor.lua("return vim.fn.bufloaded('one.py')"), 0, "what it leaves is closed");
        // Who reads there keeps it, at the place and in the list of buffers.
        editor.lua("vim.cmd('wincmd w') vim.api.nvim_win_set_cursor(0, { 7, 0 }) vim.cmd('wincmd p')");
        let mine = editor.lua(focus);
        go_on(editor, 4);
        wait_shown(editor, "greet.py:1 two.py:7 one.py:5[5-14]");
        assert_eq!(editor.lua("return vim.fn.buflisted('two.py')"), 1);
        assert_eq!(editor.lua(focus), mine);
        editor.lua("vim.cmd('bwipeout one.py')");
        wait_told(editor, "Adjutant: no longer follows the agent");
        editor.stage.model.release();
        editor.stage.model.wait_for_requests(5);
        let steps = || chat(editor).lines().filter(|line| line.starts_with('✓')).count();
        wait_for("the last step", || (steps() == 4).then_some(()));
        assert_eq!(shown(editor), "greet.py:1 two.py:7");
    });
}

#[test]
fn p20_a_sent_prompt_is_looked_at_from_insert_mode_and_what_is_no_text_is_skipped() {
    let reads = || {
        let given = stage([
            read("gone.py", 1),
            read("one.py", 20).and_call("read_file", json!({ "path": "data.bin" })),
            Reply::text("Done.").hold_after(1),
        ]);
        given.workspace.write("data.bin", "a\0b\n");
        given
    };
    each(reads, |editor| {
        editor.lua("vim.cmd('Adjutant prompt')");
        editor.wait_true("the prompt", super::conversation::IN_PROMPT);
        editor.lua("vim.cmd('Adjutant follow')");
        typed(editor, "Look at it<C-s>");
        wait_shown(editor, "greet.py:1 one.py:20[20-29]");
        assert_eq!(editor.lua("return vim.api.nvim_get_mode().mode .. vim.bo.filetype"), "iadjutant-prompt");
        assert_eq!(editor.lua("return vim.fn.bufexists('data.bin') + vim.fn.bufexists('gone.py')"), 0);
        // The server names no such place today.
        editor.lua(
            "local here = vim.uri_from_fname(vim.fn.getcwd()) .. '/' \
             local function told(uri, line) \
               local range = { start = { line = line, character = 0 }, ['end'] = { line = line + 1, character = 0 } } \
               require('adjutant.follow').told({ sessionId = select(2, require('adjutant.sessions').target()), \
                 update = { sessionUpdate = 'tool_call_update', status = 'completed', locations = { { uri = uri, range = range } } } }) end \
             told(here .. 'one.py', 30) told(here .. 'data.bin', 0) told(here .. 'gone.py', 0) told(here, 0) told('untitled:One', 0)",
        );
        wait_shown(editor, "greet.py:1 one.py:31[31-31]");
        typed(editor, "a");
        editor.wait_true("the text", "return vim.api.nvim_get_current_line() == 'a'");
    });
}

/// The file is open in a Neovim that died: it is shown without a question, and no key can write it by mistake.
#[test]
fn p20_a_file_with_a_swap_file_is_shown_without_a_question() {
    const LEFT: &str = "vim.o.swapfile = true vim.cmd('edit one.py') vim.cmd('preserve') \
        local swap = vim.fn.swapname('%') vim.uv.fs_copyfile(swap, swap .. '.kept') \
        vim.cmd('bwipeout one.py') vim.uv.fs_rename(swap .. '.kept', swap) return vim.uv.fs_stat(swap) ~= nil";
    let reads = || stage([read("one.py", 20), Reply::text("Done.").hold_after(1)]);
    each(reads, |editor| {
        assert_eq!(editor.lua(LEFT), true);
        // Neovim itself asks nothing as long as the process of the swap file lives.
        editor.lua("pcall(vim.api.nvim_del_augroup_by_name, 'nvim_swapfile') pcall(vim.api.nvim_del_augroup_by_name, 'nvim.swapfile')");
        editor.lua("vim.cmd('Adjutant follow')");
        editor.command("Look at it");
        wait_shown(editor, "greet.py:1 one.py:20[20-29]");
        assert_eq!(editor.lua("return vim.bo[vim.fn.bufnr('one.py')].readonly"), true);
    });
}

/// Who looks at one conversation in the chat follows that one; where texts are compared, no window is opened.
#[test]
fn p20_only_the_session_in_sight_is_followed_and_a_comparison_stays_as_it_is() {
    let reads = || {
        stage([
            Reply::text("First words."),
            held("one.py", 20),
            Reply::text("Second words."),
            held("two.py", 40),
            Reply::text("Third words.").hold_after(1),
        ])
    };
    each(reads, |editor| {
        editor.lua("vim.o.lines = 60 vim.cmd('Adjutant follow')");
        editor.command("One");
        wait_done(editor, "First words.");
        editor.command("Two");
        editor.stage.model.wait_for_holding(1);
        editor.lua("vim.cmd('Adjutant sessions')");
        editor.choose("One");
        wait_for("the first session", || chat(editor).contains("First words.").then_some(()));
        editor.stage.model.release();
        let second = "for _, buffer in ipairs(vim.api.nvim_list_bufs()) do \
            local text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), ' ') \
            if text:find('Second words. ', 1, true) and text:find('— done', 1, true) then return true end end return false";
        editor.wait_true("the end of the second session", second);
        assert_eq!(shown(editor), "greet.py:1");
        editor.lua("vim.cmd('Adjutant Three')");
        editor.stage.model.wait_for_holding(1);
        editor.lua("vim.cmd('badd two.py') vim.cmd('leftabove vertical diffsplit one.py')");
        editor.stage.model.release();
        editor.stage.model.wait_for_requests(5);
        editor.stage.model.wait_for_holding(1);
        wait_for("the step", || chat(editor).contains("✓ Read two.py").then_some(()));
        assert_eq!(shown(editor), "one.py:1 greet.py:1");
        assert_eq!(
            editor.lua("return vim.fn.buflisted('two.py')"),
            1,
            "the user's own list of buffers stays"
        );
    });
}

/// The set-up of a new user, in a terminal: no message waits for a key, and the next key goes where the last one went.
#[test]
fn p20_in_a_terminal_of_80_by_24_both_files_are_in_sight_and_no_key_is_asked_for() {
    for version in VERSIONS {
        let lines = (1..=60).map(|line| format!("one = {line}\n")).collect::<String>();
        let files = format!("//- /{}\n{}//- /one.py\n{lines}", scenes::FILE, scenes::BEFORE);
        let stage = Stage::new(&files, [read("one.py", 20), Reply::text("Read.").hold_after(1)]);
        let screen = open_sized(&stage, version, ("80", "24"));
        command(&screen, ":Adjutant follow");
        screen.wait("follows the agent in another window");
        command(&screen, ":Adjutant Look at it");
        let shown = screen.wait("one = 20\n");
        assert!(shown.contains("def greet") && shown.contains("\none = 22\n"), "{version}:\n{shown}");
        assert!(shown.contains("\none.py "), "the name is short, {version}:\n{shown}");
        assert!(!shown.contains("Press ENTER"), "{version}:\n{shown}");
        screen.keys(&["g", "g", "O"]);
        screen.text_in("TYPED = 1");
        let shown = screen.wait("TYPED = 1");
        let at = |part: &str| shown.lines().position(|line| line.contains(part));
        assert!(at("TYPED = 1") < at("def greet"), "{version}:\n{shown}");
    }
}
