//! The real server in this process, connected to the editor double by a pipe.
//!
//! Uses only the protocol: tests ask the editor, the model double or the files in the state directory.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use adjutant::lsp;
use adjutant::model::Models;
use adjutant::session::storage::Storage;
use adjutant::session::storage::faulty::FaultyDisk;
use adjutant::settings::Sources;
use adjutant::transport::{self, ConnectionEnd};
use adjutant_protocol::SessionId;
use adjutant_protocol::update::SessionUpdateParams;
use adjutant_testkit::editor::{Editor, Options, RpcError};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::Request;
use serde_json::Value;

/// The most time in which a server may end.
const DEADLINE: Duration = Duration::from_secs(10);

/// An editor and its server. A `Rig` derefs to the editor.
///
/// A drop reports the faults of the server and waits until it has ended. So the next server finds every
/// session unlocked.
pub struct Rig {
    pub editor: Editor,
    server: Server,
}

impl Deref for Rig {
    type Target = Editor;

    fn deref(&self) -> &Editor {
        &self.editor
    }
}

impl Rig {
    /// Returns a rich editor in a workspace, after `initialize`.
    pub fn start(workspace: &Workspace) -> Rig {
        Rig::start_with(workspace, Options::new(workspace))
    }

    /// Returns an editor with these options, after `initialize`.
    pub fn start_with(workspace: &Workspace, options: Options) -> Rig {
        let rig = Rig::connect(workspace, options);
        if let Err(error) = rig.initialize() {
            panic!("initialize: {error}");
        }
        rig
    }

    /// Returns an editor that has sent no message yet.
    pub fn connect(workspace: &Workspace, options: Options) -> Rig {
        // The double answers a popup at once.
        Rig::connect_human(workspace, options, Duration::ZERO)
    }

    /// Like `connect`. The server ignores an approval that comes within `reaction` of its popup.
    pub fn connect_human(workspace: &Workspace, options: Options, reaction: Duration) -> Rig {
        Rig::with(workspace, options, |server| server.reaction = reaction)
    }

    /// Returns a rich editor whose server keeps its sessions on another disk, after `initialize`.
    pub fn start_on(workspace: &Workspace, storage: Arc<dyn Storage>) -> Rig {
        Rig::set_up(workspace, |server| server.storage = storage)
    }

    /// Like `start_on`, with one thread for all sessions.
    pub fn start_narrow_on(workspace: &Workspace, storage: Arc<dyn Storage>) -> Rig {
        let rig = Rig::with_workers(1, workspace, Options::new(workspace), |server| server.storage = storage);
        if let Err(error) = rig.initialize() {
            panic!("initialize: {error}");
        }
        rig
    }

    /// Returns a rich editor whose server gets options from `set`, after `initialize`.
    pub fn set_up(workspace: &Workspace, set: impl FnOnce(&mut lsp::Options)) -> Rig {
        let rig = Rig::with(workspace, Options::new(workspace), |server| {
            server.reaction = Duration::ZERO;
            set(server);
        });
        if let Err(error) = rig.initialize() {
            panic!("initialize: {error}");
        }
        rig
    }

    fn with(workspace: &Workspace, options: Options, set: impl FnOnce(&mut lsp::Options)) -> Rig {
        Rig::with_workers(2, workspace, options, set)
    }

    fn with_workers(
        workers: usize,
        workspace: &Workspace,
        options: Options,
        set: impl FnOnce(&mut lsp::Options),
    ) -> Rig {
        let (near, far) = transport::pipe().expect("a pipe");
        let mut server = lsp::Options::new(sources(workspace), models(workspace));
        set(&mut server);
        let server = Server::start(server, far, workers);
        Rig { editor: Editor::connect(near.reader, near.writer, options), server }
    }

    /// Ends the server as a closing editor does, and waits for its end.
    pub fn end(self) -> ConnectionEnd {
        self.editor.shutdown();
        self.lost()
    }

    /// Closes the pipe as a dying editor does, and waits for the end of the server.
    pub fn die(self) -> ConnectionEnd {
        self.editor.hang_up();
        self.lost()
    }

    fn lost(self) -> ConnectionEnd {
        let Rig { editor, server } = self;
        drop(editor);
        server.ended.recv_timeout(DEADLINE).expect("the server ends")
    }
}

/// A server on its own runtime.
struct Server {
    ended: Receiver<ConnectionEnd>,
    /// Disconnected when every task of the server has ended.
    gone: Receiver<()>,
}

impl Server {
    fn start(options: lsp::Options, far: transport::End, workers: usize) -> Server {
        let (report, ended) = channel();
        let (running, gone) = channel();
        thread::spawn(move || {
            let _running = running;
            let mut runtime = tokio::runtime::Builder::new_multi_thread();
            let runtime = runtime.worker_threads(workers).enable_all().build();
            let runtime = runtime.expect("a runtime starts");
            let ended = runtime.block_on(lsp::serve(options, far.reader, far.writer));
            runtime.shutdown_timeout(DEADLINE);
            let _ = report.send(ended);
        });
        Server { ended, gone }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let left = self.gone.recv_timeout(DEADLINE);
        // Nothing is ever sent, so this waits for the end of the channel.
        let hangs = left == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
        assert!(!hangs || thread::panicking(), "the server did not end in {DEADLINE:?}");
    }
}

/// Returns the sources of a server in this workspace, without the environment of the test process.
fn sources(workspace: &Workspace) -> Sources {
    let environment: BTreeMap<String, String> = workspace.env().into_iter().collect();
    let home = environment.get("HOME").map(PathBuf::from);
    Sources { environment, home, ..Sources::default() }
}

fn models(workspace: &Workspace) -> Models {
    let environment: BTreeMap<String, String> = workspace.env().into_iter().collect();
    Models::with_keys(move |name| environment.get(name).cloned())
}

/// Returns a disk in memory for the sessions of a workspace. The state directory already exists on it.
pub fn twin_for(workspace: &Workspace) -> FaultyDisk {
    let disk = FaultyDisk::new();
    disk.plant(&workspace.state_dir().join("was-there"), b"");
    disk
}

/// Returns the folder of a session.
pub fn session_dir(workspace: &Workspace, session: &SessionId) -> PathBuf {
    workspace.state_dir().join("sessions").join(&session.0)
}

/// Returns the log of a session on disk.
pub fn log_text(workspace: &Workspace, session: &SessionId) -> String {
    let path = session_dir(workspace, session).join("events.jsonl");
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("read {path:?}: {error}"))
}

/// Returns the events of a session on disk, oldest first.
pub fn facts(workspace: &Workspace, session: &SessionId) -> Vec<Value> {
    let text = log_text(workspace, session);
    // If the last line has no line end, the server is still writing it.
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let lines = whole.map(|line| {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("the line {line:?}: {error}"))
    });
    lines.filter(|line| line["event"].is_object()).map(|line| line["event"].clone()).collect()
}

/// Returns the events with this name.
pub fn facts_named(workspace: &Workspace, session: &SessionId, name: &str) -> Vec<Value> {
    facts(workspace, session).into_iter().filter(|event| event["type"] == name).collect()
}

/// Counts the events with this name, as `grep -c` would.
pub fn count(workspace: &Workspace, session: &SessionId, name: &str) -> usize {
    let quoted = format!("\"{name}\"");
    log_text(workspace, session).lines().filter(|line| line.contains(&quoted)).count()
}

/// Returns the lasting updates, which a replay must publish again.
pub fn lasting(updates: &[SessionUpdateParams]) -> Vec<SessionUpdateParams> {
    updates.iter().filter(|update| update.sub.is_none()).cloned().collect()
}

/// Returns the tool outputs in a request to the model, oldest first.
pub fn tool_outputs(request: &Request) -> Vec<String> {
    let body = request.json();
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let outputs = messages.iter().filter(|message| message["role"] == "tool");
    outputs.map(|message| message["content"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Returns the names of the tools in a request to the model.
pub fn tools_offered(request: &Request) -> Vec<String> {
    let body = request.json();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Returns the code and the name of an error, which the answer must be.
#[track_caller]
pub fn refused<T: std::fmt::Debug>(answer: Result<T, RpcError>) -> (i64, String) {
    let error = answer.expect_err("this must be refused");
    let data = error.data.unwrap_or_default();
    (error.code, data["name"].as_str().unwrap_or_default().to_owned())
}

/// Checks that a request failed with `Overloaded` and that the client may send it again.
#[track_caller]
pub fn assert_overloaded(answer: Result<Value, RpcError>) {
    let data = answer.expect_err("there is no room for this").data.unwrap_or_default();
    assert_eq!(data["name"], "Overloaded", "{data}");
    assert_eq!(data["retryable"], true, "{data}");
    assert!(data["retryAfterMs"].as_u64().is_some_and(|pause| pause > 0), "{data}");
}

/// Checks what a strict provider checks: every call has exactly one output, right after it.
#[track_caller]
pub fn assert_paired(request: &Request) {
    let body = request.json();
    let mut open: Vec<String> = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let at = open.iter().position(|call| call == id);
            open.remove(at.unwrap_or_else(|| panic!("an output of no open call {id:?}: {body}")));
            continue;
        }
        assert!(open.is_empty(), "{open:?} have no output before {message}: {body}");
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        open.extend(calls.map(|call| call["id"].as_str().unwrap_or_default().to_owned()));
    }
    assert!(open.is_empty(), "{open:?} have no output: {body}");
}
