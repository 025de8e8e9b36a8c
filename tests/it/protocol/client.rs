//! A server in this process and a minimal client, connected by pipes.
//!
//! The client sends what a test asks for and records all messages. It has no buffers and never answers by itself.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use adjutant::lsp::{Options, serve};
use adjutant::model::Models;
use adjutant::settings::Sources;
use adjutant::transport::{End, pipe};
use serde_json::{Value, json};

const DEADLINE: Duration = Duration::from_secs(10);

/// A server with its own home and project, and its client.
pub struct Rig {
    directory: tempfile::TempDir,
    home: PathBuf,
    pub client: Client,
    serving: JoinHandle<()>,
    reading: JoinHandle<()>,
}

impl Rig {
    /// Starts a server whose model plays `script`.
    pub fn start(script: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        fs::create_dir(home.join("project")).unwrap();
        fs::write(home.join("script.toml"), script).unwrap();
        let config = home.join("config.toml");
        let script = home.join("script.toml");
        fs::write(&config, format!("model = \"play/script\"\n[providers.play]\nscript = {script:?}\n"))
            .unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let environment = BTreeMap::from([
            ("ADJUTANT_CONFIG".to_owned(), text(&config)),
            ("ADJUTANT_STATE_DIR".to_owned(), text(&home.join("state"))),
        ]);
        let sources = Sources { environment, home: Some(home.clone()), ..Sources::default() };
        let (End { reader, writer }, server) = pipe().unwrap();
        let serving = thread::spawn(move || {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            let runtime = builder.worker_threads(2).enable_all().build().unwrap();
            let options = Options::new(sources, Models::new());
            runtime.block_on(serve(options, server.reader, server.writer));
        });
        let (deliver, incoming) = mpsc::channel();
        let reading = thread::spawn(move || read_frames(reader, &deliver));
        Self { directory, home, client: Client { writer, incoming, shown: Vec::new() }, serving, reading }
    }

    pub fn project(&self) -> PathBuf {
        self.home.join("project")
    }

    /// Ends the server as an editor does, and returns the directory with its files.
    pub fn stop(mut self) -> tempfile::TempDir {
        self.client.send(json!({ "jsonrpc": "2.0", "id": "last", "method": "shutdown" }));
        self.client.until(&[is_answer]);
        self.client.send(json!({ "jsonrpc": "2.0", "method": "exit" }));
        drop(self.client);
        self.serving.join().expect("the server ends");
        self.reading.join().expect("the stream ends");
        self.directory
    }
}

/// A client that sends, waits, and records the messages in an order for readers.
pub struct Client {
    writer: std::io::PipeWriter,
    incoming: mpsc::Receiver<Value>,
    pub shown: Vec<(&'static str, Value)>,
}

impl Client {
    pub fn send(&mut self, message: Value) {
        let body = message.to_string();
        write!(self.writer, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("the server reads");
        self.shown.push(("→", message));
    }

    /// Receives messages until each of `wanted` has come, and returns them. Sorts the answer first, then the
    /// notifications in their order, then the requests of the server. The protocol promises an order only
    /// within the notifications, not between these three kinds.
    pub fn until(&mut self, wanted: &[fn(&Value) -> bool]) -> Vec<Value> {
        let mut received: Vec<Value> = Vec::new();
        while !wanted.iter().all(|wanted| received.iter().any(wanted)) {
            match self.incoming.recv_timeout(DEADLINE) {
                Ok(message) => received.push(message),
                Err(error) => panic!("{error}; received so far: {received:#?}"),
            }
        }
        received.sort_by_key(|message| match (message.get("method"), message.get("id")) {
            (None, _) => 0,
            (Some(_), None) => 1,
            (Some(_), Some(_)) => 2,
        });
        self.shown.extend(received.iter().map(|message| ("←", message.clone())));
        received
    }

    /// Sends a request and returns its answer. Panics if another message comes first.
    pub fn ask(&mut self, id: u32, method: &str, params: Value) -> Value {
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let mut received = self.until(&[is_answer]);
        assert_eq!(received.len(), 1, "{received:#?}");
        assert_eq!(received[0]["id"], id);
        received.remove(0)
    }
}

/// Reads `Content-Length` frames from a stream until it ends.
fn read_frames(reader: impl Read, deliver: &mpsc::Sender<Value>) {
    let mut reader = BufReader::new(reader);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.strip_prefix("Content-Length:") {
                length = value.trim().parse().expect("a length");
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let message = serde_json::from_slice(&body).expect("a body is JSON");
        if deliver.send(message).is_err() {
            return;
        }
    }
}

pub fn is_answer(message: &Value) -> bool {
    message.get("method").is_none()
}

pub fn is_method(message: &Value, name: &str) -> bool {
    message["method"] == name
}
