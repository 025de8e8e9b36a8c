//! The options of a session as clients see them.
//!
//! The only seat of which options a session has.

use adjutant_protocol::option::{ConfigChange, ConfigId, ConfigKind, ConfigOption, ConfigValue};

use crate::policy::choices::{Choices, Offer, Takes, level_name};
use crate::prompt::message::Level;
use crate::record::Mode;

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
