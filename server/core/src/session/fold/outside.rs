//! What the model knows of files, after its own edits, after the user's decisions, and after changes from outside.
//!
//! Never decides: a recorded event has happened.

use crate::policy::outside;
use crate::record::{Event, FileOperation, Record, ReviewState};
use crate::session::hunks::ChangeState;
use crate::session::reads::{EditedFile, HunkEdit};
use crate::session::{AppliedChange, HunkState, Session};
use crate::text::edit::lines;

impl Session {
    pub(super) fn fold_outside(&mut self, record: &Record) {
        let Event::OutsideChanged { files, back, head } = &record.event else { return };
        files.iter().for_each(|file| self.reads.tell(&file.target, true));
        back.iter().for_each(|file| self.reads.tell(&file.target, false));
        self.reads.note_head(head.as_ref());
        self.tell_model(outside::note(files, back, head.as_deref()));
    }

    /// Follows the hunks that this record has brought into the text. `before` is their change before the record.
    pub(super) fn note_own_edit(&mut self, record: &Record, before: &ChangeState) {
        let Some(now) = self.changes.get(&before.change.change_set) else { return };
        let is_new = |id: &str| {
            now.hunks.get(id) == Some(&HunkState::Applied)
                && before.hunks.get(id) != Some(&HunkState::Applied)
        };
        let change = &now.change;
        if !now.hunks.keys().any(|id| is_new(id)) {
            return;
        }
        match &change.operation {
            None => {
                let new = change.hunks.iter().filter(|hunk| is_new(&hunk.id));
                let edits: Vec<HunkEdit<'_>> =
                    new.map(|hunk| HunkEdit { hunk, from: &hunk.removed, to: &hunk.inserted }).collect();
                let file = EditedFile { path: &change.path, target: &change.target, is_new: !change.existed };
                self.reads.edited(&file, &edits, record.seq);
            }
            Some(FileOperation::Delete { .. }) => self.reads.forget(&change.target),
            Some(FileOperation::Move { path, target, .. }) => {
                self.reads.moved(&change.target, path, target, record.seq);
            }
        }
    }

    /// Updates the lines that the model knows, because it hears of each decision about applied hunks. The caller folds the
    /// decision after this.
    pub(super) fn note_decision(&mut self, record: &Record) {
        let Event::Reviewed { change_set, hunks, state, amended, .. } = &record.event else { return };
        let Some(change) = self.applied.get(change_set).cloned() else { return };
        if let Some(operation) = &change.operation {
            self.note_decided_operation(&change, operation, *state, record.seq);
            return;
        }
        let amended: Vec<Vec<String>> = hunks
            .iter()
            .map(|id| {
                amended.get(id).map(|text| lines(text).map(str::to_owned).collect()).unwrap_or_default()
            })
            .collect();
        let mut edits: Vec<HunkEdit<'_>> = Vec::new();
        for (id, amended) in hunks.iter().zip(&amended) {
            let Some(applied) = change.hunk(id) else { continue };
            let Some(hunk) = change.lines_of(applied) else { continue };
            let was_undone = applied.state == ReviewState::Undone;
            edits.extend(match state {
                ReviewState::Undone if !was_undone => {
                    Some(HunkEdit { hunk, from: &hunk.inserted, to: &hunk.removed })
                }
                ReviewState::Kept if !amended.is_empty() => {
                    Some(HunkEdit { hunk, from: &hunk.inserted, to: amended })
                }
                ReviewState::Applied | ReviewState::Kept if was_undone => {
                    Some(HunkEdit { hunk, from: &hunk.removed, to: &hunk.inserted })
                }
                _ => None,
            });
        }
        edits.sort_by_key(|edit| edit.hunk.line);
        let file = EditedFile { path: &change.path, target: &change.target, is_new: false };
        self.reads.edited(&file, &edits, record.seq);
    }

    fn note_decided_operation(
        &mut self,
        change: &AppliedChange,
        operation: &FileOperation,
        state: ReviewState,
        seq: u64,
    ) {
        match operation {
            FileOperation::Delete { .. } => self.reads.forget(&change.target),
            FileOperation::Move { path, target, .. } if state != ReviewState::Undone => {
                self.reads.moved(&change.target, path, target, seq);
            }
            FileOperation::Move { target, .. } => {
                self.reads.moved(target, &change.path, &change.target, seq);
            }
        }
    }
}
