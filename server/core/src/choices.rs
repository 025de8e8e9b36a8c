//! What was chosen for a session, and what of it a run follows.
//!
//! The only seat of which options a session has. Never looks at settings: which
//! models there are comes in with the choice.

use adjutant_protocol::option::{ConfigChange, ConfigId, ConfigKind, ConfigOption, ConfigValue};
use adjutant_protocol::session::Mode;
use serde::{Deserialize, Serialize};

use crate::message::Effort;
use crate::session::Session;

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
    /// Left to the provider where nothing was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
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
        effort: Option<Effort>,
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
    /// What the model that counts now takes (P18).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub efforts: Vec<Effort>,
}

impl Offer {
    /// The offer of a session: its model counts before that of the settings, and is in the list.
    /// `efforts` says what a model takes.
    pub fn new(
        session: &Session,
        model: Option<String>,
        configured: Vec<String>,
        efforts: impl Fn(&str) -> Vec<Effort>,
    ) -> Self {
        let model = session.choices.model.clone().or(model);
        let used = session.ended.iter().rev().map(|ended| &ended.model);
        let run = session.open_run().map(|run| &run.model);
        let mut models: Vec<String> = Vec::new();
        for name in configured.iter().chain(&model).chain(run).chain(used) {
            if models.len() < MAX_MODELS && !models.contains(name) {
                models.push(name.clone());
            }
        }
        let efforts = model.as_deref().map(efforts).unwrap_or_default();
        Self { model, models, efforts }
    }

    /// The same offer after a choice.
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
        Chosen::Effort { effort } => ConfigChange {
            config_id: ConfigId::Effort,
            from: Some(effort_name(choices.effort).to_owned()),
            to: effort_name(*effort).to_owned(),
        },
    };
    (change.from.as_ref() != Some(&change.to)).then_some(change)
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
    // Without a choice there is nothing to choose.
    options.extend((!offer.efforts.is_empty()).then(|| effort_option(choices.effort, &offer.efforts)));
    options
}

fn effort_option(chosen: Option<Effort>, efforts: &[Effort]) -> ConfigOption {
    // What another model took stays chosen, and is not sent to one that does not take it.
    let chosen = chosen.filter(|effort| efforts.contains(effort));
    let values = [None].into_iter().chain(efforts.iter().copied().map(Some));
    ConfigOption {
        id: ConfigId::Effort,
        name: "Effort".to_owned(),
        category: "thought_level".to_owned(),
        kind: ConfigKind::Select,
        current_value: effort_name(chosen).to_owned(),
        options: values.map(|effort| named(effort_name(effort))).collect(),
    }
}

/// The name of a choice of effort.
pub fn effort_name(effort: Option<Effort>) -> &'static str {
    effort.map_or("default", Effort::name)
}

/// A change for people; fits behind "from now on".
pub fn in_words(change: &ConfigChange) -> String {
    match change.config_id {
        ConfigId::Mode => format!("the mode is {}", change.to),
        ConfigId::Model => format!("new runs use {}", change.to),
        ConfigId::Effort => format!("new runs think with effort {}", change.to),
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
