//! A terminal that a test can read: tmux of a fixed size, on its own socket.
//!
//! Never touches another tmux. The tmux of a test ends with the test, and so do its programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use adjutant_testkit::process::{Process, descendants};

use crate::stage::{DEADLINE, Stage, wait_or};

const COLUMNS: &str = "110";
pub const ROWS: &str = "30";

/// A terminal with one program.
pub struct Screen {
    socket: PathBuf,
}

/// How often a screen that shows what is waited for is looked at until it rests.
const MOST_LOOKS: u32 = 20;

impl Screen {
    /// Starts a program in the workspace; `line` is a shell command.
    pub fn start(stage: &Stage, line: &str) -> Screen {
        Screen::sized(stage, line, (COLUMNS, ROWS))
    }

    /// The same in a terminal with these columns and rows.
    pub fn sized(stage: &Stage, line: &str, (columns, rows): (&str, &str)) -> Screen {
        // The tmux of an earlier screen can still be about to end, and would refuse a new program.
        let mut names =
            (1..).map(|number| ["start.sh", "tmux"].map(|name| stage.beside(&format!("{number}.{name}"))));
        let free = names.find(|[script, _]| !script.exists());
        let [script, socket] = free.expect("there is always a next number");
        let screen = Screen { socket };
        let mut text = String::from("#!/bin/sh\n");
        for (name, value) in stage.env() {
            text.push_str(&format!("export {name}='{value}'\n"));
        }
        text.push_str(&format!("cd '{}' && exec {line}\n", stage.workspace.path().display()));
        fs::write(&script, text).expect("write the start script");
        let started = screen.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            columns,
            "-y",
            rows,
            &format!("sh '{}'", script.display()),
        ]);
        assert!(started.status.success(), "tmux: {}", String::from_utf8_lossy(&started.stderr));
        // Otherwise tmux waits half a second after Escape for a second key.
        screen.tmux(&["set-option", "-s", "escape-time", "0"]);
        screen
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket).args(arguments).env_remove("TMUX").env("LANG", "C.UTF-8");
        command.output().expect("tmux is installed: run tests/editors/install.sh")
    }

    /// Presses keys, each by its tmux name.
    pub fn keys(&self, keys: &[&str]) {
        // One call for each key: Escape and another key in one call would be one key with Alt.
        for key in keys {
            let sent = self.tmux(&["send-keys", key]);
            assert!(sent.status.success(), "no key reached the editor; the screen was\n{}", self.text());
        }
    }

    /// Types a text letter by letter.
    pub fn text_in(&self, text: &str) {
        let sent = self.tmux(&["send-keys", "-l", text]);
        assert!(sent.status.success(), "no text reached the editor; the screen was\n{}", self.text());
    }

    /// Pastes a text as a terminal does: the editor knows that it is one piece.
    pub fn paste(&self, text: &str) {
        self.tmux(&["set-buffer", text]);
        let sent = self.tmux(&["paste-buffer", "-p", "-r"]);
        assert!(sent.status.success(), "nothing was pasted; the screen was\n{}", self.text());
    }

    /// Returns the text of the screen.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p"]).stdout).into_owned()
    }

    /// Returns the text of the screen with its colours.
    pub fn coloured(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p", "-e"]).stdout).into_owned()
    }

    /// Waits until a text is on the screen; returns the whole screen.
    #[track_caller]
    pub fn wait(&self, text: &str) -> String {
        self.wait_until(&format!("{text:?}"), |screen| screen.contains(text))
    }

    /// Waits until the screen fulfils a condition; returns the whole screen.
    #[track_caller]
    pub fn wait_until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let mut before = String::new();
        let mut looks = 0;
        let found = wait_or(|| {
            let now = Some(self.text()).filter(|screen| wanted(screen))?;
            looks += 1;
            // A program draws its screen in parts, so a first look may see half of it. What never rests, such as a
            // clock, is taken as it is.
            let rests = std::mem::replace(&mut before, now.clone()) == now;
            (rests || looks > MOST_LOOKS).then_some(now)
        });
        found.unwrap_or_else(|| panic!("waited {DEADLINE:?} for {what} on the screen\n{}", self.text()))
    }

    /// Stores the screen in a file of the repository if `UPDATE_DOCS` is set.
    pub fn keep(&self, path: &Path) {
        if std::env::var_os("UPDATE_DOCS").is_some() {
            let text: String = self.text().lines().map(|line| format!("{}\n", line.trim_end())).collect();
            fs::write(path, text.trim_end().to_owned() + "\n").expect("store the screen");
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let panes = self.tmux(&["list-panes", "-a", "-F", "#{pane_pid}"]).stdout;
        let panes =
            String::from_utf8_lossy(&panes).lines().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>();
        let started: Vec<Process> = panes.into_iter().flat_map(descendants).collect();
        self.tmux(&["kill-server"]);
        // Neovim's own server can hang in its exit if its terminal closes at that moment.
        let left = || started.iter().filter(|process| process.still_runs());
        if wait_or(|| left().next().is_none().then_some(())).is_none() {
            left().for_each(Process::kill);
        }
    }
}
