//! The applied hunks of an open document, also those that somebody has decided about.
//!
//! Never reads a log. The last look is kept, so that the next one at the same text costs nothing.

use std::sync::{Arc, PoisonError};

use adjutant_protocol::review::ReviewHunk;
use adjutant_tools::documents::{Documents, Text};

use super::{FileChanges, Reviews, away, file_now, renamed, target_of};
use crate::uri;

/// What one look at a document has found.
pub(super) struct LastLook {
    target: String,
    /// The opening of the document, the version of its text, and the number of the registry.
    seen: (Option<u64>, Option<i32>, u64),
    hunks: Arc<[ReviewHunk]>,
}

impl Reviews {
    /// Returns a line of an open document, from zero. Blocks.
    pub fn open_line(&self, documents: &Documents, uri: &str, line: u32) -> Option<String> {
        let path = uri::to_path(&target_of(uri)).ok()?;
        match documents.text(&path) {
            Text::Open(snapshot) => snapshot.text.get_line(line as usize).map(|line| line.to_string()),
            Text::Unsynced(_) | Text::Closed => None,
        }
    }

    /// Returns the applied hunks of a document in its text of now, oldest change first. Blocks. Empty if it is not open.
    pub fn of_open(&self, documents: &Documents, uri: &str) -> Arc<[ReviewHunk]> {
        let target = target_of(uri);
        let changes = self.of_file(&target);
        let number = *self.shared.changed.borrow();
        let none = || Arc::from(Vec::new());
        let (now, moved) = match changes.is_empty() {
            true => renamed::found(self, documents, uri).unzip(),
            false => (changes.last().and_then(|owned| file_now(documents, owned)), None),
        };
        let Some(now) = now.filter(|now| now.version.is_some()) else { return none() };
        if let Some(moved) = moved {
            return moved.into();
        }
        let seen = (documents.opening(&now.at.absolute), now.version, number);
        let mut last = self.shared.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last.as_ref().filter(|last| last.target == target && last.seen == seen) {
            return last.hunks.clone();
        }
        let changes = FileChanges::read(self, changes);
        let traces = changes.trace(&now.text);
        let away = away::look(&changes, &traces);
        let hunks: Arc<[ReviewHunk]> = changes.views_of(&now.text, &traces, &away).into();
        *last = Some(LastLook { target, seen, hunks: hunks.clone() });
        hunks
    }
}
