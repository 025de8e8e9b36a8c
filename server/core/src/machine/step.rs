//! The agent loop: which steps should be running now, as a function of the session.
//!
//! No other file decides this. Never starts, stops or waits for anything.

use std::collections::BTreeSet;

use crate::policy::ask;
use crate::record::{AskGroup, AskId, AskKind, BatchId, ChangeSetId, FileChange, RunId, ToolCallId};
use crate::session::{Call, CallPhase, ChangeState, HunkState, Run, Session, Turn, TurnPhase};

/// A piece of work that should be running now. The whole value is its key: while `next_steps` returns an equal value,
/// the work keeps running and its reports are accepted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Check whether an edit is in the text, because its call ended before that was known.
    Settle { change_set: ChangeSetId },
    /// Deliver an ask to the client, as a request or as a popup. Updates and diagnostics show it without this step.
    DeliverAsk { ask: AskId },
    /// Observe the world for calls: resolve their paths and, for edits, compute the hunks. Edits next to each other are
    /// prepared together, each on the text that those before it would leave; any other call alone. A call that edits
    /// nothing and waits for an answer is prepared again in each epoch, that is, whenever the session is opened again.
    Prepare { calls: Vec<ToolCallId>, epoch: u64 },
    /// Look whether the files that the model knows still have the lines that it knows. Its report begins the turn.
    LookOutside { turn: u32 },
    /// Read the texts of the prompt that are no part of the conversation: instructions, memory, skills, the surroundings.
    ReadContext { run: RunId },
    /// Ask the model for a summary of a part of the conversation, and report its reply.
    Compact { turn: u32, attempt: u32 },
    /// Send one request to the model and report its reply. Before the first attempt starts, the session task records
    /// that the turn began.
    CallModel { turn: u32, attempt: u32 },
    /// Run a call whose start is in the log.
    RunTool { call: ToolCallId },
    /// Check whether hunks that wait for an answer would still do exactly what the ask shows, because the session was
    /// opened again. Repeated in each epoch.
    Reobserve { changes: Vec<ChangeSetId>, epoch: u64 },
    /// Apply the frozen hunks that one decision allowed, and report on each file.
    Apply { batch: BatchId, part: BatchPart },
    /// Undo or restore the hunks of one decision of the review, and report on each file. `operations`: how many of them are
    /// deletions and moves. After each of these the step begins again, because files have other names then.
    Review { batch: BatchId, operations: usize },
    /// Wait for a time; no other work.
    Wake(Wake),
}

/// Which changes of a batch are applied now. Files that are not open come first, together. Open documents follow one by
/// one, so that a crash leaves at most one open document with an edit that is not in the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BatchPart {
    Closed,
    Open { change_set: ChangeSetId },
}

impl BatchPart {
    /// Whether a change is in this part of its batch.
    pub fn has(&self, change: &FileChange) -> bool {
        match self {
            BatchPart::Closed => !change.open,
            BatchPart::Open { change_set } => change.change_set == *change_set,
        }
    }
}

/// A time to wait for, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Wake {
    /// Milliseconds since the Unix epoch.
    pub at: u64,
    pub why: WakeReason,
}

/// The reason of a `Wake`: what may happen at its time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WakeReason {
    /// The model may be called: the back-off is over, or the wait that the user chose.
    CallModel,
    /// A command has run so long that the user is asked whether to stop it.
    StillRunning { call: ToolCallId },
    /// A question has had no answer for so long that its first suggestion is used.
    Unanswered { ask: AskId },
}

/// Returns the steps that should be running now.
pub fn next_steps(session: &Session) -> Vec<Step> {
    let mut steps: Vec<Step> =
        session.unsettled().map(|change_set| Step::Settle { change_set: change_set.clone() }).collect();
    let review = |batch: &BatchId| {
        let operations = session.applied.pending_operations(batch);
        Step::Review { batch: batch.clone(), operations }
    };
    steps.extend(session.applied.pending().into_iter().map(review));
    steps.extend(deliveries(session));
    let Some(run) = session.open_run() else { return steps };
    if session.has_open_ask(AskKind::ResumeTask) {
        // The server stopped during this run. The user decides whether it continues. What was being written on disk is
        // finished before, so that no reply stays written by half.
        steps.extend(cut_short_writes(session));
        return steps;
    }
    match &run.turn {
        // Before the first turn: the model has a prompt to answer or, in a run that continues another, outputs to see.
        None => match run.not_before {
            Some(at) => steps.push(wake(at, WakeReason::CallModel)),
            None if reads_context(run) => steps.push(Step::ReadContext { run: run.id.clone() }),
            None => steps.push(next_turn(session, session.turns + 1)),
        },
        Some(turn) => match turn.phase {
            TurnPhase::Calling if turn.compacts.is_some() => {
                steps.push(Step::Compact { turn: turn.number, attempt: turn.attempt });
            }
            TurnPhase::Calling => {
                steps.push(Step::CallModel { turn: turn.number, attempt: turn.attempt });
            }
            TurnPhase::Backoff { retry_at, .. } => steps.push(wake(retry_at, WakeReason::CallModel)),
            // Every call has its result, or the reply had no call and the user steered: the next turn begins.
            TurnPhase::Acting if turn.runnable_calls().next().is_none() => {
                steps.push(next_turn(session, turn.number + 1));
            }
            TurnPhase::Acting if turn.runnable_calls().any(Call::is_edit) => {
                steps.extend(edit_steps(session, turn));
            }
            TurnPhase::Acting => {
                steps.extend(turn.runnable_calls().flat_map(|call| call_steps(session, run, call)));
            }
        },
    }
    steps
}

/// Whether a run still has to read the texts of its prompt. A run of an older log reads none.
fn reads_context(run: &Run) -> bool {
    run.policy.context.is_some() && !run.has_context
}

/// Returns the step that begins a turn.
fn next_turn(session: &Session, turn: u32) -> Step {
    if session.reads.is_empty() { Step::CallModel { turn, attempt: 1 } } else { Step::LookOutside { turn } }
}

/// Returns the steps of edits next to each other: what was decided is applied first; then what waits for an answer is
/// observed again, if that is due. Only when nothing is left of the earlier ones are the other edits prepared, because
/// the text of each depends on those before it.
fn edit_steps(session: &Session, turn: &Turn) -> Vec<Step> {
    let live = session.live_changes();
    let batches: BTreeSet<&BatchId> = live.iter().flat_map(|state| state.batches.keys()).collect();
    if !batches.is_empty() {
        let step = |batch: &BatchId| Step::Apply { batch: batch.clone(), part: batch_part(&live, batch) };
        return batches.into_iter().map(step).collect();
    }
    let proposed: Vec<&ChangeSetId> = live
        .iter()
        .filter(|state| state.has(HunkState::Proposed))
        .map(|state| &state.change.change_set)
        .collect();
    if !proposed.is_empty() {
        let is_asked =
            |id: &ChangeSetId| session.open_ask_about(id).is_some_and(|open| open.observed >= session.epoch);
        let changes: Vec<ChangeSetId> = proposed.into_iter().filter(|id| !is_asked(id)).cloned().collect();
        return match changes.as_slice() {
            [] => Vec::new(),
            _ => vec![Step::Reobserve { changes, epoch: session.epoch }],
        };
    }
    let is_started = |call: &&Call| matches!(call.phase, CallPhase::Started { .. });
    // Only a log with missing records has a started edit without a change. It fails as a tool.
    if let Some(call) = turn.runnable_calls().find(is_started) {
        return vec![Step::RunTool { call: call.id.clone() }];
    }
    vec![prepare(session, turn.runnable_calls().map(|call| call.id.clone()).collect())]
}

/// Returns the steps that apply what was decided about closed files. After a restart some of these files may be written and
/// others not (decision 019).
fn cut_short_writes(session: &Session) -> Vec<Step> {
    let live = session.live_changes();
    let batches: BTreeSet<&BatchId> = live.iter().flat_map(|state| state.batches.keys()).collect();
    let closed = |batch: &&BatchId| batch_part(&live, batch) == BatchPart::Closed;
    let step = |batch: &BatchId| Step::Apply { batch: batch.clone(), part: BatchPart::Closed };
    batches.into_iter().filter(closed).map(step).collect()
}

/// Returns how many changes of closed files were decided and have no outcome yet: what a server that stopped may have done
/// in part.
pub fn unfinished_writes(session: &Session) -> usize {
    let live = session.live_changes();
    let is_unfinished = |state: &&&ChangeState| !state.change.open && !state.batches.is_empty();
    live.iter().filter(is_unfinished).count() + session.applied.unfinished_reviews()
}

/// Returns the changes of open documents whose outcome the log does not have: the server sent the edit, or was about to. Whether
/// the editor made the edit shows in the text of the document alone.
pub fn unproved_edits(session: &Session) -> impl Iterator<Item = &ChangeState> {
    session.changes.values().filter(|state| state.change.open && state.has(HunkState::Applying))
}

/// Returns which changes of a batch are applied now.
fn batch_part(live: &[&ChangeState], batch: &BatchId) -> BatchPart {
    let of_batch = || live.iter().filter(|state| state.batches.contains_key(batch));
    match of_batch().find(|state| !state.change.open).or_else(|| of_batch().next()) {
        Some(state) if state.change.open => BatchPart::Open { change_set: state.change.change_set.clone() },
        _ => BatchPart::Closed,
    }
}

/// Whether an edit of a change may have reached its open document without a record of it. In a batch of several files,
/// only the edits of the part that is applied now have begun.
pub fn may_be_in_buffer(session: &Session, state: &ChangeState) -> bool {
    let live = session.live_changes();
    state.change.open && state.batches.keys().any(|batch| batch_part(&live, batch).has(&state.change))
}

fn call_steps(session: &Session, run: &Run, call: &Call) -> Vec<Step> {
    let prepare = || vec![prepare(session, vec![call.id.clone()])];
    match &call.phase {
        CallPhase::Opened => prepare(),
        CallPhase::Asking { epoch } if *epoch < session.epoch => prepare(),
        CallPhase::Asking { .. } => {
            let answer_by_time = session.open_ask_of(call).and_then(|open| {
                let (at, _) = ask::answers_itself(open, &run.policy)?;
                Some(wake(at, WakeReason::Unanswered { ask: open.ask.id.clone() }))
            });
            answer_by_time.into_iter().collect()
        }
        // A finished call is not runnable, so this is never reached.
        CallPhase::Finished { .. } => Vec::new(),
        // After a restart, only a call that may run twice is still started: `accept::lifecycle` ended the others.
        CallPhase::Started { at } => {
            let mut steps = vec![Step::RunTool { call: call.id.clone() }];
            if call.is_command() && !call.output_asked {
                let at = at.saturating_add(run.policy.command_output_ms);
                steps.push(wake(at, WakeReason::StillRunning { call: call.id.clone() }));
            }
            steps
        }
    }
}

fn wake(at: u64, why: WakeReason) -> Step {
    Step::Wake(Wake { at, why })
}

/// Returns the longest time that a `Wake` may last, in milliseconds: the wait as it was first decided.
/// `wake.at` alone is not enough, because the clock may have been set back since.
pub fn longest_wait(session: &Session, wake: &Wake) -> u64 {
    let Some(run) = session.open_run() else { return 0 };
    match (&wake.why, &run.turn) {
        (WakeReason::CallModel, None) => wake.at.saturating_sub(run.started_at),
        (WakeReason::CallModel, Some(turn)) => match turn.phase {
            TurnPhase::Backoff { since, retry_at } => retry_at.saturating_sub(since),
            TurnPhase::Calling | TurnPhase::Acting => 0,
        },
        (WakeReason::StillRunning { .. }, _) => run.policy.command_output_ms,
        (WakeReason::Unanswered { .. }, _) => run.policy.followup_default_ms.unwrap_or(0),
    }
}

fn prepare(session: &Session, calls: Vec<ToolCallId>) -> Step {
    Step::Prepare { calls, epoch: session.epoch }
}

/// Returns a `DeliverAsk` for each open ask that the user must see. Idle asks only describe the end of a
/// run, so they are not delivered. An ask about a call waits until `Prepare` has confirmed it in this epoch.
fn deliveries(session: &Session) -> impl Iterator<Item = Step> + '_ {
    session
        .open_asks()
        .filter(|ask| match ask.kind.group() {
            AskGroup::Interactive | AskGroup::NonBlocking => session.is_observed(ask),
            AskGroup::Resumable => true,
            AskGroup::Idle => false,
        })
        .map(|ask| Step::DeliverAsk { ask: ask.id.clone() })
}
