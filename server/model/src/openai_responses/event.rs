//! The JSON of a Responses stream, and of an answer without streaming.
//!
//! Never checks that values fit together: that is the job of `assembly`. Unknown events, items and fields are skipped,
//! and most known fields are optional, because servers differ.

use std::borrow::Cow;

use adjutant_core::prompt::Usage;
use serde_json::value::RawValue;

use super::super::draft::count;
use super::item::ItemKey;

/// The type of an event or an item. The rest is parsed only for a known type.
#[derive(serde::Deserialize)]
pub(super) struct EventType<'a> {
    #[serde(rename = "type", borrow, default)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
}

/// One event of the stream. Its type decides which fields it has.
#[derive(serde::Deserialize)]
pub(super) struct ResponsesEvent<'a> {
    pub item_id: Option<String>,
    pub output_index: Option<i64>,
    pub content_index: Option<i64>,
    pub summary_index: Option<i64>,
    pub delta: Option<String>,
    /// The complete text, after its deltas.
    pub text: Option<String>,
    pub refusal: Option<String>,
    pub name: Option<String>,
    #[serde(borrow)]
    pub arguments: Option<&'a RawValue>,
    /// The complete input of a free-form call.
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub item: Option<&'a RawValue>,
    #[serde(borrow)]
    pub response: Option<&'a RawValue>,
}

/// The complete answer: in the last event, or without streaming.
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
    #[serde(rename = "type", borrow, default)]
    pub kind: Cow<'a, str>,
    pub id: Option<String>,
    pub call_id: Option<String>,
    pub name: Option<String>,
    #[serde(borrow)]
    pub arguments: Option<&'a RawValue>,
    /// The input of a free-form call.
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
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
    /// Whether the item is a call whose input is plain text.
    pub fn is_free_form(&self) -> bool {
        self.kind == "custom_tool_call"
    }

    /// Adds the item's own ids to the key from its event.
    pub fn key_with_ids<'m>(&'m self, key: ItemKey<'m>) -> ItemKey<'m> {
        let given = |text: &'m Option<String>| text.as_deref().filter(|text| !text.is_empty());
        ItemKey { id: given(&self.id).or(key.id), call_id: given(&self.call_id), ..key }
    }
}

/// One part of the content of an item: a text or a refusal.
#[derive(serde::Deserialize)]
pub(super) struct ContentPart {
    pub text: Option<String>,
    pub refusal: Option<String>,
}

/// Returns a JSON string as text, and any other JSON as it is written. Some servers write arguments as an object.
pub(super) fn plain(raw: Option<&RawValue>) -> serde_json::Result<String> {
    match raw.map(RawValue::get) {
        None | Some("null") => Ok(String::new()),
        Some(text) if text.starts_with('"') => serde_json::from_str(text),
        Some(other) => Ok(other.to_owned()),
    }
}

/// Returns the parts of a content. Some servers write one string instead of a list.
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
    /// Returns the usage as Adjutant counts it. The input includes the cached tokens, the output the reasoning.
    pub fn into_usage(self) -> Usage {
        Usage {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cache_read_tokens: self.input_tokens_details.map_or(0, |details| details.cached_tokens),
            cache_write_tokens: 0,
        }
    }
}
