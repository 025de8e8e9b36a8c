//! A model provider on loopback: real sockets, real HTTP/1.1, real streams.
//!
//! Speaks the wire format of the path that is asked for, plays one answer per request and records
//! what it was sent. Plain threads, so that it works beside any runtime; it
//! never answers what no test told it to.

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

/// How long a wait for something that must happen may last.
const DEADLINE: Duration = Duration::from_secs(10);

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct Request {
    /// `POST`, mostly.
    pub method: String,
    pub path: String,
    /// Names in lower case, in the order they came.
    pub headers: Vec<(String, String)>,
    /// Empty where the server was told to [`ModelServer::forget_bodies`].
    pub body: Vec<u8>,
    /// Bytes of the body.
    pub size: usize,
    /// Which accepted connection it came by, from zero.
    pub connection: usize,
    /// When its first byte was there.
    pub arrived: Instant,
}

impl Request {
    /// Returns the value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body as JSON; panics if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the body of a model request is JSON")
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
    /// When the first byte of each answer was handed over.
    begun: Vec<Instant>,
    /// Answers sent to their last byte, and when that byte was handed over.
    answered: Vec<Instant>,
    /// When each event of a paced answer was handed over.
    paced: Vec<Instant>,
    /// Connections that are closed, by their numbers, and when that was seen.
    closed: Vec<(usize, Instant)>,
    forget_bodies: bool,
    /// Bytes of answers without an end.
    flooded: u64,
    /// Holding answers that may go on.
    released: usize,
    /// Answers that hold now.
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

    /// Waits until `ready` gives a value; without limit, since stopping is one of its conditions.
    fn wait<T>(&self, mut ready: impl FnMut(&mut State) -> Option<T>) -> T {
        let mut state = self.lock();
        loop {
            if let Some(value) = ready(&mut state) {
                return value;
            }
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// Waits until `moment`; `false` if the server ended first.
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
            // A 400 is never tried again, so a test that asks too often ends at once.
            Source::Queue(queue) => queue.pop_front().unwrap_or_else(|| {
                Reply::status(400)
                    .body(r#"{"error":{"message":"the test has no more answers for this request"}}"#)
            }),
            Source::Script(script) => script(request),
        }
    }
}

/// The double. Dropping it closes every connection and ends every thread.
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

    /// Starts a server whose every answer is made by `script`.
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

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().requests.clone()
    }

    /// Keeps of later requests only how long they were, so that a long run costs no memory here.
    pub fn forget_bodies(&self) {
        self.shared.change(|state| state.forget_bodies = true);
    }

    /// Returns when the first byte of each answer was handed to the socket.
    pub fn begun(&self) -> Vec<Instant> {
        self.shared.lock().begun.clone()
    }

    /// Returns when the last byte of each complete answer was handed to the socket.
    pub fn answered(&self) -> Vec<Instant> {
        self.shared.lock().answered.clone()
    }

    /// Waits until `count` answers are complete and returns when each was.
    pub fn wait_for_answered(&self, count: usize) -> Vec<Instant> {
        self.wait_until("answers", |state| (state.answered.len() >= count).then(|| state.answered.clone()))
    }

    /// Returns when each event of the [`Reply::paced`] answers was handed to the socket.
    pub fn paced(&self) -> Vec<Instant> {
        self.shared.lock().paced.clone()
    }

    /// Returns when each closed connection was seen to be closed.
    pub fn closed_at(&self) -> Vec<Instant> {
        self.shared.lock().closed.iter().map(|(_, at)| *at).collect()
    }

    /// Returns how many connections were accepted so far.
    pub fn connections(&self) -> usize {
        self.shared.lock().sockets.len()
    }

    /// Returns how many bytes of answers without an end were taken, with what still stood in sockets.
    pub fn flooded(&self) -> u64 {
        self.shared.lock().flooded
    }

    /// Waits until `count` requests have arrived and returns them.
    pub fn wait_for_requests(&self, count: usize) -> Vec<Request> {
        self.wait_until("requests", |state| (state.requests.len() >= count).then(|| state.requests.clone()))
    }

    /// Waits until `count` answers hold, each at its [`Reply::hold_after`] or [`Reply::never`].
    pub fn wait_for_holding(&self, count: usize) {
        self.wait_until("holding answers", |state| (state.holding >= count).then_some(()));
    }

    /// Waits until `count` connections are closed, by the client or by a cut.
    pub fn wait_for_closed(&self, count: usize) {
        self.wait_until("closed connections", |state| (state.closed.len() >= count).then_some(()));
    }

    /// Lets one holding answer go on, also one that will hold only later.
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
                "waited {DEADLINE:?} for {what}; {} requests came",
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
        // The listener waits for a connection; this one wakes it to see the end.
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
