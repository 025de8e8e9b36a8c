//! One call of the backend that is being served, guarded against panics.
//!
//! A panic in a poll, an abort or a drop never leaves the call. Never knows what a method means.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures_util::future::{AbortHandle, Abortable};

use super::backend::{Answer, Serving};
use super::envelope::IdKey;
use super::intake::IntakePermit;

/// The handler of one message.
pub(super) enum Work {
    Request(Serving<Answer>),
    Notification(Serving<()>),
}

impl Future for Work {
    type Output = Option<Answer>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Work::Request(serving) => serving.as_mut().poll(cx).map(Some),
            Work::Notification(serving) => serving.as_mut().poll(cx).map(|()| None),
        }
    }
}

/// The data of a call, without its future.
#[derive(Debug)]
pub(super) struct Ticket {
    /// The id of a request; `None` for a notification.
    pub(super) request: Option<IdKey>,
    pub(super) method: Box<str>,
    /// Held until the call ends, so that the intake stays bounded.
    pub(super) _permit: IntakePermit,
}

/// How a call ended.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The handler returned; a notification has no answer.
    Done(Option<Answer>),
    /// The handler panicked; the text of the panic.
    Panicked(String),
    /// The call was cancelled; its future is dropped.
    Aborted,
}

/// A call in flight.
pub(super) struct Call {
    parts: Option<(Ticket, Abortable<Work>)>,
}

impl Call {
    /// Returns the call and a handle that aborts it.
    pub(super) fn new(ticket: Ticket, work: Work) -> (Self, AbortHandle) {
        let (abort, registration) = AbortHandle::new_pair();
        let work = Abortable::new(work, registration);
        (Call { parts: Some((ticket, work)) }, abort)
    }

    /// Polls for the first time, in the order of arrival. When this returns, the handler has run up to its
    /// first real wait. The runtime's budget, which makes a future yield at arbitrary places, is off.
    pub(super) fn first_poll(&mut self) -> Poll<(Ticket, Outcome)> {
        // A pending call is polled again at once with a real waker.
        let mut cx = Context::from_waker(Waker::noop());
        let mut unbudgeted = tokio::task::unconstrained(self);
        Pin::new(&mut unbudgeted).poll(&mut cx)
    }
}

impl Future for Call {
    type Output = (Ticket, Outcome);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some((_, work)) = &mut self.parts else {
            return Poll::Pending;
        };
        let outcome = match guard(|| Pin::new(work).poll(cx)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(Ok(answer))) => Outcome::Done(answer),
            Ok(Poll::Ready(Err(_aborted))) => Outcome::Aborted,
            Err(text) => Outcome::Panicked(text),
        };
        match self.parts.take() {
            Some((ticket, work)) => {
                let outcome = guard(|| drop(work)).map_or_else(Outcome::Panicked, |()| outcome);
                Poll::Ready((ticket, outcome))
            }
            None => Poll::Pending,
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some((ticket, work)) = self.parts.take()
            && let Err(text) = guard(|| drop(work))
        {
            tracing::error!(method = %ticket.method, text, "a dropped call panicked");
        }
    }
}

/// Runs code of a handler. Returns the text of the panic if it panics.
pub(super) fn guard<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| text_of(&*payload))
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without text".to_owned())
}
