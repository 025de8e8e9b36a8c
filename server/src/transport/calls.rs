//! One call of the router that is being served, guarded against panics.
//!
//! A call knows how to be polled, aborted and dropped without harm. It never
//! knows what its method means.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures_util::future::{AbortHandle, Abortable};
use tower_lsp::ExitedError;
use tower_lsp::jsonrpc::Response;

use super::intake::Weight;

/// What the router returns from a call.
pub(super) type RouterFuture = Pin<Box<dyn Future<Output = Result<Option<Response>, ExitedError>> + Send>>;

/// What a call is, apart from its future.
#[derive(Debug)]
pub(super) struct Ticket {
    /// Our id of a request; `None` for a notification.
    pub(super) request: Option<i32>,
    pub(super) method: Box<str>,
    /// Held until the call is over, so that the intake stays bounded.
    pub(super) _weight: Weight,
}

/// How a call ended.
#[derive(Debug)]
pub(super) enum Outcome {
    /// By itself; a notification has no response.
    Done(Option<Response>),
    /// By a panic, with its text.
    Panicked(String),
    /// By cancellation; its future is gone.
    Aborted,
}

/// A call in flight.
pub(super) struct Call {
    parts: Option<(Ticket, Abortable<RouterFuture>)>,
}

impl Call {
    /// Wraps a future of the router.
    pub(super) fn new(ticket: Ticket, future: RouterFuture) -> (Self, AbortHandle) {
        let (abort, registration) = AbortHandle::new_pair();
        let future = Abortable::new(future, registration);
        (Call { parts: Some((ticket, future)) }, abort)
    }

    /// Returns the method, while the call is in flight.
    pub(super) fn method(&self) -> Option<&str> {
        self.parts.as_ref().map(|(ticket, _)| &*ticket.method)
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
        let Some((_, future)) = &mut self.parts else {
            return Poll::Pending;
        };
        let outcome = match guard(|| Pin::new(future).poll(cx)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(Ok(Ok(response)))) => Outcome::Done(response),
            Ok(Poll::Ready(Ok(Err(_exited)))) => Outcome::Done(None),
            Ok(Poll::Ready(Err(_aborted))) => Outcome::Aborted,
            Err(text) => Outcome::Panicked(text),
        };
        match self.parts.take() {
            Some((ticket, future)) => {
                let outcome = guard(|| drop(future)).map_or_else(Outcome::Panicked, |()| outcome);
                Poll::Ready((ticket, outcome))
            }
            None => Poll::Pending,
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some((ticket, future)) = self.parts.take()
            && let Err(text) = guard(|| drop(future))
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
