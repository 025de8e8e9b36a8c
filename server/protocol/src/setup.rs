//! Setting up a provider: what can be chosen, whether it works, and that it is written.
//!
//! A key goes from the client to the server only. No result has a field for one.

use std::fmt;

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use ts_rs::TS;

/// Params of `agent/setup/providers`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SetupProvidersParams {}

/// Result of `agent/setup/providers`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct SetupProvidersResult {
    /// Those whose key was found come first.
    pub providers: Vec<SetupProvider>,
    /// Why nothing can be written, and what to do; absent if something can. One line for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub problem: Option<String>,
}

/// One service that a user can choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct SetupProvider {
    /// Its name, for `agent/setup/try` and `agent/setup/write`.
    pub provider: String,
    /// Its name for the user.
    pub title: String,
    /// Whether the user has to give the address.
    pub needs_address: bool,
    /// The address that it has, or that most users give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub address: Option<String>,
    /// The variable that usually has its key; absent if it needs no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub key_variable: Option<String>,
    /// Whether the server has that variable, with a value.
    pub key_found: bool,
    /// A model to begin with; absent if the user has to name one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub model: Option<String>,
}

/// Params of `agent/setup/try` and `agent/setup/write`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetupParams {
    /// The `provider` of a [`SetupProvider`].
    pub provider: String,
    /// Only for one that needs an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub address: Option<String>,
    /// Without it the key is read from the usual variable of the provider, if it needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub key: Option<SetupKey>,
    /// As the service calls it.
    pub model: String,
}

/// Where a key is.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, TS)]
#[serde(tag = "type", rename_all = "camelCase", deny_unknown_fields)]
pub enum SetupKey {
    /// In a variable of the server's environment.
    Variable { name: String },
    /// The key itself. It is written into a file next to the settings that only the user can read.
    Typed { key: String },
}

/// The same for the parser, whose errors quote what they find.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", deny_unknown_fields)]
enum ParsedKey {
    Variable { name: String },
    Typed { key: String },
}

impl<'de> Deserialize<'de> for SetupKey {
    /// Fails with an error that quotes nothing.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match ParsedKey::deserialize(from) {
            Ok(ParsedKey::Variable { name }) => Ok(SetupKey::Variable { name }),
            Ok(ParsedKey::Typed { key }) => Ok(SetupKey::Typed { key }),
            Err(_) => Err(D::Error::custom(
                "`key` is neither {\"type\": \"variable\", \"name\": NAME} nor {\"type\": \"typed\", \"key\": KEY}",
            )),
        }
    }
}

impl fmt::Debug for SetupKey {
    /// Leaves out the key, and a name, which may be a key in the wrong place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SetupKey::Variable { .. } => "Variable",
            SetupKey::Typed { .. } => "Typed",
        })
    }
}

/// Result of `agent/setup/try`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct SetupTryResult {
    /// Whether the model answered.
    pub works: bool,
    /// One line for the user, ready to be drawn: how fast it answered, or why not and what to do. The key is cut
    /// out of it.
    pub text: String,
}

/// Result of `agent/setup/write`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct SetupWriteResult {
    /// `provider/model`, as it is in the settings now.
    pub model: String,
    /// Whether new sessions of this server use it.
    pub in_use: bool,
    /// One line for the user, ready to be drawn: what was written, and what else to do if the model is not in use.
    pub text: String,
}
