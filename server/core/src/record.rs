//! The records of a session's log: every type that is stored, and no type of the wire.
//!
//! `wire` converts between the two, so the protocol can change without losing a session, and the log without
//! a change for clients. `docs/log.md` says what an older version may skip.

mod ask;
mod budget;
mod call;
mod choice;
mod context;
mod event;
mod ids;
pub mod plan;
mod reading;
mod review;
mod run;

pub use ask::{Ask, AskGroup, AskKind, AskOption, OptionKind, Resolution};
pub use budget::{Budget, BudgetPolicy, Money, Price};
pub use call::{
    AllowedBy, CallEnd, CallPart, CallResult, ChangedFile, EditCheck, Effect, FileChange, FileOperation,
    FileRead, HunkNote, HunkSet, Payload, Rule, UnsavedText,
};
pub use choice::{ChoiceChange, ChoiceId, Choices, Follows, JudgedChoice, Offer, Takes};
pub use context::{
    ClearedOutput, CompactPolicy, Compaction, CompactionReach, ContextKind, ContextPolicy, ContextText,
    SummaryTurn,
};
pub use event::Event;
pub use ids::{AskId, BatchId, ChangeSetId, MessageId, RunId, SessionId, ToolCallId};
pub use plan::{PlanStep, StepStatus};
pub use reading::{MaySkip, read, read_for_review};
pub use review::{AmendedTexts, ReviewState, ReviewedBy, SeenHunk};
pub use run::{EditsMode, KeyUse, Mode, Outcome, Policy, RunOrigin, StopReason, UnattendedPolicy};

/// One record of the log: an event with its number and its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// From 1, without gaps; records are ordered by this number.
    pub seq: u64,
    /// Milliseconds since the Unix epoch; never used for order.
    pub at: u64,
    /// The last record of its batch. The state is published only then, so no client sees half a batch.
    pub last: bool,
    pub event: Event,
}
