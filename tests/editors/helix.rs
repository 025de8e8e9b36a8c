//! Helix in a terminal, driven by keys and read from the screen.
//!
//! It has no `window/showMessageRequest`: asks are diagnostics with code actions. Never reads more than
//! the screen, the disk and the message log.

mod prompts;
mod scenes;

use std::fs;

use crate::editor::Editor;
use crate::scenes::Reviewer;
use crate::screen::Screen;
use crate::stage::{Stage, installed, shipped, wait_for, wait_or};

/// The folder of its installation.
pub const VERSION: &str = "helix-25.01";

/// The frames of the spinner for a working server.
const SPINNER: [char; 8] = ['⣾', '⣽', '⣻', '⢿', '⡿', '⣟', '⣯', '⣷'];
/// How many looks find the spinner before a key is pressed.
const LOOKS_UNTIL_A_KEY: usize = 40;
/// The background of the selected menu entry in Helix's default theme: white.
const CHOSEN: &str = "48;2;255;255;255m";
/// The most entries of a menu.
const MENU: usize = 20;

/// A Helix that a test started.
pub struct Helix<'a> {
    pub stage: &'a Stage,
    pub screen: Screen,
}

impl<'a> Helix<'a> {
    /// Opens a file of the workspace and waits until the server knows it.
    pub fn open(stage: &'a Stage, file: &str) -> Helix<'a> {
        let settings = stage.settings_dir().join("helix");
        fs::create_dir_all(&settings).expect("make the settings of Helix");
        for name in ["languages.toml", "config.toml"] {
            fs::copy(shipped("editors/helix").join(name), settings.join(name))
                .expect("copy the shipped file");
        }
        // Copies the buffer completely or not at all.
        fs::write(stage.beside("keep"), "cat > ../buffer.part && mv ../buffer.part ../buffer\n")
            .expect("write it");
        let program = installed(&format!("{VERSION}/usr/bin/hx"));
        let runtime = installed(&format!("{VERSION}/usr/lib/hx/runtime"));
        let line = format!("env HELIX_RUNTIME='{}' '{}' '{file}'", runtime.display(), program.display());
        let opened = stage.seen().count("in", "textDocument/didOpen");
        let screen = Screen::start(stage, &line);
        screen.wait("NOR");
        stage.seen().wait("in", "textDocument/didOpen", opened + 1);
        Helix { stage, screen }
    }

    /// Leaves a mode or a menu, and waits for the effect on the screen: Escape and a key right after it would be
    /// one key with Alt.
    fn escape(&self, left: impl Fn() -> bool) {
        self.screen.keys(&["Escape"]);
        wait_for("Helix to leave it", || left().then_some(()));
    }

    fn leave_insert_mode(&self) {
        self.escape(|| status_line(&self.screen.text()).contains("NOR"));
    }

    /// Inserts a line at the cursor in one piece. This Helix sends quick successive changes in any order, and the
    /// server cannot follow such a document.
    fn insert(&self, text: &str) {
        self.screen.keys(&["i"]);
        self.screen.paste(&format!("{text}\n"));
        self.screen.wait(text);
    }

    /// Types a command line.
    pub fn line(&self, line: &str) {
        self.screen.text_in(&format!(":{line}"));
        self.screen.wait(&format!(":{line}"));
        self.screen.keys(&["Enter"]);
        self.screen.wait_until("the end of the command line", |screen| !last_line(screen).starts_with(':'));
    }

    /// Returns the selected entry of the open menu.
    fn chosen(&self) -> Option<String> {
        let coloured = self.screen.coloured();
        let entry = coloured.split(CHOSEN).nth(1)?.split('\u{1b}').next()?;
        Some(entry.trim().to_owned())
    }

    /// Opens the menu of code actions and selects one of them.
    #[track_caller]
    fn choose_in_menu(&self, title: &str) {
        let title = format!("Adjutant: {title}");
        // The actions may have changed while Helix built the menu; then open it again.
        let found = wait_or(|| {
            self.screen.keys(&["Space", "a"]);
            wait_for("a menu or the message that there is none", || {
                (self.chosen().is_some() || self.screen.text().contains("No code actions")).then_some(())
            });
            let first = self.chosen()?;
            for _ in 0..MENU {
                let chosen = self.chosen()?;
                if chosen.starts_with(&title) {
                    return Some(());
                }
                self.screen.keys(&["Down"]);
                let next = wait_for("another entry", || self.chosen().filter(|next| *next != chosen));
                if next == first {
                    break;
                }
            }
            self.escape(|| self.chosen().is_none());
            None
        });
        found.unwrap_or_else(|| panic!("no code action {title:?} on\n{}", self.screen.text()));
    }
}

/// Returns the title of a button in a menu, where the one for an edit is longer.
pub fn in_menu(title: &str) -> &str {
    if title == crate::scenes::ALLOW { "Yes, apply" } else { title }
}

/// Returns the text of a screen line that belongs to the file, with the diagnostic next to it.
fn numbered(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(['●', ' ']);
    let text = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    (text.len() < rest.len()).then(|| text.strip_prefix("  ").unwrap_or_default())
}

fn last_line(screen: &str) -> &str {
    screen.trim_end_matches('\n').lines().last().unwrap_or_default()
}

fn status_line(screen: &str) -> &str {
    screen.lines().find(|line| line.contains(" sel ")).unwrap_or_default()
}

impl Editor for Helix<'_> {
    fn stage(&self) -> &Stage {
        self.stage
    }

    /// Helix's commands accept no text, so a task always starts with a code action.
    fn command(&self, _: &str) {
        self.go_to_line(1);
        self.action("Do what this comment says");
    }

    fn action(&self, title: &str) {
        self.choose_in_menu(title);
        self.screen.keys(&["Enter"]);
    }

    fn progress(&self) -> String {
        let screen = self.screen.text();
        format!("{}\n{}", status_line(&screen), last_line(&screen))
    }

    fn asked(&self) -> Option<String> {
        // A diagnostic is next to its line; the progress is in the last line.
        let screen = self.screen.text();
        let beside: Vec<&str> = screen.lines().take_while(|line| *line != status_line(&screen)).collect();
        Some(beside.join("\n")).filter(|beside| beside.contains("Adjutant: "))
    }

    fn choose(&self, title: &str) {
        // The answers are available at any position, not only at the question.
        self.screen.keys(&["g", "e"]);
        self.choose_in_menu(in_menu(title));
        self.screen.keys(&["Enter"]);
        // The next question is next to the line where the run began, if the cursor is there.
        self.screen.keys(&["g", "g"]);
    }

    fn buffer(&self) -> String {
        let copy = self.stage.beside("buffer");
        let _ = fs::remove_file(&copy);
        self.screen.keys(&["%"]);
        self.line("pipe-to sh ../keep");
        let text = wait_for("the copy of the buffer", || fs::read_to_string(&copy).ok());
        self.screen.keys(&["g", "g"]);
        text
    }

    fn go_to_line(&self, line: usize) {
        self.line(&line.to_string());
    }

    fn type_at_top(&self, text: &str) {
        self.screen.keys(&["g", "g"]);
        self.insert(text);
        self.leave_insert_mode();
    }

    fn choose_and_type_at_top(&self, title: &str, text: &str) {
        self.choose_in_menu(in_menu(title));
        self.screen.keys(&["Enter", "g", "g"]);
        self.insert(text);
        self.leave_insert_mode();
    }

    fn save(&self) {
        self.line("write");
    }

    fn undo(&self) {
        self.screen.keys(&["u"]);
    }

    fn cancel(&self) {
        self.action("Cancel");
    }

    fn restart(&self) {
        self.line("lsp-restart");
        self.stage.seen().wait("in", "initialized", 2);
    }

    /// Reads the screen. A copy of the buffer would need a command line, and Helix ignores all progress while one
    /// is open, also the end of a run.
    fn wait_buffer(&self, text: &str) {
        let wanted: Vec<&str> = text.lines().collect();
        let held = |screen: &str| {
            let shown: Vec<&str> = screen.lines().filter_map(numbered).collect();
            let same = shown.iter().zip(&wanted).all(|(shown, wanted)| shown.starts_with(wanted));
            shown.len() == wanted.len() && same
        };
        wait_or(|| held(&self.screen.text()).then_some(())).unwrap_or_else(|| {
            panic!(
                "the buffer is not {text:?} in\n{}\nafter\n{}",
                self.screen.text(),
                self.stage.seen().shown()
            )
        });
    }

    fn leave_empty_file(&self) {
        self.line("open other.py");
        self.screen.wait("Says hello");
    }

    fn return_to_file(&self) {
        self.line("open greet.py");
    }

    fn title_of<'a>(&self, _: &'a str) -> &'a str {
        "Says hello"
    }

    fn wait_end(&self, _: &str) {
        let mut looks = 0;
        let mut ended = || {
            let text = self.screen.text();
            looks += 1;
            // Helix may still show a spinner that has stopped. A key makes it draw the screen again.
            if looks % LOOKS_UNTIL_A_KEY == 0 && text.contains(" NOR ") {
                self.screen.keys(&["Escape"]);
            }
            !status_line(&text).contains(SPINNER)
        };
        wait_or(|| ended().then_some(())).unwrap_or_else(|| {
            panic!(
                "the spinner still turns after {} requests to the model in\n{}\nafter\n{}",
                self.stage.model.requests().len(),
                self.screen.text(),
                self.stage.seen().shown()
            )
        });
    }
}

impl Reviewer for Helix<'_> {
    fn open(&self, file: &str) {
        self.line(&format!("open {file}"));
    }

    fn insert_above(&self, line: usize, text: &str) {
        self.go_to_line(line);
        // To its first column.
        self.screen.keys(&["g", "h"]);
        self.insert(text);
        self.leave_insert_mode();
    }

    fn hover(&self) -> String {
        self.screen.keys(&["Space", "k"]);
        let said = self.screen.wait("reviewed");
        self.escape(|| !self.screen.text().contains("reviewed"));
        said
    }
}
