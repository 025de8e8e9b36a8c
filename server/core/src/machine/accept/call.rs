//! What becomes of a tool call: judged, asked, started, finished.
//!
//! The verdict comes from `permission`; a raw call is never judged.

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

/// How often one call's change is shown while the text moves on; then the model looks at the file anew.
const MOST_PROPOSALS: usize = 3;

/// The world was looked at for a call.
pub fn prepared(
    session: &Session,
    stamp: &Stamp,
    id: &ToolCallId,
    prepared: Preparation,
) -> Result<Vec<Event>, Refusal> {
    let of = current(session, id)?;
    let Preparation { seen, prospect, unsaved } = prepared;
    match (prospect, seen) {
        (Prospect::Payload(payload), seen) => {
            prepared_payload(session, stamp, of, ((payload, seen), unsaved))
        }
        (Prospect::Change(change), Some(seen)) => Ok(prepared_change(session, stamp, of, (change, seen))),
        (Prospect::Refused { why, quotes }, seen) => {
            Ok(not_made(session, stamp, of, (seen, Some((why, quotes)))))
        }
        (Prospect::Forbidden, seen) => Ok(not_made(session, stamp, of, (seen, None))),
        // A change is about a file.
        (Prospect::Change(_), None) => Err(Refusal::Stale),
    }
}

fn prepared_payload(
    session: &Session,
    stamp: &Stamp,
    (run, call): (&Run, &Call),
    ((payload, seen), unsaved): ((Payload, Option<ObservedPath>), Vec<UnsavedText>),
) -> Result<Vec<Event>, Refusal> {
    let digest = ask::payload_digest(&payload, seen.as_ref());
    // A file is judged only once the shell has looked at it.
    let act = Act::of(&payload, seen.as_ref()).ok_or(Refusal::Stale)?;
    let is_forbidden = forbidden(&session.roots, &run.policy, &call.tool, act).is_some();
    if let Some(events) = again(session, call, &digest).filter(|_| !is_forbidden) {
        return Ok(events);
    }
    let mut events = supersede(session, call);
    let of_call = Event::CallPrepared { call: call.id.clone(), payload: payload.clone(), seen: seen.clone() };
    events.push(of_call);
    match &payload {
        Payload::Complete { summary } => events.extend(complete(session, stamp, run, call, summary)),
        Payload::Fail { reason } => {
            let told = result(CallEnd::Completed, "The run ends here.", "gave up");
            events.push(Event::ToolFinished { call: call.id.clone(), result: told });
            let ending = Ending::new(Outcome::Failed, StopReason::GaveUp)
                .summed_up(Some(reason.clone()))
                .after(&call.id);
            events.extend(end_run(session, stamp, ending));
        }
        _ => match verdict(session, &run.policy, &call.tool, act) {
            Verdict::Allow(by) => {
                events.push(Event::ToolStarted { call: call.id.clone(), allowed_by: Some(by) });
            }
            Verdict::Deny(why) => events.extend(end_call(session, stamp, call, denied(&why))),
            Verdict::Ask(why) => {
                events.push(open_ask(stamp, (run, call), ((&payload, act), digest), (why, unsaved)));
            }
        },
    }
    Ok(events)
}

fn prepared_change(
    session: &Session,
    stamp: &Stamp,
    (run, call): (&Run, &Call),
    (change, mut seen): (Box<FileChange>, ObservedPath),
) -> Vec<Event> {
    let digest = ask::change_digest(&change);
    let is_forbidden = forbidden(&session.roots, &run.policy, &call.tool, Act::Edit(&seen)).is_some();
    if let Some(events) = again(session, call, &digest).filter(|_| !is_forbidden) {
        return events;
    }
    // What had to be asked before a restart has to be asked after it.
    let before = call.seen.as_ref().and_then(|before| before.overtaken.clone());
    seen.overtaken = seen.overtaken.or(before);
    let mut events = supersede(session, call);
    events.extend(propose(session, stamp, (run, call), (change, seen), digest));
    events
}

/// Ends a call that cannot run. If a rule forbids it, the model hears of the rule; else it hears `why`. The rule
/// comes first because `why` may quote a file that the user has not allowed to be read.
fn not_made(
    session: &Session,
    stamp: &Stamp,
    (run, call): (&Run, &Call),
    (seen, why): (Option<ObservedPath>, Option<(Reason, bool)>),
) -> Vec<Event> {
    let is_edit = call.effect == Effect::OwnEdit;
    let act = seen.as_ref().map(|seen| if is_edit { Act::Edit(seen) } else { Act::Read(seen) });
    let (roots, policy) = (&session.roots, &run.policy);
    let told = match act.and_then(|act| forbidden(roots, policy, &call.tool, act)) {
        Some(why) => denied(&why),
        None => {
            let changed = || {
                (Reason::new(Cause::Changed, "the rules changed while it was looked at; call again"), false)
            };
            refused(&permission::reportable(roots, policy, seen.as_ref(), why.unwrap_or_else(changed)))
        }
    };
    let mut events = supersede(session, call);
    events.push(Event::CallPrepared { call: call.id.clone(), payload: Payload::Nothing, seen });
    events.extend(end_call(session, stamp, call, told));
    events
}

/// Puts a change before the rules, and before the user where they say so.
fn propose(
    session: &Session,
    stamp: &Stamp,
    (run, call): (&Run, &Call),
    (mut change, seen): (Box<FileChange>, ObservedPath),
    digest: String,
) -> Vec<Event> {
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

/// The text moved on while an approved edit was on its way: what was approved is void, and the change
/// as it would be made now is shown, a bounded number of times.
pub fn overtaken(
    session: &Session,
    stamp: &Stamp,
    id: &ToolCallId,
    (change, seen, result): (Box<FileChange>, ObservedPath, CallResult),
) -> Result<Vec<Event>, Refusal> {
    let (run, call) = current(session, id)?;
    let state = session.change_of(call).ok_or(Refusal::Stale)?;
    let change_set = state.change.change_set.clone();
    let mut events = supersede(session, call);
    events.push(Event::Settled { change_set, found: EditCheck::NotLanded });
    let tried = |state: &&ChangeState| !state.hunks.values().all(|hunk| *hunk == HunkState::Proposed);
    let shown = session.changes.values().filter(|state| state.call == *id).filter(tried).count();
    if shown < MOST_PROPOSALS {
        let digest = ask::change_digest(&change);
        events.extend(propose(session, stamp, (run, call), (change, seen), digest));
    } else {
        events.extend(end_call(session, stamp, call, result));
    }
    Ok(events)
}

/// A tool ended, or an edit could not be prepared.
pub fn finished(
    session: &Session,
    stamp: &Stamp,
    id: &ToolCallId,
    result: CallResult,
) -> Result<Vec<Event>, Refusal> {
    let (_, call) = current(session, id)?;
    let mut events = supersede(session, call);
    events.extend(end_call(session, stamp, call, result));
    Ok(events)
}

/// All hunks of an edit are in the text.
pub fn applied(
    session: &Session,
    stamp: &Stamp,
    id: &ToolCallId,
    result: CallResult,
) -> Result<Vec<Event>, Refusal> {
    let (_, call) = current(session, id)?;
    let state = session.change_of(call).ok_or(Refusal::Stale)?;
    let hunks = state.change.hunks.iter().map(|hunk| hunk.id.clone()).collect();
    let mut events = vec![Event::Applied { change_set: state.change.change_set.clone(), hunks }];
    events.extend(end_call(session, stamp, call, result));
    Ok(events)
}

/// An edit did not land, or not as a whole; while it is in doubt it stays to be settled.
pub fn not_applied(
    session: &Session,
    stamp: &Stamp,
    id: &ToolCallId,
    (result, in_doubt, landed): (CallResult, bool, Vec<String>),
) -> Result<Vec<Event>, Refusal> {
    let (_, call) = current(session, id)?;
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

fn current<'a>(session: &'a Session, id: &ToolCallId) -> Result<(&'a Run, &'a Call), Refusal> {
    let run = session.open_run().ok_or(Refusal::Stale)?;
    let call = session.call(id).filter(|call| !call.is_finished()).ok_or(Refusal::Stale)?;
    Ok((run, call))
}

/// Looking again after a restart found what the open ask says.
fn again(session: &Session, call: &Call, digest: &str) -> Option<Vec<Event>> {
    let CallPhase::Asking { .. } = call.phase else { return None };
    let open = session.open_asks().find(|ask| ask.is_about(&call.id))?;
    (open.digest == digest).then(|| vec![Event::AskReobserved { ask: open.id.clone(), epoch: session.epoch }])
}

/// Looking again found something else: the old question is void.
fn supersede(session: &Session, call: &Call) -> Vec<Event> {
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

fn open_ask(
    stamp: &Stamp,
    (run, call): (&Run, &Call),
    ((payload, act), digest): ((&Payload, Act<'_>), String),
    (Reason { cause, text: mut why }, unsaved): (Reason, Vec<UnsavedText>),
) -> Event {
    if let Some(sentence) = unsaved::before(&unsaved) {
        // Every door shows the reason.
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
    let always = standing_rule(act).map(|_| always);
    Event::AskOpened {
        ask: Box::new(Ask {
            id: stamp.id("ask").as_str().into(),
            kind,
            run: run.id.clone(),
            calls: vec![call.id.clone()],
            title,
            description: Some(why),
            options: ask::options(kind, always, &suggestions),
            free_text: ask::takes_text(kind),
            digest,
            opened_at: stamp.now,
            cause: Some(cause),
            unsaved,
        }),
    }
}

fn complete(session: &Session, stamp: &Stamp, run: &Run, call: &Call, summary: &str) -> Vec<Event> {
    let told = result(CallEnd::Completed, "The task is marked complete.", "completed");
    let mut events = vec![
        Event::ToolFinished { call: call.id.clone(), result: told },
        Event::Completed { run: run.id.clone(), summary: summary.to_owned() },
    ];
    let ending = Ending::new(Outcome::Completed, StopReason::EndTurn)
        .summed_up(Some(summary.to_owned()))
        .asking(AskKind::CompletionResult, summary.to_owned())
        .after(&call.id);
    events.extend(end_run(session, stamp, ending));
    events
}

/// Ends one call, and the run with it when too many failed in a row (S26).
pub fn end_call(session: &Session, stamp: &Stamp, call: &Call, result: CallResult) -> Vec<Event> {
    let run = session.open_run();
    let ending = run.and_then(|run| too_many_mistakes(run, call, &result));
    let mut events = vec![Event::ToolFinished { call: call.id.clone(), result }];
    events.extend(ending.into_iter().flat_map(|ending| end_run(session, stamp, ending.after(&call.id))));
    events
}

/// How the run ends when too many calls failed in a row with this result. They are counted in their order, so
/// one that is quick to fail waits for those before it.
fn too_many_mistakes(run: &Run, call: &Call, result: &CallResult) -> Option<Ending<'static>> {
    let turn = run.turn.as_ref()?;
    let mut in_a_row = run.mistakes;
    for (ended, end) in turn.ends_from(&call.id, result.end) {
        in_a_row = mistakes_after(in_a_row, end);
        if end == CallEnd::Failed && in_a_row >= run.policy.mistakes {
            let last = if ended.id == call.id { Some(&*result.output) } else { ended.output.as_deref() };
            return Some(gives_up(in_a_row, last.unwrap_or_default()));
        }
    }
    None
}

/// How a run ends in which so many calls failed in a row; `last` is the output of the last.
pub fn gives_up(in_a_row: u32, last: &str) -> Ending<'static> {
    let why = format!("{in_a_row} tool calls failed in a row; the last one: {}", brief(last));
    let ending = Ending::new(Outcome::Limit, StopReason::Mistakes);
    ending.summed_up(Some(why.clone())).asking(AskKind::MistakeLimitReached, why)
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

/// The result of a call that cannot run: the reason for the model, and the reason cut to one line for the user.
fn refused(why: &Reason) -> CallResult {
    let summary = crate::text::display::one_line(&why.text, crate::tool::MAX_TITLE);
    CallResult { cause: Some(why.cause), ..result(CallEnd::Failed, &why.text, &summary) }
}

pub fn denied(why: &Reason) -> CallResult {
    let told = result(
        CallEnd::Denied,
        &format!("Denied: {why}. Do not try it again in another way."),
        &format!("denied: {why}"),
    );
    CallResult { cause: Some(why.cause), ..told }
}
