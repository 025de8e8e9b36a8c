//! The records of a session's log: every type that is stored, and none of the wire.
//!
//! A client's types may change without a session being lost, and the log may
//! change without a client noticing: `wire` converts. `docs/log.md` says what an
//! older version may skip.

mod ask;
mod call;
mod choice;
mod event;
mod ids;
mod reading;
mod run;

pub use ask::{Ask, AskGroup, AskKind, AskOption, OptionKind, Resolution};
pub use call::{AllowedBy, CallEnd, CallResult, EditCheck, Effect, FileChange, Payload, Rule, UnsavedText};
pub use choice::{ChoiceChange, ChoiceId, Choices, Follows, JudgedChoice, Offer, Takes};
pub use event::Event;
pub use ids::{AskId, ChangeSetId, MessageId, RunId, SessionId, ToolCallId};
pub use reading::read;
pub use run::{KeyUse, Mode, Outcome, Policy, RunOrigin, StopReason, UnattendedPolicy};

/// One record of the log: a fact, its place and its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// From 1, without gaps; order is by this number.
    pub seq: u64,
    /// Milliseconds since the Unix epoch; decoration.
    pub at: u64,
    /// The last of its batch: state is told only then, so that nobody sees one half-made.
    pub last: bool,
    pub event: Event,
}
