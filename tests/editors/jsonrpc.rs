//! A client on vscode-languageserver-protocol, the library under VS Code's own client. It is like the client
//! of a developer who writes their own.
//!
//! Never speaks to the server except through the library; its buffers are twenty lines of its own.

mod agent;
mod scenes;

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::stage::{Stage, installed, shipped, wait_or};

/// A client that a test started.
pub struct Client<'a> {
    stage: &'a Stage,
    child: Child,
    /// None after the end has begun.
    pipes: RefCell<Option<(ChildStdin, BufReader<ChildStdout>)>>,
}

/// Returns the command for a script of this folder, with its packages and environment.
fn script(stage: &Stage, name: &str) -> Command {
    let mut command = Command::new("node");
    command.arg(shipped("tests/editors/jsonrpc").join(name)).arg(installed("jsonrpc"));
    command.current_dir(stage.workspace.path()).env_clear().envs(stage.env());
    command
}

impl<'a> Client<'a> {
    /// Opens a file of the workspace with a new server.
    pub fn open(stage: &'a Stage, file: &str) -> Client<'a> {
        let mut command = script(stage, "client.mjs");
        command.arg(file).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("node is installed");
        let input = child.stdin.take().expect("its input");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let client = Client { stage, child, pipes: RefCell::new(Some((input, output))) };
        client.say("attach", json!([]));
        client
    }

    #[track_caller]
    fn say(&self, op: &str, arguments: Value) -> Value {
        self.try_say(op, &arguments).unwrap_or_else(|why| {
            panic!("the client could not {op} {arguments}: {why}\nafter\n{}", self.stage.seen().shown())
        })
    }

    fn try_say(&self, op: &str, arguments: &Value) -> Result<Value, String> {
        let mut pipes = self.pipes.borrow_mut();
        let (input, output) = pipes.as_mut().ok_or("the client has ended")?;
        writeln!(input, "{}", json!({ "op": op, "args": arguments })).map_err(|error| error.to_string())?;
        let mut answer = String::new();
        output.read_line(&mut answer).map_err(|error| error.to_string())?;
        let answer: Value = serde_json::from_str(&answer).map_err(|_| "it ended".to_owned())?;
        match answer["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer["value"].clone()),
        }
    }

    #[track_caller]
    fn text(&self, op: &str) -> String {
        self.say(op, json!([])).as_str().unwrap_or_default().to_owned()
    }
}

impl Editor for Client<'_> {
    fn stage(&self) -> &Stage {
        self.stage
    }

    fn command(&self, text: &str) {
        self.say("command", json!([text]));
    }

    fn action(&self, title: &str) {
        self.say("action", json!([title]));
    }

    fn progress(&self) -> String {
        self.text("progress")
    }

    fn asked(&self) -> Option<String> {
        self.say("asked", json!([])).as_str().map(str::to_owned)
    }

    fn choose(&self, title: &str) {
        self.say("choose", json!([title]));
    }

    fn buffer(&self) -> String {
        self.text("buffer")
    }

    fn go_to_line(&self, line: usize) {
        self.say("line", json!([line]));
    }

    fn type_at_top(&self, text: &str) {
        self.say("typed", json!([text]));
    }

    fn choose_and_type_at_top(&self, title: &str, text: &str) {
        self.say("chooseAndType", json!([title, text]));
    }

    fn save(&self) {
        self.say("save", json!([]));
    }

    fn undo(&self) {
        self.say("undo", json!([]));
    }

    fn cancel(&self) {
        self.say("cancel", json!([]));
    }

    fn restart(&self) {
        self.say("forget", json!([]));
        self.say("again", json!([]));
    }
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        // A failure here was reported before.
        let _ = self.try_say("end", &json!([]));
        drop(self.pipes.take());
        let ended = wait_or(|| matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)).then_some(()));
        if ended.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
