//! Everyday situations in Neovim: a formatter, automatic saving, undo, git, two tasks, a closed buffer, many closed files.
//!
//! Never looks into the server.

use adjutant_testkit::model::Reply;

use super::changes::{HINT, drawn, plain, told, wait_drawn, wait_told};
use super::scenes::{each, press};
use super::{Neovim, VERSIONS};
use crate::editor::Editor;
use crate::scenes::FILE;
use crate::scenes::everyday::{
    MANY, ROUNDS, SWITCHED, SWITCHED_FOR_USER, TEXT, all_are, closed, found_in_the_text, git, last_request,
    many_files, notes_and_outputs, one_change, one_file, reads_the_other, replace, switched,
    undone_and_redone, with, with_branches,
};
use crate::stage::wait_for;

/// Returns how line 7 is drawn when the agent has changed it to another.
fn changed(before: &str, removed: &str, inserted: &str) -> String {
    let mark = format!("  DiffDelete {removed}\n+ DiffAdd {inserted} {HINT}");
    plain(before).trim_end().replace(&format!("| {inserted}"), &mark)
}

#[track_caller]
fn wait_disk(editor: &Neovim<'_>, text: &str) {
    let disk = || editor.stage.workspace.read(FILE);
    let is = crate::stage::wait_or(|| (disk() == text).then_some(()));
    assert!(is.is_some(), "the file is {:?}, not {text:?}; drawn is\n{}", disk(), drawn(editor));
}

fn reload(editor: &Neovim<'_>, text: &str) {
    editor.lua("vim.cmd('checktime')");
    editor.wait_buffer(text);
}

#[test]
fn n06_a_formatter_and_automatic_saving_leave_a_change_what_it_is() {
    let stage = || {
        one_file(vec![
            replace("b = 2\n", "b  =  3\nc  =  4\n"),
            Reply::text("Done."),
            replace("b = 2\n", "b = 3\n"),
            Reply::text("Done."),
            Reply::text("Seen."),
            Reply::text("Seen."),
        ])
    };
    each(stage, |editor| {
        // The formatter runs when the agent's edit is saved: inside the change, and elsewhere in the file.
        editor.lua(
            "vim.api.nvim_create_autocmd('BufWritePre', { group = vim.api.nvim_create_augroup('format', {}), \
             callback = function() vim.cmd([[silent! keepjumps %s/  \\+/ /ge]]) end })",
        );
        editor.command("Format");
        let formatted = with("b = 3\nc = 4\n").replace("a  =", "a =");
        editor.wait_buffer(&formatted);
        wait_disk(editor, &formatted);
        editor.stage.model.wait_for_requests(2);
        let request = last_request(editor.stage);
        assert!(
            request.contains("they are now:\\nb = 3\\nc = 4\""),
            "the model gets its own lines only: {request}"
        );
        wait_for("the change", || drawn(editor).contains("DiffAdd c = 4").then_some(()));
        assert!(!drawn(editor).contains("DiffAdd a = 1"), "what the formatter did elsewhere is no change");
        editor.go_to_line(7);
        press(editor, "\\\\au");
        let before = TEXT.replace("a  =", "a =");
        wait_disk(editor, &before);
        editor.wait_buffer(&before);
        editor.lua("vim.api.nvim_del_augroup_by_name('format')");

        // A save by the user's own set-up is neutral: marks stay, and the model is told that the file is saved.
        editor.lua(
            "vim.api.nvim_create_autocmd({ 'TextChanged', 'InsertLeave' }, { callback = function() vim.cmd('silent wall') end })",
        );
        editor.command("Save");
        let edited = before.replace("b = 2", "b = 3");
        wait_drawn(editor, &changed(&edited, "b = 2", "b = 3"));
        press(editor, "ggOmine<Esc>");
        let typed = format!("mine\n{edited}");
        wait_disk(editor, &typed);
        wait_drawn(editor, &changed(&typed, "b = 2", "b = 3"));
        editor.stage.model.wait_for_requests(4);
        assert!(last_request(editor.stage).contains("Edited greet.py: +1 -1 lines.\""));

        // One step back for the user's line, one for the edit, and the same forwards.
        press(editor, "u");
        wait_disk(editor, &edited);
        press(editor, "u");
        wait_disk(editor, &before);
        wait_drawn(editor, plain(&before).trim_end());
        let undone = |request: &str| request.matches("The user undid in the editor").count();
        let go_on = |requests: usize| {
            editor.lua("vim.cmd.Adjutant('on')");
            editor.stage.model.wait_for_requests(requests);
            last_request(editor.stage)
        };
        // It is an undo once it has rested.
        wait_for("the undo to be understood", || (found_in_the_text(editor.stage) == 1).then_some(()));
        assert_eq!(undone(&go_on(5)), 1);
        press(editor, "<C-r>");
        wait_disk(editor, &edited);
        wait_drawn(editor, &changed(&edited, "b = 2", "b = 3"));
        wait_for("the redo to be understood", || (found_in_the_text(editor.stage) == 2).then_some(()));
        let request = go_on(6);
        assert_eq!(
            (undone(&request), request.matches("that was undone is in the file again").count()),
            (1, 1),
            "{request}"
        );
    });
}

#[test]
fn n06_git_two_tasks_and_a_closed_buffer_say_what_became_of_a_change() {
    let stage = || {
        with_branches(one_file(vec![
            replace("b = 2\n", "b = 3\n"),
            Reply::text("Done."),
            replace("b = 3\n", "b = 4\n"),
            Reply::text("Done."),
            replace("b = 4\n", "b = 5\n"),
            Reply::text("Done."),
            Reply::text("Seen."),
        ]))
    };
    each(stage, |editor| {
        editor.lua("vim.o.hidden, vim.o.columns = true, 200");
        editor.command("First task");
        let first = with("b = 3\n");
        wait_drawn(editor, &changed(&first, "b = 2", "b = 3"));
        wait_disk(editor, &first);

        // Away to another branch and back.
        git(editor.stage, "stash -q");
        git(editor.stage, "checkout -q other");
        reload(editor, "x\ny\n");
        wait_drawn(editor, plain("x\ny\n").trim_end());
        git(editor.stage, "checkout -q main");
        git(editor.stage, "stash pop -q");
        reload(editor, &first);
        wait_drawn(editor, &changed(&first, "b = 2", "b = 3"));
        // Taken back by git, and brought back.
        git(editor.stage, "checkout -q -- greet.py");
        reload(editor, TEXT);
        wait_drawn(editor, plain(TEXT).trim_end());
        editor.stage.workspace.write(FILE, &first);
        reload(editor, &first);
        wait_drawn(editor, &changed(&first, "b = 2", "b = 3"));

        // Two tasks on one line: both are drawn, and the later one goes first.
        editor.command("Second task");
        let second = with("b = 4\n");
        let both = changed(&second, "b = 3", "b = 4")
            .replace("  DiffDelete b = 3", "  DiffDelete b = 3\n  DiffDelete b = 2");
        wait_drawn(editor, &both);
        editor.go_to_line(7);
        press(editor, "\\\\au");
        wait_drawn(editor, &changed(&first, "b = 2", "b = 3"));
        editor.lua("vim.cmd('Adjutant restore')");
        wait_drawn(editor, &both);
        assert_eq!(told(editor).matches("Adjutant: undone; :Adjutant restore brings it back").count(), 1);

        // What is committed counts as kept.
        wait_disk(editor, &second);
        git(editor.stage, "commit -qam mine");
        wait_drawn(editor, plain(&second).trim_end());

        // Closed without saving: the change is not in the file, that is said, and one command makes it again.
        editor.type_at_top("mine");
        editor.command("Third task");
        let third = format!("mine\n{}", with("b = 5\n"));
        wait_drawn(editor, &changed(&third, "b = 4", "b = 5"));
        assert_eq!(editor.stage.workspace.read(FILE), second, "it has text of the user");
        let found = found_in_the_text(editor.stage);
        editor.lua(
            "vim.g.file = vim.api.nvim_buf_get_name(0) vim.cmd('enew') vim.cmd('bdelete! ' .. vim.g.file)",
        );
        wait_told(
            editor,
            "1 change not applied: closed without saving; :Adjutant restore in the file brings it back",
        );
        editor.lua("vim.cmd('edit ' .. vim.g.file)");
        wait_drawn(editor, plain(&second).trim_end());
        wait_for("the log to say so", || (found_in_the_text(editor.stage) > found).then_some(()));
        editor.lua("vim.cmd('Adjutant restore')");
        wait_drawn(editor, &changed(&with("b = 5\n"), "b = 4", "b = 5"));
        wait_disk(editor, &with("b = 5\n"));
    });
}

#[test]
fn n06_forty_closed_files_are_changed_and_no_buffer_stays() {
    const BUFFERS: &str = "local names = {} for _, buffer in ipairs(vim.api.nvim_list_bufs()) do \
        if vim.bo[buffer].buftype == '' then names[#names + 1] = vim.fn.bufname(buffer) end end \
        return table.concat(names, ' ') == 'greet.py'";
    each(many_files, |editor| {
        editor.command("Rename them");
        editor.wait_end("done");
        assert!(all_are(editor.stage, "1\n.\n.\n"));
        editor.wait_true("no buffer of them to stay", BUFFERS);
        let seen = editor.stage.seen();
        assert_eq!(seen.count("out", "workspace/applyEdit"), 0, "{}", seen.shown());
        assert_eq!(
            editor.lua("return #vim.api.nvim_list_wins() + vim.fn.tabpagenr('$')"),
            2,
            "nothing opens"
        );
        let line = format!("Adjutant: {MANY} files +{MANY} −{MANY} · :Adjutant review · :Adjutant undo run");
        wait_told(editor, &line);
        editor.lua("vim.cmd('Adjutant review list')");
        editor.wait_true("the list", "return #vim.api.nvim_list_wins() == 2");
        let listed = "local names, list = {}, vim.fn.getqflist() for _, item in ipairs(list) do \
            names[#names + 1] = vim.fn.bufname(item.bufnr) end local sorted = vim.list_slice(names) table.sort(sorted) \
            return { #names, vim.deep_equal(names, sorted) }";
        assert_eq!(editor.lua(listed), serde_json::json!([MANY, true]));
        // A closed file shows its change when it is opened, and is decided about there.
        editor.lua("vim.cmd('edit parts/f07.py')");
        let there = "return Drawn(0):find('+ DiffAdd 1', 1, true) ~= nil";
        editor.wait_true("the change", there);
        press(editor, "gg\\\\au");
        wait_for("the file as it was", || {
            (editor.stage.workspace.read("parts/f07.py") == "one\n.\n.\n").then_some(())
        });
        // What the user wrote into needs a look, so it is the first of the list.
        editor.stage.workspace.write("parts/f30.py", "1 and mine\n.\n.\n");
        editor.lua("vim.cmd('Adjutant review list')");
        let first = "local first = vim.fn.getqflist()[1] return vim.fn.bufname(first.bufnr):find('f30') ~= nil \
            and first.text:find('^amended') ~= nil";
        editor.wait_true("the amended file to be the first", first);
        editor.lua("vim.cmd('Adjutant keep all')");
        wait_told(editor, &format!("Adjutant: {} changes kept", MANY - 1));
        assert!(editor.stage.workspace.read("parts/f30.py").starts_with("1 and mine"));
    });
}

#[test]
fn n06_a_change_beneath_a_later_one_is_undone_together_with_it_or_not_at_all() {
    let stage = || {
        one_file(vec![
            replace("b = 2\n.\n", "b = 3\nc = 3\n"),
            Reply::text("Done."),
            replace("b = 3\n", "b = 4\n"),
            Reply::text("Done."),
        ])
    };
    each(stage, |editor| {
        editor.lua("vim.o.columns = 200");
        editor.command("First task");
        editor.wait_end("done");
        editor.command("Second task");
        let both = TEXT.replace("b = 2\n.\n", "b = 4\nc = 3\n");
        editor.wait_buffer(&both);
        wait_for("the change on top to be known", || {
            drawn(editor).contains("DiffDelete b = 3").then_some(())
        });
        editor.go_to_line(8);
        press(editor, "\\\\au");
        editor.wait_asked("A later change (Second task) stands on this one");
        editor.choose("Leave both");
        assert_eq!(editor.buffer(), both);
        press(editor, "\\\\au");
        editor.wait_asked("A later change");
        editor.choose("Undo both");
        editor.wait_buffer(TEXT);
    });
}

/// Waits until something is drawn in the text.
#[track_caller]
fn wait_shown(editor: &Neovim<'_>, part: &str) {
    let found = crate::stage::wait_or(|| drawn(editor).contains(part).then_some(()));
    assert!(found.is_some(), "{part:?} is not in\n{}\n\nsaid: {}", drawn(editor), told(editor));
}

#[test]
fn p02_undo_both_takes_both_with_the_line_of_the_user_or_says_which_stayed() {
    let stage = || {
        one_file(vec![
            replace("b = 2\n.\n", "b = 3\nc = 3\n"),
            Reply::text("Done."),
            replace("b = 3\n", "b = 4\n"),
            Reply::text("Done."),
        ])
    };
    each(stage, |editor| {
        editor.lua("vim.o.columns = 300");
        editor.command("First task");
        editor.wait_end("done");
        editor.command("Second task");
        let both = TEXT.replace("b = 2\n.\n", "b = 4\nc = 3\n");
        editor.wait_buffer(&both);
        wait_for("the change on top to be known", || {
            drawn(editor).contains("DiffDelete b = 3").then_some(())
        });
        // The user writes into the lower change.
        editor.lua("vim.api.nvim_buf_set_lines(File(), 7, 7, false, { 'mine' })");
        wait_shown(editor, "undo with your line");
        editor.go_to_line(9);
        press(editor, "\\\\au");
        editor.wait_asked("A later change (Second task) stands on this one");
        editor.choose("Undo both");
        editor.wait_buffer(TEXT);
        wait_told(editor, "Adjutant: 2 changes undone; :Adjutant restore brings them back");
        editor.lua("vim.cmd('Adjutant restore')");
        let all = TEXT.replace("b = 2\n.\n", "b = 4\nmine\nc = 3\n");
        editor.wait_buffer(&all);
        wait_shown(editor, "undo with your line");
        wait_shown(editor, "DiffDelete b = 3");
        // Another text of the lower change was drawn than the one that is there. No update of the server comes between.
        let other = "(function() for _, hunk in ipairs(real) do \
            hunk.text = hunk.text and 'another text\\n' end return real end)()";
        let undo = "vim.g.told = {} vim.api.nvim_win_set_cursor(0, { 9, 0 }) \
            vim.api.nvim_feedkeys(vim.keycode('\\\\au'), 'mx', false) return Choose('Undo both')";
        assert_eq!(editor.lua(&format!("{} {undo}", super::changes::update("now", other))), true);
        editor.wait_buffer(&all.replace("b = 4", "b = 3"));
        wait_told(
            editor,
            "undone: line 7 “b = 4”; not undone: line 7 “b = 3”: the text in its place is not what was",
        );
        assert!(!told(editor).contains("Adjutant restore"), "{}", told(editor));
        editor.lua("vim.cmd('Adjutant restore')");
        editor.wait_buffer(&all);
    });
}

/// Every file that Neovim has open is announced, so that only closed ones are written on disk: one without a type, one that is
/// loaded, hidden and unlisted, one that was loaded without events, and one that was given another name.
#[test]
fn n06_a_file_that_is_open_anywhere_in_neovim_is_never_written_below_it() {
    const OPENED: &str = "vim.cmd('edit parts/f00.py | setlocal filetype= | hide edit greet.py') \
        hidden = vim.fn.bufadd('parts/f01.py') vim.fn.bufload(hidden) \
        vim.cmd('noautocmd edit parts/f02.py') \
        vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes('Gomine<Esc>', true, false, true), 'tx', false) \
        vim.cmd('hide edit parts/f03.py') vim.cmd('silent file parts/other.py') vim.cmd('hide edit greet.py') \
        for number = 0, 1 do \
          vim.api.nvim_buf_set_lines(vim.fn.bufnr(('parts/f%02d.py'):format(number)), -1, -1, false, { 'mine' }) end";
    const TEXTS: &str = "local texts = {} for number = 0, 2 do \
        local buffer = vim.fn.bufnr(('parts/f%02d.py'):format(number)) \
        texts[#texts + 1] = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), ' ') end return texts";
    const ATTACHED: &str =
        "return vim.lsp.buf_is_attached(hidden, vim.lsp.get_clients({ name = 'adjutant' })[1].id)";
    each(many_files, |editor| {
        editor.lua(&format!("vim.o.hidden = true {OPENED}"));
        editor.command("Rename them");
        editor.wait_end("done");
        let disk = |number: usize| editor.stage.workspace.read(&closed(number));
        assert_eq!(editor.lua(TEXTS), serde_json::json!(["1 . . mine", "1 . . mine", "1 . . mine"]));
        assert!((0..3).all(|number| disk(number) == "one\n.\n.\n"), "an open file was written on disk");
        assert!((3..MANY).all(|number| disk(number) == "1\n.\n.\n"), "a closed file was not written");
        assert!(!editor.stage.workspace.exists("parts/other.py"));
        // What is unloaded is closed, and announced anew when it is loaded.
        editor.lua("vim.cmd('bunload! ' .. hidden)");
        assert_eq!(editor.lua(ATTACHED), serde_json::json!(false));
        editor.lua("vim.fn.bufload(hidden)");
        assert_eq!(editor.lua(ATTACHED), serde_json::json!(true));
    });
}

/// A project inside another has a server of its own, and the outer one knows what is open in it.
#[test]
fn n06_a_file_of_an_inner_project_is_announced_to_the_outer_server_too() {
    const INNER: &str = "vim.fn.mkdir('parts/.git') vim.cmd('edit parts/f00.py') \
        vim.api.nvim_buf_set_lines(0, -1, -1, false, { 'mine' }) vim.cmd('hide edit greet.py')";
    const CLIENTS: &str = "local count = 0 for _, client in ipairs(vim.lsp.get_clients({ name = 'adjutant' })) do \
        if client.initialized and vim.lsp.buf_is_attached(vim.fn.bufnr('parts/f00.py'), client.id) \
        then count = count + 1 end end return count == 2";
    each(many_files, |editor| {
        editor.lua(&format!("vim.o.hidden = true {INNER}"));
        editor.wait_true("both servers to know it", CLIENTS);
        editor.command("Rename them");
        wait_for("the edits", || {
            (editor.stage.workspace.read(&closed(MANY - 1)) == "1\n.\n.\n").then_some(())
        });
        let text = "return vim.api.nvim_buf_get_lines(vim.fn.bufnr('parts/f00.py'), 0, -1, false)[1] == '1'";
        editor.wait_true("the edit in the buffer", text);
        assert_eq!(editor.stage.workspace.read(&closed(0)), "one\n.\n.\n");
    });
}

/// After each step back and forwards the text, what is drawn and what is listed are those of the step. The model hears only of
/// what is left of it.
#[test]
fn n13_a_change_is_undone_and_redone_fifty_times() {
    for (version, rounds) in [(VERSIONS[0], 5), (VERSIONS[1], ROUNDS)] {
        let stage = one_change();
        eprintln!("in {version}");
        let editor = &Neovim::open(&stage, version, FILE);
        editor.command("Change it");
        editor.wait_end("done");
        let edited = with("b = 3\n");
        wait_drawn(editor, &changed(&edited, "b = 2", "b = 3"));
        let steps = format!(
            "local function listed() \
               local all = vim.lsp.buf_request_sync(0, 'agent/review/list', {{ uri = vim.uri_from_bufnr(0) }}) \
               local hunks = select(2, next(all)).result.hunks \
               return #hunks == 0 and 'none' or #hunks == 1 and hunks[1].state or #hunks end \
             local function step(number, key, text, drawn, state) \
               vim.api.nvim_feedkeys(vim.keycode(key), 'mx', false) \
               local function is() return Drawn(0) == drawn and listed() == state end \
               local done = vim.wait(10000, is, 5) \
               local now = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n') .. '\\n' \
               if not done or now ~= text then \
                 error(('step %d %s: listed %s, text %s, drawn %s'):format(number, key, listed(), now, Drawn(0))) end end \
             for number = 1, {rounds} do \
               step(number, 'u', {}, {}, 'none') step(number, '<C-r>', {}, {}, 'applied') end return 'all'",
            lua(TEXT),
            lua(plain(TEXT).trim_end()),
            lua(&edited),
            lua(&changed(&edited, "b = 2", "b = 3")),
        );
        assert_eq!(editor.lua(&steps), "all");
        let go_on = |requests: usize| {
            editor.lua("vim.cmd.Adjutant('on')");
            editor.stage.model.wait_for_requests(requests);
            undone_and_redone(&last_request(editor.stage))
        };
        assert_eq!(go_on(3), [0, 0], "nothing is left of them");
        let found = found_in_the_text(editor.stage);
        press(editor, "u");
        wait_for("the undo to be understood", || (found_in_the_text(editor.stage) > found).then_some(()));
        assert_eq!(go_on(4), [1, 0]);
        assert_eq!(go_on(5), [1, 0], "once");
    }
}

/// Returns a text as Lua has it.
fn lua(text: &str) -> String {
    format!("vim.json.decode([==[{}]==])", serde_json::Value::from(text))
}

#[test]
fn n17_a_branch_switch_while_the_agent_works_is_told_once_to_both() {
    each(switched, |editor| {
        editor.lua("vim.o.autoread = true");
        editor.command("Change it");
        editor.stage.model.wait_for_holding(1);
        git(editor.stage, "checkout -q other");
        reload(editor, "x\ny\n");
        editor.stage.model.release();
        editor.wait_end("done");
        let (notes, outputs) = notes_and_outputs(editor.stage);
        assert_eq!(notes, [SWITCHED]);
        assert!(reads_the_other(&outputs), "it read the file again: {outputs:?}");
        assert_eq!(editor.buffer(), "x\ny\n");
        let chat = "return table.concat(vim.api.nvim_buf_get_lines(Chat(), 0, -1, false), '\\n')";
        let chat = editor.lua(chat).as_str().unwrap_or_default().to_owned();
        assert_eq!(chat.matches(SWITCHED_FOR_USER).count(), 1, "{chat} {}", told(editor));
    });
}
