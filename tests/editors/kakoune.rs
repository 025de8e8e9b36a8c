//! Kakoune with kak-lsp in a terminal: keys in, the screen out; its buffer is
//! looked at through its own session.
//!
//! Uses the set-up file as it is shipped; never another client than kak-lsp.

mod scenes;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use adjutant_testkit::process::is_running;

use crate::editor::Editor;
use crate::screen::Screen;
use crate::stage::{Stage, installed, shipped, wait_for};

/// The folder it is installed in.
pub const VERSION: &str = "kakoune-2024.05";
/// The name of its session; each stage has a folder of its own for it.
const SESSION: &str = "test";
/// Stands in the status line while a question waits.
const BELL: char = '🔔';
/// Stands above a question that is shown.
const QUESTION: &str = "From language server";

/// A Kakoune that a test started.
pub struct Kakoune<'a> {
    pub stage: &'a Stage,
    pub screen: Screen,
    file: String,
}

fn programs() -> (PathBuf, PathBuf) {
    (installed(&format!("{VERSION}/usr/bin")), installed("kak-lsp/bin"))
}

impl<'a> Kakoune<'a> {
    /// Opens a file of the workspace and waits until the server knows it.
    pub fn open(stage: &'a Stage, file: &str) -> Kakoune<'a> {
        let settings = stage.settings_dir().join("kak");
        fs::create_dir_all(&settings).expect("make the settings of Kakoune");
        // No other server: what kak-lsp starts by itself for a language is not installed.
        let kakrc = format!(
            "eval %sh{{kak-lsp}}\nremove-hooks global lsp-filetype-.*\nlsp-enable\nsource '{}'\n",
            shipped("editors/kakoune/adjutant.kak").display()
        );
        fs::write(settings.join("kakrc"), kakrc).expect("write its settings");
        fs::create_dir_all(stage.beside("cache")).expect("make the folder of its session");
        let (kak, lsp) = programs();
        let line =
            format!("env PATH=\"{}:{}:$PATH\" kak -s {SESSION} '{file}'", lsp.display(), kak.display());
        let screen = Screen::start(stage, &line);
        screen.wait("client0");
        stage.seen().wait("in", "textDocument/didOpen", 1);
        Kakoune { stage, screen, file: file.to_owned() }
    }

    /// Lets the session do something, whatever is open on the screen.
    fn tell(&self, commands: &str) {
        let mut command = Command::new(programs().0.join("kak"));
        command.args(["-p", SESSION]).env_clear().envs(self.stage.env());
        let mut child = command.stdin(Stdio::piped()).spawn().expect("Kakoune is installed");
        child.stdin.take().expect("its input").write_all(commands.as_bytes()).expect("it listens");
        assert!(child.wait().is_ok_and(|status| status.success()), "no session takes {commands}");
    }

    fn status(&self) -> String {
        self.screen.text().trim_end_matches('\n').lines().last().unwrap_or_default().to_owned()
    }

    /// Types a command line.
    pub fn line(&self, line: &str) {
        self.screen.text_in(&format!(":{line}"));
        self.screen.wait(&format!(":{line}"));
        self.screen.keys(&["Enter"]);
    }

    /// Opens the menu of code actions.
    pub fn menu(&self, title: &str) {
        self.line("lsp-code-actions");
        self.screen.wait(&format!("Adjutant: {title}"));
    }

    /// Leaves the menu that is open.
    pub fn escape(&self) {
        self.screen.keys(&["Escape"]);
        self.screen.wait_until("normal mode", |screen| screen.contains(" 1 sel"));
    }
}

impl Editor for Kakoune<'_> {
    fn stage(&self) -> &Stage {
        self.stage
    }

    fn command(&self, text: &str) {
        self.line(&format!("adjutant {text}"));
    }

    fn action(&self, title: &str) {
        self.menu(title);
        self.screen.text_in(&format!("Adjutant: {title}"));
        self.screen.keys(&["Enter"]);
    }

    fn progress(&self) -> String {
        self.status()
    }

    /// Opens the question that waits, as the user does who sees the bell.
    fn asked(&self) -> Option<String> {
        if !self.screen.text().contains(QUESTION) {
            // A message hides the bell until the next key.
            if self.status().starts_with("LSP: ") {
                self.screen.keys(&["Escape"]);
                return None;
            }
            if !self.status().contains(BELL) {
                return None;
            }
            self.line("adjutant-answer");
            self.screen.wait(QUESTION);
        }
        Some(self.screen.wait("Reject"))
    }

    fn choose(&self, title: &str) {
        self.screen.text_in(title);
        self.screen.keys(&["Enter"]);
        self.screen.wait_until("the question to be gone", |screen| !screen.contains(QUESTION));
    }

    fn buffer(&self) -> String {
        let copy = self.stage.beside("buffer");
        let _ = fs::remove_file(&copy);
        let (file, to, part) = (&self.file, copy.display(), self.stage.beside("buffer.part"));
        // Renamed when it is whole, so that no half of it is read.
        let part = part.display();
        self.tell(&format!(
            "evaluate-commands -buffer '{file}' %{{ write -force -method replace '{part}'; nop %sh{{ mv '{part}' '{to}' }} }}"
        ));
        wait_for("the copy of the buffer", || fs::read_to_string(&copy).ok())
    }

    fn go_to_line(&self, line: usize) {
        self.screen.text_in(&format!("{line}g"));
        self.screen.wait(&format!("{} {line}:1 ", self.file));
    }

    fn type_at_top(&self, text: &str) {
        self.screen.text_in(&format!("ggO{text}"));
        self.escape();
    }

    fn choose_and_type_at_top(&self, title: &str, text: &str) {
        self.screen.text_in(title);
        self.screen.keys(&["Enter"]);
        self.type_at_top(text);
    }

    fn save(&self) {
        self.line("write");
    }

    fn undo(&self) {
        self.screen.keys(&["u"]);
    }

    fn cancel(&self) {
        self.line("adjutant-cancel");
    }

    fn restart(&self) {
        // kak-lsp starts it again with the next request, such as the one that follows a move.
        if self.screen.text().contains(QUESTION) {
            self.escape();
        }
        self.screen.keys(&["j"]);
        self.stage.seen().wait("in", "initialized", 2);
    }

    /// kak-lsp writes a buffer that an edit of a server has changed.
    fn saves_edits(&self) -> bool {
        true
    }

    /// What is at work stands in the status line as long as it is.
    fn wait_end(&self, _: &str) {
        wait_for("the end of the progress", || {
            let status = self.status();
            // A message stands there until the next key.
            if status.starts_with("LSP: ") {
                self.screen.keys(&["Escape"]);
            }
            (!status.contains("Adjutant: ")).then_some(())
        });
    }
}

impl Drop for Kakoune<'_> {
    fn drop(&mut self) {
        let server = self.stage.seen().newest_server();
        if !std::thread::panicking() {
            self.tell("kill!");
            wait_for("the server to end with Kakoune", || (!server.is_some_and(is_running)).then_some(()));
        }
    }
}
