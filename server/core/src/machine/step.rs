//! The agent loop: what ought to be running now, as a function of the session.
//!
//! The only seat of that decision. Never starts, stops or waits for anything.

use crate::policy::ask;
use crate::record::{AskGroup, AskId, AskKind, ChangeSetId, ToolCallId};
use crate::session::{Call, CallPhase, OpenAsk, Run, Session, TurnPhase};

/// A piece of work that ought to be running; equal steps are the same piece,
/// so the key decides how long it lives.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Find out what became of an edit whose run was cut short.
    Settle {
        change_set: ChangeSetId,
    },
    /// Put an ask before the user, by every door a client has.
    DeliverAsk {
        ask: AskId,
    },
    /// Look at the world for a call; again after each opening of the session.
    Prepare {
        call: ToolCallId,
        epoch: u64,
    },
    CallModel {
        turn: u32,
        attempt: u32,
    },
    RunTool {
        call: ToolCallId,
    },
    /// Nothing but time.
    Wake(Wake),
}

/// A time to wait for, in milliseconds since the Unix epoch, and what it is waited for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Wake {
    pub at: u64,
    pub why: Why,
}

/// What time brings.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Why {
    /// The model may be called: after a back-off, or when the user wanted to wait.
    CallModel,
    /// A command runs so long that the user is asked about it.
    StillRunning { call: ToolCallId },
    /// A question answers itself.
    Unanswered { ask: AskId },
}

/// What ought to be running now.
pub fn next_steps(session: &Session) -> Vec<Step> {
    let mut steps: Vec<Step> =
        session.unsettled().map(|change_set| Step::Settle { change_set: change_set.clone() }).collect();
    steps.extend(deliveries(session));
    let Some(run) = session.open_run() else { return steps };
    if session.has_open_ask(AskKind::ResumeTask) {
        return steps;
    }
    match &run.turn {
        // Work is left over from before (a prompt, or outputs the model has not seen).
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
            let open = session.open_ask_of(call);
            let due = open.and_then(|open| Some((open, ask::answers_itself(open, &run.policy)?)));
            let unanswered = |open: &OpenAsk| Why::Unanswered { ask: open.ask.id.clone() };
            due.map(|(open, (at, _))| wake(at, unanswered(open))).into_iter().collect()
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

/// The longest a `Wake` may last: what was waited for when it was decided. Its time was told by the
/// clock of that moment, and that clock may have been set back since.
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

/// Idle asks are state after the end of a run, and never put before the user. One
/// that only resumes or discards asks about nothing that would have to be looked at again.
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
