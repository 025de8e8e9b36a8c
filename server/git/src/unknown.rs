//! Why the state of a repository is not known.
//!
//! Never a code to branch on: every reason has the same consequence.

use std::fmt::Display;
use std::io;
use std::path::Path;

/// Why the state of a repository is not known. Nothing may be concluded from it.
///
/// Its text is a clause in lower case without a full stop; names from the repository are quoted and escaped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Unknown {
    reason: String,
}

impl Unknown {
    /// Returns an `Unknown` with this reason.
    pub(crate) fn because(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }

    /// Returns an `Unknown` for an error of the system.
    pub(crate) fn io(path: &Path, error: &io::Error) -> Self {
        Self::because(format!("{path:?} cannot be read: {error}"))
    }

    /// Returns an `Unknown` for content that breaks git's format.
    pub(crate) fn damaged(what: impl Display) -> Self {
        Self::because(format!("{what} is damaged"))
    }

    /// Returns an `Unknown` for something above a limit of Adjutant.
    pub(crate) fn too_large(what: impl Display, limit: impl Display) -> Self {
        Self::because(format!("{what} is larger than Adjutant reads, which is {limit}"))
    }
}
