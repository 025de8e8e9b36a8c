//! Writes the body of a Chat Completions request, directly from the history.
//!
//! Never builds a tree of JSON values.

use std::borrow::Cow;

use adjutant_core::config::Wire;
use adjutant_core::machine::retry::CallFailure;
use adjutant_core::prompt::{Level, ModelMessage, ModelRequest, ToolSpec};
use serde::Serialize;
use serde_json::value::RawValue;

use super::super::failure::unwritable;
use super::super::http::Post;
use super::super::parts::{Inline, UserPart, parts};
use super::super::request_cache::{CacheMarks, List, RequestCache, Source, WireFormat};
use super::super::sendable::{sendable_arguments, sendable_call_id, sendable_name};

/// The maximum length of a call id that OpenAI accepts, in bytes.
///
/// Other servers get their ids back unchanged, because an id may have a meaning for them.
const MAX_OPENAI_CALL_ID: usize = 40;

/// Returns the body of the request for `post`.
pub(super) fn write(
    request: &ModelRequest,
    cache: &RequestCache,
    post: &Post<'_>,
) -> Result<Vec<u8>, CallFailure> {
    let tools = cache.tools::<Chat>(&request.tools, false).map_err(unwritable)?;
    let limit = request.max_output_tokens.or(post.provider.max_output_tokens);
    // OpenAI's newer models reject the old name `max_tokens`. Many other servers know
    // only the old name, so they get it.
    let (max_completion_tokens, max_tokens) = if post.is_openai() { (limit, None) } else { (None, limit) };
    let stream = !request.whole;
    let head = Head {
        model: &request.model,
        stream,
        stream_options: stream.then_some(StreamOptions { include_usage: true }),
        max_completion_tokens,
        max_tokens,
        reasoning_effort: request.generation_settings.effort.map(Level::name),
        verbosity: request.generation_settings.verbosity.map(Level::name),
        temperature: post.provider.temperature.as_ref(),
        tools: tools.as_deref(),
    };
    let source = Source {
        wire: Wire::OpenaiChat,
        provider: &post.provider.name,
        model: &request.model,
        max_call_id: if post.is_openai() { MAX_OPENAI_CALL_ID } else { usize::MAX },
        free_form: false,
        images: &request.images,
    };
    let body = cache.body::<Chat>(&head, "messages", request, &source, CacheMarks::NONE);
    let mut bytes = body.map_err(unwritable)?;
    // `RequestCache` leaves the list of messages open.
    bytes.extend_from_slice(b"]}");
    Ok(bytes)
}

/// All fields of the body except `messages`. `RequestCache` appends the messages.
#[derive(serde::Serialize)]
struct Head<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verbosity: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<&'a serde_json::Number>,
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

struct Chat;

impl WireFormat for Chat {
    fn tool(tool: &ToolSpec, _: bool) -> impl Serialize {
        ToolLine {
            kind: "function",
            function: ToolBody {
                name: &tool.name,
                description: &tool.description,
                parameters: &tool.parameters,
            },
        }
    }

    fn begin(list: &mut List, system: &str) -> serde_json::Result<()> {
        if system.is_empty() { Ok(()) } else { list.push(&ChatLine::text("system", system)) }
    }

    fn reminder(text: &str) -> impl Serialize {
        ChatLine::text("user", text)
    }

    fn add(list: &mut List, new: &[ModelMessage], source: &Source<'_>) -> serde_json::Result<()> {
        new.iter().try_for_each(|message| list.push(&ChatLine::of(message, source)))
    }
}

#[derive(serde::Serialize)]
struct ChatLine<'a> {
    role: &'static str,
    content: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<CallLine<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Cow<'a, str>>,
}

/// The content of a message: a text, which every server accepts, or a list of parts if there is an image.
#[derive(serde::Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<PartLine<'a>>),
}

#[derive(serde::Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum PartLine<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: Url<'a> },
}

#[derive(serde::Serialize)]
struct Url<'a> {
    url: Inline<'a>,
}

impl<'a> Content<'a> {
    fn of(mut parts: Vec<UserPart<'a>>) -> Content<'a> {
        if let [UserPart::Text(text)] = parts.as_mut_slice() {
            return Content::Text(std::mem::take(text));
        }
        let lines = parts.into_iter().map(|part| match part {
            UserPart::Text(text) => PartLine::Text { text },
            UserPart::Image(url) => PartLine::ImageUrl { image_url: Url { url } },
        });
        Content::Parts(lines.collect())
    }
}

#[derive(serde::Serialize)]
struct CallLine<'a> {
    id: Cow<'a, str>,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CallBody<'a>,
}

#[derive(serde::Serialize)]
struct CallBody<'a> {
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

impl<'a> ChatLine<'a> {
    fn text(role: &'static str, text: &'a str) -> ChatLine<'a> {
        ChatLine {
            role,
            content: Some(Content::Text(text.into())),
            tool_calls: Vec::new(),
            tool_call_id: None,
        }
    }

    fn of(message: &'a ModelMessage, source: &Source<'a>) -> ChatLine<'a> {
        match message {
            ModelMessage::User { text, pictures, .. } => {
                let content = Some(Content::of(parts(text, pictures, source.images)));
                ChatLine { role: "user", content, tool_calls: Vec::new(), tool_call_id: None }
            }
            ModelMessage::Tool { call_id, output } => ChatLine {
                tool_call_id: Some(sendable_call_id(call_id, source.max_call_id)),
                ..ChatLine::text("tool", output)
            },
            ModelMessage::Assistant { reply } => {
                let calls = reply.calls.iter().map(|call| CallLine {
                    id: sendable_call_id(&call.id, source.max_call_id),
                    kind: "function",
                    function: CallBody {
                        name: sendable_name(&call.name),
                        arguments: sendable_arguments(&call.arguments),
                    },
                });
                let tool_calls = calls.collect::<Vec<_>>();
                let content = (tool_calls.is_empty() || !reply.text.is_empty())
                    .then(|| Content::Text(reply.text.as_str().into()));
                ChatLine { role: "assistant", content, tool_calls, tool_call_id: None }
            }
        }
    }
}

#[cfg(test)]
mod tests;
