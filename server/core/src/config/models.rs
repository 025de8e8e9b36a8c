//! The capabilities of models, after the settings.
//!
//! Never contains a model's numbers; the table is `crate::prompt::models`.

use super::{Provider, Settings};
use crate::prompt::models::{EditTool, Facts, UNKNOWN, known};
use crate::prompt::{Reply, StopCause};

/// Tokens of the window that a reply with more room leaves free: the reminder of the next request may be longer.
const FREE: u64 = 1_000;

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

    /// Returns the output limit of a second request after a reply that was cut (S69): the most that the model is known to
    /// write, as far as its window has room. `None` if the user chose a limit, or if what the provider counted is not
    /// well below it, so that a second reply would be cut at about the same place.
    pub fn more_room(&self, model: &str, reply: &Reply) -> Option<u32> {
        let facts = self.facts(model);
        let usage = reply.usage.filter(|_| reply.stop == StopCause::MaxTokens)?;
        if self.max_output_tokens.is_some() || !facts.known {
            return None;
        }
        let used = usage.input_tokens.saturating_add(FREE);
        let left = u64::from(facts.context_window).saturating_sub(used);
        let room = left.min(u64::from(facts.max_output_tokens));
        let worth_it = usage.output_tokens.saturating_add(usage.output_tokens / 2);
        u32::try_from(room).ok().filter(|_| room >= worth_it)
    }

    /// Returns the output limit of a request for which this room was found. The settings or the model may have changed since.
    pub fn room_now(&self, model: &str, room: u32) -> Option<u32> {
        let facts = self.facts(model);
        (self.max_output_tokens.is_none() && facts.known).then(|| room.min(facts.max_output_tokens))
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
