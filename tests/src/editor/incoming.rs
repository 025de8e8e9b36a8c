//! The editor double's reaction to each message of the server.
//!
//! One `match` handles requests and one handles notifications. The double answers an unknown
//! request as real editors do.

use adjutant_protocol::SessionId;
use adjutant_protocol::ask::{AskResolvedParams, AskView};
use adjutant_protocol::document::{DocumentSaveParams, DocumentSaveResult, SavedDocument};
use adjutant_protocol::methods;
use adjutant_protocol::overview::Overview;
use adjutant_protocol::review::ReviewUpdateParams;
use adjutant_protocol::session::{NewSessionResult, ResumeParams, ResumeResult, SessionChangedParams};
use adjutant_protocol::update::{AskChange, HunkState, SessionUpdateParams, Update};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::apply::{self, ApplyBehaviour, Reply};
use super::asks::Answer;
use super::buffers::SyncOptions;
use super::connection::{Inner, Phase, Popup, SeenApply};
use super::options::{Popups, SaveBehaviour, Tokens, UnknownRequests};
use super::position::Encoding;
use super::violation::Rule;
use super::watch::plain_uri;
use super::wire::{Id, Message, RpcError};

/// LSP: the sender cancelled the request.
const REQUEST_CANCELLED: i64 = -32800;
/// How the message of Adjutant ends that shows a plain client the beginning of an answer.
const OPENS_CONVERSATION: &str = " The command adjutant.showTranscript opens the conversation.";
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

fn not_found(method: &str) -> RpcError {
    let message = format!("this editor does not know {method:?}");
    RpcError { code: METHOD_NOT_FOUND, message, data: None }
}

impl Inner {
    /// Handles one message of the server.
    pub fn receive(&mut self, message: Message) {
        match message {
            Message::Response { id, result } => self.response(&id, result),
            Message::Notification { method, params } => {
                self.admit(&method);
                self.notification(&method, params);
            }
            Message::Request { id, method, params } => {
                self.admit(&method);
                if !self.incoming.insert(id.clone()) {
                    self.fault(Rule::ReusedId, format!("{method} reuses the outstanding id {id}"));
                }
                self.server_request(id, &method, params);
            }
        }
    }

    /// Reports a violation if the message is not allowed now, or not for this client.
    fn admit(&mut self, method: &str) {
        const ALWAYS: [&str; 5] = [
            "window/showMessage",
            "window/logMessage",
            "window/showMessageRequest",
            "telemetry/event",
            "$/progress",
        ];
        match self.phase {
            Phase::Starting if !ALWAYS.contains(&method) => {
                self.fault(Rule::EarlyMessage, format!("{method} before initialize is answered"));
            }
            Phase::ShutDown => self.fault(Rule::LateMessage, format!("{method} after shutdown is answered")),
            _ => {}
        }
        if !self.is_offered(method) {
            self.fault(Rule::NotOffered, format!("{method} is sent to a client that did not offer it"));
        }
    }

    fn is_offered(&self, method: &str) -> bool {
        let can = &self.options.capabilities;
        let agent = can.agent.as_ref();
        match method {
            methods::REQUEST_PERMISSION => agent.is_some_and(|agent| agent.asks.request),
            methods::DOCUMENT_SAVE => agent.is_some_and(|agent| agent.documents.save),
            methods::WINDOW_REACH => agent.is_some_and(|agent| agent.window.reach),
            methods::REVIEW_UPDATE => agent.is_some_and(|agent| agent.review.hunks),
            methods::SESSION_CHANGED => agent.is_some_and(|agent| agent.sessions),
            methods::OVERVIEW => agent.is_some_and(|agent| agent.overview),
            // Many clients support it and do not say so; the text decides.
            "workspace/applyEdit" => true,
            "workspace/configuration" => can.configuration,
            "window/workDoneProgress/create" | "$/progress" => can.progress,
            "window/showDocument" => can.show_document,
            "client/registerCapability" => can.extra.to_string().contains("\"dynamicRegistration\":true"),
            "workspace/codeLens/refresh" => {
                can.extra.pointer("/workspace/codeLens/refreshSupport") == Some(&Value::Bool(true))
            }
            "workspace/textDocumentContent/refresh" => {
                can.extra.pointer("/workspace/textDocumentContent").is_some()
            }
            method => !method.starts_with("agent/") || agent.is_some(),
        }
    }

    fn response(&mut self, id: &Id, result: Result<Value, RpcError>) {
        let Some(sent) = self.sent.get_mut(id).filter(|sent| sent.response.is_none()) else {
            return self.fault(Rule::UnknownResponse, format!("a response to the id {id}"));
        };
        sent.response = Some(result.clone());
        let (method, params) = (sent.method.clone(), sent.params.clone());
        let Ok(result) = result else { return };
        match method.as_str() {
            "initialize" => self.agree(&result),
            "shutdown" => self.phase = Phase::ShutDown,
            methods::SESSION_NEW => {
                if let Some(made) = self.body::<NewSessionResult>(&method, &result) {
                    self.watch.created(&made.session_id);
                }
            }
            methods::SESSION_RESUME => {
                let asked: Option<ResumeParams> = serde_json::from_value(params).ok();
                let now = self.body::<ResumeResult>(&method, &result);
                if let (Some(asked), Some(now)) = (asked, now) {
                    now.asks.iter().for_each(|ask| self.meet(ask));
                    self.watch.resumed(&asked.session_id, asked.replay_from, &now);
                }
            }
            _ => {}
        }
    }

    /// Stores the server's choices from the client's offer.
    fn agree(&mut self, result: &Value) {
        self.phase = Phase::Running;
        let capabilities = &result["capabilities"];
        let named = capabilities["positionEncoding"].as_str();
        let chosen = named.map_or(Some(Encoding::Utf16), Encoding::of_name);
        let offered = &self.options.capabilities.encodings;
        let chosen = chosen.filter(|chosen| *chosen == Encoding::Utf16 || offered.contains(chosen));
        if chosen.is_none() {
            self.fault(Rule::NotOffered, format!("the position encoding {named:?}"));
        }
        let sync = SyncOptions::of(&capabilities["textDocumentSync"]);
        self.buffers.agree(chosen.unwrap_or(Encoding::Utf16), sync);
    }

    /// Parses a body strictly: a member that the protocol crate does not know is a violation.
    fn body<T: DeserializeOwned + Serialize>(&mut self, method: &str, value: &Value) -> Option<T> {
        let body: T = match serde_json::from_value(value.clone()) {
            Ok(body) => body,
            Err(why) => {
                self.fault(Rule::Malformed, format!("{why} in {method} {value}"));
                return None;
            }
        };
        if serde_json::to_value(&body).ok().as_ref() != Some(value) {
            self.fault(
                Rule::Malformed,
                format!("{method} {value} has a member that the protocol does not know"),
            );
        }
        Some(body)
    }

    fn notification(&mut self, method: &str, params: Value) {
        match method {
            methods::SESSION_UPDATE => {
                if let Some(update) = self.body::<SessionUpdateParams>(method, &params) {
                    self.update(update);
                }
            }
            methods::ASK_RESOLVED => {
                if let Some(resolved) = self.body::<AskResolvedParams>(method, &params) {
                    self.faults.extend(self.watch.resolved(&resolved.session_id, &resolved.ask_id));
                    self.resolved.push(resolved);
                }
            }
            methods::REVIEW_UPDATE => {
                if let Some(update) = self.body::<ReviewUpdateParams>(method, &params) {
                    self.check_hunks(&update);
                    self.reviews.insert(update.uri.clone(), update);
                }
            }
            methods::SESSION_CHANGED => {
                if let Some(changed) = self.body::<SessionChangedParams>(method, &params) {
                    self.listed.push(changed);
                }
            }
            methods::OVERVIEW => {
                if let Some(overview) = self.body::<Overview>(method, &params) {
                    self.overviews.push(overview);
                }
            }
            "$/cancelRequest" => match Id::from_value(&params["id"]) {
                Some(id) => self.withdraw(id),
                None => self.fault(Rule::Malformed, format!("$/cancelRequest {params}")),
            },
            "$/progress" => {
                let fault = self.progress.report(&params);
                self.faults.extend(fault);
            }
            "window/showMessage" => {
                let text = params["message"].as_str().unwrap_or("").to_owned();
                match text.strip_suffix(OPENS_CONVERSATION) {
                    // Each run that is done ends with one; a test that is about the end awaits it.
                    Some(answer) => self.answers.push(answer.to_owned()),
                    None => self.messages.push_back((params["type"].as_u64().unwrap_or(0), text)),
                }
            }
            "window/logMessage" => {
                self.logged.push(params["message"].as_str().unwrap_or("").to_owned());
            }
            "textDocument/publishDiagnostics" => {
                let uri = params["uri"].as_str().unwrap_or("").to_owned();
                self.diagnostics.insert(uri, params["diagnostics"].clone());
            }
            "$/logTrace" | "telemetry/event" => {}
            _ => self.fault(Rule::UnknownNotification, format!("{method} {params}")),
        }
    }

    /// Checks that hunks are where their text is, if the update is about the text of now.
    fn check_hunks(&mut self, update: &ReviewUpdateParams) {
        let open = self
            .buffers
            .buffer(&update.uri)
            .filter(|open| Some(open.version) == update.version.map(i64::from));
        let Some(text) = open.map(|open| open.text.clone()) else { return };
        let lines: Vec<&str> = lines_of(&text);
        for hunk in update.hunks.iter().filter(|hunk| hunk.beneath.is_empty()) {
            let (start, end) = (hunk.line as usize, hunk.end_line.unwrap_or(hunk.line) as usize);
            let there = lines.get(start..end).map(|lines| lines.concat());
            let wanted = match hunk.state {
                HunkState::Applied => hunk.formatted.as_ref().unwrap_or(&hunk.inserted),
                HunkState::Proposed => &hunk.removed,
                _ => continue,
            };
            if there.as_deref() != Some(wanted) {
                self.fault(Rule::MisplacedHunk, format!("{there:?} at {start}..{end} for {hunk:?}"));
            }
        }
    }

    fn update(&mut self, update: SessionUpdateParams) {
        let faults = self.watch.update(&update, &self.world);
        self.faults.extend(faults);
        if let Update::Ask(AskChange::Opened { ask }) = &update.update {
            self.meet(ask);
        }
        if let Update::StateUpdate(_) = &update.update {
            self.last_state.insert(update.session_id.clone(), self.updates.len());
        }
        self.updates.push(update);
    }

    /// Stores an ask when it is first seen.
    fn meet(&mut self, ask: &AskView) {
        if self.asks.iter().all(|known| known.ask_id != ask.ask_id) {
            self.asks.push(ask.clone());
        }
    }

    fn server_request(&mut self, id: Id, method: &str, params: Value) {
        match method {
            methods::REQUEST_PERMISSION => self.permission(id, &params),
            methods::DOCUMENT_SAVE => self.save_documents(&id, &params),
            methods::WINDOW_REACH => self.reaches.push(id),
            "workspace/applyEdit" => self.apply_edit(id, params),
            "window/showMessageRequest" => match self.options.popups {
                Popups::Shown => self.popup(id, &params),
                Popups::Unknown => {
                    self.popups_refused += 1;
                    self.respond(&id, Err(not_found(method)));
                }
                Popups::Null => self.respond(&id, Ok(Value::Null)),
            },
            "window/workDoneProgress/create" => {
                let fault = self.progress.create(&params);
                self.faults.extend(fault);
                match self.options.tokens {
                    Tokens::Created => self.respond(&id, Ok(Value::Null)),
                    Tokens::Refused => {
                        let message = "no more progress here".to_owned();
                        self.respond(&id, Err(RpcError { code: INVALID_PARAMS, message, data: None }));
                    }
                    Tokens::NeverAnswered => {}
                }
            }
            "workspace/configuration" => {
                let section = |item: &Value| match item["section"].as_str() {
                    Some("adjutant") => self.options.settings.clone(),
                    _ => Value::Null,
                };
                let items = params["items"].as_array();
                let values: Vec<Value> = items.into_iter().flatten().map(section).collect();
                self.respond(&id, Ok(json!(values)));
            }
            "workspace/workspaceFolders" => {
                let folders = self.options.initialize_params()["workspaceFolders"].clone();
                self.respond(&id, Ok(folders));
            }
            "window/showDocument" => {
                self.shown.push(params);
                self.respond(&id, Ok(json!({"success": true})));
            }
            "client/registerCapability" | "client/unregisterCapability" => self.respond(&id, Ok(Value::Null)),
            method if method.starts_with("workspace/") && method.ends_with("/refresh") => {
                let uri = params["uri"].as_str().map(|uri| format!(" {uri}")).unwrap_or_default();
                self.refreshes.push(format!("{method}{uri}"));
                self.respond(&id, Ok(Value::Null));
            }
            method => {
                let result = match self.options.unknown_requests {
                    UnknownRequests::NullAsSuccess => Ok(Value::Null),
                    UnknownRequests::MethodNotFound => Err(not_found(method)),
                };
                self.respond(&id, result);
            }
        }
    }

    fn permission(&mut self, id: Id, params: &Value) {
        let Some(ask) = self.body::<AskView>(methods::REQUEST_PERMISSION, params) else {
            // An editor that cannot parse a question closes it.
            let closed = Answer::Close.response().unwrap_or(Ok(Value::Null));
            return self.respond(&id, closed);
        };
        self.faults.extend(self.watch.delivered(&ask));
        self.meet(&ask);
        match self.ask_script.next(&ask).response() {
            None => self.delivered.push((ask, Some(id))),
            Some(response) => {
                self.delivered.push((ask, None));
                self.respond(&id, response);
            }
        }
    }

    fn popup(&mut self, id: Id, params: &Value) {
        if !self.open_popups.is_empty() {
            // Helix would drop the first popup and never answer it.
            self.fault(Rule::SecondPopup, format!("{params} while another one is open"));
        }
        let items: Vec<Value> = params["actions"].as_array().cloned().unwrap_or_default();
        let title = |item: &Value| item["title"].as_str().unwrap_or("").to_owned();
        let actions = items.iter().map(title).collect();
        let message = params["message"].as_str().unwrap_or("").to_owned();
        self.open_popups.insert(id.clone());
        self.popups.push(Popup { id, message, actions, items });
    }

    fn withdraw(&mut self, id: Id) {
        for (_, held) in self.delivered.iter_mut().filter(|(_, held)| held.as_ref() == Some(&id)) {
            *held = None;
        }
        let mut answers = true;
        for apply in self.applies.iter_mut().filter(|apply| apply.id == id && apply.reply.is_none()) {
            apply.withdrawn = true;
            answers = apply.late;
            self.refused_an_edit = true;
        }
        if answers {
            let message = "the request was withdrawn".to_owned();
            self.respond(&id, Err(RpcError { code: REQUEST_CANCELLED, message, data: None }));
        }
        self.withdrawn.push(id);
    }

    fn save_documents(&mut self, id: &Id, params: &Value) {
        let Some(asked) = self.body::<DocumentSaveParams>(methods::DOCUMENT_SAVE, params) else {
            let message = "these are not the params of a save".to_owned();
            return self.respond(id, Err(RpcError { code: -32602, message, data: None }));
        };
        self.saves.push(params.clone());
        let mut documents = Vec::new();
        for uri in asked.uris {
            let outcome = match &self.options.save {
                SaveBehaviour::Faithful => self.buffers.save(&uri),
                SaveBehaviour::Refuse(reason) => Err(reason.clone()),
                SaveBehaviour::SaySavedDoNothing => Ok(()),
                SaveBehaviour::Format(from, to) => {
                    let text = self.buffers.text(&uri).unwrap_or_default().replace(from, to);
                    self.buffers.set_text(&uri, &text);
                    self.buffers.save(&uri)
                }
                SaveBehaviour::SaySavedLeaveFolder => self.buffers.replace_with_folder(&uri),
            };
            documents.push(SavedDocument { uri, saved: outcome.is_ok(), message: outcome.err() });
        }
        self.send_changes();
        self.respond(id, Ok(json!(DocumentSaveResult { documents })));
    }

    fn apply_edit(&mut self, id: Id, params: Value) {
        // The user types while the edit is in flight.
        if let Some(mut hook) = self.before_apply.take() {
            hook(&mut self.buffers);
            self.before_apply = Some(hook);
            self.send_changes();
        }
        let behaviour = self.apply_queue.pop_front().unwrap_or_else(|| self.options.apply.clone());
        let edit = params["edit"].clone();
        self.judge_edit(&edit);
        let mut faults = Vec::new();
        let reply = apply::perform(&behaviour, &edit, &mut self.buffers, &mut faults);
        self.faults.extend(faults);
        self.refused_an_edit |= reply.is_refusal();
        let late = reply == Reply::Later;
        self.applies.push(SeenApply { id: id.clone(), params, reply: None, withdrawn: false, late });
        match reply {
            Reply::Answer(result) => {
                self.send_changes();
                self.answer_apply(&id, result);
            }
            Reply::AnswerFirst(result) => {
                self.answer_apply(&id, result);
                self.send_changes();
            }
            Reply::AnswerTwice(result) => {
                self.send_changes();
                self.answer_apply(&id, result.clone());
                self.send(&Message::Response { id, result });
            }
            Reply::Later | Reply::Never => self.send_changes(),
        }
    }

    fn answer_apply(&mut self, id: &Id, result: Result<Value, RpcError>) {
        if let Some(apply) = self.applies.iter_mut().rev().find(|apply| apply.id == *id) {
            apply.reply = Some(result.clone());
        }
        self.respond(id, result);
    }

    /// Counts the edits of each document; an edit of an open document without a version is a violation.
    fn judge_edit(&mut self, edit: &Value) {
        for operation in apply::parse(edit).unwrap_or_default() {
            if let apply::Operation::Rename { uri, .. } | apply::Operation::Delete { uri } = &operation {
                *self.world.edits.entry(plain_uri(uri)).or_default() += 1;
            }
            let apply::Operation::Edit { uri, version, .. } = &operation else { continue };
            *self.world.edits.entry(plain_uri(uri)).or_default() += 1;
            if version.is_none() && self.buffers.buffer(uri).is_some() && !self.refused_an_edit {
                self.fault(Rule::Unversioned, format!("the edit of the open document {uri}"));
            }
        }
    }

    /// Applies the delayed edits, and answers those that were not withdrawn.
    pub fn release_applies(&mut self) {
        let late: Vec<SeenApply> = self.applies.iter().filter(|apply| apply.late).cloned().collect();
        for apply in late {
            let mut faults = Vec::new();
            let edit = &apply.params["edit"];
            let reply = apply::perform(&ApplyBehaviour::StaleRefuse, edit, &mut self.buffers, &mut faults);
            self.faults.extend(faults);
            self.refused_an_edit |= reply.is_refusal();
            self.send_changes();
            if let (Reply::Answer(result), false) = (reply, apply.withdrawn) {
                self.answer_apply(&apply.id, result);
            }
        }
        self.applies.iter_mut().for_each(|apply| apply.late = false);
    }

    /// Returns the index of the last state update since the last prompt, of one session or of any.
    pub fn latest_state(&self, session: Option<&SessionId>) -> Option<usize> {
        let latest = match session {
            Some(session) => self.last_state.get(session),
            None => self.last_state.values().max(),
        };
        latest.copied().filter(|index| *index >= self.state_floor)
    }
}

/// Returns the lines of a text with their line ends: `\n`, `\r\n` or `\r`.
fn lines_of(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest
            .find(['\n', '\r'])
            .map_or(rest.len(), |at| at + if rest[at..].starts_with("\r\n") { 2 } else { 1 });
        let (line, after) = rest.split_at(end);
        lines.push(line);
        rest = after;
    }
    lines
}
