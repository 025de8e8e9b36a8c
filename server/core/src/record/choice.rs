//! What the log holds of a session's choices: those made, and what there was to choose from.

use serde::{Deserialize, Serialize};

use super::Mode;
use crate::prompt::message::{GenerationSettings, Level};

/// What holds for every run of a session that does not say otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choices {
    #[serde(default)]
    pub mode: Mode,
    /// `provider/model`; that of the settings where nothing was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(flatten)]
    pub manner: GenerationSettings,
}

impl Choices {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Which choices of its session a run has, and goes on having when they change.
/// What was given for one run alone stays as it was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Follows {
    #[serde(default)]
    pub mode: bool,
    #[serde(default)]
    pub model: bool,
    #[serde(default)]
    pub effort: bool,
    #[serde(default)]
    pub verbosity: bool,
}

/// A choice, judged by the settings already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "option", rename_all = "snake_case")]
pub enum JudgedChoice {
    Mode {
        mode: Mode,
    },
    Model {
        model: String,
    },
    /// Nothing leaves it to the provider.
    Effort {
        effort: Option<Level>,
    },
    /// Likewise.
    Verbosity {
        verbosity: Option<Level>,
    },
}

/// What can be chosen for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceId {
    /// Which tools a run has.
    Mode,
    /// `provider/model`.
    Model,
    /// How much the model thinks.
    Effort,
    /// How many words the model makes.
    Verbosity,
}

/// One change of a choice, with the old and the new value (S11).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChoiceChange {
    pub config_id: ChoiceId,
    /// Absent where nothing was chosen before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    pub to: String,
}

/// What there is to choose from, and the model that counts now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The model of the session's next run; absent while none is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    #[serde(flatten)]
    pub takes: Takes,
}

/// What a model takes, and can be told therefore (P18).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Takes {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub efforts: Vec<Level>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verbosities: Vec<Level>,
}
