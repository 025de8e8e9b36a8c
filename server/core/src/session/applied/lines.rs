//! The applied changes of a session as text, a change a line, so that a reader needs no log to know them again.
//!
//! Never says to which log they belong. A line that this version does not read whole is an error, and the reader turns to the log.

use std::sync::Arc;

use super::{AppliedChange, AppliedChanges};

impl AppliedChanges {
    /// Returns the changes as lines, oldest first; `None` if that is more than `most` bytes.
    pub fn to_lines(&self, most: usize) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        for change in self.all() {
            serde_json::to_writer(&mut text, &**change).ok()?;
            text.push(b'\n');
            if text.len() > most {
                return None;
            }
        }
        Some(text)
    }
}

/// Returns the change of one such line. Fails if it is not exactly what [`AppliedChanges::to_lines`] of this version writes.
pub fn change_of_line(line: &str) -> Result<Arc<AppliedChange>, serde_json::Error> {
    serde_json::from_str(line).map(Arc::new)
}
