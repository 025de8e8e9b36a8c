//! The way out of a connection: notifications, requests to the peer with
//! their pending replies, and answers, all through one bounded FIFO.
//!
//! What we produce waits for room; answers and withdrawals never wait, since
//! their number is bounded by what the peer asked or was asked. This file
//! never writes: `writer` alone does.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, ready};

use adjutant_protocol::errors::{ErrorDetail, ErrorName};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use super::envelope::{self, ErrorBody, RequestId, code};
use super::limits::{BYTE_ROOM, ConnectionLimits, Frame, Permit, Reply, ReplyError, SendError};

/// The handle through which everything is sent; cheap to clone.
#[derive(Debug, Clone)]
pub struct Out {
    tx: mpsc::UnboundedSender<Frame>,
    gauge: Arc<ConnectionLimits>,
}

/// An `Out` that does not keep the connection open.
#[derive(Debug, Clone)]
pub(super) struct WeakOut {
    tx: mpsc::WeakUnboundedSender<Frame>,
    pub(super) gauge: Arc<ConnectionLimits>,
}

impl WeakOut {
    pub(super) fn upgrade(&self) -> Option<Out> {
        let gauge = Arc::clone(&self.gauge);
        self.tx.upgrade().map(|tx| Out { tx, gauge })
    }
}

/// Makes the sending and the writing end of a queue. The channel itself has no
/// bound; the room that `Gauge` gives out is the bound.
pub(super) fn queue() -> (Out, mpsc::UnboundedReceiver<Frame>) {
    let (tx, rx) = mpsc::unbounded_channel();
    let gauge = Arc::new(ConnectionLimits::new());
    (Out { tx, gauge }, rx)
}

impl Out {
    /// Sends a notification, waiting for room. Where there is room, it is
    /// queued before this returns, polled or not.
    pub fn notify<P>(&self, method: &str, params: &P) -> Sending
    where
        P: Serialize + ?Sized,
    {
        self.send(envelope::call_body(None, method, params))
    }

    /// Sends a notification if there is room now.
    pub fn try_notify<P>(&self, method: &str, params: &P) -> Result<(), SendError>
    where
        P: Serialize + ?Sized,
    {
        match self.notify(method, params).state {
            SendState::Done(result) => result,
            SendState::Waiting(_) => Err(SendError::Full),
        }
    }

    /// Sends a request and returns the future of its reply. Dropping that
    /// future withdraws the request.
    pub fn request<P>(&self, method: &str, params: &P) -> PendingReply
    where
        P: Serialize + ?Sized,
    {
        let (tx, reply) = oneshot::channel();
        let (id, sending) = match self.gauge.open(tx) {
            Ok(id) => (id, self.send(envelope::call_body(Some(id), method, params))),
            Err(error) => (0, Sending::done(Err(error))),
        };
        PendingReply { out: self.clone(), id, sending: Some(sending), reply }
    }

    /// Answers a request of the peer with a result.
    pub fn respond<R>(&self, id: &RequestId, result: &R)
    where
        R: Serialize + ?Sized,
    {
        self.answer(Some(id), envelope::result_body(id, result));
    }

    /// Answers a request of the peer with an error.
    pub fn refuse(&self, id: Option<&RequestId>, code: i64, message: &str) {
        let error = json!({ "code": code, "message": message });
        self.answer(id, envelope::error_body(id, &error));
    }

    /// Answers a request of the peer for which there is no room now.
    pub fn refuse_for_now(&self, id: Option<&RequestId>, message: &str) {
        let name = ErrorName::Overloaded;
        let error = json!({ "code": name.code(), "message": message, "data": ErrorDetail::of(name) });
        self.answer(id, envelope::error_body(id, &error));
    }

    /// Sends `go_on` as soon as the next answer is queued. A handler that calls this last lets
    /// others send what has to come behind its own answer, since nothing is answered in between.
    pub fn behind_next_answer(&self, go_on: oneshot::Sender<()>) {
        let mut waiting = self.gauge.behind_answer.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(go_on);
    }

    /// Says whether a notification would be queued without waiting.
    pub fn has_room(&self) -> bool {
        self.gauge.frames.available_permits() > 0 && self.gauge.bytes.available_permits() > 0
    }

    /// Returns how many frames of ours wait for the writer.
    pub fn queued(&self) -> usize {
        self.gauge.queued()
    }

    /// Returns how many requests of ours wait for a reply.
    pub fn open_requests(&self) -> usize {
        self.gauge.open_requests()
    }

    /// Says whether the connection is over.
    pub fn is_closed(&self) -> bool {
        *self.gauge.closed.borrow()
    }

    /// Waits until the connection is over.
    pub async fn closed(&self) {
        // The sender lives in `self`, so this ends by the value alone.
        let _ = self.gauge.closed.subscribe().wait_for(|closed| *closed).await;
    }

    /// Ends the connection: what is queued is still written, nothing follows.
    pub fn close(&self) {
        self.gauge.close();
        self.push(Frame { body: Vec::new(), toll: Permit::Close });
    }

    /// Hands a response of the peer to whoever waits for it.
    pub(super) fn resolve(&self, id: Option<&RequestId>, reply: Result<Box<RawValue>, ErrorBody>) {
        self.gauge.resolve(id, reply);
    }

    /// Says whether the peer reads its answers.
    pub(super) fn has_answer_room(&self) -> bool {
        self.gauge.has_answer_room()
    }

    /// Waits until some answers were written.
    pub(super) async fn answers_written(&self) {
        self.gauge.answers_written.notified().await;
    }

    /// Queues an answer; one that cannot be written becomes an error.
    pub(super) fn answer(&self, id: Option<&RequestId>, body: Result<Vec<u8>, String>) {
        let body = body.or_else(|why| {
            tracing::error!(why, "could not write an answer");
            let error = json!({ "code": code::INTERNAL_ERROR, "message": "the answer cannot be sent" });
            envelope::error_body(id, &error)
        });
        let Ok(body) = body else { return };
        self.gauge.count_answer(body.len());
        self.push(Frame { body, toll: Permit::Answer });
        self.gauge.answer_queued();
    }

    pub(super) fn downgrade(&self) -> WeakOut {
        let gauge = Arc::clone(&self.gauge);
        WeakOut { tx: self.tx.downgrade(), gauge }
    }

    fn push(&self, frame: Frame) {
        // Fails only when the writer is gone, which `closed` tells already.
        let _ = self.tx.send(frame);
    }

    fn send(&self, body: Result<Vec<u8>, String>) -> Sending {
        let body = match body {
            Ok(body) => body,
            Err(why) => return Sending::done(Err(SendError::Unsendable(why))),
        };
        if self.gauge.frames.is_closed() {
            return Sending::done(Err(SendError::Closed));
        }
        let permits = body.len().min(BYTE_ROOM) as u32;
        // A semaphore with waiters has no permits to try for, so nobody who
        // waits is overtaken here.
        if let Ok(frame) = self.gauge.frames.try_acquire()
            && let Ok(bytes) = self.gauge.bytes.try_acquire_many(permits)
        {
            frame.forget();
            bytes.forget();
            self.push(Frame { body, toll: Permit::Produced(permits) });
            return Sending::done(Ok(()));
        }
        let out = self.clone();
        let waiting = Box::pin(async move {
            let closed = |_| SendError::Closed;
            let frame = out.gauge.frames.acquire().await.map_err(closed)?;
            let bytes = out.gauge.bytes.acquire_many(permits).await.map_err(closed)?;
            frame.forget();
            bytes.forget();
            out.push(Frame { body, toll: Permit::Produced(permits) });
            Ok(())
        });
        Sending { state: SendState::Waiting(waiting) }
    }
}

/// A notification that is queued, or waits for room to be.
#[must_use = "without room it is sent only when awaited"]
pub struct Sending {
    state: SendState,
}

enum SendState {
    Done(Result<(), SendError>),
    Waiting(Pin<Box<dyn Future<Output = Result<(), SendError>> + Send>>),
}

impl Sending {
    fn done(result: Result<(), SendError>) -> Self {
        Sending { state: SendState::Done(result) }
    }
}

impl Future for Sending {
    type Output = Result<(), SendError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let result = match &mut self.state {
            SendState::Done(result) => return Poll::Ready(result.clone()),
            SendState::Waiting(waiting) => ready!(waiting.as_mut().poll(cx)),
        };
        self.state = SendState::Done(result.clone());
        Poll::Ready(result)
    }
}

/// The future of a reply. Dropped before the reply came, it withdraws the
/// request with `$/cancelRequest`.
#[must_use = "dropping it withdraws the request"]
pub struct PendingReply {
    out: Out,
    id: i32,
    /// `None` once the request is queued.
    sending: Option<Sending>,
    reply: oneshot::Receiver<Reply>,
}

impl PendingReply {
    /// Returns the id the request has on the wire; 0 if it was not sent.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// Says whether the request was queued, so that the peer may know of it.
    fn is_queued(&self) -> bool {
        match &self.sending {
            None => true,
            Some(sending) => matches!(sending.state, SendState::Done(Ok(()))),
        }
    }
}

impl Future for PendingReply {
    type Output = Reply;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reply> {
        if let Some(sending) = &mut self.sending {
            match ready!(Pin::new(sending).poll(cx)) {
                Ok(()) => self.sending = None,
                Err(SendError::Unsendable(why)) => {
                    return Poll::Ready(Err(ReplyError::Unsendable(why)));
                }
                Err(SendError::Closed | SendError::Full) => {
                    return Poll::Ready(Err(ReplyError::ConnectionClosed));
                }
            }
        }
        let reply = ready!(Pin::new(&mut self.reply).poll(cx));
        Poll::Ready(reply.unwrap_or(Err(ReplyError::ConnectionClosed)))
    }
}

impl Drop for PendingReply {
    fn drop(&mut self) {
        let given_up = self.out.gauge.give_up(self.id);
        if !given_up || !self.is_queued() {
            return;
        }
        let params = json!({ "id": self.id });
        if let Ok(body) = envelope::call_body(None, "$/cancelRequest", &params) {
            // Behind its request in the same queue, and never waiting: there
            // is at most one for each open request.
            self.out.push(Frame { body, toll: Permit::Free });
        }
    }
}
