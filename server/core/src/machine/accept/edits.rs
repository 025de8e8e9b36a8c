//! The edits of a turn: proposed file by file, asked together, decided hunk by hunk, applied together, finished one by
//! one.
//!
//! The verdict comes from `permission`. No edit is judged before `Prepare` has reported on it, and a new approval is
//! needed for every other text.

mod restart;

use std::collections::{BTreeMap, BTreeSet};

use super::Refusal;
use super::call::{CallEnding, current, denied, end_calls, finished, refused, too_many_mistakes, unprepared};
use super::edited::{as_note, note_of, result_of, with_made};
use super::ending::{rejected_for, result};
use crate::machine::input::{
    Decision, EditOutcome, EditReport, PreparedEdits, PreparedFile, RefusedEdit, Stamp,
};
use crate::machine::step::BatchPart;
use crate::policy::cause::{Cause, Reason};
use crate::policy::observation::{EditRoute, ObservedPath};
use crate::policy::permission::{Act, BY_ACTION, Verdict, caution, forbidden, standing_rule, verdict};
use crate::policy::{ask, tasks};
use crate::record::{
    AllowedBy, AmendedTexts, Ask, AskId, AskKind, BatchId, CallEnd, CallResult, EditCheck, Event, FileChange,
    HunkNote, HunkSet, OptionKind, Resolution, ToolCallId,
};
use crate::session::hunks::{after, has_ended, ids_of};
use crate::session::{Call, ChangeState, Changes, HunkState, Run, Session};

pub use restart::{interrupted, reobserved};

/// How often the change of one call is proposed again because the file changed meanwhile. After that the call
/// fails, and the model reads the file again.
const MOST_PROPOSALS: usize = 3;

/// A change that needs a verdict.
struct Candidate {
    change: FileChange,
    seen: ObservedPath,
    /// The hunks that it proposes again.
    replaces: Option<HunkSet>,
    /// Whether it was proposed before, so that only the ask about it is new.
    known: bool,
}

impl Candidate {
    /// Whether this call edits the file.
    fn is_of(&self, call: &ToolCallId) -> bool {
        self.change.parts.iter().any(|part| part.call == *call)
    }
}

/// Handles the report of `Prepare` on edits: the files that they would change, and the edits that cannot be made.
/// `calls` are the calls of the step.
pub fn prepared(
    session: &Session,
    stamp: &Stamp,
    calls: &[ToolCallId],
    report: PreparedEdits,
) -> Result<Vec<Event>, Refusal> {
    let run = session.open_run().ok_or(Refusal::Stale)?;
    let open: Vec<&Call> = calls.iter().filter_map(|id| Some(current(session, id).ok()?.call)).collect();
    let mut batch: Vec<Event> = Vec::new();
    let mut ends: Vec<CallEnding<'_>> = Vec::new();
    for RefusedEdit { call, seen, why, may_reveal } in report.refused {
        let Ok(current) = current(session, &call) else { continue };
        let (prepared, end) = unprepared(session, current, seen, why, may_reveal);
        batch.push(prepared);
        ends.push(end);
    }
    let mut candidates = Vec::new();
    let mut unchanged = Vec::new();
    for PreparedFile { change, seen } in report.files {
        if change.hunks.is_empty() && change.existed {
            let text =
                format!("the edits of this turn leave \"{}\" as it is; nothing to change", change.path);
            unchanged.push((change, Reason::new(Cause::NothingToChange, text)));
        } else if let Some(why) = unseen_by_all(session, run, &change, &seen) {
            ends.extend(calls_of(session, &change).into_iter().map(|call| (call, refused(&why))));
        } else {
            candidates.push(Candidate { change, seen, replaces: None, known: false });
        }
    }
    leave_out_ended(session, &mut candidates, &mut ends);
    // A call that edits several files ends with those that change.
    let is_ended = |call: &Call, ends: &[CallEnding<'_>]| ends.iter().any(|(ended, _)| ended.id == call.id);
    let waits = |call: &Call| candidates.iter().any(|file: &Candidate| file.is_of(&call.id));
    for (change, why) in unchanged {
        for call in calls_of(session, &change) {
            if !waits(call) && !is_ended(call, &ends) {
                ends.push((call, refused(&why)));
            }
        }
    }
    // A call that the report does not mention must not stay open for ever.
    let is_left_out = |call: &&Call| !is_ended(call, &ends) && !waits(call);
    let left_out: Vec<&Call> = open.into_iter().filter(is_left_out).collect();
    ends.extend(left_out.into_iter().map(|call| (call, refused(&not_prepared()))));
    let proposals = propose(session, stamp, run, candidates);
    finish(session, stamp, batch, proposals, ends, 0)
}

/// Leaves out the files of calls that have ended: a call that edits several files edits all of them, or none. The other
/// calls that edit such a file end with it.
fn leave_out_ended<'a>(
    session: &'a Session,
    candidates: &mut Vec<Candidate>,
    ends: &mut Vec<CallEnding<'a>>,
) {
    while let Some(at) =
        candidates.iter().position(|file| ends.iter().any(|(ended, _)| file.is_of(&ended.id)))
    {
        let file = candidates.remove(at);
        let text = format!(
            "\"{}\" was not changed, because another edit of it in this reply could not be made; nothing of this call \
             was done, so call again",
            file.change.path
        );
        let why = Reason::new(Cause::Changed, text);
        for call in calls_of(session, &file.change) {
            if !ends.iter().any(|(ended, _)| ended.id == call.id) {
                ends.push((call, refused(&why)));
            }
        }
    }
}

/// Returns why an edit is not made that would replace lines which neither the model has seen nor the user would be shown
/// before.
fn unseen_by_all(session: &Session, run: &Run, change: &FileChange, seen: &ObservedPath) -> Option<Reason> {
    let why = &seen.unseen.as_ref().filter(|unseen| !unseen.stays)?.why;
    let verdict = verdict_for(session, run, &calls_of(session, change), Act::Edit(seen));
    matches!(verdict, Verdict::Allow(_)).then(|| {
        let text = format!("{why}, so nothing was written. Read the file, then write it again");
        Reason::new(Cause::Changed, text)
    })
}

fn not_prepared() -> Reason {
    Reason::new(Cause::Other, "the edit was not prepared; this is a fault of Adjutant, so call again")
}

/// Returns the open calls that made a change.
fn calls_of<'a>(session: &'a Session, change: &FileChange) -> Vec<&'a Call> {
    change.parts.iter().filter_map(|part| Some(current(session, &part.call).ok()?.call)).collect()
}

/// Returns why the tool of one of these calls may not do this.
fn forbidden_for(session: &Session, run: &Run, calls: &[&Call], act: Act<'_>) -> Option<Reason> {
    calls.iter().find_map(|call| forbidden(&session.roots, &run.policy, &call.tool, act))
}

/// Proposes changes under new ids. The rules then allow them, deny them, or have the user asked about all the others
/// at once.
fn propose(session: &Session, stamp: &Stamp, run: &Run, candidates: Vec<Candidate>) -> Vec<Event> {
    let mut events = Vec::new();
    let mut asked: Vec<(FileChange, Reason)> = Vec::new();
    let mut decision: Option<BatchId> = None;
    for Candidate { mut change, seen, replaces, known } in candidates {
        let calls = calls_of(session, &change);
        let Some(first) = calls.first() else { continue };
        let verdict = verdict_for(session, run, &calls, Act::Edit(&seen));
        let hunks = match session.changes.get(&change.change_set).filter(|_| known) {
            Some(state) => state.in_state(HunkState::Proposed),
            None => {
                change.change_set = stamp.id("change").as_str().into();
                change.mark = caution(&seen, &change);
                let (call, seen, proposed) = (first.id.clone(), Some(seen), Box::new(change.clone()));
                events.push(match change.operation {
                    None => Event::ChangeProposed { call, change: proposed, seen, replaces },
                    Some(_) => Event::OperationProposed { call, change: proposed, seen, replaces },
                });
                ids_of(&change)
            }
        };
        match verdict {
            Verdict::Allow(by) => {
                events.push(decided(&change, hunks.clone(), true, None, None));
                let call = first.id.clone();
                let batch = decision.get_or_insert_with(|| batch_id(stamp)).clone();
                events.push(started(&change, call, hunks, batch, by));
            }
            Verdict::Deny(why) => {
                events.push(decided(&change, hunks, false, None, Some(as_note(&denied(&why)))));
            }
            Verdict::Ask(why) => asked.push((change, why)),
        }
    }
    if !asked.is_empty() {
        events.push(Event::AskOpened { ask: Box::new(edits_ask(session, stamp, run, &asked)) });
    }
    events
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

fn decided(
    change: &FileChange,
    hunks: Vec<String>,
    apply: bool,
    ask: Option<AskId>,
    note: Option<HunkNote>,
) -> Event {
    Event::HunkDecided { change_set: change.change_set.clone(), hunks, apply, ask, note }
}

fn batch_id(stamp: &Stamp) -> BatchId {
    BatchId(stamp.id("batch"))
}

/// Returns the intent to apply hunks, as a part of one decision.
fn started(
    change: &FileChange,
    call: ToolCallId,
    hunks: Vec<String>,
    batch: BatchId,
    by: AllowedBy,
) -> Event {
    let change_set = change.change_set.clone();
    Event::ApplyStarted { call, change_set, hunks, batch: Some(batch), allowed_by: Some(by) }
}

/// Returns the ask about changes that wait for the user, each with its reason.
fn edits_ask(session: &Session, stamp: &Stamp, run: &Run, asked: &[(FileChange, Reason)]) -> Ask {
    let changes: Vec<&FileChange> = asked.iter().map(|(change, _)| change).collect();
    let waits =
        |call: &&Call| changes.iter().any(|change| change.parts.iter().any(|part| part.call == call.id));
    let calls = run.turn.iter().flat_map(|turn| turn.calls.iter()).filter(waits);
    let calls = calls.filter(|call| current(session, &call.id).is_ok()).map(|call| call.id.clone()).collect();
    // No standing answer covers a deletion or a move.
    let may_be_standing = changes.iter().any(|change| change.operation.is_none());
    let always = may_be_standing.then_some("Allow all edits in this session");
    // A reason that is not the default one says more.
    let cause = asked.iter().map(|(_, why)| why.cause).find(|cause| *cause != Cause::EveryEdit);
    Ask {
        id: stamp.id("ask").as_str().into(),
        kind: AskKind::Tool,
        run: run.id.clone(),
        calls,
        changes: changes.iter().map(|change| change.change_set.clone()).collect(),
        title: ask::edits_title(&changes),
        description: Some(description(asked)),
        options: ask::options(AskKind::Tool, always, &[]),
        free_text: ask::takes_text(AskKind::Tool),
        digest: ask::changes_digest(&changes),
        opened_at: stamp.now,
        cause: cause.or(Some(Cause::EveryEdit)),
        unsaved: Vec::new(),
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
        for part in [Some(why.text.clone()), warning(change), tasks::note(change)].into_iter().flatten() {
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
    }
    parts.join("; ")
}

/// Handles an answer to an ask about edits: all hunks that still wait are applied, or none. `batch` has the event that
/// closes the ask.
pub fn answered(
    session: &Session,
    stamp: &Stamp,
    ask: &Ask,
    kind: Option<OptionKind>,
    rejected: &CallResult,
    mut batch: Vec<Event>,
) -> Result<Vec<Event>, Refusal> {
    let allow = matches!(kind, Some(OptionKind::AllowOnce | OptionKind::AllowAlways));
    let targets = session.changes_of(ask).map(|state| HunkSet {
        change_set: state.change.change_set.clone(),
        hunks: state.in_state(HunkState::Proposed),
    });
    let note = (!allow).then(|| as_note(rejected));
    let standing = kind == Some(OptionKind::AllowAlways);
    decide_all(session, stamp, targets.collect(), note, standing, &mut batch)?;
    finish(session, stamp, batch, Vec::new(), Vec::new(), 0)
}

/// Handles a decision about single hunks that wait for an answer. The others of their ask go on waiting; an ask whose
/// hunks are all decided is closed.
pub fn decide(session: &Session, stamp: &Stamp, decision: Decision) -> Result<Vec<Event>, Refusal> {
    let Decision { targets, apply, reason } = decision;
    let targets = joined(targets);
    for target in &targets {
        let state = session.changes.get(&target.change_set).filter(|state| !state.unsettled);
        let is_open =
            |id: &String| state.is_some_and(|state| state.hunks.get(id) == Some(&HunkState::Proposed));
        let is_asked =
            session.open_ask_about(&target.change_set).is_some_and(|open| session.is_observed(&open.ask));
        let by_action = state
            .is_some_and(|state| state.seen.as_ref().is_some_and(|seen| seen.route == EditRoute::Action));
        if apply && by_action {
            return Err(Refusal::AnswerInvalid(BY_ACTION.to_owned()));
        }
        if !is_asked || target.hunks.is_empty() || !target.hunks.iter().all(is_open) {
            let text = "this change does not wait for an answer any more; look at it again";
            return Err(Refusal::AnswerInvalid(text.to_owned()));
        }
    }
    if targets.is_empty() {
        return Err(Refusal::Nothing);
    }
    let note = (!apply).then(|| as_note(&rejected_for(reason.as_deref())));
    let mut batch = Vec::new();
    decide_all(session, stamp, targets, note, false, &mut batch)?;
    finish(session, stamp, batch, Vec::new(), Vec::new(), 0)
}

/// Returns the targets with each change set and each hunk once.
fn joined(targets: Vec<HunkSet>) -> Vec<HunkSet> {
    let mut joined: Vec<HunkSet> = Vec::new();
    let (mut places, mut known) = (BTreeMap::new(), BTreeSet::new());
    for HunkSet { change_set, hunks } in targets {
        let at = *places.entry(change_set.clone()).or_insert_with(|| {
            joined.push(HunkSet { change_set, hunks: Vec::new() });
            joined.len() - 1
        });
        joined[at].hunks.extend(hunks.into_iter().filter(|hunk| known.insert((at, hunk.clone()))));
    }
    joined
}

/// Applies these hunks, or rejects them for the reason in `note`. `standing`: all edits of the session are allowed from
/// now on.
fn decide_all(
    session: &Session,
    stamp: &Stamp,
    targets: Vec<HunkSet>,
    note: Option<HunkNote>,
    standing: bool,
    batch: &mut Vec<Event>,
) -> Result<(), Refusal> {
    let run = session.open_run().ok_or(Refusal::Stale)?;
    let mut decision: Option<BatchId> = None;
    for HunkSet { change_set, hunks } in targets.into_iter().filter(|target| !target.hunks.is_empty()) {
        let state = session.changes.get(&change_set).ok_or(Refusal::Stale)?;
        let ask = session.open_ask_about(&change_set).ok_or(Refusal::Stale)?.ask.id.clone();
        let calls = calls_of(session, &state.change);
        let Some(first) = calls.first() else { continue };
        let Some(seen) = state.seen.as_ref() else { continue };
        // A deny rule may have been added since the ask was opened.
        let forbidden =
            forbidden_for(session, run, &calls, Act::Edit(seen)).map(|why| as_note(&denied(&why)));
        let note = note.clone().or(forbidden);
        let applies = note.is_none();
        batch.push(decided(&state.change, hunks.clone(), applies, Some(ask.clone()), note));
        if applies {
            if standing && decision.is_none() {
                batch.extend(standing_rule(Act::Edit(seen)).map(|rule| Event::RuleAdded { rule }));
            }
            let decision = decision.get_or_insert_with(|| batch_id(stamp)).clone();
            let by = AllowedBy::Answer { ask };
            batch.push(started(&state.change, first.id.clone(), hunks, decision, by));
        }
    }
    Ok(())
}

/// Handles what became of the hunks of one file that a decision applied.
pub fn edited(
    session: &Session,
    stamp: &Stamp,
    state: &ChangeState,
    decision: &BatchId,
    EditReport { outcome, elapsed_ms, on }: EditReport,
) -> Result<Vec<Event>, Refusal> {
    let run = session.open_run().ok_or(Refusal::Stale)?;
    let hunks = state.batches.get(decision).filter(|_| !state.unsettled).ok_or(Refusal::Stale)?.clone();
    let change_set = state.change.change_set.clone();
    let note = note_of(state, &hunks, &outcome);
    let mut batch = Vec::new();
    let mut proposals = Vec::new();
    let mut ends: Vec<CallEnding<'_>> = Vec::new();
    let settled = |hunks: Vec<String>, note| Event::Settled {
        change_set: change_set.clone(),
        found: EditCheck::NotLanded,
        hunks,
        note,
    };
    match outcome {
        EditOutcome::Landed { formatted, .. } => {
            let (change_set, formatted_elsewhere) = (change_set.clone(), formatted.outside);
            let formatted = formatted.inside.into_iter().collect();
            batch.push(Event::Applied { change_set, hunks, note, formatted, formatted_elsewhere, on });
        }
        EditOutcome::Partly { landed } => {
            let (made, left): (Vec<String>, Vec<String>) =
                hunks.into_iter().partition(|id| landed.contains(id));
            if !made.is_empty() {
                let change_set = change_set.clone();
                let formatted = AmendedTexts::new();
                batch.push(Event::Applied {
                    change_set,
                    hunks: made,
                    note: None,
                    formatted,
                    formatted_elsewhere: 0,
                    on,
                });
            }
            if !left.is_empty() {
                batch.push(settled(left, note));
            }
        }
        // What is in the file is not known, so nothing that waits for an answer about it is applied any more.
        EditOutcome::NotApplied { in_doubt: true, .. } => {
            batch.extend(voided(session, state));
            let doubt = note.as_ref().map(in_doubt).ok_or(Refusal::Stale)?;
            let ended = calls_on_the_way(session, state);
            ends.extend(ended.map(|call| (call, with_made(session, call, doubt.clone()))));
        }
        EditOutcome::NotApplied { .. } | EditOutcome::Undone | EditOutcome::Misplaced => {
            batch.push(settled(hunks, note));
        }
        EditOutcome::Overtaken { change, seen, .. } => {
            // While the user has not resumed the run, it asks nothing: the edit fails, and the model reads the file again.
            if state.attempt < MOST_PROPOSALS && !session.has_open_ask(AskKind::ResumeTask) {
                // The old approval is void.
                let replaces = Some(HunkSet { change_set: change_set.clone(), hunks });
                let again = Candidate { change: *change, seen: *seen, replaces, known: false };
                proposals = propose(session, stamp, run, vec![again]);
            } else {
                batch.push(settled(hunks, note));
            }
        }
    }
    finish(session, stamp, batch, proposals, ends, elapsed_ms)
}

fn in_doubt(note: &HunkNote) -> CallResult {
    let result = result(note.end, &note.text, &note.summary);
    CallResult { cause: note.cause, ..result }
}

/// Ends the calls whose step to apply their edits broke.
pub fn broke(
    session: &Session,
    stamp: &Stamp,
    decision: &BatchId,
    part: &BatchPart,
    broken: &CallResult,
) -> Result<Vec<Event>, Refusal> {
    let live = session.live_changes();
    let is_running = |state: &&&ChangeState| state.batches.contains_key(decision) && part.has(&state.change);
    let calls: Vec<&ToolCallId> = live.iter().filter(is_running).flat_map(|state| state.calls()).collect();
    finished(session, stamp, calls, broken)
}

/// Ends the hunks that wait for an answer about the file of a change, because what is in it is not known.
fn voided(session: &Session, doubtful: &ChangeState) -> Vec<Event> {
    let path = &doubtful.change.path;
    let note = HunkNote {
        end: CallEnd::Failed,
        text: format!(
            "The edit of {path} was not made, because it is not known whether an edit of this file before it is in the \
             text. Read the file before you continue."
        ),
        summary: "not made: an earlier edit of the file is in doubt".to_owned(),
        cause: None,
    };
    let of_file = |state: &&ChangeState| state.change.target == doubtful.change.target;
    let void = |state: &ChangeState| {
        decided(&state.change, state.in_state(HunkState::Proposed), false, None, Some(note.clone()))
    };
    let waits = |state: &&ChangeState| state.has(HunkState::Proposed);
    session.live_changes().into_iter().filter(of_file).filter(waits).map(void).collect()
}

/// Returns the open calls that have hunks on their way into the text.
fn calls_on_the_way<'a>(session: &'a Session, state: &'a ChangeState) -> impl Iterator<Item = &'a Call> {
    let is_applying = |id: &str| state.hunks.get(id) == Some(&HunkState::Applying);
    let calls = calls_of(session, &state.change).into_iter();
    calls.filter(move |call| state.waited_for(&call.id).into_iter().any(is_applying))
}

/// Completes a batch: closes the asks that have nothing left to decide, and ends the calls all of whose hunks have
/// ended. `proposals` come last; `ends` are calls that end for another reason.
fn finish<'a>(
    session: &'a Session,
    stamp: &Stamp,
    mut batch: Vec<Event>,
    proposals: Vec<Event>,
    mut ends: Vec<CallEnding<'a>>,
    elapsed_ms: u64,
) -> Result<Vec<Event>, Refusal> {
    let changes = after(&session.changes, batch.iter().chain(&proposals));
    let decided = decided_asks(session, &batch, &changes);
    batch.splice(0..0, decided);
    for call in session.runnable_calls().filter(|call| call.is_edit()) {
        if ends.iter().all(|(ended, _)| ended.id != call.id) && has_ended(&changes, &call.id) {
            ends.push((call, CallResult { elapsed_ms, ..result_of(&changes, &call.id) }));
        }
    }
    // If the run ends with these calls, nothing is proposed.
    if too_many_mistakes(session, &ends).is_none() {
        batch.extend(proposals);
    }
    end_calls(session, stamp, &mut batch, ends);
    if batch.is_empty() { Err(Refusal::Stale) } else { Ok(batch) }
}

/// Closes the asks about edits that have nothing left to decide after this batch.
fn decided_asks(session: &Session, batch: &[Event], changes: &Changes) -> Vec<Event> {
    let is_closed = |ask: &Ask| batch.iter().any(|event| event.closed_ask() == Some(&ask.id));
    let is_decided = |ask: &&Ask| {
        let mut of_ask = session.changes_of(ask).peekable();
        let waits = |state: &ChangeState| {
            changes.get(&state.change.change_set).is_some_and(|state| state.has(HunkState::Proposed))
        };
        ask.kind == AskKind::Tool && of_ask.peek().is_some() && !of_ask.any(waits)
    };
    let decided = session.open_asks().filter(is_decided).filter(|ask| !is_closed(ask));
    decided.map(|ask| Event::AskClosed { ask: ask.id.clone(), resolution: Resolution::Decided }).collect()
}
