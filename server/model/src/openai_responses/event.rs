//! The shapes of a Responses stream and of a whole answer, read as leniently as servers write.
//!
//! Judges nothing: events, items and fields nobody needs are skipped.

use std::borrow::Cow;

use adjutant_core::prompt::Usage;
use serde_json::value::RawValue;

use super::super::draft::count;
use super::item::ItemKey;

/// What an event or an item is; the rest of it is read only if that is known.
#[derive(serde::Deserialize)]
pub(super) struct EventType<'a> {
    #[serde(rename = "type", borrow, default)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
}

/// One event; which fields it has depends on its kind.
#[derive(serde::Deserialize)]
pub(super) struct ResponsesEvent<'a> {
    pub item_id: Option<String>,
    pub output_index: Option<i64>,
    pub content_index: Option<i64>,
    pub summary_index: Option<i64>,
    pub delta: Option<String>,
    /// All of a text that was streamed in pieces.
    pub text: Option<String>,
    pub refusal: Option<String>,
    pub name: Option<String>,
    #[serde(borrow)]
    pub arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub item: Option<&'a RawValue>,
    #[serde(borrow)]
    pub response: Option<&'a RawValue>,
}

/// The whole answer: of the last event, or instead of a stream.
#[derive(Default, serde::Deserialize)]
pub(super) struct WholeResponse<'a> {
    #[serde(borrow, default)]
    pub status: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub output: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
    pub incomplete_details: Option<Incomplete>,
    pub usage: Option<ResponsesUsage>,
}

#[derive(serde::Deserialize)]
pub(super) struct Incomplete {
    pub reason: Option<String>,
}

/// One item of the output.
#[derive(Default, serde::Deserialize)]
pub(super) struct ItemText<'a> {
    pub id: Option<String>,
    pub call_id: Option<String>,
    pub name: Option<String>,
    #[serde(borrow)]
    pub arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub summary: Option<&'a RawValue>,
    #[serde(borrow)]
    pub encrypted_content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub phase: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub status: Option<Cow<'a, str>>,
}

impl ItemText<'_> {
    /// Adds to what the event says of an item what the item says of itself.
    pub fn marked<'m>(&'m self, mark: ItemKey<'m>) -> ItemKey<'m> {
        let given = |text: &'m Option<String>| text.as_deref().filter(|text| !text.is_empty());
        ItemKey { id: given(&self.id).or(mark.id), call_id: given(&self.call_id), ..mark }
    }
}

/// A part of the content of an item, under the name its kind of text has.
#[derive(serde::Deserialize)]
pub(super) struct ContentPart {
    pub text: Option<String>,
    pub refusal: Option<String>,
}

/// Reads a text, or what stands for one: some servers write a plain text for a list of parts, or an
/// object for arguments.
pub(super) fn plain(raw: Option<&RawValue>) -> serde_json::Result<String> {
    match raw.map(RawValue::get) {
        None | Some("null") => Ok(String::new()),
        Some(text) if text.starts_with('"') => serde_json::from_str(text),
        Some(other) => Ok(other.to_owned()),
    }
}

/// Reads the parts of a content.
pub(super) fn parts(raw: Option<&RawValue>) -> serde_json::Result<Vec<ContentPart>> {
    match raw.map(RawValue::get) {
        None | Some("null") => Ok(Vec::new()),
        Some(text) if text.starts_with('"') => {
            Ok(vec![ContentPart { text: serde_json::from_str(text)?, refusal: None }])
        }
        Some(list) => serde_json::from_str(list),
    }
}

#[derive(serde::Deserialize)]
pub(super) struct ResponsesUsage {
    #[serde(default, deserialize_with = "count")]
    pub input_tokens: u64,
    #[serde(default, deserialize_with = "count")]
    pub output_tokens: u64,
    pub input_tokens_details: Option<ResponsesUsageDetails>,
}

#[derive(serde::Deserialize)]
pub(super) struct ResponsesUsageDetails {
    #[serde(default, deserialize_with = "count")]
    pub cached_tokens: u64,
}

impl ResponsesUsage {
    /// The provider's count; its input includes what it read from its cache, its output the reasoning.
    pub fn counted(self) -> Usage {
        Usage {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cache_read_tokens: self.input_tokens_details.map_or(0, |details| details.cached_tokens),
            cache_write_tokens: 0,
        }
    }
}
