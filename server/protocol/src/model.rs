//! The models that a user can choose, with their known limits.
//!
//! Never contains a price. `known` says whether the numbers are known or assumed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ModelListParams {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelListResult {
    /// The models of the settings. The model for new sessions comes first. A client can set any other
    /// model of a configured provider by its name.
    pub models: Vec<ModelView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelView {
    /// `provider/model`.
    pub model: String,
    /// Tokens that the model can read.
    pub context_window: u32,
    /// Tokens that one reply may have.
    pub max_output_tokens: u32,
    /// The values that it accepts as `effort`; empty if none is known.
    pub efforts: Vec<String>,
    /// The values that it accepts as `verbosity`; empty if none is known.
    pub verbosities: Vec<String>,
    /// Whether it is known to accept images.
    pub images: bool,
    /// Whether Adjutant knows the numbers of this model. If not, they are defaults or come from the settings.
    pub known: bool,
    /// Why the model cannot be used now, and what to set; absent if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub unavailable: Option<String>,
}
