//! The shapes of a Messages stream and of a whole answer, read as leniently as servers write.
//!
//! Judges nothing: fields nobody needs are skipped.

use std::borrow::Cow;

use serde_json::value::RawValue;

use adjutant_core::prompt::Usage;

use super::super::draft::count;

/// One event; which fields it has depends on its kind.
#[derive(serde::Deserialize)]
pub(super) struct MessagesEvent<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Option<Cow<'a, str>>,
    pub index: Option<u64>,
    pub message: Option<Opening>,
    #[serde(borrow)]
    pub content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    pub delta: Option<BlockDelta<'a>>,
    pub usage: Option<MessagesUsage>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
}

#[derive(serde::Deserialize)]
pub(super) struct Opening {
    pub usage: Option<MessagesUsage>,
}

/// What a delta adds: to a block, or the end of the message.
#[derive(serde::Deserialize)]
pub(super) struct BlockDelta<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Option<Cow<'a, str>>,
    pub text: Option<String>,
    pub thinking: Option<String>,
    pub signature: Option<String>,
    pub partial_json: Option<String>,
    pub stop_reason: Option<String>,
}

/// An answer that came all at once.
#[derive(serde::Deserialize)]
pub(super) struct Whole<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub content: Option<Vec<&'a RawValue>>,
    pub stop_reason: Option<String>,
    pub usage: Option<MessagesUsage>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
}

/// A block of the content as it begins; in a whole answer, all of it.
#[derive(serde::Deserialize)]
pub(super) struct BlockStart<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    pub text: Option<String>,
    pub thinking: Option<String>,
    pub signature: Option<String>,
    pub id: Option<String>,
    pub name: Option<String>,
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
}

#[derive(Clone, Copy, Default, serde::Deserialize)]
pub(super) struct MessagesUsage {
    /// What was neither read from the cache nor written to it.
    #[serde(default, deserialize_with = "count")]
    pub input_tokens: u64,
    #[serde(default, deserialize_with = "count")]
    pub output_tokens: u64,
    #[serde(default, deserialize_with = "count")]
    pub cache_creation_input_tokens: u64,
    #[serde(default, deserialize_with = "count")]
    pub cache_read_input_tokens: u64,
}

impl MessagesUsage {
    /// Takes up later counts. They only grow, and some servers leave out later what they said at first.
    pub fn grow(&mut self, later: MessagesUsage) {
        self.input_tokens = self.input_tokens.max(later.input_tokens);
        self.output_tokens = self.output_tokens.max(later.output_tokens);
        self.cache_creation_input_tokens =
            self.cache_creation_input_tokens.max(later.cache_creation_input_tokens);
        self.cache_read_input_tokens = self.cache_read_input_tokens.max(later.cache_read_input_tokens);
    }

    /// The provider's count; our input includes what went through its cache.
    pub fn counted(self) -> Usage {
        let cached = self.cache_read_input_tokens.saturating_add(self.cache_creation_input_tokens);
        Usage {
            input_tokens: self.input_tokens.saturating_add(cached),
            output_tokens: self.output_tokens,
            cache_read_tokens: self.cache_read_input_tokens,
            cache_write_tokens: self.cache_creation_input_tokens,
        }
    }
}
