//! The name of a commit.
//!
//! Never says whether there is such a commit.

use std::fmt;

use gix_hash::ObjectId;

/// The name of a commit. Its text is 40 hexadecimal digits in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId(pub(crate) ObjectId);

impl CommitId {
    /// Returns the commit with this name of 40 hexadecimal digits; `None` for any other text.
    pub fn from_hex(text: &str) -> Option<Self> {
        ObjectId::from_hex(text.as_bytes()).ok().map(Self)
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests;
