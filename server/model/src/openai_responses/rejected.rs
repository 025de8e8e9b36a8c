//! The optional fields that a provider rejected, so that later requests omit them.
//!
//! Never clears a field, and never sets one that no failure named.

use adjutant_core::machine::retry::CallFailure;

/// The optional fields that a provider rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RejectedFields {
    /// Reasoning summaries: OpenAI sends them only to verified organizations.
    pub summary: bool,
    /// Encrypted reasoning: the provider does not support it, or cannot decrypt it any more.
    pub encrypted_reasoning: bool,
    /// `prompt_cache_key`.
    pub cache_key: bool,
    /// Tools whose input is plain text; they are sent as functions then.
    pub free_form: bool,
}

/// How providers say that they know no tools of the type `custom`.
const REJECTED_TOOLS: &[&str] =
    &["custom tool", "custom_tool", "type 'custom'", "type \"custom\"", "type: custom", "value: 'custom'"];

impl RejectedFields {
    /// Returns the rejected fields with those that `failed` names; `None` if it names no new one.
    pub fn with_failure(self, failed: &CallFailure) -> Option<RejectedFields> {
        let message = failed.message.to_ascii_lowercase();
        let mentions = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let now = RejectedFields {
            summary: self.summary || mentions(&["reasoning summar", "reasoning.summary"]),
            encrypted_reasoning: self.encrypted_reasoning
                || mentions(&["encrypted content", "encrypted_content", "items are not persisted"]),
            cache_key: self.cache_key || mentions(&["prompt_cache_key"]),
            free_form: self.free_form || mentions(REJECTED_TOOLS),
        };
        (now != self).then_some(now)
    }
}
