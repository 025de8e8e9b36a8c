//! Tests of the double against a scripted peer.
//!
//! The peer is not a server: it sends exactly the bytes of a test, right or wrong.

mod applies;
mod codec;
mod documents;
mod manners;
mod sessions;

use std::io::{BufReader, PipeReader, PipeWriter, Write};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::wire::{self, Id, Message};
use super::{Editor, Options, Rule};
use crate::fixture::Workspace;

/// The other end of the double's pipes.
struct Peer {
    /// `None` is the end.
    incoming: Receiver<Option<Message>>,
    outgoing: PipeWriter,
    next_id: i64,
}

impl Peer {
    fn new(reader: PipeReader, outgoing: PipeWriter) -> Self {
        let (queue, incoming) = channel();
        thread::spawn(move || {
            let mut reader = BufReader::new(reader);
            while let Some(body) = wire::read_frame(&mut reader).unwrap() {
                if queue.send(Some(wire::parse(&body).unwrap())).is_err() {
                    return;
                }
            }
            let _ = queue.send(None);
        });
        Self { incoming, outgoing, next_id: 0 }
    }

    fn read(&self) -> Option<Message> {
        self.incoming.recv_timeout(Duration::from_secs(10)).expect("a message of the editor")
    }

    /// Reads the next message, which must be a request of this method.
    fn read_request(&self, wanted: &str) -> (Id, Value) {
        match self.read() {
            Some(Message::Request { id, method, params }) if method == wanted => (id, params),
            other => panic!("{other:?} instead of the request {wanted}"),
        }
    }

    fn read_notification(&self, wanted: &str) -> Value {
        match self.read() {
            Some(Message::Notification { method, params }) if method == wanted => params,
            other => panic!("{other:?} instead of the notification {wanted}"),
        }
    }

    fn read_response(&self, wanted: &Id) -> Result<Value, wire::RpcError> {
        match self.read() {
            Some(Message::Response { id, result }) if id == *wanted => result,
            other => panic!("{other:?} instead of the response to {wanted}"),
        }
    }

    fn send(&mut self, message: &Message) {
        self.raw(&wire::frame(message));
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.outgoing.write_all(bytes).unwrap();
    }

    fn respond(&mut self, id: &Id, result: Value) {
        self.send(&Message::Response { id: id.clone(), result: Ok(result) });
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.send(&Message::Notification { method: method.to_owned(), params });
    }

    fn request(&mut self, method: &str, params: Value) -> Id {
        self.next_id += 1;
        let id = Id::Number(self.next_id);
        self.send(&Message::Request { id: id.clone(), method: method.to_owned(), params });
        id
    }

    /// Sends a request and reads the answer.
    fn ask(&mut self, method: &str, params: Value) -> Result<Value, wire::RpcError> {
        let id = self.request(method, params);
        self.read_response(&id)
    }

    /// Waits until the editor has handled all earlier messages.
    fn settle(&mut self) {
        self.ask("workspace/workspaceFolders", Value::Null).unwrap();
    }

    fn update(&mut self, seq: u64, update: Value) {
        self.notify("agent/session/update", json!({"sessionId": "s", "seq": seq, "update": update}));
    }
}

/// Returns a double that has sent nothing, and its peer.
fn unconnected(options: Options) -> (Editor, Peer) {
    let (peer_in, editor_out) = std::io::pipe().unwrap();
    let (editor_in, peer_out) = std::io::pipe().unwrap();
    (Editor::connect(editor_in, editor_out, options), Peer::new(peer_in, peer_out))
}

fn server_capabilities() -> Value {
    json!({"textDocumentSync": {"openClose": true, "change": 2, "save": true}})
}

/// Returns an initialized double and its peer.
fn pair(options: Options) -> (Editor, Peer) {
    pair_with(options, server_capabilities())
}

fn pair_with(options: Options, capabilities: Value) -> (Editor, Peer) {
    let (editor, mut peer) = unconnected(options);
    thread::scope(|scope| {
        let shaking = scope.spawn(|| editor.initialize().unwrap());
        let (id, _) = peer.read_request("initialize");
        peer.respond(&id, json!({"capabilities": capabilities}));
        peer.read_notification("initialized");
        shaking.join().unwrap();
    });
    (editor, peer)
}

/// Returns a workspace, a double with `a.txt` open, and a peer that has read its `didOpen`.
fn with_document(text: &str, adjust: impl FnOnce(Options) -> Options) -> (Workspace, Editor, Peer) {
    let workspace = Workspace::new("");
    workspace.write("a.txt", text);
    let (editor, peer) = pair(adjust(Options::new(&workspace)));
    editor.open("a.txt");
    peer.read_notification("textDocument/didOpen");
    (workspace, editor, peer)
}

/// Ends the double and returns the broken rules.
fn broken(editor: Editor) -> Vec<Rule> {
    editor.finish().into_iter().map(|violation| violation.rule).collect()
}
