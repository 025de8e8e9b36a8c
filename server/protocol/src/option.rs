//! Config options of a session: modes, models and how they answer, in the shape of the Agent
//! Client Protocol. Holds names only; what a choice does is the server's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::SessionId;

/// What can be chosen for a session.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, TS,
)]
#[serde(rename_all = "snake_case")]
pub enum ConfigId {
    /// Which tools a run has.
    Mode,
    /// `provider/model`; absent from the list while no model is configured.
    Model,
    /// How much the model thinks; absent where the model is not known to take it.
    Effort,
    /// How many words the model makes; absent likewise.
    Verbosity,
}

/// How an option is shown; a list to choose from is the only way yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum ConfigKind {
    #[default]
    Select,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConfigOption {
    pub id: ConfigId,
    pub name: String,
    /// `mode`, `model`, `thought_level` or `_verbosity`: a client may draw a picker of its own for each.
    pub category: String,
    #[serde(rename = "type")]
    pub kind: ConfigKind,
    pub current_value: String,
    pub options: Vec<ConfigValue>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConfigValue {
    pub value: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub description: Option<String>,
}

/// One change, with the old and the new value (S11).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConfigChange {
    pub config_id: ConfigId,
    /// Absent where nothing was chosen before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub from: Option<String>,
    pub to: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetConfigOptionParams {
    pub session_id: SessionId,
    pub config_id: ConfigId,
    pub value: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct SetConfigOptionResult {
    /// All options, with what they are now.
    pub config_options: Vec<ConfigOption>,
}
