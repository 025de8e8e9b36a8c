//! The JSON of one Chat Completions chunk, and of a response without streaming.
//!
//! Never checks that values fit together: that is the job of `assembly`. Unknown fields are skipped, and all fields are
//! optional, because servers differ. A known field of another type fails the reply.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::draft::count;

#[derive(serde::Deserialize)]
pub(super) struct Chunk<'a> {
    pub choices: Option<Vec<Choice>>,
    pub usage: Option<ChatUsage>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
}

#[derive(serde::Deserialize)]
pub(super) struct Choice {
    pub index: Option<i64>,
    pub delta: Option<Message>,
    /// Replaces `delta` in an answer without streaming.
    pub message: Option<Message>,
    pub finish_reason: Option<String>,
}

#[derive(serde::Deserialize)]
pub(super) struct Message {
    pub content: Option<String>,
    pub reasoning_content: Option<String>,
    pub reasoning: Option<String>,
    pub refusal: Option<String>,
    pub tool_calls: Option<Vec<CallPiece>>,
}

#[derive(serde::Deserialize)]
pub(super) struct CallPiece {
    pub index: Option<u64>,
    pub id: Option<String>,
    pub function: Option<FunctionPiece>,
}

#[derive(serde::Deserialize)]
pub(super) struct FunctionPiece {
    pub name: Option<String>,
    pub arguments: Option<Arguments>,
}

#[derive(serde::Deserialize)]
pub(super) struct ChatUsage {
    #[serde(default, deserialize_with = "count")]
    pub prompt_tokens: u64,
    #[serde(default, deserialize_with = "count")]
    pub completion_tokens: u64,
    #[serde(default, deserialize_with = "count")]
    pub prompt_cache_hit_tokens: u64,
    pub prompt_tokens_details: Option<ChatUsageDetails>,
}

#[derive(serde::Deserialize)]
pub(super) struct ChatUsageDetails {
    #[serde(default, deserialize_with = "count")]
    pub cached_tokens: u64,
}

/// A piece of the arguments. It is a text; some servers send the JSON object itself.
pub(super) struct Arguments(pub String);

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Arguments, D::Error> {
        deserializer.deserialize_any(ArgumentsVisitor)
    }
}

struct ArgumentsVisitor;

impl<'de> Visitor<'de> for ArgumentsVisitor {
    type Value = Arguments;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("arguments as text or an object")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Arguments, E> {
        Ok(Arguments(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Arguments, E> {
        Ok(Arguments(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Arguments, A::Error> {
        let value = Value::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Arguments(value.to_string()))
    }
}
