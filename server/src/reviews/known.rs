//! A change in the registry: whole, or still to be read from the text that was kept of it.
//!
//! Never reads a log.

use std::sync::Arc;

use adjutant_core::session::AppliedChange;
use adjutant_core::session::applied::{ChangeHead, UnreadChange};
use adjutant_host::parallel::in_parts;

/// The fewest changes for which another thread reads their lines.
const MIN_SHARE: usize = 16;

/// A change of a session. Clones share what is read.
#[derive(Clone)]
pub enum KnownChange {
    Read(Arc<AppliedChange>),
    Kept(Arc<UnreadChange>),
}

impl KnownChange {
    /// Returns what is known without reading it.
    pub fn head(&self) -> ChangeHead<&str> {
        match self {
            Self::Read(change) => change.head(),
            Self::Kept(kept) => kept.head(),
        }
    }

    /// Returns the change; `None` if another version of this program has kept it, which its format did not say.
    pub fn read(&self) -> Option<Arc<AppliedChange>> {
        match self {
            Self::Read(change) => Some(change.clone()),
            Self::Kept(kept) => {
                let change = kept.read();
                if change.is_none() {
                    tracing::error!(head = ?kept.head(), "a change that was kept next to its log cannot be read");
                }
                change
            }
        }
    }
}

/// Reads the changes that are not read yet, on all processors. Blocks.
pub fn read_all<'a>(changes: impl Iterator<Item = &'a KnownChange>) {
    let unread = |change: &'a KnownChange| match change {
        KnownChange::Kept(kept) if kept.is_unread() => Some(kept),
        KnownChange::Kept(_) | KnownChange::Read(_) => None,
    };
    let unread: Vec<&Arc<UnreadChange>> = changes.filter_map(unread).collect();
    in_parts(&unread, MIN_SHARE, |part| part.iter().for_each(|kept| drop(kept.read())));
}
