//! Updates on their way to one client: in order, text merged, memory bounded.
//!
//! Never drops a lasting update while the connection lives; chunks are merged,
//! and withheld from a client that does not read, whom the finished item heals.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use adjutant_protocol::ask::AskResolvedParams;
use adjutant_protocol::methods;
use adjutant_protocol::update::{SessionUpdateParams, Update};
use serde_json::Value;
use tokio::sync::{Notify, oneshot};

use crate::transport::{Out, PendingReply};

/// At most thirty pieces of one text a second.
const MERGE: Duration = Duration::from_millis(33);
/// Text of one item that is merged for a slow client; more is withheld.
const MAX_MERGED: usize = 4 * 1024 * 1024;
/// Items whose last sending is remembered; older ones start afresh.
const MAX_REMEMBERED: usize = 256;

#[derive(Clone)]
pub struct Outlet {
    shared: Arc<Shared>,
}

struct Shared {
    queue: Mutex<Queue>,
    /// Something was queued.
    filled: Notify,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    closed: bool,
}

enum Waiting {
    Update(Box<SessionUpdateParams>),
    Resolved(Box<AskResolvedParams>),
    /// Somebody waits for everything before it to be handed to the writer.
    Marker(oneshot::Sender<()>),
    /// A request of ours that belongs here; nobody sends it once its asker has gone.
    Request {
        method: &'static str,
        params: Value,
        pending: oneshot::Sender<PendingReply>,
    },
    /// An answer belongs here: what is queued behind waits until it has been given.
    Turnstile {
        reached: oneshot::Sender<()>,
        go_on: oneshot::Receiver<()>,
    },
}

/// The place of an answer among the updates.
#[derive(Debug)]
pub struct Turnstile {
    reached: oneshot::Receiver<()>,
    /// Dropped unsent, it lets the updates go on as well.
    go_on: oneshot::Sender<()>,
}

impl Turnstile {
    /// Waits until everything queued before has been handed to the writer, and returns what lets
    /// the rest follow.
    pub async fn reached(self) -> oneshot::Sender<()> {
        // An outlet that is gone sends nothing more, before or behind.
        let _ = self.reached.await;
        self.go_on
    }
}

impl Outlet {
    /// Starts the pump of one connection; it ends with the connection.
    pub fn start(out: Out) -> Self {
        let shared = Arc::new(Shared { queue: Mutex::default(), filled: Notify::new() });
        let outlet = Self { shared };
        tokio::spawn(outlet.clone().pump(out));
        outlet
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues an update; text is merged into the piece before it.
    pub fn push(&self, params: SessionUpdateParams) {
        let mut queue = self.lock();
        if queue.closed {
            return;
        }
        if let Some(Waiting::Update(last)) = queue.waiting.back_mut()
            && merge(last, &params)
        {
            return;
        }
        queue.waiting.push_back(Waiting::Update(Box::new(params)));
        drop(queue);
        self.shared.filled.notify_one();
    }

    pub fn resolved(&self, params: AskResolvedParams) {
        let mut queue = self.lock();
        if !queue.closed {
            queue.waiting.push_back(Waiting::Resolved(Box::new(params)));
            drop(queue);
            self.shared.filled.notify_one();
        }
    }

    /// Waits until everything queued before has been handed to the writer.
    pub async fn flushed(&self) {
        let (marker, passed) = oneshot::channel();
        {
            let mut queue = self.lock();
            if queue.closed {
                return;
            }
            queue.waiting.push_back(Waiting::Marker(marker));
        }
        self.shared.filled.notify_one();
        let _ = passed.await;
    }

    /// Sends a request behind everything queued before, and returns the future of its reply;
    /// none when the connection is over. What is queued later is sent behind it.
    pub async fn request(&self, method: &'static str, params: Value) -> Option<PendingReply> {
        let (pending, sent) = oneshot::channel();
        {
            let mut queue = self.lock();
            if queue.closed {
                return None;
            }
            queue.waiting.push_back(Waiting::Request { method, params, pending });
        }
        self.shared.filled.notify_one();
        sent.await.ok()
    }

    /// Sends what is queued, for as long as `limit`, and nothing any more.
    pub async fn finish(&self, limit: Duration) {
        // A client that does not read has to do without the rest.
        let _ = tokio::time::timeout(limit, self.flushed()).await;
        let mut queue = self.lock();
        queue.closed = true;
        queue.waiting.clear();
    }

    /// Marks the place of an answer: nothing queued from now on is sent before it.
    pub fn turnstile(&self) -> Turnstile {
        let (reached, was_reached) = oneshot::channel();
        let (go_on, may_go_on) = oneshot::channel();
        let mut queue = self.lock();
        if !queue.closed {
            queue.waiting.push_back(Waiting::Turnstile { reached, go_on: may_go_on });
            drop(queue);
            self.shared.filled.notify_one();
        }
        Turnstile { reached: was_reached, go_on }
    }

    async fn pump(self, out: Out) {
        let mut sent: HashMap<String, Instant> = HashMap::new();
        loop {
            let next = tokio::select! {
                next = self.next(&mut sent) => next,
                () = out.closed() => break,
            };
            let result = match next {
                Waiting::Update(params) => out.notify(methods::SESSION_UPDATE, &*params).await,
                Waiting::Resolved(params) => out.notify(methods::ASK_RESOLVED, &*params).await,
                Waiting::Marker(marker) => {
                    let _ = marker.send(());
                    continue;
                }
                Waiting::Request { method, params, pending } => {
                    if !pending.is_closed() {
                        // An asker that goes in this moment drops the reply, which withdraws it.
                        let _ = pending.send(out.request(method, &params));
                    }
                    continue;
                }
                Waiting::Turnstile { reached, go_on } => {
                    let _ = reached.send(());
                    tokio::select! {
                        _ = go_on => continue,
                        () = out.closed() => break,
                    }
                }
            };
            if result.is_err() {
                break;
            }
        }
        let mut queue = self.lock();
        queue.closed = true;
        queue.waiting.clear();
    }

    /// Takes the next update; a piece of text waits for its time unless something comes after it.
    async fn next(&self, sent: &mut HashMap<String, Instant>) -> Waiting {
        loop {
            let filled = self.shared.filled.notified();
            let pause = {
                let mut queue = self.lock();
                match pause(&queue, sent) {
                    Some(pause) if pause.is_zero() => {
                        if let Some(next) = queue.waiting.pop_front() {
                            remember(&next, sent);
                            return next;
                        }
                        None
                    }
                    pause => pause,
                }
            };
            match pause {
                Some(pause) => {
                    let _ = tokio::time::timeout(pause, filled).await;
                }
                None => filled.await,
            }
        }
    }
}

/// How long the first in the queue has to wait; `None` when nothing is queued.
fn pause(queue: &Queue, sent: &HashMap<String, Instant>) -> Option<Duration> {
    let first = queue.waiting.front()?;
    let Waiting::Update(params) = first else { return Some(Duration::ZERO) };
    if queue.waiting.len() > 1 {
        // End of the item, or another item: what comes behind must not wait.
        return Some(Duration::ZERO);
    }
    let since = piece(&params.update).and_then(|(item, _)| sent.get(item)).map(Instant::elapsed);
    Some(since.map_or(Duration::ZERO, |since| MERGE.saturating_sub(since)))
}

fn remember(next: &Waiting, sent: &mut HashMap<String, Instant>) {
    if let Waiting::Update(params) = next
        && let Some((item, _)) = piece(&params.update)
    {
        if sent.len() >= MAX_REMEMBERED {
            sent.clear();
        }
        sent.insert(item.to_owned(), Instant::now());
    }
}

/// The item and text of a chunk.
fn piece(update: &Update) -> Option<(&str, &str)> {
    match update {
        Update::AgentMessageChunk { message_id, text } | Update::AgentThoughtChunk { message_id, text } => {
            Some((&message_id.0, text))
        }
        Update::ToolCallContentChunk { tool_call_id, text } => Some((&tool_call_id.0, text)),
        _ => None,
    }
}

fn piece_mut(update: &mut Update) -> Option<&mut String> {
    match update {
        Update::AgentMessageChunk { text, .. }
        | Update::AgentThoughtChunk { text, .. }
        | Update::ToolCallContentChunk { text, .. } => Some(text),
        _ => None,
    }
}

/// Adds a chunk to the one before it, if it is of the same item and kind.
fn merge(last: &mut SessionUpdateParams, next: &SessionUpdateParams) -> bool {
    let same = match (piece(&last.update), piece(&next.update)) {
        (Some((one, _)), Some((other, _))) => {
            one == other && last.update.kind() == next.update.kind() && last.session_id == next.session_id
        }
        _ => false,
    };
    if !same {
        return false;
    }
    if let (Some(text), Some((_, more))) = (piece_mut(&mut last.update), piece(&next.update))
        && text.len() < MAX_MERGED
    {
        text.push_str(more);
    }
    true
}
