//! Pages of the items of a session.
//!
//! Never says which updates are one item: `docs/protocol.md` does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::SessionId;
use crate::update::SessionUpdateParams;

/// The most items in a page.
pub const MAX_PAGE_ITEMS: u32 = 1_000;

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
