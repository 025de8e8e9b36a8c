//! The life of a tool call that edits nothing: judged, asked, started, finished. The end of every call.
//!
//! The verdict comes from `permission`. A call is never judged before `Prepare` has reported on it.

use super::Refusal;
use super::edited::with_made;
use super::ending::{Ending, end_run, result};
use crate::machine::input::{Preparation, Prospect, Stamp};
use crate::policy::ask;
use crate::policy::cause::{Cause, Reason};
use crate::policy::observation::ObservedPath;
use crate::policy::permission::{self, Act, Verdict, forbidden, standing_rule, verdict};
use crate::policy::unsaved;
use crate::record::{
    Ask, AskGroup, AskId, AskKind, CallEnd, CallResult, Event, Outcome, Payload, PlanStep, Resolution,
    StopReason, ToolCallId, UnsavedText, plan,
};
use crate::session::{Call, CallPhase, Run, Session, mistakes_after};

/// Handles the report of `Prepare` on a call that edits nothing: what it observed, and what the call would do.
pub fn prepared(
    session: &Session,
    stamp: &Stamp,
    id: &ToolCallId,
    prepared: Preparation,
) -> Result<Vec<Event>, Refusal> {
    let current = current(session, id)?;
    let Preparation { seen, prospect, unsaved, can_save, host } = prepared;
    match (prospect, seen) {
        (Prospect::Payload(payload), seen) => {
            prepared_payload(session, stamp, current, payload, seen, Around { unsaved, can_save, host })
        }
        (Prospect::Refused { why, may_reveal }, seen) => {
            Ok(end_unprepared(session, stamp, unprepared(session, current, seen, Some(why), may_reveal)))
        }
        (Prospect::Forbidden, seen) => {
            Ok(end_unprepared(session, stamp, unprepared(session, current, seen, None, false)))
        }
    }
}

fn end_unprepared(session: &Session, stamp: &Stamp, (prepared, end): (Event, CallEnding<'_>)) -> Vec<Event> {
    let mut batch = close_asks(session, [end.0]);
    batch.push(prepared);
    end_calls(session, stamp, &mut batch, vec![end]);
    batch
}

fn prepared_payload(
    session: &Session,
    stamp: &Stamp,
    current: Current<'_>,
    payload: Payload,
    seen: Option<ObservedPath>,
    around: Around,
) -> Result<Vec<Event>, Refusal> {
    let Current { run, call } = current;
    let digest = ask::payload_digest(&payload, seen.as_ref());
    // A file is judged only after `Prepare` has observed it.
    let act = Act::of(&payload, seen.as_ref()).ok_or(Refusal::Stale)?;
    let is_forbidden = forbidden(&session.roots, &run.policy, &call.tool, act).is_some();
    if let Some(events) = confirm_ask(session, call, &digest).filter(|_| !is_forbidden) {
        return Ok(events);
    }
    let mut events = close_asks(session, [call]);
    events.push(Event::CallPrepared { call: call.id.clone(), payload: payload.clone(), seen: seen.clone() });
    match &payload {
        Payload::Complete { summary } => complete(session, stamp, current, summary, &mut events),
        Payload::Fail { reason } => {
            let result = result(CallEnd::Completed, "The run ends here.", "gave up");
            events.push(Event::ToolFinished { call: call.id.clone(), result });
            let ending = Ending::new(Outcome::Failed, StopReason::GaveUp).with_summary(Some(reason.clone()));
            end_run_after(session, stamp, ending, &mut events);
        }
        _ => match verdict(session, &run.policy, &call.tool, act) {
            Verdict::Allow(_) if let Payload::Plan { steps } = &payload => {
                let result = plan_result(steps);
                end_calls(session, stamp, &mut events, vec![(call, result)]);
            }
            Verdict::Allow(by) => {
                events.push(Event::ToolStarted {
                    call: call.id.clone(),
                    allowed_by: Some(by),
                    saves: Vec::new(),
                });
            }
            Verdict::Deny(why) => end_calls(session, stamp, &mut events, vec![(call, denied(&why))]),
            Verdict::Ask(why) => {
                let ask = payload_ask(stamp, current, &payload, seen.as_ref(), why, around);
                events.push(Event::AskOpened { ask: Box::new(ask) });
            }
        },
    }
    Ok(events)
}

/// Returns the preparation and the end of a call that cannot run. If a rule forbids the call, the result for the model
/// names the rule; else it gives `why`, which may reveal text of the file (`may_reveal`). The rule comes first because
/// `why` may quote a file that the user has not allowed to be read.
pub fn unprepared<'a>(
    session: &Session,
    current: Current<'a>,
    seen: Option<ObservedPath>,
    why: Option<Reason>,
    may_reveal: bool,
) -> (Event, CallEnding<'a>) {
    let Current { run, call } = current;
    let act = seen.as_ref().map(|seen| if call.is_edit() { Act::Edit(seen) } else { Act::Read(seen) });
    let (roots, policy) = (&session.roots, &run.policy);
    let result = match act.and_then(|act| forbidden(roots, policy, &call.tool, act)) {
        Some(why) => denied(&why),
        None => {
            let why = why.unwrap_or_else(|| {
                Reason::new(Cause::Changed, "the rules changed while the call was prepared; call again")
            });
            refused(&permission::reportable(roots, policy, seen.as_ref(), (why, may_reveal)))
        }
    };
    (Event::CallPrepared { call: call.id.clone(), payload: Payload::Nothing, seen }, (call, result))
}

/// Handles the result of a tool that ended, or of a step that broke.
pub fn finished<'a>(
    session: &Session,
    stamp: &Stamp,
    ids: impl IntoIterator<Item = &'a ToolCallId>,
    result: &CallResult,
) -> Result<Vec<Event>, Refusal> {
    let calls = ids.into_iter().filter_map(|id| Some(current(session, id).ok()?.call));
    let calls: Vec<&Call> = calls.collect();
    if calls.is_empty() {
        return Err(Refusal::Stale);
    }
    let mut batch = close_asks(session, calls.iter().copied());
    end_calls(
        session,
        stamp,
        &mut batch,
        calls.into_iter().map(|call| (call, with_made(session, call, result.clone()))).collect(),
    );
    Ok(batch)
}

/// The open run, and a call of it that has not finished.
#[derive(Clone, Copy)]
pub struct Current<'a> {
    pub run: &'a Run,
    pub call: &'a Call,
}

/// A call and the result that it ends with.
pub type CallEnding<'a> = (&'a Call, CallResult);

/// Returns the open run and its call `id`; `Stale` if there is no such call or it has finished.
pub fn current<'a>(session: &'a Session, id: &ToolCallId) -> Result<Current<'a>, Refusal> {
    let run = session.open_run().ok_or(Refusal::Stale)?;
    let call = session.call(id).filter(|call| !call.is_finished()).ok_or(Refusal::Stale)?;
    Ok(Current { run, call })
}

/// Returns the event that confirms the open ask of a call, if the call would still do exactly what the ask
/// shows (after a restart).
fn confirm_ask(session: &Session, call: &Call, digest: &str) -> Option<Vec<Event>> {
    let CallPhase::Asking { .. } = call.phase else { return None };
    let open = session.open_asks().find(|ask| ask.is_about(&call.id))?;
    (open.digest == digest).then(|| vec![Event::AskReobserved { ask: open.id.clone(), epoch: session.epoch }])
}

/// Closes the open asks about these calls, because their state has changed.
pub fn close_asks<'a>(session: &Session, calls: impl IntoIterator<Item = &'a Call>) -> Vec<Event> {
    let calls: Vec<&ToolCallId> = calls.into_iter().map(|call| &call.id).collect();
    session
        .open_asks()
        .filter(|ask| calls.iter().any(|call| ask.is_about(call)))
        .map(|ask| {
            let ended = ask.kind.group() == AskGroup::NonBlocking;
            let resolution = if ended { Resolution::Withdrawn } else { Resolution::Superseded };
            Event::AskClosed { ask: ask.id.clone(), resolution }
        })
        .collect()
}

/// What the user has to know of the surroundings of a command.
struct Around {
    /// The open documents whose text it would not see.
    unsaved: Vec<UnsavedText>,
    /// Whether the editor saves them if it is asked.
    can_save: bool,
    /// Where it runs, if that is not the user's own machine.
    host: Option<String>,
}

/// Returns the ask about a call that is not an edit.
fn payload_ask(
    stamp: &Stamp,
    current: Current<'_>,
    payload: &Payload,
    seen: Option<&ObservedPath>,
    reason: Reason,
    Around { unsaved, can_save, host }: Around,
) -> Ask {
    let Current { run, call } = current;
    let Reason { cause, text: mut why } = reason;
    if let Some(host) = host {
        why = format!("{why}. It runs on {host}");
    }
    if let Some(sentence) = unsaved::before(&unsaved) {
        // The description, because every surface shows it.
        why = format!("{why}. {sentence}");
    }
    let (kind, title, always, suggestions) = match payload {
        Payload::Command { line, .. } => (
            AskKind::Command,
            format!("Run {line}"),
            "Allow exactly this command in this directory for this session, even if what it runs changes",
            Vec::new(),
        ),
        Payload::Question { question, options } => {
            if let (Some(wait), Some(first)) = (run.policy.followup_default_ms, options.first()) {
                why = format!("{why}; without an answer within {} s, \"{first}\" is taken", wait / 1000);
            }
            (AskKind::Followup, question.clone(), "", options.clone())
        }
        _ => (AskKind::Tool, call.title.clone(), "Allow reading this file in this session", Vec::new()),
    };
    let always = Act::of(payload, seen).and_then(standing_rule).map(|_| always);
    // Nothing is saved that the user does not see here.
    let options = match can_save && unsaved::names_all(&unsaved) {
        true => ask::save_options(),
        false => ask::options(kind, always, &suggestions),
    };
    Ask {
        id: stamp.id("ask").as_str().into(),
        kind,
        run: run.id.clone(),
        calls: vec![call.id.clone()],
        changes: Vec::new(),
        title,
        description: Some(why),
        options,
        free_text: ask::takes_text(kind),
        digest: ask::payload_digest(payload, seen),
        opened_at: stamp.now,
        cause: Some(cause),
        unsaved,
    }
}

fn complete(
    session: &Session,
    stamp: &Stamp,
    Current { run, call }: Current<'_>,
    summary: &str,
    batch: &mut Vec<Event>,
) {
    let result = result(CallEnd::Completed, "The task is marked complete.", "completed");
    batch.push(Event::ToolFinished { call: call.id.clone(), result });
    batch.push(Event::Completed { run: run.id.clone(), summary: summary.to_owned() });
    let ending = Ending::new(Outcome::Completed, StopReason::EndTurn)
        .with_summary(Some(summary.to_owned()))
        .with_ask(AskKind::CompletionResult, summary.to_owned());
    end_run_after(session, stamp, ending, batch);
}

/// Returns the result of a call that changed the plan.
fn plan_result(steps: &[PlanStep]) -> CallResult {
    match plan::progress_of(steps) {
        (_, 0) => result(CallEnd::Completed, "The plan is taken away.", "no plan"),
        (done, all) => {
            let summary = format!("{done} of {all} done");
            result(CallEnd::Completed, &format!("The user sees the plan: {summary}."), &summary)
        }
    }
}

/// Ends calls. If too many calls have failed in a row with them, the run ends too (S26). `batch` has the events that
/// come before.
pub fn end_calls(session: &Session, stamp: &Stamp, batch: &mut Vec<Event>, ends: Vec<CallEnding<'_>>) {
    let ending = too_many_mistakes(session, &ends);
    let finish = |(call, result): CallEnding<'_>| Event::ToolFinished { call: call.id.clone(), result };
    batch.extend(ends.into_iter().map(finish));
    if let Some(ending) = ending {
        end_run_after(session, stamp, ending, batch);
    }
}

/// Ends the run after the events of the batch, which may have finished calls and closed asks.
fn end_run_after(session: &Session, stamp: &Stamp, ending: Ending<'_>, batch: &mut Vec<Event>) {
    let finished = batch.iter().filter_map(Event::ended_call);
    let closed: Vec<AskId> = batch.iter().filter_map(Event::closed_ask).cloned().collect();
    let events = end_run(session, stamp, ending.after_calls(finished).after_asks(&closed));
    batch.extend(events);
}

/// Returns how the run ends if these results make too many failed calls in a row. Calls count in the order in
/// which the model made them, so a failed call counts only after all calls before it have ended.
pub fn too_many_mistakes(session: &Session, ends: &[CallEnding<'_>]) -> Option<Ending<'static>> {
    let run = session.open_run()?;
    let turn = run.turn.as_ref()?;
    let result_of = |id: &ToolCallId| ends.iter().find(|(call, _)| call.id == *id).map(|(_, result)| result);
    let mut in_a_row = run.mistakes;
    for (ended, end) in turn.ends_from(|call| result_of(&call.id).map(|result| result.end)) {
        in_a_row = mistakes_after(in_a_row, end);
        if end == CallEnd::Failed && in_a_row >= run.policy.mistakes {
            let now = result_of(&ended.id).map(|result| &*result.output);
            return Some(mistake_limit(in_a_row, now.or(ended.output.as_deref()).unwrap_or_default()));
        }
    }
    None
}

/// Returns how a run ends after so many failed calls in a row. `last` is the output of the last of them.
pub fn mistake_limit(in_a_row: u32, last: &str) -> Ending<'static> {
    let why = format!("{in_a_row} tool calls failed in a row; the last one: {}", brief(last));
    let ending = Ending::new(Outcome::Limit, StopReason::Mistakes);
    ending.with_summary(Some(why.clone())).with_ask(AskKind::MistakeLimitReached, why)
}

/// Characters of an output that a sentence about it quotes.
const MAX_QUOTED: usize = 200;

/// Returns the first line of a text. A line over 200 characters is cut after a sentence, else after a word.
fn brief(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let Some((end, _)) = line.char_indices().nth(MAX_QUOTED) else { return line.to_owned() };
    let start = &line[..end];
    let part = [". ", "; "].into_iter().filter_map(|sign| start.rfind(sign)).max();
    match part.filter(|at| *at >= end / 2) {
        Some(at) => start[..at].to_owned(),
        None => format!("{} …", start.rfind(' ').map_or(start, |at| &start[..at])),
    }
}

/// Returns the result of a call that cannot run. The model gets the whole reason, the user one line of it.
pub fn refused(why: &Reason) -> CallResult {
    let summary = crate::text::display::one_line(&why.text, crate::tool::MAX_TITLE);
    CallResult { cause: Some(why.cause), ..result(CallEnd::Failed, &why.text, &summary) }
}

/// Returns the result of a call that a rule forbids.
pub fn denied(why: &Reason) -> CallResult {
    let denied = result(
        CallEnd::Denied,
        &format!("Denied: {why}. Do not try it again in another way."),
        &format!("denied: {why}"),
    );
    CallResult { cause: Some(why.cause), ..denied }
}
