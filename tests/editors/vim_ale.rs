//! Vim with ALE in a terminal: keys in, the screen out.
//!
//! ALE announces no edits, answers no request and has no popups: a question is a problem at its line, and
//! `:ALECodeAction` has the answers. Never uses another set-up than the shipped file.

mod scenes;

use std::fs;

use crate::editor::Editor;
use crate::helix::in_menu;
use crate::screen::Screen;
use crate::stage::{Stage, installed, shipped, wait_for, wait_or};

/// The end of ALE's menu.
const MENU: &str = "Type number and <Enter>";

/// A Vim with ALE that a test started.
pub struct Ale<'a> {
    pub stage: &'a Stage,
    pub screen: Screen,
}

impl<'a> Ale<'a> {
    /// Opens a file of the workspace and waits until the server knows it.
    pub fn open(stage: &'a Stage, file: &str) -> Ale<'a> {
        // No other linter; the rest is ALE's default.
        let vimrc = format!(
            "set nocompatible noswapfile\nfiletype plugin on\nlet &runtimepath .= ',{}'\n\
             let g:ale_linters = {{'python': []}}\nsource {}\n",
            installed("vim-ale/usr/share/vim-ale").display(),
            shipped("editors/vim-ale/adjutant.vim").display()
        );
        let settings = stage.beside("vimrc");
        fs::write(&settings, vimrc).expect("write the settings of Vim");
        let screen = Screen::start(stage, &format!("vim -i NONE -u '{}' '{file}'", settings.display()));
        stage.seen().wait("in", "textDocument/didOpen", 1);
        Ale { stage, screen }
    }

    /// Types a command line.
    pub fn line(&self, line: &str) {
        self.screen.text_in(&format!(":{line}"));
        self.screen.wait(&format!(":{line}"));
        self.screen.keys(&["Enter"]);
    }

    /// Opens the menu and chooses the entry whose title begins with `title`, by its number.
    #[track_caller]
    pub fn choose_in_menu(&self, title: &str) {
        let title = format!(") Adjutant: {title}");
        let found = wait_or(|| {
            self.line("ALECodeAction");
            let menu = self.screen.wait(MENU);
            let entry = menu.lines().find_map(|line| line.split_once(&title)).map(|(number, _)| number);
            // The actions may have changed meanwhile; an empty answer closes the menu.
            let number = entry.map(|number| number.trim().to_owned());
            if let Some(number) = &number {
                self.screen.text_in(number);
            }
            self.screen.keys(&["Enter"]);
            self.screen.wait_until("the end of the menu", |screen| !screen.contains(MENU));
            number
        });
        found.unwrap_or_else(|| panic!("no code action {title:?} on\n{}", self.screen.text()));
    }
}

impl Editor for Ale<'_> {
    fn stage(&self) -> &Stage {
        self.stage
    }

    fn command(&self, text: &str) {
        self.line(&format!("Adjutant {text}"));
    }

    fn action(&self, title: &str) {
        self.choose_in_menu(title);
    }

    /// ALE shows no progress.
    fn progress(&self) -> String {
        String::new()
    }

    fn asked(&self) -> Option<String> {
        Some(self.screen.text()).filter(|screen| screen.contains(": Adjutant: "))
    }

    fn choose(&self, title: &str) {
        self.choose_in_menu(in_menu(title));
    }

    fn buffer(&self) -> String {
        let copy = self.stage.beside("buffer");
        let _ = fs::remove_file(&copy);
        self.line("silent keepalt write! ../buffer.part | call rename('../buffer.part', '../buffer')");
        wait_for("the copy of the buffer", || fs::read_to_string(&copy).ok())
    }

    fn go_to_line(&self, line: usize) {
        self.line(&line.to_string());
    }

    fn type_at_top(&self, text: &str) {
        self.screen.text_in(&format!("ggO{text}"));
        self.screen.wait(text);
        self.screen.keys(&["Escape"]);
    }

    fn choose_and_type_at_top(&self, title: &str, text: &str) {
        self.choose(title);
        self.type_at_top(text);
    }

    fn save(&self) {
        self.line("silent write");
    }

    fn undo(&self) {
        self.screen.keys(&["u"]);
    }

    fn cancel(&self) {
        self.line("AdjutantCancel");
    }

    fn restart(&self) {
        self.line("ALELint");
        self.stage.seen().wait("in", "initialized", 2);
    }

    /// Reads the log of the session, because ALE does not show the end of a run.
    fn wait_end(&self, _: &str) {
        wait_for("the end of the run", || {
            let sessions = self.stage.sessions();
            let log = self
                .stage
                .workspace
                .state_dir()
                .join("sessions")
                .join(sessions.first()?)
                .join("events.jsonl");
            fs::read_to_string(log).ok()?.contains("\"run_ended\"").then_some(())
        });
    }

    /// Reads the messages, because ALE does not show the begin of a run.
    fn wait_progress(&self, _: &str) {
        self.stage.seen().answers("in", "workspace/executeCommand");
    }
}
