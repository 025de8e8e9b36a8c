//! The blocks of a message as this wire takes them, and what it refuses in one.
//!
//! Writes only; what a stream brings is read in `event`.

use std::borrow::Cow;

use adjutant_core::prompt::RequestedCall;
use serde_json::value::RawValue;

use super::super::sendable::{named, sendable};

#[derive(serde::Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'a> {
    Text {
        text: &'a str,
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

impl<'a> Block<'a> {
    /// A text; none if it is blank, which is refused.
    pub fn text(text: &'a str) -> Option<Block<'a>> {
        spoken(text).map(|text| Block::Text { text })
    }

    pub fn tool_use(call: &'a RequestedCall) -> serde_json::Result<Block<'a>> {
        Ok(Block::ToolUse {
            id: named(&call.id),
            name: named(&call.name),
            input: RawValue::from_string(sendable(&call.arguments).into_owned())?,
        })
    }

    pub fn tool_result(call_id: &'a str, output: &'a str) -> Block<'a> {
        Block::ToolResult { tool_use_id: named(call_id), content: spoken(output) }
    }
}

fn spoken(text: &str) -> Option<&str> {
    (!text.trim().is_empty()).then_some(text)
}
