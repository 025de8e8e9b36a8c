//! The outbound queue of one client: in order, text merged, memory bounded.
//!
//! Never loses a lasting update while the connection lives: updates that do not
//! fit are sent from the log. Chunks are merged. A client that does not read gets
//! no chunks; the finished item has their text.

mod queue;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use adjutant_protocol::SessionId;
use adjutant_protocol::ask::AskResolvedParams;
use adjutant_protocol::methods;
use adjutant_protocol::update::{SessionUpdateParams, Update};
use serde_json::Value;
use tokio::sync::{Notify, mpsc, oneshot};

use super::backfill::{Backfill, LastingMessage, PastUpdates, UpdateRange};
use super::face::Request;
use crate::transport::{Out, PendingReply, SendError};
use queue::{Queue, QueueEntry, piece};

/// At most 125 pieces of one text a second. Slower text is never held back, and no screen shows more.
const MERGE: Duration = Duration::from_millis(8);
/// Items whose last sending time is remembered; all are forgotten when there are more.
const MAX_REMEMBERED: usize = 256;
/// Updates of a backfill that wait to be sent; the reader of the log waits for room. Each may be as
/// large as a record of the log.
const BACKFILL_ROOM: usize = 4;
/// How long the reader of a log may return nothing. Later entries of all sessions wait that long.
const SILENCE: Duration = Duration::from_secs(60);

/// Whether a client wants an update.
type UpdateFilter = Box<dyn Fn(&Update) -> bool + Send + Sync>;

#[derive(Clone)]
pub struct OutboundQueue {
    shared: Arc<OutboundState>,
}

struct OutboundState {
    queue: Mutex<Queue>,
    /// Something was queued.
    filled: Notify,
    backfills: mpsc::Sender<Backfill>,
    wanted: UpdateFilter,
    /// How long the reader of a log may return nothing.
    silence: Duration,
}

/// The place of an answer among the updates.
#[derive(Debug)]
pub struct OrderingBarrier {
    reached: oneshot::Receiver<()>,
    /// Lets the later updates follow, also when it is dropped unsent.
    go_on: oneshot::Sender<()>,
}

impl OrderingBarrier {
    /// Waits until everything queued before has been handed to the writer. Returns the sender that
    /// lets the rest follow.
    pub async fn reached(self) -> oneshot::Sender<()> {
        // A queue that is gone sends nothing more, so there is no order to keep.
        let _ = self.reached.await;
        self.go_on
    }
}

impl OutboundQueue {
    /// Starts the pump of one connection; it ends with the connection. The receiver gets requests for
    /// updates that did not fit.
    pub fn start(
        out: Out,
        wanted: impl Fn(&Update) -> bool + Send + Sync + 'static,
    ) -> (Self, mpsc::Receiver<Backfill>) {
        Self::with_silence(out, wanted, SILENCE)
    }

    /// Starts a pump that waits for a log at most `silence`.
    fn with_silence(
        out: Out,
        wanted: impl Fn(&Update) -> bool + Send + Sync + 'static,
        silence: Duration,
    ) -> (Self, mpsc::Receiver<Backfill>) {
        let (backfills, asked) = mpsc::channel(1);
        let (queue, filled, wanted) = (Mutex::default(), Notify::new(), Box::new(wanted));
        let outbound = Self { shared: Arc::new(OutboundState { queue, filled, backfills, wanted, silence }) };
        tokio::spawn(outbound.clone().pump(out));
        (outbound, asked)
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self, put: impl FnOnce(&mut Queue) -> bool) -> bool {
        let queued = put(&mut self.lock());
        if queued {
            self.shared.filled.notify_one();
        }
        queued
    }

    /// Queues an update that the client wants; text is merged into the piece before it.
    pub fn push(&self, params: SessionUpdateParams) {
        if (self.shared.wanted)(&params.update) {
            self.queue(|queue| queue.update(params));
        }
    }

    /// Whether the client wants an update.
    pub fn wants(&self, update: &Update) -> bool {
        (self.shared.wanted)(update)
    }

    /// Queues an update that is in no log.
    pub fn last_word(&self, params: &SessionUpdateParams) {
        if (self.shared.wanted)(&params.update) {
            self.queue(|queue| queue.last_word(params));
        }
    }

    /// Queues the message that an ask closed, after the update `seq`.
    pub fn resolved(&self, params: &AskResolvedParams, seq: u64) {
        self.queue(|queue| queue.resolved(params, seq));
    }

    /// Waits until everything queued before has been handed to the writer.
    pub async fn flushed(&self) {
        let (marker, passed) = oneshot::channel();
        if self.queue(|queue| queue.barrier(QueueEntry::Marker(marker))) {
            let _ = passed.await;
        }
    }

    /// Sends a request after everything queued before it and before everything queued later. Returns the
    /// future of its reply, or `None` if the connection is over.
    pub async fn request(&self, request: Request) -> Option<PendingReply> {
        self.post(request)?.await.ok()
    }

    /// Queues a request. The receiver gets the future of its reply when the request is sent. It is not sent
    /// if the receiver is dropped before.
    pub fn post(&self, Request(send): Request) -> Option<oneshot::Receiver<PendingReply>> {
        let (pending, sent) = oneshot::channel();
        let request = QueueEntry::Request { send, pending };
        self.queue(|queue| queue.barrier(request)).then_some(sent)
    }

    /// Queues a notification of the face.
    pub fn notify(&self, method: &'static str, params: &Value) {
        self.queue(|queue| queue.notification(method, params, true));
    }

    /// Queues a notification that may be lost if the client does not read. Returns whether there was room.
    pub fn hint(&self, method: &'static str, params: &Value) -> bool {
        self.queue(|queue| queue.notification(method, params, false))
    }

    /// Sends what is queued, for at most `limit`, then closes the queue.
    pub async fn finish(&self, limit: Duration) {
        let (marker, passed) = oneshot::channel();
        // Nothing is queued after the marker, because it would be sent after the answer to `shutdown`.
        if self.queue(|queue| queue.barrier(QueueEntry::Marker(marker)) && queue.refuse()) {
            // A client that does not read loses the rest.
            let _ = tokio::time::timeout(limit, passed).await;
        }
        self.lock().close();
    }

    /// Queues past updates, to be read from the log.
    pub fn replay(&self, session: SessionId, past: PastUpdates) {
        self.queue(|queue| queue.barrier(QueueEntry::Replay(session, past)));
    }

    /// Marks the place of an answer: nothing queued later is sent before it.
    pub fn ordering_barrier(&self) -> OrderingBarrier {
        let (reached, was_reached) = oneshot::channel();
        let (go_on, may_go_on) = oneshot::channel();
        self.queue(|queue| queue.barrier(QueueEntry::Barrier { reached, go_on: may_go_on }));
        OrderingBarrier { reached: was_reached, go_on }
    }

    async fn pump(self, out: Out) {
        let mut sent: HashMap<String, Instant> = HashMap::new();
        loop {
            let next = tokio::select! {
                next = self.next(&mut sent) => next,
                () = out.closed() => break,
            };
            let result = match next {
                QueueEntry::Piece(params) => out.notify(methods::SESSION_UPDATE, &*params).await,
                QueueEntry::Update(params) => {
                    let sending = out.notify(methods::SESSION_UPDATE, &*params);
                    // It may be large, and the message already has its text.
                    drop(params);
                    sending.await
                }
                QueueEntry::Resolved(params) => out.notify(methods::ASK_RESOLVED, &*params).await,
                QueueEntry::Gap(session, range) => self.backfill(&out, session, range, |_| true).await,
                QueueEntry::Replay(session, past) => {
                    let is_sent = |missed: &LastingMessage| matches!(missed, LastingMessage::Update(params) if past.has(params.seq));
                    self.backfill(&out, session, past.range, is_sent).await
                }
                QueueEntry::Notification { method, params } => out.notify(method, &*params).await,
                QueueEntry::Marker(marker) => {
                    let _ = marker.send(());
                    continue;
                }
                QueueEntry::Request { send, pending } => {
                    if !pending.is_closed() {
                        // A caller that leaves at this moment drops the reply, which withdraws the request.
                        let _ = pending.send(send(&out));
                    }
                    continue;
                }
                QueueEntry::Barrier { reached, go_on } => {
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
        self.lock().close();
    }

    /// Sends a range of past updates from the log; later entries wait. If the log is not read in time,
    /// the client sees the gap in the numbers and may resume the session.
    async fn backfill(
        &self,
        out: &Out,
        session: SessionId,
        range: UpdateRange,
        is_sent: impl Fn(&LastingMessage) -> bool,
    ) -> Result<(), SendError> {
        let (messages, mut past) = mpsc::channel(BACKFILL_ROOM);
        let name = session.clone();
        let asked = self.shared.backfills.send(Backfill { session, range, messages });
        let late = || tracing::error!(session = %name, "the log is not read in time; the client misses a part of it");
        tokio::select! {
            asked = tokio::time::timeout(self.shared.silence, asked) => match asked {
                Ok(Ok(())) => {}
                Ok(Err(_)) => {
                    tracing::error!("the reader of the logs has ended");
                    return Ok(());
                }
                Err(_) => {
                    late();
                    return Ok(());
                }
            },
            () = out.closed() => return Err(SendError::Closed),
        }
        loop {
            let next = tokio::select! {
                next = tokio::time::timeout(self.shared.silence, past.recv()) => next,
                () = out.closed() => return Err(SendError::Closed),
            };
            match next {
                Ok(Some(missed)) if is_sent(&missed) => self.send_missed(out, missed).await?,
                Ok(Some(_)) => {}
                Ok(None) => return Ok(()),
                Err(_) => {
                    late();
                    return Ok(());
                }
            }
        }
    }

    async fn send_missed(&self, out: &Out, missed: LastingMessage) -> Result<(), SendError> {
        match missed {
            LastingMessage::Update(params) if !(self.shared.wanted)(&params.update) => Ok(()),
            LastingMessage::Update(params) => {
                let sending = out.notify(methods::SESSION_UPDATE, &*params);
                // It may be large, and the message already has its text.
                drop(params);
                sending.await
            }
            LastingMessage::Resolved(params) => out.notify(methods::ASK_RESOLVED, &*params).await,
        }
    }

    /// Removes and returns the next entry. A piece of text waits for its time unless something follows it.
    async fn next(&self, sent: &mut HashMap<String, Instant>) -> QueueEntry {
        loop {
            let filled = self.shared.filled.notified();
            let pause = {
                let mut queue = self.lock();
                match pause(&queue, sent) {
                    Some(pause) if pause.is_zero() => {
                        if let Some(next) = queue.pop() {
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

/// Returns how long the first entry has to wait; `None` if nothing is queued.
fn pause(queue: &Queue, sent: &HashMap<String, Instant>) -> Option<Duration> {
    let QueueEntry::Piece(params) = queue.first()? else { return Some(Duration::ZERO) };
    if queue.len() > 1 {
        // The end of the item, or another item, follows; it must not wait.
        return Some(Duration::ZERO);
    }
    let since = piece(&params.update).and_then(|(item, _)| sent.get(item)).map(Instant::elapsed);
    Some(since.map_or(Duration::ZERO, |since| MERGE.saturating_sub(since)))
}

fn remember(next: &QueueEntry, sent: &mut HashMap<String, Instant>) {
    if let QueueEntry::Piece(params) = next
        && let Some((item, _)) = piece(&params.update)
    {
        if sent.len() >= MAX_REMEMBERED {
            sent.clear();
        }
        sent.insert(item.to_owned(), Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn f8_a_log_that_nobody_can_read_holds_up_what_comes_behind_it_for_a_while_only() {
        let (out, _parts) = crate::transport::channel();
        let (outbound, mut asked) = OutboundQueue::with_silence(out, |_| true, Duration::from_millis(20));
        let past = PastUpdates::all(1, 3).expect("updates");
        let replay = |session: &str| outbound.replay(session.into(), past.clone());
        replay("s-1");
        replay("s-2");
        outbound.flushed().await;
        // The reader hangs, so neither request was received.
        let first = asked.recv().await.expect("it was asked for");
        assert_eq!(first.session.0, "s-1");
        assert!(first.messages.is_closed(), "what comes now comes too late");
        // One that is read after all is sent.
        replay("s-3");
        let third = asked.recv().await.expect("it is asked for");
        assert_eq!(third.session.0, "s-3");
        drop(third);
        outbound.flushed().await;
    }
}
