//! The driver process: it runs VS Code's server and the browser, and runs operations in a window.
//!
//! Never outlives the tests: it ends when its input ends.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::stage::{installed, shipped};

/// A file next to a workspace with the environment of its server, because the extension host has only one
/// environment for all windows.
pub const ENVIRONMENT: &str = "environment";

/// The driver of this test process.
pub struct Driver {
    running: Option<Running>,
}

struct Running {
    _child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    said: u64,
}

static DRIVER: Mutex<Driver> = Mutex::new(Driver { running: None });

/// Locks the driver, starts it if necessary, and returns it.
pub fn take() -> MutexGuard<'static, Driver> {
    // A failed scene has closed its window, so the next one can continue.
    let mut driver = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
    if driver.running.is_none() {
        driver.running = Some(start());
        driver.say("", "start", json!([]));
    }
    driver
}

/// Returns the folder for the pictures and logs of the last run.
pub fn output_folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("vscode")
}

fn start() -> Running {
    let scratch = output_folder();
    // The files of an earlier run belong to another VS Code.
    let _ = fs::remove_dir_all(&scratch);
    fs::create_dir_all(scratch.join("pictures")).expect("make the folder of pictures");
    let server = scratch.join("adjutant");
    fs::write(&server, format!("#!/bin/sh\n. \"$PWD/../{ENVIRONMENT}\"\nexec adjutant \"$@\"\n"))
        .expect("write the program");
    fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).expect("make it run");
    let places = json!({
        "codeServer": installed("vscode/code-server"),
        "driver": installed("vscode-driver"),
        "extension": installed("vscode-extension/adjutant.vsix"),
        "scratch": scratch,
        "pictures": scratch.join("pictures"),
        "serverPath": server,
    });
    let mut command = Command::new("node");
    command.arg(shipped("tests/editors/vscode/driver.mjs")).arg(places.to_string());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("start the driver; it needs node");
    let input = child.stdin.take().expect("its input");
    let output = BufReader::new(child.stdout.take().expect("its output"));
    Running { _child: child, input, output, said: 0 }
}

impl Driver {
    /// Runs one operation in a window; `to` is "" for an operation without a window.
    #[track_caller]
    pub fn say(&mut self, to: &str, op: &str, arguments: Value) -> Value {
        match self.try_say(to, op, arguments.clone()) {
            Ok(value) => value,
            Err(error) => panic!("VS Code could not {op} {arguments}: {error}"),
        }
    }

    /// As [`Driver::say`]; returns the reason of a failure.
    pub fn try_say(&mut self, to: &str, op: &str, arguments: Value) -> Result<Value, String> {
        let running = self.running.as_mut().ok_or("the driver is not running")?;
        running.said += 1;
        let line = json!({ "id": running.said, "to": to, "op": op, "args": arguments });
        writeln!(running.input, "{line}").map_err(|error| error.to_string())?;
        let mut answer = String::new();
        running.output.read_line(&mut answer).map_err(|error| error.to_string())?;
        let answer: Value = serde_json::from_str(&answer).map_err(|_| "the driver ended".to_owned())?;
        match answer.get("error").and_then(Value::as_str) {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer["result"].clone()),
        }
    }
}
