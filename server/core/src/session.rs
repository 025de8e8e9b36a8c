//! A session is what its facts say: the fold.
//!
//! `apply` changes state and decides nothing; connections, running futures and
//! what is durable are not in here.

mod fold;
mod forget;
mod order;
pub mod run;

pub(crate) use fold::mistakes_after;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::policy::choices::{Choices, JudgedChoice, Offer, Takes};
use crate::prompt::message::{GenerationSettings, ModelMessage};
use crate::record::{
    Ask, AskGroup, AskId, AskKind, ChangeSetId, Mode, Outcome, Record, Resolution, Rule, RunId, RunOrigin,
    SessionId, ToolCallId,
};
use crate::session::run::{SessionState, SubState};

pub use crate::session::run::{
    Call, CallPhase, ChangeState, EndedRun, OpenAsk, Run, Turn, TurnPhase, UsedKey,
};
use crate::tool::Toolset;

/// Keys, closed asks and ended runs that are remembered, of each the newest.
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
    /// The change sets of the open turn, and those whose edit may or may not be in the text.
    pub changes: BTreeMap<ChangeSetId, ChangeState>,
    pub rules: Vec<Rule>,
    pub choices: Choices,
    pub keys: VecDeque<UsedKey>,
    /// The tools of the open run, else of the next. Not folded: the log has their hash, and whoever runs them
    /// brings them along.
    pub tools: Arc<Toolset>,
    /// State and the time it began.
    pub since: u64,
    shown: Option<(SessionState, Option<SubState>)>,
}

impl Session {
    /// A session that exists in memory only, until its first prompt.
    pub fn new(id: SessionId, roots: Vec<String>) -> Self {
        let mut session = Self { id, roots, ..Self::default() };
        session.shown = Some(current_state(&session));
        session
    }

    /// Gives the session the tools of its next run. An open run keeps those it began with.
    pub fn equip(&mut self, tools: Arc<Toolset>) {
        if self.run.is_none() {
            self.tools = tools;
        }
    }

    /// The same for a session that was just folded from its log, whose open run has no tools yet.
    #[must_use]
    pub fn with_tools(self, tools: Arc<Toolset>) -> Self {
        Self { tools, ..self }
    }

    /// The state and sub-state the session is in.
    pub fn current_state(&self) -> (SessionState, Option<SubState>) {
        current_state(self)
    }

    /// Keeps a choice of a session that has no log yet; its first fact tells it.
    pub fn choose(&mut self, chosen: &JudgedChoice) {
        if !self.created {
            self.apply_choice(chosen);
        }
    }

    /// What there is to choose from. The session's model counts before that of the settings, and is in
    /// the list; `takes` says what a model takes.
    pub fn offer(
        &self,
        model: Option<String>,
        configured: Vec<String>,
        takes: impl Fn(&str) -> Takes,
    ) -> Offer {
        let model = self.choices.model.clone().or(model);
        let used = self.ended.iter().rev().map(|ended| &ended.model);
        let run = self.open_run().map(|run| &run.model);
        Offer::new(model.clone(), configured.iter().chain(&model).chain(run).chain(used), takes)
    }

    /// The model and the mode of a run that goes on from an ended one: what was given for that run
    /// alone, else what is chosen now.
    pub fn chosen_for(&self, last: &EndedRun) -> (String, Mode) {
        let model = self.choices.model.clone().filter(|_| last.follows.model);
        let mode = if last.follows.mode { self.choices.mode } else { last.policy.mode };
        (model.unwrap_or_else(|| last.model.clone()), mode)
    }

    /// How the model of a run answers that goes on from an ended one.
    pub fn generation_settings_for(&self, last: &EndedRun) -> GenerationSettings {
        let chosen = self.choices.manner;
        GenerationSettings {
            effort: if last.follows.effort { chosen.effort } else { last.manner.effort },
            verbosity: if last.follows.verbosity { chosen.verbosity } else { last.manner.verbosity },
        }
    }

    fn apply_choice(&mut self, chosen: &JudgedChoice) {
        match chosen {
            JudgedChoice::Mode { mode } => {
                self.choices.mode = *mode;
                if let Some(run) = self.run.as_mut().filter(|run| run.follows.mode) {
                    run.next_mode = Some(*mode);
                }
            }
            JudgedChoice::Model { model } => self.choices.model = Some(model.clone()),
            JudgedChoice::Effort { effort } => self.choices.manner.effort = *effort,
            JudgedChoice::Verbosity { verbosity } => self.choices.manner.verbosity = *verbosity,
        }
    }

    /// Where a run, open or ended, was started from.
    pub fn origin_of(&self, run: &RunId) -> Option<RunOrigin> {
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
        self.asks.values().find(|open| open.ask.is_about(&call.id))
    }

    /// Whether an ask of this kind is open.
    pub fn has_open_ask(&self, kind: AskKind) -> bool {
        self.asks.values().any(|open| open.ask.kind == kind)
    }

    /// Whether the run stands still until the user answers.
    pub fn has_blocking_ask(&self) -> bool {
        self.asks.values().any(|open| open.ask.kind.group() == AskGroup::Interactive)
    }

    /// Whether the world was looked at for this ask since the session was last opened.
    pub fn is_observed(&self, ask: &Ask) -> bool {
        self.asks.get(&ask.id).is_some_and(|open| open.observed >= self.epoch)
    }

    /// Edits that were sent by a run that is over, and that nobody has looked for in the text yet.
    pub fn unsettled(&self) -> impl Iterator<Item = &ChangeSetId> {
        self.changes.iter().filter(|(_, state)| state.unsettled).map(|(id, _)| id)
    }

    /// A call of the open turn.
    pub fn call(&self, id: &ToolCallId) -> Option<&Call> {
        self.run.as_ref()?.turn.as_ref()?.calls.iter().find(|call| call.id == *id)
    }

    /// The calls of the open turn that may go on now.
    pub fn calls_now(&self) -> impl Iterator<Item = &Call> {
        self.run.as_ref().and_then(|run| run.turn.as_ref()).into_iter().flat_map(Turn::calls_now)
    }

    /// The change a call proposed last.
    pub fn change_of(&self, call: &Call) -> Option<&ChangeState> {
        self.changes.get(call.change_set.as_ref()?)
    }

    /// How an ask was closed, if that is still remembered.
    pub fn resolution(&self, ask: &AskId) -> Option<&Resolution> {
        self.closed_asks.iter().rev().find(|(id, _)| id == ask).map(|(_, resolution)| resolution)
    }

    /// Returns the model of the run before, if a run that begins with `model` changes it.
    pub fn model_before(&self, model: &str) -> Option<String> {
        self.ended.back().map(|last| &last.model).filter(|last| *last != model).cloned()
    }

    /// Takes in one fact. All state change of a session is here.
    pub fn apply(&mut self, fact: &Record) {
        self.seq = fact.seq;
        self.fold(fact);
        let shown = Some(current_state(self));
        if shown != self.shown {
            self.shown = shown;
            // Silence began before anybody called it so.
            let silent = self.open_run().and_then(|run| run.turn.as_ref()?.silent_since);
            self.since = silent.unwrap_or(fact.at);
        }
    }
}

/// State and sub-state, computed and never guessed (L01): every case is one line here.
pub(crate) fn current_state(session: &Session) -> (SessionState, Option<SubState>) {
    let (state, sub) = match session.open_run() {
        None => match session.ended.back() {
            None => (SessionState::None, None),
            Some(ended) => (SessionState::Idle, Some(ended_as(ended.end.outcome))),
        },
        Some(_) if session.has_open_ask(AskKind::ResumeTask) => (SessionState::Resumable, None),
        Some(_) if session.has_blocking_ask() => (SessionState::RequiresAction, None),
        Some(run) => {
            (SessionState::Running, Some(run.turn.as_ref().map_or_else(|| beginning(run), running_as)))
        }
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
        TurnPhase::Acting if turn.calls_now().next().is_none() => SubState::Model,
        TurnPhase::Acting if turn.calls_now().all(|call| call.phase == CallPhase::Opened) => {
            SubState::Preparing
        }
        TurnPhase::Acting => SubState::Tools,
    }
}
