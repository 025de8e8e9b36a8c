//! Messages of the server: updates are shown, requests are answered.
//!
//! Never leaves a request without an answer, and never panics on a message.

use std::time::Instant;

use adjutant_protocol::ask::{AskResolvedParams, AskView};
use adjutant_protocol::methods;
use adjutant_protocol::state::State;
use adjutant_protocol::update::{AskChange, RunView, SessionUpdateParams, Update};
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
    /// Whether it is an error or a warning; the rest is also in the updates.
    fn is_problem(&self) -> bool {
        self.kind <= 2
    }
}

/// Shows a message that comes while the server stops, if it is an error or a warning.
pub(in crate::cli) fn last_word(incoming: Incoming) {
    let Incoming::Notification { method, params: Some(params) } = incoming else { return };
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
                    tracing::warn!(method, %error, "ignored a notification that cannot be read");
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
                    // The message that the ask closed will say why.
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
                // Compare in the form that clients get.
                let notice = self.notice_message.take();
                let was_shown = notice.is_some_and(|notice| message.message == client::message(&notice));
                if message.is_problem() && !was_shown {
                    self.note(&message.message);
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
            Update::UserMessage { message_id, .. } => self.prompted(message_id),
            Update::Turn(turn) => {
                self.failure = turn.failure;
                self.failure_words = turn.failure.and(turn.message.clone());
            }
            Update::StateUpdate(state) => {
                self.idle = state.state == State::Idle;
                self.waits = state.state == State::RequiresAction;
                // If a run was open and can now be resumed, the server has given it up.
                self.given_up |= state.state == State::Resumable && self.run.is_some();
            }
            Update::ChangeSet(change) => self.unmade.update(change),
            Update::Ask(AskChange::Changed { ask }) => self.desk.replace(ask),
            Update::Notice { message } if self.view.is_text() => {
                if !self.view.has_printed(message) {
                    self.note(message);
                }
                self.notice_message = Some(format!("Adjutant: {message}"));
                self.last_notice.clone_from(message);
                return;
            }
            _ => {}
        }
        let awaited = self.pages.rest().awaits();
        self.view.update(&mut self.pages, raw, params);
        if awaited && !self.pages.rest().awaits() && self.desk.current().is_some() {
            // Another call has ended, and the question is still open.
            self.pages.rest().prompt();
        }
    }
}

/// Returns `null` for each section: this client has flags and no settings.
fn configuration(params: &RawValue) -> Value {
    #[derive(Deserialize)]
    struct ConfigurationParams {
        #[serde(default)]
        items: Vec<Value>,
    }
    let items = read::<ConfigurationParams>(params).map_or(0, |params| params.items.len());
    Value::Array(vec![Value::Null; items])
}
