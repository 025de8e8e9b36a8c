//! Models that can be chosen, and what is known of them.
//!
//! Names no price, and says of every number whether it is known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ModelListParams {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelListResult {
    /// Those of the settings, the one that new sessions start with first. Any other model of a
    /// configured provider can be set by its name.
    pub models: Vec<ModelView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelView {
    /// `provider/model`.
    pub model: String,
    /// Tokens it reads.
    pub context_window: u32,
    /// Tokens one reply may have.
    pub max_output_tokens: u32,
    /// What it takes as `effort`; nothing where it is not known to take any.
    pub efforts: Vec<String>,
    /// What it takes as `verbosity`; likewise.
    pub verbosities: Vec<String>,
    /// Whether it is known to read images.
    pub images: bool,
    /// Whether the numbers are known; else they are stated defaults, or the settings'.
    pub known: bool,
    /// Why it cannot be used now, and what to set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub unavailable: Option<String>,
}
