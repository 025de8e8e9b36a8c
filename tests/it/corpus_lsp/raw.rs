//! The real binary over stdio, and a client that can send any bytes.
//!
//! Never answers the server by itself, and never corrects what it sends.

use std::io::{BufReader, Write};
use std::process::{ChildStdin, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use adjutant_testkit::editor::wire::read_frame;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::process::Server;
use serde_json::{Value, json};

use super::{Line, Seen};

pub const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");
const DEADLINE: Duration = Duration::from_secs(10);
/// Number of requests after the bytes. If part of the stream was swallowed, the server needs a few to find the
/// next message.
const PROBES: usize = 20;

/// A server and the raw ends of its streams.
pub struct Raw {
    pub server: Server,
    pub input: Option<ChildStdin>,
    incoming: Receiver<String>,
}

impl Raw {
    /// Starts a server that has received nothing yet.
    pub fn start(workspace: &Workspace) -> Raw {
        let mut server = Server::spawn(BINARY, workspace, &["lsp"]);
        let (output, input) = server.take_pipes();
        let (tell, incoming) = channel();
        thread::spawn(move || {
            let mut reader = BufReader::new(output);
            while let Ok(Some(body)) = read_frame(&mut reader) {
                let body = String::from_utf8(body).expect("the server writes UTF-8");
                if tell.send(body).is_err() {
                    return;
                }
            }
        });
        Raw { server, input: Some(input), incoming }
    }

    /// Starts a server and completes the handshake.
    pub fn initialized(workspace: &Workspace) -> Raw {
        let mut raw = Raw::start(workspace);
        raw.initialize(workspace, json!({}));
        raw
    }

    /// Performs the handshake and returns the answer.
    pub fn initialize(&mut self, workspace: &Workspace, more: Value) -> Value {
        let mut params = json!({
            "processId": null,
            "workspaceFolders": [{"uri": workspace.uri(""), "name": "w"}],
            "capabilities": {},
        });
        for (name, value) in more.as_object().into_iter().flatten() {
            params[name] = value.clone();
        }
        let answer = self.request("init", "initialize", params);
        self.notify("initialized", json!({}));
        answer
    }

    /// Sends bytes. Ignores write errors: other assertions notice a server that has ended.
    pub fn bytes(&mut self, bytes: &[u8]) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(bytes).and_then(|()| input.flush());
        }
    }

    pub fn say(&mut self, message: &Value) {
        self.bytes(&framed(message.to_string().as_bytes()));
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.say(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request and returns its answer; ignores messages before it.
    #[track_caller]
    pub fn request(&mut self, id: &str, method: &str, params: Value) -> Value {
        let mut request = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if !params.is_null() {
            request["params"] = params;
        }
        self.say(&request);
        self.answer(&json!(id))
    }

    /// Waits for the answer to an id.
    #[track_caller]
    pub fn answer(&mut self, id: &Value) -> Value {
        loop {
            let message: Value = match self.hear() {
                Some(body) => serde_json::from_str(&body).expect("the server writes JSON"),
                None => panic!("the server ended before it answered {id}\n{}", self.server.stderr()),
            };
            if message["id"] == *id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Returns the next message; `None` at the end of the stream.
    #[track_caller]
    pub fn hear(&mut self) -> Option<String> {
        match self.incoming.recv_timeout(DEADLINE) {
            Ok(body) => Some(body),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                panic!("no message within {DEADLINE:?}\n{}", self.server.stderr())
            }
        }
    }

    /// Stops reading from the server. The request provokes one more message, after which the pipe is closed.
    pub fn stop_reading(&mut self) {
        self.incoming = channel().1;
        self.say(&json!({"jsonrpc": "2.0", "id": "unheard", "method": "agent/session/list"}));
    }

    /// Waits for the end of the server and returns its exit status.
    #[track_caller]
    pub fn end(&mut self) -> ExitStatus {
        while self.hear().is_some() {}
        self.server.wait()
    }
}

/// The server's reaction to some bytes.
#[derive(Debug, Default)]
pub struct Heard {
    /// All messages except the answers to the probes.
    pub answers: Vec<Value>,
    /// The same messages as raw text.
    pub bodies: Vec<String>,
    /// Whether a probe was answered.
    pub lives: bool,
    pub status: Option<ExitStatus>,
}

impl Heard {
    /// Whether the line's own request got a result, and there was no other message.
    pub fn served(&self) -> bool {
        self.answers.len() == 1 && self.results() == 1
    }

    pub fn results(&self) -> usize {
        self.answers.iter().filter(|answer| answer.get("result").is_some()).count()
    }

    /// Whether enough answers arrived to check this word.
    fn has_what(&self, word: &str) -> bool {
        match word {
            "ok" | "close_or_ok" => !self.answers.is_empty(),
            "continue" => self.results() > 0,
            code if code.starts_with('-') => !self.answers.is_empty(),
            _ => true,
        }
    }

    /// Whether the server exited with code 1 after an error `-32700`.
    pub fn closed_cleanly(&self) -> bool {
        let reported = self.answers.last().is_some_and(|answer| answer["error"]["code"] == -32700);
        self.status.and_then(|status| status.code()) == Some(1) && reported
    }
}

/// The server that gets the bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Play {
    Fresh,
    Initialized,
}

/// Returns the servers that get a line's bytes. An `initialize` in the wrong shape is refused as such, the
/// first one and later ones.
pub fn plays(line: &Line) -> &'static [Play] {
    match line.id.as_str() {
        "lsp-039" | "more-039a" | "more-039b" => &[Play::Fresh, Play::Initialized],
        _ => &[Play::Initialized],
    }
}

/// Sends the bytes of a line and then probes; returns the server's reaction.
pub fn send(line: &Line, bytes: &[u8], play: Play) -> Seen {
    let workspace = Workspace::new("//- /a.txt\none\n");
    let mut raw = match play {
        Play::Fresh => Raw::start(&workspace),
        Play::Initialized => Raw::initialized(&workspace),
    };
    let before = raw.server.memory().expect("the system reports memory");
    raw.bytes(bytes);
    for probe in 0..PROBES {
        raw.say(&json!({"jsonrpc": "2.0", "id": format!("probe-{probe}"), "method": "agent/session/list"}));
    }
    let mut heard = Heard::default();
    let mut asked = false;
    let mut peak = before.peak;
    let until = Instant::now() + DEADLINE;
    loop {
        assert!(Instant::now() < until, "{}: the messages do not end", line.id);
        peak = raw.server.memory().map_or(peak, |memory| memory.peak);
        let Some(body) = raw.hear() else {
            heard.status = Some(raw.server.wait());
            break;
        };
        let message: Value = serde_json::from_str(&body).expect("the server writes JSON");
        if message["id"] == "last" {
            break;
        }
        if message["id"].as_str().is_some_and(|id| id.starts_with("probe-")) {
            heard.lives = true;
        } else {
            heard.answers.push(message);
            heard.bodies.push(body);
        }
        // Answers may come in any order, so the loop waits for a required answer.
        if heard.lives && heard.has_what(&line.expect) && !asked {
            asked = true;
            raw.say(&json!({"jsonrpc": "2.0", "id": "last", "method": "agent/session/list"}));
        }
    }
    if let Some(limit) = line.growth {
        let growth = peak.saturating_sub(before.resident);
        assert!(growth <= limit, "{}: {growth} bytes more, {limit} at most", line.id);
    }
    if line.id == "lsp-043" {
        assert!(heard.bodies[0].contains(r#""id":"\u0000""#), "the id is echoed as written: {heard:?}");
    }
    Seen::Heard(heard)
}

/// Returns a body with its header.
pub fn framed(body: &[u8]) -> Vec<u8> {
    let mut frame = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    frame.extend_from_slice(body);
    frame
}
