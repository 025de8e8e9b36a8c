//! The life of a tool call: judged, asked, started, finished.
//!
//! The verdict comes from `permission`. A call is never judged before `Prepare` has reported on it.

use super::Refusal;
use super::ending::{Ending, end_run, result};
use crate::machine::input::{Preparation, Prospect, Stamp};
use crate::policy::ask;
use crate::policy::cause::{Cause, Reason};
use crate::policy::observation::ObservedPath;
use crate::policy::permission::{self, Act, Verdict, caution, forbidden, standing_rule, verdict};
use crate::policy::unsaved;
use crate::record::{
    Ask, AskGroup, AskKind, CallEnd, CallResult, EditCheck, Event, FileChange, Outcome, Payload, Resolution,
    StopReason, ToolCallId, UnsavedText,
};
use crate::session::run::HunkState;
use crate::session::{Call, CallPhase, ChangeState, Run, Session, mistakes_after};
use crate::tool::Effect;

/// How often the change of one call is proposed again because the file changed meanwhile. After that the call
/// fails, and the model reads the file again.
const MOST_PROPOSALS: usize = 3;

/// Handles the report of `Prepare`: what it observed for a call, and what the call would do.
pub fn prepared(
    session: &Session,
    stamp: &Stamp,
    id: &ToolCallId,
    prepared: Preparation,
) -> Result<Vec<Event>, Refusal> {
    let current = current(session, id)?;
    let Preparation { seen, prospect, unsaved } = prepared;
    match (prospect, seen) {
        (Prospect::Payload(payload), seen) => {
            prepared_payload(session, stamp, current, payload, seen, unsaved)
        }
        (Prospect::Change(change), Some(seen)) => Ok(prepared_change(session, stamp, current, change, seen)),
        (Prospect::Refused { why, may_reveal }, seen) => {
            Ok(end_unprepared(session, stamp, current, seen, Some((why, may_reveal))))
        }
        (Prospect::Forbidden, seen) => Ok(end_unprepared(session, stamp, current, seen, None)),
        // A change always has a file that was observed.
        (Prospect::Change(_), None) => Err(Refusal::Stale),
    }
}

fn prepared_payload(
    session: &Session,
    stamp: &Stamp,
    current: Current<'_>,
    payload: Payload,
    seen: Option<ObservedPath>,
    unsaved: Vec<UnsavedText>,
) -> Result<Vec<Event>, Refusal> {
    let Current { run, call } = current;
    let digest = ask::payload_digest(&payload, seen.as_ref());
    // A file is judged only after `Prepare` has observed it.
    let act = Act::of(&payload, seen.as_ref()).ok_or(Refusal::Stale)?;
    let is_forbidden = forbidden(&session.roots, &run.policy, &call.tool, act).is_some();
    if let Some(events) = confirm_ask(session, call, &digest).filter(|_| !is_forbidden) {
        return Ok(events);
    }
    let mut events = close_asks(session, call);
    events.push(Event::CallPrepared { call: call.id.clone(), payload: payload.clone(), seen: seen.clone() });
    match &payload {
        Payload::Complete { summary } => events.extend(complete(session, stamp, run, call, summary)),
        Payload::Fail { reason } => {
            let result = result(CallEnd::Completed, "The run ends here.", "gave up");
            events.push(Event::ToolFinished { call: call.id.clone(), result });
            let ending = Ending::new(Outcome::Failed, StopReason::GaveUp)
                .with_summary(Some(reason.clone()))
                .after_call(&call.id);
            events.extend(end_run(session, stamp, ending));
        }
        _ => match verdict(session, &run.policy, &call.tool, act) {
            Verdict::Allow(by) => {
                events.push(Event::ToolStarted { call: call.id.clone(), allowed_by: Some(by) });
            }
            Verdict::Deny(why) => events.extend(end_call(session, stamp, call, denied(&why))),
            Verdict::Ask(why) => {
                let ask = payload_ask(stamp, current, &payload, seen.as_ref(), why, unsaved);
                events.push(Event::AskOpened { ask: Box::new(ask) });
            }
        },
    }
    Ok(events)
}

fn prepared_change(
    session: &Session,
    stamp: &Stamp,
    current: Current<'_>,
    change: Box<FileChange>,
    mut seen: ObservedPath,
) -> Vec<Event> {
    let Current { run, call } = current;
    let digest = ask::change_digest(&change);
    let is_forbidden = forbidden(&session.roots, &run.policy, &call.tool, Act::Edit(&seen)).is_some();
    if let Some(events) = confirm_ask(session, call, &digest).filter(|_| !is_forbidden) {
        return events;
    }
    // An edit whose file changed after it was allowed always needs an answer, also after a restart.
    let before = call.seen.as_ref().and_then(|before| before.overtaken.clone());
    seen.overtaken = seen.overtaken.or(before);
    let mut events = close_asks(session, call);
    events.extend(propose(session, stamp, current, change, seen, digest));
    events
}

/// Ends a call that cannot run. If a rule forbids the call, the result for the model names the rule; else it
/// gives `why` (with whether it may reveal text of the file). The rule comes first because `why` may quote a file that the
/// user has not allowed to be read.
fn end_unprepared(
    session: &Session,
    stamp: &Stamp,
    current: Current<'_>,
    seen: Option<ObservedPath>,
    why: Option<(Reason, bool)>,
) -> Vec<Event> {
    let Current { run, call } = current;
    let is_edit = call.effect == Effect::OwnEdit;
    let act = seen.as_ref().map(|seen| if is_edit { Act::Edit(seen) } else { Act::Read(seen) });
    let (roots, policy) = (&session.roots, &run.policy);
    let result = match act.and_then(|act| forbidden(roots, policy, &call.tool, act)) {
        Some(why) => denied(&why),
        None => {
            let changed = || {
                (
                    Reason::new(Cause::Changed, "the rules changed while the call was prepared; call again"),
                    false,
                )
            };
            refused(&permission::reportable(roots, policy, seen.as_ref(), why.unwrap_or_else(changed)))
        }
    };
    let mut events = close_asks(session, call);
    events.push(Event::CallPrepared { call: call.id.clone(), payload: Payload::Nothing, seen });
    events.extend(end_call(session, stamp, call, result));
    events
}

/// Proposes a change under a new id. The rules then allow it, deny it, or have the user asked.
fn propose(
    session: &Session,
    stamp: &Stamp,
    current: Current<'_>,
    mut change: Box<FileChange>,
    seen: ObservedPath,
    digest: String,
) -> Vec<Event> {
    let Current { run, call } = current;
    change.change_set = stamp.id("change").as_str().into();
    change.mark = caution(&seen, &change);
    let proposed =
        Event::ChangeProposed { call: call.id.clone(), change: change.clone(), seen: Some(seen.clone()) };
    let mut events = vec![proposed];
    let hunks: Vec<String> = change.hunks.iter().map(|hunk| hunk.id.clone()).collect();
    let change_set = change.change_set.clone();
    match verdict(session, &run.policy, &call.tool, Act::Edit(&seen)) {
        Verdict::Allow(by) => {
            let decided = Event::HunkDecided {
                change_set: change_set.clone(),
                hunks: hunks.clone(),
                apply: true,
                ask: None,
            };
            let (call, allowed_by) = (call.id.clone(), Some(by));
            events.extend([decided, Event::ApplyStarted { call, change_set, hunks, allowed_by }]);
        }
        Verdict::Deny(why) => {
            events.push(Event::HunkDecided { change_set, hunks, apply: false, ask: None });
            events.extend(end_call(session, stamp, call, denied(&why)));
        }
        Verdict::Ask(why) => {
            let verb = if change.existed { "Edit" } else { "Create" };
            let Reason { cause, text } = why;
            let why = change.mark.iter().fold(text, |why, mark| format!("{why}; note: {mark}"));
            events.push(Event::AskOpened {
                ask: Box::new(Ask {
                    id: stamp.id("ask").as_str().into(),
                    kind: AskKind::Tool,
                    run: run.id.clone(),
                    calls: vec![call.id.clone()],
                    title: format!("{verb} {}", change.path),
                    description: Some(why),
                    options: ask::options(AskKind::Tool, Some("Allow all edits in this session"), &[]),
                    free_text: ask::takes_text(AskKind::Tool),
                    digest,
                    opened_at: stamp.now,
                    cause: Some(cause),
                    unsaved: Vec::new(),
                }),
            });
        }
    }
    events
}

/// Handles an edit that did not land because the text had changed since it was allowed. The old approval is
/// void. `change`, made for the text of now, is proposed instead; after too many proposals the call ends with
/// `result`.
pub fn overtaken(
    session: &Session,
    stamp: &Stamp,
    id: &ToolCallId,
    change: Box<FileChange>,
    seen: ObservedPath,
    result: CallResult,
) -> Result<Vec<Event>, Refusal> {
    let current = current(session, id)?;
    let call = current.call;
    let state = session.change_of(call).ok_or(Refusal::Stale)?;
    let change_set = state.change.change_set.clone();
    let mut events = close_asks(session, call);
    events.push(Event::Settled { change_set, found: EditCheck::NotLanded });
    let tried = |state: &&ChangeState| !state.hunks.values().all(|hunk| *hunk == HunkState::Proposed);
    let proposals = session.changes.values().filter(|state| state.call == *id).filter(tried).count();
    if proposals < MOST_PROPOSALS {
        let digest = ask::change_digest(&change);
        events.extend(propose(session, stamp, current, change, seen, digest));
    } else {
        events.extend(end_call(session, stamp, call, result));
    }
    Ok(events)
}

/// Handles the result of a tool that ended, or of a call that `Prepare` could not prepare.
pub fn finished(
    session: &Session,
    stamp: &Stamp,
    id: &ToolCallId,
    result: CallResult,
) -> Result<Vec<Event>, Refusal> {
    let Current { call, .. } = current(session, id)?;
    let mut events = close_asks(session, call);
    events.extend(end_call(session, stamp, call, result));
    Ok(events)
}

/// Handles an edit whose hunks are all in the text.
pub fn applied(
    session: &Session,
    stamp: &Stamp,
    id: &ToolCallId,
    result: CallResult,
) -> Result<Vec<Event>, Refusal> {
    let Current { call, .. } = current(session, id)?;
    let state = session.change_of(call).ok_or(Refusal::Stale)?;
    let hunks = state.change.hunks.iter().map(|hunk| hunk.id.clone()).collect();
    let mut events = vec![Event::Applied { change_set: state.change.change_set.clone(), hunks }];
    events.extend(end_call(session, stamp, call, result));
    Ok(events)
}

/// Handles an edit of which only the hunks in `landed` are in the text. If the others may still land
/// (`in_doubt`), a `Settle` step follows.
pub fn not_applied(
    session: &Session,
    stamp: &Stamp,
    id: &ToolCallId,
    result: CallResult,
    in_doubt: bool,
    landed: Vec<String>,
) -> Result<Vec<Event>, Refusal> {
    let Current { call, .. } = current(session, id)?;
    let state = session.change_of(call).ok_or(Refusal::Stale)?;
    let mut events = Vec::new();
    if !landed.is_empty() {
        events.push(Event::Applied { change_set: state.change.change_set.clone(), hunks: landed });
    }
    if !in_doubt {
        events.push(Event::Settled {
            change_set: state.change.change_set.clone(),
            found: EditCheck::NotLanded,
        });
    }
    events.extend(end_call(session, stamp, call, result));
    Ok(events)
}

/// The open run, and a call of it that has not finished.
#[derive(Clone, Copy)]
struct Current<'a> {
    run: &'a Run,
    call: &'a Call,
}

/// Returns the open run and its call `id`; `Stale` if there is no such call or it has finished.
fn current<'a>(session: &'a Session, id: &ToolCallId) -> Result<Current<'a>, Refusal> {
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

/// Closes the open asks about a call, because its state has changed.
fn close_asks(session: &Session, call: &Call) -> Vec<Event> {
    session
        .open_asks()
        .filter(|ask| ask.is_about(&call.id))
        .map(|ask| {
            let ended = ask.kind.group() == AskGroup::NonBlocking;
            let resolution = if ended { Resolution::Withdrawn } else { Resolution::Superseded };
            Event::AskClosed { ask: ask.id.clone(), resolution }
        })
        .collect()
}

/// Returns the ask about a call that is not an edit.
fn payload_ask(
    stamp: &Stamp,
    current: Current<'_>,
    payload: &Payload,
    seen: Option<&ObservedPath>,
    reason: Reason,
    unsaved: Vec<UnsavedText>,
) -> Ask {
    let Current { run, call } = current;
    let Reason { cause, text: mut why } = reason;
    if let Some(sentence) = unsaved::before(&unsaved) {
        // The description, because every surface shows it.
        why = format!("{why}. {sentence}");
    }
    let (kind, title, always, suggestions) = match payload {
        Payload::Command { line, .. } => (
            AskKind::Command,
            format!("Run {line}"),
            "Allow exactly this line in this directory for this session, whatever it runs by then",
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
    Ask {
        id: stamp.id("ask").as_str().into(),
        kind,
        run: run.id.clone(),
        calls: vec![call.id.clone()],
        title,
        description: Some(why),
        options: ask::options(kind, always, &suggestions),
        free_text: ask::takes_text(kind),
        digest: ask::payload_digest(payload, seen),
        opened_at: stamp.now,
        cause: Some(cause),
        unsaved,
    }
}

fn complete(session: &Session, stamp: &Stamp, run: &Run, call: &Call, summary: &str) -> Vec<Event> {
    let result = result(CallEnd::Completed, "The task is marked complete.", "completed");
    let mut events = vec![
        Event::ToolFinished { call: call.id.clone(), result },
        Event::Completed { run: run.id.clone(), summary: summary.to_owned() },
    ];
    let ending = Ending::new(Outcome::Completed, StopReason::EndTurn)
        .with_summary(Some(summary.to_owned()))
        .with_ask(AskKind::CompletionResult, summary.to_owned())
        .after_call(&call.id);
    events.extend(end_run(session, stamp, ending));
    events
}

/// Ends one call. If too many calls have failed in a row with it, the run ends too (S26).
pub fn end_call(session: &Session, stamp: &Stamp, call: &Call, result: CallResult) -> Vec<Event> {
    let run = session.open_run();
    let ending = run.and_then(|run| too_many_mistakes(run, call, &result));
    let mut events = vec![Event::ToolFinished { call: call.id.clone(), result }];
    events.extend(ending.into_iter().flat_map(|ending| end_run(session, stamp, ending.after_call(&call.id))));
    events
}

/// Returns how the run ends if this result makes too many failed calls in a row. Calls count in the order in
/// which the model made them, so a failed call counts only after all calls before it have ended.
fn too_many_mistakes(run: &Run, call: &Call, result: &CallResult) -> Option<Ending<'static>> {
    let turn = run.turn.as_ref()?;
    let mut in_a_row = run.mistakes;
    for (ended, end) in turn.ends_from(&call.id, result.end) {
        in_a_row = mistakes_after(in_a_row, end);
        if end == CallEnd::Failed && in_a_row >= run.policy.mistakes {
            let last = if ended.id == call.id { Some(&*result.output) } else { ended.output.as_deref() };
            return Some(mistake_limit(in_a_row, last.unwrap_or_default()));
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
fn refused(why: &Reason) -> CallResult {
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
