//! The body of a Chat Completions request, written straight from the messages.
//!
//! Builds no tree of values, and writes the tools of a session once: the same
//! bytes every turn are what lets a provider reuse what it has read.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use adjutant_core::prompt::{ModelMessage, ModelRequest, ToolSpec};
use adjutant_core::retry::{CallFailure, FailureClass};
use serde::ser::{Serialize, SerializeSeq, Serializer};
use serde_json::value::RawValue;

use super::super::failure::failure;
use super::super::http::Post;

/// How many tool lists are kept: one per mode of a few sessions.
const KEPT_TOOL_LISTS: usize = 16;

/// Tool lists as JSON, by the identity of the list they were written from.
#[derive(Default)]
pub(in crate::model) struct FrozenTools {
    /// Holding the list itself keeps its address from being given to another.
    kept: Mutex<Vec<Frozen>>,
}

type Frozen = (Arc<[ToolSpec]>, Arc<RawValue>);

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
    tools: &FrozenTools,
    post: &Post<'_>,
) -> Result<Vec<u8>, CallFailure> {
    let wrong = |error: serde_json::Error| {
        failure(FailureClass::InvalidRequest, format!("could not write the request: {error}"))
    };
    let tools = tools.json_of(&request.tools).map_err(wrong)?;
    let limit = request.max_output_tokens.or(post.provider.max_output_tokens);
    // OpenAI's own newer models refuse the old name, all others know no other.
    let (max_completion_tokens, max_tokens) = if post.is_openai() { (limit, None) } else { (None, limit) };
    let body = Body {
        model: &request.model,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        max_completion_tokens,
        max_tokens,
        tools: tools.as_deref(),
        messages: Messages(request),
    };
    let mut bytes = Vec::with_capacity(expected_size(request, tools.as_deref()));
    serde_json::to_writer(&mut bytes, &body).map_err(wrong)?;
    Ok(bytes)
}

/// A little more than the texts, for the quotes and escapes around them.
fn expected_size(request: &ModelRequest, tools: Option<&RawValue>) -> usize {
    let texts = request.messages.iter().map(|message| match message {
        ModelMessage::User { text } => text.len(),
        ModelMessage::Assistant { reply } => {
            reply.text.len() + reply.calls.iter().map(|call| call.arguments.len() + 128).sum::<usize>()
        }
        ModelMessage::Tool { output, .. } => output.len(),
    });
    let texts = texts.map(|length| length + length / 16 + 64).sum::<usize>();
    texts + request.system.len() + tools.map_or(0, |tools| tools.get().len()) + 1024
}

#[derive(serde::Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
    messages: Messages<'a>,
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

struct Messages<'a>(&'a ModelRequest);

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut lines = serializer.serialize_seq(None)?;
        if !self.0.system.is_empty() {
            lines.serialize_element(&Line::text("system", &self.0.system))?;
        }
        for message in &self.0.messages {
            lines.serialize_element(&Line::of(message))?;
        }
        lines.end()
    }
}

#[derive(serde::Serialize)]
struct Line<'a> {
    role: &'static str,
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<CallLine<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(serde::Serialize)]
struct CallLine<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CallBody<'a>,
}

#[derive(serde::Serialize)]
struct CallBody<'a> {
    name: &'a str,
    arguments: Cow<'a, str>,
}

impl<'a> Line<'a> {
    fn text(role: &'static str, text: &'a str) -> Line<'a> {
        Line { role, content: Some(text), tool_calls: Vec::new(), tool_call_id: None }
    }

    fn of(message: &'a ModelMessage) -> Line<'a> {
        match message {
            ModelMessage::User { text } => Line::text("user", text),
            ModelMessage::Tool { call_id, output } => {
                Line { tool_call_id: Some(call_id), ..Line::text("tool", output) }
            }
            ModelMessage::Assistant { reply } => {
                let calls = reply.calls.iter().map(|call| CallLine {
                    id: &call.id,
                    kind: "function",
                    function: CallBody { name: &call.name, arguments: sendable(&call.arguments) },
                });
                let tool_calls = calls.collect::<Vec<_>>();
                let content =
                    (tool_calls.is_empty() || !reply.text.is_empty()).then_some(reply.text.as_str());
                Line { role: "assistant", content, tool_calls, tool_call_id: None }
            }
        }
    }
}

/// Returns arguments a server can read back. Many parse those of old calls and
/// refuse the whole conversation for one that a model got wrong.
fn sendable(arguments: &str) -> Cow<'_, str> {
    const SHOWN_CHARS: usize = 2000;
    if arguments.trim().is_empty() {
        return Cow::Borrowed("{}");
    }
    if arguments.trim_start().starts_with('{')
        && serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok()
    {
        return Cow::Borrowed(arguments);
    }
    let shown = arguments.chars().take(SHOWN_CHARS).collect::<String>();
    Cow::Owned(serde_json::json!({ "invalid_arguments": shown }).to_string())
}

#[cfg(test)]
mod tests;
