//! What a request says of reasoning, and to which models.
//!
//! Never speaks of it to a model that may know none: such a one refuses the
//! whole request ("unsupported parameter", "not supported with this model"),
//! and so may a compatible server.

use adjutant_core::config::Provider;
use adjutant_core::prompt::ModelRequest;

use super::refused::RejectedFields;

/// What the provider is asked for of the reasoning.
#[derive(serde::Serialize)]
pub(super) struct ReasoningFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Effort>,
    /// The reasoning comes sealed, so that it can be sent back to a provider that keeps nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<[&'static str; 1]>,
}

#[derive(serde::Serialize)]
struct Effort {
    effort: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

/// Returns what is asked for: all of it where an effort is set, for then the model reasons; else only the
/// sealed reasoning, and that of OpenAI's own models that are known to reason.
pub(super) fn asked(
    request: &ModelRequest,
    provider: &Provider,
    is_openai: bool,
    refused: RejectedFields,
) -> ReasoningFields {
    let summary = (!refused.summary).then_some("auto");
    let reasoning = request.manner.effort.map(|effort| Effort { effort: effort.name(), summary });
    let is_known = || !provider.facts(&request.model).efforts.is_empty();
    let reasons = reasoning.is_some() || (is_openai && is_known());
    let include = (reasons && !refused.sealed).then_some(["reasoning.encrypted_content"]);
    ReasoningFields { reasoning, include }
}
