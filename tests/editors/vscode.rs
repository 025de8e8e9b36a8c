//! VS Code with Adjutant's extension in a headless browser: the window is the same as a user's.
//!
//! All tests share one VS Code server and one browser. Each scene has its own window with its own Adjutant.
//! Never plays two scenes at a time.

mod answers;
pub mod changes;
mod chat;
mod comments;
mod driver;
mod everyday;
mod files;
mod runs;
mod scenes;

use std::cell::RefCell;
use std::fs;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::stage::{READ, Stage, wait_for};
use driver::Driver;

/// A window that a test opened.
pub struct Code<'a> {
    stage: &'a Stage,
    driver: RefCell<MutexGuard<'static, Driver>>,
    name: String,
}

impl<'a> Code<'a> {
    /// Opens a file of the workspace and waits until the server is attached.
    pub fn open(stage: &'a Stage, file: &str) -> Code<'a> {
        let code = Code::open_at_once(stage, file);
        stage.seen().wait("in", "textDocument/didOpen", 1);
        wait_for("the status bar to show that", || code.status().contains("Adjutant").then_some(()));
        code
    }

    /// Opens a file of the workspace without a wait for the server.
    pub fn open_at_once(stage: &'a Stage, file: &str) -> Code<'a> {
        static OPENED: AtomicUsize = AtomicUsize::new(0);
        let name = format!("window-{}", OPENED.fetch_add(1, Ordering::Relaxed));
        let environment: String =
            stage.env().iter().map(|(name, value)| format!("export {name}='{value}'\n")).collect();
        fs::write(stage.beside(driver::ENVIRONMENT), environment).expect("write the environment");
        let mut driver = driver::take();
        driver.say("", "open", json!([name, stage.workspace.path(), file]));
        Code { stage, driver: RefCell::new(driver), name }
    }

    /// Runs one operation in the window and returns its result.
    pub fn do_(&self, what: &str, arguments: Value) -> Value {
        self.driver.borrow_mut().say(&self.name, what, arguments)
    }

    fn text(&self, what: &str) -> String {
        self.do_(what, json!([])).as_str().unwrap_or_default().to_owned()
    }

    /// Returns the status bar.
    pub fn status(&self) -> String {
        self.text("status")
    }

    /// Returns the number of places with an error mark.
    pub fn errors(&self) -> u64 {
        self.do_("errors", json!([])).as_u64().unwrap_or_default()
    }

    /// Returns whether the tab is marked as unsaved.
    pub fn unsaved(&self) -> bool {
        self.do_("unsaved", json!([])) == true
    }

    /// Returns the buttons of the first notification.
    pub fn buttons(&self) -> Vec<String> {
        let popups = self.do_("popups", json!([]));
        let buttons = popups[0]["buttons"].as_array().cloned().unwrap_or_default();
        buttons.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Returns the text of all visible editors.
    pub fn all_text(&self) -> String {
        self.text("allText")
    }

    /// Stores a picture of the window.
    pub fn picture(&self, name: &str) {
        self.do_("picture", json!([name]));
    }
}

impl Editor for Code<'_> {
    fn saves_edits(&self) -> bool {
        true
    }

    fn can_be_asked_to_save(&self) -> bool {
        true
    }

    fn stage(&self) -> &Stage {
        self.stage
    }

    fn command(&self, text: &str) {
        self.do_("command", json!([text]));
    }

    fn action(&self, title: &str) {
        self.do_("action", json!([title]));
    }

    fn progress(&self) -> String {
        self.status()
    }

    fn asked(&self) -> Option<String> {
        let popups = self.do_("popups", json!([]));
        let popup = popups.as_array()?.iter().find(|popup| popup["buttons"] != json!([]))?.clone();
        let buttons = popup["buttons"].as_array()?.iter().filter_map(Value::as_str).collect::<Vec<_>>();
        Some(format!("{}\n{}", popup["text"].as_str().unwrap_or_default(), buttons.join("\n")))
    }

    /// A popup has one line here, so the user must first open the whole question; only then it offers an approval.
    fn wait_asked(&self, part: &str) -> String {
        let shown =
            |button: &str| self.asked().filter(|asked| asked.contains(part) && asked.contains(button));
        let first = wait_for(&format!("the question {part:?}"), || shown(""));
        if !first.lines().any(|line| line == "Show") {
            return first;
        }
        self.choose("Show");
        let second = wait_for(&format!("the question {part:?} with an approval"), || shown("\nYes"));
        let since = Instant::now();
        wait_for("the time that counts as read", || (since.elapsed() >= READ).then_some(()));
        second
    }

    /// The progress disappears at the end of the run; the state stays.
    fn wait_end(&self, how: &str) {
        let ended = |status: &str| match how {
            "done" => status.split(" | ").any(|item| item == "Adjutant"),
            _ => status.contains(&format!("Adjutant: {how}")),
        };
        wait_for(&format!("the status bar to say {how:?}"), || ended(&self.status()).then_some(()));
    }

    fn choose(&self, title: &str) {
        self.do_("press", json!([title]));
    }

    fn buffer(&self) -> String {
        self.text("buffer")
    }

    fn go_to_line(&self, line: usize) {
        self.do_("goTo", json!([line]));
    }

    fn type_at_top(&self, text: &str) {
        self.do_("key", json!(["Control+Home"]));
        self.do_("type", json!([format!("{text}\n")]));
    }

    fn choose_and_type_at_top(&self, title: &str, text: &str) {
        self.do_("pressAndType", json!([title, format!("{text}\n")]));
    }

    fn save(&self) {
        self.do_("key", json!(["Control+s"]));
    }

    fn undo(&self) {
        self.do_("key", json!(["Control+z"]));
    }

    fn cancel(&self) {
        self.do_("palette", json!(["Adjutant: Cancel"]));
    }

    fn restart(&self) {
        // The extension starts another server by itself. VS Code closes no notification, so the old question is
        // still visible: its button has no effect and says so.
        wait_for("another server", || (self.stage.seen().servers().len() > 1).then_some(()));
        self.choose("Show");
        wait_for("the message that the question is gone", || {
            let popups = self.do_("popups", json!([]));
            let gone = |popup: &Value| popup["text"].as_str().is_some_and(|text| text.contains("is gone"));
            popups.as_array()?.iter().any(gone).then_some(())
        });
        let before = self.stage.seen().servers().len();
        wait_for("the extension to start another server", || {
            let seen = self.stage.seen();
            let newest = seen.newest_server()?;
            let attached = seen.of(newest).iter().any(|message| message.method == "textDocument/didOpen");
            (attached && (seen.servers().len() > before || before > 1)).then_some(())
        });
    }
}

impl Drop for Code<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let name = std::thread::current().name().unwrap_or("scene").replace("::", "-");
            let _ =
                self.driver.borrow_mut().try_say(&self.name, "picture", json!([format!("failed-{name}")]));
        }
        let _ = self.driver.borrow_mut().try_say("", "close", json!([self.name]));
    }
}
