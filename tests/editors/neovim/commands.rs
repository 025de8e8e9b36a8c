//! Scenes in Neovim about the one command: its sub-commands, its maps, and the session that a text goes to.
//!
//! Never looks into the server.

use adjutant_protocol::session::SessionListResult;
use adjutant_testkit::editor::Options;
use adjutant_testkit::model::Reply;
use adjutant_testkit::process::Server;
use serde_json::json;

use super::changes::wait_told;
use super::scenes::{chat, each, notices, press};
use super::{Neovim, VERSIONS};
use crate::editor::Editor;
use crate::scenes;
use crate::stage::{SERVER, Stage, shipped, wait_for};

/// What a request has that offers the tool for edits.
const EDITS: &str = "\"name\":\"edit_file\"";

/// Returns a stage whose model answers with a few words each time.
fn talk() -> Stage {
    scenes::stage(["First words.", "Second words.", "Third words.", "Fourth words."].map(Reply::text))
}

/// Runs `:Adjutant` with these words as typed, and waits until the model was asked and has answered.
fn say(editor: &Neovim<'_>, line: &str, request: usize, answer: &str) -> String {
    editor.lua(&format!("vim.cmd([[{line}]])"));
    let requests = editor.stage.model.wait_for_requests(request);
    wait_for("the end of the task", || chat(editor).contains(&format!("{answer}\n\n— done")).then_some(()));
    requests[request - 1].json().to_string()
}

#[test]
fn n08_a_text_goes_on_in_the_session_takes_selected_lines_along_and_begins_one_with_a_bang() {
    each(talk, |editor| {
        let first = say(editor, "Adjutant Look at it", 1, "First words.");
        assert!(first.contains("Says hello"), "the first text takes the place of the cursor along: {first}");
        let second = say(editor, "Adjutant and what now", 2, "Second words.");
        assert!(second.contains("First words.") && second.contains("and what now"), "{second}");
        let places = |request: &str| request.matches("Says hello").count();
        assert_eq!(places(&second), places(&first), "no lines were given: {second}");
        let third = say(editor, "2,3Adjutant these lines", 3, "Third words.");
        assert!(third.contains("Second words."), "{third}");
        assert!(places(&third) > places(&second), "the lines are in it: {third}");
        let fourth = say(editor, "Adjutant! undo", 4, "Fourth words.");
        assert!(!fourth.contains("First words."), "a session of its own: {fourth}");
        assert!(fourth.contains("undo"), "with ! it is no sub-command: {fourth}");
    });
}

#[test]
fn n08_a_text_is_a_sub_command_only_if_every_word_of_it_is() {
    each(scenes::silence, |editor| {
        let parsed = |text: &str| {
            let code = format!(
                "local action, words = require('adjutant.commands').parse([[{text}]]) \
                 return (action and action.name or '-') .. (words and '|' .. words or '')"
            );
            editor.lua(&code).as_str().unwrap_or_default().to_owned()
        };
        for (text, wanted) in [
            ("undo", "undo"),
            (" undo  run ", "-"),
            ("undo run later", "undo run later"),
            ("undo the last commit", "-"),
            ("stop the server when it hangs", "-"),
            ("reject: not here", "reject|not here"),
            ("reject empty names", "-"),
            ("chat: what", "-"),
            ("mode ask", "mode|ask"),
            ("model the data as a graph", "-"),
        ] {
            assert_eq!(parsed(text), wanted, "{text:?}");
        }
        let completed = |typed: &str| {
            editor.lua(&format!("return table.concat(vim.fn.getcompletion('{typed}', 'cmdline'), ' ')"))
        };
        assert_eq!(completed("Adjutant s"), "stop sessions setup show send");
        assert_eq!(completed("Adjutant undo "), "file run");
        assert_eq!(completed("2,3Adjutant undo run l"), "later");
        assert_eq!(completed("Adjutant undo the l"), "");
        let unmapped = "local missing = {} local commands = require('adjutant.commands') \
            for _, action in ipairs(commands.ACTIONS) do \
              if vim.fn.maparg(commands.plug(action), 'n') == '' then missing[#missing + 1] = action.name end end \
            return #commands.ACTIONS .. ' ' .. table.concat(missing, ', ')";
        assert_eq!(editor.lua(unmapped), "37 ");
    });
}

#[test]
fn p26_the_mode_and_the_model_of_the_session_are_chosen_from_the_lists_of_the_server() {
    each(talk, |editor| {
        editor.lua("vim.cmd('Adjutant mode')");
        let shown = wait_for("the modes", || editor.asked());
        assert_eq!(
            shown,
            "Mode of this session:\n* Code · Changes files and runs commands, and asks first\n  Ask · Reads and answers; changes nothing"
        );
        editor.choose("  Ask");
        wait_told(editor, "Adjutant: mode of this session: ask");
        let request = say(editor, "Adjutant Look at it", 1, "First words.");
        assert!(!request.contains(EDITS), "only tools that read: {request}");
        assert!(request.contains("The user is at line 1 of greet.py"), "the place of the cursor: {request}");
        let request = say(editor, "2,3Adjutant These", 2, "Second words.");
        assert!(!request.contains(EDITS), "the mode stays: {request}");
        assert!(request.contains("The user is at lines 2 to 3 of greet.py"), "{request}");
        editor.lua("vim.cmd('Adjutant mode code')");
        wait_told(editor, "Adjutant: mode of this session: code");
        editor.lua("vim.cmd('Adjutant model')");
        let shown = wait_for("the models", || editor.asked());
        assert_eq!(shown, "Model of this session:\n+ Add a provider…\n* local/test");
        editor.choose("* local/test");
        editor.lua("vim.cmd('Adjutant model local/other')");
        wait_told(editor, "Adjutant: model of this session: local/other, from the next task on");
        editor.lua("vim.cmd('Adjutant model')");
        let shown = wait_for("the models", || editor.asked());
        assert!(shown.ends_with("\n+ For new sessions too: local/other"), "{shown}");
        editor.choose("+ For new sessions too");
        wait_for("the settings", || {
            let settings = std::fs::read_to_string(editor.stage.workspace.config_file()).ok()?;
            settings.starts_with("model = \"local/other\"").then_some(())
        });
        let request = say(editor, "Adjutant Go on", 3, "Third words.");
        assert!(request.contains(EDITS) && request.contains("First words."), "{request}");
        assert!(request.contains("\"model\":\"other\""), "{request}");
    });
}

#[test]
fn p27_a_session_is_chosen_shown_gone_on_with_and_opened_as_a_page() {
    each(talk, |editor| {
        say(editor, "Adjutant Look at it", 1, "First words.");
        say(editor, "Adjutant! Another thing", 2, "Second words.");
        editor.lua("vim.cmd('Adjutant sessions')");
        let shown = wait_for("the sessions", || editor.asked());
        assert_eq!(shown, "Go on in a session:\nAnother thing · now\nLook at it · now");
        editor.choose("Look at it");
        wait_for("the chosen session alone", || {
            let text = chat(editor);
            (text.contains("First words.\n\n— done") && !text.contains("Second words.")).then_some(())
        });
        editor.wait_true("the chat", "return vim.fn.bufwinid(Chat()) > 0");
        assert_eq!(editor.lua("return vim.api.nvim_get_current_buf() == File()"), true, "the focus stays");
        let request = say(editor, "Adjutant and what now", 3, "Third words.");
        assert!(request.contains("First words.") && !request.contains("Second words."), "{request}");
        editor.lua("vim.cmd('Adjutant export')");
        let page = "for _, buffer in ipairs(vim.api.nvim_list_bufs()) do \
            local text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), ' ') \
            if vim.endswith(vim.api.nvim_buf_get_name(buffer), 'transcript.md') and text:find('Third words', 1, true) \
            then return true end end return false";
        editor.wait_true("the session as a page", page);
    });
}

/// A second Neovim says who has a session, and offers to take it over once that process is gone.
#[test]
fn p27_a_session_of_another_window_is_taken_over_once_its_process_is_gone() {
    each(talk, |editor| {
        let says = |part: &str| wait_for(part, || notices(editor).contains(part).then_some(()));
        let mut first = Server::spawn_with(SERVER, &editor.stage.workspace, &["lsp"], |_| {});
        let window = first.editor(Options::new(&editor.stage.workspace));
        let session = window.new_session();
        let run = window.prompt(&session, "Look at it").run_id;
        window.await_run_end(&session, &run);
        editor.lua("vim.cmd('Adjutant take over')");
        says("Adjutant: no session waits to be taken over; :Adjutant sessions lists those of this project");
        editor.lua("vim.cmd('Adjutant sessions')");
        let shown = wait_for("the sessions", || editor.asked());
        assert_eq!(shown, "Go on in a session:\nLook at it · open in another window · now");
        editor.choose("Look at it");
        let whose = format!("Adjutant: this session is open in another window (process {}).", first.pid());
        says(&whose);
        window.expect_loss();
        first.kill();
        says("Adjutant: the window that had “Look at it” has let it go · :Adjutant take over");
        editor.lua("vim.cmd('Adjutant take over')");
        wait_for("the session", || chat(editor).contains("First words.").then_some(()));
        let request = say(editor, "Adjutant and what now", 2, "Second words.");
        assert!(request.contains("First words."), "{request}");
    });
}

/// After its server died, Neovim draws the page again from the new server, which reads what another window has added to the session.
#[test]
fn p27_a_page_shows_what_another_window_did_after_the_own_server_had_died() {
    each(talk, |editor| {
        say(editor, "Adjutant Look at it", 1, "First words.");
        say(editor, "Adjutant! Another thing", 2, "Second words.");
        editor.stage.kill_server();
        editor.restart();
        let mut other = Server::spawn_with(SERVER, &editor.stage.workspace, &["lsp"], |_| {});
        let window = other.editor(Options::new(&editor.stage.workspace));
        let listed: SessionListResult = window.call("agent/session/list", json!({}));
        let first = listed.sessions.into_iter().find(|one| one.title == "Look at it").expect("it is listed");
        let session = first.session_id;
        // The session of the last text alone is open here again.
        window.resume(&session, None);
        let run = window.prompt(&session, "Go on").run_id;
        window.await_run_end(&session, &run);
        window.shutdown();
        assert!(other.wait().success());
        editor.lua("vim.cmd('Adjutant sessions')");
        wait_for("the sessions", || editor.asked());
        editor.choose("Look at it");
        wait_for("what the other window did", || {
            chat(editor).contains("Third words.\n\n— done").then_some(())
        });
    });
}

#[test]
fn p27_a_session_gets_a_title_by_the_command_or_in_the_place_of_the_old_one() {
    each(talk, |editor| {
        let listed = |wanted: &str| {
            editor.lua("vim.cmd('Adjutant sessions')");
            let shown = wait_for("the sessions", || editor.asked());
            editor.choose(wanted);
            assert_eq!(shown, format!("Go on in a session:\n{wanted} · now"));
        };
        say(editor, "Adjutant Look at it", 1, "First words.");
        editor.lua("vim.cmd('Adjutant rename: The head of the page')");
        wait_told(editor, "this session is now called: The head of the page");
        listed("The head of the page");
        editor
            .lua("vim.ui.input = function(options, done) vim.g.default = options.default done('My own') end");
        editor.lua("vim.keymap.set('n', 'gr', '<Plug>(adjutant-rename)')");
        press(editor, "gr");
        wait_told(editor, "this session is now called: My own");
        assert_eq!(editor.lua("return vim.g.default"), "The head of the page");
        listed("My own");
    });
}

/// The copy has what was said before the prompt, whose words wait in its own; the original stays as it is.
#[test]
fn p05_a_session_is_forked_at_a_prompt_by_a_key_and_whole_by_the_command() {
    each(talk, |editor| {
        say(editor, "Adjutant Look at it", 1, "First words.");
        say(editor, "Adjutant and what now", 2, "Second words.");
        editor.lua("vim.cmd('Adjutant chat')");
        editor.lua("vim.api.nvim_set_current_win(require('adjutant.chat').window())");
        press(editor, "G[[gF");
        wait_told(editor, "this is a copy of the session now: Look at it (fork)");
        wait_for("the copy", || {
            let shown = chat(editor);
            (shown.contains("First words.") && !shown.contains("Second words.")).then_some(())
        });
        let prompt = "local window = require('adjutant.conversation').prompt_window() \
             return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false), '\\n')";
        wait_for("its words", || (editor.lua(prompt) == "and what now").then_some(()));
        let request = say(editor, "Adjutant and otherwise", 3, "Third words.");
        assert!(request.contains("First words.") && !request.contains("Second words."), "{request}");
        editor.lua("vim.cmd('Adjutant fork')");
        wait_told(editor, "this is a copy of the session now: Look at it (fork 2)");
        wait_for("the whole copy", || chat(editor).contains("Third words.").then_some(()));
        editor.lua("vim.api.nvim_set_current_win(require('adjutant.chat').window())");
        press(editor, "GgF");
        let told = || notices(editor).contains("Adjutant: no prompt of yours is at the cursor").then_some(());
        wait_for("what to do", told);
        editor.lua("vim.cmd('Adjutant sessions')");
        let shown = wait_for("the sessions", || editor.asked());
        editor.choose("Look at it · now");
        assert_eq!(shown.matches("Look at it").count(), 3, "{shown}");
        wait_for("the original", || chat(editor).contains("Second words.").then_some(()));
    });
}

/// A map of the user does what the command does, with a count and on selected lines.
#[test]
fn n03_the_maps_take_a_count_and_selected_lines() {
    each(super::changes::three, |editor| {
        super::changes::run(editor);
        super::changes::wait_drawn(editor, &super::changes::all_three(""));
        editor.lua("vim.keymap.set('n', 'gn', '<Plug>(adjutant-next)') vim.keymap.set('x', 'gk', '<Plug>(adjutant-keep)')");
        let row = "return vim.api.nvim_win_get_cursor(0)[1]";
        press(editor, "gg2gn");
        let second = editor.lua(row);
        press(editor, "gggngn");
        assert_eq!(editor.lua(row), second, "twice is the same as with 2");
        press(editor, "ggVGgk");
        wait_told(editor, "3 changes kept");
    });
}

#[test]
fn s90_a_task_is_stopped_and_a_mode_chosen_in_a_terminal_of_80_by_24() {
    for version in VERSIONS {
        let stage = scenes::stage([
            Reply::never(),
            Reply::call("read_file", json!({"path": "greet.py"})),
            Reply::text("It greets."),
        ]);
        let screen = super::terminal::open_sized(&stage, version, ("80", "24"));
        super::terminal::command(&screen, ":Adjutant Look");
        stage.model.wait_for_holding(1);
        screen.wait("waiting for the model");
        super::terminal::command(&screen, ":Adjutant stop");
        screen.wait("Adjutant: cancelled");
        super::terminal::command(&screen, ":Adjutant mode");
        screen.wait("Mode of this session:");
        screen.keys(&["2", "Enter"]);
        screen.wait("mode of this session: ask");
    }
}

/// The sub-commands in the help file are those of the table; `UPDATE_DOCS` writes them again.
#[test]
fn n08_the_help_has_every_sub_command_and_its_tags_are_sound() {
    const LINE: &str = "\n------------------------------------------------------------------------------\n";
    let file = shipped("editors/nvim/doc/adjutant.txt");
    each(scenes::silence, |editor| {
        let listed = editor.lua("return table.concat(require('adjutant.commands').help(), '\\n')");
        let listed = listed.as_str().unwrap_or_default().trim_end();
        let page = std::fs::read_to_string(&file).expect("the help file");
        let parts: Vec<&str> = page.split(LINE).collect();
        let [before, _, after] = parts[..] else { panic!("the help has {} parts", parts.len()) };
        let wanted = format!("{before}{LINE}{listed}{LINE}{after}");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&file, &wanted).expect("write the help file");
        }
        assert_eq!(std::fs::read_to_string(&file).expect("the help file"), wanted, "run with UPDATE_DOCS=1");
        for line in wanted.lines() {
            // A tab is as wide as Neovim draws it.
            let width = line.chars().fold(0, |at, c| if c == '\t' { at / 8 * 8 + 8 } else { at + 1 });
            assert!(width <= 79, "{width} columns: {line}");
        }
        let folder = editor.stage.beside("help");
        std::fs::create_dir_all(folder.join("doc")).expect("make a folder");
        std::fs::copy(&file, folder.join("doc/adjutant.txt")).expect("copy the help file");
        let found = format!(
            "vim.cmd('helptags {0}/doc') vim.opt.runtimepath:prepend('{0}') \
             for _, action in ipairs(require('adjutant.commands').ACTIONS) do \
               vim.cmd.help(require('adjutant.commands').plug(action)) \
               if not vim.startswith(vim.api.nvim_get_current_line(), ':Adjutant ' .. action.name) then return action.name end \
             end \
             for _, key in ipairs(require('adjutant.panes').KEYS) do \
               vim.cmd.help(require('adjutant.panes').plug(key)) \
               if not vim.api.nvim_get_current_line():find(require('adjutant.panes').plug(key), 1, true) then return key.name end \
             end \
             vim.cmd.help(':Adjutant') \
             return vim.api.nvim_get_current_line()",
            folder.display()
        );
        let line = editor.lua(&found);
        assert!(line.as_str().is_some_and(|line| line.starts_with("2. Give a task")), "{line}");
    });
}
