//! The ids in a log. They are opaque texts and the same on the wire, so there is one type for both.

pub use adjutant_protocol::{AskId, ChangeSetId, MessageId, RunId, SessionId, ToolCallId};
