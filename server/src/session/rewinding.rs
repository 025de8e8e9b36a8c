//! Taking back whole runs: what it would mean now, and the decision that carries out exactly that.
//!
//! Never decides about a file that is not as the preview showed it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use adjutant_core::machine::input::ReviewAct;
use adjutant_core::session::rewind::{RewindOutcome, RewindRefusal, RewoundRuns};
use adjutant_core::text::display::one_line;
use adjutant_core::wire::rewind::{RewoundFile, preview};
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::review::DecidedHunk;
use adjutant_protocol::rewind::{PreviewParams, RewindParams, RewindPreview};

use super::deciding::{BegunReview, SeenTargets, check_reason};
use super::edits::present_file;
use super::mailbox::{ClientError, Reply};
use super::{SessionTask, SessionWorld};
use crate::aside::aside;
use crate::reviews::FileChanges;

/// Files that an error names.
const MOST_NAMED: usize = 5;

/// A file with changes of the runs, and what is known of these.
struct FileOfRuns {
    file: RewoundFile,
    changes: FileChanges,
}

impl SessionTask {
    /// Returns what it would mean to take runs back. Changes nothing.
    pub(super) async fn preview(&mut self, params: PreviewParams) -> Result<RewindPreview, ClientError> {
        let PreviewParams { run_id, later, restore, .. } = params;
        let runs = self.session.rewound(run_id.as_ref(), later, restore).map_err(refused)?;
        let files = files_of(&self.place, &runs, self.targets_of(&runs)).await;
        Ok(self.shown(&runs, &files))
    }

    /// Undoes or restores what a preview has shown; the reply waits for the end.
    pub(super) async fn rewind(&mut self, params: RewindParams, reply: Reply<Vec<DecidedHunk>>) {
        let begun = self.rewound(params).await;
        self.answer_when_over(begun, reply);
    }

    async fn rewound(&mut self, params: RewindParams) -> Result<BegunReview, ClientError> {
        let RewindParams { run_id, later, restore, expect, user_lines, reason, .. } = params;
        check_reason(reason.as_deref())?;
        let runs = self.session.rewound(Some(&run_id), later, restore).map_err(refused)?;
        let files = files_of(&self.place, &runs, self.targets_of(&runs)).await;
        check_as_shown(&self.shown(&runs, &files), &expect)?;
        let mut targets = SeenTargets::new();
        for hunk in files.iter().filter_map(|of| of.file.hunks.as_ref().ok()).flat_map(|file| &file.hunks) {
            let seen = match &hunk.outcome {
                RewindOutcome::Exact => None,
                RewindOutcome::WithUsers { seen, .. } if user_lines => seen.clone(),
                RewindOutcome::Already | RewindOutcome::WithUsers { .. } | RewindOutcome::Left(_) => continue,
            };
            targets.entry(hunk.change_set.clone()).or_default().insert(hunk.hunk.clone(), seen);
        }
        if targets.is_empty() {
            let why = if restore { "there is nothing to restore" } else { "there is nothing to undo" };
            return Err(ClientError::new(ErrorName::AnswerInvalid, why));
        }
        let act = if restore { ReviewAct::Restore } else { ReviewAct::Undo };
        self.begin_review(targets, act, true, reason).await
    }

    /// Returns the files with changes of these runs.
    fn targets_of(&self, runs: &RewoundRuns) -> BTreeSet<String> {
        let all = self.session.applied.all().into_iter();
        all.filter(|change| runs.all.contains(&change.run)).map(|change| change.target.clone()).collect()
    }

    fn shown(&self, runs: &RewoundRuns, files: &[FileOfRuns]) -> RewindPreview {
        let shown: Vec<&RewoundFile> = files.iter().map(|of| &of.file).collect();
        preview(&self.session, runs, &shown, |number, why| files[number].changes.refusal(why))
    }
}

/// Reads the files with these targets, and finds out what becomes of their hunks.
async fn files_of(
    place: &Arc<SessionWorld>,
    runs: &RewoundRuns,
    targets: BTreeSet<String>,
) -> Vec<FileOfRuns> {
    let (place, runs) = (place.clone(), runs.clone());
    aside(move || {
        let mut files: Vec<FileOfRuns> =
            targets.iter().filter_map(|target| file_of(&place, &runs, target)).collect();
        files.sort_by(|one, other| one.file.path.cmp(&other.file.path));
        files
    })
    .await
}

fn file_of(place: &SessionWorld, runs: &RewoundRuns, target: &str) -> Option<FileOfRuns> {
    let changes = FileChanges::read(place.world.reviews.of_file(target));
    let is_of_runs = |change: &adjutant_core::session::AppliedChange| runs.all.contains(&change.run);
    let own = changes.changes.iter().filter(|owned| owned.session == place.id && is_of_runs(&owned.change));
    let last = own.clone().next_back()?;
    let is_created = changes.changes.iter().any(|owned| !owned.change.existed);
    let now = present_file(place, &last.change.path, target);
    let may_be_removed = is_created && now.as_ref().is_ok_and(|now| now.disk().is_some());
    let hunks = match now {
        Ok(now) if now.exists() || is_created => Ok(runs.in_file(now.text(), &changes.found(&place.id))),
        Ok(_) => Err("the file is not there now".to_owned()),
        Err(why) => Err(why),
    };
    let count = own.map(|owned| owned.change.hunks.len()).sum();
    let (uri, path) = (last.change.uri.clone(), last.change.path.clone());
    let hunks = hunks.map_err(|why| (count, why));
    Some(FileOfRuns { file: RewoundFile { uri, path, hunks, may_be_removed }, changes })
}

/// Refuses a decision about texts that are not as they were shown, and names their files.
fn check_as_shown(now: &RewindPreview, expect: &BTreeMap<String, String>) -> Result<(), ClientError> {
    let path = |uri: &String| {
        let file = now.files.iter().find(|file| file.uri == *uri);
        one_line(file.map_or(uri, |file| &file.path), 120)
    };
    let uris: BTreeSet<&String> = now.expect.keys().chain(expect.keys()).collect();
    let other: Vec<String> =
        uris.into_iter().filter(|uri| now.expect.get(*uri) != expect.get(*uri)).map(path).collect();
    if other.is_empty() {
        return Ok(());
    }
    let more = other.len().saturating_sub(MOST_NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let named = other[..other.len().min(MOST_NAMED)].join(", ");
    let why = format!("nothing was done, because {named}{more} changed since it was shown; look at it again");
    Err(ClientError::new(ErrorName::HunkConflict, why))
}

fn refused(why: RewindRefusal) -> ClientError {
    let text = match why {
        RewindRefusal::NoSuchRun => "the session has no such run with changes",
        RewindRefusal::Open => "the run is not over; cancel it, or wait until it ends",
    };
    ClientError::new(ErrorName::AnswerInvalid, text)
}
