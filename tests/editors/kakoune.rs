//! Kakoune with kak-lsp in a terminal: keys in, the screen out. The test reads the buffer through Kakoune's
//! own session.
//!
//! Never uses another client than kak-lsp, or another set-up than the shipped file.

mod scenes;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use adjutant_testkit::process::is_running;

use crate::editor::Editor;
use crate::screen::Screen;
use crate::stage::{Stage, installed, shipped, wait_for};

/// The folder of its installation.
pub const VERSION: &str = "kakoune-2024.05";
/// The name of its session; each stage has its own folder for it.
const SESSION: &str = "test";
/// The sign in the status line while a question waits.
const BELL: char = '🔔';
/// The title above an open question.
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
        // No other server: the ones that kak-lsp starts for a language are not installed.
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

    /// Sends commands to the session; works with any open menu.
    fn execute(&self, commands: &str) {
        let mut command = Command::new(programs().0.join("kak"));
        command.args(["-p", SESSION]).env_clear().envs(self.stage.env());
        let mut child = command.stdin(Stdio::piped()).spawn().expect("Kakoune is installed");
        child
            .stdin
            .take()
            .expect("its input")
            .write_all(commands.as_bytes())
            .expect("Kakoune reads its input");
        assert!(child.wait().is_ok_and(|status| status.success()), "the session rejected {commands}");
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
        // A message, for example of a request to a server that was killed, covers the mode until the next key.
        wait_for("normal mode", || {
            self.screen.keys(&["Escape"]);
            self.screen.text().contains(" 1 sel").then_some(())
        });
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

    /// Opens the waiting question, as a user who sees the bell does.
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
        // Renamed when it is complete, so that the test never reads half of it.
        let part = part.display();
        self.execute(&format!(
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
        // kak-lsp restarts the server at the next request, for example after a move of the cursor.
        if self.screen.text().contains(QUESTION) {
            self.escape();
        }
        self.screen.keys(&["j"]);
        self.stage.seen().wait("in", "initialized", 2);
    }

    /// kak-lsp saves a buffer after an edit of a server.
    fn saves_edits(&self) -> bool {
        true
    }

    /// The status line shows the progress until the end.
    fn wait_end(&self, _: &str) {
        wait_for("the end of the progress", || {
            let status = self.status();
            // A message stays there until the next key.
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
            self.execute("kill!");
            wait_for("the server to end with Kakoune", || (!server.is_some_and(is_running)).then_some(()));
        }
    }
}
