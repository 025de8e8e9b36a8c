//! The state of a session, folded from its records.
//!
//! `apply` changes state and never decides. Connections, running futures and the durable watermark are never part
//! of a session.

pub mod applied;
pub mod compactions;
mod fold;
mod forget;
pub mod hunks;
pub mod maker;
mod order;
pub mod reads;
pub mod rewind;
pub mod run;
pub mod spending;
pub mod tokens;

pub(crate) use fold::mistakes_after;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::policy::choices::{Choices, JudgedChoice, Offer, Takes};
use crate::prompt::message::{GenerationSettings, ModelMessage};
use crate::record::{
    Ask, AskGroup, AskId, AskKind, CallEnd, ChangeSetId, ContextText, Mode, Outcome, PlanStep, Record,
    Resolution, Rule, RunId, RunOrigin, SessionId, ToolCallId,
};
use crate::session::compactions::{Compactions, SentPrefix};
use crate::session::rewind::RanCommand;
use crate::session::run::{SessionState, SubState};
use crate::session::spending::Spent;
use crate::session::tokens::TokenCount;

pub use crate::session::applied::{
    AppliedChange, AppliedChanges, AppliedHunk, KEPT_AFTER_MS, NameOfFile, PendingReview, TurningBy,
};
pub use crate::session::hunks::{ChangeState, Changes, HunkState};
pub use crate::session::reads::{KnownRead, Reads};
pub use crate::session::run::{
    Call, CallPhase, ContextFill, EndedRun, OpenAsk, Run, RunEdits, Turn, TurnPhase, UsedKey,
};
use crate::tool::Toolset;

/// How many keys, closed asks and ended runs a session remembers: the newest of each.
const REMEMBERED: usize = 1_000;

/// Everything that the log says about a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    pub id: SessionId,
    /// Workspace roots, absolute; relative paths start at the first.
    pub roots: Vec<String>,
    pub title: String,
    /// Whether the session has its first record. Until then it has no folder.
    pub created: bool,
    pub created_at: u64,
    /// The session whose conversation this one began with.
    pub parent: Option<SessionId>,
    /// Whether the last record is a copy of one of the parent.
    pub inherits: bool,
    /// Number of the last record.
    pub seq: u64,
    /// Grows each time a writer opens the log.
    pub epoch: u64,
    /// Turns begun in the whole session.
    pub turns: u32,
    /// The conversation for the model, oldest message first.
    pub history: Vec<ModelMessage>,
    pub run: Option<Run>,
    pub ended: VecDeque<EndedRun>,
    pub asks: BTreeMap<AskId, OpenAsk>,
    pub closed_asks: VecDeque<(AskId, Resolution)>,
    /// The change sets of the open turn, and the unsettled ones of earlier turns.
    pub changes: Changes,
    /// The changes that are or were in the text, for the review.
    pub applied: AppliedChanges,
    /// The plan of the task, as the model last gave it; empty if there is none.
    pub plan: Vec<PlanStep>,
    /// What all its runs have used.
    pub spent: Spent,
    /// How full the context of the model was after the last reply with a usage.
    pub context: Option<ContextFill>,
    /// The texts of the prompt that are no part of the conversation, as they were when the last run began.
    pub texts: Arc<[ContextText]>,
    /// The instructions of folders that the model was given since.
    pub nested: Vec<ContextText>,
    /// How many tokens the conversation has.
    pub tokens: TokenCount,
    /// What became of the compactions so far.
    pub compacted: Compactions,
    /// What the last request began with.
    pub(crate) sent: Option<SentPrefix>,
    /// The commands whose output is saved, by the provider's ids of their calls; `None` for an id of several.
    pub outputs: BTreeMap<Arc<str>, Option<ToolCallId>>,
    /// The last commands that ran.
    pub commands: VecDeque<RanCommand>,
    /// The lines of files that the model knows.
    pub reads: Reads,
    pub rules: Vec<Rule>,
    pub choices: Choices,
    pub keys: VecDeque<UsedKey>,
    /// The tools of the open run, else of the next. They are not folded: the log has only their hash, and
    /// `equip` or `with_tools` sets them.
    pub tools: Arc<Toolset>,
    /// When `last_state` began.
    pub since: u64,
    /// State and sub-state after the last record.
    last_state: Option<(SessionState, Option<SubState>)>,
}

impl Session {
    /// Returns a session that exists only in memory until its first prompt.
    pub fn new(id: SessionId, roots: Vec<String>) -> Self {
        let mut session = Self { id, roots, ..Self::default() };
        session.last_state = Some(current_state(&session));
        session
    }

    /// Sets the tools of the next run. An open run keeps the tools that it began with.
    pub fn equip(&mut self, tools: Arc<Toolset>) {
        if self.run.is_none() {
            self.tools = tools;
        }
    }

    /// Returns the session without what the model knows of files. Only the steps of a live session read it, so a fold of a
    /// log for anything else does not need it.
    #[must_use]
    pub fn without_reads(self) -> Self {
        Self { reads: Reads::off(), ..self }
    }

    /// Sets the tools of a session that was just folded from its log, whose open run has no tools yet.
    #[must_use]
    pub fn with_tools(self, tools: Arc<Toolset>) -> Self {
        Self { tools, ..self }
    }

    /// Returns the state and sub-state of the session.
    pub fn current_state(&self) -> (SessionState, Option<SubState>) {
        current_state(self)
    }

    /// Keeps a choice of a session that has no log yet. The first record will have it.
    pub fn choose(&mut self, chosen: &JudgedChoice) {
        if !self.created {
            self.apply_choice(chosen);
        }
    }

    /// Returns the choices that are possible now. The model of the session comes before the model of the settings
    /// (`model`), and the list has both. `takes` returns the generation settings that a model accepts.
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

    /// Returns the model and the mode for a run that continues `last`. A value that was given for `last` alone
    /// stays; the session's choice of now replaces any other.
    pub fn chosen_for(&self, last: &EndedRun) -> (String, Mode) {
        let model = self.choices.model.clone().filter(|_| last.follows.model);
        let mode = if last.follows.mode { self.choices.mode } else { last.policy.mode };
        (model.unwrap_or_else(|| last.model.clone()), mode)
    }

    /// Returns the generation settings for a run that continues `last`.
    pub fn generation_settings_for(&self, last: &EndedRun) -> GenerationSettings {
        let chosen = self.choices.generation_settings;
        GenerationSettings {
            effort: if last.follows.effort { chosen.effort } else { last.generation_settings.effort },
            verbosity: if last.follows.verbosity {
                chosen.verbosity
            } else {
                last.generation_settings.verbosity
            },
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
            JudgedChoice::Effort { effort } => self.choices.generation_settings.effort = *effort,
            JudgedChoice::Verbosity { verbosity } => self.choices.generation_settings.verbosity = *verbosity,
        }
    }

    /// Returns where an open or ended run was started.
    pub fn origin_of(&self, run: &RunId) -> Option<RunOrigin> {
        let open = self.run.as_ref().filter(|open| open.id == *run).map(|open| &open.origin);
        let ended = || self.ended.iter().rev().find(|ended| ended.run == *run).map(|ended| &ended.origin);
        open.or_else(ended)?.clone()
    }

    /// Returns the run that has not ended, if any.
    pub fn open_run(&self) -> Option<&Run> {
        self.run.as_ref()
    }

    /// Returns the open asks, oldest first.
    pub fn open_asks(&self) -> impl Iterator<Item = &Ask> {
        let mut asks: Vec<&OpenAsk> = self.asks.values().collect();
        asks.sort_by_key(|open| open.seq);
        asks.into_iter().map(|open| &open.ask)
    }

    /// Returns the open ask about a call.
    pub fn open_ask_of(&self, call: &Call) -> Option<&OpenAsk> {
        self.asks.values().find(|open| open.ask.is_about(&call.id))
    }

    /// Whether an ask of this kind is open.
    pub fn has_open_ask(&self, kind: AskKind) -> bool {
        self.asks.values().any(|open| open.ask.kind == kind)
    }

    /// Whether the run waits for an answer of the user.
    pub fn has_blocking_ask(&self) -> bool {
        self.asks.values().any(|open| open.ask.kind.group() == AskGroup::Interactive)
    }

    /// Whether `Prepare` has confirmed this ask since the session was last opened.
    pub fn is_observed(&self, ask: &Ask) -> bool {
        self.asks.get(&ask.id).is_some_and(|open| open.observed >= self.epoch)
    }

    /// Returns the edits whose call ended while they were on their way, and that `Settle` must look for.
    pub fn unsettled(&self) -> impl Iterator<Item = &ChangeSetId> {
        self.changes.iter().filter(|(_, state)| state.unsettled).map(|(id, _)| id)
    }

    /// Returns a call of the open turn.
    pub fn call(&self, id: &ToolCallId) -> Option<&Call> {
        self.run.as_ref()?.turn.as_ref()?.calls.iter().find(|call| call.id == *id)
    }

    /// Returns the plan that a call of the open turn gives to the user, if it ends like this.
    pub fn planned(&self, call: &ToolCallId, end: CallEnd) -> Option<&[PlanStep]> {
        self.run.as_ref()?.turn.as_ref()?.planned(call, end)
    }

    /// Returns the calls of the open turn that may run now.
    pub fn runnable_calls(&self) -> impl Iterator<Item = &Call> {
        self.run.as_ref().and_then(|run| run.turn.as_ref()).into_iter().flat_map(Turn::runnable_calls)
    }

    /// Returns the latest change that a call has proposed.
    pub fn change_of(&self, call: &Call) -> Option<&ChangeState> {
        self.changes.get(call.change_set.as_ref()?)
    }

    /// Returns the changes that an ask is about, in the order of their first calls.
    pub fn changes_of(&self, ask: &Ask) -> impl Iterator<Item = &ChangeState> {
        let mut ids = ask.changes.clone();
        if ids.is_empty() {
            // A log of 0.1.
            ids = ask.calls.iter().filter_map(|id| self.call(id)?.change_set.clone()).collect();
        }
        ids.into_iter().filter_map(|id| self.changes.get(&id))
    }

    /// Returns the open ask that a change waits for.
    pub fn open_ask_about(&self, change_set: &ChangeSetId) -> Option<&OpenAsk> {
        let is_about = |open: &&OpenAsk| {
            open.ask.kind.group() == AskGroup::Interactive
                && self.changes_of(&open.ask).any(|state| state.change.change_set == *change_set)
        };
        self.asks.values().find(is_about)
    }

    /// Returns the changes that the edits of the open turn wait for, in the order of their first calls.
    pub fn live_changes(&self) -> Vec<&ChangeState> {
        let Some(turn) = self.run.as_ref().and_then(|run| run.turn.as_ref()) else { return Vec::new() };
        let place = |id: &ToolCallId| turn.calls.iter().position(|call| call.id == *id);
        let is_open = |id: &ToolCallId| turn.runnable_calls().any(|call| call.is_edit() && call.id == *id);
        let live = self.changes.values().filter(|state| !state.unsettled && state.calls().any(is_open));
        let mut live: Vec<(Option<usize>, &ChangeState)> =
            live.map(|state| (state.calls().next().and_then(place), state)).collect();
        live.sort_by_key(|(first, _)| *first);
        live.into_iter().map(|(_, state)| state).collect()
    }

    /// Returns how an ask was closed, if the session still remembers it.
    pub fn resolution(&self, ask: &AskId) -> Option<&Resolution> {
        self.closed_asks.iter().rev().find(|(id, _)| id == ask).map(|(_, resolution)| resolution)
    }

    /// Returns the model of the last run, if it differs from `model`.
    pub fn model_before(&self, model: &str) -> Option<String> {
        self.ended.back().map(|last| &last.model).filter(|last| *last != model).cloned()
    }

    /// Applies one record. Nothing else changes the state that a session has from its log.
    pub fn apply(&mut self, record: &Record) {
        self.seq = record.seq;
        self.fold(record);
        let state = Some(current_state(self));
        if state != self.last_state {
            self.last_state = state;
            // A silence began before it was recorded.
            let silent = self.open_run().and_then(|run| run.turn.as_ref()?.silent_since);
            self.since = silent.unwrap_or(record.at);
        }
    }
}

/// Returns the state and sub-state, computed and never guessed (L01): every case is one line here.
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
    if run.not_before.is_some() && run.spent.requests == 0 { SubState::Retrying } else { SubState::Model }
}

fn running_as(turn: &Turn) -> SubState {
    match turn.phase {
        TurnPhase::Calling if turn.silent_since.is_some() => SubState::Stalled,
        TurnPhase::Calling if turn.compacts.is_some() => SubState::Compacting,
        TurnPhase::Calling if turn.streaming => SubState::Streaming,
        TurnPhase::Calling => SubState::Model,
        TurnPhase::Backoff { .. } => SubState::Retrying,
        TurnPhase::Acting if turn.runnable_calls().next().is_none() => SubState::Model,
        TurnPhase::Acting if turn.runnable_calls().all(|call| call.phase == CallPhase::Opened) => {
            SubState::Preparing
        }
        TurnPhase::Acting => SubState::Tools,
    }
}
