//! Decisions about hunks: of those that wait for an answer, and of those that were applied.
//!
//! Never decides. An undo or a restore is answered when it is over, because only then it is known.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use adjutant_core::machine::accept::Refusal;
use adjutant_core::machine::input::{Decision, Input, ReviewAct, ReviewInput, ReviewTarget as Target};
use adjutant_core::record::{BatchId, ChangeSetId, Event, HunkSet, ReviewedBy, SeenHunk};
use adjutant_core::session::AppliedHunk;
use adjutant_core::text::edit::lines;
use adjutant_core::text::trace::{HunkText, Side};
use adjutant_core::wire;
use adjutant_core::wire::review::differs_from_log;
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::review::{DecidedHunk, ReviewAction, ReviewDecideParams, ReviewTarget};
use adjutant_protocol::update::HunkState;

use super::mailbox::{ClientError, MAX_WORDS, Reply};
use super::recording::RecordError;
use super::{SessionTask, SessionWorld};
use crate::aside::aside;
use crate::documents::Text;
use crate::faults::point;
use crate::reviews::away::{NotDecidable, is_git_busy, not_decidable};
use crate::reviews::{FileChanges, NOT_AS_SHOWN, OwnedChange, operation_found, text_now};
use crate::uri;

/// Change sets and hunks that one decision may name.
const MAX_TARGETS: usize = 20_000;

/// Hunks by their change sets, each with the text that the user saw in its place, if it is not the text of the hunk.
pub(super) type SeenTargets = BTreeMap<ChangeSetId, BTreeMap<String, Option<String>>>;

/// A decision about applied hunks that is recorded.
#[derive(Default)]
pub(super) struct BegunReview {
    /// The hunks with their states of now.
    hunks: Vec<DecidedHunk>,
    targets: Vec<HunkSet>,
    /// The hunks about which nothing was decided.
    refused: Vec<DecidedHunk>,
    /// The decision that a step carries out, if one does.
    by_step: Option<BatchId>,
}

/// A decision that is being carried out, and who waits for it.
pub(super) struct ReviewWait {
    batch: BatchId,
    targets: Vec<HunkSet>,
    /// The hunks about which nothing was decided.
    refused: Vec<DecidedHunk>,
    /// Why hunks were not undone or restored, and the state that the reply gives them instead of their own.
    why: HashMap<(ChangeSetId, String), (String, Option<HunkState>)>,
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
            ReviewAction::Keep => {
                let begun = self.reviewed(params, ReviewAct::Keep).await;
                return self.answer_when_over(begun, reply);
            }
            ReviewAction::Undo => {
                let begun = self.reviewed(params, ReviewAct::Undo).await;
                return self.answer_when_over(begun, reply);
            }
            ReviewAction::Restore => {
                let begun = self.reviewed(params, ReviewAct::Restore).await;
                return self.answer_when_over(begun, reply);
            }
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

    /// Answers a decision about applied hunks; if a step carries it out, at its end.
    pub(super) fn answer_when_over(
        &mut self,
        begun: Result<BegunReview, ClientError>,
        reply: Reply<Vec<DecidedHunk>>,
    ) {
        match begun {
            Ok(BegunReview { targets, refused, by_step: Some(batch), .. }) => {
                let why = HashMap::new();
                self.replies.reviews.push(ReviewWait { batch, targets, refused, why, reply });
            }
            Ok(BegunReview { mut hunks, refused, .. }) => {
                hunks.extend(refused);
                self.answer_decision(hunks, reply);
            }
            Err(refused) => drop(reply.send(Err(refused))),
        }
    }

    async fn reviewed(
        &mut self,
        params: ReviewDecideParams,
        act: ReviewAct,
    ) -> Result<BegunReview, ClientError> {
        check(&params)?;
        let there = self.catch_up(&params, act).await;
        let mut targets = SeenTargets::new();
        for ReviewTarget { change_set_id, hunk_ids, mut seen } in params.targets {
            let change = self.session.applied.get(&change_set_id);
            let all = || change.into_iter().flat_map(|change| act.possible(change));
            let ids: Vec<String> = if hunk_ids.is_empty() { all().collect() } else { hunk_ids };
            let hunks = targets.entry(change_set_id).or_default();
            hunks.extend(ids.into_iter().map(|id| {
                let seen = seen.remove(&id);
                (id, seen)
            }));
        }
        let mut refused = self.take_out_elsewhere(&mut targets, &there);
        if act == ReviewAct::Keep {
            refused.extend(look_at_kept(&mut targets, &there));
        }
        let begun = match targets.is_empty() {
            true => BegunReview::default(),
            false => self.begin_review(targets, act, false, params.reason).await?,
        };
        Ok(BegunReview { refused, ..begun })
    }

    /// Takes the hunks out about which nothing can be decided now, and returns them.
    fn take_out_elsewhere(&self, targets: &mut SeenTargets, there: &TextsInPlace) -> Vec<DecidedHunk> {
        let mut refused = Vec::new();
        for (change_set, hunks) in targets.iter_mut() {
            hunks.retain(|hunk, _| {
                let found = there.get(&(change_set.clone(), hunk.clone()));
                let Some(elsewhere) = found.and_then(|found| found.elsewhere.as_ref()) else { return true };
                let set = HunkSet { change_set: change_set.clone(), hunks: vec![hunk.clone()] };
                let mut states =
                    wire::review::applied_states(&self.session, &[set], |_, _| Some(elsewhere.why()));
                if matches!(elsewhere, NotDecidable::Away(_)) {
                    states.iter_mut().for_each(|hunk| hunk.state = HunkState::Away);
                }
                refused.extend(states);
                false
            });
        }
        targets.retain(|_, hunks| !hunks.is_empty());
        refused
    }

    /// Records what the user did in the editor to hunks of a decision, if the log does not say it yet: the decision is about
    /// what the text shows. Returns what is in the places of the hunks, if that matters for the decision.
    async fn catch_up(&mut self, params: &ReviewDecideParams, act: ReviewAct) -> TextsInPlace {
        let mut files = BTreeSet::new();
        let mut named: BTreeMap<ChangeSetId, Vec<String>> = BTreeMap::new();
        for target in &params.targets {
            let Some(change) = self.session.applied.get(&target.change_set_id) else { continue };
            let is_named =
                |hunk: &&AppliedHunk| target.hunk_ids.is_empty() || target.hunk_ids.contains(&hunk.id);
            let hunks: Vec<&AppliedHunk> = change.hunks.iter().filter(is_named).collect();
            if hunks.iter().any(|hunk| act == ReviewAct::Keep || !act.is_possible(hunk.state)) {
                files.insert(change.target.clone());
            }
            let ids = hunks.into_iter().map(|hunk| hunk.id.clone());
            named.entry(target.change_set_id.clone()).or_default().extend(ids);
        }
        if files.is_empty() {
            return TextsInPlace::new();
        }
        let there = texts_in_place(self.place.clone(), files).await;
        for (change_set, hunks) in named {
            for is_in_text in [true, false] {
                let is_so = |id: &&String| {
                    let found = there.get(&(change_set.clone(), (*id).clone()));
                    found.is_some_and(|found| found.is_in_text == Some(is_in_text))
                };
                let shown = hunks.iter().filter(is_so).map(|id| SeenHunk { hunk: id.clone(), seen: None });
                let target = Target { change_set: change_set.clone(), hunks: shown.collect(), open: false };
                // Refused where the log says the same.
                let _ = self.input(Input::Found { target, is_in_text, by: ReviewedBy::Editor }).await;
            }
        }
        there
    }

    /// Records a decision about applied hunks. `as_one`: it is about whole runs.
    pub(super) async fn begin_review(
        &mut self,
        targets: SeenTargets,
        act: ReviewAct,
        as_one: bool,
        reason: Option<String>,
    ) -> Result<BegunReview, ClientError> {
        let sets: Vec<HunkSet> = targets
            .iter()
            .map(|(id, hunks)| HunkSet { change_set: id.clone(), hunks: hunks.keys().cloned().collect() })
            .collect();
        let seen = |(hunk, seen)| SeenHunk { hunk, seen };
        let targets = targets
            .into_iter()
            .map(|(change_set, hunks)| Target {
                open: self.is_open(&change_set),
                change_set,
                hunks: hunks.into_iter().map(seen).collect(),
            })
            .collect();
        let input = ReviewInput { targets, act, as_one, reason };
        let events = match self.record_input(Input::Review(input)).await {
            Ok(events) => events,
            // All of it is so already, for example because a decision was sent twice.
            Err(RecordError::Refused(Refusal::Nothing)) if self.stopped.is_none() => Vec::new(),
            Err(why) => return Err(self.not_recorded(why)),
        };
        let by_step = events.iter().find_map(|event| match event {
            Event::ReviewStarted { batch, .. } => Some(batch.clone()),
            _ => None,
        });
        let hunks = wire::review::applied_states(&self.session, &sets, |_, _| None);
        Ok(BegunReview { hunks, targets: sets, refused: Vec::new(), by_step })
    }

    /// Whether the file of a change is open in an editor of this process.
    fn is_open(&self, change_set: &ChangeSetId) -> bool {
        let change = self.session.applied.get(change_set);
        change.is_some_and(|change| matches!(self.place.world.documents.under(&change.uri), Text::Open(_)))
    }

    /// Answers decisions that are over after these events.
    pub(super) fn review_over(&mut self, events: &[Event]) {
        if self.replies.reviews.is_empty() {
            return;
        }
        for event in events {
            let Event::ReviewFailed { change_set, hunks, why, conflict, away } = event else { continue };
            let state = match (conflict, away) {
                (true, _) => Some(HunkState::Conflicted),
                (false, true) => Some(HunkState::Away),
                (false, false) => None,
            };
            for wait in &mut self.replies.reviews {
                let why = (why.clone(), state);
                wait.why.extend(hunks.iter().map(|hunk| ((change_set.clone(), hunk.clone()), why.clone())));
            }
        }
        let pending: Vec<BatchId> = self.session.applied.pending().into_iter().cloned().collect();
        let is_over = |wait: &mut ReviewWait| !pending.contains(&wait.batch);
        let over: Vec<ReviewWait> = self.replies.reviews.extract_if(.., is_over).collect();
        for ReviewWait { targets, refused, why, reply, .. } in over {
            let of = |change_set: &ChangeSetId, hunk: &str| why.get(&(change_set.clone(), hunk.to_owned()));
            let words = |change_set: &ChangeSetId, hunk: &str| Some(of(change_set, hunk)?.0.clone());
            let mut hunks = wire::review::applied_states(&self.session, &targets, words);
            for hunk in &mut hunks {
                let state = of(&hunk.change_set_id, &hunk.hunk_id).and_then(|(_, state)| *state);
                hunk.state = state.unwrap_or(hunk.state);
            }
            hunks.extend(refused);
            self.answer_decision(hunks, reply);
        }
    }
}

fn check(params: &ReviewDecideParams) -> Result<(), ClientError> {
    check_reason(params.reason.as_deref())?;
    let hunks: usize = params.targets.iter().map(|target| target.hunk_ids.len()).sum();
    if params.targets.len() + hunks > MAX_TARGETS {
        let why = format!("one decision names at most {MAX_TARGETS} change sets and hunks");
        return Err(ClientError::new(ErrorName::AnswerInvalid, why));
    }
    Ok(())
}

/// Refuses a reason that is too long.
pub(super) fn check_reason(reason: Option<&str>) -> Result<(), ClientError> {
    match reason {
        Some(reason) if reason.len() > MAX_WORDS => {
            let why = format!("a reason has at most {MAX_WORDS} bytes");
            Err(ClientError::new(ErrorName::AnswerInvalid, why))
        }
        _ => Ok(()),
    }
}

/// What is in the place of a hunk.
struct TextInPlace {
    text: String,
    /// Whether the user wrote other lines there.
    is_amended: bool,
    /// Whether the text has the hunk; `None` where it has neither the hunk nor what was before it, where the file is not there,
    /// and where nothing can be decided.
    is_in_text: Option<bool>,
    /// Why nothing can be decided about it now.
    elsewhere: Option<NotDecidable>,
}

/// What is in the places of hunks, by their change set and their id.
type TextsInPlace = HashMap<(ChangeSetId, String), TextInPlace>;

/// Sets the text that the user wrote in the place of each kept hunk, for the note to the model. Takes out the hunks whose text
/// is not the one that was shown, and returns them.
fn look_at_kept(targets: &mut SeenTargets, there: &TextsInPlace) -> Vec<DecidedHunk> {
    let mut conflicts = Vec::new();
    for (change_set, hunks) in targets.iter_mut() {
        hunks.retain(|hunk, seen| {
            let found = there.get(&(change_set.clone(), hunk.clone()));
            let is_shown = seen.is_none() || seen.as_ref() == found.map(|found| &found.text);
            if !is_shown {
                let (change_set_id, hunk_id) = (change_set.clone(), hunk.clone());
                let why = Some(NOT_AS_SHOWN.to_owned());
                conflicts.push(DecidedHunk { change_set_id, hunk_id, state: HunkState::Conflicted, why });
            }
            *seen = found.filter(|found| found.is_amended).map(|found| found.text.clone());
            is_shown
        });
    }
    targets.retain(|_, hunks| !hunks.is_empty());
    conflicts
}

/// Returns what the disk shows of the deletion or the move of a file; `None` for an edit of lines. Blocks.
fn operation_in_place(owned: &OwnedChange) -> Option<((ChangeSetId, String), TextInPlace)> {
    let hunk = owned.change.operation.as_ref().and(owned.change.hunks.first())?;
    let found = operation_found(owned);
    let is_busy = differs_from_log(hunk, found) && is_git_busy(&owned.change.target);
    let is_in_text = match found {
        HunkText::Is(side) if !is_busy => Some(side == Side::After),
        _ => None,
    };
    let elsewhere = is_busy.then_some(NotDecidable::GitBusy);
    let name = (owned.change.change_set.clone(), hunk.id.clone());
    Some((name, TextInPlace { text: String::new(), is_amended: false, is_in_text, elsewhere }))
}

/// Returns what these files have in the places of a session's hunks.
async fn texts_in_place(place: Arc<SessionWorld>, files: BTreeSet<String>) -> TextsInPlace {
    let read = move || {
        let mut there = TextsInPlace::new();
        for file in files {
            let all = place.world.reviews.of_file(&file);
            let operations = all.iter().filter(|owned| owned.session == place.id);
            there.extend(operations.filter_map(operation_in_place));
            let changes = FileChanges::read(&place.world.reviews, all);
            let now = changes.changes.first().and_then(|owned| text_now(&place.world.documents, owned));
            let is_gone = now.is_none() && uri::to_path(&file).is_ok_and(|path| !path.exists());
            // A file that is not there says only that its text is elsewhere.
            let Some(now) = now.or_else(|| is_gone.then(String::new)) else { continue };
            let all: Vec<&str> = lines(&now).collect();
            let traces = changes.trace(&now);
            let elsewhere = not_decidable(&changes, &traces, |(change, hunk)| {
                let owned = changes.changes.get(change);
                let hunk = owned.and_then(|owned| owned.change.hunks.get(hunk));
                hunk.is_some_and(|hunk| hunk.pending.is_none())
            });
            for (change, (owned, traces)) in changes.changes.iter().zip(traces).enumerate() {
                if owned.session != place.id {
                    continue;
                }
                for (number, (hunk, trace)) in owned.change.hunks.iter().zip(traces).enumerate() {
                    let is_amended = matches!(trace.found, HunkText::Amended { .. });
                    let elsewhere = elsewhere.get(&(change, number)).cloned();
                    let is_in_text = match trace.found {
                        HunkText::Is(side) if elsewhere.is_none() && !is_gone => Some(side == Side::After),
                        _ => None,
                    };
                    let text = all.get(trace.lines).unwrap_or_default().concat();
                    let name = (owned.change.change_set.clone(), hunk.id.clone());
                    there.insert(name, TextInPlace { text, is_amended, is_in_text, elsewhere });
                }
            }
        }
        there
    };
    aside(read).await
}
