//! Scenes in Neovim about what is folded in the chat: steps with what they gave and changed, and reasoning.
//!
//! Never looks into the server.

use adjutant_testkit::model::Reply;
use serde_json::json;

use super::conversation::{go, send, wait_done};
use super::scenes::{chat, each, press};
use super::{Neovim, VERSIONS};
use crate::editor::Editor;
use crate::scenes;
use crate::stage::{Stage, wait_for};

/// What the window of the chat shows: each line that is in sight, a closed fold as the user reads it.
fn shown(editor: &Neovim<'_>) -> String {
    let lines = editor.lua(
        "return vim.api.nvim_win_call(vim.fn.bufwinid(Chat()), function() \
            local lines, row = {}, 1 \
            while row <= vim.fn.line('$') do \
              local last = vim.fn.foldclosedend(row) \
              lines[#lines + 1] = last < 0 and vim.fn.getline(row) or vim.fn.foldtextresult(row) \
              row = math.max(row, last) + 1 \
            end \
            return table.concat(lines, '\\n') end)",
    );
    lines.as_str().unwrap_or_default().to_owned()
}

fn wait_shown(editor: &Neovim<'_>, what: &str, wanted: impl Fn(&str) -> bool) -> String {
    wait_for(&format!("{what} in\n{}", shown(editor)), || Some(shown(editor)).filter(|text| wanted(text)))
}

fn enter(editor: &Neovim<'_>) {
    editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(Chat()))");
}

fn reads() -> Stage {
    let call = |path: &str| Reply::call("read_file", json!({ "path": path }));
    Stage::new(
        "//- /greet.py\ndef greet(): pass\n//- /other.py\nprint(2)\n",
        [call("greet.py"), call("other.py"), Reply::text("It is *short*.")],
    )
}

/// `<CR>` opens and closes a step with what it gave; the keys of Neovim do so too.
#[test]
fn s105_a_step_of_the_chat_is_one_line_until_it_is_opened() {
    each(reads, |editor| {
        send(editor, "Read it");
        wait_done(editor, "It is *short*.");
        let closed = wait_shown(editor, "two closed steps", |text| text.matches("▸ ✓ Read").count() == 2);
        assert!(!closed.contains("path:"), "{closed}");
        enter(editor);
        press(editor, "gg/✓ Read greet<CR><CR>");
        let open = wait_shown(editor, "what it gave", |text| text.contains("def greet"));
        assert!(open.contains("\n✓ Read greet.py") && open.contains("\n    path: greet.py\n"), "{open}");
        assert!(open.contains("\n▸ ✓ Read other.py"), "the next one stays closed: {open}");
        assert!(chat(editor).ends_with("It is *short*.\n\n— done"), "what follows stays below it");
        press(editor, "j<CR>");
        assert_eq!(shown(editor), closed);
        press(editor, "za");
        assert_eq!(shown(editor), open);
        press(editor, "zR");
        assert!(shown(editor).contains("\n    path: other.py"), "{}", shown(editor));
        press(editor, "zM");
        assert_eq!(shown(editor), closed);
        // Elsewhere the key goes to the next line, as it does everywhere.
        press(editor, "gg<CR>");
        assert_eq!(editor.lua("return vim.api.nvim_win_get_cursor(0)[1]"), 2);
        let file = "local window = vim.fn.bufwinid(File()) return vim.wo[window].foldtext == vim.go.foldtext \
            and vim.wo[window].foldmethod == vim.go.foldmethod and vim.wo[window].foldenable == vim.go.foldenable";
        assert_eq!(editor.lua(file), true, "the folds of other windows are the user's");
    });
}

/// A step stays as the user left it while more is written, above, in and below it, and while they type in the prompt.
#[test]
fn s105_an_open_step_stays_open_while_it_prints_and_closed_ones_stay_closed() {
    let prints = || {
        let command = "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two; echo three";
        let call = |path: &str| Reply::call("read_file", json!({ "path": path }));
        let run = Reply::call("run_command", json!({ "command": command }));
        Stage::new("//- /greet.py\nprint(1)\n", [call("greet.py"), run, call("greet.py"), Reply::text("So.")])
    };
    each(prints, |editor| {
        send(editor, "Run it");
        editor.wait_asked("echo one");
        super::terminal::read();
        editor.choose("Yes, once");
        wait_for("what it prints", || chat(editor).contains("\n    one").then_some(()));
        enter(editor);
        press(editor, "gg/… Run<CR><CR>");
        wait_shown(editor, "an open step", |text| text.contains("\n    one") && text.contains("\n▸ ✓ Read"));
        go(editor);
        editor.lua("vim.api.nvim_input('i')");
        editor.wait_true("Insert mode", "return vim.api.nvim_get_mode().mode == 'i'");
        editor.stage.workspace.write("go", "");
        wait_done(editor, "So.");
        let text = shown(editor);
        assert!(text.contains("\n    one\n    two\n    three"), "{text}");
        assert_eq!(text.matches("\n▸ ✓ Read greet.py").count(), 2, "{text}");
        assert_eq!(editor.lua("return vim.api.nvim_get_mode().mode"), "i", "the user types on");
    });
}

#[test]
fn s105_return_on_a_step_that_changed_a_file_shows_the_diff_in_a_tab() {
    each(super::changes::three, |editor| {
        super::changes::run(editor);
        editor.lua("vim.cmd('Adjutant chat')");
        wait_shown(editor, "the end", |text| text.contains("Done."));
        enter(editor);
        press(editor, "gg/✓ Edit greet<CR><CR>");
        editor.wait_true("the diff", "return vim.fn.tabpagenr('$') == 2 and vim.fn.search('^+1$', 'n') > 0");
        assert_eq!(editor.lua("return vim.bo.syntax .. ': ' .. vim.wo.winbar"), "diff: q closes this tab");
        press(editor, "q");
        editor.wait_true(
            "the chat",
            "return vim.fn.tabpagenr('$') == 1 and vim.api.nvim_get_current_buf() == Chat()",
        );
    });
}

#[test]
fn s105_reasoning_is_folded_under_one_line() {
    let thinks = || {
        scenes::stage([Reply::text("").and_reasoning("First I look.\nThen I see.").and_text("It greets.")])
    };
    each(thinks, |editor| {
        send(editor, "Look");
        wait_done(editor, "It greets.");
        let text = wait_shown(editor, "the one line", |text| text.contains("▸ Thought"));
        assert!(!text.contains("First I look."), "{text}");
        enter(editor);
        press(editor, "gg/Thought<CR>zo");
        let text = shown(editor);
        assert!(text.contains("\nThought") && text.contains("\nFirst I look.\nThen I see."), "{text}");
    });
}

#[test]
fn s105_folded_steps_read_well_in_a_terminal_of_80_by_24() {
    for version in VERSIONS {
        let stage = reads();
        let screen = super::terminal::open_sized(&stage, version, ("80", "24"));
        super::terminal::command(&screen, ":Adjutant chat");
        super::terminal::command(&screen, ":Adjutant Read them");
        let text = screen.wait("— done");
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        for wanted in ["▸ ✓ Read greet.py · 1 line of greet.py", "▸ ✓ Read other.py · 1 line of other.py"]
        {
            assert!(lines.contains(&wanted), "without {wanted:?}:\n{text}");
        }
    }
}
