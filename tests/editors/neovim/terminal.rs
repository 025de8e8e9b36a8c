//! Neovim in a terminal, set up as a new user does it, answered by keys.
//!
//! Adds nothing to the set-up, and never drives Neovim but by keys.

use std::fs;

use super::program;
use crate::scenes;
use crate::screen::Screen;
use crate::stage::{Stage, shipped, wait_for};

/// Opens the file in a terminal, with the set-up of the page.
fn open(stage: &Stage, version: &str) -> Screen {
    let settings = stage.settings_dir().join("nvim");
    fs::create_dir_all(settings.join("lua")).expect("make the settings of Neovim");
    fs::copy(shipped("editors/nvim/init.lua"), settings.join("init.lua")).expect("take what is shipped");
    fs::copy(shipped("editors/nvim/adjutant.lua"), settings.join("lua/adjutant.lua"))
        .expect("take what is shipped");
    let (program, runtime) = program(version);
    let line = format!("env VIMRUNTIME='{}' '{}' {}", runtime.display(), program.display(), scenes::FILE);
    let screen = Screen::start(stage, &line);
    screen.wait("def greet");
    stage.seen().wait("in", "textDocument/didOpen", 1);
    screen
}

#[test]
fn n08_the_main_job_in_a_terminal() {
    for version in super::VERSIONS {
        let stage = scenes::one_edit();
        let screen = open(&stage, version);
        screen.text_in(":Adjutant Mend the greeting");
        screen.keys(&["Enter"]);
        screen.wait("Mend the greeting: ");
        stage.model.wait_for_holding(1);
        stage.model.release();
        let asked = screen.wait("Edit greet.py");
        if version == super::VERSIONS[1] {
            screen.keep(&shipped("docs/images").join("neovim.txt"));
        }
        // The choices are numbered; an approval is never the first.
        let number = |title: &str| {
            asked.lines().find_map(|line| {
                let (number, shown) = line.trim().split_once(": ")?;
                shown.starts_with(title).then(|| number.to_owned())
            })
        };
        let allow = number("Yes, once").unwrap_or_else(|| panic!("no choice to allow it on\n{asked}"));
        assert_ne!(allow, "1", "the first choice must not approve\n{asked}");
        stage.read(1);
        screen.text_in(&allow);
        screen.keys(&["Enter"]);
        screen.wait("Hello, ");
        screen.wait("done");
        assert!(stage.workspace.read(scenes::FILE).contains("Helo"), "nothing was saved");
        screen.keys(&["Escape"]);
        screen.text_in(":w");
        screen.keys(&["Enter"]);
        wait_for("the saved file", || stage.workspace.read(scenes::FILE).contains("Hello").then_some(()));
        screen.keys(&["u"]);
        screen.wait("Helo, ");
        // Only what a plain client knows was sent to it.
        assert_eq!(stage.seen().count("out", "workspace/applyEdit"), 1);
    }
}
