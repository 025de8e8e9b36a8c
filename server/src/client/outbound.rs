//! Updates on their way to one client: in order, text merged, memory bounded.
//!
//! Never loses a lasting update while the connection lives: what does not fit
//! is sent from the log. Chunks are merged, and withheld from a client that
//! does not read, whom the finished item heals.

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

use super::backfill::{Backfill, LastingMessage, UpdateRange};
use super::face::Request;
use crate::transport::{Out, PendingReply, SendError};
use queue::{Queue, QueueEntry, piece};

/// At most 125 pieces of one text a second: what streams slower is never held back, and no screen shows more.
const MERGE: Duration = Duration::from_millis(8);
/// Items whose last sending is remembered; older ones start afresh.
const MAX_REMEMBERED: usize = 256;
/// Updates that were asked back and wait to be sent; whoever reads the log waits for room. Each may be
/// as large as a record of the log.
const RECALLED: usize = 4;
/// How long a log may be read without a word. What comes behind waits as long, of all sessions.
const SILENCE: Duration = Duration::from_secs(60);

/// Says whether a client takes an update.
type UpdateFilter = Box<dyn Fn(&Update) -> bool + Send + Sync>;

#[derive(Clone)]
pub struct OutboundQueue {
    shared: Arc<OutboundState>,
}

struct OutboundState {
    queue: Mutex<Queue>,
    /// Something was queued.
    filled: Notify,
    recalls: mpsc::Sender<Backfill>,
    wanted: UpdateFilter,
    /// How long a log may be read without a word.
    silence: Duration,
}

/// The place of an answer among the updates.
#[derive(Debug)]
pub struct OrderingBarrier {
    reached: oneshot::Receiver<()>,
    /// Dropped unsent, it lets the updates go on as well.
    go_on: oneshot::Sender<()>,
}

impl OrderingBarrier {
    /// Waits until everything queued before has been handed to the writer, and returns what lets
    /// the rest follow.
    pub async fn reached(self) -> oneshot::Sender<()> {
        // An outlet that is gone sends nothing more, before or behind.
        let _ = self.reached.await;
        self.go_on
    }
}

impl OutboundQueue {
    /// Starts the pump of one connection; it ends with the connection. What did not fit is asked
    /// back over the receiver.
    pub fn start(
        out: Out,
        wanted: impl Fn(&Update) -> bool + Send + Sync + 'static,
    ) -> (Self, mpsc::Receiver<Backfill>) {
        Self::patient(out, wanted, SILENCE)
    }

    /// Starts a pump that waits so long for a log.
    fn patient(
        out: Out,
        wanted: impl Fn(&Update) -> bool + Send + Sync + 'static,
        silence: Duration,
    ) -> (Self, mpsc::Receiver<Backfill>) {
        let (recalls, asked) = mpsc::channel(1);
        let (queue, filled, wanted) = (Mutex::default(), Notify::new(), Box::new(wanted));
        let outlet = Self { shared: Arc::new(OutboundState { queue, filled, recalls, wanted, silence }) };
        tokio::spawn(outlet.clone().pump(out));
        (outlet, asked)
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self, put: impl FnOnce(&mut Queue) -> bool) -> bool {
        let kept = put(&mut self.lock());
        if kept {
            self.shared.filled.notify_one();
        }
        kept
    }

    /// Queues an update the client takes; text is merged into the piece before it.
    pub fn push(&self, params: SessionUpdateParams) {
        if (self.shared.wanted)(&params.update) {
            self.queue(|queue| queue.update(params));
        }
    }

    /// Queues an update that is in no log.
    pub fn last_word(&self, params: &SessionUpdateParams) {
        if (self.shared.wanted)(&params.update) {
            self.queue(|queue| queue.last_word(params));
        }
    }

    /// Queues the word that an ask closed, behind the update `seq`.
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

    /// Sends a request behind everything queued before, and returns the future of its reply;
    /// none when the connection is over. What is queued later is sent behind it.
    pub async fn request(&self, request: Request) -> Option<PendingReply> {
        self.post(request)?.await.ok()
    }

    /// Queues a request behind everything queued before; the future of its reply comes when it is
    /// sent. It is not sent once the receiver is dropped.
    pub fn post(&self, Request(send): Request) -> Option<oneshot::Receiver<PendingReply>> {
        let (pending, sent) = oneshot::channel();
        let request = QueueEntry::Request { send, pending };
        self.queue(|queue| queue.barrier(request)).then_some(sent)
    }

    /// Queues a notification of the face behind everything queued before.
    pub fn notify(&self, method: &'static str, params: &Value) {
        self.queue(|queue| queue.notification(method, params, true));
    }

    /// Queues a notification that a client which does not read can do without.
    pub fn hint(&self, method: &'static str, params: &Value) {
        self.queue(|queue| queue.notification(method, params, false));
    }

    /// Sends what is queued, for as long as `limit`, and nothing any more.
    pub async fn finish(&self, limit: Duration) {
        let (marker, passed) = oneshot::channel();
        // Nothing gets behind the marker: what the pump takes from there comes after the answer to `shutdown`.
        if self.queue(|queue| queue.barrier(QueueEntry::Marker(marker)) && queue.refuse()) {
            // A client that does not read has to do without the rest.
            let _ = tokio::time::timeout(limit, passed).await;
        }
        self.lock().close();
    }

    /// Sends a stretch of the past behind everything queued before, as the log has it.
    pub fn replay(&self, session: SessionId, stretch: UpdateRange) {
        self.queue(|queue| queue.barrier(QueueEntry::Replay(session, stretch)));
    }

    /// Marks the place of an answer: nothing queued from now on is sent before it.
    pub fn ordering_barrier(&self) -> OrderingBarrier {
        let (reached, was_reached) = oneshot::channel();
        let (go_on, may_go_on) = oneshot::channel();
        self.queue(|queue| queue.barrier(QueueEntry::Turnstile { reached, go_on: may_go_on }));
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
                    // It may be large, and is written already.
                    drop(params);
                    sending.await
                }
                QueueEntry::Resolved(params) => out.notify(methods::ASK_RESOLVED, &*params).await,
                QueueEntry::Gap(session, stretch) => self.backfill(&out, session, stretch, |_| true).await,
                QueueEntry::Replay(session, stretch) => {
                    self.backfill(&out, session, stretch, |told| matches!(told, LastingMessage::Update(_)))
                        .await
                }
                QueueEntry::Notification { method, params } => out.notify(method, &*params).await,
                QueueEntry::Marker(marker) => {
                    let _ = marker.send(());
                    continue;
                }
                QueueEntry::Request { send, pending } => {
                    if !pending.is_closed() {
                        // An asker that goes in this moment drops the reply, which withdraws it.
                        let _ = pending.send(send(&out));
                    }
                    continue;
                }
                QueueEntry::Turnstile { reached, go_on } => {
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

    /// Sends a stretch as the log has it; everything behind waits, as it would have. Where the log is
    /// not read in time the client sees the gap in the numbers, and may resume the session.
    async fn backfill(
        &self,
        out: &Out,
        session: SessionId,
        stretch: UpdateRange,
        is_sent: fn(&LastingMessage) -> bool,
    ) -> Result<(), SendError> {
        let (told, mut past) = mpsc::channel(RECALLED);
        let name = session.clone();
        let asked = self.shared.recalls.send(Backfill { session, stretch, told });
        let late = || tracing::error!(session = %name, "the log is not read in time; the client misses a part of it");
        tokio::select! {
            asked = tokio::time::timeout(self.shared.silence, asked) => match asked {
                Ok(Ok(())) => {}
                Ok(Err(_)) => {
                    tracing::error!("nobody reads the logs any more");
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
                Ok(Some(told)) if is_sent(&told) => self.send_missed(out, told).await?,
                Ok(Some(_)) => {}
                Ok(None) => return Ok(()),
                Err(_) => {
                    late();
                    return Ok(());
                }
            }
        }
    }

    async fn send_missed(&self, out: &Out, told: LastingMessage) -> Result<(), SendError> {
        match told {
            LastingMessage::Update(params) if !(self.shared.wanted)(&params.update) => Ok(()),
            LastingMessage::Update(params) => {
                let sending = out.notify(methods::SESSION_UPDATE, &*params);
                // It may be large, and is written already.
                drop(params);
                sending.await
            }
            LastingMessage::Resolved(params) => out.notify(methods::ASK_RESOLVED, &*params).await,
        }
    }

    /// Takes the next update; a piece of text waits for its time unless something comes after it.
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

/// How long the first in the queue has to wait; `None` when nothing is queued.
fn pause(queue: &Queue, sent: &HashMap<String, Instant>) -> Option<Duration> {
    let QueueEntry::Piece(params) = queue.first()? else { return Some(Duration::ZERO) };
    if queue.len() > 1 {
        // End of the item, or another item: what comes behind must not wait.
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
        let (outlet, mut asked) = OutboundQueue::patient(out, |_| true, Duration::from_millis(20));
        outlet.replay("s-1".into(), UpdateRange::of_updates(1, 3));
        outlet.replay("s-2".into(), UpdateRange::of_updates(1, 3));
        outlet.flushed().await;
        // The first was taken by nobody, and neither was the second: the reader hangs.
        let first = asked.recv().await.expect("it was asked for");
        assert_eq!(first.session.0, "s-1");
        assert!(first.told.is_closed(), "what comes now comes too late");
        // One that is read after all is sent.
        outlet.replay("s-3".into(), UpdateRange::of_updates(1, 3));
        let third = asked.recv().await.expect("it is asked for");
        assert_eq!(third.session.0, "s-3");
        drop(third);
        outlet.flushed().await;
    }
}
