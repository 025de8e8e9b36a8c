//! The agent loop: which steps should be running now, as a function of the session.
//!
//! No other file decides this. Never starts, stops or waits for anything.

use crate::policy::ask;
use crate::record::{AskGroup, AskId, AskKind, ChangeSetId, ToolCallId};
use crate::session::{Call, CallPhase, Run, Session, TurnPhase};

/// A piece of work that should be running now. Equal steps are the same piece, so the key decides how
/// long it lives.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Check whether an edit is in the text, because its call ended before that was known.
    Settle { change_set: ChangeSetId },
    /// Show an ask to the user, on every surface of every client.
    DeliverAsk { ask: AskId },
    /// Resolve the path of a call, and read or locate what it needs. Repeated when the session is opened again,
    /// because that begins a new epoch.
    Prepare { call: ToolCallId, epoch: u64 },
    /// Send one request to the model and report its reply. The first attempt begins the turn.
    CallModel { turn: u32, attempt: u32 },
    /// Run a call whose start is in the log.
    RunTool { call: ToolCallId },
    /// Wait for a time; no other work.
    Wake(Wake),
}

/// A time to wait for, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Wake {
    /// Milliseconds since the Unix epoch.
    pub at: u64,
    pub why: Why,
}

/// What happens when the time of a `Wake` has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Why {
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
        return steps;
    }
    match &run.turn {
        // No turn yet: the model has a prompt to answer or, in a run that continues another, outputs to see.
        None => match run.not_before {
            Some(at) if run.turns == 0 => steps.push(wake(at, Why::CallModel)),
            _ => steps.push(Step::CallModel { turn: session.turns + 1, attempt: 1 }),
        },
        Some(turn) => match turn.phase {
            TurnPhase::Calling => {
                steps.push(Step::CallModel { turn: turn.number, attempt: turn.attempt });
            }
            TurnPhase::Backoff { retry_at, .. } => steps.push(wake(retry_at, Why::CallModel)),
            TurnPhase::Acting if turn.calls_now().next().is_none() => {
                steps.push(Step::CallModel { turn: turn.number + 1, attempt: 1 });
            }
            TurnPhase::Acting => {
                steps.extend(turn.calls_now().flat_map(|call| call_steps(session, run, call)));
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
                Some(wake(at, Why::Unanswered { ask: open.ask.id.clone() }))
            });
            answer_by_time.into_iter().collect()
        }
        CallPhase::Finished { .. } => Vec::new(),
        CallPhase::Started { at } => {
            let mut steps = vec![Step::RunTool { call: call.id.clone() }];
            if call.is_command() && !call.output_asked {
                let at = at.saturating_add(run.policy.command_output_ms);
                steps.push(wake(at, Why::StillRunning { call: call.id.clone() }));
            }
            steps
        }
    }
}

fn wake(at: u64, why: Why) -> Step {
    Step::Wake(Wake { at, why })
}

/// Returns the longest time that a `Wake` may last, in milliseconds: the wait as it was first decided.
/// `wake.at` alone is not enough, because the clock may have been set back since.
pub fn longest_wait(session: &Session, wake: &Wake) -> u64 {
    let Some(run) = session.open_run() else { return 0 };
    match (&wake.why, &run.turn) {
        (Why::CallModel, None) => wake.at.saturating_sub(run.started_at),
        (Why::CallModel, Some(turn)) => match turn.phase {
            TurnPhase::Backoff { since, retry_at } => retry_at.saturating_sub(since),
            TurnPhase::Calling | TurnPhase::Acting => 0,
        },
        (Why::StillRunning { .. }, _) => run.policy.command_output_ms,
        (Why::Unanswered { .. }, _) => run.policy.followup_default_ms.unwrap_or(0),
    }
}

fn prepare(session: &Session, call: &Call) -> Step {
    Step::Prepare { call: call.id.clone(), epoch: session.epoch }
}

/// Returns a `DeliverAsk` for each open ask that the user must see. Idle asks only describe the end of a
/// run, so they are not delivered. An ask to resume needs no new observation; the others wait for one.
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
