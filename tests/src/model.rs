//! A model provider on loopback: real sockets, real HTTP/1.1, real streams.
//!
//! The path of a request selects the wire format. The double plays one answer a request and records the
//! requests. It uses plain threads, so it works with any runtime. It never invents an answer.

mod connection;
mod deaf;
mod dialect;
mod front;
mod reply;
mod said;

use std::collections::VecDeque;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

pub use deaf::{Deaf, DeafHttp2};
pub use dialect::Dialect;
pub use front::{Handshake, Offer, TlsFront};
pub use reply::Reply;

/// The longest wait for something that must happen.
const DEADLINE: Duration = Duration::from_secs(10);

/// The first line of a reminder.
const REMINDER: &str = "[now, from Adjutant and not from the user]";

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct Request {
    /// Usually `POST`.
    pub method: String,
    pub path: String,
    /// Names in lower case, in the order of arrival.
    pub headers: Vec<(String, String)>,
    /// Empty after [`ModelServer::forget_bodies`].
    pub body: Vec<u8>,
    /// The length of the body in bytes.
    pub size: usize,
    /// The number of the accepted connection, from zero.
    pub connection: usize,
    /// The time of its first byte.
    pub arrived: Instant,
}

impl Request {
    /// Returns the value of a header; `name` is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the conversation as JSON: the body without the reminder, which is no part of the history.
    /// Panics if the body is not JSON.
    pub fn json(&self) -> Value {
        self.parts().0
    }

    /// Returns the reminder, the last message of a request that has one.
    pub fn reminder(&self) -> Option<String> {
        self.parts().1
    }

    /// Returns the conversation and the reminder.
    fn parts(&self) -> (Value, Option<String>) {
        let mut body: Value =
            serde_json::from_slice(&self.body).expect("the body of a model request is JSON");
        let lists = ["messages", "input"];
        let Some(list) = lists.iter().find(|name| body[**name].is_array()) else { return (body, None) };
        let list = body[*list].as_array_mut().expect("it is a list");
        let text = list.last().and_then(|last| {
            let content = &last["content"];
            content.as_str().or_else(|| content[0]["text"].as_str()).filter(|_| last["role"] == "user")
        });
        let reminder = text.filter(|text| text.starts_with(REMINDER)).map(str::to_owned);
        if reminder.is_some() {
            list.pop();
        }
        (body, reminder)
    }
}

type Script = Box<dyn FnMut(&Request) -> Reply + Send>;

enum Source {
    Queue(VecDeque<Reply>),
    Script(Script),
}

#[derive(Default)]
struct State {
    requests: Vec<Request>,
    sockets: Vec<TcpStream>,
    threads: Vec<JoinHandle<()>>,
    /// The time at which the first byte of each answer was written.
    begun: Vec<Instant>,
    /// The time at which the last byte of each complete answer was written.
    answered: Vec<Instant>,
    /// The time at which each event of a paced answer was written.
    paced: Vec<Instant>,
    /// The numbers of the closed connections, each with the time of its close.
    closed: Vec<(usize, Instant)>,
    forget_bodies: bool,
    /// Bytes written of endless answers.
    flooded: u64,
    /// The number of releases that no holding answer has used.
    released: usize,
    /// The number of answers that hold now.
    holding: usize,
    stopping: bool,
}

struct Shared {
    source: Mutex<Source>,
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.lock());
        self.changed.notify_all();
        result
    }

    /// Waits until `ready` returns a value. There is no time limit, because `ready` also checks for the stop.
    fn wait<T>(&self, mut ready: impl FnMut(&mut State) -> Option<T>) -> T {
        let mut state = self.lock();
        loop {
            if let Some(value) = ready(&mut state) {
                return value;
            }
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// Waits until `moment`; returns `false` if the server ended first.
    fn wait_until(&self, moment: Instant) -> bool {
        let mut state = self.lock();
        loop {
            let left = moment.saturating_duration_since(Instant::now());
            if state.stopping || left.is_zero() {
                return !state.stopping;
            }
            let (next, _) =
                self.changed.wait_timeout(state, left).unwrap_or_else(|poisoned| poisoned.into_inner());
            state = next;
        }
    }

    fn next_reply(&self, request: &Request) -> Reply {
        let mut source = self.source.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match &mut *source {
            // A 400 is never retried, so a test with too many requests ends at once.
            Source::Queue(queue) => queue.pop_front().unwrap_or_else(|| {
                Reply::status(400)
                    .body(r#"{"error":{"message":"the test has no more answers for this request"}}"#)
            }),
            Source::Script(script) => script(request),
        }
    }
}

/// The double. Its drop closes every connection and ends every thread.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// Starts a server that plays `replies` in order and then answers 400.
    pub fn start(replies: impl IntoIterator<Item = Reply>) -> ModelServer {
        ModelServer::with_source(Source::Queue(replies.into_iter().collect()))
    }

    /// Starts a server that calls `script` for each answer.
    pub fn answering(script: impl FnMut(&Request) -> Reply + Send + 'static) -> ModelServer {
        ModelServer::with_source(Source::Script(Box::new(script)))
    }

    fn with_source(source: Source) -> ModelServer {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port is free");
        let address = listener.local_addr().expect("a bound listener has an address");
        let shared =
            Arc::new(Shared { source: Mutex::new(source), state: Mutex::default(), changed: Condvar::new() });
        let accepting = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || connection::accept(&listener, &shared)
        });
        ModelServer { address, shared, accepting: Some(accepting) }
    }

    /// Returns the `base_url` to put into the settings.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Adds one reply to the end of the queue.
    pub fn push(&self, reply: Reply) {
        let mut source = self.shared.source.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match &mut *source {
            Source::Queue(queue) => queue.push_back(reply),
            Source::Script(_) => panic!("a server that answers by a script has no queue"),
        }
    }

    /// Returns all requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().requests.clone()
    }

    /// Keeps only the length of later bodies, so that a long run needs no memory here.
    pub fn forget_bodies(&self) {
        self.shared.change(|state| state.forget_bodies = true);
    }

    /// Returns the time at which the first byte of each answer was written to the socket.
    pub fn begun(&self) -> Vec<Instant> {
        self.shared.lock().begun.clone()
    }

    /// Returns the time at which the last byte of each complete answer was written to the socket.
    pub fn answered(&self) -> Vec<Instant> {
        self.shared.lock().answered.clone()
    }

    /// Waits until `count` answers are complete and returns the time of each.
    pub fn wait_for_answered(&self, count: usize) -> Vec<Instant> {
        self.wait_until("answers", |state| (state.answered.len() >= count).then(|| state.answered.clone()))
    }

    /// Returns the time at which each event of the [`Reply::paced`] answers was written to the socket.
    pub fn paced(&self) -> Vec<Instant> {
        self.shared.lock().paced.clone()
    }

    /// Returns the time at which the double saw each close of a connection.
    pub fn closed_at(&self) -> Vec<Instant> {
        self.shared.lock().closed.iter().map(|(_, at)| *at).collect()
    }

    /// Returns the number of accepted connections so far.
    pub fn connections(&self) -> usize {
        self.shared.lock().sockets.len()
    }

    /// Returns the number of bytes written of endless answers, those still in sockets included.
    pub fn flooded(&self) -> u64 {
        self.shared.lock().flooded
    }

    /// Waits until `count` requests have arrived and returns them.
    pub fn wait_for_requests(&self, count: usize) -> Vec<Request> {
        self.wait_until("requests", |state| (state.requests.len() >= count).then(|| state.requests.clone()))
    }

    /// Waits until `count` answers hold at once, for example at [`Reply::hold_after`] or [`Reply::never`].
    pub fn wait_for_holding(&self, count: usize) {
        self.wait_until("holding answers", |state| (state.holding >= count).then_some(()));
    }

    /// Waits until `count` connections are closed, by the client or by a cut.
    pub fn wait_for_closed(&self, count: usize) {
        self.wait_until("closed connections", |state| (state.closed.len() >= count).then_some(()));
    }

    /// Lets one holding answer continue. Without one, the next answer that holds continues at once.
    pub fn release(&self) {
        self.shared.change(|state| state.released += 1);
    }

    fn wait_until<T>(&self, what: &str, mut ready: impl FnMut(&State) -> Option<T>) -> T {
        let end = Instant::now() + DEADLINE;
        let mut state = self.shared.lock();
        loop {
            if let Some(value) = ready(&state) {
                return value;
            }
            let left = end.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero(),
                "waited {DEADLINE:?} for {what}; {} requests arrived",
                state.requests.len()
            );
            let (next, _) = self
                .shared
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            state = next;
        }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.change(|state| {
            state.stopping = true;
            for socket in &state.sockets {
                let _ = socket.shutdown(Shutdown::Both);
            }
        });
        // The listener waits for a connection; this one wakes it, so that it sees the stop.
        let _ = TcpStream::connect_timeout(&self.address, DEADLINE);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        let threads = self.shared.change(|state| std::mem::take(&mut state.threads));
        for thread in threads {
            let _ = thread.join();
        }
    }
}
