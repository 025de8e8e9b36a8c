//! A backend whose handlers do what the tests need, and a raw client.

use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel as std_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::super::*;

pub const DEADLINE: Duration = Duration::from_secs(10);

/// Counts a running handler; its drop subtracts one.
pub struct Alive(Arc<Mutex<usize>>);

impl Alive {
    fn new(count: &Arc<Mutex<usize>>) -> Self {
        *count.lock().unwrap() += 1;
        Alive(Arc::clone(count))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        *self.0.lock().unwrap() -= 1;
    }
}

/// A face whose methods do what the tests need; clones share it.
#[derive(Clone)]
pub struct Face {
    out: Out,
    notes: mpsc::UnboundedSender<u64>,
    /// Always free when a handler starts, so locking it needs no wait.
    desk: Arc<tokio::sync::Mutex<()>>,
    alive: Arc<Mutex<usize>>,
    shut_down: Arc<AtomicBool>,
    /// How many messages were lost.
    lost: Arc<AtomicUsize>,
}

impl Backend for Face {
    fn request(&self, method: &str, params: Params) -> Serving<Answer> {
        let face = self.clone();
        let params = match params {
            Ok(params) => params.unwrap_or_default(),
            Err(_) if method == "shutdown" => Value::Null,
            Err(why) => return done(Err(ErrorBody::unreadable(&why))),
        };
        match method {
            "initialize" if params["capabilities"].is_object() => done(Ok(json!({}))),
            "initialize" => done(Err(ErrorBody::invalid_params("no capabilities"))),
            "shutdown" => {
                self.shut_down.store(true, Ordering::Release);
                done(Ok(Value::Null))
            }
            "exit" | "test/note" | "$/cancelRequest" => {
                done(Err(ErrorBody::new(code::INVALID_REQUEST, "a notification")))
            }
            "test/echo" => done(Ok(params)),
            "test/ask" => Box::pin(async move { answer(face.ask(params).await) }),
            "test/hang" => Box::pin(async move {
                let _alive = Alive::new(&face.alive);
                std::future::pending().await
            }),
            "test/panicNow" => panic!("at once"),
            "test/panicLater" => Box::pin(async move {
                let _alive = Alive::new(&face.alive);
                tokio::task::yield_now().await;
                panic!("later")
            }),
            "test/panicDropped" => Box::pin(async move {
                let _bomb = Bomb;
                std::future::pending().await
            }),
            method => done(Err(ErrorBody::no_method(method))),
        }
    }

    fn notification(&self, method: &str, params: Params) -> NotificationOutcome {
        let face = self.clone();
        let params = match params {
            Ok(params) => params.unwrap_or_default(),
            Err(_) if method == "exit" => Value::Null,
            Err(why) => return NotificationOutcome::Unreadable(why),
        };
        match method {
            "exit" => NotificationOutcome::Exit { after_shutdown: self.shut_down.load(Ordering::Acquire) },
            "test/note" => NotificationOutcome::Serving(Box::pin(async move { face.note(params).await })),
            "test/panicNote" if params["later"] == json!(true) => {
                NotificationOutcome::Serving(Box::pin(async {
                    tokio::task::yield_now().await;
                    panic!("in a notification")
                }))
            }
            "test/panicNote" => panic!("in a notification"),
            "test/strict" => NotificationOutcome::Unreadable("nothing can be read".to_owned()),
            _ => NotificationOutcome::PassedOver,
        }
    }

    fn lost(&self) {
        self.lost.fetch_add(1, Ordering::AcqRel);
    }
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("while dropped")
    }
}

fn done(result: Result<Value, ErrorBody>) -> Serving<Answer> {
    Box::pin(std::future::ready(answer(result)))
}

impl Face {
    async fn note(&self, params: Value) {
        let n = params["n"].as_u64().unwrap_or(u64::MAX);
        for _ in 0..n % 3 {
            drop(self.desk.lock().await);
        }
        let _ = self.notes.send(n);
        for _ in 0..n % 5 {
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(Duration::from_micros(n * 7919 % 300)).await;
    }

    async fn ask(&self, params: Value) -> Result<Value, ErrorBody> {
        let _alive = Alive::new(&self.alive);
        let reply = self.out.request("client/ask", &params).await;
        let reply = reply.map_err(|error| ErrorBody::invalid_params(error.to_string()))?;
        Ok(serde_json::from_str(reply.get()).unwrap_or(Value::Null))
    }
}

pub fn face(out: Out) -> (Face, Seen) {
    let (notes, received) = mpsc::unbounded_channel();
    let (alive, lost): (Arc<Mutex<usize>>, Arc<AtomicUsize>) = Default::default();
    let seen = Seen { notes: received, alive: alive.clone(), lost: lost.clone() };
    (Face { out, notes, desk: Arc::default(), alive, shut_down: Arc::default(), lost }, seen)
}

/// The observations of the backend.
pub struct Seen {
    pub notes: mpsc::UnboundedReceiver<u64>,
    pub alive: Arc<Mutex<usize>>,
    pub lost: Arc<AtomicUsize>,
}

/// A raw client and the server it is connected to.
pub struct Rig {
    pub out: Out,
    pub seen: Seen,
    writer: Option<PipeWriter>,
    incoming: Receiver<Value>,
    ended: Receiver<ConnectionEnd>,
    runtime: tokio::runtime::Runtime,
}

impl Rig {
    /// Returns a connection without any message. Its client reads nothing until `reader` is passed to
    /// `listen`.
    pub fn deaf() -> (Rig, PipeReader) {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (near, far) = pipe().unwrap();
        let (out, parts) = channel();
        let (face, seen) = face(out.clone());
        let (tx, ended) = std_channel();
        runtime.spawn(async move {
            let _ = tx.send(serve(face, parts, near.reader, near.writer).await);
        });
        let (_, incoming) = std_channel();
        let writer = Some(far.writer);
        (Rig { out, seen, writer, incoming, ended, runtime }, far.reader)
    }

    pub fn listen(&mut self, mut reader: PipeReader) {
        let (tx, incoming) = std_channel();
        self.incoming = incoming;
        std::thread::spawn(move || {
            let mut decoder = framing::Decoder::new();
            let mut chunk = vec![0; 64 * 1024];
            while let Ok(count @ 1..) = std::io::Read::read(&mut reader, &mut chunk) {
                let mut input = &chunk[..count];
                while let Some(body) = decoder.feed(&mut input) {
                    let message = serde_json::from_slice(&body.unwrap()).unwrap();
                    if tx.send(message).is_err() {
                        return;
                    }
                }
            }
        });
    }

    /// Returns a connection without any message.
    pub fn mute() -> Rig {
        let (mut rig, reader) = Rig::deaf();
        rig.listen(reader);
        rig
    }

    /// Returns an initialized connection.
    pub fn new() -> Rig {
        let mut rig = Rig::mute();
        rig.say(&json!({"jsonrpc":"2.0","id":"init","method":"initialize","params":{"capabilities":{}}}));
        assert_eq!(rig.hear()["id"], "init");
        rig
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.writer.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub fn body(&mut self, body: &str) {
        self.bytes(&framing::encode(body.as_bytes()));
    }

    pub fn say(&mut self, message: &Value) {
        self.body(&message.to_string());
    }

    pub fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        self.say(&json!({"jsonrpc":"2.0","id":id.into(),"method":method,"params":params}));
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.say(&json!({"jsonrpc":"2.0","method":method,"params":params}));
    }

    pub fn cancel(&mut self, id: impl Into<Value>) {
        self.notify("$/cancelRequest", json!({"id": id.into()}));
    }

    /// Returns the next message of the server.
    #[track_caller]
    pub fn hear(&mut self) -> Value {
        self.incoming.recv_timeout(DEADLINE).expect("a message in time")
    }

    /// Returns the next `count` messages by id; each must be an answer.
    #[track_caller]
    pub fn hear_answers(&mut self, count: usize) -> HashMap<String, Value> {
        let mut answers = HashMap::new();
        for _ in 0..count {
            let message = self.hear();
            let id = message["id"].to_string();
            assert!(message.get("method").is_none(), "{message}");
            assert!(answers.insert(id, message).is_none(), "answered twice");
        }
        answers
    }

    /// Asserts that no message is pending: the answer to a new request comes next.
    #[track_caller]
    pub fn assert_quiet(&mut self) {
        self.request("quiet?", "test/echo", json!([1]));
        assert_eq!(self.hear(), json!({"jsonrpc":"2.0","id":"quiet?","result":[1]}));
    }

    pub fn take_writer(&mut self) -> PipeWriter {
        self.writer.take().unwrap()
    }

    pub fn hang_up(&mut self) {
        self.writer = None;
    }

    #[track_caller]
    pub fn ended(&self) -> ConnectionEnd {
        self.ended.recv_timeout(DEADLINE).expect("the end in time")
    }

    #[track_caller]
    pub fn assert_serving(&self) {
        assert!(self.ended.try_recv().is_err());
    }

    /// Asserts that the server closed its stream without another message.
    #[track_caller]
    pub fn assert_silence_and_end(&self) {
        let heard = self.incoming.recv_timeout(DEADLINE);
        assert_eq!(heard, Err(RecvTimeoutError::Disconnected));
    }

    pub fn spawn<F>(&self, future: F) -> tokio::task::JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.runtime.spawn(future)
    }

    /// Runs a future to its end, within the deadline.
    #[track_caller]
    pub fn wait<F: Future>(&self, future: F) -> F::Output {
        let limited = async { tokio::time::timeout(DEADLINE, future).await };
        self.runtime.block_on(limited).expect("done in time")
    }

    /// Waits until a condition is true.
    #[track_caller]
    pub fn until(&self, what: &str, mut holds: impl FnMut(&Rig) -> bool) {
        let start = Instant::now();
        while !holds(self) {
            assert!(start.elapsed() < DEADLINE, "{what} in time");
            std::thread::yield_now();
        }
    }

    /// Returns the next `count` notifications that reached the backend.
    #[track_caller]
    pub fn notes(&mut self, count: usize) -> Vec<u64> {
        let Rig { runtime, seen, .. } = self;
        runtime.block_on(async {
            let mut notes = Vec::new();
            while notes.len() < count {
                let next = tokio::time::timeout(DEADLINE, seen.notes.recv()).await;
                notes.push(next.expect("a note in time").expect("a backend"));
            }
            notes
        })
    }

    pub fn alive(&self) -> usize {
        *self.seen.alive.lock().unwrap()
    }
}
