//! What a server can do wrong in the eyes of the editor double.
//!
//! Violations are collected, never thrown: the test fails when the editor is
//! dropped, so that one fault does not hide the next.

use std::fmt;

/// The rule that was broken; `docs/protocol.md` says each of them in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// Bytes that are no frame, no JSON or no JSON-RPC 2.0 message.
    Framing,
    /// A body that is not what the protocol crate says it is.
    Malformed,
    /// A response to an id that is not outstanding.
    UnknownResponse,
    /// A server request under an id that is still outstanding.
    ReusedId,
    /// A request of the editor's that got no response.
    Unanswered,
    /// Anything that is not allowed before the response to `initialize`.
    EarlyMessage,
    /// A request or notification after the response to `shutdown`.
    LateMessage,
    /// A method, update kind or encoding the client did not offer.
    NotOffered,
    /// A notification the editor does not know.
    UnknownNotification,
    /// `seq` or `sub` went back, stood still or left a gap.
    Sequence,
    /// A lasting update with `sub`, or an ephemeral one without.
    EphemeralMark,
    /// A chunk before its item was there.
    ChunkBeforeItem,
    /// A chunk after its item was finished.
    ChunkAfterItem,
    /// Chunks of an item that do not add up to it (S14).
    ChunksDiffer,
    /// An update of a run after its `_run ended`.
    AfterRunEnd,
    /// Runs started twice, ended twice, or ended without a start (S30).
    RunOrder,
    /// Turns that do not come in pairs (S20).
    TurnOrder,
    /// Tool calls that change after their end, or are left open by their run (S43).
    CallOrder,
    /// Asks opened twice, closed unopened, or named before they were opened.
    AskOrder,
    /// A state that contradicts the open run or the open asks (S02, L13).
    StateOrder,
    /// A second `_complete` in one run (S23).
    SecondCompletion,
    /// An open document's hunks called applied with no `workspace/applyEdit` sent.
    BehindTheEditor,
    /// An edit that overlaps, lies outside its document or splits a character.
    BadEdit,
    /// An edit of an open document without a version, before any refusal.
    Unversioned,
    /// A second popup while one is open.
    SecondPopup,
    /// Progress that was not created, begun once or ended once.
    ProgressOrder,
    /// A delivery that was not withdrawn though its ask is closed.
    DeliveryLeftOpen,
    /// An ask that closed without `agent/ask/resolved`.
    ResolutionUntold,
    /// The server closed the connection, or took no more bytes.
    ConnectionLost,
    /// A message to the user that the test did not look at.
    UnreadMessage,
}

/// One broken rule, with what broke it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub rule: Rule,
    pub what: String,
}

impl Violation {
    /// Says which rule was broken, and by what.
    pub fn new(rule: Rule, what: impl Into<String>) -> Self {
        Self { rule, what: what.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.what)
    }
}
