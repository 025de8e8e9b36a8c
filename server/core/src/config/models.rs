//! The capabilities of models, after the settings.
//!
//! Never contains a model's numbers; the table is `crate::prompt::models`.

use super::{Provider, Settings};
use crate::prompt::models::{EditTool, Facts, UNKNOWN, known};

impl Provider {
    /// Returns the known capabilities of a model of this provider. The settings of the provider win over the table.
    pub fn facts(&self, model: &str) -> Facts {
        let facts = known(model);
        Facts {
            context_window: self.context_window.unwrap_or(facts.context_window),
            max_output_tokens: self.max_output_tokens.unwrap_or(facts.max_output_tokens),
            tools: self.tools,
            images: self.images.unwrap_or(facts.images),
            edit_tool: self.edit_tool.unwrap_or(facts.edit_tool),
            ..facts
        }
    }
}

impl Settings {
    /// Returns the known capabilities of a model; `None` if it cannot be used.
    pub fn facts(&self, model: &str) -> Option<Facts> {
        let (provider, model) = self.provider_for(Some(model)).ok()?;
        Some(provider.facts(&model))
    }

    /// Returns the tool by which a model edits files.
    pub fn edit_tool(&self, model: &str) -> EditTool {
        self.facts(model).map_or(UNKNOWN.edit_tool, |facts| facts.edit_tool)
    }

    /// Returns the context window of a model in tokens, if the table or the settings have it.
    pub fn known_window(&self, model: &str) -> Option<u32> {
        let (provider, model) = self.provider_for(Some(model)).ok()?;
        provider
            .context_window
            .or_else(|| Some(known(&model)).filter(|facts| facts.known).map(|facts| facts.context_window))
    }

    /// Returns whether a model accepts images; false if it cannot be used.
    pub fn takes_images(&self, model: &str) -> bool {
        self.facts(model).is_some_and(|facts| facts.images)
    }
}

#[cfg(test)]
mod tests;
