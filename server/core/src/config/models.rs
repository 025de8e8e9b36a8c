//! What the settings say of models: those they name, and what each takes.
//!
//! Never knows a model by itself: the table is `crate::prompt::models`.

use super::{Provider, Settings};
use crate::prompt::models::{Facts, known};

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
}

#[cfg(test)]
mod tests;
