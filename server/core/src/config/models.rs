//! What the settings say of models: those they name, and what each takes.
//!
//! Never knows a model by itself: the table is `crate::models`.

use adjutant_protocol::model::ModelView;

use super::{Provider, Settings};
use crate::message::Level;
use crate::models::{Facts, UNKNOWN, known};

impl Provider {
    /// Returns what is known of a model by the name this provider gives it; what is set for the provider wins.
    pub fn facts(&self, model: &str) -> Facts {
        let facts = known(model);
        Facts {
            context_window: self.context_window.unwrap_or(facts.context_window),
            max_output_tokens: self.max_output_tokens.unwrap_or(facts.max_output_tokens),
            tools: self.tools,
            images: self.images.unwrap_or(facts.images),
            ..facts
        }
    }
}

impl Settings {
    /// Returns what is known of a model; `None` for one that cannot be used.
    pub fn facts(&self, model: &str) -> Option<Facts> {
        let (provider, model) = self.provider_for(Some(model)).ok()?;
        Some(provider.facts(&model))
    }

    /// Returns whether a model takes images; no for one that cannot be used.
    pub fn takes_images(&self, model: &str) -> bool {
        self.facts(model).is_some_and(|facts| facts.images)
    }

    /// The models that are named, the one that sessions start with first, as clients see them.
    pub fn model_views(&self) -> Vec<ModelView> {
        let mut names: Vec<&String> = Vec::new();
        for name in self.model.iter().chain(&self.fallback_models) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.into_iter().map(|name| self.view(name)).collect()
    }

    fn view(&self, name: &str) -> ModelView {
        let found = self.provider_for(Some(name));
        let facts = found.as_ref().map_or(UNKNOWN, |(provider, model)| provider.facts(model));
        ModelView {
            model: name.to_owned(),
            context_window: facts.context_window,
            max_output_tokens: facts.max_output_tokens,
            efforts: names(facts.efforts),
            verbosities: names(facts.verbosities),
            images: facts.images,
            known: facts.known,
            unavailable: found.err().map(|why| why.to_string()),
        }
    }
}

fn names(levels: &[Level]) -> Vec<String> {
    levels.iter().map(|level| level.name().to_owned()).collect()
}

#[cfg(test)]
mod tests;
