//! The shapes of a Responses stream and of a whole answer, read as leniently as servers write.
//!
//! Judges nothing: fields nobody needs are skipped.

use std::borrow::Cow;

use adjutant_core::prompt::Usage;
use serde_json::value::RawValue;

use super::super::draft::count;

/// One event; which fields it has depends on its kind.
#[derive(serde::Deserialize)]
pub(super) struct Piece<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Option<Cow<'a, str>>,
    pub output_index: Option<u64>,
    #[serde(borrow)]
    pub item_id: Option<Cow<'a, str>>,
    pub summary_index: Option<u64>,
    pub delta: Option<String>,
    pub arguments: Option<String>,
    #[serde(borrow)]
    pub item: Option<&'a RawValue>,
    #[serde(borrow)]
    pub response: Option<&'a RawValue>,
}

/// A response as a whole: the end of a stream, or an answer that came all at once.
#[derive(serde::Deserialize)]
pub(super) struct Response<'a> {
    #[serde(borrow)]
    pub status: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub output: Option<Vec<&'a RawValue>>,
    pub usage: Option<Counts>,
    pub error: Option<serde_json::Value>,
    #[serde(borrow)]
    pub incomplete_details: Option<Incomplete<'a>>,
}

#[derive(serde::Deserialize)]
pub(super) struct Incomplete<'a> {
    #[serde(borrow)]
    pub reason: Option<Cow<'a, str>>,
}

/// One item of the output: a message, a call, reasoning, or what may come one day.
#[derive(serde::Deserialize)]
pub(super) struct Item<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub id: Option<Cow<'a, str>>,
    pub call_id: Option<String>,
    pub name: Option<String>,
    pub arguments: Option<String>,
    pub content: Option<Vec<Content>>,
    pub summary: Option<Vec<Content>>,
    pub encrypted_content: Option<serde::de::IgnoredAny>,
}

/// A part of a message or of reasoning.
#[derive(serde::Deserialize)]
pub(super) struct Content {
    pub text: Option<String>,
    pub refusal: Option<String>,
}

#[derive(serde::Deserialize)]
pub(super) struct Counts {
    #[serde(default, deserialize_with = "count")]
    pub input_tokens: u64,
    #[serde(default, deserialize_with = "count")]
    pub output_tokens: u64,
    pub input_tokens_details: Option<Details>,
}

#[derive(serde::Deserialize)]
pub(super) struct Details {
    #[serde(default, deserialize_with = "count")]
    pub cached_tokens: u64,
}

impl Counts {
    /// The provider's count; its input includes what it read from its cache, its output what was thought.
    pub fn counted(self) -> Usage {
        Usage {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cache_read_tokens: self.input_tokens_details.map_or(0, |details| details.cached_tokens),
            cache_write_tokens: 0,
        }
    }
}
