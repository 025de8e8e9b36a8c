//! The review of applied hunks: kept at once; undone and restored by a step, because only the text says whether it
//! was done.

use super::Refusal;
use crate::machine::input::{HunkComment, ReviewAct, ReviewInput, ReviewOutcome, ReviewTarget, Stamp};
use crate::record::{AmendedTexts, BatchId, Event, ReviewState, ReviewedBy};
use crate::session::{AppliedChange, AppliedHunk, PendingReview, Session};

/// Handles a decision of the user about applied hunks. All of them, or none.
pub fn decide(session: &Session, stamp: &Stamp, input: ReviewInput) -> Result<Vec<Event>, Refusal> {
    let ReviewInput { targets, act, as_one, reason } = input;
    let batch = BatchId(stamp.id("batch"));
    let mut events = Vec::new();
    for target in targets {
        let change = session.applied.get(&target.change_set);
        let change = change.ok_or_else(|| impossible("is not in the text; list the changes again"))?;
        let mut hunks = target.hunks.clone();
        // Of a whole run the text has been looked at: it may have what counts as undone.
        hunks.retain(|seen| as_one || change.hunk(&seen.hunk).is_none_or(|hunk| hunk.state != goal(act)));
        for seen in &hunks {
            let hunk = change.hunk(&seen.hunk).ok_or_else(|| impossible(UNKNOWN))?;
            if hunk.pending.is_some() {
                return Err(impossible("is being undone or restored already"));
            }
            if !as_one && !act.is_possible(hunk.state) {
                let why = match act {
                    ReviewAct::Restore => "is not undone",
                    ReviewAct::Keep | ReviewAct::Undo => "was undone; restore it first",
                };
                return Err(impossible(why));
            }
        }
        if hunks.is_empty() {
            continue;
        }
        let (change_set, open) = (target.change_set, target.open);
        events.push(match act {
            ReviewAct::Keep => {
                let amended = hunks.iter().filter_map(|hunk| Some((hunk.hunk.clone(), hunk.seen.clone()?)));
                let amended: AmendedTexts = amended.collect();
                let (state, by) = (ReviewState::Kept, ReviewedBy::Decision);
                let hunks = hunks.into_iter().map(|hunk| hunk.hunk).collect();
                Event::Reviewed { change_set, hunks, state, by, amended, reason: None, on: None }
            }
            ReviewAct::Undo | ReviewAct::Restore => {
                let restore = act == ReviewAct::Restore;
                let (batch, reason) = (batch.clone(), reason.clone().filter(|_| !restore));
                Event::ReviewStarted { batch, change_set, hunks, restore, open, as_one, reason }
            }
        });
    }
    if events.is_empty() { Err(Refusal::Nothing) } else { Ok(events) }
}

/// Returns the state that a decision leads to.
fn goal(act: ReviewAct) -> ReviewState {
    match act {
        ReviewAct::Keep => ReviewState::Kept,
        ReviewAct::Undo => ReviewState::Undone,
        ReviewAct::Restore => ReviewState::Applied,
    }
}

/// Why a hunk that a client names is none.
const UNKNOWN: &str = "is not among the applied ones of its session; list the changes again";

fn impossible(why: &str) -> Refusal {
    Refusal::AnswerInvalid(format!("this change {why}"))
}

/// Handles what became of the hunks of one change that a decision undoes or restores.
pub fn done(batch: &BatchId, change: &AppliedChange, outcome: ReviewOutcome) -> Result<Vec<Event>, Refusal> {
    let ReviewOutcome { done, mut dropped, failed, conflicts, away, on } = outcome;
    let change_set = change.change_set.clone();
    let mut events = Vec::new();
    let pending: Vec<(&AppliedHunk, &PendingReview)> = change.pending(batch).collect();
    let done: Vec<&(&AppliedHunk, &PendingReview)> =
        pending.iter().filter(|(hunk, _)| done.contains(&hunk.id)).collect();
    if let Some((_, first)) = done.first() {
        let state = if first.restore { ReviewState::Applied } else { ReviewState::Undone };
        // What was dropped with an undone hunk comes back when it is restored.
        let undone = done.iter().filter(|(_, pending)| !pending.restore);
        let amended = undone.filter_map(|(hunk, _)| dropped.remove_entry(&hunk.id));
        let (amended, by) = (amended.collect(), ReviewedBy::Decision);
        let hunks = done.iter().map(|(hunk, _)| hunk.id.clone()).collect();
        let (change_set, reason) = (change_set.clone(), first.reason.clone());
        let on = on.filter(|_| first.restore);
        events.push(Event::Reviewed { change_set, hunks, state, by, amended, reason, on });
    }
    let is_done = |id: &String| done.iter().any(|(hunk, _)| hunk.id == *id);
    for (hunk, _) in pending.iter().filter(|(hunk, _)| !is_done(&hunk.id)) {
        let why = failed.iter().find(|(id, _)| *id == hunk.id).map(|(_, why)| why.clone());
        let why = why.unwrap_or_else(|| BROKE.to_owned());
        events.push(Event::ReviewFailed {
            change_set: change_set.clone(),
            conflict: conflicts.contains(&hunk.id),
            away: away.contains(&hunk.id),
            hunks: vec![hunk.id.clone()],
            why,
        });
    }
    if events.is_empty() { Err(Refusal::Stale) } else { Ok(events) }
}

const BROKE: &str = "it broke inside Adjutant; look at the file before you try again";
const UNRECORDED: &str = "the session could not be written; look at the file before you try again";

/// Handles the end of a step that reported nothing: no hunk of its decision changed its state.
pub fn broke(session: &Session, batch: &BatchId) -> Result<Vec<Event>, Refusal> {
    let events = all_failed(session, BROKE, |one| one.batch == *batch);
    if events.is_empty() { Err(Refusal::Stale) } else { Ok(events) }
}

/// Returns the end of all decisions that are being carried out, for a session that is no longer written: the next one that
/// opens it would carry them out.
pub fn given_up(session: &Session) -> Vec<Event> {
    all_failed(session, UNRECORDED, |_| true)
}

/// Returns the end of the pending decisions that `is_meant`: none of their hunks changed its state.
fn all_failed(session: &Session, why: &str, is_meant: impl Fn(&PendingReview) -> bool) -> Vec<Event> {
    let is_pending = |hunk: &&AppliedHunk| hunk.pending.as_ref().is_some_and(&is_meant);
    let mut events = Vec::new();
    for change in session.applied.all() {
        let hunks: Vec<String> = change.hunks.iter().filter(is_pending).map(|hunk| hunk.id.clone()).collect();
        if !hunks.is_empty() {
            let (change_set, why) = (change.change_set.clone(), why.to_owned());
            events.push(Event::ReviewFailed { change_set, hunks, why, conflict: false, away: false });
        }
    }
    events
}

/// Handles hunks that the text shows in another state than the log: the user undid or redid them in the editor.
pub fn found(
    session: &Session,
    target: ReviewTarget,
    is_in_text: bool,
    by: ReviewedBy,
) -> Result<Vec<Event>, Refusal> {
    let change = session.applied.get(&target.change_set).ok_or(Refusal::Stale)?;
    let differs = |id: &String| {
        let hunk = change.hunk(id).filter(|hunk| hunk.pending.is_none());
        hunk.is_some_and(|hunk| (hunk.state == ReviewState::Undone) == is_in_text)
    };
    let hunks: Vec<String> = target.hunks.into_iter().map(|hunk| hunk.hunk).filter(differs).collect();
    if hunks.is_empty() {
        return Err(Refusal::Nothing);
    }
    let state = if is_in_text { ReviewState::Applied } else { ReviewState::Undone };
    let (change_set, amended) = (target.change_set, AmendedTexts::new());
    Ok(vec![Event::Reviewed { change_set, hunks, state, by, amended, reason: None, on: None }])
}

/// Comments that a session collects before they are sent.
const MOST_COMMENTS: usize = 200;
/// The most bytes of one comment.
pub const MOST_COMMENT: usize = 4_000;

/// Handles a comment on an applied hunk; an empty text takes it back.
pub fn comment(session: &Session, comment: HunkComment) -> Result<Vec<Event>, Refusal> {
    let HunkComment { change_set, hunk, text } = comment;
    let invalid = |why: String| Err(Refusal::AnswerInvalid(why));
    let change = session.applied.get(&change_set);
    let Some(applied) = change.and_then(|change| change.hunk(&hunk)) else {
        return Err(impossible(UNKNOWN));
    };
    let text = text.trim().to_owned();
    if applied.comment.as_deref().unwrap_or_default() == text {
        return Err(Refusal::Nothing);
    }
    if text.len() > MOST_COMMENT {
        return invalid(format!("a comment has at most {MOST_COMMENT} bytes"));
    }
    if applied.comment.is_none() && session.applied.commented().len() >= MOST_COMMENTS {
        return invalid(format!("{MOST_COMMENTS} comments wait already; send them first"));
    }
    Ok(vec![Event::Commented { change_set, hunk, text }])
}

/// Handles hunks that the last commit has; `on` is what is checked out. It keeps those that the user has not kept or undone.
pub fn committed(session: &Session, target: ReviewTarget, on: Option<String>) -> Result<Vec<Event>, Refusal> {
    let change = session.applied.get(&target.change_set).ok_or(Refusal::Stale)?;
    let is_open = |id: &String| change.hunk(id).is_some_and(AppliedHunk::is_unreviewed);
    let hunks: Vec<String> = target.hunks.into_iter().map(|hunk| hunk.hunk).filter(is_open).collect();
    if hunks.is_empty() {
        return Err(Refusal::Nothing);
    }
    let (change_set, amended) = (target.change_set, AmendedTexts::new());
    let (state, by) = (ReviewState::Kept, ReviewedBy::Commit);
    Ok(vec![Event::Reviewed { change_set, hunks, state, by, amended, reason: None, on }])
}
