//! The body of a Responses request, written straight from the messages.
//!
//! Builds no tree of values.

use std::borrow::Cow;

use adjutant_core::config::{Provider, Wire};
use adjutant_core::models;
use adjutant_core::prompt::{ModelMessage, ModelRequest, Reply, ToolSpec};
use adjutant_core::retry::CallFailure;
use serde::Serialize;
use serde_json::value::RawValue;

use super::super::failure::unwritable;
use super::super::frozen::{Frozen, Lines, List, Source};
use super::super::sendable;

/// Writes the request for `provider`.
pub(super) fn write(
    request: &ModelRequest,
    frozen: &Frozen,
    provider: &Provider,
) -> Result<Vec<u8>, CallFailure> {
    let tools = frozen.tools::<Responses>(&request.tools).map_err(unwritable)?;
    // Models that do not think refuse to be asked for what they thought, and servers that only speak
    // alike may know no such field: it is asked for where it is known to be there.
    let thinks = request.effort.is_some() || !models::facts(provider, &request.model).efforts.is_empty();
    let head = Head {
        model: &request.model,
        stream: !request.whole,
        store: false,
        instructions: Some(&*request.system).filter(|system| !system.is_empty()),
        max_output_tokens: request.max_output_tokens.or(provider.max_output_tokens),
        reasoning: request.effort.map(|effort| Reasoning { effort: effort.name() }),
        include: thinks.then_some(["reasoning.encrypted_content"]),
        tools: tools.as_deref(),
    };
    let mut bytes = serde_json::to_vec(&head).map_err(unwritable)?;
    // The head is an object with at least a model: its brace gives way to the last field.
    bytes.pop();
    bytes.extend_from_slice(b",\"input\":[");
    let source = Source { wire: Wire::OpenaiResponses, provider: &provider.name, model: &request.model };
    frozen.conversations.append::<Responses>(request, &source, (0, ""), &mut bytes).map_err(unwritable)?;
    bytes.extend_from_slice(b"]}");
    Ok(bytes)
}

/// Everything but the input, which follows as written before.
#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<[&'static str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Reasoning {
    effort: &'static str,
}

#[derive(Serialize)]
struct ToolLine<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a serde_json::Value,
    /// Our schemas have optional fields, which the strict form does not know.
    strict: bool,
}

/// One item of the input.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line<'a> {
    Message { role: &'static str, content: [Text<'a>; 1] },
    FunctionCall { call_id: &'a str, name: &'a str, arguments: Cow<'a, str> },
    FunctionCallOutput { call_id: &'a str, output: &'a str },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Text<'a> {
    InputText { text: &'a str },
    OutputText { text: &'a str },
}

struct Responses;

impl Lines for Responses {
    fn tool(tool: &ToolSpec) -> impl Serialize {
        ToolLine {
            kind: "function",
            name: tool.name,
            description: tool.description,
            parameters: &tool.parameters,
            strict: false,
        }
    }

    /// The system prompt has a field of its own.
    fn begin(_: &mut List, _: &str) -> serde_json::Result<()> {
        Ok(())
    }

    fn add(list: &mut List, new: &[ModelMessage], source: &Source<'_>) -> serde_json::Result<()> {
        for message in new {
            match message {
                ModelMessage::User { text } => {
                    list.push(&Line::Message { role: "user", content: [Text::InputText { text }] })?;
                }
                ModelMessage::Tool { call_id, output } => {
                    list.push(&Line::FunctionCallOutput { call_id, output })?;
                }
                ModelMessage::Assistant { reply } => add_reply(list, reply, source)?,
            }
        }
        Ok(())
    }
}

fn add_reply(list: &mut List, reply: &Reply, source: &Source<'_>) -> serde_json::Result<()> {
    if let Some(kept) = source.kept(reply) {
        kept.iter().for_each(|item| list.push_raw(item));
        return Ok(());
    }
    if !reply.text.is_empty() {
        let content = [Text::OutputText { text: &reply.text }];
        list.push(&Line::Message { role: "assistant", content })?;
    }
    for call in &reply.calls {
        let arguments = sendable(&call.arguments);
        list.push(&Line::FunctionCall { call_id: &call.id, name: &call.name, arguments })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
