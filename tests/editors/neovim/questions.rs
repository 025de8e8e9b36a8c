//! Scenes in Neovim about questions: their text on the screen, and questions that wait or close.
//!
//! Never looks into the server.

use adjutant_testkit::model::Reply;
use serde_json::json;

use super::scenes::{chat, each, notices, press};
use super::{Neovim, VERSIONS, program};
use crate::editor::Editor;
use crate::scenes;
use crate::stage::{Stage, shipped, wait_for};

fn command(line: &str) -> Reply {
    Reply::call("run_command", json!({ "command": line }))
}

fn asks_for(lines: &[&str]) -> Stage {
    let asks = lines.iter().map(|line| command(line));
    Stage::new("//- /greet.py\nprint(1)\n", asks.chain(lines.iter().map(|_| Reply::text("Seen."))))
}

/// Finding: a new window copies the options of the current one. A closed fold hid lines of an allowed edit, and
/// these counted as seen.
#[test]
fn finding_d10_nothing_of_a_question_is_folded_or_concealed() {
    const ALL_IN_SIGHT: &str = "for line = 1, vim.fn.line('$') do \
        if vim.fn.foldclosed(line) > 0 then return 'line ' .. line .. ' is folded' end end \
        local is = vim.wo \
        return not is.foldenable and is.conceallevel == 0 and not is.diff and not is.scrollbind and not is.cursorbind \
          and not is.rightleft and is.wrap and vim.fn.search('{{{', 'nw') > 0";
    let stage = || {
        let [old, new] = ["old", "new"].map(|word| format!("# {{{{{{\n{word} = 1\n{word} = 2\n# }}}}}}\n"));
        let new = new.replace("new = 2", "new = 2\u{3164}  ");
        let arguments = json!({"path": scenes::FILE, "old_text": old, "new_text": new});
        let edit = Reply::text("All of it.").and_call("edit_file", arguments);
        Stage::new(&format!("//- /{}\n{old}", scenes::FILE), [edit, Reply::text("It is mended.")])
    };
    each(stage, |editor| {
        editor.lua("vim.cmd('setlocal diff scrollbind cursorbind rightleft conceallevel=3 foldmethod=marker foldlevel=0')");
        editor.command("Rename them");
        let asked = editor.wait_asked("Edit greet.py");
        assert!(asked.contains("\n+new = 2\\u{3164}\\u{20}\\u{20}\n"), "{asked}");
        assert_eq!(editor.lua(ALL_IN_SIGHT), true, "in the float");
        press(editor, "s");
        editor.wait_true("a tab", "return vim.fn.tabpagenr('$') == 2");
        assert_eq!(editor.lua(ALL_IN_SIGHT), true, "in the tab");
        press(editor, "q");
        editor.wait_asked("Edit greet.py");
        editor.choose("Reject");
        editor.wait_true("the file again", "return vim.api.nvim_get_current_buf() == File()");
        assert_eq!(
            editor.lua("return vim.wo.foldmethod .. vim.wo.conceallevel"),
            "marker3",
            "what the user set"
        );
    });
}

/// Finding: a folder that is called like the words for the current one passed for it.
#[test]
fn finding_a6_no_folder_is_called_what_the_current_one_is() {
    each(
        || {
            let call = Reply::call("run_command", json!({ "command": "ls", "cwd": "this folder" }));
            Stage::new("//- /greet.py\nprint(1)\n//- /this folder/x\n\n", [call, Reply::text("Seen.")])
        },
        |editor| {
            editor.command("Look");
            let asked = editor.wait_asked("Run ls");
            assert!(asked.contains("\nin ./this folder, for at most "), "{asked}");
            editor.choose("Reject");
        },
    );
}

/// Finding A6: invisible characters were drawn as they are, and the question did not show the time limit.
#[test]
fn finding_a6_a_command_is_shown_with_what_nobody_sees_and_its_time_limit() {
    each(
        || asks_for(&["echo a\u{a0}b\u{3000}c"]),
        |editor| {
            editor.command("Look");
            let asked = editor.wait_asked("Run echo a");
            assert!(asked.contains("\necho a\\u{a0}b\\u{3000}c\n"), "{asked}");
            assert!(asked.contains("\nin this folder, for at most "), "{asked}");
            press(editor, "s");
            editor.wait_true("a tab", "return vim.fn.tabpagenr('$') == 2");
            assert_eq!(editor.lua("return vim.fn.search('^in this folder, for at most', 'nw') > 0"), true);
            press(editor, "q");
            editor.wait_asked("Run echo a");
            editor.choose("Reject");
            editor.wait_end("done");
        },
    );
}

/// The set-up's function gives the same texts as the server's.
#[test]
fn finding_a6_neovim_shows_texts_as_the_server_does() {
    for version in VERSIONS {
        let (program, runtime) = program(version);
        let mut neovim = std::process::Command::new(program);
        neovim.env("VIMRUNTIME", runtime).args(["--headless", "-u", "NONE", "-l"]);
        neovim.arg(shipped("tests/editors/neovim/display.lua"));
        neovim
            .arg(shipped("editors/nvim/lua/adjutant/display.lua"))
            .arg(shipped("tests/corpus/display.jsonl"));
        let said = neovim.output().expect("start Neovim");
        let wrong =
            String::from_utf8_lossy(&said.stdout).into_owned() + &String::from_utf8_lossy(&said.stderr);
        assert!(said.status.success() && wrong.is_empty(), "{version}: {wrong}");
    }
}

/// Finding: a line that is taller than the float counted as seen when only its first rows were visible.
#[test]
fn finding_d10_a_line_that_is_taller_than_the_float_is_allowed_only_after_it_was_opened() {
    let line = format!("echo {}", "x".repeat(4000));
    each(
        || asks_for(&[&line]),
        |editor| {
            editor.command("Look");
            editor.wait_asked("Run echo x");
            press(editor, "gg");
            for _ in 0..6 {
                press(editor, "<C-e>");
            }
            press(editor, "G");
            let asked = editor.wait_asked("first press s");
            assert!(!editor.lua("return Choose('Yes, once')").as_bool().unwrap_or(true), "{asked}");
            press(editor, "s");
            editor.wait_true("a tab", "return vim.fn.tabpagenr('$') == 2");
            press(editor, "q");
            editor.wait_asked("Yes, once");
            assert!(!editor.asked().unwrap_or_default().contains("first press s"));
            editor.choose("Reject");
            editor.wait_end("done");
        },
    );
}

/// Finding: the user could answer only the oldest of two questions.
#[test]
fn finding_d6_a_question_that_is_left_for_later_makes_room_for_the_next() {
    each(
        || asks_for(&["echo one", "echo two"]),
        |editor| {
            editor.command("First");
            editor.wait_asked("echo one");
            press(editor, "q");
            editor.command("Second");
            wait_for("both questions", || {
                (editor.lua("return require('adjutant').status()").as_str()?.contains("? 2 questions"))
                    .then_some(())
            });
            editor.wait_asked("echo one");
            press(editor, "q");
            let asked = editor.wait_asked("echo two");
            assert!(!asked.contains("echo one"), "{asked}");
            // The tab returns to the same question.
            press(editor, "s");
            editor.wait_true("a tab", "return vim.fn.tabpagenr('$') == 2");
            press(editor, "q");
            editor.wait_asked("echo two");
            editor.choose("Reject");
            editor.wait_asked("echo one");
            editor.choose("Reject");
            wait_for("both answers", || (editor.stage.model.requests().len() == 4).then_some(()));
        },
    );
}

/// Finding: a reason for a question that had closed meanwhile was lost without a message.
#[test]
fn finding_d13_words_for_a_question_that_is_closed_are_not_lost_in_silence() {
    each(scenes::one_edit, |editor| {
        editor.command("Mend the greeting");
        editor.stage.model.wait_for_holding(1);
        editor.stage.model.release();
        editor.wait_asked("Edit greet.py");
        editor.lua("vim.ui.input = function(_, done) Typed = done end");
        press(editor, "r");
        editor.cancel();
        editor.wait_end("cancelled");
        editor.lua("Typed('not in this file')");
        wait_for("a message", || notices(editor).contains("so nothing was sent").then_some(()));
    });
}

/// Finding: the question of a failed run closes when the user continues it, and the set-up answered that with an
/// error.
#[test]
fn finding_d13_going_on_after_a_failure_answers_nothing_by_itself() {
    let stage = || Stage::new("//- /greet.py\nprint(1)\n", [Reply::status(401), Reply::text("Here I am.")]);
    each(stage, |editor| {
        editor.command("Say something");
        editor.wait_end("failed");
        editor.lua("vim.cmd('Adjutant try it again')");
        wait_for("the answer", || chat(editor).contains("Here I am.\n\n— done").then_some(()));
        let seen = editor.stage.seen();
        assert_eq!(seen.count("in", "agent/ask/respond"), 0, "{}", seen.shown());
        assert!(!notices(editor).contains("answer"), "{}", notices(editor));
    });
}

/// Finding: Neovim asks before it writes a file that changed on disk, and used the user's keys as the answer.
#[test]
fn finding_d12_a_file_that_changed_on_disk_is_not_saved_and_no_key_says_otherwise() {
    each(scenes::one_edit, |editor| {
        // Keys that the user types during the write are not an answer.
        editor.lua("vim.api.nvim_create_autocmd('BufWritePre', { callback = function() vim.api.nvim_input('y') end })");
        editor.command("Mend the greeting");
        editor.stage.model.wait_for_holding(1);
        editor.stage.model.release();
        editor.wait_asked("Edit greet.py");
        let path = editor.stage.workspace.path().join(scenes::FILE);
        std::fs::write(&path, scenes::BEFORE).expect("write the file from outside");
        editor.choose("Yes, once");
        editor.wait_buffer(scenes::AFTER);
        let result = scenes::tool_result(editor, 0);
        let why = result.split_once("did not save it: ").map(|(_, why)| why.to_owned()).unwrap_or_default();
        assert!(why.contains("changed on disk since it was opened"), "{result}");
        assert_eq!(editor.stage.workspace.read(scenes::FILE), scenes::BEFORE, "a key counted as an answer");
        editor.wait_end("done");
        // The server sends this as an update and as a message; the screen shows it once.
        editor.stage.seen().wait("out", "window/showMessage", 1);
        editor.wait_true(
            "the line in the chat",
            "return table.concat(vim.api.nvim_buf_get_lines( \
            Chat(), 0, -1, false), ' '):find('Edit greet.py: +1 −1', 1, true) ~= nil",
        );
        wait_for("the notice", || notices(editor).contains("changed on disk").then_some(()));
        let said = chat(editor);
        assert_eq!(said.matches("Edit greet.py: +1 −1").count(), 1, "{said}");
    });
}

/// Finding: while a float was open, the window of the answer could not be closed or opened.
#[test]
fn finding_the_answer_opens_and_closes_while_a_question_waits() {
    let shown = |editor: &Neovim<'_>| editor.lua("return vim.fn.bufwinid(Chat()) > 0") == true;
    each(scenes::one_edit, |editor| {
        editor.command("Mend the greeting");
        editor.stage.model.wait_for_holding(1);
        editor.stage.model.release();
        editor.wait_asked("Edit greet.py");
        editor.lua("vim.cmd('Adjutant chat')");
        assert!(shown(editor), "opened from within the question");
        press(editor, "q");
        editor.lua("vim.api.nvim_win_close(vim.fn.bufwinid(File()), false)");
        editor.wait_true("a float", "return #vim.api.nvim_list_wins() > 1");
        editor.lua("vim.cmd('Adjutant chat')");
        assert!(shown(editor), "the last window stays");
    });
}

/// Something else closes the window with the answers.
#[test]
fn s15_a_key_answers_nothing_while_its_answer_is_not_on_the_screen() {
    const CLOSE_AND_PRESS: &str = "for _, window in ipairs(vim.api.nvim_list_wins()) do \
        if vim.api.nvim_win_get_config(window).footer then vim.api.nvim_win_close(window, true) end end \
        vim.api.nvim_feedkeys('1', 'mx', false) return require('adjutant.asks').count()";
    each(
        || asks_for(&["echo one"]),
        |editor| {
            editor.command("Look");
            editor.wait_asked("1  Reject");
            assert_eq!(editor.lua(CLOSE_AND_PRESS), 1, "it was answered");
            editor.wait_asked("1  Reject");
            editor.choose("Reject");
            editor.wait_end("done");
        },
    );
}

/// A change of a question is rejected by another client: the float shows what is left.
#[test]
fn p01_a_question_shows_what_is_left_of_it() {
    let stage = || {
        let content = "print(2)\n#\n#\n#\n#\nprint(3)\n";
        let call = Reply::call("write_file", json!({ "path": "greet.py", "content": content }));
        Stage::new("//- /greet.py\nprint(1)\n#\n#\n#\n#\nprint(1)\n", [call, Reply::text("Done.")])
    };
    each(stage, |editor| {
        editor.command("Change both");
        let asked = editor.wait_asked("print(3)");
        assert!(asked.contains("+print(2)"), "{asked}");
        editor.lua(
            "local client = vim.lsp.get_clients({ name = 'adjutant' })[1] \
             local function ask(method, params, go_on) \
               local handler = function(_, result) go_on(result) end \
               if vim.fn.has('nvim-0.11') == 1 then client:request(method, params, handler) \
               else client.request(method, params, handler) end end \
             ask('agent/ask/list', vim.empty_dict(), function(listed) \
               local session = listed.asks[1].sessionId \
               ask('agent/review/list', { sessionId = session }, function(review) \
                 local hunk = review.hunks[1] \
                 ask('agent/review/decide', { sessionId = session, action = 'reject', \
                   targets = { { changeSetId = hunk.changeSetId, hunkIds = { hunk.hunkId } } } }, \
                   function() end) end) end) \
             return true",
        );
        wait_for("the rest of the question", || {
            let asked = editor.asked()?;
            (asked.contains("+print(3)") && !asked.contains("+print(2)")).then_some(())
        });
        editor.choose("Reject");
        editor.wait_end("done");
        editor.wait_buffer("print(1)\n#\n#\n#\n#\nprint(1)\n");
    });
}
