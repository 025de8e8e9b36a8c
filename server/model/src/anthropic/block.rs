//! The content blocks of a Messages request.
//!
//! Never writes a block that Anthropic rejects, such as a blank text. The blocks of a reply are parsed in `event`.

use std::borrow::Cow;

use adjutant_core::prompt::RequestedCall;
use serde_json::value::RawValue;

use super::super::parts::{Inline, UserPart};
use super::super::sendable::{allowed_chars, sendable_arguments, sendable_name};

#[derive(serde::Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        source: Image<'a>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Box<RawValue>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<&'a str>,
    },
}

/// The source of an image block: the image itself, in base64.
#[derive(serde::Serialize)]
pub(super) struct Image<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'static str,
    data: &'a str,
}

impl<'a> Block<'a> {
    /// Returns a text block; `None` for a blank text, because Anthropic rejects one.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Option<Block<'a>> {
        let text = text.into();
        (!text.trim().is_empty()).then_some(Block::Text { text })
    }

    /// Returns the block for one part of a user message; `None` for a blank text.
    pub fn of_part(part: UserPart<'a>) -> Option<Block<'a>> {
        match part {
            UserPart::Text(text) => Block::text(text),
            UserPart::Image(Inline { media_type, base64 }) => {
                Some(Block::Image { source: Image { kind: "base64", media_type, data: base64 } })
            }
        }
    }

    pub fn tool_use(call: &'a RequestedCall) -> serde_json::Result<Block<'a>> {
        Ok(Block::ToolUse {
            id: allowed_chars(&call.id),
            name: sendable_name(&call.name),
            input: RawValue::from_string(sendable_arguments(&call.arguments).into_owned())?,
        })
    }

    pub fn tool_result(call_id: &'a str, output: &'a str) -> Block<'a> {
        Block::ToolResult { tool_use_id: allowed_chars(call_id), content: not_blank(output) }
    }
}

fn not_blank(text: &str) -> Option<&str> {
    (!text.trim().is_empty()).then_some(text)
}
