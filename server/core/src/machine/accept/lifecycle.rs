//! Inputs about the whole run or session: cancel, a choice, opening the log, server stop, wake-ups.
//!
//! Never handles a reply or a prepared call; `turn` and `call` do.

use super::ending::{Ending, close_idle_asks, end_run, interrupted_call, open_calls, opened_ask, run_ask};
use super::{Refusal, answer, consent, edits, turn};
use crate::machine::input::{Answer, Choice, Stamp};
use crate::machine::retry::{CallFailure, FailureClass};
use crate::machine::step::WakeReason;
use crate::policy::ask;
use crate::policy::choices::{self, JudgedChoice, Offer};
use crate::record::{
    Ask, AskGroup, AskId, AskKind, Event, Outcome, Resolution, RunId, StopReason, ToolCallId,
};
use crate::session::{Call, CallPhase, Run, Session, TurnPhase};
use crate::tool::Effect;

/// Cancels the open run. If `named` is another run, returns `RunMismatch`.
pub fn cancel(session: &Session, stamp: &Stamp, named: Option<&RunId>) -> Result<Vec<Event>, Refusal> {
    let run = session.open_run().ok_or(Refusal::Nothing)?;
    if named.is_some_and(|named| *named != run.id) {
        return Err(Refusal::RunMismatch { open: Some(run.id.clone()) });
    }
    Ok(end_run(session, stamp, Ending::new(Outcome::Cancelled, StopReason::Cancelled)))
}

/// Changes a choice of the session, such as its mode or model. Before the first prompt there is no log;
/// until then `Session::choose` keeps the choice.
pub fn choose(session: &Session, chosen: JudgedChoice, offer: Offer) -> Result<Vec<Event>, Refusal> {
    if !session.created {
        return Err(Refusal::Nothing);
    }
    let change = choices::change(&session.choices, &offer, &chosen).ok_or(Refusal::Nothing)?;
    let offer = offer.after(&chosen);
    Ok(vec![Event::ConfigChanged { chosen, change, offer }])
}

/// Handles a log that a writer has opened. Whatever was interrupted is closed, and an open run waits to be
/// resumed. A run that only waits for an answer continues to wait. Consent ends, because another process had it.
pub fn opened(session: &Session, stamp: &Stamp, epoch: u64) -> Result<Vec<Event>, Refusal> {
    let mut events = vec![Event::SessionOpened { epoch }];
    events.extend(session.open_run().and_then(|run| consent::change(run, None)));
    events.extend(interrupt(session, stamp));
    let orphans = close_orphan_asks(session, &events);
    events.extend(orphans);
    let closed: Vec<&AskId> = events.iter().filter_map(Event::closed_ask).collect();
    match session.open_run() {
        Some(run) if !waits_for_an_answer(session, &closed) && !session.has_open_ask(AskKind::ResumeTask) => {
            let title = format!("\"{}\" was interrupted. Resume it?", session.title);
            events.push(opened_ask(run_ask(stamp, &run.id, AskKind::ResumeTask, title)));
        }
        Some(_) => {}
        None => events.extend(reopened_completed(session, stamp)),
    }
    Ok(events)
}

/// Whether a call of the open turn waits for the user, by another ask than those that are `closed`.
fn waits_for_an_answer(session: &Session, closed: &[&AskId]) -> bool {
    let blocking = |ask: &Ask| ask.kind.group() == AskGroup::Interactive;
    session
        .open_asks()
        .filter(|ask| blocking(ask) && !closed.contains(&&ask.id))
        .any(|ask| ask.calls.is_empty() || ask.calls.iter().any(|call| !is_over(session, call)))
}

fn is_over(session: &Session, call: &ToolCallId) -> bool {
    session.call(call).is_none_or(Call::is_finished)
}

/// Withdraws the asks that are still open after `events` and whose calls have all ended, some of them by `events`. Only a
/// log with missing records has such asks.
fn close_orphan_asks(session: &Session, events: &[Event]) -> Vec<Event> {
    let is_closed = |ask: &Ask| events.iter().filter_map(Event::closed_ask).any(|closed| *closed == ask.id);
    let ends = |call: &ToolCallId| events.iter().any(|event| event.ended_call() == Some(call));
    let over = |ask: &Ask| {
        !ask.calls.is_empty() && ask.calls.iter().all(|call| is_over(session, call) || ends(call))
    };
    let orphans = session.open_asks().filter(|ask| over(ask) && !is_closed(ask));
    orphans.map(|ask| Event::AskClosed { ask: ask.id.clone(), resolution: Resolution::Withdrawn }).collect()
}

/// Opens the ask that says that the task of a reopened session is complete (S04).
fn reopened_completed(session: &Session, stamp: &Stamp) -> Vec<Event> {
    let Some(ended) = session.ended.back().filter(|ended| ended.end.outcome == Outcome::Completed) else {
        return Vec::new();
    };
    if session.has_open_ask(AskKind::ResumeCompletedTask) {
        return Vec::new();
    }
    let mut events = close_idle_asks(session);
    let title = ended.end.summary.clone().unwrap_or_else(|| session.title.clone());
    events.push(opened_ask(run_ask(stamp, &ended.run, AskKind::ResumeCompletedTask, title)));
    events
}

/// Handles a server that is stopping: closes what runs now, as the next opening would.
pub fn stopping(session: &Session, stamp: &Stamp) -> Result<Vec<Event>, Refusal> {
    let events = interrupt(session, stamp);
    if events.is_empty() { Err(Refusal::Nothing) } else { Ok(events) }
}

/// Returns the events that close what a stopped server left running. A read that had started may run again.
/// Every other call that had started ends as interrupted and is never repeated; for edits see `edits::interrupted`.
pub fn interrupt(session: &Session, stamp: &Stamp) -> Vec<Event> {
    let Some(turn) = session.open_run().and_then(|run| run.turn.as_ref()) else { return Vec::new() };
    let mut events = Vec::new();
    if turn.phase == TurnPhase::Calling {
        events.push(Event::AttemptFailed {
            turn: turn.number,
            attempt: turn.attempt,
            failure: CallFailure {
                class: FailureClass::Interrupted,
                message: "the server stopped while the model was answering".to_owned(),
                retry_after_ms: None,
            },
            retry_at: stamp.now,
            cut: None,
        });
    }
    events.extend(edits::interrupted(session));
    let started = open_calls(session).filter(|call| matches!(call.phase, CallPhase::Started { .. }));
    for call in started.filter(|call| !call.is_edit()) {
        for ask in session.open_asks().filter(|ask| ask.is_about(&call.id)) {
            events.push(Event::AskClosed { ask: ask.id.clone(), resolution: Resolution::Withdrawn });
        }
        if call.effect != Effect::Read {
            events.push(Event::ToolFinished { call: call.id.clone(), result: interrupted_call() });
        }
    }
    events
}

/// Handles a `Wake` whose time has come. Precondition: the step is current.
pub fn woke(session: &Session, stamp: &Stamp, why: &WakeReason) -> Result<Vec<Event>, Refusal> {
    let run = session.open_run().ok_or(Refusal::Stale)?;
    match why {
        WakeReason::CallModel => Ok(call_model(session, stamp, run)),
        WakeReason::StillRunning { call } => {
            let call = session.call(call).ok_or(Refusal::Stale)?;
            let title = format!("{} is still running", call.title);
            let ask = run_ask(stamp, &run.id, AskKind::CommandOutput, title);
            Ok(vec![opened_ask(Ask { calls: vec![call.id.clone()], ..ask })])
        }
        WakeReason::Unanswered { ask } => answer_by_time(session, stamp, run, ask),
    }
}

fn call_model(session: &Session, stamp: &Stamp, run: &Run) -> Vec<Event> {
    match &run.turn {
        None => turn::begin(session, stamp, run, session.turns + 1),
        // The user has steered meanwhile: a new turn, so that the next request has these messages.
        Some(turn) if !run.pending.is_empty() => turn::begin(session, stamp, run, turn.number + 1),
        Some(turn) => vec![Event::AttemptStarted { turn: turn.number, attempt: turn.attempt + 1 }],
    }
}

fn answer_by_time(session: &Session, stamp: &Stamp, run: &Run, ask: &AskId) -> Result<Vec<Event>, Refusal> {
    let open = session.asks.get(ask).ok_or(Refusal::Stale)?;
    let (_, option) = ask::answers_itself(open, &run.policy).ok_or(Refusal::Stale)?;
    let choice = Choice::Option { id: option.to_owned(), text: None };
    let answer =
        Answer { ask: ask.clone(), choice, surface: ask::TIME.to_owned(), consent: None, budget: None };
    answer::accept(session, stamp, answer)
}
