//! The JSON of a Messages stream, and of an answer without streaming.
//!
//! Never checks that values fit together: that is the job of `assembly`. Unknown fields are skipped, and most known
//! fields are optional, because servers differ.

use std::borrow::Cow;

use serde_json::value::RawValue;

use adjutant_core::prompt::Usage;

use super::super::draft::count;

/// One event of the stream. Its type decides which fields it has.
#[derive(serde::Deserialize)]
pub(super) struct MessagesEvent<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Option<Cow<'a, str>>,
    pub index: Option<u64>,
    pub message: Option<MessageStart>,
    #[serde(borrow)]
    pub content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    pub delta: Option<BlockDelta<'a>>,
    pub usage: Option<MessagesUsage>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
}

#[derive(serde::Deserialize)]
pub(super) struct MessageStart {
    pub usage: Option<MessagesUsage>,
}

/// The `delta` of an event: it adds to a block or, in `message_delta`, has the stop reason of the message.
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

/// A response without streaming.
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

/// A block at its start event. In a response without streaming it is the complete block.
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
    /// The input tokens that were neither read from the cache nor written to it.
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
    /// Raises each count to the one in `later`.
    ///
    /// Counts never fall. Some servers leave out a count in later events, which reads as zero.
    pub fn raise_to(&mut self, later: MessagesUsage) {
        self.input_tokens = self.input_tokens.max(later.input_tokens);
        self.output_tokens = self.output_tokens.max(later.output_tokens);
        self.cache_creation_input_tokens =
            self.cache_creation_input_tokens.max(later.cache_creation_input_tokens);
        self.cache_read_input_tokens = self.cache_read_input_tokens.max(later.cache_read_input_tokens);
    }

    /// Returns the usage as Adjutant counts it: the input includes the tokens of the cache.
    pub fn into_usage(self) -> Usage {
        let cached = self.cache_read_input_tokens.saturating_add(self.cache_creation_input_tokens);
        Usage {
            input_tokens: self.input_tokens.saturating_add(cached),
            output_tokens: self.output_tokens,
            cache_read_tokens: self.cache_read_input_tokens,
            cache_write_tokens: self.cache_creation_input_tokens,
        }
    }
}
