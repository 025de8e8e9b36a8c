//! Hunks: the reviewable groups of lines of a change, and where they are now.
//!
//! The only hunk model, for proposed and for applied edits; never touches a file.

use serde::{Deserialize, Serialize};

/// Lines of context a hunk carries on each side (decision 15).
pub const CONTEXT_LINES: usize = 3;

/// One reviewable group of lines. Lines keep their own line ends, so that the
/// concatenation is byte-exact; the last line of a file may have none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// Stable within its change set: `h1`, `h2`, ...
    pub id: String,
    /// Zero-based first removed line in the text the hunk was made from.
    pub line: usize,
    pub removed: Vec<String>,
    pub inserted: Vec<String>,
    pub context_before: Vec<String>,
    pub context_after: Vec<String>,
}
