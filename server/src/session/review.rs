//! Undoes and restores applied hunks in the text of now.
//!
//! Never believes that it was done without the text, and never replaces a text that the user has not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use adjutant_core::machine::input::{EditOutcome, Report, ReviewOutcome};
use adjutant_core::record::{BatchId, ChangeSetId, FileChange};
use adjutant_core::session::{AppliedChange, AppliedHunk, PendingReview, Session, TurningBy};
use adjutant_core::text::review::hunks;
use adjutant_core::text::trace::{
    HunkNumber, Side, SideRefusal, SideTarget, TurnedHunk, TurnedText, UserText, turn, undone_as_seen,
};

use super::SessionWorld;
use super::edits::{
    BatchEdit, DiskEdit, apply_edit, file_act, groups, is_for_disk, present_file, put_before, remove,
    write_together,
};
use crate::aside::aside;
use crate::reviews::FileChanges;
use crate::reviews::away::{NotDecidable, checked_out, not_decidable};
use crate::uri;

/// A part of a decision.
pub enum ReviewPart {
    Lines(FileReview),
    Operation(OperationReview),
}

/// The deletion or move of a file that a decision undoes or restores.
pub struct OperationReview {
    change: Arc<AppliedChange>,
    restore: bool,
    hunk: String,
}

/// The hunks of one file that a decision undoes or restores.
pub struct FileReview {
    /// The URI of the file after following every link.
    target: String,
    path: String,
    uri: String,
    restore: bool,
    /// An editor had the file open when it was decided, and its server was killed meanwhile.
    is_of_lost_editor: bool,
    hunks: Vec<WantedHunk>,
}

#[derive(Clone)]
struct WantedHunk {
    change_set: ChangeSetId,
    hunk: String,
    seen: Option<String>,
}

/// Returns what a decision of a session does next: hunks of one file together, and nothing after the first deletion or move,
/// because files have other names after it. What was done last is undone first; to restore is the other way round.
pub fn parts_of(session: &Session, batch: &BatchId) -> Vec<ReviewPart> {
    let mut changes: Vec<&Arc<AppliedChange>> = session.applied.all();
    let restores = changes.iter().any(|change| change.pending(batch).any(|(_, pending)| pending.restore));
    if !restores {
        changes.reverse();
    }
    let mut parts = Vec::new();
    let mut files: Vec<FileReview> = Vec::new();
    for change in changes {
        if change.operation.is_some() {
            let operation = |(hunk, pending): (&AppliedHunk, &PendingReview)| {
                let (hunk, restore) = (hunk.id.clone(), pending.restore);
                ReviewPart::Operation(OperationReview { change: change.clone(), restore, hunk })
            };
            if let Some(operation) = change.pending(batch).map(operation).next() {
                parts.extend(files.into_iter().map(ReviewPart::Lines));
                parts.push(operation);
                return parts;
            }
            continue;
        }
        for (hunk, pending) in change.pending(batch) {
            let wanted = WantedHunk {
                change_set: change.change_set.clone(),
                hunk: hunk.id.clone(),
                seen: pending.seen.clone(),
            };
            match files.iter_mut().find(|file| file.target == change.target) {
                Some(file) => {
                    file.is_of_lost_editor |= pending.maker == TurningBy::LostEditor;
                    file.hunks.push(wanted);
                }
                None => files.push(FileReview {
                    target: change.target.clone(),
                    path: change.path.clone(),
                    uri: change.uri.clone(),
                    restore: pending.restore,
                    is_of_lost_editor: pending.maker == TurningBy::LostEditor,
                    hunks: vec![wanted],
                }),
            }
        }
    }
    parts.extend(files.into_iter().map(ReviewPart::Lines));
    parts
}

/// Carries out a decision, and reports on each change. Closed files next to each other change at once.
pub async fn carry_out(place: &Arc<SessionWorld>, parts: Vec<ReviewPart>, report: impl Fn(Report)) {
    let target = |part: &ReviewPart| match part {
        ReviewPart::Lines(file) => Some(file.target.clone()),
        ReviewPart::Operation(_) => None,
    };
    for group in groups(parts, target) {
        let mut files = Vec::new();
        for part in group {
            match part {
                ReviewPart::Lines(file) => files.push(Arc::new(file)),
                ReviewPart::Operation(operation) => report(turn_operation(place, operation).await),
            }
        }
        let firsts = turn_together(place, &files).await;
        for (file, first) in files.iter().zip(firsts) {
            let results = match first {
                Some(results) => results,
                None => turn_over(place, file).await,
            };
            let target = file.target.clone();
            let on = aside(move || checked_out(&target)).await;
            outcomes_of(results, on.as_ref()).into_iter().for_each(&report);
        }
    }
}

async fn turn_operation(place: &Arc<SessionWorld>, operation: OperationReview) -> Report {
    let OperationReview { change, restore, hunk } = operation;
    let result = match restore {
        true => file_act::restore(place, &change).await,
        false => file_act::undo(place, &change).await,
    };
    let mut outcome = ReviewOutcome::default();
    match result {
        Ok(()) => outcome.done.push(hunk),
        Err(why) => outcome.failed.push((hunk, why)),
    }
    Report::Reviewed { change_set: change.change_set.clone(), outcome }
}

/// Returns the report on each change of a file. `on`: what is checked out in its repository.
fn outcomes_of(results: HunkResults, on: Option<&String>) -> Vec<Report> {
    let mut outcomes: Vec<(ChangeSetId, ReviewOutcome)> = Vec::new();
    for (wanted, result) in results {
        let at = outcomes.iter().position(|(id, _)| *id == wanted.change_set).unwrap_or_else(|| {
            outcomes.push((wanted.change_set.clone(), ReviewOutcome::default()));
            outcomes.len() - 1
        });
        match result {
            Ok(dropped) => {
                let outcome = &mut outcomes[at].1;
                outcome.dropped.extend(dropped.map(|text| (wanted.hunk.clone(), text)));
                outcome.done.push(wanted.hunk);
            }
            Err(ReviewRefusal { why, conflict, away }) => {
                let outcome = &mut outcomes[at].1;
                outcome.away.extend(away.then(|| wanted.hunk.clone()));
                outcome.conflicts.extend(conflict.then(|| wanted.hunk.clone()));
                outcome.failed.push((wanted.hunk, why));
            }
        }
    }
    let report = |(change_set, outcome)| Report::Reviewed {
        change_set,
        outcome: ReviewOutcome { on: on.cloned(), ..outcome },
    };
    outcomes.into_iter().map(report).collect()
}

/// Tries once to undo or restore the hunks of closed files, all at once. Returns for each file the results if the text has
/// them; `None` if it must be turned over by itself.
async fn turn_together(place: &Arc<SessionWorld>, files: &[Arc<FileReview>]) -> Vec<Option<HunkResults>> {
    let mut turned: Vec<Option<HunkResults>> = files.iter().map(|_| None).collect();
    if files.len() < 2 {
        return turned;
    }
    let (here, owned) = (place.clone(), files.to_vec());
    let plans =
        aside(move || owned.iter().map(|file| plan(&here, file, true).ok()).collect::<Vec<_>>()).await;
    let (mut edits, mut results) = (Vec::new(), Vec::new());
    for (number, planned) in plans.into_iter().enumerate() {
        let Some(planned) = planned else { continue };
        let edit = match planned.change {
            PlannedEdit::Change(change) if is_for_disk(place, &change) => DiskEdit::Edit(change),
            PlannedEdit::Remove(disk) => {
                let FileReview { path, target, .. } = &*files[number];
                DiskEdit::Remove { path: path.clone(), target: target.clone(), disk }
            }
            PlannedEdit::Change(_) | PlannedEdit::Nothing => continue,
        };
        edits.push(edit);
        results.push((number, planned.results));
    }
    for ((number, results), attempt) in results.into_iter().zip(write_together(place, edits).await) {
        if attempt.is_some_and(|attempt| attempt.has_landed()) {
            turned[number] = Some(results);
        }
    }
    turned
}

/// Why a hunk was not undone or restored.
#[derive(Clone)]
struct ReviewRefusal {
    why: String,
    /// Whether another text than the one that was shown is in its place.
    conflict: bool,
    /// Whether its text is on another branch or in the stash.
    away: bool,
}

impl ReviewRefusal {
    fn because(why: impl Into<String>) -> Self {
        Self { why: why.into(), conflict: false, away: false }
    }

    fn elsewhere(why: &NotDecidable) -> Self {
        Self { away: matches!(why, NotDecidable::Away(_)), ..Self::because(why.why()) }
    }
}

/// For each hunk, the text of the user that was in its place, or why nothing was done.
type HunkResults = Vec<(WantedHunk, Result<Option<String>, ReviewRefusal>)>;

/// How often it is tried again because the text changed meanwhile.
const MORE_TRIES: u32 = 2;

/// Undoes or restores the hunks of one file, and says of each whether the text has it as decided.
async fn turn_over(place: &Arc<SessionWorld>, file: &Arc<FileReview>) -> HunkResults {
    let mut why = String::new();
    for attempt in 0..=MORE_TRIES {
        let (here, of_file) = (place.clone(), file.clone());
        let planned = aside(move || plan(&here, &of_file, attempt == 0)).await;
        let ReviewPlan { change, results } = match planned {
            Ok(plan) => plan,
            Err(why) => return all_failed(file, &why),
        };
        let change = match change {
            PlannedEdit::Nothing => return results,
            PlannedEdit::Change(change) => change,
            PlannedEdit::Remove(disk) => {
                let _turn =
                    place.world.edit_turns.turn(&uri::to_path(&file.target).unwrap_or_default()).await;
                let (here, of_file) = (place.clone(), file.clone());
                let removed = aside(move || remove(&here, &of_file.path, &of_file.target, disk)).await;
                return removed.map_or_else(|why| all_failed(file, &why), |()| results);
            }
        };
        let title = if file.restore { "restore" } else { "undo" };
        let edit = BatchEdit { title: format!("{title} in {}", file.path), seen: None, change: *change };
        match apply_edit(place, &edit).await {
            EditOutcome::Landed { .. } => return results,
            EditOutcome::Overtaken { why: overtaken, .. } => why = overtaken,
            outcome => {
                // Only the text says what became of it.
                let (here, of_file) = (place.clone(), file.clone());
                let now = aside(move || plan(&here, &of_file, false)).await;
                let Ok(ReviewPlan { change, mut results }) = now else {
                    return all_failed(file, &sentence(outcome));
                };
                if !matches!(change, PlannedEdit::Nothing) {
                    let why = sentence(outcome);
                    results.iter_mut().filter(|(_, result)| result.is_ok()).for_each(|(_, result)| {
                        *result = Err(ReviewRefusal::because(why.clone()));
                    });
                }
                return results;
            }
        }
    }
    let because = ReviewRefusal::because(format!("the text kept changing ({why})"));
    let refused = ReviewRefusal { conflict: true, ..because };
    file.hunks.iter().map(|wanted| (wanted.clone(), Err(refused.clone()))).collect()
}

fn sentence(outcome: EditOutcome) -> String {
    match outcome {
        EditOutcome::NotApplied { why, in_doubt: false } => why,
        EditOutcome::NotApplied { why, in_doubt: true } => format!("{why}; it may still appear"),
        EditOutcome::Undone => "the editor took it back at once".to_owned(),
        EditOutcome::Misplaced => "the editor made it at another place; look at the file".to_owned(),
        EditOutcome::Partly { .. } => "the editor made only a part of it; look at the file".to_owned(),
        EditOutcome::Landed { .. } | EditOutcome::Overtaken { .. } => String::new(),
    }
}

fn all_failed(file: &FileReview, why: &str) -> HunkResults {
    file.hunks.iter().map(|wanted| (wanted.clone(), Err(ReviewRefusal::because(why)))).collect()
}

/// The edit that brings one file to what was decided.
enum PlannedEdit {
    Nothing,
    Change(Box<FileChange>),
    /// A closed file that the agent created, and that has nothing but its text. Its bytes on disk have this hash.
    Remove([u8; 32]),
}

/// What is to be done in one file.
struct ReviewPlan {
    change: PlannedEdit,
    /// The results if the edit lands.
    results: HunkResults,
}

/// Makes the edit for the text of now. `is_untouched`: nothing was tried yet, so that a text without a hunk does not have it for
/// another reason. Blocks.
fn plan(place: &Arc<SessionWorld>, file: &FileReview, is_untouched: bool) -> Result<ReviewPlan, String> {
    let now = present_file(place, &file.path, &file.target)?;
    let changes = FileChanges::read(&place.world.reviews, place.world.reviews.of_file(&file.target));
    let is_created = changes.changes.iter().any(|owned| !owned.change.existed);
    let may_be_made = file.restore && is_created;
    let is_gone = !now.exists() && !may_be_made;
    let to = if file.restore { Side::After } else { Side::Before };
    let mut results: HunkResults = Vec::new();
    let mut targets: Vec<(SideTarget, &WantedHunk)> = Vec::new();
    for wanted in &file.hunks {
        match changes.number_of(&place.id, &wanted.change_set, &wanted.hunk) {
            Some((change, hunk)) => {
                targets.push((SideTarget { change, hunk, seen: wanted.seen.clone() }, wanted));
            }
            None => {
                results.push((wanted.clone(), Err(ReviewRefusal::because("its text is not kept any more"))))
            }
        }
    }
    let past = changes.past();
    let turned_with = |targets: &[(SideTarget, &WantedHunk)]| {
        let targets: Vec<SideTarget> = targets.iter().map(|(target, _)| target.clone()).collect();
        turn(now.text(), &past, &targets, to, UserText::IfSeen)
    };
    let mut turning = turned_with(&targets);
    if is_untouched && !file.restore {
        let unclear = targets.iter().zip(&turning.results).filter(|(_, turned)| {
            // What the text has can be undone, wherever else it is.
            is_gone || !matches!(turned, Ok(TurnedHunk::Turned { dropped: None }))
        });
        let unclear: BTreeSet<HunkNumber> =
            unclear.map(|((target, _), _)| (target.change, target.hunk)).collect();
        let elsewhere = match unclear.is_empty() {
            true => BTreeMap::new(),
            false => not_decidable(&changes, &changes.trace(now.text()), |hunk| unclear.contains(&hunk)),
        };
        if !elsewhere.is_empty() {
            targets.retain(|(target, wanted)| {
                let why = elsewhere.get(&(target.change, target.hunk)).map(ReviewRefusal::elsewhere);
                let is_here = why.is_none();
                results.extend(why.map(|why| ((*wanted).clone(), Err(why))));
                is_here
            });
            turning = turned_with(&targets);
        }
    }
    let is_unseen = |turned: &Result<TurnedHunk, SideRefusal>| matches!(turned, Err(SideRefusal::Amended));
    if !file.restore && turning.results.iter().any(is_unseen) {
        let targets: Vec<SideTarget> = targets.iter().map(|(target, _)| target.clone()).collect();
        if let Some(as_seen) = undone_as_seen(now.text(), &past, &targets, &changes.undone_last()) {
            turning = as_seen;
        }
    }
    if is_gone {
        let gone = || ReviewRefusal::because("the file is not there now");
        results.extend(targets.into_iter().map(|(_, wanted)| (wanted.clone(), Err(gone()))));
        return Ok(ReviewPlan { change: PlannedEdit::Nothing, results });
    }
    let (targets, own): (Vec<SideTarget>, Vec<&WantedHunk>) = targets.into_iter().unzip();
    let TurnedText { text: wanted, results: turned } = turning;
    let is_empty = |target: &SideTarget| past[target.change].hunks[target.hunk].hunk.is_empty();
    let creates = targets.iter().zip(&turned).any(|(target, result)| result.is_ok() && is_empty(target));
    // An empty file has the same text as none.
    let is_as_decided = !creates || if file.restore { now.exists() } else { now.disk().is_none() };
    results.extend(own.into_iter().cloned().zip(turned).map(|(wanted, result)| {
        let dropped = |turned| match turned {
            TurnedHunk::Turned { dropped } => dropped,
            TurnedHunk::Already => None,
        };
        let refused = |why| {
            let conflict = matches!(why, SideRefusal::Amended);
            ReviewRefusal { conflict, ..ReviewRefusal::because(changes.refusal(why)) }
        };
        (wanted, result.map(dropped).map_err(refused))
    }));
    if wanted == now.text() && (is_as_decided || !wanted.is_empty()) {
        return Ok(ReviewPlan { change: PlannedEdit::Nothing, results });
    }
    if file.is_of_lost_editor && !now.is_open() {
        // What that editor has not saved is not known here, so nothing is written beneath it.
        let verb = if file.restore { "restored" } else { "undone" };
        let why = format!(
            "the server was killed while an editor {verb} it, and that editor may have text that is not saved; open {} there \
             and decide again",
            file.path
        );
        results.iter_mut().filter(|(_, result)| result.is_ok()).for_each(|(_, result)| {
            *result = Err(ReviewRefusal::because(why.clone()));
        });
        return Ok(ReviewPlan { change: PlannedEdit::Nothing, results });
    }
    if wanted.is_empty()
        && is_created
        && let Some(disk) = now.disk()
    {
        put_before(place, &now)?;
        return Ok(ReviewPlan { change: PlannedEdit::Remove(disk), results });
    }
    let change = FileChange {
        change_set: ChangeSetId::from("review"),
        parts: Vec::new(),
        path: file.path.clone(),
        uri: file.uri.clone(),
        target: file.target.clone(),
        open: now.is_open(),
        existed: now.exists(),
        always_ask: None,
        mark: None,
        tasks: Vec::new(),
        operation: None,
        before: now.exists().then(|| put_before(place, &now)).transpose()?,
        hunks: hunks(now.text(), &wanted).into(),
    };
    Ok(ReviewPlan { change: PlannedEdit::Change(Box::new(change)), results })
}
