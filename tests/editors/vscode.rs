//! VS Code with Adjutant's extension in a headless browser: the window is the same as a user's.
//!
//! All tests share one VS Code server and one browser. Each scene has its own window with its own Adjutant.
//! Never plays two scenes at a time.

mod answers;
mod attached;
pub mod changes;
mod chat;
mod comments;
mod completing;
mod driver;
mod everyday;
mod files;
mod follow;
mod host;
mod long;
mod newer;
mod questions;
mod reading;
mod remote;
mod runs;
mod scenes;
mod sessions;
mod setup;

use std::cell::RefCell;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{MutexGuard, OnceLock};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::editor::Editor;
use crate::stage::{Stage, installed, shipped, wait_for};
use driver::Driver;

/// Returns labels as [`Code::answers`] does.
fn answers(labels: &[&str]) -> Vec<String> {
    labels.iter().map(|&label| label.to_owned()).collect()
}

/// Returns a source of the extension as node runs it. The sources are TypeScript: each becomes a file of its own, with the same name
/// and no types.
fn runnable(source: &str) -> PathBuf {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let mut esbuild = Command::new(installed("vscode-extension/node_modules/.bin/esbuild"));
        esbuild.args(["src/*.ts", "src/chat/*.ts", "--outbase=src", "--format=cjs", "--platform=node"]);
        esbuild.arg("--log-level=warning").arg(format!("--outdir={}", folder.path().display()));
        let made = esbuild.current_dir(shipped("editors/vscode")).output().expect("run esbuild");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        folder
    });
    let name = source.strip_prefix("editors/vscode/src/").expect("a source of the extension");
    folder.path().join(name).with_extension("js")
}

/// Runs a check of one file of the extension under node alone. Fails with what it prints.
#[track_caller]
fn node_finds_nothing(check: &str, of: &str) {
    let mut node = Command::new("node");
    node.arg(shipped("tests/editors/vscode").join(check)).arg(runnable(of));
    let said = node.output().expect("node is installed: run tests/editors/install.sh");
    let wrong = String::from_utf8_lossy(&said.stdout).into_owned() + &String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success() && wrong.is_empty(), "{wrong}");
}

/// A window that a test opened.
pub struct Code<'a> {
    stage: &'a Stage,
    driver: RefCell<MutexGuard<'static, Driver>>,
    name: String,
}

impl<'a> Code<'a> {
    /// Opens a file of the workspace and waits until the server is attached.
    pub fn open(stage: &'a Stage, file: &str) -> Code<'a> {
        Code::open_at_once(stage, file).attached()
    }

    /// Opens a file of the workspace without a wait for the server.
    pub fn open_at_once(stage: &'a Stage, file: &str) -> Code<'a> {
        let environment: String =
            stage.env().iter().map(|(name, value)| format!("export {name}='{value}'\n")).collect();
        fs::write(stage.beside(driver::ENVIRONMENT), environment).expect("write the environment");
        Code::open_by(stage, file, None)
    }

    /// Opens a file of the workspace in the VS Code that the browser finds at an address.
    pub fn open_at(stage: &'a Stage, file: &str, address: SocketAddr) -> Code<'a> {
        Code::open_by(stage, file, Some(address)).attached()
    }

    /// `way` is how the window reaches VS Code; `None` is the one that all scenes share.
    fn open_by(stage: &'a Stage, file: &str, way: Option<SocketAddr>) -> Code<'a> {
        static OPENED: AtomicUsize = AtomicUsize::new(0);
        let name = format!("window-{}", OPENED.fetch_add(1, Ordering::Relaxed));
        let mut driver = driver::take();
        driver.say("", "open", json!([name, stage.workspace.path(), file, way]));
        Code { stage, driver: RefCell::new(driver), name }
    }

    fn attached(self) -> Code<'a> {
        self.stage.seen().wait("in", "textDocument/didOpen", 1);
        wait_for("the status bar to show that", || self.status().contains("Adjutant").then_some(()));
        self
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

    /// Returns the first question in the chat, if the chat is in sight and shows one.
    pub fn card(&self) -> Option<Value> {
        Some(self.do_("card", json!([]))).filter(|card| !card.is_null())
    }

    /// Returns the answers that the first question in the chat has.
    pub fn answers(&self) -> Vec<String> {
        let card = self.card().unwrap_or_default();
        let buttons = card["buttons"].as_array().cloned().unwrap_or_default();
        buttons.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Goes from the notification to the question in the chat, unless it is there already.
    pub fn review(&self) {
        if self.card().is_none() {
            self.do_("press", json!(["Review"]));
            wait_for("the question in the chat", || self.card());
        }
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

    /// What the item of the status bar says to a screen reader, too: the line of each task.
    fn progress(&self) -> String {
        format!("{}\n{}", self.status(), self.text("statusLabel"))
    }

    /// The card in the chat, else the notification.
    fn asked(&self) -> Option<String> {
        if let Some(card) = self.card() {
            return Some(card["text"].as_str().unwrap_or_default().to_owned());
        }
        let popups = self.do_("popups", json!([]));
        let popup = popups.as_array()?.iter().find(|popup| popup["buttons"] != json!([]))?.clone();
        let buttons = popup["buttons"].as_array()?.iter().filter_map(Value::as_str).collect::<Vec<_>>();
        Some(format!("{}\n{}", popup["text"].as_str().unwrap_or_default(), buttons.join("\n")))
    }

    /// A notification approves nothing, so the user goes on to the chat and reads the question there.
    fn wait_asked(&self, part: &str) -> String {
        let shown = || self.asked().filter(|asked| asked.contains(part));
        wait_for(&format!("the question {part:?}"), shown);
        self.review();
        let card = wait_for(&format!("the question {part:?} in the chat"), || {
            self.card().filter(|card| card["text"].as_str().is_some_and(|text| text.contains(part)))
        });
        self.do_("cardRead", json!([]));
        wait_for("its answers to be alive", || (self.card()?["dead"] == json!([])).then_some(()));
        card["text"].as_str().unwrap_or_default().to_owned()
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
        let has = |card: &Value| {
            let labels = card["buttons"].as_array().cloned().unwrap_or_default();
            labels.iter().filter_map(Value::as_str).any(|label| label.starts_with(title))
        };
        let way = if self.card().as_ref().is_some_and(has) { "cardPress" } else { "press" };
        self.do_(way, json!([title]));
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
        // The extension starts another server by itself.
        wait_for("another server", || {
            let seen = self.stage.seen();
            let newest = seen.newest_server()?;
            let attached = seen.of(newest).iter().any(|message| message.method == "textDocument/didOpen");
            (attached && seen.servers().len() > 1).then_some(())
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
