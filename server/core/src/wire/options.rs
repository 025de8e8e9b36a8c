//! The options of a session as clients see them.
//!
//! No other file decides which options a session has. Never decides which values are allowed.

use adjutant_protocol::option::{ConfigChange, ConfigId, ConfigKind, ConfigOption, ConfigValue};

use crate::policy::choices::{Choices, Offer, Takes, level_name};
use crate::prompt::message::Level;
use crate::record::Mode;

/// Returns every option with its value, in the order in which clients show them.
pub fn options(choices: &Choices, offer: &Offer) -> Vec<ConfigOption> {
    let mode = choices.mode;
    let modes = Mode::ALL.iter().map(|mode| ConfigValue {
        value: mode.name().to_owned(),
        name: title_of(*mode).to_owned(),
        description: Some(description_of(*mode).to_owned()),
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
    options.extend(level_option(ConfigId::Effort, choices.generation_settings.effort, efforts));
    options.extend(level_option(ConfigId::Verbosity, choices.generation_settings.verbosity, verbosities));
    options
}

/// Returns the option for a level, or `None` if the model does not support one.
fn level_option(id: ConfigId, chosen: Option<Level>, levels: &[Level]) -> Option<ConfigOption> {
    // A chosen level that this model does not support stays in the session, but is not sent to this model.
    let chosen = chosen.filter(|level| levels.contains(level));
    let values = [None].into_iter().chain(levels.iter().copied().map(Some));
    let (name, category) = match id {
        ConfigId::Effort => ("Effort", "thought_level"),
        // The Agent Client Protocol reserves names with `_` for extensions.
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

/// Returns a change in words, to follow "from now on:".
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

fn description_of(mode: Mode) -> &'static str {
    match mode {
        Mode::Code => "Changes files and runs commands, and asks first",
        Mode::Ask => "Reads and answers; changes nothing",
    }
}
