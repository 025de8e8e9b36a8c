//! A small editor that speaks LSP to a server process and records the time of each message.
//!
//! Never decides: it answers edits and asks at once, as a script would.

use std::collections::{HashMap, VecDeque};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::process;

/// The longest wait before the bench fails.
const DEADLINE: Duration = Duration::from_secs(60);

/// A message of the server with the time of its last byte.
#[derive(Debug)]
pub struct Message {
    pub at: Instant,
    pub body: Value,
}

impl Message {
    /// Returns the update of a session, if it is one.
    pub fn update(&self) -> Option<&Value> {
        (self.body["method"] == "agent/session/update").then(|| &self.body["params"]["update"])
    }

    /// Whether it is the update to the state `idle`.
    pub fn is_idle(&self) -> bool {
        self.update()
            .is_some_and(|update| update["sessionUpdate"] == "state_update" && update["state"] == "idle")
    }

    /// Returns the text of a message chunk.
    pub fn chunk(&self) -> Option<&str> {
        let update = self.update()?;
        (update["sessionUpdate"] == "agent_message_chunk").then(|| update["text"].as_str()).flatten()
    }
}

/// What a client draws in its texts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Draws {
    Nothing,
    Hunks,
}

/// The client and its server.
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    /// Whether the client reads the server's output.
    listening: Arc<(Mutex<bool>, Condvar)>,
    messages: Receiver<Message>,
    /// Messages that arrived during a wait for another one.
    passed: VecDeque<Message>,
    last_id: i64,
    documents: HashMap<String, (i64, String)>,
    /// The times at which each question arrived and its answer was sent.
    pub asked: Vec<(Instant, Instant)>,
    /// Whether the client answers questions.
    pub answers: bool,
}

impl Client {
    /// Starts a server in `home` and initializes it; returns the client and the time this took.
    pub fn start(program: &Path, home: &Path, workspace: &Path) -> (Client, Duration) {
        Self::start_as(program, home, workspace, Draws::Nothing)
    }

    /// The same with a client that may draw hunks.
    pub fn start_as(program: &Path, home: &Path, workspace: &Path, draws: Draws) -> (Client, Duration) {
        let began = Instant::now();
        let mut child = process::start(program, home);
        let input = child.stdin.take();
        let output = child.stdout.take().expect("the output is a pipe");
        let (sender, messages) = channel();
        let listening = Arc::new((Mutex::new(true), Condvar::new()));
        let gate = listening.clone();
        std::thread::spawn(move || read(output, &sender, &gate));
        let mut client = Client {
            child,
            input,
            listening,
            messages,
            passed: VecDeque::new(),
            last_id: 0,
            documents: HashMap::new(),
            asked: Vec::new(),
            answers: true,
        };
        let folder = uri(workspace);
        let hello = client.request(
            "initialize",
            &json!({
                "processId": null,
                "rootUri": folder,
                "workspaceFolders": [{"uri": folder, "name": "bench"}],
                "capabilities": {
                    "general": {"positionEncodings": ["utf-8"]},
                    "workspace": {
                        "applyEdit": true,
                        "workspaceEdit": {"documentChanges": true, "resourceOperations": ["create"]},
                    },
                    "experimental": {"agent": {
                        "version": 0,
                        "updates": {"chunks": true},
                        "asks": {"request": true},
                        "documents": {"save": true, "complete": true},
                        "review": {"hunks": draws == Draws::Hunks},
                    }},
                },
            }),
        );
        let took = hello.at - began;
        client.notify("initialized", &json!({}));
        (client, took)
    }

    /// Creates a session; returns its id and the time this took.
    pub fn new_session(&mut self) -> (String, Duration) {
        let sent = Instant::now();
        let made = self.request("agent/session/new", &json!({}));
        let id = made.body["result"]["sessionId"].as_str().expect("a session has an id").to_owned();
        (id, made.at - sent)
    }

    /// Sends a prompt and returns the time of sending.
    pub fn prompt(&mut self, session: &str, text: &str) -> Instant {
        let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
        // Messages of the previous run must not count for this one.
        self.passed_over();
        let sent = Instant::now();
        let reply = self.request("agent/session/prompt", &params);
        assert!(reply.body["result"]["runId"].is_string(), "the prompt was refused: {}", reply.body);
        sent
    }

    /// Sends a prompt and returns the time until its response.
    pub fn acknowledged(&mut self, session: &str, text: &str) -> Duration {
        let sent = Instant::now();
        let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
        let reply = self.request("agent/session/prompt", &params);
        assert!(reply.body["result"]["runId"].is_string(), "the prompt was refused: {}", reply.body);
        reply.at - sent
    }

    /// Types one character into an open document; returns the time of sending.
    pub fn types(&mut self, path: &Path) -> Instant {
        let uri = uri(path);
        let (version, text) = self.documents.get_mut(&uri).expect("only open documents are typed in");
        *version += 1;
        text.insert(0, 'x');
        let start = json!({"line": 0, "character": 0});
        let params = json!({
            "textDocument": {"uri": uri, "version": *version},
            "contentChanges": [{"range": {"start": start, "end": start}, "text": "x"}],
        });
        let sent = Instant::now();
        self.notify("textDocument/didChange", &params);
        sent
    }

    /// Sends an unknown request and waits for its answer, which needs no work. The server has then handled
    /// all earlier messages.
    pub fn trivial(&mut self) -> Instant {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "agent/nothing", "params": {}}));
        loop {
            let message = self.receive();
            if message.body["id"] == id && message.body.get("method").is_none() {
                return message.at;
            }
            self.passed.push_back(message);
        }
    }

    /// Opens a document in the editor.
    pub fn open(&mut self, path: &Path) {
        let text = std::fs::read_to_string(path).expect("the file is there");
        let uri = uri(path);
        self.notify(
            "textDocument/didOpen",
            &json!({"textDocument": {"uri": uri, "languageId": "plaintext", "version": 1, "text": text}}),
        );
        self.documents.insert(uri, (1, text));
    }

    /// Drops all messages that no wait has checked; answers requests among them.
    pub fn passed_over(&mut self) {
        self.passed.clear();
        while let Ok(message) = self.messages.try_recv() {
            self.answer_request(&message);
        }
    }

    /// Waits for a message that `wanted` accepts, and answers requests of the server meanwhile.
    pub fn wait(&mut self, mut wanted: impl FnMut(&Message) -> bool) -> Message {
        loop {
            let message = match self.passed.pop_front() {
                Some(message) => message,
                None => self.receive(),
            };
            if wanted(&message) {
                return message;
            }
        }
    }

    pub fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a prompt without a wait for its answer.
    pub fn prompt_unheard(&mut self, session: &str, text: &str) {
        self.last_id += 1;
        let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "agent/session/prompt", "params": params}));
    }

    /// Stops or continues reading.
    pub fn listen(&self, listening: bool) {
        *self.listening.0.lock().expect("no thread panics while it has the lock") = listening;
        self.listening.1.notify_all();
    }

    /// Polls until the condition holds; panics after the deadline.
    pub fn wait_for(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let end = Instant::now() + DEADLINE;
        while !holds() {
            assert!(Instant::now() < end, "waited {DEADLINE:?} for {what}");
            std::thread::park_timeout(Duration::from_micros(200));
        }
    }

    pub fn request(&mut self, method: &str, params: &Value) -> Message {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.receive();
            if message.body["id"] == id && message.body.get("method").is_none() {
                assert!(message.body.get("error").is_none(), "{method}: {}", message.body);
                return message;
            }
            self.passed.push_back(message);
        }
    }

    fn receive(&mut self) -> Message {
        let message = match self.messages.recv_timeout(DEADLINE) {
            Ok(message) => message,
            Err(error) => panic!("the server sent nothing for {DEADLINE:?} or ended: {error}"),
        };
        self.answer_request(&message);
        message
    }

    fn answer_request(&mut self, message: &Message) {
        if message.body.get("method").is_some() && message.body.get("id").is_some() {
            self.answer(message);
        }
    }

    fn answer(&mut self, request: &Message) {
        let params = &request.body["params"];
        if request.body["method"] == "agent/session/request_permission" && !self.answers {
            return;
        }
        let result = match request.body["method"].as_str().unwrap_or_default() {
            "workspace/applyEdit" => {
                self.apply(&params["edit"]["documentChanges"]);
                json!({"applied": true})
            }
            "agent/session/request_permission" => {
                let options = params["options"].as_array().map(Vec::as_slice).unwrap_or_default();
                let once = options.iter().find(|option| option["kind"] == "allow_once");
                let chosen = once.map(|option| option["optionId"].clone());
                json!({"outcome": {"outcome": "selected", "optionId": chosen}})
            }
            // Writes nothing, so that the next run has the same workspace.
            "agent/document/save" => {
                let uris = params["uris"].as_array().map(Vec::as_slice).unwrap_or_default();
                let saved = uris.iter().map(|uri| json!({"uri": uri, "saved": true}));
                json!({"documents": saved.collect::<Vec<_>>()})
            }
            other => panic!("the server sends an unexpected {other}"),
        };
        let sent = Instant::now();
        self.send(&json!({"jsonrpc": "2.0", "id": request.body["id"], "result": result}));
        if request.body["method"] == "agent/session/request_permission" {
            self.asked.push((request.at, sent));
        }
    }

    /// Applies edits to the documents and sends `didChange`, as an editor does before it answers.
    fn apply(&mut self, changes: &Value) {
        for change in changes.as_array().expect("edits come as document changes") {
            if change["kind"] == "create" {
                let uri = change["uri"].as_str().expect("a new file has a name").to_owned();
                let document = json!({"uri": uri, "languageId": "plaintext", "version": 1, "text": ""});
                self.notify("textDocument/didOpen", &json!({"textDocument": document}));
                self.documents.insert(uri, (1, String::new()));
                continue;
            }
            let uri = change["textDocument"]["uri"].as_str().expect("a change names its document").to_owned();
            let (version, text) = self.documents.get_mut(&uri).expect("only open documents are edited");
            let mut edits: Vec<(usize, usize, &str)> = change["edits"]
                .as_array()
                .expect("a change has edits")
                .iter()
                .map(|edit| {
                    let at = |end: &str| offset(text, &edit["range"][end]);
                    (at("start"), at("end"), edit["newText"].as_str().unwrap_or_default())
                })
                .collect();
            edits.sort_unstable();
            let mut after = text.clone();
            for (start, end, new) in edits.into_iter().rev() {
                after.replace_range(start..end, new);
            }
            *text = after;
            *version += 1;
            let params = json!({
                "textDocument": {"uri": uri, "version": *version},
                "contentChanges": [{"text": *text}],
            });
            self.notify("textDocument/didChange", &params);
        }
    }

    fn send(&mut self, body: &Value) {
        let body = body.to_string();
        let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        let input = self.input.as_mut().expect("the input is open until the end");
        input.write_all(frame.as_bytes()).expect("the server reads");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.listen(true);
        drop(self.input.take());
        let end = Instant::now() + Duration::from_secs(5);
        // The output ends when the server ends.
        while Instant::now() < end && self.messages.recv_timeout(Duration::from_secs(5)).is_ok() {}
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the byte offset of a position; the texts of the bench are ASCII.
fn offset(text: &str, position: &Value) -> usize {
    let number = |name: &str| position[name].as_u64().unwrap_or_default() as usize;
    let before: usize = text.split_inclusive('\n').take(number("line")).map(str::len).sum();
    (before + number("character")).min(text.len())
}

pub fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// Parses the output into messages until it ends.
fn read(mut output: ChildStdout, sender: &Sender<Message>, gate: &(Mutex<bool>, Condvar)) {
    let mut chunk = vec![0; 64 * 1024];
    let mut bytes: Vec<u8> = Vec::new();
    let open = || {
        let listening = gate.0.lock().expect("no thread panics while it has the lock");
        drop(
            gate.1
                .wait_while(listening, |listening| !*listening)
                .expect("no thread panics while it has the lock"),
        );
        true
    };
    while open()
        && let Ok(count @ 1..) = output.read(&mut chunk)
    {
        let at = Instant::now();
        bytes.extend_from_slice(&chunk[..count]);
        while let Some((head, length)) = next_frame(&bytes) {
            if bytes.len() < head + length {
                break;
            }
            let body = serde_json::from_slice(&bytes[head..head + length]).expect("the server writes JSON");
            bytes.drain(..head + length);
            if sender.send(Message { at, body }).is_err() {
                return;
            }
        }
    }
}

/// Returns the offset and the length of the first frame's body.
fn next_frame(bytes: &[u8]) -> Option<(usize, usize)> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).expect("a header is text");
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let length = length.and_then(|length| length.trim().parse().ok()).expect("a frame has a length");
    Some((end + 4, length))
}
