//! The ids in a log. They are opaque texts. Those that are on the wire too have one type for both.

use serde::{Deserialize, Serialize};

pub use adjutant_protocol::{AskId, ChangeSetId, MessageId, RunId, SessionId, ToolCallId};

/// One decision to apply hunks, of one file or of several.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BatchId(pub String);
