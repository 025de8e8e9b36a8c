//! Neovim with what `adjutant editor nvim` wrote, and nothing else of a set-up.
//!
//! Never writes settings, and never drives Neovim except by keys.

use std::fs;
use std::process::Command;

use super::terminal::{command, key_of, read};
use super::{VERSIONS, program};
use crate::carried::{data, editor};
use crate::scenes;
use crate::screen::Screen;
use crate::stage::{Stage, wait_for};

/// No line of settings, and no tags made by Neovim.
#[test]
fn n27_neovim_works_with_what_the_command_alone_installed() {
    for version in VERSIONS {
        let stage = scenes::one_edit();
        editor(&stage, &["nvim"]);
        assert!(!stage.settings_dir().join("nvim").exists(), "there are no settings of Neovim");
        let (program, runtime) = program(version);
        let line = format!("env VIMRUNTIME='{}' '{}' {}", runtime.display(), program.display(), scenes::FILE);
        let screen = Screen::start(&stage, &line);
        screen.wait("def greet");
        // The server starts by itself, with the first file.
        stage.seen().wait("in", "textDocument/didOpen", 1);
        command(&screen, ":Adjutant Mend the greeting");
        stage.model.wait_for_holding(1);
        stage.model.release();
        screen.wait("? Edit greet.py");
        command(&screen, ":Adjutant answer");
        let asked = screen.wait("q later");
        read();
        screen.keys(&[&key_of(&asked, "Yes, once")]);
        wait_for("the saved file", || stage.workspace.read(scenes::FILE).contains("Hello").then_some(()));
        command(&screen, ":help adjutant-task");
        screen.wait("2. Give a task");
        command(&screen, ":qall!");
        drop(screen);
        if version != VERSIONS[0] {
            starts_nothing_if_the_user_says_so(&stage, &line);
        }
        editor(&stage, &["nvim", "--remove"]);
        assert!(!data(&stage, "nvim/site/pack/adjutant").exists());
    }
}

/// Neovim 0.10 has no such start that the user could do.
fn starts_nothing_if_the_user_says_so(stage: &Stage, line: &str) {
    let settings = stage.settings_dir().join("nvim");
    fs::create_dir(&settings).expect("make the folder of settings");
    let screen_says = |start: &str, enabled: &str| {
        fs::write(settings.join("init.lua"), format!("vim.g.adjutant = {{ start = {start} }}\n"))
            .expect("write the settings");
        let screen = Screen::start(stage, line);
        screen.wait("def greet");
        command(&screen, ":echo 'enabled: ' .. luaeval('tostring(vim.lsp.is_enabled(\"adjutant\"))')");
        screen.wait(&format!("enabled: {enabled}"));
        command(&screen, ":qall!");
    };
    screen_says("false", "false");
    screen_says("true", "true");
}

/// Otherwise `:helptags ALL` of the user would change a file of Adjutant.
#[test]
fn n27_the_tags_of_the_help_are_those_that_neovim_makes() {
    for version in VERSIONS {
        let stage = scenes::silence();
        editor(&stage, &["nvim"]);
        let doc = data(&stage, "nvim/site/pack/adjutant/start/adjutant/doc");
        let own = fs::read_to_string(doc.join("tags")).expect("the tags");
        fs::remove_file(doc.join("tags")).expect("remove the tags");
        let (program, runtime) = program(version);
        let mut command = Command::new(program);
        command.args(["--headless", "--clean", "-c", &format!("helptags {}", doc.display()), "-c", "qall!"]);
        command.env_clear().envs(stage.env()).env("VIMRUNTIME", runtime);
        let output = command.output().expect("run Neovim");
        let made = fs::read_to_string(doc.join("tags"));
        let made =
            made.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        assert_eq!(own, made, "{version}");
    }
}
