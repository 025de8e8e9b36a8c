//! The sending side of a connection: notifications, requests with their pending replies, and answers, all
//! through one FIFO queue.
//!
//! Notifications and requests wait for room. Answers and withdrawals never wait: there is at most one for
//! each request. Never writes to the stream; only `writer` does.

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

/// A handle for sending on a connection; cheap to clone.
#[derive(Debug, Clone)]
pub struct Out {
    tx: mpsc::UnboundedSender<Frame>,
    limits: Arc<ConnectionLimits>,
}

/// An `Out` that does not keep the connection open.
#[derive(Debug, Clone)]
pub(super) struct WeakOut {
    tx: mpsc::WeakUnboundedSender<Frame>,
    pub(super) limits: Arc<ConnectionLimits>,
}

impl WeakOut {
    pub(super) fn upgrade(&self) -> Option<Out> {
        let limits = Arc::clone(&self.limits);
        self.tx.upgrade().map(|tx| Out { tx, limits })
    }
}

/// Returns the sending and the writing end of a queue. The channel itself has no bound; `ConnectionLimits`
/// bounds it.
pub(super) fn queue() -> (Out, mpsc::UnboundedReceiver<Frame>) {
    let (tx, rx) = mpsc::unbounded_channel();
    let limits = Arc::new(ConnectionLimits::new());
    (Out { tx, limits }, rx)
}

impl Out {
    /// Sends a notification, and waits for room if there is none. If there is room, it is queued before
    /// this returns, even if the future is never polled.
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

    /// Sends a request and returns the future of its reply. Dropping the future withdraws the request.
    pub fn request<P>(&self, method: &str, params: &P) -> PendingReply
    where
        P: Serialize + ?Sized,
    {
        let (tx, reply) = oneshot::channel();
        let (id, sending) = match self.limits.open(tx) {
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

    /// Notifies `queued` when the next answer is queued. If a handler calls this last, the next answer is its
    /// own. A task that waits for `queued` can then send messages that must follow this answer.
    pub fn after_next_answer(&self, queued: oneshot::Sender<()>) {
        let mut waiting = self.limits.after_answer.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(queued);
    }

    /// Whether a notification would be queued without waiting.
    pub fn has_room(&self) -> bool {
        self.limits.frames.available_permits() > 0 && self.limits.bytes.available_permits() > 0
    }

    /// Returns how many notifications and requests wait for the writer.
    pub fn queued(&self) -> usize {
        self.limits.queued()
    }

    /// Returns how many requests of Adjutant wait for a reply.
    pub fn open_requests(&self) -> usize {
        self.limits.open_requests()
    }

    /// Whether the connection has ended.
    pub fn is_closed(&self) -> bool {
        *self.limits.closed.borrow()
    }

    /// Waits until the connection has ended.
    pub async fn closed(&self) {
        // `self` keeps the sender, so this returns only when the value is set.
        let _ = self.limits.closed.subscribe().wait_for(|closed| *closed).await;
    }

    /// Ends the connection. Queued messages are still written; no message follows them.
    pub fn close(&self) {
        self.limits.close();
        self.push(Frame { body: Vec::new(), permit: Permit::Close });
    }

    /// Passes a response of the peer to the caller that waits for it.
    pub(super) fn resolve(&self, id: Option<&RequestId>, reply: Result<Box<RawValue>, ErrorBody>) {
        self.limits.resolve(id, reply);
    }

    /// Whether there is room for another answer; without it, the peer does not read its answers.
    pub(super) fn has_answer_room(&self) -> bool {
        self.limits.has_answer_room()
    }

    /// Waits until answers were written.
    pub(super) async fn answers_written(&self) {
        self.limits.answers_written.notified().await;
    }

    /// Queues an answer. If its body could not be serialised, queues an error instead.
    pub(super) fn answer(&self, id: Option<&RequestId>, body: Result<Vec<u8>, String>) {
        let body = body.or_else(|why| {
            tracing::error!(why, "could not write an answer");
            let error = json!({ "code": code::INTERNAL_ERROR, "message": "the answer cannot be sent" });
            envelope::error_body(id, &error)
        });
        let Ok(body) = body else { return };
        self.limits.count_answer(body.len());
        self.push(Frame { body, permit: Permit::Answer });
        self.limits.answer_queued();
    }

    pub(super) fn downgrade(&self) -> WeakOut {
        let limits = Arc::clone(&self.limits);
        WeakOut { tx: self.tx.downgrade(), limits }
    }

    fn push(&self, frame: Frame) {
        // Fails only if the writer has ended; `closed` reports that.
        let _ = self.tx.send(frame);
    }

    fn send(&self, body: Result<Vec<u8>, String>) -> Sending {
        let body = match body {
            Ok(body) => body,
            Err(why) => return Sending::done(Err(SendError::Unsendable(why))),
        };
        if self.limits.frames.is_closed() {
            return Sending::done(Err(SendError::Closed));
        }
        let permits = body.len().min(BYTE_ROOM) as u32;
        // A semaphore with waiters has no free permits, so this message overtakes no waiting one.
        if let Ok(frame) = self.limits.frames.try_acquire()
            && let Ok(bytes) = self.limits.bytes.try_acquire_many(permits)
        {
            frame.forget();
            bytes.forget();
            self.push(Frame { body, permit: Permit::Produced(permits) });
            return Sending::done(Ok(()));
        }
        let out = self.clone();
        let waiting = Box::pin(async move {
            let closed = |_| SendError::Closed;
            let frame = out.limits.frames.acquire().await.map_err(closed)?;
            let bytes = out.limits.bytes.acquire_many(permits).await.map_err(closed)?;
            frame.forget();
            bytes.forget();
            out.push(Frame { body, permit: Permit::Produced(permits) });
            Ok(())
        });
        Sending { state: SendState::Waiting(waiting) }
    }
}

/// A notification that is queued or waits for room in the queue.
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

/// The future of a reply. If it is dropped before the reply arrives, it withdraws the request with
/// `$/cancelRequest`.
#[must_use = "dropping it withdraws the request"]
pub struct PendingReply {
    out: Out,
    id: i32,
    /// `None` once the request is queued.
    sending: Option<Sending>,
    reply: oneshot::Receiver<Reply>,
}

impl PendingReply {
    /// Returns the id of the request on the wire; 0 if it was not sent.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// Cancels the request, and still waits for the reply: a result if it came first, else that the request was cancelled.
    pub fn cancel(&self) {
        if !self.is_queued() || self.id == 0 {
            return;
        }
        let params = json!({ "id": self.id });
        if let Ok(body) = envelope::call_body(None, "$/cancelRequest", &params) {
            // It follows its request in the same queue. It never waits, because there is at most one for each
            // request.
            self.out.push(Frame { body, permit: Permit::Free });
        }
    }

    /// Whether the request was queued, so that the peer may receive it.
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
        if self.out.limits.remove_pending(self.id) {
            self.cancel();
        }
    }
}
