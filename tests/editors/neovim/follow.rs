//! Scenes in Neovim about following the agent: what another window shows, and what the user's own keeps.
//!
//! Never looks into the server.

use adjutant_testkit::model::Reply;
use serde_json::json;

use super::changes::wait_told;
use super::conversation::wait_done;
use super::scenes::{chat, each};
use super::{Neovim, VERSIONS, program};
use crate::editor::Editor;
use crate::stage::{Stage, shipped, wait_for};

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

fn wait_shown(editor: &Neovim<'_>, wanted: &str) {
    wait_for(&format!("the windows {wanted:?}, which are {:?}", shown(editor)), || {
        (shown(editor) == wanted).then_some(())
    });
}

/// Returns a call that reads ten lines of a file.
fn read(path: &str, line: usize) -> Reply {
    Reply::call("read_file", json!({ "path": path, "offset": line, "limit": 10 }))
}

/// Returns a stage with two long files, which the model reads as it is told.
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
        neovim.arg(shipped("tests/editors/neovim/pace.lua")).arg(shipped("editors/nvim/lua/adjutant/pace.lua"));
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
