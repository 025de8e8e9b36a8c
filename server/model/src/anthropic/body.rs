//! Writes the body of a Messages request, directly from the history.
//!
//! Never builds a tree of JSON values, and never writes a body that Anthropic is known to reject.

use adjutant_core::config::{Provider, Wire};
use adjutant_core::machine::retry::CallFailure;
use adjutant_core::prompt::{ModelMessage, ModelRequest, Reply, ToolSpec};
use serde::Serialize;
use serde_json::value::RawValue;

use super::super::failure::unwritable;
use super::super::parts::parts;
use super::super::request_cache::{CacheMarks, List, RequestCache, Source, WireFormat};
use super::block::Block;
use super::thinking;

/// The output limit if neither the run nor the provider sets one, because this wire requires a number.
///
/// Every model since Claude 4 supports it. A model with a lower known limit gets that limit.
const DEFAULT_MAX_OUTPUT_TOKENS: u32 = 32_000;

/// Makes the provider cache the request up to this block.
///
/// A request may have at most four of these marks. The system prompt has one.
const CACHE_MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;
/// How many user messages have a cache mark: the last one, and the ones before it.
///
/// The provider finds the cache entries of earlier requests by the older marks.
const MARKED_MESSAGES: usize = 3;

/// Replaces the content of a user message without any, because Anthropic rejects an empty one.
const NO_WORDS: &str = "(no words)";
/// The first message if the history does not begin with a user message, which Anthropic requires.
const NO_BEGINNING: &str = "(the beginning is left out)";
/// The last message if the history ends with a reply, because newer models reject such a history.
///
/// It is never part of the cached bytes: the next request has a real message there.
const GO_ON: &[u8] = br#",{"role":"user","content":[{"type":"text","text":"Go on."}]}"#;

/// Writes the request for `provider`.
pub(super) fn write(
    request: &ModelRequest,
    cache: &RequestCache,
    provider: &Provider,
) -> Result<Vec<u8>, CallFailure> {
    let tools = cache.tools::<Messages>(&request.tools, false).map_err(unwritable)?;
    let usual = provider.max_output_tokens.unwrap_or_else(|| {
        let model = provider.facts(&request.model);
        if model.known {
            model.max_output_tokens.min(DEFAULT_MAX_OUTPUT_TOKENS)
        } else {
            DEFAULT_MAX_OUTPUT_TOKENS
        }
    });
    let max_tokens = request.max_output_tokens.unwrap_or(usual);
    let source = Source {
        wire: Wire::AnthropicMessages,
        provider: &provider.name,
        model: &request.model,
        max_call_id: usize::MAX,
        free_form: false,
        images: &request.images,
    };
    // More room than usual leaves the budget as it is: with another one, the cached messages would not be found.
    let thinking = thinking::fields(request, max_tokens.min(usual), &source);
    let head = Head {
        model: &request.model,
        stream: !request.whole,
        max_tokens,
        // A model rejects a temperature together with thinking.
        temperature: provider.temperature.as_ref().filter(|_| thinking.thinking.is_none()),
        thinking,
        tools: tools.as_deref(),
        system: SystemBlock::of(&request.system),
    };
    let marks = CacheMarks { count: MARKED_MESSAGES, text: CACHE_MARK };
    let body = cache.body::<Messages>(&head, "messages", request, &source, marks);
    let mut bytes = body.map_err(unwritable)?;
    let ends_with_reply = matches!(request.messages.last(), Some(ModelMessage::Assistant { .. }));
    // `RequestCache` leaves the list of messages open. With no message in it, the last byte is `[`.
    if bytes.last() == Some(&b'}') && ends_with_reply && request.reminder.is_none() {
        bytes.extend_from_slice(GO_ON);
    }
    bytes.extend_from_slice(b"]}");
    Ok(bytes)
}

/// All fields of the body except `messages`. `RequestCache` appends the messages.
#[derive(serde::Serialize)]
struct Head<'a> {
    model: &'a str,
    stream: bool,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<&'a serde_json::Number>,
    #[serde(flatten)]
    thinking: thinking::ThinkingFields,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[SystemBlock<'a>; 1]>,
}

#[derive(serde::Serialize)]
struct SystemBlock<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
    cache_control: CacheControl,
}

#[derive(serde::Serialize)]
struct CacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
}

impl<'a> SystemBlock<'a> {
    /// Returns the system prompt; `None` if it is blank, because Anthropic rejects a blank one.
    fn of(text: &'a str) -> Option<[SystemBlock<'a>; 1]> {
        let cache_control = CacheControl { kind: "ephemeral" };
        (!text.trim().is_empty()).then_some([SystemBlock { kind: "text", text, cache_control }])
    }
}

#[derive(serde::Serialize)]
struct ToolLine<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a serde_json::Value,
}

#[derive(serde::Serialize)]
struct MessageLine<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

struct Messages;

impl WireFormat for Messages {
    fn tool(tool: &ToolSpec, _: bool) -> impl Serialize {
        ToolLine { name: &tool.name, description: &tool.description, input_schema: &tool.parameters }
    }

    /// The system prompt has a field of its own.
    fn begin(_: &mut List, _: &str) -> serde_json::Result<()> {
        Ok(())
    }

    fn reminder(text: &str) -> impl Serialize {
        MessageLine { role: "user", content: vec![Block::Text { text: text.into() }] }
    }

    fn add(list: &mut List, new: &[ModelMessage], source: &Source<'_>) -> serde_json::Result<()> {
        let is_reply = |message: &ModelMessage| matches!(message, ModelMessage::Assistant { .. });
        for group in new.chunk_by(|one, other| !is_reply(one) && !is_reply(other)) {
            match group {
                [ModelMessage::Assistant { reply }] => add_reply(list, reply, source)?,
                group => add_input(list, group, source)?,
            }
        }
        Ok(())
    }
}

fn add_reply(list: &mut List, reply: &Reply, source: &Source<'_>) -> serde_json::Result<()> {
    if let Some(items) = source.opaque_items(reply).filter(|items| !items.is_empty()) {
        begin_with_user(list)?;
        list.push_raw(&format!(r#"{{"role":"assistant","content":[{}]}}"#, items.join(",")));
        return Ok(());
    }
    let mut content = Vec::new();
    // Anthropic rejects white space at the end of a reply that is the last message; trimmed, it is valid anywhere.
    content.extend(Block::text(reply.text.trim_end()));
    for call in &reply.calls {
        content.push(Block::tool_use(call)?);
    }
    // The reply was a refusal, or its token limit left no room for text: there is nothing to send.
    if content.is_empty() {
        return Ok(());
    }
    begin_with_user(list)?;
    list.push(&MessageLine { role: "assistant", content })
}

/// Adds a user message before a reply that would be the first message.
fn begin_with_user(list: &mut List) -> serde_json::Result<()> {
    if list.is_empty() {
        list.push(&MessageLine { role: "user", content: vec![Block::Text { text: NO_BEGINNING.into() }] })?;
    }
    Ok(())
}

/// Adds tool outputs and user messages as one user message, outputs first.
///
/// Anthropic requires all outputs of a reply's calls in the message right after it, before any text.
fn add_input(list: &mut List, group: &[ModelMessage], source: &Source<'_>) -> serde_json::Result<()> {
    let outputs = group.iter().filter_map(|message| match message {
        ModelMessage::Tool { call_id, output } => Some(Block::tool_result(call_id, output)),
        _ => None,
    });
    let user_parts = group.iter().flat_map(|message| match message {
        ModelMessage::User { text, pictures, .. } => parts(text, pictures, source.images),
        _ => Vec::new(),
    });
    let mut content = outputs.chain(user_parts.filter_map(Block::of_part)).collect::<Vec<_>>();
    if content.is_empty() {
        content.push(Block::Text { text: NO_WORDS.into() });
    }
    list.push(&MessageLine { role: "user", content })?;
    // The mark goes into the last block. `}]}` closes the block, the content and the message.
    list.mark_before_end("}]}".len());
    Ok(())
}

#[cfg(test)]
mod tests;
