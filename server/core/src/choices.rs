//! What was chosen for a session, and what of it a run follows.
//!
//! The only seat of which options a session has. Never looks at settings: which
//! models there are comes in with the choice.

use adjutant_protocol::option::{ConfigChange, ConfigId, ConfigKind, ConfigOption, ConfigValue};
use adjutant_protocol::session::Mode;
use serde::{Deserialize, Serialize};

use crate::message::{Level, Manner};
use crate::models::Facts;

/// Models one list offers; more are not shown, and can be set all the same.
pub const MAX_MODELS: usize = 100;

/// What holds for every run of a session that does not say otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choices {
    #[serde(default)]
    pub mode: Mode,
    /// `provider/model`; that of the settings where nothing was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(flatten)]
    pub manner: Manner,
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
pub enum Chosen {
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

impl From<Facts> for Takes {
    fn from(facts: Facts) -> Self {
        Self { efforts: facts.efforts.to_vec(), verbosities: facts.verbosities.to_vec() }
    }
}

impl Offer {
    /// Offers these models, each once; `model` is the one that counts, and `takes` says what one takes.
    pub fn new<'a>(
        model: Option<String>,
        there_are: impl Iterator<Item = &'a String>,
        takes: impl Fn(&str) -> Takes,
    ) -> Self {
        let mut models: Vec<String> = Vec::new();
        for name in there_are {
            if models.len() < MAX_MODELS && !models.contains(name) {
                models.push(name.clone());
            }
        }
        let takes = model.as_deref().map(takes).unwrap_or_default();
        Self { model, models, takes }
    }

    /// The same offer after a choice; what another model takes is for the caller to say.
    pub fn after(mut self, chosen: &Chosen) -> Self {
        if let Chosen::Model { model } = chosen {
            if !self.models.contains(model) {
                self.models.truncate(MAX_MODELS - 1);
                self.models.push(model.clone());
            }
            self.model = Some(model.clone());
        }
        self
    }
}

/// What changes by a choice; nothing where it is so already.
pub fn change(choices: &Choices, offer: &Offer, chosen: &Chosen) -> Option<ConfigChange> {
    let change = match chosen {
        Chosen::Mode { mode } => ConfigChange {
            config_id: ConfigId::Mode,
            from: Some(choices.mode.name().to_owned()),
            to: mode.name().to_owned(),
        },
        Chosen::Model { model } => {
            ConfigChange { config_id: ConfigId::Model, from: offer.model.clone(), to: model.clone() }
        }
        Chosen::Effort { effort } => of_level(ConfigId::Effort, choices.manner.effort, *effort),
        Chosen::Verbosity { verbosity } => {
            of_level(ConfigId::Verbosity, choices.manner.verbosity, *verbosity)
        }
    };
    (change.from.as_ref() != Some(&change.to)).then_some(change)
}

fn of_level(config_id: ConfigId, from: Option<Level>, to: Option<Level>) -> ConfigChange {
    ConfigChange { config_id, from: Some(level_name(from).to_owned()), to: level_name(to).to_owned() }
}

/// Every option with its value, in the order a client shows them.
pub fn options(choices: &Choices, offer: &Offer) -> Vec<ConfigOption> {
    let mode = choices.mode;
    let modes = Mode::ALL.iter().map(|mode| ConfigValue {
        value: mode.name().to_owned(),
        name: title_of(*mode).to_owned(),
        description: Some(meaning_of(*mode).to_owned()),
    });
    let mut options = vec![ConfigOption {
        id: ConfigId::Mode,
        name: "Mode".to_owned(),
        category: "mode".to_owned(),
        kind: ConfigKind::Select,
        current_value: mode.name().to_owned(),
        options: modes.collect(),
    }];
    options.extend(offer.model.clone().map(|current_value| ConfigOption {
        id: ConfigId::Model,
        name: "Model".to_owned(),
        category: "model".to_owned(),
        kind: ConfigKind::Select,
        current_value,
        options: offer.models.iter().map(|model| named(model)).collect(),
    }));
    let Takes { efforts, verbosities } = &offer.takes;
    options.extend(level_option(ConfigId::Effort, choices.manner.effort, efforts));
    options.extend(level_option(ConfigId::Verbosity, choices.manner.verbosity, verbosities));
    options
}

/// Nothing where the model takes none: without a choice there is nothing to choose.
fn level_option(id: ConfigId, chosen: Option<Level>, levels: &[Level]) -> Option<ConfigOption> {
    // What another model took stays chosen, and is not sent to one that does not take it.
    let chosen = chosen.filter(|level| levels.contains(level));
    let values = [None].into_iter().chain(levels.iter().copied().map(Some));
    let (name, category) = match id {
        ConfigId::Effort => ("Effort", "thought_level"),
        // The Agent Client Protocol leaves names that begin so to everybody.
        _ => ("Verbosity", "_verbosity"),
    };
    (!levels.is_empty()).then(|| ConfigOption {
        id,
        name: name.to_owned(),
        category: category.to_owned(),
        kind: ConfigKind::Select,
        current_value: level_name(chosen).to_owned(),
        options: values.map(|level| named(level_name(level))).collect(),
    })
}

/// The name of a choice among levels.
pub fn level_name(level: Option<Level>) -> &'static str {
    level.map_or("default", Level::name)
}

/// A change for people; fits behind "from now on".
pub fn in_words(change: &ConfigChange) -> String {
    match change.config_id {
        ConfigId::Mode => format!("the mode is {}", change.to),
        ConfigId::Model => format!("new runs use {}", change.to),
        ConfigId::Effort => format!("new runs think with effort {}", change.to),
        ConfigId::Verbosity => format!("new runs answer with verbosity {}", change.to),
    }
}

fn named(model: &str) -> ConfigValue {
    ConfigValue { value: model.to_owned(), name: model.to_owned(), description: None }
}

fn title_of(mode: Mode) -> &'static str {
    match mode {
        Mode::Code => "Code",
        Mode::Ask => "Ask",
    }
}

fn meaning_of(mode: Mode) -> &'static str {
    match mode {
        Mode::Code => "All tools; edits and commands ask",
        Mode::Ask => "Only tools that read",
    }
}
