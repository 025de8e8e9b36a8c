//! What a provider refused to hear of, so that no later request says it.
//!
//! Never forgets what was refused, and takes nothing for refused that no failure named.

use adjutant_core::machine::retry::CallFailure;

/// What a provider refused to hear of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RejectedFields {
    /// Summaries are for verified organizations alone.
    pub summary: bool,
    /// Sealed reasoning is unknown to it, or was sealed with another key than it has now.
    pub sealed: bool,
    /// It does not know the name of a conversation.
    pub cache_key: bool,
}

impl RejectedFields {
    /// Returns what is refused from now on, if the failure of a request says so of something new.
    pub fn and(self, failed: &CallFailure) -> Option<RejectedFields> {
        let said = failed.message.to_ascii_lowercase();
        let speaks_of = |words: &[&str]| words.iter().any(|word| said.contains(word));
        let now = RejectedFields {
            summary: self.summary || speaks_of(&["reasoning summar", "reasoning.summary"]),
            sealed: self.sealed
                || speaks_of(&["encrypted content", "encrypted_content", "items are not persisted"]),
            cache_key: self.cache_key || speaks_of(&["prompt_cache_key"]),
        };
        (now != self).then_some(now)
    }
}
