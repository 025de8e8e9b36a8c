//! A session is what its facts say: the fold.
//!
//! `apply` changes state and decides nothing; connections, running futures and
//! what is durable are not in here.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use adjutant_protocol::ask::{AskGroup, AskKind, Resolution};
use adjutant_protocol::origin::Origin;
use adjutant_protocol::session::{Mode, RunEnd};
use adjutant_protocol::state::{Outcome, State, SubState};
use adjutant_protocol::update::HunkState;
use adjutant_protocol::{AskId, ChangeSetId, RunId, SessionId, ToolCallId};

use crate::choices::{Choices, Chosen};
use crate::event::{Ask, CallEnd, Event, Fact, Found, Rule};
use crate::message::{Effort, ModelMessage, Reply, Usage};
use crate::retry::{FailureClass, Tries};
pub use crate::run::{Call, CallPhase, ChangeState, EndedRun, OpenAsk, Run, Turn, TurnPhase, UsedKey};

/// Keys, closed asks and ended runs that are remembered (protocol section 4).
const REMEMBERED: usize = 1_000;

/// Everything that is true of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    pub id: SessionId,
    /// Workspace roots, absolute; the first is where relative paths start.
    pub roots: Vec<String>,
    pub title: String,
    /// Whether the first fact has been told: until then there is no folder.
    pub created: bool,
    pub created_at: u64,
    /// Number of the last fact.
    pub seq: u64,
    pub epoch: u64,
    /// Turns begun in the whole session.
    pub turns: u32,
    /// What the model sees, oldest first.
    pub transcript: Vec<ModelMessage>,
    pub run: Option<Run>,
    pub ended: VecDeque<EndedRun>,
    pub asks: BTreeMap<AskId, OpenAsk>,
    pub closed_asks: VecDeque<(AskId, Resolution)>,
    pub changes: BTreeMap<ChangeSetId, ChangeState>,
    pub rules: Vec<Rule>,
    pub choices: Choices,
    pub keys: VecDeque<UsedKey>,
    /// State and the time it began.
    pub since: u64,
    shown: Option<(State, Option<SubState>)>,
}

impl Session {
    /// A session that exists in memory only, until its first prompt.
    pub fn new(id: SessionId, roots: Vec<String>) -> Self {
        let mut session = Self { id, roots, ..Self::default() };
        session.shown = Some(shown(&session));
        session
    }

    /// The state and sub-state the session is in.
    pub fn shown(&self) -> (State, Option<SubState>) {
        shown(self)
    }

    /// Keeps a choice of a session that has no log yet; its first fact tells it.
    pub fn choose(&mut self, chosen: &Chosen) {
        if !self.created {
            self.take_choice(chosen);
        }
    }

    /// The model and the mode of a run that goes on from an ended one: what was given for that run
    /// alone, else what is chosen now.
    pub fn chosen_for(&self, last: &EndedRun) -> (String, Mode) {
        let model = self.choices.model.clone().filter(|_| last.follows.model);
        let mode = if last.follows.mode { self.choices.mode } else { last.policy.mode };
        (model.unwrap_or_else(|| last.model.clone()), mode)
    }

    /// The effort of a run that goes on from an ended one.
    pub fn effort_for(&self, last: &EndedRun) -> Option<Effort> {
        if last.follows.effort { self.choices.effort } else { last.effort }
    }

    fn take_choice(&mut self, chosen: &Chosen) {
        match chosen {
            Chosen::Mode { mode } => {
                self.choices.mode = *mode;
                if let Some(run) = self.run.as_mut().filter(|run| run.follows.mode) {
                    run.next_mode = Some(*mode);
                }
            }
            Chosen::Model { model } => self.choices.model = Some(model.clone()),
            Chosen::Effort { effort } => self.choices.effort = *effort,
        }
    }

    /// Where a run, open or ended, was started from.
    pub fn origin_of(&self, run: &RunId) -> Option<Origin> {
        let open = self.run.as_ref().filter(|open| open.id == *run).map(|open| &open.origin);
        let ended = || self.ended.iter().rev().find(|ended| ended.run == *run).map(|ended| &ended.origin);
        open.or_else(ended)?.clone()
    }

    /// The run that has not ended, if any.
    pub fn open_run(&self) -> Option<&Run> {
        self.run.as_ref()
    }

    /// Open asks, oldest first.
    pub fn open_asks(&self) -> impl Iterator<Item = &Ask> {
        let mut asks: Vec<&OpenAsk> = self.asks.values().collect();
        asks.sort_by_key(|open| open.seq);
        asks.into_iter().map(|open| &open.ask)
    }

    /// The question a call waits for.
    pub fn open_ask_of(&self, call: &Call) -> Option<&OpenAsk> {
        self.asks.values().find(|open| open.ask.call.as_ref() == Some(&call.id))
    }

    pub fn has_open_ask(&self, kind: AskKind) -> bool {
        self.asks.values().any(|open| open.ask.kind == kind)
    }

    pub fn has_blocking_ask(&self) -> bool {
        self.asks.values().any(|open| open.ask.kind.group() == AskGroup::Interactive)
    }

    /// Whether the world was looked at for this ask since the session was last opened.
    pub fn is_observed(&self, ask: &Ask) -> bool {
        self.asks.get(&ask.id).is_some_and(|open| open.observed >= self.epoch)
    }

    pub fn unsettled(&self) -> impl Iterator<Item = &ChangeSetId> {
        self.changes.iter().filter(|(_, state)| state.unsettled).map(|(id, _)| id)
    }

    /// A call of the open turn.
    pub fn call(&self, id: &ToolCallId) -> Option<&Call> {
        self.run.as_ref()?.turn.as_ref()?.calls.iter().find(|call| call.id == *id)
    }

    /// The call of the open turn that is being worked on.
    pub fn current_call(&self) -> Option<&Call> {
        self.run.as_ref()?.turn.as_ref()?.calls.iter().find(|call| !call.is_finished())
    }

    pub fn change_of(&self, call: &Call) -> Option<&ChangeState> {
        self.changes.get(call.change_set.as_ref()?)
    }

    /// How an ask was closed, if it is among the last thousand.
    pub fn resolution(&self, ask: &AskId) -> Option<&Resolution> {
        self.closed_asks.iter().rev().find(|(id, _)| id == ask).map(|(_, resolution)| resolution)
    }

    /// Takes in one fact. All state change of a session is here.
    pub fn apply(&mut self, fact: &Fact) {
        self.seq = fact.seq;
        self.fold(fact);
        let shown = Some(shown(self));
        if shown != self.shown {
            self.shown = shown;
            // Silence began before anybody called it so.
            let silent = self.open_run().and_then(|run| run.turn.as_ref()?.silent_since);
            self.since = silent.unwrap_or(fact.at);
        }
    }

    fn fold(&mut self, fact: &Fact) {
        match &fact.event {
            Event::SessionCreated { session, roots, title, choices } => {
                self.choices = choices.clone();
                self.id = session.clone();
                self.roots = roots.clone();
                self.title = title.clone();
                self.created = true;
                self.created_at = fact.at;
            }
            Event::SessionOpened { epoch } => self.epoch = *epoch,
            Event::RunStarted { run, model, policy, effort, not_before, follows, title, origin, .. } => {
                self.run = Some(Run {
                    id: run.clone(),
                    started_at: fact.at,
                    model: model.clone(),
                    stand_in: None,
                    effort: *effort,
                    not_before: *not_before,
                    wait_ms: None,
                    policy: policy.clone(),
                    follows: *follows,
                    next_mode: None,
                    title: title.clone(),
                    origin: origin.clone(),
                    turn: None,
                    pending: Vec::new(),
                    turns: 0,
                    usage: Usage::default(),
                    mistakes: 0,
                    completed: None,
                });
            }
            Event::Prompted { run, text, steer, key, .. } => {
                if let Some(used) = key {
                    remember(
                        &mut self.keys,
                        UsedKey { used: used.clone(), run: run.clone(), steer: *steer, at: fact.at },
                    );
                }
                if let Some(open) = &mut self.run {
                    open.pending.push(text.clone());
                }
            }
            Event::AskOpened { ask } => {
                let observed = self.epoch;
                if ask.kind == AskKind::CommandOutput {
                    self.with_call(ask.call.as_ref(), |call| call.output_asked = true);
                } else if ask.kind.group() == AskGroup::Interactive {
                    self.with_call(ask.call.as_ref(), |call| {
                        call.phase = CallPhase::Asking { epoch: observed }
                    });
                }
                self.asks.insert(
                    ask.id.clone(),
                    OpenAsk { ask: (**ask).clone(), seq: fact.seq, observed, since: fact.at },
                );
            }
            Event::AskReobserved { ask, epoch } => {
                let call = self.asks.get_mut(ask).and_then(|open| {
                    open.observed = *epoch;
                    open.since = fact.at;
                    open.ask.call.clone()
                });
                self.with_call(call.as_ref(), |call| call.phase = CallPhase::Asking { epoch: *epoch });
            }
            Event::AskClosed { ask, resolution } => {
                self.asks.remove(ask);
                remember(&mut self.closed_asks, (ask.clone(), resolution.clone()));
            }
            Event::RuleAdded { rule } => {
                if !self.rules.contains(rule) {
                    self.rules.push(rule.clone());
                }
            }
            Event::ConfigChanged { chosen, .. } => self.take_choice(chosen),
            Event::Completed { summary, .. } => {
                if let Some(run) = &mut self.run {
                    run.completed = Some(summary.clone());
                }
            }
            Event::RunEnded { .. } => self.end_run(fact),
            Event::TurnStarted { .. }
            | Event::AttemptStarted { .. }
            | Event::ReplyStarted { .. }
            | Event::ReplyPartial { .. }
            | Event::WentSilent { .. }
            | Event::Heard { .. }
            | Event::ModelReplaced { .. }
            | Event::AttemptFailed { .. }
            | Event::Replied { .. }
            | Event::TurnFailed { .. } => self.fold_turn(&fact.event),
            Event::CallOpened { .. }
            | Event::CallPrepared { .. }
            | Event::ChangeProposed { .. }
            | Event::HunkDecided { .. }
            | Event::ApplyStarted { .. }
            | Event::Applied { .. }
            | Event::ToolStarted { .. }
            | Event::ToolFinished { .. }
            | Event::Settled { .. } => self.fold_call(fact),
        }
    }

    fn fold_turn(&mut self, event: &Event) {
        let Some(run) = &mut self.run else { return };
        if matches!(event, Event::TurnStarted { .. } | Event::AttemptStarted { .. }) {
            run.calls_model();
        }
        if let Event::TurnStarted { turn, .. } = event {
            self.turns = *turn;
            run.turns += 1;
            self.transcript.extend(run.pending.drain(..).map(|text| ModelMessage::User { text }));
            run.turn = Some(Turn {
                number: *turn,
                attempt: 1,
                phase: TurnPhase::Calling,
                message: None,
                streaming: false,
                silent_since: None,
                partial: String::new(),
                calls: Vec::new(),
                tries: Tries::default(),
            });
            return;
        }
        let Some(turn) = &mut run.turn else { return };
        // Whatever comes from the model ends its silence.
        turn.silent_since = None;
        match event {
            Event::WentSilent { since, .. } => turn.silent_since = Some(*since),
            Event::ModelReplaced { to, .. } => {
                run.stand_in = Some(to.clone());
                turn.tries = Tries::default();
            }
            Event::AttemptStarted { attempt, .. } => {
                turn.attempt = *attempt;
                turn.phase = TurnPhase::Calling;
                turn.streaming = false;
            }
            Event::ReplyStarted { message, .. } => {
                turn.message = Some(message.clone());
                turn.streaming = true;
                turn.partial.clear();
            }
            Event::ReplyPartial { text, .. } => turn.partial.clone_from(text),
            Event::AttemptFailed { attempt, retry_at, failure, .. } => {
                turn.attempt = *attempt;
                turn.phase = TurnPhase::Backoff { retry_at: *retry_at };
                turn.streaming = false;
                turn.tries.fail(failure.class);
                if failure.class == FailureClass::History {
                    repair(&mut self.transcript);
                }
            }
            Event::Replied { reply, message, .. } => {
                turn.message = Some(message.clone());
                turn.streaming = false;
                turn.partial.clear();
                turn.phase = TurnPhase::Acting;
                if let Some(usage) = reply.usage {
                    run.usage.input_tokens += usage.input_tokens;
                    run.usage.output_tokens += usage.output_tokens;
                    run.usage.cache_read_tokens += usage.cache_read_tokens;
                    run.usage.cache_write_tokens += usage.cache_write_tokens;
                }
                self.transcript.push(ModelMessage::Assistant { reply: reply.clone() });
            }
            Event::TurnFailed { failure, .. } => {
                turn.streaming = false;
                run.wait_ms = failure.retry_after_ms;
            }
            _ => {}
        }
    }

    fn fold_call(&mut self, fact: &Fact) {
        match &fact.event {
            Event::CallOpened { call, index, tool, title, .. } => {
                self.open_call(call, *index as usize, tool, title);
            }
            Event::CallPrepared { call, payload } => {
                self.with_call(Some(call), |call| call.payload = Some(payload.clone()));
            }
            Event::ChangeProposed { call, change } => {
                let hunks = change.hunks.iter().map(|hunk| (hunk.id.clone(), HunkState::Proposed)).collect();
                self.with_call(Some(call), |call| call.change_set = Some(change.change_set.clone()));
                self.changes.insert(
                    change.change_set.clone(),
                    ChangeState { call: call.clone(), change: (**change).clone(), hunks, unsettled: false },
                );
            }
            Event::HunkDecided { change_set, hunks, apply: false, .. } => {
                self.mark_hunks(change_set, hunks, HunkState::Rejected);
            }
            Event::ApplyStarted { call, change_set, hunks } => {
                self.mark_hunks(change_set, hunks, HunkState::Applying);
                self.with_call(Some(call), |call| call.phase = CallPhase::Started { at: fact.at });
            }
            Event::Applied { change_set, hunks } => {
                self.mark_hunks(change_set, hunks, HunkState::Applied);
            }
            Event::ToolStarted { call } => {
                self.with_call(Some(call), |call| call.phase = CallPhase::Started { at: fact.at });
            }
            Event::ToolFinished { call, result } => {
                let id = call;
                let mut provider_id = None;
                self.with_call(Some(id), |call| {
                    call.phase = CallPhase::Finished { end: result.end };
                    provider_id = Some((call.provider_id.clone(), call.change_set.clone()));
                });
                if let Some((call_id, change_set)) = provider_id {
                    self.transcript.push(ModelMessage::Tool { call_id, output: result.output.clone() });
                    self.count_mistake(result.end);
                    if let Some(state) = change_set.and_then(|id| self.changes.get_mut(&id)) {
                        state.unsettled = state.hunks.values().any(|hunk| *hunk == HunkState::Applying);
                    }
                }
            }
            Event::Settled { change_set, found } => self.settle(change_set, *found),
            _ => {}
        }
    }

    fn open_call(&mut self, id: &ToolCallId, index: usize, tool: &str, title: &str) {
        let Some(ModelMessage::Assistant { reply }) =
            self.transcript.iter().rev().find(|message| matches!(message, ModelMessage::Assistant { .. }))
        else {
            return;
        };
        let Some(requested) = reply.calls.get(index) else { return };
        let call = Call {
            id: id.clone(),
            index,
            tool: tool.to_owned(),
            arguments: requested.arguments.as_str().into(),
            provider_id: requested.id.as_str().into(),
            title: title.to_owned(),
            phase: CallPhase::Opened,
            payload: None,
            change_set: None,
            output_asked: false,
        };
        if let Some(turn) = self.run.as_mut().and_then(|run| run.turn.as_mut()) {
            turn.calls.push(call);
        }
    }

    fn count_mistake(&mut self, end: CallEnd) {
        let Some(run) = &mut self.run else { return };
        match end {
            CallEnd::Failed => run.mistakes += 1,
            CallEnd::Completed => run.mistakes = 0,
            CallEnd::Denied | CallEnd::Cancelled | CallEnd::Interrupted => {}
        }
    }

    fn settle(&mut self, id: &ChangeSetId, found: Found) {
        let Some(state) = self.changes.get_mut(id) else { return };
        // While its call is open, the call's own output says what became of it.
        let unsettled = std::mem::take(&mut state.unsettled);
        let became = match found {
            Found::Landed => HunkState::Applied,
            Found::NotLanded | Found::Unclear => HunkState::NotApplied,
        };
        for hunk in state.hunks.values_mut().filter(|hunk| **hunk == HunkState::Applying) {
            *hunk = became;
        }
        if !unsettled {
            return;
        }
        let told = match found {
            Found::Landed => "is in the file",
            Found::NotLanded => "is not in the file",
            Found::Unclear => "may or may not be in the file; read it before you go on",
        };
        let note = format!("[note] The edit of \"{}\" that was cut short {told}.", state.change.path);
        match &mut self.run {
            Some(run) => run.pending.push(note.into()),
            None => self.transcript.push(ModelMessage::User { text: note.into() }),
        }
    }

    fn mark_hunks(&mut self, id: &ChangeSetId, hunks: &[String], state: HunkState) {
        if let Some(change) = self.changes.get_mut(id) {
            for hunk in hunks {
                change.hunks.insert(hunk.clone(), state);
            }
        }
    }

    fn end_run(&mut self, fact: &Fact) {
        let Event::RunEnded { outcome, stop, summary, .. } = &fact.event else { return };
        let Some(run) = self.run.take() else { return };
        let cut = run.turn.and_then(|turn| Some((turn.message?, turn.partial)));
        let cut = cut.filter(|(_, text)| !text.is_empty());
        if let Some((_, text)) = &cut {
            // The user read this text, so the model has to know it said it.
            let reply = Reply { text: text.clone(), ..Reply::default() };
            self.transcript.push(ModelMessage::Assistant { reply: Arc::new(reply) });
        }
        self.transcript.extend(run.pending.into_iter().map(|text| ModelMessage::User { text }));
        let end = RunEnd {
            ended_at: fact.at,
            outcome: *outcome,
            stop_reason: *stop,
            summary: summary.clone(),
            usage: run.usage.view(),
            turns: run.turns,
        };
        let ended = EndedRun {
            run: run.id,
            started_at: run.started_at,
            model: run.model,
            effort: run.effort,
            wait_ms: run.wait_ms,
            policy: run.policy,
            follows: run.follows,
            title: run.title,
            origin: run.origin,
            end,
            cut,
        };
        remember(&mut self.ended, ended);
    }

    fn with_call(&mut self, id: Option<&ToolCallId>, change: impl FnOnce(&mut Call)) {
        let turn = self.run.as_mut().and_then(|run| run.turn.as_mut());
        if let (Some(turn), Some(id)) = (turn, id)
            && let Some(call) = turn.calls.iter_mut().find(|call| call.id == *id)
        {
            change(call);
        }
    }
}

/// Takes out of a conversation what its provider does not take back: reasoning kept verbatim. What
/// was said and done stays, and calls and outputs are paired in every conversation of ours.
fn repair(transcript: &mut [ModelMessage]) {
    for message in transcript {
        if let ModelMessage::Assistant { reply } = message
            && reply.kept.is_some()
        {
            *reply = Arc::new(Reply { kept: None, ..Reply::clone(reply) });
        }
    }
}

fn remember<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() == REMEMBERED {
        queue.pop_front();
    }
    queue.push_back(item);
}

/// State and sub-state, computed and never guessed (L01): every case is one line here.
pub(crate) fn shown(session: &Session) -> (State, Option<SubState>) {
    let (state, sub) = match session.open_run() {
        None => match session.ended.back() {
            None => (State::None, None),
            Some(ended) => (State::Idle, Some(ended_as(ended.end.outcome))),
        },
        Some(_) if session.has_open_ask(AskKind::ResumeTask) => (State::Resumable, None),
        Some(_) if session.has_blocking_ask() => (State::RequiresAction, None),
        Some(run) => (State::Running, Some(run.turn.as_ref().map_or_else(|| beginning(run), running_as))),
    };
    (state, sub)
}

fn ended_as(outcome: Outcome) -> SubState {
    match outcome {
        Outcome::Completed => SubState::Completed,
        Outcome::Stopped => SubState::Stopped,
        Outcome::Failed => SubState::Failed,
        Outcome::Limit => SubState::Limit,
        Outcome::Cancelled => SubState::Cancelled,
    }
}

fn beginning(run: &Run) -> SubState {
    if run.not_before.is_some() && run.turns == 0 { SubState::Retrying } else { SubState::Model }
}

fn running_as(turn: &Turn) -> SubState {
    match turn.phase {
        TurnPhase::Calling if turn.silent_since.is_some() => SubState::Stalled,
        TurnPhase::Calling if turn.streaming => SubState::Streaming,
        TurnPhase::Calling => SubState::Model,
        TurnPhase::Backoff { .. } => SubState::Retrying,
        TurnPhase::Acting => match turn.calls.iter().find(|call| !call.is_finished()) {
            None => SubState::Model,
            Some(call) if call.phase == CallPhase::Opened => SubState::Preparing,
            Some(_) => SubState::Tools,
        },
    }
}
