//! The body of a Messages request, written straight from the messages.
//!
//! Builds no tree of values, and never writes what this wire is known to refuse.

use adjutant_core::config::{Provider, Wire};
use adjutant_core::machine::retry::CallFailure;
use adjutant_core::prompt::{ModelMessage, ModelRequest, Reply, ToolSpec};
use serde::Serialize;
use serde_json::value::RawValue;

use super::super::failure::unwritable;
use super::super::frozen::{FrozenRequest, List, Source, WireFormat};
use super::super::parts::parts;
use super::block::Block;
use super::thinking;

/// The output limit where neither the run nor the provider has one, for the wire demands a number: as
/// much as every model since Claude 4 can write. What is known to write less is asked for less.
const MOST_OUTPUT_TOKENS: u32 = 32_000;

/// What makes the provider keep all that stands before it. It keeps at most four such places: one is
/// the system prompt's.
const CACHE_MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;
/// How many places of the conversation are marked: the end of this turn, and of those before it, where
/// the provider finds what it kept then.
const MARKED: usize = 3;

/// What stands for a message of the user that has no words.
const NO_WORDS: &str = "(no words)";
/// What stands before a conversation whose first words are not the user's.
const NO_BEGINNING: &str = "(the beginning is left out)";
/// What follows a conversation whose last words are the model's: newer models take no such one. Never
/// part of what is kept, for the next turn has something better there.
const GO_ON: &[u8] = br#",{"role":"user","content":[{"type":"text","text":"Go on."}]}"#;

/// Writes the request for `provider`.
pub(super) fn write(
    request: &ModelRequest,
    frozen: &FrozenRequest,
    provider: &Provider,
) -> Result<Vec<u8>, CallFailure> {
    let tools = frozen.tools::<Messages>(&request.tools).map_err(unwritable)?;
    let max_tokens = request.max_output_tokens.or(provider.max_output_tokens).unwrap_or_else(|| {
        let facts = provider.facts(&request.model);
        if facts.known { facts.max_output_tokens.min(MOST_OUTPUT_TOKENS) } else { MOST_OUTPUT_TOKENS }
    });
    let source = Source {
        wire: Wire::AnthropicMessages,
        provider: &provider.name,
        model: &request.model,
        max_call_id: usize::MAX,
        images: &request.images,
    };
    let asked = thinking::asked(request, max_tokens, &source);
    let head = Head {
        model: &request.model,
        stream: !request.whole,
        max_tokens,
        // A model that is asked to think refuses it.
        temperature: provider.temperature.as_ref().filter(|_| asked.thinking.is_none()),
        asked,
        tools: tools.as_deref(),
        system: SystemBlock::of(&request.system),
    };
    let body = frozen.body::<Messages>(&head, "messages", request, &source, (MARKED, CACHE_MARK));
    let mut bytes = body.map_err(unwritable)?;
    if bytes.last() == Some(&b'}') && matches!(request.messages.last(), Some(ModelMessage::Assistant { .. }))
    {
        bytes.extend_from_slice(GO_ON);
    }
    bytes.extend_from_slice(b"]}");
    Ok(bytes)
}

/// Everything but the messages, which follow as written before.
#[derive(serde::Serialize)]
struct Head<'a> {
    model: &'a str,
    stream: bool,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<&'a serde_json::Number>,
    #[serde(flatten)]
    asked: thinking::ThinkingFields,
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
    /// The system prompt; none if it is blank, which is refused.
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
    fn tool(tool: &ToolSpec) -> impl Serialize {
        ToolLine { name: &tool.name, description: &tool.description, input_schema: &tool.parameters }
    }

    /// The system prompt has a field of its own.
    fn begin(_: &mut List, _: &str) -> serde_json::Result<()> {
        Ok(())
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
    if let Some(kept) = source.opaque_items(reply).filter(|kept| !kept.is_empty()) {
        open(list)?;
        list.push_raw(&format!(r#"{{"role":"assistant","content":[{}]}}"#, kept.join(",")));
        return Ok(());
    }
    let mut content = Vec::new();
    // White space at the end is refused of a reply that stands last, and says nothing elsewhere.
    content.extend(Block::text(reply.text.trim_end()));
    for call in &reply.calls {
        content.push(Block::tool_use(call)?);
    }
    // A refusal, or a limit that left no room for words: there is nothing to send.
    if content.is_empty() {
        return Ok(());
    }
    open(list)?;
    list.push(&MessageLine { role: "assistant", content })
}

/// Sees to it that the first message is the user's.
fn open(list: &mut List) -> serde_json::Result<()> {
    match list.is_empty() {
        true => {
            list.push(&MessageLine { role: "user", content: vec![Block::Text { text: NO_BEGINNING.into() }] })
        }
        false => Ok(()),
    }
}

/// Adds the outputs of tools and the words of the user as one message: the outputs of one reply's
/// calls have to stand together, right behind it and before any words.
fn add_input(list: &mut List, group: &[ModelMessage], source: &Source<'_>) -> serde_json::Result<()> {
    let outputs = group.iter().filter_map(|message| match message {
        ModelMessage::Tool { call_id, output } => Some(Block::tool_result(call_id, output)),
        _ => None,
    });
    let said = group.iter().flat_map(|message| match message {
        ModelMessage::User { text, pictures } => parts(text, pictures, source.images),
        _ => Vec::new(),
    });
    let mut content = outputs.chain(said.filter_map(Block::of_part)).collect::<Vec<_>>();
    if content.is_empty() {
        content.push(Block::Text { text: NO_WORDS.into() });
    }
    list.push(&MessageLine { role: "user", content })?;
    // In the last block, before the brackets that close it, the content and the message.
    list.mark_before_end("}]}".len());
    Ok(())
}

#[cfg(test)]
mod tests;
