//! The conversation as JSON, each message written once: a turn adds what is new.
//!
//! Never believes that a conversation only grows: what is kept counts for the
//! very messages it was written from, and for no others.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use adjutant_core::prompt::{ModelMessage, ModelRequest};

/// Conversations that are kept: those of the sessions that work at the moment.
const KEPT: usize = 4;
/// A conversation of more bytes is written anew each time.
const MOST_BYTES: usize = 4 << 20;

/// The latest conversations, as they were last written.
#[derive(Default)]
pub(in crate::model) struct Conversations {
    /// The one used last stands last.
    kept: Mutex<VecDeque<Written>>,
}

/// The start of a conversation. Holding the messages themselves keeps their
/// addresses from being given to others.
struct Written {
    system: Arc<str>,
    messages: Vec<ModelMessage>,
    /// The elements of a list, without its brackets.
    json: Vec<u8>,
}

impl Conversations {
    /// Appends the messages of `request` to `body`, as the elements of a list.
    pub fn append(&self, request: &ModelRequest, body: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        let mut written = match self.take(request) {
            Some(written) => written,
            None => Written::begin(&request.system)?,
        };
        for message in request.messages.iter().skip(written.messages.len()) {
            written.add(&Line::of(message))?;
            written.messages.push(message.clone());
        }
        // Room for what closes the list, so that nothing is moved for two bytes.
        body.reserve_exact(written.json.len() + 2);
        body.extend_from_slice(&written.json);
        if written.json.len() <= MOST_BYTES {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() == KEPT {
                kept.pop_front();
            }
            kept.push_back(written);
        }
        Ok(())
    }

    #[cfg(test)]
    pub fn kept_count(&self) -> usize {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Takes out the longest start of this conversation.
    fn take(&self, request: &ModelRequest) -> Option<Written> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let starts = kept.iter().enumerate().filter(|(_, written)| written.starts(request));
        let (at, _) = starts.max_by_key(|(_, written)| written.messages.len())?;
        kept.remove(at)
    }
}

impl Written {
    fn begin(system: &Arc<str>) -> Result<Written, serde_json::Error> {
        let mut written = Written { system: system.clone(), messages: Vec::new(), json: Vec::new() };
        if !system.is_empty() {
            written.add(&Line::text("system", system))?;
        }
        Ok(written)
    }

    fn add(&mut self, line: &Line<'_>) -> Result<(), serde_json::Error> {
        if !self.json.is_empty() {
            self.json.push(b',');
        }
        serde_json::to_writer(&mut self.json, line)
    }

    fn starts(&self, request: &ModelRequest) -> bool {
        self.messages.len() <= request.messages.len()
            && self.system == request.system
            && self.messages.iter().zip(&request.messages).all(|(one, other)| same(one, other))
    }
}

/// Whether two messages are one, not only alike: to compare the texts would
/// cost as much as to write them.
fn same(one: &ModelMessage, other: &ModelMessage) -> bool {
    match (one, other) {
        (ModelMessage::User { text: one }, ModelMessage::User { text: other }) => Arc::ptr_eq(one, other),
        (ModelMessage::Assistant { reply: one }, ModelMessage::Assistant { reply: other }) => {
            Arc::ptr_eq(one, other)
        }
        (
            ModelMessage::Tool { call_id: one, output: first },
            ModelMessage::Tool { call_id: other, output: second },
        ) => Arc::ptr_eq(one, other) && Arc::ptr_eq(first, second),
        _ => false,
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
