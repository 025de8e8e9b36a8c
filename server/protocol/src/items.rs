//! Pages of the items of a session, and what a tool call gave.
//!
//! Never says which updates are one item: `docs/protocol.md` does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::update::SessionUpdateParams;
use crate::{SessionId, ToolCallId};

/// The most items in a page.
pub const MAX_PAGE_ITEMS: u32 = 1_000;

/// The most bytes of a result that a client reads, before hidden characters are escaped.
pub const MAX_ITEM_OUTPUT: usize = 32 << 10;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ItemsParams {
    pub session_id: SessionId,
    /// The `before` of the later page, or of the answer to `resume`; if absent, the newest page.
    #[serde(default)]
    #[ts(optional, type = "number")]
    pub before: Option<u64>,
    /// At most this many items, 1 to 1,000.
    pub limit: u32,
}

/// A page of items: all their lasting updates up to `seq`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ItemsResult {
    /// In the order of their numbers, as `agent/session/update` has them.
    pub updates: Vec<SessionUpdateParams>,
    /// Present if there are older items: `before` for the next older page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub before: Option<u64>,
    /// Number of the last update of the session that the page knows. Later ones come as updates.
    #[ts(type = "number")]
    pub seq: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ItemReadParams {
    pub session_id: SessionId,
    pub tool_call_id: ToolCallId,
}

/// What a tool call gave, as the model got it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ItemReadResult {
    /// The end of the result: whole lines where it has more than 32 KiB. Hidden characters are escaped. Absent while there is no
    /// result, and for a call that the session does not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub output: Option<String>,
    /// How many bytes of the result stand before `output`.
    #[ts(type = "number")]
    pub left_out: u64,
}
