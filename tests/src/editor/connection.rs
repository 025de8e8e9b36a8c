//! The connection of the editor double: two threads, one state, one lock.
//!
//! Writing never blocks reading, so a server that stops reading cannot stop the double too.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{BufReader, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use adjutant_protocol::SessionId;
use adjutant_protocol::ask::{AskResolvedParams, AskView};
use adjutant_protocol::overview::Overview;
use adjutant_protocol::review::ReviewUpdateParams;
use adjutant_protocol::session::SessionChangedParams;
use adjutant_protocol::update::SessionUpdateParams;
use serde_json::Value;

use super::apply::ApplyBehaviour;
use super::asks::AskScript;
use super::buffers::Buffers;
use super::options::Options;
use super::progress::Progress;
use super::seen::Seen;
use super::violation::{Rule, Violation};
use super::watch::{Watch, World, plain_uri};
use super::wire::{self, Id, Message, RpcError};

/// The phase of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// `initialize` is not answered yet.
    Starting,
    Running,
    /// `shutdown` is answered.
    ShutDown,
}

/// A request of the editor.
pub struct Sent {
    pub method: String,
    pub params: Value,
    pub response: Option<Result<Value, RpcError>>,
}

/// A `workspace/applyEdit` that arrived.
#[derive(Clone, Debug)]
pub struct SeenApply {
    pub id: Id,
    pub params: Value,
    /// The answer; none while it is delayed or if it never comes.
    pub reply: Option<Result<Value, RpcError>>,
    /// Whether `$/cancelRequest` arrived before the answer.
    pub withdrawn: bool,
    pub(super) late: bool,
}

/// A question or message to the user in plain LSP, without the `agent/` methods.
#[derive(Clone, Debug)]
pub struct Popup {
    pub id: Id,
    pub message: String,
    /// The titles of its buttons.
    pub actions: Vec<String>,
    pub(super) items: Vec<Value>,
}

pub type Hook = Box<dyn FnMut(&mut Buffers) + Send>;

/// The whole state of the double; one lock protects it.
pub struct Inner {
    pub options: Options,
    outgoing: Option<Sender<Vec<u8>>>,
    pub seen: Seen,
    pub faults: Vec<Violation>,
    pub phase: Phase,
    pub stalled: bool,
    /// The reason why reading ended.
    pub ended: Option<String>,
    /// Whether the test breaks the connection on purpose.
    pub loss_expected: bool,
    next_id: i64,
    pub sent: BTreeMap<Id, Sent>,
    /// Server requests without an answer so far.
    pub incoming: BTreeSet<Id>,
    pub withdrawn: Vec<Id>,
    pub buffers: Buffers,
    pub world: World,
    pub apply_queue: VecDeque<ApplyBehaviour>,
    pub before_apply: Option<Hook>,
    pub applies: Vec<SeenApply>,
    /// The questions whether the window can be reached, which wait for an answer.
    pub reaches: Vec<Id>,
    pub refused_an_edit: bool,
    pub ask_script: AskScript,
    /// All asks, each once, in the order of arrival.
    pub asks: Vec<AskView>,
    pub asks_taken: BTreeSet<String>,
    /// Asks that arrived as a request, each with the id of the request while it is open.
    pub delivered: Vec<(AskView, Option<Id>)>,
    pub resolved: Vec<AskResolvedParams>,
    pub popups: Vec<Popup>,
    pub popups_taken: usize,
    /// The number of popups that this editor answered with `MethodNotFound`.
    pub popups_refused: usize,
    /// The params of all `window/showDocument` requests.
    pub shown: Vec<Value>,
    /// What the server asked to read again, and nobody has waited for yet: the method, and the URI if there is one.
    pub refreshes: Vec<String>,
    /// The popups on the screen now.
    pub open_popups: BTreeSet<Id>,
    pub messages: VecDeque<(u64, String)>,
    /// What a plain client was told at the ends of runs.
    pub answers: Vec<String>,
    pub logged: Vec<String>,
    pub progress: Progress,
    pub diagnostics: BTreeMap<String, Value>,
    /// The last `agent/review/update` of each document.
    pub overviews: Vec<Overview>,
    /// Each `agent/session/changed`, in the order of arrival.
    pub listed: Vec<SessionChangedParams>,
    pub reviews: BTreeMap<String, ReviewUpdateParams>,
    pub saves: Vec<Value>,
    pub watch: Watch,
    pub updates: Vec<SessionUpdateParams>,
    /// Earlier updates were awaited already.
    pub cursor: usize,
    /// Earlier states are from before the last prompt.
    pub state_floor: usize,
    /// The index of the last state update of each session.
    pub last_state: BTreeMap<SessionId, usize>,
}

/// The state, and the condition variable for its changes.
pub struct Shared {
    inner: Mutex<Inner>,
    changed: Condvar,
}

impl Shared {
    /// Locks the state. Ignores the panic of another holder, which fails the test by itself.
    pub fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes all waiting threads.
    pub fn wake(&self) {
        self.changed.notify_all();
    }

    /// Waits until `find` returns a value. After the deadline, panics with all messages so far.
    #[track_caller]
    pub fn wait<T>(&self, what: &str, mut find: impl FnMut(&mut Inner) -> Option<T>) -> T {
        let mut inner = self.lock();
        let deadline = inner.options.deadline;
        let until = Instant::now() + deadline;
        loop {
            if let Some(found) = find(&mut inner) {
                return found;
            }
            let left = until.saturating_duration_since(Instant::now());
            if inner.ended.is_some() || left.is_zero() {
                let why = match &inner.ended {
                    Some(why) => why.clone(),
                    None => format!("nothing in {deadline:?}"),
                };
                let report = inner.report();
                drop(inner);
                panic!("waited for {what}: {why}\n{report}");
            }
            inner = self.changed.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Inner {
    fn new(options: Options, outgoing: Sender<Vec<u8>>) -> Self {
        let buffers = Buffers::new(options.root.clone(), options.first_version);
        let agent = options.capabilities.agent.as_ref();
        let mut unwanted: Vec<String> = agent.map(|agent| agent.updates.opt_out.clone()).unwrap_or_default();
        let gaps = !unwanted.is_empty();
        if agent.is_some_and(|agent| !agent.updates.chunks) {
            let chunks = ["agent_message_chunk", "agent_thought_chunk", "tool_call_content_chunk"];
            unwanted.extend(chunks.map(str::to_owned));
        }
        Self {
            watch: Watch::new(options.chunks, gaps),
            world: World { unwanted, ..World::default() },
            options,
            outgoing: Some(outgoing),
            seen: Seen::default(),
            faults: Vec::new(),
            phase: Phase::Starting,
            stalled: false,
            ended: None,
            loss_expected: false,
            next_id: 0,
            sent: BTreeMap::new(),
            incoming: BTreeSet::new(),
            withdrawn: Vec::new(),
            buffers,
            apply_queue: VecDeque::new(),
            before_apply: None,
            applies: Vec::new(),
            reaches: Vec::new(),
            refused_an_edit: false,
            ask_script: AskScript::default(),
            asks: Vec::new(),
            asks_taken: BTreeSet::new(),
            delivered: Vec::new(),
            resolved: Vec::new(),
            popups: Vec::new(),
            popups_taken: 0,
            popups_refused: 0,
            shown: Vec::new(),
            refreshes: Vec::new(),
            open_popups: BTreeSet::new(),
            messages: VecDeque::new(),
            answers: Vec::new(),
            logged: Vec::new(),
            progress: Progress::default(),
            diagnostics: BTreeMap::new(),
            overviews: Vec::new(),
            listed: Vec::new(),
            reviews: BTreeMap::new(),
            saves: Vec::new(),
            updates: Vec::new(),
            cursor: 0,
            state_floor: 0,
            last_state: BTreeMap::new(),
        }
    }

    /// Records a violation of the server.
    pub fn fault(&mut self, rule: Rule, what: impl Into<String>) {
        self.faults.push(Violation::new(rule, what));
    }

    /// Queues a message after all earlier ones.
    pub fn send(&mut self, message: &Message) {
        self.seen.sent(message);
        self.send_bytes(wire::frame(message));
    }

    /// Queues bytes, which need not be a frame.
    pub fn send_bytes(&mut self, bytes: Vec<u8>) {
        // A writer that ended has recorded the reason.
        let _ = self.outgoing.as_ref().map(|outgoing| outgoing.send(bytes));
    }

    /// Closes the output, so that the server sees the end of its input.
    pub fn close(&mut self) {
        self.outgoing = None;
    }

    /// Sends a request. Ids alternate between numbers and strings, because both are allowed.
    pub fn request(&mut self, method: &str, params: Value) -> Id {
        self.next_id += 1;
        let number = self.next_id;
        let id = if number % 2 == 1 { Id::Number(number) } else { Id::Text(format!("editor-{number}")) };
        self.send(&Message::Request { id: id.clone(), method: method.to_owned(), params: params.clone() });
        self.sent.insert(id.clone(), Sent { method: method.to_owned(), params, response: None });
        id
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&Message::Notification { method: method.to_owned(), params });
    }

    /// Answers a request of the server.
    pub fn respond(&mut self, id: &Id, result: Result<Value, RpcError>) {
        self.open_popups.remove(id);
        if self.incoming.remove(id) {
            self.send(&Message::Response { id: id.clone(), result });
        }
    }

    /// Sends the pending notifications of the buffers.
    pub fn send_changes(&mut self) {
        for (method, params) in self.buffers.take_outbox() {
            self.notify(method, params);
        }
        self.world.open = self.buffers.uris().map(plain_uri).collect();
    }

    /// Returns all messages and violations so far, for the text of a failure.
    pub fn report(&self) -> String {
        let mut text = format!("--- seen so far ---\n{}", self.seen.text());
        for fault in &self.faults {
            text.push_str(&format!("--- violation: {fault}\n"));
        }
        if let Some(also) = &self.options.also_show {
            text.push_str(&also());
        }
        text
    }
}

/// Connects a double to a pair of byte streams and starts its two threads.
pub fn connect(
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
    options: Options,
) -> Arc<Shared> {
    let (outgoing, queue) = channel();
    let shared =
        Arc::new(Shared { inner: Mutex::new(Inner::new(options, outgoing)), changed: Condvar::new() });
    let writing = shared.clone();
    thread::spawn(move || write_all(writer, &queue, &writing));
    let reading = shared.clone();
    thread::spawn(move || {
        let end = EndOfReading(reading);
        let why = read_all(reader, &end.0);
        end.0.lock().ended = Some(why);
    });
    shared
}

/// Reports the end of reading on drop, also when the double's own thread panics.
struct EndOfReading(Arc<Shared>);

impl Drop for EndOfReading {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        if thread::panicking() {
            inner.ended = Some("the editor double panicked in its own thread".to_owned());
        }
        let why = inner.ended.clone().unwrap_or_default();
        if !inner.loss_expected && (inner.phase != Phase::ShutDown || thread::panicking()) {
            inner.fault(Rule::ConnectionLost, why);
        }
        drop(inner);
        self.0.wake();
    }
}

fn write_all(mut writer: impl Write, queue: &Receiver<Vec<u8>>, shared: &Shared) {
    while let Ok(bytes) = queue.recv() {
        if let Err(error) = writer.write_all(&bytes).and_then(|()| writer.flush()) {
            let mut inner = shared.lock();
            inner.seen.note(&format!("(the server accepts no more bytes: {error})"));
            inner.close();
            return;
        }
    }
}

/// Reads until the end and returns its reason.
fn read_all(reader: impl Read, shared: &Shared) -> String {
    let mut reader = BufReader::new(reader);
    loop {
        let mut inner = shared.lock();
        while inner.stalled {
            inner = shared.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        drop(inner);
        let body = match wire::read_frame(&mut reader) {
            Ok(Some(body)) => body,
            Ok(None) => return "the server closed the connection".to_owned(),
            Err(why) => {
                // After a bad frame, the begin of the next one is unknown.
                shared.lock().fault(Rule::Framing, why.clone());
                return format!("the server sent no frame: {why}");
            }
        };
        let mut inner = shared.lock();
        match wire::parse(&body) {
            Ok(message) => {
                inner.seen.received(&message);
                inner.receive(message);
            }
            Err(why) => inner.fault(Rule::Framing, why),
        }
        drop(inner);
        shared.wake();
    }
}
