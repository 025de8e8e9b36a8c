//! The state that clients see, and the updates that follow from each record.
//!
//! A pure projection of the session. Never guesses a state from the text of a message (L01).

use adjutant_protocol::state::{RequiredAction, StateView};
use adjutant_protocol::update::{
    AskChange, ChangeSetView, HunkState as WireHunkState, HunkView, RunView, ToolStatus,
    TurnPhase as WireTurnPhase, TurnView, Update,
};

use super::start::attached_names;
use super::{ask, call, compaction, options, plan, usage};
use crate::machine::retry::CallFailure;
use crate::policy::unsaved;
use crate::prompt::message::ModelMessage;
use crate::record::{
    AskKind, CallEnd, CallResult, ChangeSetId, Event, Record, ReviewState, Rule, RunId, SummaryTurn,
    ToolCallId,
};
use crate::session::maker::split_words;
use crate::session::run::SessionState;
use crate::session::{AppliedHunk, HunkState};
use crate::session::{Call, Session};

/// Every change of state that a batch of events can make; there are no others (S08).
pub const EDGES: [(SessionState, SessionState); 10] = [
    (SessionState::None, SessionState::Running),
    (SessionState::Running, SessionState::RequiresAction),
    (SessionState::RequiresAction, SessionState::Running),
    (SessionState::Running, SessionState::Idle),
    // Cancelled while an ask was open, or the answer ended a call that was one mistake too many.
    (SessionState::RequiresAction, SessionState::Idle),
    // A prompt, or an answer that continues the run before.
    (SessionState::Idle, SessionState::Running),
    // The session was opened again with an interrupted run.
    (SessionState::Running, SessionState::Resumable),
    // The same, and the interrupted run had edits left to make while others waited for an answer.
    (SessionState::RequiresAction, SessionState::Resumable),
    // Resumed.
    (SessionState::Resumable, SessionState::Running),
    // Discarded, or cancelled.
    (SessionState::Resumable, SessionState::Idle),
];

/// Returns the state as clients see it.
pub fn view(session: &Session) -> StateView {
    let (state, sub) = session.current_state();
    let asks: Vec<_> = session.open_asks().collect();
    let ended = session.ended.back();
    StateView {
        state: state.into(),
        sub: sub.map(Into::into),
        since: session.since,
        run_id: session.open_run().map(|run| run.id.clone()),
        ask_kind: asks.iter().find(|ask| ask.kind != AskKind::CommandOutput).map(|ask| ask.kind.into()),
        asks: asks.iter().map(|ask| ask.id.clone()).collect(),
        required_action: required_action(session, state),
        stop_reason: ended.filter(|_| state == SessionState::Idle).map(|ended| ended.end.stop_reason.into()),
    }
}

fn required_action(session: &Session, state: SessionState) -> RequiredAction {
    match state {
        SessionState::None => RequiredAction::Start,
        SessionState::Running => RequiredAction::None,
        SessionState::RequiresAction => RequiredAction::Answer,
        SessionState::Resumable => RequiredAction::ResumeOrDiscard,
        SessionState::Idle => match session.open_asks().next().map(|ask| ask.kind) {
            Some(AskKind::ApiReqFailed) => RequiredAction::RetryOrNewTask,
            Some(AskKind::MistakeLimitReached | AskKind::AutoApprovalMaxReqReached) => {
                RequiredAction::ContinueOrNewTask
            }
            // Only idle asks are open while nothing runs. The other kinds are listed so that a new kind does not
            // compile without a choice.
            None
            | Some(
                AskKind::CompletionResult
                | AskKind::ResumeCompletedTask
                | AskKind::Tool
                | AskKind::Command
                | AskKind::Followup
                | AskKind::BrowserActionLaunch
                | AskKind::UseMcpServer
                | AskKind::ResumeTask
                | AskKind::CommandOutput,
            ) => RequiredAction::NewTask,
        },
    }
}

/// The updates that follow from one record.
#[derive(Clone, Debug, PartialEq)]
pub enum Updates {
    /// Each has a number, and a replay publishes it again.
    Lasting(Vec<Update>),
    /// Have no number and are published once, because a power failure may lose the record.
    Passing(Vec<Update>),
}

/// Makes updates from records. It remembers the state that was published last.
#[derive(Clone, Debug)]
pub struct Projector {
    published: StateView,
    /// The run that was open last.
    run: Option<RunId>,
}

impl Projector {
    pub fn new(session: &Session) -> Self {
        Self { published: view(session), run: session.open_run().map(|run| run.id.clone()) }
    }

    /// Returns the run that the updates of one record belong to; `session` has applied the record. The last updates
    /// of a run belong to it although it is over. A choice between two runs belongs to no run.
    pub fn run_of(&mut self, session: &Session, record: &Record) -> Option<RunId> {
        let open = session.open_run().map(|run| run.id.clone());
        if open.is_some() {
            self.run = open;
        } else if matches!(record.event, Event::ConfigChanged { .. }) {
            return None;
        }
        self.run.clone()
    }

    /// Returns the updates of one record; `session` has applied the record. Pure, so that a replay gives them the
    /// same numbers.
    pub fn project(&mut self, session: &Session, record: &Record) -> Updates {
        let mut updates = event_updates(session, record);
        if session.inherits {
            updates.retain(is_of_conversation);
        } else if record.last {
            let now = view(session);
            if self.published != now {
                self.published = now.clone();
                updates.push(Update::StateUpdate(now));
            }
        }
        if record.event.is_barrier() { Updates::Lasting(updates) } else { Updates::Passing(updates) }
    }
}

/// Whether a fork repeats this update: it shows what the user, the model and the tools said and did. Questions, changes and rules stay with
/// the session that was copied.
fn is_of_conversation(update: &Update) -> bool {
    !matches!(
        update,
        Update::Ask(_)
            | Update::ChangeSet(_)
            | Update::Rule { .. }
            | Update::ConfigOptionUpdate { .. }
            | Update::StateUpdate(_)
    )
}

fn event_updates(session: &Session, record: &Record) -> Vec<Update> {
    match &record.event {
        Event::Prompted { message, text, images, added, .. } => {
            let (_, added) = split_words(text, *added);
            vec![Update::UserMessage {
                message_id: message.clone(),
                text: text.to_string(),
                images: images.iter().map(Into::into).collect(),
                attached: attached_names(added),
                added: (!added.is_empty()).then(|| added.to_owned()),
            }]
        }
        Event::RunStarted { run, continues, model, not_before, title, origin, .. } => {
            vec![Update::Run(RunView::Started {
                run_id: run.clone(),
                continues: continues.clone(),
                model: model.clone(),
                previous_model: session.model_before(model),
                not_before: *not_before,
                title: title.clone(),
                origin: origin.clone().map(Into::into),
            })]
        }
        Event::RunEnded { run, .. } => run_ended(session, run),
        Event::Completed { summary, .. } => {
            vec![Update::Complete { summary: summary.clone(), said: was_said(session, summary) }]
        }
        Event::AskOpened { ask } => {
            let ask = Box::new(ask::view(session, ask));
            vec![Update::Ask(AskChange::Opened { ask })]
        }
        Event::AskClosed { ask, resolution } => {
            vec![Update::Ask(AskChange::Closed {
                ask_id: ask.clone(),
                resolution: resolution.clone().into(),
            })]
        }
        Event::ConfigChanged { change, offer, .. } => vec![Update::ConfigOptionUpdate {
            config_options: options::options(&session.choices, offer),
            changed: change.clone().into(),
        }],
        Event::RuleAdded { rule } => vec![Update::Rule { text: rule_text(rule) }],
        Event::CallOpened { .. }
        | Event::ToolStarted { .. }
        | Event::ApplyStarted { .. }
        | Event::ToolFinished { .. } => call_updates(session, &record.event),
        Event::ChangeProposed { change, replaces, .. }
        | Event::OperationProposed { change, replaces, .. } => {
            let mut updates =
                replaces.iter().flat_map(|old| change_view(session, &old.change_set)).collect::<Vec<_>>();
            updates.extend(change_view(session, &change.change_set));
            updates
        }
        // The intent that follows has the new states of hunks that are applied.
        Event::HunkDecided { change_set, apply: true, .. } => change_view(session, change_set),
        Event::HunkDecided { change_set, .. } => {
            let mut updates = change_view(session, change_set);
            updates.extend(ask_left(session, change_set));
            updates
        }
        Event::ReviewStarted { change_set, .. }
        | Event::Reviewed { change_set, .. }
        | Event::ReviewFailed { change_set, .. }
        | Event::Commented { change_set, .. } => reviewed_view(session, change_set),
        Event::CommentsSent { hunks } => {
            hunks.iter().flat_map(|set| reviewed_view(session, &set.change_set)).collect()
        }
        Event::Applied { change_set, .. } | Event::Settled { change_set, .. } => {
            settled_view(session, change_set)
        }
        Event::TurnStarted { .. } | Event::Compacted { .. } | Event::SummaryFailed { .. } => {
            let mut updates = compaction::updates(session, record);
            let at = if matches!(record.event, Event::TurnStarted { .. }) { 0 } else { updates.len() };
            updates.splice(at..at, turn_updates(session, &record.event));
            updates
        }
        Event::OutputsCleared { .. } => compaction::updates(session, record),
        Event::AttemptFailed { .. }
        | Event::TurnFailed { .. }
        | Event::ModelReplaced { .. }
        | Event::Replied { .. } => turn_updates(session, &record.event),
        // The update of the state has them.
        Event::WentSilent { .. } | Event::Heard { .. } => Vec::new(),
        // Its text was already streamed in chunks; a client that comes later gets it from `cut_text`.
        Event::ReplyPartial { .. } => Vec::new(),
        Event::SessionCreated { .. }
        // The list of sessions has it.
        | Event::Titled { .. }
        | Event::Forked { .. }
        | Event::SessionOpened { .. }
        | Event::AttemptStarted { .. }
        | Event::ReplyStarted { .. }
        | Event::CallPrepared { .. }
        | Event::RulesChanged { .. }
        // `agent/session/context` has them.
        | Event::ContextRead { .. }
        | Event::InstructionsFound { .. }
        | Event::CompactionWanted { .. }
        // A notice, which is published once.
        | Event::OutsideChanged { .. }
        | Event::AskReobserved { .. } => Vec::new(),
    }
}

/// Whether the last text of the model in the open run is this one.
fn was_said(session: &Session, summary: &str) -> bool {
    // A run that continues another one has no message of the user before its own replies.
    let turns = session.open_run().map_or(0, |run| run.spent.requests as usize);
    let since =
        session.history.iter().rev().take_while(|message| !matches!(message, ModelMessage::User { .. }));
    let mut texts = since.filter_map(|message| match message {
        ModelMessage::Assistant { reply } => Some(reply.text.trim()),
        _ => None,
    });
    texts.by_ref().take(turns).find(|text| !text.is_empty()) == Some(summary.trim())
}

fn call_updates(session: &Session, event: &Event) -> Vec<Update> {
    match event {
        Event::CallOpened { call, .. } => call_view(session, call, ToolStatus::Pending, None),
        Event::ToolStarted { call, .. } => call_view(session, call, ToolStatus::InProgress, None),
        Event::ApplyStarted { change_set, hunks, .. } => {
            let mut updates = started_calls(session, change_set, hunks);
            updates.extend(change_view(session, change_set));
            updates.extend(ask_left(session, change_set));
            updates
        }
        Event::ToolFinished { call, result } => {
            let mut updates = call_view(session, call, ended_status(result.end), Some(result));
            if let Some(Update::ToolCallUpdate(view)) = updates.first_mut() {
                view.summary = Some(unsaved::after(&result.summary, &result.unsaved));
                view.elapsed_ms = Some(result.elapsed_ms);
            }
            let planned = session.planned(call, result.end);
            updates.extend(planned.map(|steps| Update::PlanUpdate { entries: plan::entries(steps) }));
            updates
        }
        _ => Vec::new(),
    }
}

fn turn_updates(session: &Session, event: &Event) -> Vec<Update> {
    let turn_view = |turn: u32, phase, attempt| TurnView {
        turn,
        phase,
        attempt,
        usage: None,
        cost: None,
        failure: None,
        message: None,
        model: None,
        retry_at: None,
        cache_break: None,
        compacts: false,
    };
    match event {
        Event::TurnStarted { turn, compacts, .. } => {
            let open = session.open_run().and_then(|run| run.turn.as_ref());
            vec![Update::Turn(TurnView {
                cache_break: open.and_then(|turn| turn.cache_break).map(Into::into),
                compacts: compacts.is_some(),
                ..turn_view(*turn, WireTurnPhase::Started, 1)
            })]
        }
        Event::Compacted { by: Some(SummaryTurn { turn, attempt, usage }), .. }
        | Event::SummaryFailed { turn, attempt, usage, .. } => vec![Update::Turn(TurnView {
            usage: usage.map(Into::into),
            cost: usage::of_turn(session, *usage),
            compacts: true,
            ..turn_view(*turn, WireTurnPhase::Ended, *attempt)
        })],
        Event::AttemptFailed { turn, attempt, failure, retry_at, cut } => {
            let view = turn_view(*turn, WireTurnPhase::AttemptFailed, *attempt);
            let usage = cut.as_ref().and_then(|cut| cut.reply.usage);
            let (usage, cost) = (usage.map(Into::into), usage::of_turn(session, usage));
            failure_updates(session, failure, TurnView { retry_at: Some(*retry_at), usage, cost, ..view })
        }
        Event::TurnFailed { turn, attempt, failure } => {
            let compacts = session.open_run().and_then(|run| run.turn.as_ref()?.compacts.as_ref());
            let ended = compacts.map(|compacts| compaction::failed(*turn, compacts, &failure.message));
            let mut updates =
                failure_updates(session, failure, turn_view(*turn, WireTurnPhase::Failed, *attempt));
            updates.extend(ended.map(Update::CompactionUpdate));
            updates
        }
        Event::ModelReplaced { turn, from, to } => {
            let attempt = session.open_run().and_then(|run| run.turn.as_ref()).map_or(1, |turn| turn.attempt);
            vec![Update::Turn(TurnView {
                message: Some(format!("{from} does not answer; {to} takes over for the rest of this run")),
                model: Some(to.clone()),
                ..turn_view(*turn, WireTurnPhase::ModelReplaced, attempt)
            })]
        }
        Event::Replied { turn, attempt, message, reply } => {
            let mut updates = Vec::new();
            if !reply.reasoning.is_empty() {
                updates.push(Update::AgentThought {
                    message_id: message.clone(),
                    text: reply.reasoning.clone(),
                });
            }
            if !reply.text.is_empty() {
                updates.push(Update::AgentMessage {
                    message_id: message.clone(),
                    text: reply.text.clone(),
                    interrupted: false,
                });
            }
            updates.push(Update::Turn(TurnView {
                usage: reply.usage.map(Into::into),
                cost: usage::of_turn(session, reply.usage),
                ..turn_view(*turn, WireTurnPhase::Ended, *attempt)
            }));
            updates
        }
        _ => Vec::new(),
    }
}

fn failure_updates(session: &Session, failure: &CallFailure, view: TurnView) -> Vec<Update> {
    let mut updates = cut_text(session);
    let (kind, message) = (Some(failure.class.into()), Some(failure.message.clone()));
    updates.push(Update::Turn(TurnView { failure: kind, message, ..view }));
    updates
}

/// Returns the text that had streamed when an attempt broke off; the next attempt replaces it.
fn cut_text(session: &Session) -> Vec<Update> {
    let turn = session.open_run().and_then(|run| run.turn.as_ref());
    turn.and_then(|turn| Some((turn.message.clone()?, turn.partial.clone())))
        .filter(|(_, text)| !text.is_empty())
        .map(|(message_id, text)| Update::AgentMessage { message_id, text, interrupted: true })
        .into_iter()
        .collect()
}

fn run_ended(session: &Session, run: &RunId) -> Vec<Update> {
    let Some(ended) = session.ended.iter().rev().find(|ended| ended.run == *run) else { return Vec::new() };
    let cut = ended.cut.clone().map(|(message_id, text)| Update::AgentMessage {
        message_id,
        text,
        interrupted: true,
    });
    let summary = ended.uncompacted.as_ref();
    let summary = summary.map(|(turn, compacts)| compaction::failed(*turn, compacts, "the run ended before"));
    let end = Update::Run(RunView::Ended { run_id: run.clone(), end: ended.end.clone().into() });
    cut.into_iter().chain(summary.map(Update::CompactionUpdate)).chain([end]).collect()
}

fn call_view(
    session: &Session,
    id: &ToolCallId,
    status: ToolStatus,
    result: Option<&CallResult>,
) -> Vec<Update> {
    let view = session.call(id).map(|call| call::view(session, call, status, result));
    view.map(Update::ToolCallUpdate).into_iter().collect()
}

/// Returns what is left of the open ask about a change of which a part was decided.
fn ask_left(session: &Session, change_set: &ChangeSetId) -> Option<Update> {
    let ask = ask::view(session, &session.open_ask_about(change_set)?.ask);
    Some(Update::Ask(AskChange::Changed { ask: Box::new(ask) }))
}

/// Returns the open calls that made these hunks, as begun.
fn started_calls(session: &Session, change_set: &ChangeSetId, hunks: &[String]) -> Vec<Update> {
    let Some(state) = session.changes.get(change_set) else { return Vec::new() };
    let calls = state.calls().filter_map(|id| session.call(id)).filter(|call| !call.is_finished());
    let waits = |call: &&Call| {
        hunks.is_empty()
            || state.waited_for(&call.id).into_iter().any(|id| hunks.iter().any(|hunk| hunk == id))
    };
    let begun = |call| Update::ToolCallUpdate(call::view(session, call, ToolStatus::InProgress, None));
    calls.filter(waits).map(begun).collect()
}

fn ended_status(end: CallEnd) -> ToolStatus {
    match end {
        CallEnd::Completed => ToolStatus::Completed,
        CallEnd::Failed => ToolStatus::Failed,
        CallEnd::Denied => ToolStatus::Denied,
        CallEnd::Cancelled => ToolStatus::Cancelled,
        CallEnd::Interrupted => ToolStatus::Interrupted,
    }
}

fn change_view(session: &Session, id: &ChangeSetId) -> Vec<Update> {
    let Some(state) = session.changes.get(id) else { return Vec::new() };
    let hunks = state
        .counted()
        .map(|(id, (removed, inserted))| HunkView {
            hunk_id: id.clone(),
            state: state.hunks.get(id).copied().unwrap_or(HunkState::Proposed).into(),
            removed,
            inserted,
        })
        .collect();
    let calls: Vec<ToolCallId> = state.calls().cloned().collect();
    let Some(first) = calls.first().cloned() else { return Vec::new() };
    vec![Update::ChangeSet(ChangeSetView {
        change_set_id: id.clone(),
        tool_call_id: first,
        tool_call_ids: if calls.len() > 1 { calls } else { Vec::new() },
        uri: state.change.uri.clone(),
        path: state.change.path.clone(),
        operation: state.change.operation.as_ref().map(Into::into),
        hunks,
        mark: state.change.mark.clone(),
    })]
}

/// Returns the view of a change that was made: a hunk that a person saw in a question is kept already.
fn settled_view(session: &Session, id: &ChangeSetId) -> Vec<Update> {
    let mut updates = change_view(session, id);
    if let (Some(Update::ChangeSet(view)), Some(change)) = (updates.first_mut(), session.applied.get(id)) {
        for hunk in view.hunks.iter_mut().filter(|hunk| hunk.state == WireHunkState::Applied) {
            hunk.state = change.hunk(&hunk.hunk_id).map_or(hunk.state, applied_state);
        }
    }
    updates
}

/// Returns the view of a change that is under review.
fn reviewed_view(session: &Session, id: &ChangeSetId) -> Vec<Update> {
    let Some(change) = session.applied.get(id) else { return Vec::new() };
    // While its turn is open, hunks of it may still wait for an answer.
    let mut updates = change_view(session, id);
    if let Some(Update::ChangeSet(view)) = updates.first_mut() {
        for hunk in &mut view.hunks {
            if let Some(applied) = change.hunk(&hunk.hunk_id) {
                hunk.state = applied_state(applied);
            }
        }
        return updates;
    }
    let hunk = |hunk: &AppliedHunk| HunkView {
        hunk_id: hunk.id.clone(),
        state: applied_state(hunk),
        removed: hunk.counts.0,
        inserted: hunk.counts.1,
    };
    let calls: Vec<ToolCallId> = change.parts.iter().map(|part| part.call.clone()).collect();
    let Some(first) = calls.first().cloned() else { return Vec::new() };
    vec![Update::ChangeSet(ChangeSetView {
        change_set_id: id.clone(),
        tool_call_id: first,
        tool_call_ids: if calls.len() > 1 { calls } else { Vec::new() },
        uri: change.uri.clone(),
        path: change.path.clone(),
        operation: change.operation.as_ref().map(Into::into),
        hunks: change.hunks.iter().map(hunk).collect(),
        mark: change.mark.clone(),
    })]
}

/// Returns the state of an applied hunk, as far as the log knows it.
pub(super) fn applied_state(hunk: &AppliedHunk) -> WireHunkState {
    match (&hunk.pending, hunk.state) {
        (Some(pending), _) if pending.restore => WireHunkState::Applying,
        (Some(_), _) => WireHunkState::Undoing,
        (None, ReviewState::Applied) => WireHunkState::Applied,
        (None, ReviewState::Kept) => WireHunkState::Kept,
        (None, ReviewState::Undone) => WireHunkState::Undone,
    }
}

/// Returns a sentence for the user about what a standing answer allows.
fn rule_text(rule: &Rule) -> String {
    match rule {
        Rule::Edits => "edits in the workspace are applied without asking in this session".to_owned(),
        Rule::Command { line, cwd } => {
            format!("exactly `{line}` in {cwd} runs without asking in this session")
        }
        Rule::Read { path } => format!("{path} may be read in this session"),
    }
}
