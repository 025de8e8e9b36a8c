//! The rules that the editor double checks, and their violations.
//!
//! Never panics at a violation: the test fails at the drop of the editor, so that one violation does
//! not hide the next.

use std::fmt;

/// The broken rule; `docs/protocol.md` describes each rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// Bytes that are not a frame, not JSON or not a JSON-RPC 2.0 message.
    Framing,
    /// A body that differs from its type in the protocol crate.
    Malformed,
    /// A response to an id without an open request.
    UnknownResponse,
    /// A server request with the id of another open request.
    ReusedId,
    /// A request of the editor without a response.
    Unanswered,
    /// A message that is not allowed before the response to `initialize`.
    EarlyMessage,
    /// A request or notification after the response to `shutdown`.
    LateMessage,
    /// A method, update kind or encoding that the client did not offer.
    NotOffered,
    /// A notification that the editor does not know.
    UnknownNotification,
    /// A `seq` or `sub` that decreases, repeats or leaves a gap.
    Sequence,
    /// A lasting update with `sub`, or an ephemeral one without.
    EphemeralMark,
    /// A chunk before the begin of its item.
    ChunkBeforeItem,
    /// A chunk after the end of its item.
    ChunkAfterItem,
    /// Chunks of an item that do not add up to it (S14).
    ChunksDiffer,
    /// An update of a run after its `_run ended`.
    AfterRunEnd,
    /// A run that starts twice, ends twice or ends without a start (S30).
    RunOrder,
    /// Turn updates that do not come in pairs (S20).
    TurnOrder,
    /// A tool call that changes after its end, or stays open after its run (S43).
    CallOrder,
    /// An ask that opens twice, closes without an opening, or is named before its opening.
    AskOrder,
    /// A state that contradicts the open run or the open asks (S02, L13).
    StateOrder,
    /// A second `_complete` in one run (S23).
    SecondCompletion,
    /// Applied hunks of an open document without a `workspace/applyEdit`.
    BehindTheEditor,
    /// An edit that overlaps, is outside its document or splits a character.
    BadEdit,
    /// An edit of an open document without a version, before the editor refused any edit.
    Unversioned,
    /// A hunk at lines that do not have its text.
    MisplacedHunk,
    /// A second popup while another one is open.
    SecondPopup,
    /// Progress outside of the order create, begin, report, end.
    ProgressOrder,
    /// A request for an ask that stays open after the ask is closed.
    DeliveryLeftOpen,
    /// An ask that closes without `agent/ask/resolved`.
    ResolutionUntold,
    /// An unexpected end of the connection, or a server that accepts no more bytes.
    ConnectionLost,
    /// A message to the user that the test did not check.
    UnreadMessage,
}

/// One broken rule with its cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub rule: Rule,
    pub what: String,
}

impl Violation {
    /// Returns a violation of `rule`, caused by `what`.
    pub fn new(rule: Rule, what: impl Into<String>) -> Self {
        Self { rule, what: what.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.what)
    }
}
