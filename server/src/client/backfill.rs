//! Updates that a client missed because it did not read: a range of the session's
//! messages, requested from the owner of the logs.
//!
//! Never reads a log itself and never keeps the messages.

use adjutant_protocol::SessionId;
use adjutant_protocol::ask::AskResolvedParams;
use adjutant_protocol::update::SessionUpdateParams;
use tokio::sync::mpsc;

/// A message of a session that can be sent again from its log.
#[derive(Debug)]
pub enum LastingMessage {
    Update(Box<SessionUpdateParams>),
    Resolved(Box<AskResolvedParams>),
}

/// The place of a lasting message among the messages of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UpdateCursor {
    pub seq: u64,
    /// Directly after the update `seq`: the message that an ask closed has no number of its own.
    pub behind: bool,
}

/// A range of the lasting messages of a session, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateRange {
    pub first: UpdateCursor,
    pub last: UpdateCursor,
}

impl UpdateRange {
    /// Returns the range of the updates with these numbers, and of each ask that closed between them.
    pub fn of_updates(first: u64, last: u64) -> Self {
        let at = |seq| UpdateCursor { seq, behind: false };
        Self { first: at(first), last: at(last) }
    }

    pub fn contains(&self, cursor: UpdateCursor) -> bool {
        self.first <= cursor && cursor <= self.last
    }
}

/// Past updates that a client requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastUpdates {
    pub range: UpdateRange,
    /// The numbers of those in the range that are sent, ascending; `None` for all.
    pub only: Option<Vec<u64>>,
}

impl PastUpdates {
    /// Returns all updates from `first` to `last`, or `None` if there is none.
    pub fn all(first: u64, last: u64) -> Option<Self> {
        (first <= last).then(|| Self { range: UpdateRange::of_updates(first, last), only: None })
    }

    /// Returns the updates with these ascending numbers, or `None` if there is none.
    pub fn only(updates: Vec<u64>) -> Option<Self> {
        let range = UpdateRange::of_updates(*updates.first()?, *updates.last()?);
        Some(Self { range, only: Some(updates) })
    }

    /// Whether the update with a number of the range is sent.
    pub fn has(&self, seq: u64) -> bool {
        self.only.as_ref().is_none_or(|only| only.binary_search(&seq).is_ok())
    }
}

/// A request for a range of past messages. The receiver drops `messages` after the last one.
#[derive(Debug)]
pub struct Backfill {
    pub session: SessionId,
    pub range: UpdateRange,
    pub messages: mpsc::Sender<LastingMessage>,
}
