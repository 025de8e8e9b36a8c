//! What the server says to its client: updates shown, requests answered.
//!
//! Every request gets an answer, and nothing the server says is a crash.

use std::time::Instant;

use adjutant_protocol::ask::{AskResolvedParams, AskView};
use adjutant_protocol::methods;
use adjutant_protocol::state::State;
use adjutant_protocol::update::{RunView, SessionUpdateParams, Update};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::cli::asks::PendingAsk;
use crate::cli::client::read;
use crate::cli::page::note;
use crate::client;
use crate::transport::client::Incoming;
use crate::transport::{RequestId, code};

use super::{Conversation, LeaveReason};

#[derive(Deserialize)]
struct Withdrawal {
    id: Box<RawValue>,
}

#[derive(Deserialize)]
struct ShownMessage {
    #[serde(rename = "type")]
    kind: u8,
    message: String,
}

impl ShownMessage {
    /// Errors and warnings; the rest is in the updates.
    fn is_problem(&self) -> bool {
        self.kind <= 2
    }
}

/// Shows what the server still says while it stops, if the user has to know it.
pub(super) fn last_word(said: Incoming) {
    let Incoming::Notification { method, params: Some(params) } = said else { return };
    let message = (method == "window/showMessage").then(|| read::<ShownMessage>(&params));
    if let Some(message) = message.and_then(Result::ok).filter(ShownMessage::is_problem) {
        note(&message.message);
    }
}

impl Conversation {
    pub(super) async fn handle(&mut self, incoming: Incoming) -> Result<(), LeaveReason> {
        match incoming {
            Incoming::Request { id, method, params } => self.requested(&id, &method, params).await,
            Incoming::Notification { method, params } => {
                let params = params.unwrap_or_default();
                if let Err(error) = self.notified(&method, &params) {
                    tracing::warn!(method, %error, "passed over a notification that makes no sense");
                }
                Ok(())
            }
        }
    }

    async fn requested(
        &mut self,
        id: &RequestId,
        method: &str,
        params: Option<Box<RawValue>>,
    ) -> Result<(), LeaveReason> {
        let params = params.unwrap_or_default();
        let answered = match method {
            methods::REQUEST_PERMISSION => match read::<AskView>(&params) {
                Ok(ask) => {
                    self.delivered(PendingAsk { request: Some(id.clone()), ask });
                    return Ok(());
                }
                Err(error) => Err(error),
            },
            "workspace/configuration" => Ok(Ok(configuration(&params))),
            "client/registerCapability"
            | "client/unregisterCapability"
            | "window/workDoneProgress/create"
            | "window/showMessageRequest" => Ok(Ok(Value::Null)),
            "window/showDocument" => Ok(Ok(json!({ "success": false }))),
            _ => {
                let why = format!("this client has no method \"{method}\"");
                self.client.out().refuse(Some(id), code::METHOD_NOT_FOUND, &why);
                return Ok(());
            }
        };
        match answered.and_then(|value| value) {
            Ok(value) => self.client.out().respond(id, &value),
            Err(error) => self.client.out().refuse(Some(id), code::INVALID_PARAMS, &error.to_string()),
        }
        Ok(())
    }

    fn notified(&mut self, method: &str, params: &RawValue) -> Result<(), serde_json::Error> {
        match method {
            methods::SESSION_UPDATE => self.updated(params, &read(params)?),
            methods::ASK_RESOLVED => {
                let resolved: AskResolvedParams = read(params)?;
                let (gone, was_shown) = self.desk.closed(&resolved.ask_id);
                gone.iter().for_each(|delivery| self.close_surface(delivery));
                let withdrawn = self.withdrawn.take_if(|ask| *ask == resolved.ask_id).is_some();
                if was_shown || withdrawn {
                    self.ask_closed(&resolved.resolution);
                }
            }
            "$/cancelRequest" => {
                let withdrawal: Withdrawal = read(params)?;
                let (gone, was_shown) = self.desk.withdrawn(withdrawal.id.get());
                if was_shown {
                    // Why is said by what follows.
                    self.demo_answers_at = None;
                    self.withdrawn = gone.last().map(|delivery| delivery.ask.ask_id.clone());
                }
                for delivery in gone {
                    let out = self.client.out();
                    out.refuse(delivery.request.as_ref(), code::REQUEST_CANCELLED, "the ask was withdrawn");
                }
            }
            "window/showMessage" => {
                let message: ShownMessage = read(params)?;
                // The message has the form that a client may draw.
                let told = self.said.take().is_some_and(|said| message.message == client::message(&said));
                if message.is_problem() && !told {
                    self.view.aside(&mut self.pages);
                    note(&message.message);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn updated(&mut self, raw: &RawValue, params: &SessionUpdateParams) {
        if self.session.as_ref() != Some(&params.session_id) {
            return;
        }
        match &params.update {
            Update::Run(RunView::Started { run_id, .. }) => {
                self.idle = false;
                self.run.get_or_insert_with(|| run_id.clone());
            }
            Update::Run(RunView::Ended { run_id, end }) => {
                self.idle = false;
                self.ended = Some((run_id.clone(), end.clone(), Instant::now()));
            }
            Update::Turn(turn) => self.failure = turn.failure,
            Update::StateUpdate(state) => {
                self.idle = state.state == State::Idle;
                self.waits = state.state == State::RequiresAction;
                // A run that was going on and waits to be resumed has been given up by its server.
                self.given_up |= state.state == State::Resumable && self.run.is_some();
            }
            Update::ChangeSet(change) => self.unmade.update(change),
            Update::Notice { message } if self.view.is_text() => {
                if !self.view.has_printed(message) {
                    self.view.aside(&mut self.pages);
                    note(message);
                }
                self.said = Some(format!("Adjutant: {message}"));
                self.noticed.clone_from(message);
                return;
            }
            _ => {}
        }
        let awaited = self.pages.rest().awaits();
        self.view.update(&mut self.pages, raw, params);
        if awaited && !self.pages.rest().awaits() && self.desk.current().is_some() {
            // A call beside the one that is asked about has ended: the question is still there to be answered.
            self.pages.rest().prompt();
        }
    }
}

/// No section of this client's settings says anything: it has its own flags.
fn configuration(params: &RawValue) -> Value {
    #[derive(Deserialize)]
    struct AwaitedReply {
        #[serde(default)]
        items: Vec<Value>,
    }
    let items = read::<AwaitedReply>(params).map_or(0, |wanted| wanted.items.len());
    Value::Array(vec![Value::Null; items])
}
