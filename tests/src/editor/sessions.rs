//! Sessions in a rich client: prompts, updates, states and asks.
//!
//! A wait starts after the update that was awaited last. Never waits for a fixed time.

use adjutant_protocol::ask::{AskKind, AskRespondResult, AskView};
use adjutant_protocol::methods;
use adjutant_protocol::session::{
    NewSessionResult, PromptResult, ReplayFrom, ResumeResult, RunEnd, WaitResult,
};
use adjutant_protocol::state::{State, StateView};
use adjutant_protocol::update::{RunView, SessionUpdateParams, Update};
use adjutant_protocol::{AskId, RunId, SessionId};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::connection::Inner;
use super::wire::RpcError;
use super::{Answer, Editor};

impl Editor {
    /// Sends a request and parses its result; panics at an error or at another type.
    #[track_caller]
    pub fn call<T: DeserializeOwned>(&self, method: &str, params: Value) -> T {
        match self.try_call(method, params) {
            Ok(result) => result,
            Err(error) => panic!("{method} is refused: {error}\n{}", self.shared.lock().report()),
        }
    }

    /// Sends a request and parses its result; panics at another type.
    #[track_caller]
    pub fn try_call<T: DeserializeOwned>(&self, method: &str, params: Value) -> Result<T, RpcError> {
        let result = self.request(method, params)?;
        Ok(serde_json::from_value(result.clone())
            .unwrap_or_else(|why| panic!("{method} is answered by {result}: {why}")))
    }

    /// Creates a session in the workspace.
    #[track_caller]
    pub fn new_session(&self) -> SessionId {
        self.call::<NewSessionResult>(methods::SESSION_NEW, json!({})).session_id
    }

    /// Attaches to an existing session.
    #[track_caller]
    pub fn resume(&self, session: &SessionId, from: Option<ReplayFrom>) -> ResumeResult {
        let mut params = json!({"sessionId": session});
        if let Some(from) = from {
            params["replayFrom"] = json!(from);
        }
        self.call(methods::SESSION_RESUME, params)
    }

    /// Sends a prompt with one text. `await_state` ignores all earlier states.
    #[track_caller]
    pub fn prompt(&self, session: &SessionId, text: &str) -> PromptResult {
        self.prompt_with(session, text, json!({}))
    }

    /// Sends a prompt with further params, for example `delivery` or `key`.
    #[track_caller]
    pub fn prompt_with(&self, session: &SessionId, text: &str, more: Value) -> PromptResult {
        let mut params = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
        for (name, value) in more.as_object().into_iter().flatten() {
            params[name] = value.clone();
        }
        let mut inner = self.shared.lock();
        inner.state_floor = inner.updates.len();
        let id = inner.request(methods::SESSION_PROMPT, params);
        drop(inner);
        match self.await_response(&id).map(serde_json::from_value) {
            Ok(Ok(result)) => result,
            Ok(Err(why)) => panic!("the answer to a prompt: {why}"),
            Err(error) => panic!("the prompt is refused: {error}\n{}", self.shared.lock().report()),
        }
    }

    /// Sends a prompt and waits for the end of its run.
    #[track_caller]
    pub fn run_to_end(&self, session: &SessionId, text: &str) -> RunEnd {
        let run = self.prompt(session, text).run_id;
        self.await_run_end(session, &run)
    }

    /// Waits for the end of a run: for its update, or with `agent/session/wait` in a plain client.
    #[track_caller]
    pub fn await_run_end(&self, session: &SessionId, run: &RunId) -> RunEnd {
        let (plain, deadline) = {
            let inner = self.shared.lock();
            (inner.options.capabilities.agent.is_none(), inner.options.deadline)
        };
        if plain {
            let timeout = u64::try_from(deadline.as_millis() * 9 / 10).unwrap_or(u64::MAX);
            let params = json!({"sessionId": session, "runId": run, "timeoutMs": timeout});
            let ended = self.call::<WaitResult>(methods::SESSION_WAIT, params).ended;
            return ended
                .unwrap_or_else(|| panic!("run {run} does not end\n{}", self.shared.lock().report()));
        }
        let mut checked = 0;
        self.shared.wait(&format!("the end of run {run}"), |inner| {
            let mut new = inner.updates.iter().skip(checked);
            checked = inner.updates.len();
            new.find_map(|update| match &update.update {
                Update::Run(RunView::Ended { run_id, end }) if run_id == run => Some(end.clone()),
                _ => None,
            })
        })
    }

    /// Cancels the open run of a session.
    #[track_caller]
    pub fn cancel_run(&self, session: &SessionId) {
        self.notify(methods::SESSION_CANCEL, json!({"sessionId": session}));
    }

    /// Waits for the next update that matches, after the update that was awaited last.
    #[track_caller]
    pub fn await_update(&self, matches: impl Fn(&SessionUpdateParams) -> bool) -> SessionUpdateParams {
        // An update that did not match is not checked again: there may be a million chunks.
        let mut checked = 0;
        self.shared.wait("an update", |inner| {
            let from = inner.cursor.max(checked);
            checked = inner.updates.len();
            let found = (from..inner.updates.len()).find(|index| matches(&inner.updates[*index]))?;
            inner.cursor = found + 1;
            Some(inner.updates[found].clone())
        })
    }

    /// Returns all updates so far.
    pub fn updates(&self) -> Vec<SessionUpdateParams> {
        self.shared.lock().updates.clone()
    }

    /// Returns the kinds of all updates so far, in order.
    pub fn update_kinds(&self) -> Vec<&'static str> {
        self.shared.lock().updates.iter().map(|update| update.update.kind()).collect()
    }

    /// Waits for a state: the next one after the update that was awaited last, or the latest one since
    /// the last prompt.
    #[track_caller]
    pub fn await_state(&self, state: State) -> StateView {
        let mut checked = 0;
        self.shared.wait(&format!("the state {state:?}"), |inner| {
            let from = inner.cursor.max(inner.state_floor).max(checked);
            checked = inner.updates.len();
            let next = (from..inner.updates.len()).find(|index| is_state(inner, *index, state));
            let latest = || inner.latest_state(None).filter(|index| is_state(inner, *index, state));
            let found = next.or_else(latest)?;
            inner.cursor = inner.cursor.max(found + 1);
            match &inner.updates[found].update {
                Update::StateUpdate(view) => Some(view.clone()),
                _ => None,
            }
        })
    }

    /// Returns the latest state of a session since the last prompt.
    pub fn state_of(&self, session: &SessionId) -> Option<StateView> {
        let inner = self.shared.lock();
        match &inner.updates[inner.latest_state(Some(session))?].update {
            Update::StateUpdate(view) => Some(view.clone()),
            _ => None,
        }
    }

    /// Waits for the next unanswered ask of any kind.
    #[track_caller]
    pub fn await_ask(&self) -> AskView {
        self.next_ask("an ask", |_| true)
    }

    /// Waits for the next unanswered ask of a kind.
    #[track_caller]
    pub fn await_ask_of(&self, kind: AskKind) -> AskView {
        self.next_ask(&format!("an ask of the kind {kind:?}"), |ask| ask.kind == kind)
    }

    #[track_caller]
    fn next_ask(&self, what: &str, matches: impl Fn(&AskView) -> bool) -> AskView {
        self.shared.wait(what, |inner| {
            let answered = |ask: &AskView| {
                let by_script =
                    inner.delivered.iter().any(|(known, held)| known.ask_id == ask.ask_id && held.is_none());
                by_script || inner.watch.is_closed(&ask.ask_id)
            };
            let new = |ask: &&AskView| !inner.asks_taken.contains(&ask.ask_id.0) && !answered(ask);
            let found = inner.asks.iter().find(|ask| new(ask) && matches(ask))?.clone();
            inner.asks_taken.insert(found.ask_id.0.clone());
            Some(found)
        })
    }

    /// Answers an ask with an option: in its request if there is one, else with `agent/ask/respond`.
    #[track_caller]
    pub fn answer(&self, ask: &AskId, option: &str) {
        self.answer_with(ask, Answer::option(option));
    }

    /// Answers an ask: in its request, which may still arrive, else with `agent/ask/respond`.
    #[track_caller]
    pub fn answer_with(&self, ask: &AskId, answer: Answer) {
        if !self.comes_by_request(ask) {
            match answer {
                Answer::Option(option) => self.respond(ask, &option),
                Answer::OptionWithText(option, text) => {
                    self.call(methods::ASK_RESPOND, json!({"askId": ask, "optionId": option, "reason": text}))
                }
                Answer::Text(text) => self.call(methods::ASK_RESPOND, json!({"askId": ask, "answer": text})),
                other => panic!("{other:?} can only answer a request, and ask {ask} does not arrive as one"),
            };
            return;
        }
        let id = self.shared.wait(&format!("the delivery of ask {ask}"), |inner| {
            let held = inner.delivered.iter_mut().find(|(view, held)| view.ask_id == *ask && held.is_some());
            held.and_then(|(_, held)| held.take())
        });
        if let Some(response) = answer.response() {
            self.shared.lock().respond(&id, response);
        }
    }

    /// Answers an ask with `agent/ask/respond`, as any other client would.
    #[track_caller]
    pub fn respond(&self, ask: &AskId, option: &str) -> AskRespondResult {
        self.call(methods::ASK_RESPOND, json!({"askId": ask, "optionId": option}))
    }

    /// Returns the asks whose request is open now.
    pub fn held_asks(&self) -> Vec<AskView> {
        let inner = self.shared.lock();
        inner.delivered.iter().filter(|(_, held)| held.is_some()).map(|(ask, _)| ask.clone()).collect()
    }

    /// Waits until an ask has arrived as a request and is held.
    #[track_caller]
    pub fn await_delivery(&self, ask: &AskId) {
        self.shared.wait(&format!("the delivery of ask {ask}"), |inner| {
            inner.delivered.iter().any(|(view, held)| view.ask_id == *ask && held.is_some()).then_some(())
        });
    }

    /// Waits until every request for an ask is answered or withdrawn by `$/cancelRequest`.
    #[track_caller]
    pub fn await_withdrawal(&self, ask: &AskId) {
        self.shared.wait(&format!("the withdrawal of ask {ask}"), |inner| {
            let mut deliveries = inner.delivered.iter().filter(|(view, _)| view.ask_id == *ask).peekable();
            (deliveries.peek().is_some() && deliveries.all(|(_, held)| held.is_none())).then_some(())
        });
    }

    /// Waits for `agent/ask/resolved` of an ask.
    #[track_caller]
    pub fn await_resolved(&self, ask: &AskId) -> adjutant_protocol::ask::Resolution {
        self.shared.wait(&format!("agent/ask/resolved of {ask}"), |inner| {
            inner.resolved.iter().find(|resolved| resolved.ask_id == *ask).map(|it| it.resolution.clone())
        })
    }

    /// Whether an ask will arrive as a request, or has arrived and its request is open.
    fn comes_by_request(&self, ask: &AskId) -> bool {
        use adjutant_protocol::ask::AskGroup;
        let inner = self.shared.lock();
        let offered = inner.options.capabilities.agent.as_ref().is_some_and(|agent| agent.asks.request);
        let view = inner.asks.iter().find(|view| view.ask_id == *ask);
        let popup =
            view.is_some_and(|view| matches!(view.group, AskGroup::Interactive | AskGroup::NonBlocking));
        let mut deliveries = inner.delivered.iter().filter(|(view, _)| view.ask_id == *ask).peekable();
        let gone = deliveries.peek().is_some() && deliveries.all(|(_, held)| held.is_none());
        offered && popup && !gone
    }
}

fn is_state(inner: &Inner, index: usize, wanted: State) -> bool {
    matches!(&inner.updates[index].update, Update::StateUpdate(view) if view.state == wanted)
}
