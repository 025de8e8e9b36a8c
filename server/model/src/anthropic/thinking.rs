//! The request fields that set a reasoning effort, for each generation of Claude.
//!
//! The model's name gives its generation. Never sends these fields if no effort is set: the model then uses its
//! default.

use adjutant_core::prompt::{Level, ModelMessage, ModelRequest};

use super::super::request_cache::Source;

/// The fields of a request that ask for thinking.
#[derive(Debug, Default, PartialEq, serde::Serialize)]
pub(super) struct ThinkingFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_config: Option<OutputConfig>,
}

#[derive(Debug, PartialEq, serde::Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Thinking {
    /// The model decides how long it thinks. Without `display`, newer models send no text of their thinking.
    Adaptive {
        display: &'static str,
    },
    Enabled {
        budget_tokens: u32,
    },
}

#[derive(Debug, PartialEq, serde::Serialize)]
pub(super) struct OutputConfig {
    pub effort: &'static str,
}

/// The first generation that supports adaptive thinking and `effort`.
const ADAPTIVE: (u32, u32) = (4, 6);
/// The first generation that can think. Up to `ADAPTIVE`, models need a budget of tokens.
const BUDGETED: (u32, u32) = (3, 7);
/// The smallest budget that Anthropic accepts.
const MIN_BUDGET: u32 = 1024;

/// Returns the fields for the effort of `request`, whose reply is limited to `max_tokens`.
pub(super) fn fields(request: &ModelRequest, max_tokens: u32, source: &Source<'_>) -> ThinkingFields {
    let Some(effort) = request.generation_settings.effort else { return ThinkingFields::default() };
    let output_config = Some(OutputConfig { effort: effort.name() });
    let is_claude = request.model.to_ascii_lowercase().contains("claude");
    match generation(&request.model) {
        // Other models on this wire use `effort` or ignore it. They might reject `thinking`.
        _ if !is_claude => ThinkingFields { thinking: None, output_config },
        Some(known) if known < BUDGETED => ThinkingFields::default(),
        Some(known) if known < ADAPTIVE => {
            ThinkingFields { thinking: budget(effort, request, max_tokens, source), output_config: None }
        }
        // Newer, or a Claude without a number in its name.
        _ => ThinkingFields { thinking: Some(Thinking::Adaptive { display: "summarized" }), output_config },
    }
}

fn budget(effort: Level, request: &ModelRequest, max_tokens: u32, source: &Source<'_>) -> Option<Thinking> {
    let tokens = match effort {
        Level::Low => 4 << 10,
        Level::Medium => 10 << 10,
        Level::High => 24 << 10,
    };
    // Thinking counts towards the same limit as the answer, so it gets at most half.
    let budget_tokens = tokens.min(max_tokens / 2);
    // With a budget, Anthropic requires that every reply since the last user message begins with its thinking.
    // A reply of another model, or one made without thinking, has none, so the request has no budget then.
    let since_user =
        request.messages.iter().rev().take_while(|message| !matches!(message, ModelMessage::User { .. }));
    let lacks_thinking = since_user.into_iter().any(|message| match message {
        ModelMessage::Assistant { reply } => source.opaque_items(reply).is_none(),
        _ => false,
    });
    (budget_tokens >= MIN_BUDGET && !lacks_thinking).then_some(Thinking::Enabled { budget_tokens })
}

/// Returns the version in a name such as `claude-3-7-sonnet-20250219`, `claude-opus-4.6` or `claude-sonnet-4@20250514`.
fn generation(model: &str) -> Option<(u32, u32)> {
    // Longer numbers are dates.
    let number = |word: &str| word.parse::<u32>().ok().filter(|_| word.len() <= 2);
    let mut words =
        model.split(|c: char| !c.is_ascii_alphanumeric()).skip_while(|word| number(word).is_none());
    let major = number(words.next()?)?;
    Some((major, words.next().and_then(number).unwrap_or(0)))
}

#[cfg(test)]
mod tests;
