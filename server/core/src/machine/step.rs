//! The agent loop: which steps should be running now, as a function of the session.
//!
//! No other file decides this. Never starts, stops or waits for anything.

use crate::policy::ask;
use crate::record::{AskGroup, AskId, AskKind, ChangeSetId, ToolCallId};
use crate::session::{Call, CallPhase, Run, Session, TurnPhase};

/// A piece of work that should be running now. The whole value is its key: while `next_steps` returns an equal value,
/// the work keeps running and its reports are accepted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Check whether an edit is in the text, because its call ended before that was known.
    Settle { change_set: ChangeSetId },
    /// Deliver an ask to the client, as a request or as a popup. Updates and diagnostics show it without this step.
    DeliverAsk { ask: AskId },
    /// Observe the world for a call: resolve its path and, for an edit, compute its hunks. Repeated in each epoch, that
    /// is, whenever the session is opened again.
    Prepare { call: ToolCallId, epoch: u64 },
    /// Send one request to the model and report its reply. Before the first attempt starts, the session task records
    /// that the turn began.
    CallModel { turn: u32, attempt: u32 },
    /// Run a call whose start is in the log; for an edit, apply its frozen hunks.
    RunTool { call: ToolCallId },
    /// Wait for a time; no other work.
    Wake(Wake),
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
    steps.extend(deliveries(session));
    let Some(run) = session.open_run() else { return steps };
    if session.has_open_ask(AskKind::ResumeTask) {
        // The server stopped during this run. The user decides whether it continues.
        return steps;
    }
    match &run.turn {
        // Before the first turn: the model has a prompt to answer or, in a run that continues another, outputs to see.
        None => match run.not_before {
            Some(at) => steps.push(wake(at, WakeReason::CallModel)),
            None => steps.push(Step::CallModel { turn: session.turns + 1, attempt: 1 }),
        },
        Some(turn) => match turn.phase {
            TurnPhase::Calling => {
                steps.push(Step::CallModel { turn: turn.number, attempt: turn.attempt });
            }
            TurnPhase::Backoff { retry_at, .. } => steps.push(wake(retry_at, WakeReason::CallModel)),
            // Every call has its result, or the reply had no call and the user steered: the next turn begins.
            TurnPhase::Acting if turn.runnable_calls().next().is_none() => {
                steps.push(Step::CallModel { turn: turn.number + 1, attempt: 1 });
            }
            TurnPhase::Acting => {
                steps.extend(turn.runnable_calls().flat_map(|call| call_steps(session, run, call)));
            }
        },
    }
    steps
}

fn call_steps(session: &Session, run: &Run, call: &Call) -> Vec<Step> {
    match &call.phase {
        CallPhase::Opened => vec![prepare(session, call)],
        CallPhase::Asking { epoch } if *epoch < session.epoch => vec![prepare(session, call)],
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

fn prepare(session: &Session, call: &Call) -> Step {
    Step::Prepare { call: call.id.clone(), epoch: session.epoch }
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
