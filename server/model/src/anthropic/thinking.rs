//! How a model is asked to think so hard, by the generation its name tells.
//!
//! Asks for nothing where no effort was chosen: then the model's own default holds.

use adjutant_core::prompt::{Level, ModelMessage, ModelRequest};

use super::super::frozen::Source;

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
    /// The model decides. Without `display` the newer ones think unseen.
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

/// The first generation that knows adaptive thinking and efforts together.
const ADAPTIVE: (u32, u32) = (4, 6);
/// The first generation that thinks at all, by a budget.
const BUDGETED: (u32, u32) = (3, 7);
/// The least budget that is taken.
const LEAST_BUDGET: u32 = 1024;

/// Says how to ask for the effort of `request`, whose reply may have `max_tokens`.
pub(super) fn asked(request: &ModelRequest, max_tokens: u32, source: &Source<'_>) -> ThinkingFields {
    let Some(effort) = request.manner.effort else { return ThinkingFields::default() };
    let output_config = Some(OutputConfig { effort: effort.name() });
    let claude = request.model.to_ascii_lowercase().contains("claude");
    match generation(&request.model) {
        // Others that speak this wire take an effort or skip it; to ask them for more could be refused.
        _ if !claude => ThinkingFields { thinking: None, output_config },
        Some(known) if known < BUDGETED => ThinkingFields::default(),
        Some(known) if known < ADAPTIVE => {
            ThinkingFields { thinking: budget(effort, request, max_tokens, source), output_config: None }
        }
        _ => ThinkingFields { thinking: Some(Thinking::Adaptive { display: "summarized" }), output_config },
    }
}

fn budget(effort: Level, request: &ModelRequest, max_tokens: u32, source: &Source<'_>) -> Option<Thinking> {
    let tokens = match effort {
        Level::Low => 4 << 10,
        Level::Medium => 10 << 10,
        Level::High => 24 << 10,
    };
    // What is thought comes out of the same limit as the answer, which has to have room too.
    let budget_tokens = tokens.min(max_tokens / 2);
    // With a budget, every reply since the user last spoke has to begin with its thinking: one that
    // another model or another effort made has none.
    let since =
        request.messages.iter().rev().take_while(|message| !matches!(message, ModelMessage::User { .. }));
    let unthought = since.into_iter().any(|message| match message {
        ModelMessage::Assistant { reply } => source.opaque_items(reply).is_none(),
        _ => false,
    });
    (budget_tokens >= LEAST_BUDGET && !unthought).then_some(Thinking::Enabled { budget_tokens })
}

/// Reads the version out of a name such as `claude-3-7-sonnet-20250219`, `claude-opus-4.6` or `claude-sonnet-4@20250514`.
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
