//! Reports from `CallModel`: begun, streaming, silent, answered, failed.
//!
//! Never decides whether to try again; `retry` does.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::call::mistake_limit;
use super::ending::{Ending, end_run, result};
use super::{Refusal, compact};
use crate::machine::input::{Report, Stamp};
use crate::machine::retry::{self, CallFailure, FailureClass};
use crate::policy::cause::{Cause, Reason};
use crate::prompt::message::{CutReply, Reply, StopCause};
use crate::record::{AskKind, CallEnd, CallResult, Event, Outcome, StopReason};
use crate::session::spending::BudgetEnd;
use crate::session::{Run, Session, Turn};

/// Tool calls that run from one reply; the rest are refused.
const MAX_CALLS: usize = 64;
/// Bytes that the arguments of all calls of one reply may have. A call beyond it is refused, and the run
/// continues. The limit is below the size at which the reader of the reply gives up.
const MAX_ARGUMENT_BYTES: usize = crate::tool::MAX_EDIT_ARGUMENTS;

/// Handles a report from `CallModel`. Precondition: the step is current, so the turn is calling or not begun.
pub fn accept(
    session: &Session,
    stamp: &Stamp,
    number: u32,
    attempt: u32,
    report: Report,
) -> Result<Vec<Event>, Refusal> {
    let run = session.open_run().ok_or(Refusal::Stale)?;
    let begun = run.turn.as_ref().filter(|turn| turn.number == number);
    match (begun, report) {
        (None, Report::TurnBegan) => Ok(begin(session, stamp, run, number)),
        // Nobody reads along while a summary is written.
        (Some(turn), Report::ReplyStarted) if !turn.streaming && turn.compacts.is_none() => {
            let message = message_of(turn, stamp);
            Ok(vec![Event::ReplyStarted { turn: number, attempt, message }])
        }
        (Some(turn), Report::ReplyPartial { text, reasoning }) if turn.streaming => {
            Ok(vec![Event::ReplyPartial { turn: number, attempt, text, reasoning }])
        }
        (Some(turn), Report::Silent { since }) if turn.silent_since.is_none() => {
            Ok(vec![Event::WentSilent { turn: number, attempt, since }])
        }
        (Some(turn), Report::Heard) if turn.silent_since.is_some() => {
            Ok(vec![Event::Heard { turn: number, attempt }])
        }
        (Some(turn), Report::Replied(reply)) => Ok(match &turn.compacts {
            Some(compaction) => compact::summarised(session, stamp, run, turn, compaction, &reply),
            None => replied(session, stamp, run, turn, reply),
        }),
        (Some(turn), Report::ReplyCut { reply, room }) => Ok(match &turn.compacts {
            Some(compaction) => compact::summarised(session, stamp, run, turn, compaction, &reply),
            None => cut(session, stamp, run, turn, reply, room),
        }),
        (Some(turn), Report::CallFailed(failure)) => Ok(failed(session, stamp, run, turn, failure)),
        _ => Err(Refusal::Stale),
    }
}

/// Begins a turn, or ends the run if a budget of it or of its session is used up (P15).
pub fn begin(session: &Session, stamp: &Stamp, run: &Run, number: u32) -> Vec<Event> {
    match session.exhausted(run) {
        Some(BudgetEnd { stop, why }) => {
            let ending = Ending::new(Outcome::Limit, stop);
            end_run(
                session,
                stamp,
                ending.with_summary(Some(why.clone())).with_ask(AskKind::AutoApprovalMaxReqReached, why),
            )
        }
        None => compact::begin_turn(session, stamp, run, number),
    }
}

fn message_of(turn: &Turn, stamp: &Stamp) -> crate::record::MessageId {
    turn.message.clone().unwrap_or_else(|| stamp.id("msg").as_str().into())
}

fn replied(session: &Session, stamp: &Stamp, run: &Run, turn: &Turn, mut reply: Reply) -> Vec<Event> {
    name_calls(&mut reply, turn.number);
    let oversized = remove_oversized(&mut reply);
    let reply = Arc::new(reply);
    let mut events = vec![Event::Replied {
        turn: turn.number,
        attempt: turn.attempt,
        message: message_of(turn, stamp),
        reply: reply.clone(),
    }];
    let mut refused: Vec<String> = Vec::new();
    for (index, requested) in reply.calls.iter().enumerate() {
        let call: crate::record::ToolCallId = stamp.id("call").as_str().into();
        events.push(Event::CallOpened {
            call: call.clone(),
            turn: turn.number,
            index: index as u32,
            tool: bounded(&requested.name, 64),
            title: session.tools.title_of(&requested.name, &requested.arguments),
            effect: Some(session.tools.effect_of(&requested.name)),
        });
        let too_large = oversized.get(&index).map(|bytes| Reason::new(Cause::TooLong, too_large(*bytes)));
        let cut = || why_not_run(&reply, index).map(|why| Reason::new(Cause::CutReply, why));
        if let Some(why) = too_large.or_else(cut) {
            let result = result(CallEnd::Failed, &why.text, "not run");
            let result = CallResult { cause: Some(why.cause), ..result };
            events.push(Event::ToolFinished { call, result });
            refused.push(why.text);
        }
    }
    if refused.len() == reply.calls.len() {
        // No call of this reply can succeed, and the next reply may be like it.
        let last = refused.last().map_or("", String::as_str);
        let in_a_row = run.mistakes.saturating_add(refused.len() as u32);
        if !refused.is_empty() && in_a_row >= run.policy.mistakes {
            events.extend(end_run(session, stamp, mistake_limit(in_a_row, last)));
        }
    }
    if reply.calls.is_empty() && run.pending.is_empty() {
        let (outcome, stop) = match reply.stop {
            StopCause::Refusal => (Outcome::Failed, StopReason::Refusal),
            StopCause::MaxTokens => (Outcome::Stopped, StopReason::MaxTokens),
            StopCause::EndTurn | StopCause::ToolCalls => (Outcome::Stopped, StopReason::EndTurn),
        };
        let ending = Ending::new(outcome, stop).with_summary(first_line(&reply.text));
        events.extend(end_run(session, stamp, ending));
    }
    events
}

/// Handles a reply that the output limit cut: it is asked for once more with more room, else it counts as it is.
fn cut(session: &Session, stamp: &Stamp, run: &Run, turn: &Turn, mut reply: Reply, room: u32) -> Vec<Event> {
    let failure = CallFailure {
        class: FailureClass::Cut,
        message: format!(
            "the reply was cut at the output limit, and the model may write up to {room} tokens"
        ),
        retry_after_ms: None,
    };
    match retry::next_attempt(&failure, &turn.tries, stamp.jitter(), &run.policy.retry) {
        Some(delay) => {
            remove_oversized(&mut reply);
            let cut = Some(CutReply { reply: Arc::new(reply), room });
            vec![attempt_failed(stamp, turn, failure, delay, cut)]
        }
        None => replied(session, stamp, run, turn, reply),
    }
}

fn attempt_failed(
    stamp: &Stamp,
    turn: &Turn,
    failure: CallFailure,
    delay: u64,
    cut: Option<CutReply>,
) -> Event {
    let retry_at = stamp.now.saturating_add(delay);
    Event::AttemptFailed { turn: turn.number, attempt: turn.attempt, failure, retry_at, cut }
}

/// Returns why a call of this reply must not run: the reply was cut, or it has too many calls.
fn why_not_run(reply: &Reply, index: usize) -> Option<String> {
    if reply.stop == StopCause::MaxTokens {
        let why = "your reply was cut at the output limit, so this call was not run; make a shorter call";
        return Some(why.to_owned());
    }
    let too_many = || format!("a reply may have at most {MAX_CALLS} tool calls; this one was not run");
    (index >= MAX_CALLS).then(too_many)
}

fn too_large(bytes: usize) -> String {
    format!(
        "the arguments of this call were {bytes} bytes, so it was not run and they were not kept; all calls of \
         one reply together may have {MAX_ARGUMENT_BYTES}. Split the work into smaller calls"
    )
}

/// Replaces the arguments of each call beyond the limit by a note; returns the index and size in bytes of each.
fn remove_oversized(reply: &mut Reply) -> BTreeMap<usize, usize> {
    let mut room = MAX_ARGUMENT_BYTES;
    let mut oversized = BTreeMap::new();
    for (index, call) in reply.calls.iter_mut().enumerate() {
        let bytes = call.arguments.len();
        match room.checked_sub(bytes) {
            Some(left) => room = left,
            None => {
                call.arguments = format!("{{\"left_out_bytes\":{bytes}}}");
                oversized.insert(index, bytes);
            }
        }
    }
    oversized
}

/// Gives each call an id that is unique in the reply, because outputs are paired by the provider's call id (S41).
fn name_calls(reply: &mut Reply, turn: u32) {
    let mut seen = HashSet::new();
    for (index, call) in reply.calls.iter_mut().enumerate() {
        if call.id.is_empty() || !seen.insert(call.id.clone()) {
            call.id = format!("call_{turn}_{index}");
            seen.insert(call.id.clone());
        }
    }
}

fn failed(session: &Session, stamp: &Stamp, run: &Run, turn: &Turn, failure: CallFailure) -> Vec<Event> {
    if let Some(delay) = retry::next_attempt(&failure, &turn.tries, stamp.jitter(), &run.policy.retry) {
        return vec![attempt_failed(stamp, turn, failure, delay, None)];
    }
    if turn.summary_model.is_some() {
        // The work does not fail with the model of summaries: its own model is asked next.
        let why = failure.message;
        return vec![Event::SummaryFailed { turn: turn.number, attempt: turn.attempt, why, usage: None }];
    }
    let fallback = retry::fallback_model(&failure, run.current_model(), &run.policy.fallback_models);
    if let (None, Some(cut)) = (fallback, &turn.cut) {
        // The request with more room failed, perhaps because of it. Its tokens were counted when the reply was cut.
        let reply = Reply { usage: None, ..Reply::clone(&cut.reply) };
        let mut events = vec![attempt_failed(stamp, turn, failure, 0, None)];
        events.extend(replied(session, stamp, run, turn, reply));
        return events;
    }
    if let Some(events) = compact::overflowed(session, stamp, run, turn, &failure) {
        return events;
    }
    match fallback {
        Some(to) => {
            let replaced = Event::ModelReplaced {
                turn: turn.number,
                from: run.current_model().to_owned(),
                to: to.to_owned(),
            };
            vec![attempt_failed(stamp, turn, failure, 0, None), replaced]
        }
        None => {
            let tries = if failure.class == FailureClass::Auth { String::new() } else { tried(turn.attempt) };
            let ending = Ending::new(Outcome::Failed, StopReason::Failed)
                .with_summary(Some(failure.message.clone()))
                .with_ask(AskKind::ApiReqFailed, format!("{}{tries}", failure.message));
            let mut events = vec![Event::TurnFailed {
                turn: turn.number,
                attempt: turn.attempt,
                failure: failure.clone(),
            }];
            events.extend(end_run(session, stamp, ending));
            events
        }
    }
}

fn tried(attempts: u32) -> String {
    if attempts == 1 { String::new() } else { format!(" (tried {attempts} times)") }
}

fn first_line(text: &str) -> Option<String> {
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(|line| bounded(line, 200))
}

fn bounded(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}
