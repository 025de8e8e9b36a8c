//! Taking back whole runs: what it would mean now, and the decision that carries out exactly that.
//!
//! Never decides about a file that is not as the preview showed it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use adjutant_core::machine::input::ReviewAct;
use adjutant_core::record::AskKind;
use adjutant_core::session::rewind::{
    FileRewind, FoundFile, FoundOperation, RewindOutcome, RewindRefusal, RewoundRuns,
};
use adjutant_core::session::{AppliedChange, AppliedChanges, NameOfFile, Session};
use adjutant_core::text::display::one_line;
use adjutant_core::wire::rewind::{RewoundFile, preview};
use adjutant_protocol::SessionId;
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::review::DecidedHunk;
use adjutant_protocol::rewind::{PreviewParams, RewindParams, RewindPreview};

use super::deciding::{BegunReview, SeenTargets, check_reason};
use super::edits::{CurrentFile, present_file};
use super::mailbox::{ClientError, Reply};
use super::{SessionTask, SessionWorld};
use crate::aside::aside;
use crate::reviews::{FileChanges, OwnedChange, text_before};

/// Files that an error names.
const MOST_NAMED: usize = 5;

/// A file with changes of the runs, and what is known of these.
struct FileOfRuns {
    file: RewoundFile,
    changes: FileChanges,
}

impl SessionTask {
    fn cannot_rewind(&self, why: RewindRefusal) -> ClientError {
        let text = match why {
            RewindRefusal::NoSuchRun => "the session has no such run with changes",
            RewindRefusal::Open if self.session.has_open_ask(AskKind::ResumeTask) => {
                "the run was interrupted; finish it with `adjutant run --continue` or discard it in your editor, and then \
                 undo it; single changes can be undone now"
            }
            RewindRefusal::Open => "the run is not over; cancel it, or wait until it ends",
        };
        ClientError::new(ErrorName::AnswerInvalid, text)
    }

    /// Returns what it would mean to take runs back. Changes nothing.
    pub(super) async fn preview(&mut self, params: PreviewParams) -> Result<RewindPreview, ClientError> {
        let PreviewParams { run_id, later, restore, .. } = params;
        let runs =
            self.session.rewound(run_id.as_ref(), later, restore).map_err(|why| self.cannot_rewind(why))?;
        let files = files_of(&self.place, &self.session, &runs).await;
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
        let runs =
            self.session.rewound(Some(&run_id), later, restore).map_err(|why| self.cannot_rewind(why))?;
        let files = files_of(&self.place, &self.session, &runs).await;
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

    fn shown(&self, runs: &RewoundRuns, files: &[FileOfRuns]) -> RewindPreview {
        let shown: Vec<&RewoundFile> = files.iter().map(|of| &of.file).collect();
        preview(&self.session, runs, &shown, |number, why| files[number].changes.refusal(why))
    }
}

/// Reads the files, and finds out what becomes of their hunks.
async fn files_of(place: &Arc<SessionWorld>, session: &Session, runs: &RewoundRuns) -> Vec<FileOfRuns> {
    let (place, runs, applied) = (place.clone(), runs.clone(), session.applied.clone());
    aside(move || {
        let files = changed_files(&applied, &runs);
        let read: Vec<FileRead> =
            files.into_iter().map(|(name, operations)| FileRead::new(&place, name, operations)).collect();
        let found: Vec<FoundFile<'_>> = read.iter().filter_map(|file| file.found(&place.id)).collect();
        let mut rewinds = runs.in_files(&applied, &found).into_iter();
        let rewinds: Vec<Option<FileRewind>> =
            read.iter().map(|file| file.now.as_ref().ok().and_then(|_| rewinds.next())).collect();
        let all = read.into_iter().zip(rewinds).map(|(file, rewind)| file.of_runs(&place.id, &runs, rewind));
        all.flatten().collect()
    })
    .await
}

/// Returns the files with changes of these runs, each with its deletions and moves, and the other names that moves lead to.
fn changed_files(
    applied: &AppliedChanges,
    runs: &RewoundRuns,
) -> BTreeMap<NameOfFile, Vec<Arc<AppliedChange>>> {
    let mut files: BTreeMap<NameOfFile, Vec<Arc<AppliedChange>>> = BTreeMap::new();
    for change in applied.all().into_iter().filter(|change| runs.all.contains(&change.maker.run)) {
        for name in change.names() {
            files.entry(name).or_default();
        }
        let operations = files.entry(applied.name_now(change)).or_default();
        operations.extend(change.operation.is_some().then(|| change.clone()));
    }
    files
}

/// A file as it is now, with what is known of its changes.
struct FileRead {
    name: NameOfFile,
    now: Result<CurrentFile, String>,
    changes: FileChanges,
    /// Its deletions and moves by the runs, each with the text before.
    operations: Vec<(Arc<AppliedChange>, Option<String>)>,
}

impl FileRead {
    /// Reads a file. Blocks.
    fn new(place: &SessionWorld, name: NameOfFile, operations: Vec<Arc<AppliedChange>>) -> Self {
        let with_text = |change: Arc<AppliedChange>| {
            let text = text_before(&place.blobs, &change);
            (change, text)
        };
        Self {
            now: present_file(place, &name.path, &name.target),
            changes: FileChanges::read(&place.world.reviews, place.world.reviews.of_file(&name.target)),
            operations: operations.into_iter().map(with_text).collect(),
            name,
        }
    }

    /// Returns it in the form in which hunks are undone and restored; `None` if it cannot be read.
    fn found(&self, session: &SessionId) -> Option<FoundFile<'_>> {
        let (now, operations) = (self.now.as_ref().ok()?, self.operations.iter());
        Some(FoundFile {
            target: &self.name.target,
            text: now.exists().then(|| now.text()),
            // An open document stays, also if it is empty.
            is_created: !now.exists() || now.disk().is_some(),
            changes: self.changes.found(session),
            operations: operations
                .map(|(change, text)| FoundOperation { change, text: text.as_deref() })
                .collect(),
        })
    }

    /// Returns what becomes of it; `None` if it has no hunks of the runs.
    fn of_runs(
        self,
        session: &SessionId,
        runs: &RewoundRuns,
        rewind: Option<FileRewind>,
    ) -> Option<FileOfRuns> {
        let Self { name: NameOfFile { path, uri, .. }, now, changes, operations } = self;
        let hunks = match now {
            Ok(_) => Ok(rewind.filter(|rewind| !rewind.hunks.is_empty())?),
            Err(why) => {
                let is_own = |owned: &&OwnedChange| {
                    owned.session == *session && runs.all.contains(&owned.change.maker.run)
                };
                let own = changes.changes.iter().filter(is_own).map(|owned| owned.change.hunks.len());
                let count = own.sum::<usize>() + operations.len();
                Err((Some(count).filter(|count| *count > 0)?, why))
            }
        };
        Some(FileOfRuns { file: RewoundFile { uri, path, hunks }, changes })
    }
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
