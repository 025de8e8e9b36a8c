//! Which edits change their closed files at once, and which go alone.
//!
//! Never writes: `burst` does.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use adjutant_core::machine::input::{EditOutcome, EditReport, Report};
use adjutant_core::policy::observation::EditRoute;
use adjutant_core::record::{ChangeSetId, FileChange};

use super::SessionWorld;
use super::apply::{BatchEdit, apply_edit, disk_write};
use super::burst::{DiskWrite, approved_place, turns, write_all};
use super::landed::settled;
use super::verify::ApplyAttempt;
use crate::aside::aside;
use crate::reviews::away::checked_out;

/// The most files that change at once: each keeps two descriptors open until its change.
const MOST_FILES: usize = 64;

/// Makes the approved edits of a batch, and reports on each. Those of closed files next to each other are written at once.
pub async fn apply_all(place: &Arc<SessionWorld>, edits: Vec<BatchEdit>, report: impl Fn(Report)) {
    let target = |edit: &BatchEdit| is_for_disk(place, &edit.change).then(|| edit.change.target.clone());
    for group in groups(edits, target) {
        let started = Instant::now();
        let wanted = group.iter().map(|edit| DiskEdit::Edit(Box::new(edit.change.clone()))).collect();
        let mut attempts: Vec<_> = group.iter().zip(write_together(place, wanted).await).collect();
        // What is on disk is recorded before a failure, which may end the run.
        attempts.sort_by_key(|(_, first)| !matches!(first, Some(ApplyAttempt::Landed { .. })));
        for (edit, first) in attempts {
            let change_set: ChangeSetId = edit.change.change_set.clone();
            let outcome = match first {
                Some(ApplyAttempt::Landed { exact, text, saves }) => {
                    settled(place, &edit.change, exact, text, saves).await
                }
                Some(ApplyAttempt::Failed { why, in_doubt }) => EditOutcome::NotApplied { why, in_doubt },
                _ => apply_edit(place, edit).await,
            };
            let elapsed_ms = started.elapsed().as_millis() as u64;
            let target = edit.change.target.clone();
            let on = aside(move || checked_out(&target)).await;
            report(Report::Edited { change_set, report: EditReport { outcome, elapsed_ms, on } });
        }
    }
}

/// A wanted change of one closed file.
pub enum DiskEdit {
    Edit(Box<FileChange>),
    /// The file with this path and target is removed if its bytes have this hash.
    Remove {
        path: String,
        target: String,
        disk: [u8; 32],
    },
}

impl DiskEdit {
    fn target(&self) -> &str {
        match self {
            DiskEdit::Edit(change) => &change.target,
            DiskEdit::Remove { target, .. } => target,
        }
    }

    /// Looks at the file; `None` if it is not for the disk. Blocks.
    fn look(self, place: &SessionWorld) -> Option<DiskWrite> {
        match self {
            DiskEdit::Edit(change) => disk_write(place, &change),
            DiskEdit::Remove { path, target, disk } => {
                let at = approved_place(place, &path, &target).ok()?;
                Some(DiskWrite { path, target, at, expected: Some(disk), bytes: None })
            }
        }
    }
}

/// Whether an edit is probably made on disk; a look at the file says it for sure.
pub fn is_for_disk(place: &SessionWorld, change: &FileChange) -> bool {
    let route = place.world.abilities().way(change.open, change.existed, false);
    change.operation.is_none() && matches!(route, EditRoute::Disk | EditRoute::DiskIfSaved)
}

/// Splits items, in their order, into groups that change at once. `target` returns the file of an item, or none if the item
/// is a group by itself. A group has each file once.
pub fn groups<T>(items: Vec<T>, target: impl Fn(&T) -> Option<String>) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    let mut files: BTreeSet<String> = BTreeSet::new();
    for item in items {
        let file = target(&item);
        let fits = !files.is_empty() && files.len() < MOST_FILES;
        match (file, groups.last_mut()) {
            (Some(file), Some(group)) if fits && files.insert(file.clone()) => group.push(item),
            (file, _) => {
                files = file.into_iter().collect();
                groups.push(vec![item]);
            }
        }
    }
    groups
}

/// Tries once to make these changes on disk, all at once. Each file must be there once. Returns for each what became of
/// it, or `None` if it was not tried, because it is alone or not for the disk.
pub async fn write_together(place: &Arc<SessionWorld>, edits: Vec<DiskEdit>) -> Vec<Option<ApplyAttempt>> {
    let mut attempts: Vec<Option<ApplyAttempt>> = edits.iter().map(|_| None).collect();
    if edits.len() < 2 {
        return attempts;
    }
    let turns = Arc::new(turns(place, edits.iter().map(DiskEdit::target)).await);
    let here = place.clone();
    let look = move || edits.into_iter().map(|edit| edit.look(&here)).collect::<Vec<_>>();
    let (places, writes): (Vec<usize>, Vec<DiskWrite>) =
        aside(look).await.into_iter().enumerate().filter_map(|(at, write)| Some((at, write?))).unzip();
    for (at, attempt) in places.into_iter().zip(write_all(place, writes, turns).await) {
        attempts[at] = Some(attempt);
    }
    attempts
}
