//! What was chosen for a session, and what of it a run follows.
//!
//! Never looks at settings: which models there are comes in with the choice.

use crate::prompt::message::Level;
use crate::prompt::models::Facts;
pub use crate::record::{ChoiceChange, ChoiceId, Choices, Follows, JudgedChoice, Offer, Takes};

/// Models one list offers; more are not shown, and can be set all the same.
pub const MAX_MODELS: usize = 100;

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

/// What changes by a choice; nothing where it is so already.
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
        JudgedChoice::Effort { effort } => of_level(ChoiceId::Effort, choices.manner.effort, *effort),
        JudgedChoice::Verbosity { verbosity } => {
            of_level(ChoiceId::Verbosity, choices.manner.verbosity, *verbosity)
        }
    };
    (change.from.as_ref() != Some(&change.to)).then_some(change)
}

fn of_level(config_id: ChoiceId, from: Option<Level>, to: Option<Level>) -> ChoiceChange {
    ChoiceChange { config_id, from: Some(level_name(from).to_owned()), to: level_name(to).to_owned() }
}

/// The name of a choice among levels.
pub fn level_name(level: Option<Level>) -> &'static str {
    level.map_or("default", Level::name)
}
