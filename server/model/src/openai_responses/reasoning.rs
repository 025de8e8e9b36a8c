//! The reasoning fields of a request.
//!
//! Never sends them to a model that may not support reasoning: OpenAI rejects the whole request then ("unsupported
//! parameter", "not supported with this model"), and a compatible server may do the same.

use adjutant_core::config::Provider;
use adjutant_core::prompt::ModelRequest;

use super::rejected::RejectedFields;

/// The fields that configure the model's reasoning.
#[derive(serde::Serialize)]
pub(super) struct ReasoningFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Effort>,
    /// Requests the reasoning in encrypted form, to send it back: the provider stores nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<[&'static str; 1]>,
}

#[derive(serde::Serialize)]
struct Effort {
    effort: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

/// Returns the fields for `request`, without those in `rejected`.
///
/// With an effort, the model reasons, so all fields are sent. Without one, only `include` is sent, and only to OpenAI's
/// own models that are known to reason.
pub(super) fn fields(
    request: &ModelRequest,
    provider: &Provider,
    is_openai: bool,
    rejected: RejectedFields,
) -> ReasoningFields {
    let summary = (!rejected.summary).then_some("auto");
    let reasoning =
        request.generation_settings.effort.map(|effort| Effort { effort: effort.name(), summary });
    let is_known = || !provider.facts(&request.model).efforts.is_empty();
    let reasons = reasoning.is_some() || (is_openai && is_known());
    let include = (reasons && !rejected.encrypted_reasoning).then_some(["reasoning.encrypted_content"]);
    ReasoningFields { reasoning, include }
}
