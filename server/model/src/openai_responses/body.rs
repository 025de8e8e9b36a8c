//! The body of a Responses request, written straight from the messages.
//!
//! Builds no tree of values, and never names what the provider would have to
//! remember: all there is to know stands in the request.

use std::borrow::Cow;

use adjutant_core::config::Wire;
use adjutant_core::machine::retry::CallFailure;
use adjutant_core::prompt::{ModelMessage, ModelRequest, Reply, ToolSpec};
use serde::Serialize;
use serde_json::value::RawValue;

use super::super::failure::unwritable;
use super::super::frozen::{CacheMarks, FrozenRequest, List, Source, WireFormat};
use super::super::http::Post;
use super::super::parts::{Inline, UserPart, parts};
use super::super::sendable::{named, paired, sendable};
use super::opaque::{self, MAX_CALL_ID};
use super::reasoning;
use super::refused::RejectedFields;

/// Writes the request for `post`.
pub(super) fn write(
    request: &ModelRequest,
    frozen: &FrozenRequest,
    post: &Post<'_>,
    refused: RejectedFields,
) -> Result<Vec<u8>, CallFailure> {
    let tools = frozen.tools::<ResponsesFormat>(&request.tools).map_err(unwritable)?;
    let head = Head {
        model: &request.model,
        stream: !request.whole,
        store: false,
        max_output_tokens: request.max_output_tokens.or(post.provider.max_output_tokens),
        asked: reasoning::asked(request, post.provider, post.is_openai(), refused),
        parallel_tool_calls: tools.is_some().then_some(true),
        tools: tools.as_deref(),
        text: request.manner.verbosity.map(|level| Text { verbosity: level.name() }),
        temperature: post.provider.temperature.as_ref(),
        // Compatible servers may know no such field, and refuse what they do not know.
        prompt_cache_key: (post.is_openai() && !refused.cache_key).then(|| cache_key(request)),
        instructions: (!request.system.is_empty()).then_some(&request.system),
    };
    // What was kept comes back to nobody who refused it.
    let provider = if refused.sealed { "" } else { &post.provider.name };
    let source = Source {
        wire: Wire::OpenaiResponses,
        provider,
        model: &request.model,
        max_call_id: MAX_CALL_ID,
        images: &request.images,
    };
    let body = frozen.body::<ResponsesFormat>(&head, "input", request, &source, CacheMarks::NONE);
    let mut bytes = body.map_err(unwritable)?;
    bytes.extend_from_slice(b"]}");
    Ok(bytes)
}

/// Everything but the conversation, which follows as written before.
#[derive(serde::Serialize)]
struct Head<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(flatten)]
    asked: reasoning::ReasoningFields,
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

/// Names the conversation, so that its requests reach the machine that has read its beginning. It follows
/// from that beginning alone: nothing else of the session is told.
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
struct ToolLine<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a serde_json::Value,
    /// What strict schemas forbid, optional fields among it, is what our tools have.
    strict: bool,
}

/// One item of the input.
#[derive(serde::Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputLine<'a> {
    Message { role: &'static str, content: Vec<Words<'a>> },
    FunctionCall { call_id: Cow<'a, str>, name: Cow<'a, str>, arguments: Cow<'a, str> },
    FunctionCallOutput { call_id: Cow<'a, str>, output: &'a str },
}

#[derive(serde::Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Words<'a> {
    InputText { text: Cow<'a, str> },
    InputImage { image_url: Inline<'a> },
    OutputText { text: &'a str },
}

struct ResponsesFormat;

impl WireFormat for ResponsesFormat {
    fn tool(tool: &ToolSpec) -> impl Serialize {
        ToolLine {
            kind: "function",
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.parameters,
            strict: false,
        }
    }

    /// The system prompt has a field of its own.
    fn begin(_: &mut List, _: &str) -> serde_json::Result<()> {
        Ok(())
    }

    fn add(list: &mut List, new: &[ModelMessage], source: &Source<'_>) -> serde_json::Result<()> {
        new.iter().try_for_each(|message| match message {
            ModelMessage::User { text, pictures } => {
                let words = parts(text, pictures, source.images).into_iter().map(|part| match part {
                    UserPart::Text(text) => Words::InputText { text },
                    UserPart::Image(image_url) => Words::InputImage { image_url },
                });
                list.push(&InputLine::Message { role: "user", content: words.collect() })
            }
            ModelMessage::Tool { call_id, output } => list.push(&InputLine::FunctionCallOutput {
                call_id: paired(call_id, source.max_call_id),
                output,
            }),
            ModelMessage::Assistant { reply } => add_reply(list, reply, source),
        })
    }
}

fn add_reply(list: &mut List, reply: &Reply, source: &Source<'_>) -> serde_json::Result<()> {
    let items = source.opaque_items(reply).unwrap_or_default().iter().map(|item| opaque::input_of(item));
    // One item that cannot be read is not worth a session: all of them are written anew.
    if let Some(items) = items.collect::<Result<Vec<_>, _>>().ok().filter(|items| !items.is_empty()) {
        items.iter().for_each(|item| list.push_raw(item));
        return Ok(());
    }
    if !reply.text.is_empty() {
        let content = vec![Words::OutputText { text: &reply.text }];
        list.push(&InputLine::Message { role: "assistant", content })?;
    }
    reply.calls.iter().try_for_each(|call| {
        list.push(&InputLine::FunctionCall {
            call_id: paired(&call.id, source.max_call_id),
            name: named(&call.name),
            arguments: sendable(&call.arguments),
        })
    })
}

#[cfg(test)]
mod tests;
