//! The choices of a session (mode, model, effort, verbosity) and how a new choice changes them.
//!
//! Never reads settings: the choice brings the list of models.

use crate::prompt::message::Level;
use crate::prompt::models::Facts;
pub use crate::record::{ChoiceChange, ChoiceId, Choices, Follows, JudgedChoice, Offer, Takes};

/// The most models that a list offers. The user can set a model that is not in the list.
pub const MAX_MODELS: usize = 100;

impl From<Facts> for Takes {
    fn from(facts: Facts) -> Self {
        Self { efforts: facts.efforts.to_vec(), verbosities: facts.verbosities.to_vec() }
    }
}

impl Offer {
    /// Returns an offer of these models, each once. `model` is the current one. `takes` returns the levels that a
    /// model supports.
    pub fn new<'a>(
        model: Option<String>,
        available: impl Iterator<Item = &'a String>,
        takes: impl Fn(&str) -> Takes,
    ) -> Self {
        let mut models: Vec<String> = Vec::new();
        for name in available {
            if models.len() < MAX_MODELS && !models.contains(name) {
                models.push(name.clone());
            }
        }
        let takes = model.as_deref().map(takes).unwrap_or_default();
        Self { model, models, takes }
    }

    /// Returns this offer after a choice. If the model changes, the caller sets the levels that it supports.
    pub fn after(mut self, chosen: &JudgedChoice) -> Self {
        if let JudgedChoice::Model { model } = chosen {
            if !self.models.contains(model) {
                self.models.truncate(MAX_MODELS - 1);
                self.models.push(model.clone());
            }
            self.model = Some(model.clone());
        }
        self
    }
}

/// Returns the change that a choice makes, or `None` if the choice is already in effect.
pub fn change(choices: &Choices, offer: &Offer, chosen: &JudgedChoice) -> Option<ChoiceChange> {
    let change = match chosen {
        JudgedChoice::Mode { mode } => ChoiceChange {
            config_id: ChoiceId::Mode,
            from: Some(choices.mode.name().to_owned()),
            to: mode.name().to_owned(),
        },
        JudgedChoice::Model { model } => {
            ChoiceChange { config_id: ChoiceId::Model, from: offer.model.clone(), to: model.clone() }
        }
        JudgedChoice::Effort { effort } => {
            level_change(ChoiceId::Effort, choices.generation_settings.effort, *effort)
        }
        JudgedChoice::Verbosity { verbosity } => {
            level_change(ChoiceId::Verbosity, choices.generation_settings.verbosity, *verbosity)
        }
    };
    (change.from.as_ref() != Some(&change.to)).then_some(change)
}

fn level_change(config_id: ChoiceId, from: Option<Level>, to: Option<Level>) -> ChoiceChange {
    ChoiceChange { config_id, from: Some(level_name(from).to_owned()), to: level_name(to).to_owned() }
}

/// Returns the name of a level; `default` if none is set.
pub fn level_name(level: Option<Level>) -> &'static str {
    level.map_or("default", Level::name)
}
