//! The prompts that the user wrote before, in pages.
//!
//! Never has a text that an editor or Adjutant added to a prompt.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::SessionId;

/// The most prompts in a page.
pub const MAX_PAGE_PROMPTS: u32 = 200;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PromptHistoryParams {
    /// Only prompts of sessions of this workspace folder, a `file:` URI.
    pub cwd: String,
    /// At most this many prompts, 1 to 200.
    #[serde(default = "PromptHistoryParams::default_limit")]
    #[ts(optional, as = "Option<u32>")]
    pub limit: u32,
    /// The `before` of the later page; if absent, the newest page.
    #[serde(default)]
    #[ts(optional)]
    pub before: Option<String>,
}

impl PromptHistoryParams {
    fn default_limit() -> u32 {
        50
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct PromptHistoryResult {
    /// Newest first, without equal ones in a row.
    pub prompts: Vec<PastPrompt>,
    /// Present if there are older prompts: `before` for the next older page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub before: Option<String>,
}

/// A prompt in the user's own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct PastPrompt {
    pub text: String,
    pub session_id: SessionId,
    /// Milliseconds since the Unix epoch.
    #[ts(type = "number")]
    pub at: u64,
}
