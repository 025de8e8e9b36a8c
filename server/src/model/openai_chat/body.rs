//! The body of a Chat Completions request, written straight from the messages.
//!
//! Builds no tree of values, and writes tools and messages once: the same bytes
//! every turn are what lets a provider reuse what it has read.

mod conversation;

use std::sync::{Arc, Mutex, PoisonError};

use adjutant_core::prompt::{ModelRequest, ToolSpec};
use adjutant_core::retry::{CallFailure, FailureClass};
use serde_json::value::RawValue;

use super::super::failure::failure;
use super::super::http::Post;
use conversation::Conversations;

/// How many tool lists are kept: one per mode of a few sessions.
const KEPT_TOOL_LISTS: usize = 16;

/// What was written before and is sent again.
#[derive(Default)]
pub(in crate::model) struct Frozen {
    tools: FrozenTools,
    conversations: Conversations,
}

/// Tool lists as JSON, by the identity of the list they were written from.
#[derive(Default)]
struct FrozenTools {
    /// Holding the list itself keeps its address from being given to another.
    kept: Mutex<Vec<ToolList>>,
}

type ToolList = (Arc<[ToolSpec]>, Arc<RawValue>);

impl FrozenTools {
    fn json_of(&self, tools: &Arc<[ToolSpec]>) -> Result<Option<Arc<RawValue>>, serde_json::Error> {
        if tools.is_empty() {
            return Ok(None);
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, json)) = kept.iter().find(|(known, _)| Arc::ptr_eq(known, tools)) {
            return Ok(Some(Arc::clone(json)));
        }
        let lines = tools.iter().map(|tool| ToolLine {
            kind: "function",
            function: ToolBody {
                name: tool.name,
                description: tool.description,
                parameters: &tool.parameters,
            },
        });
        let json = serde_json::value::to_raw_value(&lines.collect::<Vec<_>>())?;
        let json = Arc::<RawValue>::from(json);
        if kept.len() == KEPT_TOOL_LISTS {
            kept.remove(0);
        }
        kept.push((Arc::clone(tools), Arc::clone(&json)));
        Ok(Some(json))
    }
}

/// Writes the request for `post`.
pub(super) fn write(
    request: &ModelRequest,
    frozen: &Frozen,
    post: &Post<'_>,
) -> Result<Vec<u8>, CallFailure> {
    let wrong = |error: serde_json::Error| {
        failure(FailureClass::InvalidRequest, format!("could not write the request: {error}"))
    };
    let tools = frozen.tools.json_of(&request.tools).map_err(wrong)?;
    let limit = request.max_output_tokens.or(post.provider.max_output_tokens);
    // OpenAI's own newer models refuse the old name, all others know no other.
    let (max_completion_tokens, max_tokens) = if post.is_openai() { (limit, None) } else { (None, limit) };
    let head = Head {
        model: &request.model,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        max_completion_tokens,
        max_tokens,
        tools: tools.as_deref(),
    };
    let mut bytes = serde_json::to_vec(&head).map_err(wrong)?;
    // The head is an object with at least a model: its brace gives way to the last field.
    bytes.pop();
    bytes.extend_from_slice(b",\"messages\":[");
    frozen.conversations.append(request, &mut bytes).map_err(wrong)?;
    bytes.extend_from_slice(b"]}");
    Ok(bytes)
}

/// Everything but the messages, which follow as written before.
#[derive(serde::Serialize)]
struct Head<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
}

#[derive(serde::Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(serde::Serialize)]
struct ToolLine<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: ToolBody<'a>,
}

#[derive(serde::Serialize)]
struct ToolBody<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a serde_json::Value,
}

#[cfg(test)]
mod tests;
