//! The stored types of a session's choices: what was chosen, and what could be chosen.

use serde::{Deserialize, Serialize};

use super::Mode;
use crate::prompt::message::{GenerationSettings, Level};

/// The choices for every run of a session whose request does not name its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choices {
    #[serde(default)]
    pub mode: Mode,
    /// `provider/model`; `None` means the model of the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(flatten)]
    pub generation_settings: GenerationSettings,
}

impl Choices {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Which settings of a run come from its session's choices and change with them. A setting that the request gave
/// for this run alone stays as it is.
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

/// A choice that the settings have allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "option", rename_all = "snake_case")]
pub enum JudgedChoice {
    Mode {
        mode: Mode,
    },
    Model {
        model: String,
    },
    /// `None` leaves it to the provider.
    Effort {
        effort: Option<Level>,
    },
    /// `None` leaves it to the provider.
    Verbosity {
        verbosity: Option<Level>,
    },
}

/// The settings that a session lets the user choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceId {
    /// Which tools a run has.
    Mode,
    /// `provider/model`.
    Model,
    /// How much the model thinks.
    Effort,
    /// How many words the model writes.
    Verbosity,
}

/// One change of a choice, with the old and the new value (S11).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChoiceChange {
    pub config_id: ChoiceId,
    /// `None` if nothing was chosen before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    pub to: String,
}

/// The choices that are possible now, and the model of the next run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The model of the session's next run; `None` while no model is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    #[serde(flatten)]
    pub takes: Takes,
}

/// The generation settings that a model accepts (P18).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Takes {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub efforts: Vec<Level>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verbosities: Vec<Level>,
}
