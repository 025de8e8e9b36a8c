//! Emacs in batch mode, driven through a socket of the test.
//!
//! Never uses another client than eglot, or another set-up than the shipped file.

mod lisp;
mod scenes;

use std::process::{Child, Command, Stdio};

use crate::editor::Editor;
use crate::scenes::Reviewer;
pub use lisp::{Lisp, quoted};

use crate::stage::{DEADLINE, Stage, shipped, wait_for, wait_or};

/// An Emacs that a test started.
pub struct Emacs<'a> {
    pub stage: &'a Stage,
    child: Child,
    lisp: Lisp,
}

impl<'a> Emacs<'a> {
    /// Opens a file of the workspace and waits until the server manages it.
    pub fn open(stage: &'a Stage, file: &str) -> Emacs<'a> {
        let socket = stage.beside("emacs.sock");
        let said = std::fs::File::create(stage.beside("emacs.said")).expect("a file for the output of Emacs");
        let mut command = Command::new("emacs");
        command.args(["--batch", "-Q", "-l"]).arg(shipped("tests/editors/emacs.el")).arg(file);
        command.current_dir(stage.workspace.path()).env_clear().envs(stage.env());
        command.env("ADJUTANT_EL", shipped("editors/emacs/adjutant.el")).env("ADJUTANT_TEST_SOCKET", &socket);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        let child = command.spawn().expect("Emacs is installed: run tests/editors/install.sh");
        let editor = Emacs { stage, child, lisp: Lisp::at(socket) };
        editor.wait_true("eglot to manage the file", "(and (eglot-managed-p) t)");
        editor
    }

    /// Evaluates Lisp in the buffer of the file and returns its value as text.
    #[track_caller]
    pub fn lisp(&self, code: &str) -> String {
        self.try_lisp(code).unwrap_or_else(|why| {
            panic!("Emacs could not evaluate {code}: {why}\n{}", self.said());
        })
    }

    fn try_lisp(&self, code: &str) -> std::io::Result<String> {
        self.lisp.evaluate(code)
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.stage.beside("emacs.said")).unwrap_or_default()
    }

    /// Waits until a Lisp expression is `t`.
    #[track_caller]
    fn wait_true(&self, what: &str, code: &str) {
        let held = wait_or(|| (self.try_lisp(code).ok()? == "t").then_some(()));
        held.unwrap_or_else(|| {
            let messages = self.stage.seen().shown();
            panic!(
                "waited {DEADLINE:?} for {what}; Emacs said\n{}\nthe messages were\n{messages}",
                self.said()
            )
        });
    }
}

impl Editor for Emacs<'_> {
    fn stage(&self) -> &Stage {
        self.stage
    }

    fn command(&self, text: &str) {
        self.lisp(&format!("(test-later (lambda () (adjutant {})))", quoted(text)));
    }

    fn action(&self, title: &str) {
        self.lisp("(test-later #'test-actions)");
        self.choose(&format!("Adjutant: {title}"));
    }

    fn progress(&self) -> String {
        self.lisp("(string-join (reverse test-progress) \"\\n\")")
    }

    fn asked(&self) -> Option<String> {
        let asked = self.lisp("(string-join test-asked \"\\n\")");
        (!asked.is_empty()).then_some(asked)
    }

    fn choose(&self, title: &str) {
        let (title, before) = (quoted(title), self.lisp("test-answered"));
        self.wait_true(
            &format!("a choice {title}, among {:?}", self.asked()),
            &format!(
                "(and (seq-some (lambda (it) (string-prefix-p {title} it)) (cdr test-asked)) \
                 (setq test-answer {title}) t)"
            ),
        );
        self.wait_true("the choice to be accepted", &format!("(> test-answered {before})"));
    }

    fn buffer(&self) -> String {
        self.lisp("(buffer-substring-no-properties (point-min) (point-max))")
    }

    fn go_to_line(&self, line: usize) {
        self.lisp(&format!("(progn (goto-char (point-min)) (forward-line {}))", line - 1));
    }

    fn type_at_top(&self, text: &str) {
        self.lisp(&format!("(test-type {})", quoted(text)));
    }

    fn choose_and_type_at_top(&self, title: &str, text: &str) {
        self.lisp(&format!("(setq test-typed {})", quoted(text)));
        self.choose(title);
    }

    fn save(&self) {
        self.lisp("(save-buffer)");
    }

    fn undo(&self) {
        // Its own command, like the key.
        self.lisp("(progn (undo-boundary) (setq last-command nil) (undo) (undo-boundary))");
    }

    fn cancel(&self) {
        self.lisp("(test-later #'adjutant-cancel)");
    }

    fn restart(&self) {
        // The question of the old server is still on the screen, and its answer has no effect.
        self.lisp("(setq test-answer 'none)");
        // eglot restarts a server that has run for three seconds; otherwise the user does.
        let again = || self.stage.seen().servers().len() > 1;
        let unmanaged = || self.try_lisp("(not (eglot-managed-p))").is_ok_and(|value| value == "t");
        wait_for("eglot to notice that the server is gone", || (again() || unmanaged()).then_some(()));
        if !again() {
            self.lisp("(test-later (lambda () (call-interactively #'eglot)))");
        }
        self.stage.seen().wait("in", "initialized", 2);
        self.wait_true("eglot to manage the file again", "(and (eglot-managed-p) t)");
    }
}

impl Reviewer for Emacs<'_> {
    fn open(&self, file: &str) {
        let file = quoted(file);
        self.lisp(&format!("(progn (find-file {file}) (setq test-file (buffer-file-name)) t)"));
        self.wait_true("eglot to manage the other file", "(and (eglot-managed-p) t)");
    }

    fn insert_above(&self, line: usize, text: &str) {
        self.go_to_line(line);
        self.lisp(&format!("(progn (undo-boundary) (insert {} \"\\n\") (undo-boundary) t)", quoted(text)));
    }

    fn hover(&self) -> String {
        self.lisp("(setq test-hover nil)");
        self.lisp("(progn (eglot-hover-eldoc-function (lambda (text &rest _) (setq test-hover text))) t)");
        self.wait_true("a hover", "(and test-hover t)");
        self.lisp("(substring-no-properties test-hover)")
    }
}

impl Drop for Emacs<'_> {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.try_lisp("(progn (ignore-errors (eglot-shutdown (eglot-current-server))) (kill-emacs))");
        let ended = wait_or(|| matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)).then_some(()));
        if ended.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
