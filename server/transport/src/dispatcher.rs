//! The task that calls the backend. It receives messages in the order of arrival, sends the answers, and
//! polls all running calls.
//!
//! Responses and cancellations take effect when they arrive. Never waits for a handler, the editor or the
//! writer.

use std::collections::HashMap;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::AbortHandle;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::ConnectionEnd;
use super::backend::{Answer, Backend, NotificationOutcome};
use super::calls::{Call, Outcome, Ticket, Work, guard};
use super::envelope::{self, IdKey, Refusal, RequestId, code};
use super::intake::{Inbound, RawCall};
use super::out::Out;
use super::reader::InputEnd;

/// The most requests in flight; one more is answered with an error.
pub(super) const REQUEST_LIMIT: usize = 10_000;
/// The most notifications whose handlers wait; then intake pauses.
const NOTIFICATION_LIMIT: usize = 10_000;
/// How long a client may leave its answers unread before the connection ends.
const STALL_LIMIT: Duration = Duration::from_secs(600);

/// A request in flight.
struct Open {
    id: RequestId,
    abort: AbortHandle,
}

/// The state of a connection while it is served.
pub(super) struct Dispatcher<B: Backend> {
    backend: B,
    out: Out,
    calls: FuturesUnordered<Call>,
    /// Requests in flight.
    open: HashMap<IdKey, Open>,
    waiting_notifications: usize,
}

impl<B: Backend> Dispatcher<B> {
    pub(super) fn new(backend: B, out: Out) -> Self {
        Dispatcher {
            backend,
            out,
            calls: FuturesUnordered::new(),
            open: HashMap::new(),
            waiting_notifications: 0,
        }
    }

    /// Serves until the connection ends. Drops the calls in flight.
    pub(super) async fn run(mut self, mut inbound: mpsc::Receiver<Inbound>) -> ConnectionEnd {
        let out = self.out.clone();
        let mut closed = pin!(out.closed());
        loop {
            // While the client reads no answers, no more messages are accepted.
            if !out.has_answer_room() {
                tokio::select! {
                    written = timeout(STALL_LIMIT, out.answers_written()) => {
                        if written.is_err() {
                            return ConnectionEnd::OutputClosed;
                        }
                    }
                    () = &mut closed => return ConnectionEnd::OutputClosed,
                }
                continue;
            }
            tokio::select! {
                () = &mut closed => return ConnectionEnd::OutputClosed,
                Some((ticket, outcome)) = self.calls.next(), if !self.calls.is_empty() => {
                    if ticket.request.is_none() {
                        self.waiting_notifications -= 1;
                    }
                    self.finish(ticket, outcome);
                }
                arrival = inbound.recv(), if self.waiting_notifications < NOTIFICATION_LIMIT => {
                    let Some(arrival) = arrival else {
                        return ConnectionEnd::InputClosed;
                    };
                    if let Some(ended) = self.arrive(arrival) {
                        return ended;
                    }
                }
            }
        }
    }

    fn arrive(&mut self, arrival: Inbound) -> Option<ConnectionEnd> {
        match arrival {
            Inbound::Request { id, call } => self.request(id, call),
            Inbound::Notification(call) => return self.notification(call),
            Inbound::Response { id, reply } => self.out.resolve(id.as_ref(), reply),
            Inbound::Cancel(key) => {
                if let Some(open) = self.open.get(&key) {
                    open.abort.abort();
                }
            }
            Inbound::Refused(refusal) => {
                if refusal.lost {
                    self.lost();
                }
                self.refuse(&refusal);
            }
            Inbound::Ended(InputEnd::Closed) => return Some(ConnectionEnd::InputClosed),
            Inbound::Ended(InputEnd::Broken(error)) => return Some(ConnectionEnd::InputBroken(error)),
        }
        None
    }

    fn lost(&self) {
        if let Err(text) = guard(|| self.backend.lost()) {
            tracing::error!(text, "the handler of a lost message panicked");
        }
    }

    fn request(&mut self, id: RequestId, call: RawCall) {
        let refuse = |code, message: &str| Refusal::of(id.clone(), code, message);
        if self.open.contains_key(id.key()) {
            return self.refuse(&refuse(code::INVALID_REQUEST, "a request with this id is in flight"));
        }
        if self.open.len() >= REQUEST_LIMIT {
            let why = "too many requests in flight, try again later";
            return self.refuse(&Refusal::overloaded(id.clone(), why));
        }
        let serving = guard(|| self.backend.request(&call.method, call.params));
        let key = id.key().clone();
        let ticket = Ticket { request: Some(key.clone()), method: call.method.into(), _permit: call.permit };
        let work = match serving {
            Ok(serving) => Work::Request(serving),
            Err(text) => return self.answer_panic(&id, &ticket.method, &text),
        };
        let (mut served, abort) = Call::new(ticket, work);
        self.open.insert(key, Open { id, abort });
        match served.first_poll() {
            Poll::Ready((ticket, outcome)) => self.finish(ticket, outcome),
            Poll::Pending => self.calls.push(served),
        }
    }

    fn notification(&mut self, call: RawCall) -> Option<ConnectionEnd> {
        let RawCall { method, params, permit } = call;
        let notified = guard(|| self.backend.notification(&method, params));
        let ticket = Ticket { request: None, method: method.into(), _permit: permit };
        match notified {
            Ok(NotificationOutcome::Serving(serving)) => {
                let (mut served, _abort) = Call::new(ticket, Work::Notification(serving));
                match served.first_poll() {
                    Poll::Ready((ticket, outcome)) => self.finish(ticket, outcome),
                    Poll::Pending => {
                        self.waiting_notifications += 1;
                        self.calls.push(served);
                    }
                }
            }
            Ok(NotificationOutcome::PassedOver) => {}
            Ok(NotificationOutcome::Unreadable(why)) => {
                tracing::error!(method = %ticket.method, why, "could not read a notification");
                self.lost();
            }
            Ok(NotificationOutcome::Exit { after_shutdown }) => {
                return Some(ConnectionEnd::Exit { after_shutdown });
            }
            Err(text) => self.finish(ticket, Outcome::Panicked(text)),
        }
        None
    }

    fn finish(&mut self, ticket: Ticket, outcome: Outcome) {
        let Some(request) = ticket.request else {
            if let Outcome::Panicked(text) = outcome {
                tracing::error!(method = %ticket.method, text, "a notification panicked");
            }
            return;
        };
        let Some(Open { id, .. }) = self.open.remove(&request) else {
            return;
        };
        match outcome {
            Outcome::Done(Some(answer)) => self.answer(&id, answer),
            // A request always has an answer.
            Outcome::Done(None) => {}
            Outcome::Panicked(text) => self.answer_panic(&id, &ticket.method, &text),
            Outcome::Aborted => {
                self.refuse(&Refusal::of(id, code::REQUEST_CANCELLED, "the request was cancelled"));
            }
        }
    }

    fn answer(&self, id: &RequestId, answer: Answer) {
        let body = match answer {
            Ok(result) => envelope::result_body(id, &result),
            Err(error) => envelope::error_body(Some(id), &error),
        };
        self.out.answer(Some(id), body);
    }

    fn answer_panic(&self, id: &RequestId, method: &str, text: &str) {
        tracing::error!(method, text, "a request panicked");
        let message = "the server failed on this request; see its log";
        self.refuse(&Refusal::of(id.clone(), code::INTERNAL_ERROR, message));
    }

    fn refuse(&self, refusal: &Refusal) {
        let id = refusal.id.as_ref();
        if refusal.retryable {
            self.out.refuse_for_now(id, &refusal.message);
        } else {
            self.out.refuse(id, refusal.code, &refusal.message);
        }
    }
}
