//! A double of an LSP editor: real buffers, real bytes, and on request the misbehaviour of real
//! editors.
//!
//! Never knows the inside of the server. When the double is dropped, the test fails with every rule
//! that the server broke.

mod apply;
mod asks;
mod buffers;
mod connection;
mod incoming;
mod options;
mod position;
mod progress;
mod seen;
mod sessions;
mod surfaces;
mod violation;
mod watch;
pub mod wire;

use std::io::{Read, Write};
use std::sync::Arc;
use std::thread;

use adjutant_protocol::ask::AskView;
use adjutant_protocol::capability::ServerAgentCapabilities;
use adjutant_protocol::overview::Overview;
use adjutant_protocol::review::ReviewHunk;
use adjutant_protocol::session::SessionChangedParams;
use serde_json::{Value, json};

pub use apply::ApplyBehaviour;
pub use asks::Answer;
pub use buffers::{Buffer, Buffers, Place, SyncKind};
pub use connection::{Popup, SeenApply};
pub use options::{Capabilities, Chunks, Options, Popups, SaveBehaviour, Tokens, UnknownRequests};
pub use position::{Encoding, Position};
pub use violation::{Rule, Violation};
pub use wire::{Id, RpcError};

use self::connection::{Phase, Shared, connect};

/// The editor. All of its methods may be called from any thread of a test.
pub struct Editor {
    shared: Arc<Shared>,
    judged: bool,
}

impl Editor {
    /// Connects to a server and initializes it; panics if that fails.
    #[track_caller]
    pub fn start(
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        options: Options,
    ) -> Editor {
        let editor = Editor::connect(reader, writer, options);
        if let Err(error) = editor.initialize() {
            panic!("initialize: {error}");
        }
        editor
    }

    /// Connects to a server without a first message.
    pub fn connect(
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        options: Options,
    ) -> Editor {
        Editor { shared: connect(reader, writer, options), judged: false }
    }

    /// Sends `initialize` and, after the answer, `initialized`.
    #[track_caller]
    pub fn initialize(&self) -> Result<Value, RpcError> {
        let params = self.shared.lock().options.initialize_params();
        let result = self.request("initialize", params)?;
        self.notify("initialized", json!({}));
        Ok(result)
    }

    /// Returns the server's answer to `initialize`.
    pub fn initialize_result(&self) -> Value {
        let inner = self.shared.lock();
        let answer = inner.sent.values().find(|sent| sent.method == "initialize");
        answer.and_then(|sent| sent.response.clone()?.ok()).unwrap_or(Value::Null)
    }

    /// Returns `experimental.agent` of the server, if it has one.
    pub fn agent_capabilities(&self) -> Option<ServerAgentCapabilities> {
        let agent = &self.initialize_result()["capabilities"]["experimental"]["agent"];
        serde_json::from_value(agent.clone()).ok()
    }

    /// Sends a request and waits for its response.
    #[track_caller]
    pub fn request(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        let id = self.request_nowait(method, params);
        self.await_response(&id)
    }

    /// Sends a request without a wait. The test fails if no answer has arrived at its end.
    pub fn request_nowait(&self, method: &str, params: Value) -> Id {
        self.shared.lock().request(method, params)
    }

    /// Waits for the response to a request.
    #[track_caller]
    pub fn await_response(&self, id: &Id) -> Result<Value, RpcError> {
        let what = format!("the response to the request {id}");
        self.shared.wait(&what, |inner| inner.sent.get(id)?.response.clone())
    }

    /// Returns whether a request has been answered.
    pub fn is_answered(&self, id: &Id) -> bool {
        self.shared.lock().sent.get(id).is_some_and(|sent| sent.response.is_some())
    }

    /// Withdraws a request; the server still has to answer it.
    pub fn cancel_request(&self, id: &Id) {
        self.notify("$/cancelRequest", json!({"id": id.to_value()}));
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: Value) {
        self.shared.lock().notify(method, params);
    }

    /// Sends raw bytes, which need not be a frame.
    pub fn send_bytes(&self, bytes: &[u8]) {
        let mut inner = self.shared.lock();
        inner.seen.note(&format!("editor -> {} raw bytes", bytes.len()));
        inner.send_bytes(bytes.to_vec());
    }

    /// Stops reading until `unstall`, so that the server's pipe fills up.
    pub fn stall(&self) {
        self.shared.lock().stalled = true;
    }

    /// Continues reading.
    pub fn unstall(&self) {
        self.shared.lock().stalled = false;
        self.shared.wake();
    }

    /// Changes the buffers and notifies the server at once.
    pub fn edit<T>(&self, edit: impl FnOnce(&mut Buffers) -> T) -> T {
        let mut inner = self.shared.lock();
        let result = edit(&mut inner.buffers);
        inner.send_changes();
        result
    }

    /// Applies the edit of a code action, as a client does before it runs the command.
    #[track_caller]
    pub fn make(&self, edit: &Value) {
        let mut faults = Vec::new();
        let made =
            |buffers: &mut Buffers| apply::perform(&ApplyBehaviour::StaleRefuse, edit, buffers, &mut faults);
        let reply = self.edit(made);
        assert!(!reply.is_refusal() && faults.is_empty(), "{edit} is not applied: {reply:?}, {faults:?}");
    }

    /// Opens a file. `name` is a path in the workspace or a URI, in every method here.
    #[track_caller]
    pub fn open(&self, name: &str) {
        if let Err(why) = self.edit(|buffers| buffers.open(name)) {
            panic!("open {name:?}: {why}");
        }
    }

    /// Types a text at a place.
    #[track_caller]
    pub fn type_at(&self, name: &str, place: impl Into<Place>, text: &str) {
        self.edit(|buffers| buffers.type_at(name, place, text));
    }

    /// Replaces the first occurrence of a text.
    #[track_caller]
    pub fn replace(&self, name: &str, old: &str, new: &str) {
        self.edit(|buffers| buffers.replace(name, old, new));
    }

    /// Undoes the last change of the user or of the server.
    #[track_caller]
    pub fn undo(&self, name: &str) {
        self.edit(|buffers| buffers.undo(name));
    }

    /// Saves a document.
    #[track_caller]
    pub fn save(&self, name: &str) {
        if let Err(why) = self.edit(|buffers| buffers.save(name)) {
            panic!("save {name:?}: {why}");
        }
    }

    /// Closes a document.
    #[track_caller]
    pub fn close(&self, name: &str) {
        self.edit(|buffers| buffers.close(name));
    }

    /// Returns the text the user sees: the buffer, or the file if it is not open.
    #[track_caller]
    pub fn text_of(&self, name: &str) -> String {
        let text = self.shared.lock().buffers.text(name);
        text.unwrap_or_else(|| panic!("{name:?} is neither open nor on disk"))
    }

    /// Returns an open document.
    pub fn buffer(&self, name: &str) -> Option<Buffer> {
        self.shared.lock().buffers.buffer(name).cloned()
    }

    /// Waits for an update about the hunks of an open document in the version of its text; returns how many there are.
    /// The next wait is for another update.
    #[track_caller]
    pub fn await_hunks_of_now(&self, name: &str) -> usize {
        self.shared.wait(&format!("the hunks of the text of {name:?}"), |inner| {
            let open = inner.buffers.buffer(name)?;
            let (uri, version) = (open.uri.clone(), open.version);
            let update = inner.reviews.remove(&uri)?;
            (update.version.map(i64::from) == Some(version)).then_some(update.hunks.len())
        })
    }

    /// Waits until the user sees this text.
    #[track_caller]
    pub fn await_text(&self, name: &str, wanted: &str) {
        self.shared.wait(&format!("{name:?} to be {wanted:?}"), |inner| {
            (inner.buffers.text(name).as_deref() == Some(wanted)).then_some(())
        });
    }

    /// Waits for hunks that are drawn in the text of now of a document.
    #[track_caller]
    pub fn await_hunks(&self, name: &str, wanted: impl Fn(&[ReviewHunk]) -> bool) -> Vec<ReviewHunk> {
        self.shared.wait(&format!("hunks of {name:?}"), |inner| {
            let open = inner.buffers.buffer(name)?;
            let update = inner.reviews.get(&open.uri)?;
            let is_of_now = update.version.map(i64::from) == Some(open.version);
            (is_of_now && wanted(&update.hunks)).then(|| update.hunks.clone())
        })
    }

    /// Waits until the last overview is this one, and returns it.
    #[track_caller]
    pub fn await_overview(&self, wanted: impl Fn(&Overview) -> bool) -> Overview {
        self.shared.wait("an overview", |inner| inner.overviews.last().filter(|last| wanted(last)).cloned())
    }

    /// Returns all overviews so far.
    pub fn overviews(&self) -> Vec<Overview> {
        self.shared.lock().overviews.clone()
    }

    /// Waits until the client heard such an entry of the list of sessions, after the first `from` of what it heard.
    #[track_caller]
    pub fn await_listed(&self, from: usize, wanted: impl Fn(&SessionChangedParams) -> bool) -> usize {
        self.shared.wait("an entry of the list", |inner| {
            inner.listed.iter().skip(from).position(&wanted).map(|at| from + at + 1)
        })
    }

    /// Returns what the client heard of the list of sessions so far.
    pub fn listed(&self) -> Vec<SessionChangedParams> {
        self.shared.lock().listed.clone()
    }

    /// Sets the behaviour for all later edits.
    pub fn set_apply(&self, behaviour: ApplyBehaviour) {
        self.shared.lock().options.apply = behaviour;
    }

    /// Adds a behaviour for one edit to the queue.
    pub fn apply_next(&self, behaviour: ApplyBehaviour) {
        self.shared.lock().apply_queue.push_back(behaviour);
    }

    /// Sets what the user does after an edit arrives and before the editor applies it.
    pub fn before_apply(&self, hook: impl FnMut(&mut Buffers) + Send + 'static) {
        self.shared.lock().before_apply = Some(Box::new(hook));
    }

    /// Applies and answers the edits that `ApplyLate` delayed.
    pub fn release_applies(&self) {
        self.shared.lock().release_applies();
        self.shared.wake();
    }

    /// Waits until the server asks whether the window can be reached. It cannot, until [`Editor::reached`].
    #[track_caller]
    pub fn await_reach(&self) {
        self.shared
            .wait("the question whether the window can be reached", |inner| inner.reaches.first().map(drop));
    }

    /// Answers that the window can be reached.
    pub fn reached(&self) {
        let mut inner = self.shared.lock();
        for id in std::mem::take(&mut inner.reaches) {
            inner.respond(&id, Ok(json!({})));
        }
        drop(inner);
        self.shared.wake();
    }

    /// Returns all edits that arrived.
    pub fn applies(&self) -> Vec<SeenApply> {
        self.shared.lock().applies.clone()
    }

    /// Waits for edit number `count`, from one.
    #[track_caller]
    pub fn await_apply(&self, count: usize) -> SeenApply {
        let what = format!("edit number {count}");
        self.shared.wait(&what, |inner| inner.applies.get(count.checked_sub(1)?).cloned())
    }

    /// Sets the behaviour for requests to save.
    pub fn set_save(&self, behaviour: SaveBehaviour) {
        self.shared.lock().options.save = behaviour;
    }

    /// Adds an answer for one ask that arrives as a request to the queue.
    pub fn answer_next(&self, answer: Answer) {
        self.shared.lock().ask_script.push(answer);
    }

    /// Sets the rule for asks that find the queue of `answer_next` empty.
    pub fn on_ask(&self, rule: impl FnMut(&AskView) -> Answer + Send + 'static) {
        self.shared.lock().ask_script.set_rule(rule);
    }

    /// Waits for the next `window/showMessage` and returns its text.
    #[track_caller]
    pub fn await_message(&self) -> String {
        self.shared.wait("a window/showMessage", |inner| inner.messages.pop_front()).1
    }

    /// Returns the messages that no `await_message` has returned yet.
    pub fn messages(&self) -> Vec<String> {
        self.shared.lock().messages.iter().map(|(_, text)| text.clone()).collect()
    }

    /// Waits until `count` runs have ended with a `window/showMessage` about the answer, and returns their texts.
    #[track_caller]
    pub fn await_answers(&self, count: usize) -> Vec<String> {
        self.shared.wait("the message about an answer", |inner| {
            (inner.answers.len() >= count).then(|| inner.answers.clone())
        })
    }

    /// Returns the texts of the messages about the answers of runs so far.
    pub fn answers(&self) -> Vec<String> {
        self.shared.lock().answers.clone()
    }

    /// Returns the messages in the user's log window.
    pub fn logged(&self) -> Vec<String> {
        self.shared.lock().logged.clone()
    }

    /// Returns all requests to save.
    pub fn saves_asked(&self) -> Vec<Value> {
        self.shared.lock().saves.clone()
    }

    /// Returns the ids of the requests that the server withdrew.
    pub fn withdrawn(&self) -> Vec<Id> {
        self.shared.lock().withdrawn.clone()
    }

    /// Returns the last messages in both directions, as text.
    pub fn seen(&self) -> String {
        self.shared.lock().seen.text()
    }

    /// Returns the violations of the server so far.
    pub fn violations(&self) -> Vec<Violation> {
        self.shared.lock().faults.clone()
    }

    /// Removes the violations of a rule that a test breaks on purpose.
    pub fn forgive(&self, rule: Rule) {
        self.shared.lock().faults.retain(|fault| fault.rule != rule);
    }

    /// Announces a planned loss of the connection, after which answers may be missing.
    pub fn expect_loss(&self) {
        self.shared.lock().loss_expected = true;
    }

    /// Closes the editor's side, as a crashed editor would.
    pub fn hang_up(&self) {
        let mut inner = self.shared.lock();
        inner.loss_expected = true;
        inner.close();
    }

    /// Waits until the server has closed its side.
    #[track_caller]
    pub fn await_end(&self) -> String {
        // `wait` calls this closure before it treats the end of the connection as a failure.
        self.shared.wait("the end of the connection", |inner| inner.ended.clone())
    }

    /// Sends `shutdown` and `exit` and waits until the server closes its side.
    #[track_caller]
    pub fn shutdown(&self) {
        if let Err(error) = self.request("shutdown", Value::Null) {
            panic!("shutdown: {error}");
        }
        self.notify("exit", Value::Null);
        self.await_end();
    }

    /// Ends the editor and returns the violations; a drop would fail the test instead.
    pub fn finish(mut self) -> Vec<Violation> {
        self.judged = true;
        self.judge()
    }

    fn judge(&self) -> Vec<Violation> {
        let mut inner = self.shared.lock();
        let mut faults = std::mem::take(&mut inner.faults);
        if !inner.loss_expected {
            let open = inner.sent.iter().filter(|(_, sent)| sent.response.is_none());
            faults.extend(
                open.map(|(id, sent)| Violation::new(Rule::Unanswered, format!("{} {id}", sent.method))),
            );
        }
        let unread = inner.messages.iter().map(|(_, text)| Violation::new(Rule::UnreadMessage, text.clone()));
        faults.extend(unread);
        if inner.phase == Phase::ShutDown {
            faults.extend(inner.watch.end());
            let held = inner
                .delivered
                .iter()
                .filter(|(ask, held)| held.is_some() && inner.watch.is_closed(&ask.ask_id));
            let left = |ask: &AskView| Violation::new(Rule::DeliveryLeftOpen, format!("ask {}", ask.ask_id));
            faults.extend(held.map(|(ask, _)| left(ask)));
        }
        // From here on, the end of the connection is not a violation.
        inner.loss_expected = true;
        inner.stalled = false;
        inner.close();
        drop(inner);
        self.shared.wake();
        faults
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if self.judged {
            return;
        }
        let faults = self.judge();
        if thread::panicking() || faults.is_empty() {
            return;
        }
        let list: String = faults.iter().map(|fault| format!("  {fault}\n")).collect();
        panic!("the server broke the rules:\n{list}{}", self.shared.lock().report());
    }
}

#[cfg(test)]
mod tests;
