//! What a client that did not read has missed: named by its place in what a
//! session tells, and asked back from whoever owns the logs.
//!
//! Never reads a log itself and never keeps what it names.

use adjutant_protocol::SessionId;
use adjutant_protocol::ask::AskResolvedParams;
use adjutant_protocol::update::SessionUpdateParams;
use tokio::sync::mpsc;

/// Something lasting that a session tells.
#[derive(Debug)]
pub enum LastingMessage {
    Update(Box<SessionUpdateParams>),
    Resolved(Box<AskResolvedParams>),
}

/// Where something lasting stands in what a session tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UpdateCursor {
    pub seq: u64,
    /// Right behind the update with this number: the word that an ask closed has none of its own.
    pub behind: bool,
}

/// A part of what a session tells, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateRange {
    pub first: UpdateCursor,
    pub last: UpdateCursor,
}

impl UpdateRange {
    /// The updates with these numbers, and each ask that closed between them.
    pub fn of_updates(first: u64, last: u64) -> Self {
        let at = |seq| UpdateCursor { seq, behind: false };
        Self { first: at(first), last: at(last) }
    }

    pub fn contains(&self, spot: UpdateCursor) -> bool {
        self.first <= spot && spot <= self.last
    }
}

/// Asks for a stretch; `told` is closed behind its end.
#[derive(Debug)]
pub struct Backfill {
    pub session: SessionId,
    pub stretch: UpdateRange,
    pub told: mpsc::Sender<LastingMessage>,
}
