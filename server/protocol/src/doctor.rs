//! Whether Adjutant can work as it is set up, check by check, and what cures what is wrong.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Params of `agent/doctor`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct DoctorParams {
    /// Whether each model is asked for one word. That costs a few tokens and takes at most 30 s for each; without it no
    /// provider is called. Refused as `Overloaded` while another such request is under way.
    #[ts(optional, as = "Option<bool>")]
    pub call_models: bool,
}

/// Result of `agent/doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct DoctorResult {
    /// In the order in which a user reads them.
    pub checks: Vec<Check>,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// What was checked, in a word, such as `settings` or `model`. Several checks may have the same.
    pub check: String,
    pub health: Health,
    /// One line for the user, ready to be drawn; nothing in it is markup. A key is cut out of it, also
    /// of a provider's words; of a part of one that a provider repeats, nothing is known.
    pub text: String,
    /// What to do about it, if it is one command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub cure: Option<Cure>,
}

/// How well something works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    Ok,
    /// It is right, but the user should know.
    Note,
    /// It works, but not as the user wrote it.
    Warning,
    Error,
}

/// A command that mends what a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct Cure {
    /// The label of a button, at most 16 characters.
    pub title: String,
    /// A line for a terminal.
    pub command: String,
}
