//! Config options of a session: mode, model, effort and verbosity, as in the Agent Client Protocol.
//!
//! Never contains the effect of a choice, only names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::SessionId;

/// The options that a user can choose for a session.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, TS,
)]
#[serde(rename_all = "snake_case")]
pub enum ConfigId {
    /// The tools of a run.
    Mode,
    /// `provider/model`; not in the list while no model is configured.
    Model,
    /// How much the model thinks; not in the list if the model is not known to support it.
    Effort,
    /// How many words the model writes; not in the list if the model is not known to support it.
    Verbosity,
}

/// How a client shows an option. A list to select from is the only kind today.
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
    /// `mode`, `model`, `thought_level` or `_verbosity`. A client may show its own picker for each.
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
    /// Absent if no value was chosen before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub from: Option<String>,
    pub to: String,
}

/// For what a choice counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum ConfigScope {
    #[default]
    Session,
    /// For the session, and for every new session of this user: it is written into the user's own settings file.
    User,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetConfigOptionParams {
    pub session_id: SessionId,
    pub config_id: ConfigId,
    pub value: String,
    /// `user` is refused for the mode, which has no setting.
    #[serde(default)]
    #[ts(optional, as = "Option<ConfigScope>")]
    pub scope: ConfigScope,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct SetConfigOptionResult {
    /// All options with their current values.
    pub config_options: Vec<ConfigOption>,
    /// One line for the user of a choice with the scope `user`: the file that has it now, or why it does not count although it is
    /// written. Nothing in it is markup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub text: Option<String>,
}
