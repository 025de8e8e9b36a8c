//! Scenes in Neovim about how much of a task the chat draws.
//!
//! Never looks into the server.

use adjutant_testkit::model::Reply;
use serde_json::json;

use super::Neovim;
use super::changes::wait_told;
use super::conversation::send;
use super::scenes::{chat, each};
use crate::editor::Editor;
use crate::scenes;
use crate::stage::{wait_for, wait_or};

/// The lines of the chat as its window shows them: a closed fold is one line.
const SHOWN: &str = "local window = require('adjutant.chat').window() \
    return vim.api.nvim_win_call(window, function() \
      local all, row = {}, 1 \
      while row <= vim.fn.line('$') do \
        local last = vim.fn.foldclosedend(row) \
        local line = last > 0 and vim.fn.foldtextresult(row) or vim.fn.getline(row) \
        all[#all + 1] = line:gsub('(there is no file).*', '%1') \
        row = math.max(row, last) + 1 end \
      return table.concat(vim.tbl_filter(function(line) return line ~= '' end, all), '\\n') end)";

#[track_caller]
fn wait_shown(editor: &Neovim<'_>, wanted: &[&str]) {
    let wanted = wanted.join("\n");
    let shown = || editor.lua(SHOWN).as_str().unwrap_or_default().to_owned();
    wait_or(|| (shown() == wanted).then_some(()))
        .unwrap_or_else(|| panic!("the chat shows\n{}\nnot\n{wanted}", shown()));
}

/// What is left out is not lost: it comes back with the next choice, and the model had it all the time.
#[test]
fn s102_the_page_of_a_session_draws_as_much_as_the_user_wants() {
    let read = |path: &str| json!({ "path": path });
    let edit = json!({"path": scenes::FILE, "old_text": "Helo", "new_text": "Hello"});
    let look = || {
        scenes::stage([
            Reply::text("")
                .and_reasoning("It may be in the greeting.")
                .and_text("I look.")
                .and_call("read_file", read(scenes::FILE)),
            Reply::call("read_file", read("gone.py")),
            Reply::call("edit_file", edit.clone()),
            Reply::text("Seen."),
            Reply::call("read_file", read(scenes::FILE)),
            Reply::call("read_file", read("lost.py")),
            Reply::text("Seen again."),
            Reply::text("").and_reasoning("I think.").and_text("Third."),
        ])
    };
    let [prompt, said, thought] = ["# Look at it", "I look.", "▸ Thought"];
    let fine = "▸ ✓ Read greet.py · 3 lines of greet.py";
    let failed = "▸ ✗ Read gone.py · there is no file";
    let [changed, seen, done] = ["▸ ✓ Edit greet.py · +1 −1", "Seen.", "— done"];
    let [again, lost, seen_again] = ["# Again", "▸ ✗ Read lost.py · there is no file", "Seen again."];
    each(look, |editor| {
        editor.lua("vim.o.columns = 200 vim.cmd('Adjutant chat')");
        send(editor, "Look at it");
        editor.wait_asked("Edit greet.py");
        editor.choose("Yes, once");
        wait_shown(editor, &[prompt, thought, said, fine, failed, changed, seen, done]);
        assert_eq!(
            editor.lua("return table.concat(vim.fn.getcompletion('Adjutant detail ', 'cmdline'), ' ')"),
            "brief normal full"
        );
        editor.lua("vim.cmd('Adjutant detail brief')");
        wait_told(editor, "Adjutant: the chat draws tasks: brief");
        wait_shown(editor, &[prompt, said, failed, changed, seen, done]);
        send(editor, "Again");
        wait_shown(editor, &[prompt, said, failed, changed, seen, done, again, lost, seen_again, done]);
        editor.lua("vim.cmd('Adjutant detail full')");
        let path = |name: &str| format!("    path: {name}");
        let [greet, gone, other] = [scenes::FILE, "gone.py", "lost.py"].map(path);
        let edit = ["    new_text: Hello", "    old_text: Helo", "    path: greet.py"];
        let opened = |line: &'static str| line.trim_start_matches("▸ ");
        let mut full = vec![prompt, "Thought", "It may be in the greeting.", said, opened(fine), &greet];
        full.extend([opened(failed), &gone, opened(changed)].into_iter().chain(edit));
        full.extend([seen, done, again, opened(fine), &greet, opened(lost), &other, seen_again, done]);
        wait_shown(editor, &full);
        // It is the choice of this Neovim, also for its next server.
        editor.lua("vim.cmd.wincmd('t')");
        editor.stage.kill_server();
        editor.restart();
        editor.command("Third");
        wait_shown(editor, &["# Third", "Thought", "I think.", "Third.", done]);
        editor.lua("vim.cmd('Adjutant detail')");
        let asked = wait_for("the choices", || editor.asked());
        assert!(asked.contains("\n* full · also thoughts and the arguments of steps"), "{asked}");
        editor.choose("  normal");
        wait_shown(editor, &["# Third", thought, "Third.", done]);
    });
}

/// A summary is drawn unless the model has just said the same; what it said in another task does not count.
#[test]
fn s104_a_summary_that_the_model_has_just_said_is_drawn_once() {
    let ends = || {
        let end =
            |text: &str| Reply::text(text).and_call("task_complete", json!({ "summary": "All is well." }));
        scenes::stage([end(" All is well.\n"), end(""), end("I looked.")])
    };
    each(ends, |editor| {
        let wait = |count: usize| {
            wait_for("the end", || (chat(editor).matches("— done").count() == count).then_some(()));
        };
        send(editor, "One");
        wait(1);
        send(editor, "Two");
        wait(2);
        send(editor, "Three");
        wait(3);
        let text = chat(editor);
        let wanted = "# One\n\nAll is well.\n\n— done\n\n# Two\n\nAll is well.\n\n— done\n\n\
            # Three\n\nI looked.\n\nAll is well.\n\n— done";
        assert_eq!(
            text.split_whitespace().collect::<Vec<_>>(),
            wanted.split_whitespace().collect::<Vec<_>>()
        );
    });
}
