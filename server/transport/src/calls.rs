//! One call of the backend that is being served, guarded against panics.
//!
//! A call knows how to be polled, aborted and dropped without harm. It never
//! knows what its method means.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures_util::future::{AbortHandle, Abortable};

use super::backend::{Answer, Serving};
use super::envelope::IdKey;
use super::intake::IntakePermit;

/// What the backend does for one message.
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

/// What a call is, apart from its future.
#[derive(Debug)]
pub(super) struct Ticket {
    /// The id of a request; `None` for a notification.
    pub(super) request: Option<IdKey>,
    pub(super) method: Box<str>,
    /// Held until the call is over, so that the intake stays bounded.
    pub(super) _weight: IntakePermit,
}

/// How a call ended.
#[derive(Debug)]
pub(super) enum Outcome {
    /// By itself; a notification has no answer.
    Done(Option<Answer>),
    /// By a panic, with its text.
    Panicked(String),
    /// By cancellation; its future is gone.
    Aborted,
}

/// A call in flight.
pub(super) struct Call {
    parts: Option<(Ticket, Abortable<Work>)>,
}

impl Call {
    /// Wraps what the backend does.
    pub(super) fn new(ticket: Ticket, work: Work) -> (Self, AbortHandle) {
        let (abort, registration) = AbortHandle::new_pair();
        let work = Abortable::new(work, registration);
        (Call { parts: Some((ticket, work)) }, abort)
    }

    /// Polls for the first time, at the place of the message in the order of
    /// arrival. Whatever a handler does before it really has to wait is done
    /// when this returns: the budget of the runtime, which makes a future
    /// yield at random places, is off.
    pub(super) fn first_poll(&mut self) -> Poll<(Ticket, Outcome)> {
        // Still pending, it is polled again with a real waker at once.
        let mut cx = Context::from_waker(Waker::noop());
        let mut all_at_once = tokio::task::unconstrained(self);
        Pin::new(&mut all_at_once).poll(&mut cx)
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

/// Runs code of a handler; a panic becomes its text.
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
