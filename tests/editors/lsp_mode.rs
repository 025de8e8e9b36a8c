//! Emacs with lsp-mode in a terminal: keys in, its own minibuffer, and a socket to read its buffer.
//!
//! Never uses another client than lsp-mode, or another set-up than the shipped file.

mod scenes;

use std::time::{Duration, Instant};

use crate::editor::Editor;
use crate::emacs::{Lisp, quoted};
use crate::screen::Screen;
use crate::stage::{DEADLINE, Stage, installed, shipped, wait_for, wait_or};

/// The time after which a user who sees no effect presses a key again.
const PRESS_AGAIN: Duration = Duration::from_secs(1);

/// An Emacs with lsp-mode that a test started.
pub struct LspMode<'a> {
    pub stage: &'a Stage,
    pub screen: Screen,
    lisp: Lisp,
}

impl<'a> LspMode<'a> {
    /// Opens a file of the workspace and waits until the server knows it.
    pub fn open(stage: &'a Stage, file: &str) -> LspMode<'a> {
        let socket = stage.beside("emacs.sock");
        let line = format!(
            "env LSP_MODE='{}' ADJUTANT_EL='{}' ADJUTANT_TEST_SOCKET='{}' TEST_FILE='{}' emacs -nw -Q -l '{}'",
            installed("lsp-mode").display(),
            shipped("editors/lsp-mode/adjutant-lsp-mode.el").display(),
            socket.display(),
            stage.workspace.path().join(file).display(),
            shipped("tests/editors/lsp_mode.el").display(),
        );
        let screen = Screen::start(stage, &line);
        let editor = LspMode { stage, screen, lisp: Lisp::at(socket) };
        stage.seen().wait("in", "textDocument/didOpen", 1);
        editor.wait_true("lsp-mode to manage the file", "(test-attached)");
        editor
    }

    /// Evaluates Lisp in the buffer of the file and returns its value as text.
    #[track_caller]
    pub fn lisp(&self, code: &str) -> String {
        self.lisp.evaluate(code).unwrap_or_else(|why| {
            panic!("Emacs could not evaluate {code}: {why}\n{}", self.screen.text());
        })
    }

    /// Waits until a Lisp expression is `t`.
    #[track_caller]
    pub fn wait_true(&self, what: &str, code: &str) {
        let held = wait_or(|| (self.lisp.evaluate(code).ok()? == "t").then_some(()));
        held.unwrap_or_else(|| {
            let messages = self.stage.seen().shown();
            panic!("waited {DEADLINE:?} for {what} on\n{}\nthe messages were\n{messages}", self.screen.text())
        });
    }

    /// Runs a command by its name, as a user without a key for it does.
    pub fn run(&self, command: &str) {
        self.screen.keys(&["M-x"]);
        self.wait_true("M-x", "(and (string-prefix-p \"M-x\" (or (test-asked) \"\")) t)");
        self.screen.text_in(command);
        self.screen.keys(&["Enter"]);
    }

    /// Closes an open prompt with C-g. Presses C-g again if a busy Emacs dropped its current work instead.
    pub fn put_away(&self) {
        let mut pressed: Option<Instant> = None;
        let gone = wait_or(|| {
            if self.lisp.evaluate("(not (test-asked))").is_ok_and(|none| none == "t") {
                return Some(());
            }
            if pressed.is_none_or(|at| at.elapsed() >= PRESS_AGAIN) {
                self.screen.keys(&["C-g"]);
                pressed = Some(Instant::now());
            }
            None
        });
        gone.unwrap_or_else(|| panic!("C-g leaves the prompt open on\n{}", self.screen.text()));
    }

    /// Waits for a prompt that matches the expression, and types an answer.
    #[track_caller]
    fn answer(&self, prompt: &str, text: &str) {
        let shown = format!("(string-match-p {} (or (test-asked) \"\"))", quoted(prompt));
        self.wait_true("the prompt", &format!("(and {shown} t)"));
        let asked = self.asked();
        self.screen.text_in(text);
        self.screen.keys(&["Enter"]);
        // The next question may be open already.
        wait_for("the answer to be accepted", || (self.asked() != asked).then_some(()));
    }
}

impl Editor for LspMode<'_> {
    fn stage(&self) -> &Stage {
        self.stage
    }

    fn command(&self, text: &str) {
        self.run("adjutant");
        self.answer("\\`Adjutant: \\'", text);
    }

    fn action(&self, title: &str) {
        self.run("lsp-execute-code-action");
        self.answer("\\`Select code action", &format!("Adjutant: {title}"));
    }

    fn progress(&self) -> String {
        self.lisp("(string-join (reverse test-progress) \"\\n\")")
    }

    fn asked(&self) -> Option<String> {
        let asked = self.lisp("(or (test-asked) \"\")");
        (!asked.is_empty()).then_some(asked)
    }

    fn choose(&self, title: &str) {
        self.answer("\\`Adjutant: .", title);
    }

    fn buffer(&self) -> String {
        self.lisp("(buffer-substring-no-properties (point-min) (point-max))")
    }

    fn go_to_line(&self, line: usize) {
        self.lisp(&format!("(progn (goto-char (point-min)) (forward-line {}))", line - 1));
    }

    fn type_at_top(&self, text: &str) {
        let text = quoted(text);
        self.lisp(&format!("(save-excursion (goto-char (point-min)) (insert {text} \"\\n\"))"));
    }

    fn choose_and_type_at_top(&self, title: &str, text: &str) {
        // Both happen before Emacs reads any input: the exit hook of the minibuffer inserts the text.
        let (title, text) = (quoted(title), quoted(text));
        self.lisp(&format!(
            "(with-current-buffer (window-buffer (active-minibuffer-window)) \
               (insert {title}) \
               (add-hook 'minibuffer-exit-hook \
                 (lambda () (with-current-buffer (test-buffer) \
                   (save-excursion (goto-char (point-min)) (insert {text} \"\\n\")))) nil t) \
               (setq unread-command-events (list ?\\r)) nil)"
        ));
    }

    fn save(&self) {
        self.lisp("(let ((inhibit-message t)) (save-buffer))");
    }

    fn undo(&self) {
        // Its own command, like the key.
        self.lisp("(progn (undo-boundary) (setq last-command nil) (undo) (undo-boundary))");
    }

    fn cancel(&self) {
        self.run("adjutant-cancel");
    }

    fn before_kill(&self) {
        // lsp-mode restarts a dead server at once and asks in the one minibuffer. A question of the old server that
        // is still open there takes the key presses for the new one, or keeps it from opening.
        self.put_away();
        self.stage.seen().answers("out", "window/showMessageRequest");
    }

    fn restart(&self) {
        self.stage.seen().wait("in", "initialized", 2);
        self.stage.seen().wait("in", "textDocument/didOpen", 2);
    }
}
