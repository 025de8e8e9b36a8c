//! Writes the body of a Responses request, directly from the history.
//!
//! Never builds a tree of JSON values, and never refers to data that the provider would have to store: the request has
//! everything.

use std::borrow::Cow;

use adjutant_core::config::Wire;
use adjutant_core::machine::retry::CallFailure;
use adjutant_core::prompt::{ModelMessage, ModelRequest, Reply, ToolSpec};
use serde::Serialize;
use serde_json::value::RawValue;

use super::super::failure::unwritable;
use super::super::http::Post;
use super::super::parts::{Inline, UserPart, parts};
use super::super::request_cache::{CacheMarks, List, RequestCache, Source, WireFormat};
use super::super::sendable::{sendable_arguments, sendable_call_id, sendable_name};
use super::opaque::{self, MAX_CALL_ID};
use super::reasoning;
use super::rejected::RejectedFields;

/// Returns the body of the request for `post`.
pub(super) fn write(
    request: &ModelRequest,
    cache: &RequestCache,
    post: &Post<'_>,
    rejected: RejectedFields,
) -> Result<Vec<u8>, CallFailure> {
    let free_form = request.free_form && !rejected.free_form;
    let tools = cache.tools::<ResponsesFormat>(&request.tools, free_form).map_err(unwritable)?;
    let head = Head {
        model: &request.model,
        stream: !request.whole,
        store: false,
        max_output_tokens: request.max_output_tokens.or(post.provider.max_output_tokens),
        reasoning: reasoning::fields(request, post.provider, post.is_openai(), rejected),
        parallel_tool_calls: tools.is_some().then_some(true),
        tools: tools.as_deref(),
        text: request.generation_settings.verbosity.map(|level| Text { verbosity: level.name() }),
        temperature: post.provider.temperature.as_ref(),
        // Only for OpenAI: a compatible server may reject a field that it does not know.
        prompt_cache_key: (post.is_openai() && !rejected.cache_key).then(|| cache_key(request)),
        instructions: (!request.system.is_empty()).then_some(&request.system),
    };
    // A provider that rejected its encrypted reasoning gets no opaque items: no items match an empty name.
    let provider = if rejected.encrypted_reasoning { "" } else { &post.provider.name };
    let source = Source {
        wire: Wire::OpenaiResponses,
        provider,
        model: &request.model,
        max_call_id: MAX_CALL_ID,
        free_form,
        images: &request.images,
    };
    let body = cache.body::<ResponsesFormat>(&head, "input", request, &source, CacheMarks::NONE);
    let mut bytes = body.map_err(unwritable)?;
    // `RequestCache` leaves the list of input items open.
    bytes.extend_from_slice(b"]}");
    Ok(bytes)
}

/// All fields of the body except `input`. `RequestCache` appends the messages.
#[derive(serde::Serialize)]
struct Head<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(flatten)]
    reasoning: reasoning::ReasoningFields,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<&'a serde_json::Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
}

/// Returns the cache key of a conversation: a digest of the system prompt and the first user message.
///
/// OpenAI sends requests with the same key to the same machine, which has the prompt in its cache. The key contains
/// nothing else of the session.
fn cache_key(request: &ModelRequest) -> String {
    let first = request.messages.iter().find_map(|message| match message {
        ModelMessage::User { text, .. } => Some(text.as_bytes()),
        _ => None,
    });
    let digest = adjutant_core::digest_parts(&[request.system.as_bytes(), first.unwrap_or_default()]);
    digest.chars().take(32).collect()
}

#[derive(serde::Serialize)]
struct Text {
    verbosity: &'static str,
}

#[derive(serde::Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ToolLine<'a> {
    Function {
        name: &'a str,
        description: &'a str,
        parameters: &'a serde_json::Value,
        /// Always false: strict schemas forbid optional fields, and Adjutant's tools have them.
        strict: bool,
    },
    /// A tool whose input is plain text.
    Custom { name: &'a str, description: &'a str },
}

/// One item of `input`.
#[derive(serde::Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputLine<'a> {
    Message { role: &'static str, content: Vec<ContentLine<'a>> },
    FunctionCall { call_id: Cow<'a, str>, name: Cow<'a, str>, arguments: Cow<'a, str> },
    FunctionCallOutput { call_id: Cow<'a, str>, output: &'a str },
    CustomToolCall { call_id: Cow<'a, str>, name: Cow<'a, str>, input: &'a str },
    CustomToolCallOutput { call_id: Cow<'a, str>, output: &'a str },
}

#[derive(serde::Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentLine<'a> {
    InputText { text: Cow<'a, str> },
    InputImage { image_url: Inline<'a> },
    OutputText { text: &'a str },
}

struct ResponsesFormat;

impl WireFormat for ResponsesFormat {
    fn tool(tool: &ToolSpec, free_form: bool) -> impl Serialize {
        let (name, description) = (&*tool.name, &*tool.description);
        if free_form && tool.free_form {
            return ToolLine::Custom { name, description };
        }
        ToolLine::Function { name, description, parameters: &tool.parameters, strict: false }
    }

    /// The system prompt has a field of its own.
    fn begin(_: &mut List, _: &str) -> serde_json::Result<()> {
        Ok(())
    }

    fn reminder(text: &str) -> impl Serialize {
        InputLine::Message { role: "user", content: vec![ContentLine::InputText { text: text.into() }] }
    }

    fn add(list: &mut List, new: &[ModelMessage], source: &Source<'_>) -> serde_json::Result<()> {
        // The calls that were written as free-form ones: their outputs follow them in the same request.
        let mut written: Vec<&str> = Vec::new();
        new.iter().try_for_each(|message| match message {
            ModelMessage::User { text, pictures, .. } => {
                let content = parts(text, pictures, source.images).into_iter().map(|part| match part {
                    UserPart::Text(text) => ContentLine::InputText { text },
                    UserPart::Image(image_url) => ContentLine::InputImage { image_url },
                });
                list.push(&InputLine::Message { role: "user", content: content.collect() })
            }
            ModelMessage::Tool { call_id, output } => {
                let is_free_form = written.contains(&&**call_id);
                let call_id = sendable_call_id(call_id, source.max_call_id);
                list.push(&match is_free_form {
                    true => InputLine::CustomToolCallOutput { call_id, output },
                    false => InputLine::FunctionCallOutput { call_id, output },
                })
            }
            ModelMessage::Assistant { reply } => {
                let free = reply.calls.iter().filter(|call| source.free_form && call.free_form);
                written = free.map(|call| call.id.as_str()).collect();
                add_reply(list, reply, source)
            }
        })
    }
}

fn add_reply(list: &mut List, reply: &Reply, source: &Source<'_>) -> serde_json::Result<()> {
    // The items of a free-form call are of no use to a model that takes none.
    let is_usable = source.free_form || reply.calls.iter().all(|call| !call.free_form);
    let items = source
        .opaque_items(reply)
        .filter(|_| is_usable)
        .unwrap_or_default()
        .iter()
        .map(|item| opaque::to_input(item));
    // If one opaque item is not valid JSON, write the reply from its text and calls instead.
    if let Some(items) = items.collect::<Result<Vec<_>, _>>().ok().filter(|items| !items.is_empty()) {
        items.iter().for_each(|item| list.push_raw(item));
        return Ok(());
    }
    if !reply.text.is_empty() {
        let content = vec![ContentLine::OutputText { text: &reply.text }];
        list.push(&InputLine::Message { role: "assistant", content })?;
    }
    reply.calls.iter().try_for_each(|call| {
        if let Some(input) = call.free_input().filter(|_| source.free_form) {
            return list.push(&InputLine::CustomToolCall {
                call_id: sendable_call_id(&call.id, source.max_call_id),
                name: sendable_name(&call.name),
                input: &input,
            });
        }
        list.push(&InputLine::FunctionCall {
            call_id: sendable_call_id(&call.id, source.max_call_id),
            name: sendable_name(&call.name),
            arguments: sendable_arguments(&call.arguments),
        })
    })
}

#[cfg(test)]
mod tests;
