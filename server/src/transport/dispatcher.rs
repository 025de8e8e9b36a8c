//! The one task that calls the router: messages in arrival order in, answers
//! out, and everything that is still being served in one set.
//!
//! Responses and cancellations are acted on when they are seen. It never
//! waits for a handler, for the editor or for the writer.

use std::collections::HashMap;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::AbortHandle;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tower_lsp::jsonrpc::{Error, Request, Response};
use tower_lsp::ls_types::{
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams, InitializeParams,
};
use tower_lsp::{LanguageServer, LspService};
use tower_service::Service;

use super::Ended;
use super::calls::{Call, Outcome, RouterFuture, Ticket, guard};
use super::envelope::{self, IdKey, Refusal, RequestId, code};
use super::intake::{Inbound, RawCall};
use super::out::Out;
use super::reader::InputEnd;

/// Most requests in flight; one more is answered with an error.
pub(super) const REQUEST_LIMIT: usize = 10_000;
/// Most notifications whose handlers wait; with more, intake pauses.
const NOTIFICATION_LIMIT: usize = 10_000;
/// How long a client may leave all its answers unread.
const STALL_LIMIT: Duration = Duration::from_secs(600);

/// A request in flight.
struct Open {
    id: RequestId,
    abort: AbortHandle,
}

/// The state of a connection while it is served.
pub(super) struct Dispatcher<B: LanguageServer> {
    service: LspService<B>,
    out: Out,
    calls: FuturesUnordered<Call>,
    /// Requests in flight by our id, under which the router knows them.
    open: HashMap<i32, Open>,
    /// Our ids by the ids of the client.
    by_client_id: HashMap<IdKey, i32>,
    last_id: i32,
    waiting_notifications: usize,
    initializing: Option<i32>,
    after_shutdown: bool,
}

impl<B: LanguageServer> Dispatcher<B> {
    pub(super) fn new(service: LspService<B>, out: Out) -> Self {
        Dispatcher {
            service,
            out,
            calls: FuturesUnordered::new(),
            open: HashMap::new(),
            by_client_id: HashMap::new(),
            last_id: 0,
            waiting_notifications: 0,
            initializing: None,
            after_shutdown: false,
        }
    }

    /// Serves until the connection ends; what is in flight then is dropped.
    pub(super) async fn run(mut self, mut inbound: mpsc::Receiver<Inbound>) -> Ended {
        let out = self.out.clone();
        let mut closed = pin!(out.closed());
        loop {
            // A client that reads no answers gets no more of them to read.
            if !out.has_answer_room() {
                tokio::select! {
                    written = timeout(STALL_LIMIT, out.answers_written()) => {
                        if written.is_err() {
                            return Ended::OutputClosed;
                        }
                    }
                    () = &mut closed => return Ended::OutputClosed,
                }
                continue;
            }
            tokio::select! {
                () = &mut closed => return Ended::OutputClosed,
                Some((ticket, outcome)) = self.calls.next(), if !self.calls.is_empty() => {
                    if ticket.request.is_none() {
                        self.waiting_notifications -= 1;
                    }
                    self.finish(ticket, outcome);
                }
                arrival = inbound.recv(), if self.waiting_notifications < NOTIFICATION_LIMIT => {
                    let Some(arrival) = arrival else {
                        return Ended::InputClosed;
                    };
                    if let Some(ended) = self.arrive(arrival) {
                        return ended;
                    }
                }
            }
        }
    }

    fn arrive(&mut self, arrival: Inbound) -> Option<Ended> {
        match arrival {
            Inbound::Request { id, call } => self.request(id, call),
            Inbound::Notification(call) if call.method == "exit" => {
                let after_shutdown = self.after_shutdown;
                return Some(Ended::Exit { after_shutdown });
            }
            Inbound::Notification(call) => self.notification(call),
            Inbound::Response { id, reply } => self.out.resolve(id.as_ref(), reply),
            Inbound::Cancel(key) => {
                if let Some(open) = self.by_client_id.get(&key).and_then(|id| self.open.get(id)) {
                    open.abort.abort();
                }
            }
            Inbound::Refused(refusal) => {
                if refusal.lost {
                    self.lost();
                }
                self.refuse(&refusal);
            }
            Inbound::Ended(InputEnd::Closed) => return Some(Ended::InputClosed),
            Inbound::Ended(InputEnd::Broken(error)) => return Some(Ended::InputBroken(error)),
        }
        None
    }

    /// Tells the backend that a message was lost; it takes note of that at once.
    fn lost(&mut self) {
        let future = self.route(None, super::LOST, None);
        let _ = future.map(|future| guard(|| future.now_or_never()));
    }

    fn request(&mut self, id: RequestId, call: RawCall) {
        let params = match self.admit(&id, call.method.as_str(), call.params) {
            Ok(params) => params,
            Err(refusal) => return self.refuse(&refusal),
        };
        let request = self.take_id();
        if call.method == "initialize" {
            self.initializing = Some(request);
        }
        let future = self.route(Some(request), &call.method, params);
        let ticket = Ticket { request: Some(request), method: call.method.into(), _weight: call.weight };
        let future = match future {
            Ok(future) => future,
            Err(text) => return self.answer_panic(&id, &ticket.method, &text),
        };
        let (mut served, abort) = Call::new(ticket, future);
        self.by_client_id.insert(id.key().clone(), request);
        self.open.insert(request, Open { id, abort });
        match served.first_poll() {
            Poll::Ready((ticket, outcome)) => self.finish(ticket, outcome),
            Poll::Pending => {
                self.after_shutdown |= served.method() == Some("shutdown");
                self.calls.push(served);
            }
        }
    }

    /// Says whether a request may reach the router, and with which params.
    fn admit(
        &self,
        id: &RequestId,
        method: &str,
        params: Result<Option<Value>, String>,
    ) -> Result<Option<Value>, Refusal> {
        let refuse = |code, message: &str| Refusal::of(id.clone(), code, message);
        if self.by_client_id.contains_key(id.key()) {
            return Err(refuse(code::INVALID_REQUEST, "a request with this id is in flight"));
        }
        if self.open.len() >= REQUEST_LIMIT {
            return Err(Refusal::overloaded(id.clone(), "too many requests in flight, try again later"));
        }
        match method {
            // The router would take these for the real thing.
            "exit" => return Err(refuse(code::INVALID_REQUEST, "\"exit\" is a notification")),
            "initialize" if self.initializing.is_some() => {
                return Err(refuse(code::INVALID_REQUEST, "\"initialize\" is in flight"));
            }
            // It has none; the router would shut down and then complain.
            "shutdown" => return Ok(None),
            _ => {}
        }
        let params = params
            .map_err(|why| refuse(code::INVALID_PARAMS, &format!("the params cannot be read: {why}")))?;
        if method == "initialize"
            && let Some(given) = &params
            && let Err(why) = InitializeParams::deserialize(given)
        {
            // Also when it comes a second time: the router would look at its own state first.
            return Err(refuse(code::INVALID_PARAMS, &format!("the params cannot be read: {why}")));
        }
        Ok(params)
    }

    fn notification(&mut self, call: RawCall) {
        if matches!(call.method.as_str(), "initialize" | "shutdown") {
            // The router would change its state, though nobody can be told.
            tracing::warn!(method = call.method, "passed over a request without an id");
            return;
        }
        let params = match call.params {
            Ok(params) => params,
            Err(why) => {
                tracing::error!(method = call.method, why, "could not read a notification");
                return self.lost();
            }
        };
        if !readable(&call.method, params.as_ref()) {
            // The router would pass it over without a word.
            tracing::error!(method = call.method, "could not read a notification");
            return self.lost();
        }
        let future = self.route(None, &call.method, params);
        let ticket = Ticket { request: None, method: call.method.into(), _weight: call.weight };
        match future {
            Ok(future) => {
                let (mut served, _abort) = Call::new(ticket, future);
                match served.first_poll() {
                    Poll::Ready((ticket, outcome)) => self.finish(ticket, outcome),
                    Poll::Pending => {
                        self.waiting_notifications += 1;
                        self.calls.push(served);
                    }
                }
            }
            Err(text) => self.finish(ticket, Outcome::Panicked(text)),
        }
    }

    /// Calls the router; the text of a panic is the error.
    fn route(
        &mut self,
        id: Option<i32>,
        method: &str,
        params: Option<Value>,
    ) -> Result<RouterFuture, String> {
        let mut request = Request::build(method.to_owned());
        if let Some(id) = id {
            request = request.id(i64::from(id));
        }
        if let Some(params) = params {
            request = request.params(params);
        }
        guard(|| self.service.call(request.finish()))
    }

    fn finish(&mut self, ticket: Ticket, outcome: Outcome) {
        let Some(request) = ticket.request else {
            if let Outcome::Panicked(text) = outcome {
                tracing::error!(method = %ticket.method, text, "a notification panicked");
            }
            return;
        };
        if self.initializing == Some(request) {
            self.initializing = None;
        }
        let Some(Open { id, .. }) = self.open.remove(&request) else {
            return;
        };
        self.by_client_id.remove(id.key());
        match outcome {
            Outcome::Done(Some(response)) => {
                self.after_shutdown |= &*ticket.method == "shutdown" && response.is_ok();
                self.answer(&id, response);
            }
            // The router says nothing to unknown `$/` requests.
            Outcome::Done(None) => {
                self.refuse(&Refusal::of(id, code::METHOD_NOT_FOUND, "no such method"));
            }
            Outcome::Panicked(text) => {
                self.forget(request);
                self.answer_panic(&id, &ticket.method, &text);
            }
            Outcome::Aborted => {
                self.forget(request);
                self.refuse(&Refusal::of(id, code::REQUEST_CANCELLED, "the request was cancelled"));
            }
        }
    }

    /// Makes the router forget a request whose future did not come to its
    /// end; it would keep an entry for it for ever.
    fn forget(&mut self, request: i32) {
        let params = json!({ "id": request });
        let future = self.route(None, "$/cancelRequest", Some(params));
        // It is done at the first poll; there is nothing to wait for.
        let _ = future.map(|future| guard(|| future.now_or_never()));
    }

    fn answer(&self, id: &RequestId, response: Response) {
        let body = match response.into_parts().1 {
            Ok(result) => envelope::result_body(id, &result),
            Err(error) => envelope::error_body::<Error>(Some(id), &error),
        };
        self.out.answer(Some(id), body);
    }

    fn answer_panic(&self, id: &RequestId, method: &str, text: &str) {
        tracing::error!(method, text, "a request panicked");
        let message = "the server failed on this request; see its log";
        self.refuse(&Refusal::of(id.clone(), code::INTERNAL_ERROR, message));
    }

    fn refuse(&self, refusal: &Refusal) {
        match refusal.retryable {
            true => self.out.refuse_for_now(refusal.id.as_ref(), &refusal.message),
            false => self.out.refuse(refusal.id.as_ref(), refusal.code, &refusal.message),
        }
    }

    /// Takes the next id under which the router shall know a request. They
    /// are 31 bits wide, since that is what its `$/cancelRequest` reads.
    fn take_id(&mut self) -> i32 {
        loop {
            self.last_id = self.last_id.checked_add(1).unwrap_or(1);
            if !self.open.contains_key(&self.last_id) {
                return self.last_id;
            }
        }
    }
}

/// Says whether a notification can be read that must not be missed: of documents, each counts.
fn readable(method: &str, params: Option<&Value>) -> bool {
    fn reads<'a, T: Deserialize<'a>>(params: Option<&'a Value>) -> bool {
        params.is_some_and(|params| T::deserialize(params).is_ok())
    }
    match method {
        "textDocument/didOpen" => reads::<DidOpenTextDocumentParams>(params),
        "textDocument/didChange" => reads::<DidChangeTextDocumentParams>(params),
        "textDocument/didClose" => reads::<DidCloseTextDocumentParams>(params),
        _ => true,
    }
}
