//! The applied changes of a session as text, so that a reader needs no log to know them again, and reads only the hunks of the
//! files that it is asked about.
//!
//! Never says to which log they belong. Text that this version does not read whole is an error, and the reader turns to the log.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::{AppliedChange, AppliedChanges, AppliedHunk};

/// What is known of a change before its hunks are read; `T` is its text, borrowed or owned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeHead<T> {
    pub change_set: T,
    pub uri: T,
    /// The URI of the file after following every link.
    pub target: T,
    /// When its first hunk was applied; milliseconds since the Unix epoch.
    pub at: u64,
    /// Whether at least one of its hunks waits for a decision.
    pub is_unreviewed: bool,
    /// Whether the file as a whole was moved or deleted.
    pub is_operation: bool,
    /// Whether a formatter changed other lines of the file.
    pub is_formatted: bool,
}

impl AppliedChange {
    /// Returns what a reader must know before it reads the hunks.
    pub fn head(&self) -> ChangeHead<&str> {
        ChangeHead {
            change_set: &self.change_set.0,
            uri: &self.uri,
            target: &self.target,
            at: self.at,
            is_unreviewed: self.hunks.iter().any(AppliedHunk::is_unreviewed),
            is_operation: self.operation.is_some(),
            is_formatted: self.formatted_elsewhere > 0,
        }
    }
}

impl AppliedChanges {
    /// Returns the changes as text, oldest first: for each a line with its head and a line with the change. `None` if that is more
    /// than `most` bytes.
    pub fn to_lines(&self, most: usize) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        for change in self.all() {
            serde_json::to_writer(&mut text, &change.head()).ok()?;
            text.push(b'\n');
            serde_json::to_writer(&mut text, &**change).ok()?;
            text.push(b'\n');
            if text.len() > most {
                return None;
            }
        }
        Some(text)
    }
}

/// A change in such a text. [`UnreadChange::read`] parses its line at the first call.
#[derive(Debug)]
pub struct UnreadChange {
    head: ChangeHead<String>,
    text: Arc<str>,
    line: Range<usize>,
    read: OnceLock<Option<Arc<AppliedChange>>>,
}

impl UnreadChange {
    /// Returns what is known without reading it.
    pub fn head(&self) -> ChangeHead<&str> {
        let ChangeHead { change_set, uri, target, at, is_unreviewed, is_operation, is_formatted } =
            &self.head;
        let (at, is_unreviewed, is_operation) = (*at, *is_unreviewed, *is_operation);
        ChangeHead { change_set, uri, target, at, is_unreviewed, is_operation, is_formatted: *is_formatted }
    }

    /// Whether its hunks are still to be read.
    pub fn is_unread(&self) -> bool {
        self.read.get().is_none()
    }

    /// Returns the change; `None` if its line is not what [`AppliedChanges::to_lines`] of this version writes.
    pub fn read(&self) -> Option<Arc<AppliedChange>> {
        let parse = || {
            let change: AppliedChange = serde_json::from_str(self.text.get(self.line.clone())?).ok()?;
            (change.head() == self.head()).then(|| Arc::new(change))
        };
        self.read.get_or_init(parse).clone()
    }
}

/// Returns the changes of such a text, oldest first. `None` if it is not what [`AppliedChanges::to_lines`] of this version writes;
/// of the changes themselves only the first is read to know that.
pub fn changes_of_lines(text: &Arc<str>) -> Option<Vec<Arc<UnreadChange>>> {
    let mut changes = Vec::new();
    let mut at = 0;
    let mut lines = text.split_inclusive('\n');
    while let Some(first) = lines.next() {
        let line = lines.next()?;
        let begin = at + first.len();
        at = begin + line.len();
        let head = serde_json::from_str(first).ok()?;
        let read = OnceLock::new();
        changes.push(Arc::new(UnreadChange { head, text: text.clone(), line: begin..at, read }));
    }
    changes.first().is_none_or(|first| first.read().is_some()).then_some(changes)
}
