//! Neovim in a terminal, with the set-up of a new user and answers by keys.
//!
//! Never adds to the set-up, and never drives Neovim except by keys.

use std::fs;
use std::time::Instant;

use adjutant_testkit::model::Reply;
use serde_json::json;

use super::program;
use crate::scenes;
use crate::screen::{ROWS, Screen};
use crate::stage::{READ, Stage, shipped, wait_for};

/// Opens the file in a terminal with this many columns, with the set-up of the page.
pub(super) fn open(stage: &Stage, version: &str, columns: &str) -> Screen {
    open_sized(stage, version, (columns, ROWS))
}

pub(super) fn open_sized(stage: &Stage, version: &str, size: (&str, &str)) -> Screen {
    install(stage);
    start(stage, version, size)
}

/// Installs the plugin as the page says, as a package of Neovim.
fn install(stage: &Stage) {
    let settings = stage.settings_dir().join("nvim");
    let plugin = settings.join("pack/adjutant/start/adjutant");
    for folder in ["doc", "lsp", "lua/adjutant", "plugin"] {
        fs::create_dir_all(plugin.join(folder)).expect("make the folder of the plugin");
        for file in fs::read_dir(shipped("editors/nvim").join(folder)).expect("the shipped files").flatten() {
            fs::copy(file.path(), plugin.join(folder).join(file.file_name())).expect("copy the shipped file");
        }
    }
    fs::copy(shipped("editors/nvim/init.lua"), settings.join("init.lua")).expect("copy the shipped file");
}

/// Opens the file with the plugin as it is installed.
fn start(stage: &Stage, version: &str, size: (&str, &str)) -> Screen {
    let (program, runtime) = program(version);
    let line = format!("env VIMRUNTIME='{}' '{}' {}", runtime.display(), program.display(), scenes::FILE);
    let screen = Screen::sized(stage, &line, size);
    screen.wait("def greet");
    stage.seen().wait("in", "textDocument/didOpen", 1);
    screen
}

pub(super) fn command(screen: &Screen, line: &str) {
    screen.text_in(line);
    screen.keys(&["Enter"]);
}

/// Waits for the time after which an approval counts.
pub(super) fn read() {
    let since = Instant::now();
    wait_for("the time that counts as read", || (since.elapsed() >= READ).then_some(()));
}

/// Returns the key of the choice in the float whose title begins with `title`.
pub(super) fn key_of(shown: &str, title: &str) -> String {
    let key = shown.lines().find_map(|line| {
        let line = line.trim_start_matches(|sign: char| !sign.is_ascii_digit());
        let (key, rest) = line.split_once("  ")?;
        rest.starts_with(title).then(|| key.to_owned())
    });
    key.unwrap_or_else(|| panic!("no choice {title:?} on\n{shown}"))
}

#[test]
fn n08_the_main_job_in_a_terminal() {
    for version in super::VERSIONS {
        let stage = scenes::one_edit();
        let screen = open(&stage, version, "110");
        command(&screen, ":Adjutant Mend the greeting");
        screen.wait("· Mend the greeting");
        command(&screen, ":Adjutant chat");
        screen.wait("# Mend the greeting");
        stage.model.wait_for_holding(1);
        stage.model.release();
        // The whole question is visible next to the answer, before the user goes there.
        screen.wait("+    return \"Hello, \" + name");
        if version == super::VERSIONS[1] {
            screen.keep(&shipped("docs/images").join("neovim.txt"));
        }
        command(&screen, ":Adjutant answer");
        let asked = screen.wait("q later");
        let allow = key_of(&asked, "Yes, once");
        assert_ne!(allow, "1", "the first choice must not approve\n{asked}");
        read();
        screen.keys(&[&allow]);
        screen.wait("done");
        screen.wait("It is mended.");
        // The user had no unsaved text, so the edit is saved.
        wait_for("the saved file", || stage.workspace.read(scenes::FILE).contains("Hello").then_some(()));
        screen.keys(&["u"]);
        screen.wait("Helo, ");
        assert_eq!(stage.seen().count("out", "workspace/applyEdit"), 1);
        assert_eq!(stage.seen().count("out", "window/showMessageRequest"), 0, "nothing modal is ever sent");
    }
}

/// Finding D6: the prompt opened while the user typed, received `3` and Enter, and these meant *Allow once*.
#[test]
fn finding_d6_what_is_typed_while_a_question_comes_is_in_the_text_and_answers_nothing() {
    for version in super::VERSIONS {
        let stage = scenes::one_edit();
        let screen = open(&stage, version, "110");
        let before = stage.workspace.read(scenes::FILE);
        command(&screen, ":set noautoindent indentexpr=");
        command(&screen, ":Adjutant Mend the greeting");
        stage.model.wait_for_holding(1);
        screen.keys(&["G", "o"]);
        screen.text_in("one");
        stage.model.release();
        screen.wait("? Edit greet.py");
        for line in ["3", "1", "2 y", "allow"] {
            screen.keys(&["Enter"]);
            screen.text_in(line);
        }
        screen.keys(&["Escape"]);
        screen.wait("? 1 question");
        screen.text_in("3l2k");
        assert!(screen.text().contains("? 1 question"), "the question is still there\n{}", screen.text());
        command(&screen, ":w");
        let typed = format!("{before}one\n3\n1\n2 y\nallow\n");
        wait_for("every key in the text", || (stage.workspace.read(scenes::FILE) == typed).then_some(()));
        let seen = stage.seen();
        assert_eq!(seen.count("out", "workspace/applyEdit"), 0, "{}", seen.shown());
        assert!(!screen.text().contains("Press ENTER"), "{}", screen.text());
    }
}

/// In forty columns, the question, its choices and the current step are all readable.
#[test]
fn finding_d6_a_narrow_terminal_shows_the_question_and_its_choices() {
    for version in super::VERSIONS {
        let stage = scenes::one_edit();
        let screen = open(&stage, version, "40");
        command(&screen, ":Adjutant Mend the greeting that is spelled wrong in this very file");
        // The step must be visible, but not the whole title.
        screen.wait("the model");
        stage.model.wait_for_holding(1);
        stage.model.release();
        screen.wait("? Edit greet.py");
        command(&screen, ":Adjutant answer");
        let asked = screen.wait("q later");
        assert!(asked.contains("+    return \"Hello, \" + name"), "{asked}");
        read();
        screen.keys(&[&key_of(&asked, "Yes, once")]);
        screen.wait("done");
        screen.wait("Hello, ");
        assert!(!screen.text().contains("Press ENTER"), "{}", screen.text());
    }
}

/// Finding D9: in the smallest usual terminal, a question hid the answer, before and after the user went there.
#[test]
fn finding_d9_at_80_by_24_the_question_leaves_the_answer_in_sight_and_scrolls() {
    let lines = |word: &str| (1..=20).map(|line| format!("{word} = {line}\n")).collect::<String>();
    for version in super::VERSIONS {
        let arguments = json!({"path": scenes::FILE, "old_text": lines("old"), "new_text": lines("new")});
        let edit = Reply::text("I rename all of them.").and_call("edit_file", arguments);
        let text = format!("//- /{}\ndef greet(): pass\n{}", scenes::FILE, lines("old"));
        let stage = Stage::new(&text, [edit, Reply::text("It is renamed.")]);
        let screen = open_sized(&stage, version, ("80", "24"));
        command(&screen, ":Adjutant stop");
        let notice = screen.wait("Adjutant: nothing runs");
        assert!(notice.contains("╭ Adjutant "), "a notice has a frame\n{notice}");
        command(&screen, ":Adjutant Rename them");
        command(&screen, ":Adjutant chat");
        let both = |hint: &'static str| {
            move |text: &str| text.contains("I rename all of them.") && text.contains(hint)
        };
        screen.wait_until("the answer and a line that asks", both("? Edit greet.py"));
        command(&screen, ":Adjutant answer");
        screen.wait_until("the answer next to the question", both("scroll for more"));
        screen.wait_until("the answer next to the choices", both("1  Reject"));
        screen.keys(&["1"]);
        screen.wait("It is renamed.");
    }
}

/// Each key that answers is on the screen, wherever the user is in the text of the question.
#[test]
fn s15_at_80_by_24_the_answers_stay_on_the_screen_while_a_long_question_scrolls() {
    let lines = |word: &str| (1..=20).map(|line| format!("{word} = {line}\n")).collect::<String>();
    for version in super::VERSIONS {
        let arguments = json!({"path": scenes::FILE, "old_text": lines("old"), "new_text": lines("new")});
        let text = format!("//- /{}\ndef greet(): pass\n{}", scenes::FILE, lines("old"));
        let edit = Reply::call("edit_file", arguments);
        let stage = Stage::new(&text, [edit, Reply::text("It is renamed.")]);
        let screen = open_sized(&stage, version, ("80", "24"));
        command(&screen, ":Adjutant Rename them");
        screen.wait("? Edit greet.py");
        command(&screen, ":Adjutant answer");
        let asked = screen.wait("q later");
        for part in ["-old = 1 ", "scroll for more", "1  Reject", "-  Yes, once: first look at the other "] {
            assert!(asked.contains(part), "{part:?} in\n{asked}");
        }
        // A key whose answer cannot be given yet says so, and the answers stay to the end of the text.
        screen.keys(&["2"]);
        screen.wait("Adjutant: scroll through all of it first: j or Ctrl-F");
        screen.keys(&["G"]);
        let end = screen.wait("+new = 20");
        assert!(end.contains("1  Reject") && end.contains("first look at the other "), "{end}");
        screen.keys(&["g", "g"]);
        screen.wait("-old = 1 ");
        let pages = ["C-f"; 20];
        screen.keys(&pages);
        let seen = screen.wait_until("all of it seen", |text| !text.contains("first look at"));
        assert!(seen.contains("1  Reject") && !seen.contains("scroll for more"), "{seen}");
        read();
        screen.keys(&[&key_of(&seen, "Yes, once")]);
        screen.wait("Adjutant: done");
        wait_for("the edit", || stage.workspace.read(scenes::FILE).contains("new = 20").then_some(()));
    }
}

#[test]
fn s15_an_answer_that_is_not_whole_on_the_screen_is_given_only_after_it_was_opened() {
    let answers: Vec<String> =
        (1..=5).map(|number| format!("answer {number} {}end {number}", "word ".repeat(60))).collect();
    for version in super::VERSIONS {
        let ask = Reply::call("ask_user", json!({"question": "Which one?", "options": answers}));
        let stage = Stage::new(
            &format!("//- /{}\ndef greet(): pass\n", scenes::FILE),
            [ask, Reply::text("I take that one.")],
        );
        let screen = open_sized(&stage, version, ("80", "24"));
        command(&screen, ":Adjutant Choose");
        screen.wait("? Which one?");
        command(&screen, ":Adjutant answer");
        let asked = screen.wait("s in a tab");
        for number in 1..=5 {
            assert!(asked.contains(&format!("-  answer {number} word")), "{asked}");
        }
        // The key does nothing, so the question can still be opened.
        screen.keys(&["4", "s"]);
        screen.wait("end 3");
        screen.keys(&["q"]);
        let again = screen.wait("q later");
        screen.keys(&[&key_of(&again, "answer 4")]);
        screen.wait("Adjutant: done");
        let told = stage.model.requests().last().expect("a request").json().to_string();
        assert!(told.contains("end 4"), "{told}");
    }
}

/// The server starts without a call of any function, and the settings count.
#[test]
fn n19_the_plugin_starts_by_itself_or_by_enable_with_the_settings_of_the_user() {
    for version in super::VERSIONS {
        let stage = scenes::one_edit();
        let sent = stage.record_input();
        install(&stage);
        let init = stage.settings_dir().join("nvim/init.lua");
        let shipped_lines = fs::read_to_string(&init).expect("the shipped file");
        fs::write(&init, format!("vim.g.adjutant = {{ trusted = true }}\n{shipped_lines}")).expect("write");
        let screen = start(&stage, version, ("110", ROWS));
        let sent = String::from_utf8_lossy(&fs::read(&sent).expect("what was sent")).into_owned();
        assert!(sent.contains("\"trusted\":true"), "the setting reaches the server:\n{sent}");
        // A file without a type is announced too, and one server has both.
        fs::write(stage.workspace.path().join("plain"), "no type\n").expect("write a file");
        command(&screen, ":edit plain");
        screen.wait("no type");
        stage.seen().wait("in", "textDocument/didOpen", 2);
        command(&screen, ":echo 'servers: ' .. luaeval('#vim.lsp.get_clients()')");
        screen.wait("servers: 1");
        if vim_can_enable(version) {
            command(&screen, ":echo 'enabled: ' .. luaeval('vim.lsp.config.adjutant.cmd[1]')");
            screen.wait("enabled: adjutant");
        }
        command(&screen, ":helptags ALL");
        command(&screen, ":help adjutant-task");
        screen.wait("2. Give a task");
    }
}

/// Whether this version has `vim.lsp.enable`.
fn vim_can_enable(version: &str) -> bool {
    version != "nvim-0.10"
}

/// Nothing is open: no file, and so no server.
#[test]
fn p26_without_a_file_a_task_starts_the_server_and_the_demo_needs_none() {
    for version in super::VERSIONS {
        let stage = scenes::stage([Reply::text("Hello.")]);
        install(&stage);
        let (program, runtime) = program(version);
        let line = format!("env VIMRUNTIME='{}' '{}'", runtime.display(), program.display());
        let screen = Screen::start(&stage, &line);
        screen.wait("~");
        command(&screen, ":Adjutant Say hello");
        screen.wait("done: Say hello · :Adjutant chat");
        // A file that is opened afterwards belongs to the same server.
        command(&screen, &format!(":edit {}", scenes::FILE));
        stage.seen().wait("in", "textDocument/didOpen", 1);
        assert_eq!(stage.seen().count("in", "initialize"), 1);
        command(&screen, ":Adjutant demo");
        screen.wait("Adjutant demo. The model is scripted");
        assert_eq!(stage.model.requests().len(), 1);
    }
}

/// Neovim itself would show the stack of an error for each way in which it starts a server.
#[test]
fn p26_a_missing_program_is_one_message_at_the_start() {
    for version in super::VERSIONS {
        let stage = scenes::silence();
        install(&stage);
        let (program, runtime) = program(version);
        let line = format!(
            "env PATH=/usr/bin:/bin VIMRUNTIME='{}' '{}' {}",
            runtime.display(),
            program.display(),
            scenes::FILE
        );
        let screen = Screen::start(&stage, &line);
        let shown = screen.wait("the program adjutant is not in the PATH of Neovim");
        assert!(shown.contains("def greet"), "{shown}");
        for wrong in ["traceback", "Press ENTER", "E5108", "Spawning"] {
            assert!(!shown.contains(wrong), "{shown}");
        }
        command(&screen, ":Adjutant demo");
        screen.wait("the program adjutant is not in the PATH of Neovim");
    }
}

#[test]
fn p26_without_a_model_the_way_to_one_is_said_in_whole_words() {
    for version in super::VERSIONS {
        let stage = scenes::stage([]);
        stage.workspace.config("");
        let screen = open(&stage, version, "80");
        command(&screen, ":Adjutant Say hello");
        let shown = screen.wait("The text is kept: :Adjutant prompt");
        let inside = |row: &str| Some(row.split_once('│')?.1.split_once('│')?.0.trim().to_owned());
        let text = shown.lines().filter_map(inside).collect::<Vec<_>>().join(" ");
        // Nothing that is for a shell or a file: the first word to type is one of Neovim.
        let said = "Adjutant: no model is configured: begin with :Adjutant setup; :Adjutant demo shows a task without one \
                    The text is kept: :Adjutant prompt";
        assert_eq!(text, said, "{shown}");
    }
}

/// In a wide terminal Neovim draws the message in its last line, and leaves it there until another message comes.
#[test]
fn p26_the_message_that_the_program_is_missing_goes_when_it_is_there() {
    for version in super::VERSIONS {
        let stage = scenes::silence();
        install(&stage);
        let (program, runtime) = program(version);
        let comes = format!(
            "nnoremap Q <Cmd>lua vim.env.PATH = '{}:' .. vim.env.PATH; require('adjutant').with_server(function() end)<CR>",
            stage.beside("bin").display()
        );
        let line = format!(
            "env PATH=/usr/bin:/bin VIMRUNTIME='{}' '{}' -c \"{comes}\" {}",
            runtime.display(),
            program.display(),
            scenes::FILE
        );
        let screen = Screen::sized(&stage, &line, ("160", ROWS));
        screen
            .wait("the program adjutant is not in the PATH of Neovim; :checkhealth adjutant says what to do");
        screen.keys(&["Q"]);
        stage.seen().wait("in", "textDocument/didOpen", 1);
        let shown = screen.wait_until("the end of the message", |text| !text.contains("not in the PATH"));
        assert!(shown.contains("def greet"), "{shown}");
    }
}
