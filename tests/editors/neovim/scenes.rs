//! Scenes in each tested version of Neovim.
//!
//! Never looks into the server.

use adjutant_testkit::model::Reply;
use serde_json::json;

use super::{Neovim, VERSIONS};
use crate::editor::Editor;
use crate::scenes;
use crate::stage::{READ, Stage, wait_for};

/// Plays a scene in every version.
pub fn each(stage: impl Fn() -> Stage, scene: impl Fn(&Neovim<'_>)) {
    for version in VERSIONS {
        let stage = stage();
        // Otherwise a failure does not name the version.
        eprintln!("in {version}");
        scene(&Neovim::open(&stage, version, scenes::FILE));
    }
}

crate::scenes::every_editor!(each);
crate::scenes::typing!(each);

#[test]
fn n05_a_file_that_was_not_open_is_written_and_gets_no_buffer() {
    each(scenes::edit_elsewhere, |editor| {
        scenes::edits_a_closed_file(editor);
        let seen = editor.stage.seen();
        assert_eq!(seen.count("out", "workspace/applyEdit"), 0, "{}", seen.shown());
        assert_eq!(editor.lua("return vim.fn.bufexists('other.py')"), 0);
        editor.lua("vim.cmd('edit other.py')");
        assert_eq!(editor.lua("return vim.bo.modified"), false, "the buffer is what is on disk");
    });
}

#[test]
fn n04_what_is_typed_after_the_edit_was_sent_stays() {
    each(scenes::one_edit, |editor| {
        scenes::keeps_what_is_typed_by(editor, |editor, title, text| {
            editor.choose_and_type_once_sent(title, text)
        });
        let seen = editor.stage.seen();
        let sent = seen.count("out", "workspace/applyEdit");
        assert!(sent >= 2, "the edit was not overtaken:\n{}", seen.shown());
    });
}

/// Returns a stage whose model edits every line of a long file.
fn long_edit() -> Stage {
    let lines = |word: &str| (1..=20).map(|line| format!("{word} = {line}\n")).collect::<String>();
    let arguments = json!({"path": scenes::FILE, "old_text": lines("old"), "new_text": lines("new")});
    let edit = Reply::text("All of it.").and_call("edit_file", arguments);
    Stage::new(&format!("//- /{}\n{}", scenes::FILE, lines("old")), [edit, Reply::text("It is mended.")])
}

/// Presses keys in the current window, as a user does.
pub fn press(editor: &Neovim<'_>, keys: &str) {
    editor.lua(&format!("vim.api.nvim_feedkeys(vim.keycode('{keys}'), 'mx', false)"));
}

fn read() {
    let since = std::time::Instant::now();
    wait_for("the time that counts as read", || (since.elapsed() >= READ).then_some(()));
}

/// Finding D10: only 9 of 45 lines were visible and nothing scrolled, but the user could allow the edit.
#[test]
fn finding_d10_an_edit_is_allowed_only_after_all_of_it_was_in_sight() {
    each(long_edit, |editor| {
        editor.command("Rename them");
        let asked = editor.wait_asked("Edit greet.py");
        assert!(asked.contains("\n-  Yes, once: first look at the other"), "it is offered at once:\n{asked}");
        for key in ["1", "2", "3"].iter().filter(|key| !asked.contains(&format!("\n{key}  Reject"))) {
            press(editor, key);
        }
        assert!(editor.asked().is_some() && editor.buffer().starts_with("old = 1\n"), "unseen and allowed");
        // The end of the question is not the whole question.
        press(editor, "G");
        let asked = editor.asked().unwrap_or_default();
        assert!(
            asked.contains("\n-  Yes, once: first look at the other"),
            "the middle was not seen:\n{asked}"
        );
        press(editor, "gg");
        for _ in 0..8 {
            press(editor, "<C-f>");
        }
        wait_for("the way to allow it", || {
            editor.asked().filter(|asked| !asked.contains("first look at")).map(|_| ())
        });
        read();
        editor.choose("Yes, once");
        wait_for("the edit", || editor.buffer().starts_with("new = 1\n").then_some(()));
    });
}

#[test]
fn finding_d10_what_is_shown_in_a_tab_was_seen() {
    each(long_edit, |editor| {
        editor.command("Rename them");
        editor.wait_asked("Edit greet.py");
        press(editor, "s");
        let whole = "return vim.fn.tabpagenr('$') == 2 and vim.fn.search('^+new = 20$', 'n') > 0";
        editor.wait_true("the whole in a tab", whole);
        press(editor, "q");
        editor.wait_true("the file again", "return vim.fn.tabpagenr('$') == 1");
        editor.wait_asked("Yes, once");
        editor.choose("Yes, once");
        wait_for("the edit", || editor.buffer().starts_with("new = 1\n").then_some(()));
    });
}

/// Finding D12: a command sees the old text of unsaved files, and only the model knew.
#[test]
fn n06_finding_d12_the_question_and_the_answer_say_what_a_command_does_not_see() {
    const NOT_SAVED: &str = "Not saved yet: greet.py. The command sees the file as it was saved last.";
    let stage = || {
        let cat = Reply::call("run_command", json!({ "command": "cat greet.py" }));
        let again = [cat.clone(), Reply::text("Seen.")];
        Stage::new("//- /greet.py\nprint(1)\n", [cat, Reply::text("Seen.")].into_iter().chain(again))
    };
    each(stage, |editor| {
        editor.type_at_top("TYPED = 1");
        editor.command("Look at it");
        let asked = editor.wait_asked("cat greet.py");
        assert!(asked.contains(NOT_SAVED), "{asked}");
        press(editor, "s");
        let whole = format!("return vim.fn.tabpagenr('$') == 2 and vim.fn.search('{NOT_SAVED}', 'n') > 0");
        editor.wait_true("the same in the tab of the whole", &whole);
        press(editor, "q");
        editor.wait_asked("cat greet.py");
        editor.choose("Run as saved");
        editor.wait_end("done");
        let said = chat(editor);
        assert!(said.contains("✓ Run cat greet.py · exit code 0"), "{said}");
        assert!(said.contains("; it saw greet.py as last saved"), "at the result:\n{said}");
        assert!(said.contains("\nThe command \"cat greet.py\" saw greet.py as it was saved last"), "{said}");
        assert_eq!(editor.stage.workspace.read("greet.py"), "print(1)\n", "nothing was saved unasked");
        editor.command("Look again");
        editor.wait_asked("cat greet.py");
        editor.choose("Save and run");
        let request = editor.stage.model.wait_for_requests(4)[3].json().to_string();
        assert!(request.contains("TYPED = 1"), "the command saw it: {request}");
        assert_eq!(editor.stage.workspace.read("greet.py"), "TYPED = 1\nprint(1)\n");
    });
}

/// Returns the text of the answer's buffer.
pub fn chat(editor: &Neovim<'_>) -> String {
    let lines = editor.lua(
        "local buffer = Chat() \
         if buffer < 0 then return '' end \
         return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\\n')",
    );
    lines.as_str().unwrap_or_default().to_owned()
}

/// Finding D9: no answer was ever on the screen.
#[test]
fn finding_d9_s105_the_answer_streams_into_a_buffer_that_leaves_the_cursor_alone() {
    let answer = (1..=60).map(|line| format!("Line {line} of the answer.\n")).collect::<String>();
    let stage = || {
        let text = Reply::text(&answer).hold_after(5000);
        Stage::new("//- /greet.py\nprint(1)\n", [text])
    };
    each(stage, |editor| {
        editor.command("Explain it");
        editor.stage.model.wait_for_holding(1);
        wait_for("the beginning, while it streams", || chat(editor).contains("Line 2 of").then_some(()));
        assert!(!chat(editor).contains("Line 60"), "it is held back");
        let focus = editor.lua("return vim.api.nvim_get_current_win()");
        editor.lua("vim.cmd('Adjutant chat')");
        assert_eq!(editor.lua("return vim.api.nvim_get_current_win()"), focus, "it does not move the focus");
        let at = "local window = vim.fn.bufwinid(Chat()) \
            return vim.api.nvim_win_get_cursor(window)[1]";
        editor.lua("vim.api.nvim_win_set_cursor(vim.fn.bufwinid(Chat()), { 1, 0 })");
        editor.stage.model.release();
        wait_for("the end", || chat(editor).contains("Line 60 of the answer.\n\n— done").then_some(()));
        assert_eq!(editor.lua(at), 1, "the cursor was not at the end, so it stays");
        assert!(chat(editor).starts_with("# Explain it\n"), "{}", chat(editor));
        // The streamed text and the finished item appear once.
        assert_eq!(chat(editor).matches("Line 2 of").count(), 1, "{}", chat(editor));
    });
}

/// The plan stays in one place of the chat, and its call is not shown besides.
#[test]
fn s45_the_plan_is_shown_in_the_chat_as_it_goes_on() {
    let plan = |first: &str, second: &str| {
        let steps =
            json!([{"step": "Read greet.py", "status": first}, {"step": "Mend it", "status": second}]);
        Reply::call("update_plan", json!({ "plan": steps }))
    };
    let stage = || {
        let turns =
            [plan("in_progress", "pending"), plan("completed", "in_progress"), Reply::text("Mended.")];
        Stage::new("//- /greet.py\nprint(1)\n", turns)
    };
    each(stage, |editor| {
        editor.command("Mend it");
        wait_for("the end", || chat(editor).contains("— done").then_some(()));
        let text = chat(editor);
        assert!(text.contains("Plan\n- [x] Read greet.py\n- [~] Mend it\n"), "{text}");
        assert!(!text.contains("[ ] Mend it") && !text.contains("Plan 2 steps"), "{text}");
    });
}

/// Two tasks ask. The questions appear one after the other, the oldest first, and an answer is for the visible one.
#[test]
fn finding_d6_two_questions_are_answered_one_by_one() {
    let run = |line: &str| Reply::call("run_command", json!({ "command": line }));
    let stage = || {
        let turns =
            [run("echo one >> made"), run("echo two >> made"), Reply::text("Made."), Reply::text("Made.")];
        Stage::new("//- /greet.py\nprint(1)\n", turns)
    };
    each(stage, |editor| {
        editor.command("First");
        editor.wait_asked("echo one");
        press(editor, "q");
        editor.command("Second");
        wait_for("both questions", || {
            (editor.lua("return require('adjutant').status()").as_str()?.contains("? 2 questions"))
                .then_some(())
        });
        let asked = editor.wait_asked("echo one");
        editor.choose("Reject");
        assert!(asked.contains("echo one") && !asked.contains("echo two"), "{asked}");
        let asked = editor.wait_asked("echo two");
        assert!(!asked.contains("echo one"), "{asked}");
        editor.choose("Yes, once");
        wait_for("the command", || {
            let made = std::fs::read_to_string(editor.stage.workspace.path().join("made")).ok()?;
            (made == "two\n").then_some(())
        });
    });
}

/// A question that closes while the user reads it, because its run is cancelled, says so. Its keys have no
/// effect from then on.
#[test]
fn finding_d13_a_question_that_is_gone_says_so_and_its_keys_are_dead() {
    each(scenes::one_edit, |editor| {
        let before = editor.buffer();
        editor.command("Mend the greeting");
        editor.stage.model.wait_for_holding(1);
        editor.stage.model.release();
        let asked = editor.wait_asked("Edit greet.py");
        editor.cancel();
        editor.wait_end("cancelled");
        let shown = "return table.concat(Question() or {}, '\\n')";
        wait_for("the words that it is gone", || {
            editor.lua(shown).as_str()?.contains("is not asked any more").then_some(())
        });
        for key in ["1", "2", "3"].iter().filter(|key| asked.contains(&format!("\n{key}  "))) {
            press(editor, key);
        }
        assert_eq!(editor.buffer(), before, "an answer to what is not asked any more");
        press(editor, "q");
        editor.wait_true("the file again", "return vim.api.nvim_get_current_buf() == File()");
    });
}

/// Finding: `:q` instead of `q` unloaded the buffer of the question, and then no key answered it.
#[test]
fn finding_a_question_outlives_every_way_to_close_its_windows() {
    // The float must be no file, not listed, and have its keys.
    const WHOLE: &str = "local at = vim.api.nvim_get_current_buf() local is = vim.bo[at] \
        local text = table.concat(Question() or {}, ' ') \
        return text:find('Yes, once', 1, true) ~= nil and is.buftype == 'nofile' and is.bufhidden == 'hide' \
          and not is.swapfile and not is.buflisted and not is.modifiable and vim.fn.maparg('q', 'n') ~= '' \
          and vim.fn.maparg('1', 'n') ~= ''";
    const IN_A_TAB: [&str; 6] =
        [":q<CR>", ":q!<CR>", ":close<CR>", "<C-w>c", ":tabclose<CR>", ":bwipeout<CR>"];
    const IN_THE_FLOAT: [&str; 7] =
        [":q<CR>", ":q!<CR>", ":close<CR>", "<C-w>c", ":bunload<CR>", ":bdelete<CR>", ":bwipeout<CR>"];
    const IN_THE_FILE: [&str; 4] = [
        ":only<CR>",
        ":tabnew<CR>:tabclose<CR>",
        ":tabnew<CR>:setlocal bufhidden=wipe<CR>:q<CR>",
        ":tabnew<CR>:tabclose 1<CR>:edit greet.py<CR>",
    ];
    each(scenes::one_edit, |editor| {
        let after = editor.buffer().replace("Helo", "Hello");
        editor.command("Mend the greeting");
        editor.stage.model.wait_for_holding(1);
        editor.stage.model.release();
        editor.wait_asked("Edit greet.py");
        let again = |what: &str| {
            editor.wait_true(&format!("the file after {what}"), "return vim.fn.tabpagenr('$') == 1");
            editor.lua("vim.cmd.Adjutant('answer')");
            editor.wait_true(&format!("the whole question after {what}"), WHOLE);
        };
        for keys in IN_A_TAB {
            press(editor, "s");
            editor.wait_true("a tab", "return vim.fn.tabpagenr('$') == 2 and not vim.bo.buflisted");
            press(editor, keys);
            again(&format!("{keys} in the tab"));
        }
        for keys in IN_THE_FLOAT {
            press(editor, keys);
            again(&format!("{keys} in the float"));
        }
        for keys in IN_THE_FILE {
            press(editor, "q");
            press(editor, keys);
            again(&format!("{keys} in the file"));
        }
        read();
        editor.choose("Yes, once");
        editor.wait_buffer(&after);
        editor.wait_end("done");
        let left = "return #vim.fn.getbufinfo({ bufmodified = 1, buflisted = 0 })";
        let others = "local count = 0 for _, at in ipairs(vim.api.nvim_list_bufs()) do \
            if vim.bo[at].modified and vim.bo[at].buftype == '' and at ~= File() then count = count + 1 end end return count";
        assert_eq!(editor.lua(others), 0, "buffers that hold up the end: {}", editor.lua(left));
    });
}

/// The answer survives the unload of its buffer.
#[test]
fn finding_the_answer_outlives_a_close_of_its_window() {
    each(
        || Stage::new("//- /greet.py\nprint(1)\n", [Reply::text("It prints.")]),
        |editor| {
            editor.command("Explain it");
            wait_for("the answer", || chat(editor).contains("It prints.\n\n— done").then_some(()));
            let said = chat(editor);
            for keys in [":q<CR>", ":q!<CR>", ":close!<CR>", ":bunload<CR>", ":bdelete<CR>", ":bwipeout<CR>"]
            {
                editor.lua("vim.cmd('Adjutant chat')");
                assert_eq!(chat(editor), said, "before {keys}");
                press(editor, &format!("<C-w>w{keys}"));
                editor.wait_true("no window of it", "return vim.fn.winnr('$') == 1");
            }
            editor.lua("vim.cmd('Adjutant chat')");
            assert_eq!(chat(editor), said);
            let options = "local is = vim.bo[Chat()] return is.buftype == 'nofile' \
                and is.bufhidden == 'hide' and not is.swapfile and not is.buflisted and not is.modifiable";
            assert_eq!(editor.lua(options), true);
        },
    );
}

/// Returns the visible notices.
pub fn notices(editor: &Neovim<'_>) -> String {
    let lines = editor.lua(
        "local said = {} for _, window in ipairs(vim.api.nvim_list_wins()) do \
            if vim.api.nvim_win_get_config(window).zindex == 70 then \
            said = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false) end end \
         return table.concat(said, '|')",
    );
    lines.as_str().unwrap_or_default().to_owned()
}

#[test]
fn finding_a_command_with_nothing_to_do_says_so_in_one_line() {
    each(scenes::silence, |editor| {
        let mut said = String::new();
        let wanted = [
            ("Adjutant answer", "nothing is asked"),
            ("Adjutant stop", "nothing runs"),
            ("Adjutant stop all", "nothing runs"),
        ];
        for (command, words) in wanted {
            editor.lua(&format!("vim.cmd('{command}')"));
            said += &format!("{}Adjutant: {words}", if said.is_empty() { "" } else { "|" });
            wait_for(&format!("{said:?} of {command}"), || (notices(editor) == said).then_some(()));
        }
    });
}

/// A request of plain LSP looks the same, because the prompt of Neovim 0.10 itself would receive the keys.
#[test]
fn finding_d6_a_message_with_buttons_is_no_prompt_either() {
    each(scenes::silence, |editor| {
        editor.lua(
            "local client = vim.lsp.get_clients({ name = 'adjutant' })[1] \
             local params = { message = 'Which one?', actions = { { title = 'One' }, { title = 'Two' } } } \
             coroutine.wrap(function() \
               vim.g.answered = client.handlers['window/showMessageRequest'](nil, params, { client_id = client.id }).title \
             end)()",
        );
        assert_eq!(editor.lua("return vim.api.nvim_get_current_buf() == File()"), true, "it moved the focus");
        editor.wait_asked("Which one?");
        editor.choose("Two");
        editor.wait_true("the answer", "return vim.g.answered == 'Two'");
    });
}

/// A question stays when `:e` reads the same file again.
#[test]
fn finding_d13_a_question_outlives_a_reload_of_its_file() {
    each(scenes::one_edit, |editor| {
        let after = editor.buffer().replace("Helo", "Hello");
        editor.command("Mend the greeting");
        editor.stage.model.wait_for_holding(1);
        editor.stage.model.release();
        editor.wait_asked("Edit greet.py");
        press(editor, "q");
        editor.lua("vim.cmd('edit!')");
        editor.wait_asked("Edit greet.py");
        editor.choose("Yes, once");
        editor.wait_buffer(&after);
        editor.wait_end("done");
    });
}

/// The reason of a rejection reaches the model.
#[test]
fn finding_d9_a_rejection_has_a_reason() {
    each(scenes::one_edit, |editor| {
        editor.command("Mend the greeting");
        editor.stage.model.wait_for_holding(1);
        editor.stage.model.release();
        editor.wait_asked("Edit greet.py");
        editor.lua("vim.ui.input = function(_, done) done('not in this file') end");
        press(editor, "r");
        editor.wait_end("done");
        let request = editor.stage.model.wait_for_requests(2)[1].json().to_string();
        assert!(request.contains("not in this file"), "{request}");
    });
}

#[test]
fn p26_the_health_page_says_what_is_wrong_and_its_cure() {
    let page = "vim.cmd('checkhealth adjutant') \
                return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')";
    each(scenes::one_edit, |editor| {
        let shown = editor.lua(page);
        let shown = shown.as_str().unwrap_or_default();
        for part in ["adjutant: the server", "program: ", "settings: ", "sessions: ", "model: "] {
            assert!(shown.contains(part), "without {part:?}:\n{shown}");
        }
        assert!(!shown.contains("ERROR"), "{shown}");
        editor.lua("vim.cmd('bwipeout') vim.lsp.get_clients({ name = 'adjutant' })[1]:stop()");
        let none = "return #vim.lsp.get_clients({ name = 'adjutant' }) == 0";
        editor.wait_true("the server to stop", none);
        let shown = editor.lua(page);
        assert!(shown.as_str().is_some_and(|text| text.contains("no server runs")), "{shown}");
        assert!(shown.as_str().is_some_and(|text| text.contains("adjutant doctor")), "{shown}");
    });
}
