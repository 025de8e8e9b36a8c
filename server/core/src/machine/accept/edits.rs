//! The edits of a turn: proposed file by file, asked together, applied together, finished one by one.
//!
//! The verdict comes from `permission`. No edit is judged before `Prepare` has reported on it, and a new approval is
//! needed for every other text.

use super::Refusal;
use super::call::{
    CallEnding, close_asks, current, denied, end_calls, finished, refused, too_many_mistakes, unprepared,
};
use super::edited::result_of;
use crate::machine::input::{EditOutcome, PreparedEdits, PreparedFile, RefusedEdit, Stamp};
use crate::machine::step::BatchPart;
use crate::policy::ask;
use crate::policy::cause::{Cause, Reason};
use crate::policy::permission::{Act, Verdict, caution, forbidden, standing_rule, verdict};
use crate::record::{
    AllowedBy, Ask, AskGroup, AskId, AskKind, CallPart, CallResult, ChangeSetId, EditCheck, Event,
    FileChange, OptionKind, ToolCallId,
};
use crate::session::run::HunkState;
use crate::session::{Call, CallPhase, ChangeState, Run, Session};

/// How often the change of one call is proposed again because the file changed meanwhile. After that the call
/// fails, and the model reads the file again.
const MOST_PROPOSALS: usize = 3;
/// How many files the title of an ask names.
const MOST_NAMED: usize = 3;

/// Handles the report of `Prepare` on edits: the files that they would change, and the edits that cannot be made.
/// `calls` are the calls of the step.
pub fn prepared(
    session: &Session,
    stamp: &Stamp,
    calls: &[ToolCallId],
    report: PreparedEdits,
) -> Result<Vec<Event>, Refusal> {
    let run = session.open_run().ok_or(Refusal::Stale)?;
    let is_of = |id: &ToolCallId| calls.contains(id);
    let confirmed = confirmed_asks(session, run, &report.files);
    let is_confirmed = |call: &ToolCallId| confirmed.iter().any(|ask| ask.is_about(call));
    let open: Vec<&Call> = calls
        .iter()
        .filter_map(|id| Some(current(session, id).ok()?.call))
        .filter(|call| !is_confirmed(&call.id))
        .collect();
    let mut batch: Vec<Event> = close_asks(session, open.iter().copied());
    batch.extend(confirmed.iter().map(|ask| reobserved(session, &ask.id)));
    let mut ends: Vec<CallEnding<'_>> = Vec::new();
    for RefusedEdit { call, seen, why, may_reveal } in report.refused {
        let Some(current) = current(session, &call).ok().filter(|_| is_of(&call)) else { continue };
        let (prepared, end) = unprepared(session, current, seen, why, may_reveal);
        batch.push(prepared);
        ends.push(end);
    }
    let fresh = report
        .files
        .into_iter()
        .filter(|file| !file.change.parts.iter().any(|part| is_confirmed(&part.call)));
    let fresh = fresh.map(|file| with_earlier_reason(session, file)).collect();
    let proposed = propose(session, stamp, run, fresh);
    // A call that the report does not mention must not stay open for ever.
    let is_left_out = |call: &&Call| {
        !ends.iter().chain(&proposed.ends).any(|(ended, _)| ended.id == call.id)
            && !proposed.open.contains(&call.id)
    };
    let left_out: Vec<&Call> = open.iter().copied().filter(is_left_out).collect();
    ends.extend(left_out.into_iter().map(|call| (call, refused(&not_prepared()))));
    ends.extend(proposed.ends);
    // If the run ends with these calls, nothing else is proposed.
    if too_many_mistakes(session, &ends).is_none() {
        batch.extend(proposed.events);
    }
    end_calls(session, stamp, &mut batch, ends);
    Ok(batch)
}

fn not_prepared() -> Reason {
    Reason::new(Cause::Other, "the edit was not prepared; this is a fault of Adjutant, so call again")
}

/// An edit whose file changed after it was allowed always needs an answer, also after a restart.
fn with_earlier_reason(session: &Session, mut file: PreparedFile) -> PreparedFile {
    let calls = file.change.parts.iter().filter_map(|part| session.call(&part.call));
    let before = calls.filter_map(|call| call.seen.as_ref()?.overtaken.clone()).next();
    file.seen.overtaken = file.seen.overtaken.or(before);
    file
}

/// Returns the open asks that still show exactly what their calls would do, and that no rule forbids (after a
/// restart).
fn confirmed_asks<'a>(session: &'a Session, run: &Run, files: &[PreparedFile]) -> Vec<&'a Ask> {
    let is_confirmed = |ask: &&Ask| {
        let covered: Vec<&PreparedFile> = files
            .iter()
            .filter(|file| file.change.parts.iter().all(|part| ask.is_about(&part.call)))
            .collect();
        let has = |id: &ToolCallId| {
            covered.iter().any(|file| file.change.parts.iter().any(|part| part.call == *id))
        };
        let waits = |id: &&ToolCallId| session.call(id).is_some_and(|call| !call.is_finished());
        let changes: Vec<&FileChange> = covered.iter().map(|file| &file.change).collect();
        !covered.is_empty()
            && ask.calls.iter().filter(waits).all(has)
            && ask.digest == ask::changes_digest(&changes)
            && !covered.iter().any(|file| is_forbidden(session, run, file))
    };
    session.open_asks().filter(|ask| ask.kind.group() == AskGroup::Interactive).filter(is_confirmed).collect()
}

fn reobserved(session: &Session, ask: &AskId) -> Event {
    Event::AskReobserved { ask: ask.clone(), epoch: session.epoch }
}

fn is_forbidden(session: &Session, run: &Run, file: &PreparedFile) -> bool {
    let tools = file.change.parts.iter().filter_map(|part| Some(session.call(&part.call)?.tool.as_str()));
    forbidden_for(session, run, tools, Act::Edit(&file.seen)).is_some()
}

/// Returns why one of these tools may not do this.
fn forbidden_for<'a>(
    session: &Session,
    run: &Run,
    mut tools: impl Iterator<Item = &'a str>,
    act: Act<'_>,
) -> Option<Reason> {
    tools.find_map(|tool| forbidden(&session.roots, &run.policy, tool, act))
}

/// What follows from files that were just prepared.
struct Proposals<'a> {
    events: Vec<Event>,
    ends: Vec<CallEnding<'a>>,
    /// The calls that wait for an answer or are applied now.
    open: Vec<ToolCallId>,
}

/// Proposes changes under new ids. The rules then allow them, deny them, or have the user asked about all the others
/// at once.
fn propose<'a>(session: &'a Session, stamp: &Stamp, run: &Run, files: Vec<PreparedFile>) -> Proposals<'a> {
    let mut proposed = Proposals { events: Vec::new(), ends: Vec::new(), open: Vec::new() };
    let mut asked: Vec<(FileChange, Reason)> = Vec::new();
    let mut batch: Option<ChangeSetId> = None;
    for PreparedFile { mut change, seen } in files {
        let calls = change.parts.iter().filter_map(|part| Some(current(session, &part.call).ok()?.call));
        let calls: Vec<&Call> = calls.collect();
        let Some(first) = calls.first() else { continue };
        if change.hunks.is_empty() && change.existed {
            let text =
                format!("the edits of this turn leave \"{}\" as it is; nothing to change", change.path);
            let why = Reason::new(Cause::NothingToChange, text);
            proposed.ends.extend(calls.iter().map(|call| (*call, refused(&why))));
            continue;
        }
        change.change_set = stamp.id("change").as_str().into();
        change.mark = caution(&seen, &change);
        let verdict = verdict_for(session, run, &calls, Act::Edit(&seen));
        proposed.events.push(Event::ChangeProposed {
            call: first.id.clone(),
            change: Box::new(change.clone()),
            seen: Some(seen),
        });
        match verdict {
            Verdict::Allow(by) => {
                proposed.events.push(decided(&change, true, None));
                proposed.events.push(apply(&change, &mut batch, by));
                proposed.open.extend(calls.iter().map(|call| call.id.clone()));
            }
            Verdict::Deny(why) => {
                proposed.events.push(decided(&change, false, None));
                proposed.ends.extend(calls.iter().map(|call| (*call, denied(&why))));
            }
            Verdict::Ask(why) => {
                proposed.open.extend(calls.iter().map(|call| call.id.clone()));
                asked.push((change, why));
            }
        }
    }
    if !asked.is_empty() {
        proposed.events.push(Event::AskOpened { ask: Box::new(edits_ask(session, stamp, run, asked)) });
    }
    proposed
}

/// Returns the verdict on the edit of one file by these calls: the first denial of one of their tools, else the
/// verdict on the first call.
fn verdict_for(session: &Session, run: &Run, calls: &[&Call], act: Act<'_>) -> Verdict {
    let mut verdicts = calls.iter().map(|call| verdict(session, &run.policy, &call.tool, act));
    let Some(first) = verdicts.next() else { return Verdict::Deny(not_prepared()) };
    if matches!(first, Verdict::Deny(_)) {
        return first;
    }
    verdicts.find(|verdict| matches!(verdict, Verdict::Deny(_))).unwrap_or(first)
}

fn decided(change: &FileChange, apply: bool, ask: Option<AskId>) -> Event {
    Event::HunkDecided { change_set: change.change_set.clone(), hunks: ids(change), apply, ask }
}

/// Returns the intent to apply a change, in the batch of those before it.
fn apply(change: &FileChange, batch: &mut Option<ChangeSetId>, by: AllowedBy) -> Event {
    let batch = batch.get_or_insert_with(|| change.change_set.clone());
    Event::ApplyStarted {
        call: change.parts.first().map(|part| part.call.clone()).unwrap_or_default(),
        change_set: change.change_set.clone(),
        hunks: ids(change),
        batch: (*batch != change.change_set).then(|| batch.clone()),
        allowed_by: Some(by),
    }
}

fn ids(change: &FileChange) -> Vec<String> {
    change.hunks.iter().map(|hunk| hunk.id.clone()).collect()
}

/// Returns the ask about changes that wait for the user, each with its reason.
fn edits_ask(session: &Session, stamp: &Stamp, run: &Run, asked: Vec<(FileChange, Reason)>) -> Ask {
    let changes: Vec<&FileChange> = asked.iter().map(|(change, _)| change).collect();
    let waits =
        |call: &&Call| changes.iter().any(|change| change.parts.iter().any(|part| part.call == call.id));
    let calls = run.turn.iter().flat_map(|turn| turn.calls.iter()).filter(waits);
    let calls = calls.filter(|call| current(session, &call.id).is_ok()).map(|call| call.id.clone()).collect();
    // A reason that is not the default one says more.
    let cause = asked.iter().map(|(_, why)| why.cause).find(|cause| *cause != Cause::EveryEdit);
    Ask {
        id: stamp.id("ask").as_str().into(),
        kind: AskKind::Tool,
        run: run.id.clone(),
        calls,
        title: title(&changes),
        description: Some(description(&asked)),
        options: ask::options(AskKind::Tool, Some("Allow all edits in this session"), &[]),
        free_text: ask::takes_text(AskKind::Tool),
        digest: ask::changes_digest(&changes),
        opened_at: stamp.now,
        cause: cause.or(Some(Cause::EveryEdit)),
        unsaved: Vec::new(),
    }
}

fn title(changes: &[&FileChange]) -> String {
    let verb = if changes.iter().all(|change| !change.existed) { "Create" } else { "Edit" };
    let names: Vec<&str> = changes.iter().take(MOST_NAMED).map(|change| change.path.as_str()).collect();
    let names = names.join(", ");
    match changes.len() {
        1 => format!("{verb} {names}"),
        count if count > MOST_NAMED => {
            format!("{verb} {count} files: {names} and {} more", count - MOST_NAMED)
        }
        count => format!("{verb} {count} files: {names}"),
    }
}

/// Returns the reasons of an ask, each once, with the warnings about its files.
fn description(asked: &[(FileChange, Reason)]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let warning = |change: &FileChange| {
        let mark = change.mark.as_ref()?;
        Some(if asked.len() == 1 {
            format!("note: {mark}")
        } else {
            format!("note on {}: {mark}", change.path)
        })
    };
    for (change, why) in asked {
        for part in [Some(why.text.clone()), warning(change)].into_iter().flatten() {
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
    }
    parts.join("; ")
}

/// Handles an answer to an ask about edits: all its files are applied together, or none.
pub fn answered(
    session: &Session,
    stamp: &Stamp,
    ask: &Ask,
    kind: Option<OptionKind>,
    rejected: &CallResult,
    batch: &mut Vec<Event>,
) -> Result<(), Refusal> {
    let run = session.open_run().ok_or(Refusal::Stale)?;
    let mut ends: Vec<CallEnding<'_>> = Vec::new();
    let mut started: Option<ChangeSetId> = None;
    let allow = matches!(kind, Some(OptionKind::AllowOnce | OptionKind::AllowAlways));
    for state in session.changes_of(ask) {
        let calls: Vec<&Call> =
            state.calls().filter_map(|id| Some(current(session, id).ok()?.call)).collect();
        let Some(seen) = calls.first().and_then(|call| call.seen.as_ref()) else { continue };
        // A deny rule may have been added since the ask was opened.
        let tools = calls.iter().map(|call| call.tool.as_str());
        let forbidden = forbidden_for(session, run, tools, Act::Edit(seen)).filter(|_| allow);
        let applies = allow && forbidden.is_none();
        batch.push(decided(&state.change, applies, Some(ask.id.clone())));
        if applies {
            if kind == Some(OptionKind::AllowAlways) && started.is_none() {
                batch.extend(standing_rule(Act::Edit(seen)).map(|rule| Event::RuleAdded { rule }));
            }
            batch.push(apply(&state.change, &mut started, AllowedBy::Answer { ask: ask.id.clone() }));
        } else {
            let result = forbidden.map_or_else(|| rejected.clone(), |why| denied(&why));
            ends.extend(calls.into_iter().map(|call| (call, result.clone())));
        }
    }
    end_calls(session, stamp, batch, ends);
    Ok(())
}

/// Handles what became of the edit of one file.
pub fn edited(
    session: &Session,
    stamp: &Stamp,
    state: &ChangeState,
    outcome: EditOutcome,
    elapsed_ms: u64,
) -> Result<Vec<Event>, Refusal> {
    let run = session.open_run().ok_or(Refusal::Stale)?;
    let change_set = &state.change.change_set;
    let is_started = |call: &&Call| matches!(call.phase, CallPhase::Started { .. });
    let calls: Vec<&Call> = state.calls().filter_map(|id| session.call(id)).filter(is_started).collect();
    if calls.is_empty() {
        return Err(Refusal::Stale);
    }
    let mut batch = Vec::new();
    let applied = |hunks: Vec<String>| Event::Applied { change_set: change_set.clone(), hunks };
    let not_landed = || Event::Settled { change_set: change_set.clone(), found: EditCheck::NotLanded };
    match &outcome {
        EditOutcome::Landed { .. } => batch.push(applied(ids(&state.change))),
        EditOutcome::Partly { landed } => batch.extend([applied(landed.clone()), not_landed()]),
        EditOutcome::NotApplied { in_doubt: true, .. } => {}
        EditOutcome::NotApplied { .. } | EditOutcome::Undone | EditOutcome::Misplaced => {
            batch.push(not_landed())
        }
        EditOutcome::Overtaken { change, seen, .. } => {
            batch.extend(close_asks(session, calls.iter().copied()));
            batch.push(not_landed());
            if proposals(session, calls[0]) < MOST_PROPOSALS {
                // The old approval is void.
                let file = PreparedFile { change: (**change).clone(), seen: (**seen).clone() };
                let proposed = propose(session, stamp, run, vec![file]);
                batch.extend(proposed.events);
                end_calls(session, stamp, &mut batch, proposed.ends);
                return Ok(batch);
            }
        }
    }
    let result = |part: &CallPart| CallResult { elapsed_ms, ..result_of(&state.change, part, &outcome) };
    let part_of = |call: &Call| state.change.parts.iter().find(|part| part.call == call.id);
    let ends = calls.into_iter().filter_map(|call| Some((call, result(part_of(call)?)))).collect();
    end_calls(session, stamp, &mut batch, ends);
    Ok(batch)
}

/// Ends the calls whose step to apply their edits broke.
pub fn broke(
    session: &Session,
    stamp: &Stamp,
    batch: &ChangeSetId,
    part: &BatchPart,
    result: &CallResult,
) -> Result<Vec<Event>, Refusal> {
    let is_running = |call: &&Call| {
        let state = session.change_of(call);
        let state = state.filter(|state| state.batch == *batch && part.has(&state.change));
        state.is_some() && matches!(call.phase, CallPhase::Started { .. })
    };
    finished(session, stamp, session.runnable_calls().filter(is_running).map(|call| &call.id), result)
}

/// Returns how many changes of this call have been decided so far.
fn proposals(session: &Session, call: &Call) -> usize {
    let is_decided = |state: &&ChangeState| !state.hunks.values().all(|hunk| *hunk == HunkState::Proposed);
    session.changes.values().filter(|state| state.is_of(&call.id)).filter(is_decided).count()
}
