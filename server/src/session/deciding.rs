//! Decisions about hunks: of those that wait for an answer, and of those that were applied.
//!
//! Never decides. An undo or a restore is answered when it is over, because only then it is known.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use adjutant_core::machine::input::{Decision, Input, ReviewAct, ReviewInput, ReviewTarget as Target};
use adjutant_core::record::{BatchId, ChangeSetId, Event, HunkSet, ReviewState, SeenHunk};
use adjutant_core::session::{AppliedChange, AppliedHunk};
use adjutant_core::text::edit::lines;
use adjutant_core::text::trace::{HunkText, Trace};
use adjutant_core::wire;
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::review::{DecidedHunk, ReviewAction, ReviewDecideParams, ReviewTarget};

use super::mailbox::{ClientError, MAX_WORDS, Reply};
use super::{SessionTask, SessionWorld};
use crate::aside::aside;
use crate::faults::point;
use crate::reviews::{FileChanges, OwnedChange, text_now};

/// Change sets and hunks that one decision may name.
const MAX_TARGETS: usize = 20_000;

/// A decision that is being carried out, and who waits for it.
pub(super) struct ReviewWait {
    batch: BatchId,
    targets: Vec<HunkSet>,
    /// Why hunks were not undone or restored.
    why: HashMap<(ChangeSetId, String), String>,
    reply: Reply<Vec<DecidedHunk>>,
}

impl ReviewWait {
    /// Answers with an error.
    pub(super) fn refuse(self, refused: ClientError) {
        let _ = self.reply.send(Err(refused));
    }
}

impl SessionTask {
    pub(super) async fn decide(&mut self, params: ReviewDecideParams, reply: Reply<Vec<DecidedHunk>>) {
        let result = match params.action {
            ReviewAction::Apply | ReviewAction::Reject => self.decided(params).await,
            ReviewAction::Keep => self.reviewed(params, ReviewAct::Keep).await.map(|(hunks, _)| hunks),
            ReviewAction::Undo => return self.begin_review(params, ReviewAct::Undo, reply).await,
            ReviewAction::Restore => return self.begin_review(params, ReviewAct::Restore, reply).await,
        };
        point("ask-answered");
        match result {
            Ok(hunks) => self.answer_decision(hunks, reply),
            Err(refused) => drop(reply.send(Err(refused))),
        }
    }

    fn answer_decision(&mut self, hunks: Vec<DecidedHunk>, reply: Reply<Vec<DecidedHunk>>) {
        let barrier = self.barrier;
        self.replies.after_durable(barrier, move |durable| {
            let _ = reply.send(durable.map(|()| hunks));
        });
    }

    async fn decided(&mut self, params: ReviewDecideParams) -> Result<Vec<DecidedHunk>, ClientError> {
        check(&params)?;
        let target = |target: ReviewTarget| {
            let ReviewTarget { change_set_id, hunk_ids, .. } = target;
            let all = || wire::review::waiting(&self.session, &change_set_id);
            let hunks = if hunk_ids.is_empty() { all() } else { hunk_ids };
            HunkSet { change_set: change_set_id, hunks }
        };
        let targets: Vec<HunkSet> = params.targets.into_iter().map(target).collect();
        let apply = params.action == ReviewAction::Apply;
        let decision = Decision { targets: targets.clone(), apply, reason: params.reason };
        match self.record_input(Input::Decide(decision)).await {
            Ok(_) => Ok(wire::review::states(&self.session, &targets)),
            Err(why) => Err(self.not_recorded(why)),
        }
    }

    /// Begins to undo or restore hunks; the reply waits for the end.
    async fn begin_review(
        &mut self,
        params: ReviewDecideParams,
        act: ReviewAct,
        reply: Reply<Vec<DecidedHunk>>,
    ) {
        match self.reviewed(params, act).await {
            Ok((_, Some((batch, targets)))) => {
                let why = HashMap::new();
                self.replies.reviews.push(ReviewWait { batch, targets, why, reply });
            }
            Ok((hunks, None)) => self.answer_decision(hunks, reply),
            Err(refused) => drop(reply.send(Err(refused))),
        }
    }

    /// Records a decision about applied hunks, and returns the decision that a step carries out, if one does.
    async fn reviewed(
        &mut self,
        params: ReviewDecideParams,
        act: ReviewAct,
    ) -> Result<(Vec<DecidedHunk>, Option<(BatchId, Vec<HunkSet>)>), ClientError> {
        check(&params)?;
        let mut targets: BTreeMap<ChangeSetId, BTreeMap<String, Option<String>>> = BTreeMap::new();
        for ReviewTarget { change_set_id, hunk_ids, mut seen } in params.targets {
            let change = self.session.applied.get(&change_set_id);
            let all = || change.into_iter().flat_map(|change| possible(change, act));
            let ids: Vec<String> = if hunk_ids.is_empty() { all().collect() } else { hunk_ids };
            let hunks = targets.entry(change_set_id).or_default();
            hunks.extend(ids.into_iter().map(|id| {
                let seen = seen.remove(&id);
                (id, seen)
            }));
        }
        if act == ReviewAct::Keep {
            // The model is told what was kept where the user changed it.
            let changes = targets.keys().filter_map(|id| self.session.applied.get(id));
            let files: BTreeSet<String> = changes.map(|change| change.target.clone()).collect();
            for (change_set, hunk, text) in amended_texts(self.place.clone(), files).await {
                if let Some(seen) = targets.get_mut(&change_set).and_then(|hunks| hunks.get_mut(&hunk)) {
                    *seen = Some(text);
                }
            }
        }
        let sets: Vec<HunkSet> = targets
            .iter()
            .map(|(id, hunks)| HunkSet { change_set: id.clone(), hunks: hunks.keys().cloned().collect() })
            .collect();
        let seen = |(hunk, seen)| SeenHunk { hunk, seen };
        let targets = targets
            .into_iter()
            .map(|(change_set, hunks)| Target { change_set, hunks: hunks.into_iter().map(seen).collect() });
        let input = ReviewInput { targets: targets.collect(), act, reason: params.reason };
        let events = match self.record_input(Input::Review(input)).await {
            Ok(events) => events,
            Err(why) => return Err(self.not_recorded(why)),
        };
        let begun = events.iter().find_map(|event| match event {
            Event::ReviewStarted { batch, .. } => Some(batch.clone()),
            _ => None,
        });
        let hunks = wire::review::applied_states(&self.session, &sets, |_, _| None);
        Ok((hunks, begun.map(|batch| (batch, sets))))
    }

    /// Answers decisions that are over after these events.
    pub(super) fn review_over(&mut self, events: &[Event]) {
        if self.replies.reviews.is_empty() {
            return;
        }
        for event in events {
            let Event::ReviewFailed { change_set, hunks, why } = event else { continue };
            for wait in &mut self.replies.reviews {
                wait.why.extend(hunks.iter().map(|hunk| ((change_set.clone(), hunk.clone()), why.clone())));
            }
        }
        let pending: Vec<BatchId> = self.session.applied.pending().into_iter().cloned().collect();
        let is_over = |wait: &mut ReviewWait| !pending.contains(&wait.batch);
        let over: Vec<ReviewWait> = self.replies.reviews.extract_if(.., is_over).collect();
        for ReviewWait { targets, why, reply, .. } in over {
            let why = |change_set: &ChangeSetId, hunk: &str| {
                why.get(&(change_set.clone(), hunk.to_owned())).cloned()
            };
            let hunks = wire::review::applied_states(&self.session, &targets, why);
            self.answer_decision(hunks, reply);
        }
    }
}

fn check(params: &ReviewDecideParams) -> Result<(), ClientError> {
    let invalid = |why: String| Err(ClientError::new(ErrorName::AnswerInvalid, why));
    if params.reason.as_ref().is_some_and(|reason| reason.len() > MAX_WORDS) {
        return invalid(format!("a reason has at most {MAX_WORDS} bytes"));
    }
    let hunks: usize = params.targets.iter().map(|target| target.hunk_ids.len()).sum();
    if params.targets.len() + hunks > MAX_TARGETS {
        return invalid(format!("one decision names at most {MAX_TARGETS} change sets and hunks"));
    }
    Ok(())
}

/// Returns the hunks of a change for which an action is possible.
fn possible(change: &AppliedChange, act: ReviewAct) -> impl Iterator<Item = String> {
    let is_possible = move |hunk: &&AppliedHunk| match act {
        ReviewAct::Keep => hunk.state == ReviewState::Applied,
        ReviewAct::Undo => hunk.state != ReviewState::Undone,
        ReviewAct::Restore => hunk.state == ReviewState::Undone,
    };
    change
        .hunks
        .iter()
        .filter(move |hunk| hunk.pending.is_none())
        .filter(is_possible)
        .map(|hunk| hunk.id.clone())
}

/// Returns the hunks of a session's changes in whose place the user wrote other lines, with these.
async fn amended_texts(
    place: Arc<SessionWorld>,
    files: BTreeSet<String>,
) -> Vec<(ChangeSetId, String, String)> {
    let read = move || {
        let mut amended = Vec::new();
        for file in files {
            let changes = FileChanges::read(place.world.reviews.of_file(&file));
            let now = changes.changes.first().and_then(|owned| text_now(&place.world.documents, owned));
            let Some(now) = now else { continue };
            let all: Vec<&str> = lines(&now).collect();
            for (owned, traces) in changes.changes.iter().zip(changes.trace(&now)) {
                if owned.session == place.id {
                    amended.extend(amended_of(owned, &traces, &all));
                }
            }
        }
        amended
    };
    aside(read).await
}

/// Returns the hunks of a change in whose place the user wrote other lines, with these.
fn amended_of<'a>(
    owned: &'a OwnedChange,
    traces: &'a [Trace],
    all: &'a [&str],
) -> impl Iterator<Item = (ChangeSetId, String, String)> {
    let pairs = owned.change.hunks.iter().zip(traces);
    let amended = pairs.filter(|(_, trace)| matches!(trace.found, HunkText::Amended { .. }));
    amended.map(|(hunk, trace)| {
        let text = all.get(trace.lines.clone()).unwrap_or_default().concat();
        (owned.change.change_set.clone(), hunk.id.clone(), text)
    })
}
