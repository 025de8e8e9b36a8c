//! Edits of a session that was opened again: which asks stay open, which edits continue, and which edits have an unknown
//! outcome.
//!
//! Never runs a tool again: a proposal is its hunks.

use std::collections::BTreeSet;

use super::super::Refusal;
use super::super::edited::{note_of, result_of, with_made};
use super::super::ending::interrupted_call;
use super::{
    Candidate, calls_of, calls_on_the_way, decided, decided_asks, finish, forbidden_for, not_prepared,
    propose, voided,
};
use crate::machine::input::{ChangeNow, EditOutcome, ReobservedChange, Stamp};
use crate::machine::step::may_be_in_buffer;
use crate::policy::permission::Act;
use crate::record::{AskId, ChangeSetId, Event, HunkNote, HunkSet, Resolution};
use crate::session::hunks::{after, has_ended};
use crate::session::{Call, ChangeState, HunkState, OpenAsk, Run, Session};

/// Handles the report of `Reobserve`: what the changes that wait for an answer would do now. An ask that still shows
/// exactly that stays open.
pub fn reobserved(
    session: &Session,
    stamp: &Stamp,
    wanted: &[ChangeSetId],
    report: Vec<ReobservedChange>,
) -> Result<Vec<Event>, Refusal> {
    let run = session.open_run().ok_or(Refusal::Stale)?;
    let found =
        |id: &ChangeSetId| report.iter().find(|change| change.change_set == *id).map(|one| &one.found);
    let mut batch: Vec<Event> = Vec::new();
    let mut candidates = Vec::new();
    let mut asks: Vec<&OpenAsk> = Vec::new();
    for ask in wanted.iter().filter_map(|id| session.open_ask_about(id)) {
        if asks.iter().all(|known| known.ask.id != ask.ask.id) {
            asks.push(ask);
        }
    }
    let is_same = |state: &ChangeState| {
        let is_known = matches!(found(&state.change.change_set), Some(ChangeNow::Same));
        is_known && !is_forbidden(session, run, state)
    };
    let waits = |state: &&ChangeState| state.has(HunkState::Proposed);
    let confirmed: Vec<&AskId> = asks
        .iter()
        .filter(|open| session.changes_of(&open.ask).filter(waits).all(is_same))
        .map(|open| &open.ask.id)
        .collect();
    for open in &asks {
        batch.push(if confirmed.contains(&&open.ask.id) {
            Event::AskReobserved { ask: open.ask.id.clone(), epoch: session.epoch }
        } else {
            Event::AskClosed { ask: open.ask.id.clone(), resolution: Resolution::Superseded }
        });
    }
    for id in wanted {
        let is_confirmed = session.open_ask_about(id).is_some_and(|open| confirmed.contains(&&open.ask.id));
        let Some(state) = session.changes.get(id).filter(|state| waits(state) && !is_confirmed) else {
            continue;
        };
        let hunks = state.in_state(HunkState::Proposed);
        let Some(seen) = state.seen.clone().filter(|_| !calls_of(session, &state.change).is_empty()) else {
            continue;
        };
        match found(id) {
            Some(ChangeNow::Same) => {
                candidates.push(Candidate {
                    change: state.change.clone(),
                    seen,
                    replaces: None,
                    known: true,
                });
            }
            Some(ChangeNow::Other { change, seen: now }) => {
                // An edit whose file changed after it was allowed always needs an answer, also after a restart.
                let mut now = (**now).clone();
                now.overtaken = now.overtaken.or(seen.overtaken);
                let replaces = Some(HunkSet { change_set: id.clone(), hunks });
                candidates.push(Candidate { change: (**change).clone(), seen: now, replaces, known: false });
            }
            gone => {
                let why = match gone {
                    Some(ChangeNow::Gone { why }) => why.clone(),
                    _ => not_prepared().text,
                };
                // The user had not allowed it, so it does not count as a missing edit.
                let outcome = EditOutcome::NotApplied { why, in_doubt: false };
                let note = note_of(state, &hunks, &outcome).map(|note| HunkNote { cause: None, ..note });
                batch.push(decided(&state.change, hunks, false, None, note));
            }
        }
    }
    let proposals = propose(session, stamp, run, candidates);
    finish(session, stamp, batch, proposals, Vec::new(), 0)
}

fn is_forbidden(session: &Session, run: &Run, state: &ChangeState) -> bool {
    let calls = calls_of(session, &state.change);
    let Some(seen) = state.seen.as_ref().filter(|_| !calls.is_empty()) else { return true };
    forbidden_for(session, run, &calls, Act::Edit(seen)).is_some()
}

/// Returns the events that end the edits of open documents that a stopped server had begun. The buffer is gone or may
/// differ, so such an edit is never repeated, and no other edit of the same file is made. All other edits continue
/// later, because `Apply` first checks whether the text has them.
pub fn interrupted(session: &Session) -> Vec<Event> {
    let mut batch: Vec<Event> = Vec::new();
    let mut calls: Vec<&Call> = Vec::new();
    for state in session.live_changes().into_iter().filter(|state| may_be_in_buffer(session, state)) {
        batch.extend(voided(session, state));
        calls.extend(calls_on_the_way(session, state));
    }
    if goes_on(session) {
        // The user first has to resume the run. Then the server asks again about the hunks that wait.
        let open = session.open_asks().filter(|ask| session.changes_of(ask).next().is_some());
        let closed =
            open.map(|ask| Event::AskClosed { ask: ask.id.clone(), resolution: Resolution::Superseded });
        batch.splice(0..0, closed);
    }
    let changes = after(&session.changes, &batch);
    batch.splice(0..0, decided_asks(session, &batch, &changes));
    let mut seen = BTreeSet::new();
    calls.retain(|call| seen.insert(&call.id));
    let over = session.runnable_calls().filter(|call| call.is_edit() && has_ended(&changes, &call.id));
    let over = over.map(|call| (call, result_of(&changes, &call.id)));
    let ends = calls.into_iter().map(|call| (call, with_made(session, call, interrupted_call()))).chain(over);
    batch.extend(ends.map(|(call, result)| Event::ToolFinished { call: call.id.clone(), result }));
    batch
}

/// Whether edits that were allowed before the server stopped may still be made.
fn goes_on(session: &Session) -> bool {
    let live = session.live_changes();
    live.into_iter().any(|state| state.is_applying() && !may_be_in_buffer(session, state))
}
