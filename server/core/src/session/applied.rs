//! The changes that are in the text or were: from their application to the end of their review, across runs.
//!
//! A function of the events alone. Never says where a hunk is: only the text does (`text::trace`).

mod lines;
mod names;
mod room;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::record::{
    AllowedBy, BatchId, CallPart, ChangeSetId, EditsMode, Event, FileChange, FileOperation, HunkSet, Record,
    ReviewState, ReviewedBy, RunId, SeenHunk,
};
use crate::session::RunEdits;
use crate::session::hunks::{ChangeState, Changes, FILE, HunkState};
use crate::session::maker::Maker;
use crate::text::review::Hunk;
use crate::text::trace::{PastChange, PastHunk, Side};

use names::{FileOrigin, name_of, names_of_move};

pub use lines::{ChangeHead, UnreadChange, changes_of_lines};
pub use names::NameOfFile;

/// The most bytes of hunks that a session remembers for the review; the oldest changes are forgotten first.
const MOST_BYTES: usize = 32 << 20;

/// After this time a change that nobody has decided about counts as kept; milliseconds.
pub const KEPT_AFTER_MS: u64 = 14 * 86_400_000;

/// The applied changes of a session, by their ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AppliedChanges {
    all: BTreeMap<ChangeSetId, Arc<AppliedChange>>,
    /// How many bytes the hunks have.
    bytes: usize,
    /// The runs of changes that were forgotten.
    pub forgotten: BTreeSet<RunId>,
    /// The changes that move a file, oldest first.
    moves: Vec<ChangeSetId>,
    /// Grows with every change of a state.
    pub number: u64,
}

/// A change of one file of which at least one hunk was applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppliedChange {
    pub change_set: ChangeSetId,
    /// As the user sees it.
    pub path: String,
    pub uri: String,
    /// The URI of the file after following every link.
    pub target: String,
    /// Whether the file existed before.
    pub existed: bool,
    /// Hash of the blob with the text before the change.
    pub before: Option<String>,
    /// What was done with the file as a whole. Its hunk is in no text.
    pub operation: Option<FileOperation>,
    pub mark: Option<String>,
    pub parts: Vec<CallPart>,
    pub maker: Arc<Maker>,
    /// When its first hunk was applied; milliseconds since the Unix epoch.
    pub at: u64,
    /// The number of the record that applied its first hunk.
    pub seq: u64,
    /// Whether a round of comments was sent since.
    pub earlier: bool,
    /// How many lines beside its hunks a formatter changed when the editor saved them.
    pub formatted_elsewhere: u32,
    /// The applied hunks, in the order of their lines.
    pub hunks: Vec<AppliedHunk>,
    /// The lines of all hunks of the change. A replay drops them.
    source: Arc<[Hunk]>,
    origin: FileOrigin,
}

/// A hunk that was applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppliedHunk {
    pub id: String,
    /// Its place among the hunks of the change.
    index: usize,
    /// How many lines it removes and inserts.
    pub counts: (u32, u32),
    pub state: ReviewState,
    /// When it came into this state; milliseconds since the Unix epoch.
    pub since: u64,
    /// Whether it counts as kept only because of its age, which no event says.
    pub by_age: bool,
    /// Who changed the state last; `None` if it is as it was applied.
    pub reviewed_by: Option<ReviewedBy>,
    pub allowed_by: Option<AllowedBy>,
    /// What a formatter made of the inserted lines when the editor saved them.
    pub formatted: Option<String>,
    /// The lines in place of the inserted ones, as the user changed them, if a decision recorded them.
    pub amended: Option<String>,
    /// What was checked out when it came into the text or into a commit, a branch or `commit` and its id; `None` if that is
    /// not known.
    pub on: Option<String>,
    /// Whether it was undone together with its whole run, and is restored with it.
    pub as_one: bool,
    /// The user's comment, until it is sent.
    pub comment: Option<String>,
    /// What is being done with it.
    pub pending: Option<PendingReview>,
}

/// A decision about a hunk that is being carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PendingReview {
    pub batch: BatchId,
    /// Whether it is restored; else it is undone.
    pub restore: bool,
    /// Who makes the edit.
    pub maker: TurningBy,
    /// Whether this is done with its whole run.
    pub as_one: bool,
    /// The text that the user saw in its place, if it is not the text of the hunk.
    pub seen: Option<String>,
    /// Why, in the user's words.
    pub reason: Option<String>,
}

/// Who changes the text for a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TurningBy {
    /// The file was not open.
    Disk,
    /// An editor that had the file open.
    Editor,
    /// An editor whose server was killed meanwhile. It may live on, with text that is not saved.
    LostEditor,
}

impl AppliedHunk {
    /// Whether nobody has decided about it yet, and no decision is being carried out.
    pub fn is_unreviewed(&self) -> bool {
        self.state == ReviewState::Applied && self.pending.is_none()
    }
}

impl AppliedChange {
    /// Returns the change with these hunks kept, because they were committed; `on` is what was checked out. Those that somebody
    /// has decided about stay.
    pub fn committed(&self, hunks: &[String], on: Option<&str>) -> Self {
        let mut change = self.clone();
        for hunk in change.hunks.iter_mut().filter(|hunk| hunk.is_unreviewed() && hunks.contains(&hunk.id)) {
            (hunk.state, hunk.reviewed_by) = (ReviewState::Kept, Some(ReviewedBy::Commit));
            hunk.on = on.map(str::to_owned).or(hunk.on.take());
        }
        change
    }

    /// Returns the change as it is at a time, in milliseconds since the Unix epoch: hunks that nobody has decided about for
    /// `KEPT_AFTER_MS` are kept.
    pub fn at_time(self: &Arc<Self>, now: u64) -> Arc<Self> {
        let is_old =
            |hunk: &AppliedHunk| hunk.is_unreviewed() && now.saturating_sub(hunk.since) >= KEPT_AFTER_MS;
        if !self.hunks.iter().any(is_old) {
            return self.clone();
        }
        let mut change = (**self).clone();
        for hunk in change.hunks.iter_mut().filter(|hunk| is_old(hunk)) {
            (hunk.state, hunk.by_age) = (ReviewState::Kept, true);
        }
        Arc::new(change)
    }

    /// Returns one of its hunks.
    pub fn hunk(&self, id: &str) -> Option<&AppliedHunk> {
        self.hunks.iter().find(|hunk| hunk.id == id)
    }

    /// Returns the lines of a hunk; `None` if they were dropped.
    pub fn lines_of(&self, hunk: &AppliedHunk) -> Option<&Hunk> {
        self.source.get(hunk.index)
    }

    /// Returns the change in the form in which it is found in a text; `None` if its lines were dropped, and for an
    /// operation. `before` is the text before the change, if it is kept.
    pub fn past<'a>(&'a self, before: Option<&'a str>) -> Option<PastChange<'a>> {
        if self.operation.is_some() {
            return None;
        }
        let before = if self.existed { before } else { Some("") };
        let past = |applied: &'a AppliedHunk| {
            let expected = match applied.state {
                ReviewState::Undone => Side::Before,
                ReviewState::Applied | ReviewState::Kept => Side::After,
            };
            let (formatted, amended) = (applied.formatted.as_deref(), applied.amended.as_deref());
            Some(PastHunk { hunk: self.lines_of(applied)?, formatted, amended, expected })
        };
        let hunks = self.hunks.iter().map(past).collect::<Option<Vec<_>>>()?;
        Some(PastChange { before, hunks })
    }

    /// Whether it counts as done: not undone.
    pub fn is_done(&self) -> bool {
        self.hunks.first().is_some_and(|hunk| hunk.state != ReviewState::Undone)
    }

    /// Returns the hunks that a decision is about.
    pub fn pending(&self, batch: &BatchId) -> impl Iterator<Item = (&AppliedHunk, &PendingReview)> {
        let of_batch = self.hunks.iter().filter_map(|hunk| Some((hunk, hunk.pending.as_ref()?)));
        of_batch.filter(move |(_, pending)| pending.batch == *batch)
    }

    fn bytes(&self) -> usize {
        let of_lines = |lines: &[String]| lines.iter().map(String::len).sum::<usize>();
        let of_hunk = |hunk: &Hunk| {
            of_lines(&hunk.removed)
                + of_lines(&hunk.inserted)
                + of_lines(&hunk.context_before)
                + of_lines(&hunk.context_after)
        };
        self.source.iter().map(of_hunk).sum()
    }
}

impl AppliedChanges {
    /// Returns the changes, oldest first.
    pub fn all(&self) -> Vec<&Arc<AppliedChange>> {
        let mut all: Vec<&Arc<AppliedChange>> = self.all.values().collect();
        all.sort_by_key(|change| change.seq);
        all
    }

    /// Returns the hunks with a comment that is not sent, oldest change first.
    pub fn commented(&self) -> Vec<(&Arc<AppliedChange>, &AppliedHunk, &str)> {
        let mut commented = Vec::new();
        for change in self.all() {
            let hunks = change.hunks.iter();
            commented.extend(hunks.filter_map(|hunk| Some((change, hunk, hunk.comment.as_deref()?))));
        }
        commented
    }

    /// Whether nothing was applied.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns one change.
    pub fn get(&self, id: &ChangeSetId) -> Option<&Arc<AppliedChange>> {
        self.all.get(id)
    }

    /// Forgets the oldest change.
    fn forget_oldest(&mut self) {
        let Some(oldest) = self.all.values().min_by_key(|change| change.seq).cloned() else { return };
        self.bytes -= oldest.bytes();
        self.all.remove(&oldest.change_set);
        self.forgotten.insert(oldest.maker.run.clone());
        let Some((from, to)) = names_of_move(&oldest) else { return };
        self.moves.retain(|id| *id != oldest.change_set);
        // The names of later changes must not need it any more.
        for change in self.all.values_mut().filter(|change| change.origin.since <= oldest.seq) {
            let origin = &mut Arc::make_mut(change).origin;
            if oldest.is_done() && origin.name.target == from.target {
                origin.name = to.clone();
            }
            origin.since = oldest.seq + 1;
        }
    }

    /// Returns what a run has changed, without what was undone.
    pub fn edits_of(&self, run: &RunId) -> RunEdits {
        let (mut edits, mut files) = (RunEdits::default(), BTreeSet::new());
        for change in self.all.values().filter(|change| change.maker.run == *run) {
            for hunk in change.hunks.iter().filter(|hunk| hunk.state != ReviewState::Undone) {
                files.insert(&change.target);
                edits.removed = edits.removed.saturating_add(hunk.counts.0);
                edits.inserted = edits.inserted.saturating_add(hunk.counts.1);
                edits.unreviewed += u32::from(hunk.state == ReviewState::Applied);
            }
        }
        edits.files = u32::try_from(files.len()).unwrap_or(u32::MAX);
        edits
    }

    /// Returns the paths of the changes with hunks that the user has still to decide about.
    pub fn unreviewed_paths(&self) -> impl Iterator<Item = &str> {
        let waits = |change: &&Arc<AppliedChange>| change.hunks.iter().any(AppliedHunk::is_unreviewed);
        self.all.values().filter(waits).map(|change| change.path.as_str())
    }

    /// Returns how many hunks nobody has decided about yet.
    pub fn unreviewed(&self) -> usize {
        let hunks = self.all.values().flat_map(|change| &change.hunks);
        hunks.filter(|hunk| hunk.state == ReviewState::Applied).count()
    }

    /// Returns how many hunks the log says to be undone.
    pub fn undone(&self) -> usize {
        let hunks = self.all.values().flat_map(|change| &change.hunks);
        hunks.filter(|hunk| hunk.state == ReviewState::Undone).count()
    }

    /// Returns the decisions that are being carried out.
    pub fn pending(&self) -> Vec<&BatchId> {
        let hunks = self.all.values().flat_map(|change| &change.hunks);
        let mut batches: Vec<&BatchId> =
            hunks.filter_map(|hunk| Some(&hunk.pending.as_ref()?.batch)).collect();
        batches.sort_unstable();
        batches.dedup();
        batches
    }

    /// Returns how many changes have hunks that are to be undone or restored.
    pub fn unfinished_reviews(&self) -> usize {
        let is_pending =
            |change: &&Arc<AppliedChange>| change.hunks.iter().any(|hunk| hunk.pending.is_some());
        self.all.values().filter(is_pending).count()
    }

    /// Returns how many deletions and moves of a decision are still to be undone or restored.
    pub fn pending_operations(&self, batch: &BatchId) -> usize {
        let operations = self.all.values().filter(|change| change.operation.is_some());
        operations.filter(|change| change.pending(batch).next().is_some()).count()
    }

    /// Notes hunks that this record has brought into the text. `before` is the change before the record.
    pub(super) fn note_applied(&mut self, record: &Record, before: &ChangeState, now: &Changes) {
        let Some(now) = now.get(&before.change.change_set) else { return };
        let is_new = |id: &str| {
            now.hunks.get(id) == Some(&HunkState::Applied)
                && before.hunks.get(id) != Some(&HunkState::Applied)
        };
        let (on, formatted, elsewhere) = match &record.event {
            Event::Applied { on, formatted, formatted_elsewhere, .. } => {
                (on.as_ref(), Some(formatted), *formatted_elsewhere)
            }
            _ => (None, None, 0),
        };
        let count = |lines: &[String]| u32::try_from(lines.len()).unwrap_or(u32::MAX);
        let source = source_of(now);
        let fresh: Vec<AppliedHunk> = source
            .iter()
            .enumerate()
            .filter(|(_, hunk)| is_new(&hunk.id))
            .map(|(index, hunk)| {
                let allowed_by = before.allowed_by.get(&hunk.id).cloned();
                AppliedHunk {
                    id: hunk.id.clone(),
                    index,
                    counts: (count(&hunk.removed), count(&hunk.inserted)),
                    state: state_of(allowed_by.as_ref()),
                    since: record.at,
                    by_age: false,
                    reviewed_by: None,
                    allowed_by,
                    formatted: formatted.and_then(|formatted| formatted.get(&hunk.id)).cloned(),
                    amended: None,
                    on: on.cloned(),
                    as_one: false,
                    comment: None,
                    pending: None,
                }
            })
            .collect();
        if fresh.is_empty() {
            return;
        }
        let id = before.change.change_set.clone();
        let maker = before.maker.clone().unwrap_or_default();
        let known = self
            .all
            .remove(&id)
            .map(|known| Arc::try_unwrap(known).unwrap_or_else(|shared| (*shared).clone()));
        self.bytes -= known.as_ref().map_or(0, AppliedChange::bytes);
        let mut change = known.unwrap_or_else(|| {
            let origin = self.origin_of(name_of(&before.change), record.seq);
            new_change(&before.change, source, origin, record, maker)
        });
        change.hunks.extend(fresh);
        change.formatted_elsewhere += elsewhere;
        change.hunks.sort_by_key(|hunk| hunk.index);
        self.bytes += change.bytes();
        let is_move = names_of_move(&change).is_some();
        self.all.insert(id.clone(), Arc::new(change));
        if is_move && !self.moves.contains(&id) {
            self.moves.push(id);
            self.follow_moves();
        }
        self.number = record.seq;
        while self.bytes > MOST_BYTES && self.all.len() > 1 {
            self.forget_oldest();
        }
    }

    /// Notes that the server was killed while editors carried decisions out.
    fn note_killed(&mut self) {
        for change in self.all.values_mut() {
            let by_editor = |pending: &PendingReview| pending.maker == TurningBy::Editor;
            if change.hunks.iter().any(|hunk| hunk.pending.as_ref().is_some_and(by_editor)) {
                let pending = Arc::make_mut(change).hunks.iter_mut().filter_map(|hunk| hunk.pending.as_mut());
                pending
                    .filter(|pending| by_editor(pending))
                    .for_each(|pending| pending.maker = TurningBy::LostEditor);
            }
        }
    }

    /// Folds one event of the review.
    pub(super) fn fold(&mut self, record: &Record) {
        match &record.event {
            Event::SessionOpened { .. } => self.note_killed(),
            Event::ReviewStarted { batch, change_set, hunks, restore, open, as_one, reason } => {
                let seen = |hunk: &SeenHunk| PendingReview {
                    batch: batch.clone(),
                    restore: *restore,
                    maker: if *open { TurningBy::Editor } else { TurningBy::Disk },
                    as_one: *as_one,
                    seen: hunk.seen.clone(),
                    reason: reason.clone(),
                };
                for hunk in hunks {
                    self.change(change_set, &hunk.hunk, |applied| applied.pending = Some(seen(hunk)));
                }
            }
            Event::Reviewed { change_set, hunks, state, by, amended, on, .. } => {
                for id in hunks {
                    self.change(change_set, id, |applied| {
                        (applied.state, applied.since) = (*state, record.at);
                        applied.reviewed_by = Some(*by);
                        let as_one = applied.pending.take().is_some_and(|pending| pending.as_one);
                        applied.as_one = as_one && *state == ReviewState::Undone;
                        if on.is_some() {
                            applied.on.clone_from(on);
                        }
                        if let Some(text) = amended.get(id) {
                            applied.amended = Some(text.clone());
                        }
                    });
                }
                if self.moves.contains(change_set) {
                    self.follow_moves();
                }
            }
            Event::Commented { change_set, hunk, text } => {
                let comment = (!text.is_empty()).then(|| text.clone());
                self.change(change_set, hunk, |applied| applied.comment = comment);
            }
            Event::CommentsSent { hunks: sets } => {
                for HunkSet { change_set, hunks } in sets {
                    for hunk in hunks {
                        self.change(change_set, hunk, |applied| applied.comment = None);
                    }
                }
                self.all.values_mut().for_each(|change| Arc::make_mut(change).earlier = true);
            }
            Event::ReviewFailed { change_set, hunks, .. } => {
                for id in hunks {
                    self.change(change_set, id, |applied| applied.pending = None);
                }
            }
            _ => return,
        }
        self.number = record.seq;
    }

    fn change(&mut self, id: &ChangeSetId, hunk: &str, change: impl FnOnce(&mut AppliedHunk)) {
        let Some(applied) = self.all.get_mut(id) else { return };
        let applied = Arc::make_mut(applied);
        if let Some(hunk) = applied.hunks.iter_mut().find(|applied| applied.id == hunk) {
            change(hunk);
        }
    }

    /// Drops the lines of all hunks, for a replay, which only publishes their counts.
    pub(super) fn forget_lines(&mut self) {
        for change in self.all.values_mut().filter(|change| !change.source.is_empty()) {
            Arc::make_mut(change).source = Arc::default();
        }
        self.bytes = 0;
    }
}

/// Returns the state of a hunk that has just been applied: kept if a person saw it in a question, or if `edits.mode` keeps
/// every edit.
fn state_of(allowed_by: Option<&AllowedBy>) -> ReviewState {
    match allowed_by {
        Some(AllowedBy::Answer { .. } | AllowedBy::EditsMode { mode: EditsMode::Auto }) => ReviewState::Kept,
        _ => ReviewState::Applied,
    }
}

/// Returns the hunks of a change. An empty file that it creates is a hunk without lines.
fn source_of(state: &ChangeState) -> Arc<[Hunk]> {
    if !state.change.hunks.is_empty() || !state.hunks.contains_key(FILE) {
        return state.change.hunks.clone();
    }
    let (removed, inserted, context_before, context_after) = Default::default();
    let id = FILE.to_owned();
    Arc::new([Hunk { id, line: 0, removed, inserted, context_before, context_after }])
}

fn new_change(
    change: &FileChange,
    source: Arc<[Hunk]>,
    origin: FileOrigin,
    record: &Record,
    maker: Arc<Maker>,
) -> AppliedChange {
    AppliedChange {
        change_set: change.change_set.clone(),
        path: change.path.clone(),
        uri: change.uri.clone(),
        target: change.target.clone(),
        existed: change.existed,
        before: change.before.clone(),
        operation: change.operation.clone(),
        mark: change.mark.clone(),
        parts: change.parts.clone(),
        maker,
        at: record.at,
        seq: record.seq,
        earlier: false,
        formatted_elsewhere: 0,
        hunks: Vec::new(),
        source,
        origin,
    }
}
