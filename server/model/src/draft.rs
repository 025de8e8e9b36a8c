//! The unfinished reply that each wire's assembly adds to, with the checks and limits that all wires share.
//!
//! Never returns an invalid reply (G3), and never exceeds its limits.

use std::sync::Arc;

use adjutant_core::machine::retry::{CallFailure, FailureClass};
use adjutant_core::prompt::{Delta, ModelMessage, ModelRequest, Reply, RequestedCall, StopCause};
use adjutant_core::tool::FREE_INPUT;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::failure::{Endpoint, classify_in_stream, failure, quote};
use super::reading::OnDelta;
use super::secret::Redactor;

/// The maximum size of text and reasoning of one reply together, in bytes: many times what any model writes.
///
/// It is this low because each byte is in memory several times, in the stream to the client and in events.
const MAX_TEXT_BYTES: usize = 4 << 20;
/// The maximum size of everything else that is stored verbatim, in bytes: opaque reasoning, ids and names.
pub(super) const MAX_STORED_BYTES: usize = 16 << 20;
/// The maximum size of the arguments of all calls of one reply, in bytes.
pub(super) const MAX_ARGUMENT_BYTES: usize = 16 << 20;
/// The maximum number of tool calls in one reply. A reply with more fails.
///
/// The session runs fewer, and answers the other calls with an error.
pub(super) const MAX_CALLS: usize = 4096;

pub(super) struct Draft<'a> {
    pub endpoint: Endpoint<'a>,
    pub reply: Reply,
    redactor: Arc<Redactor>,
    argument_bytes: usize,
    /// The size of what is stored verbatim, without text and arguments.
    stored_bytes: usize,
    /// The number of earlier replies, to make ids for calls without one.
    turn: usize,
}

impl<'a> Draft<'a> {
    pub fn new(request: &ModelRequest, endpoint: Endpoint<'a>, redactor: Arc<Redactor>) -> Draft<'a> {
        let replies =
            request.messages.iter().filter(|message| matches!(message, ModelMessage::Assistant { .. }));
        Draft {
            endpoint,
            reply: Reply::default(),
            redactor,
            argument_bytes: 0,
            stored_bytes: 0,
            turn: replies.count(),
        }
    }

    /// Parses one event or body of the wire.
    pub fn read<'t, T: Deserialize<'t>>(&self, data: &'t str) -> Result<T, CallFailure> {
        serde_json::from_str(data).map_err(|error| {
            self.broken(&format!("a piece of its reply makes no sense: {}", self.quoted(&error)))
        })
    }

    /// Adds text of the answer.
    pub fn add_text(&mut self, piece: String, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        self.check_room(piece.len())?;
        self.reply.text.push_str(&piece);
        on_delta(Delta::Text(piece));
        Ok(())
    }

    /// Adds reasoning.
    pub fn add_reasoning(&mut self, piece: String, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        self.check_room(piece.len())?;
        self.reply.reasoning.push_str(&piece);
        on_delta(Delta::Reasoning(piece));
        Ok(())
    }

    fn check_room(&self, more: usize) -> Result<(), CallFailure> {
        if self.reply.text.len() + self.reply.reasoning.len() + more > MAX_TEXT_BYTES {
            return Err(self.too_much("text", MAX_TEXT_BYTES >> 20, "MiB"));
        }
        Ok(())
    }

    /// Counts so many bytes of `what` towards the limit of what is stored verbatim. Fails above the limit.
    pub fn count_stored(&mut self, what: &str, bytes: usize) -> Result<(), CallFailure> {
        self.stored_bytes += bytes;
        if self.stored_bytes > MAX_STORED_BYTES {
            return Err(self.too_much(what, MAX_STORED_BYTES >> 20, "MiB"));
        }
        Ok(())
    }

    /// Begins a tool call and returns its index.
    pub fn open_call(&mut self) -> Result<usize, CallFailure> {
        if self.reply.calls.len() == MAX_CALLS {
            return Err(self.too_much("tool calls", MAX_CALLS, "of them"));
        }
        self.reply.calls.push(RequestedCall {
            id: String::new(),
            name: String::new(),
            arguments: String::new(),
            free_form: false,
        });
        Ok(self.reply.calls.len() - 1)
    }

    /// Sets the id of a call, unless it has one.
    pub fn set_call_id(&mut self, at: usize, id: String) -> Result<(), CallFailure> {
        if self.reply.calls[at].id.is_empty() {
            self.count_stored("ids", id.len())?;
            self.reply.calls[at].id = id;
        }
        Ok(())
    }

    /// Sets the tool of a call. Fails if the call has another tool.
    pub fn set_tool_name(
        &mut self,
        at: usize,
        name: String,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        let known = &self.reply.calls[at].name;
        if *known == name {
            return Ok(());
        }
        if !known.is_empty() {
            let message = format!("a tool call began as \"{known}\" and continued as \"{name}\"");
            return Err(self.broken(&self.quoted(&message)));
        }
        self.count_stored("names of tools", name.len())?;
        self.reply.calls[at].name.clone_from(&name);
        on_delta(Delta::ToolCall { name });
        Ok(())
    }

    /// Notes that the arguments of a call are plain text.
    pub fn set_free_form(&mut self, at: usize) {
        self.reply.calls[at].free_form = true;
    }

    /// Adds a piece of the arguments of a call.
    pub fn add_arguments(&mut self, at: usize, piece: &str) -> Result<(), CallFailure> {
        self.argument_bytes += piece.len();
        if self.argument_bytes > MAX_ARGUMENT_BYTES {
            return Err(self.too_much("tool arguments", MAX_ARGUMENT_BYTES >> 20, "MiB"));
        }
        self.reply.calls[at].arguments.push_str(piece);
        Ok(())
    }

    /// Returns the reply, which stopped for this cause. Fails if it is invalid.
    pub fn complete(mut self, stop: StopCause) -> Result<Reply, CallFailure> {
        self.reply.stop = stop;
        self.check_calls()?;
        for call in self.reply.calls.iter_mut().filter(|call| call.free_form) {
            call.arguments = serde_json::json!({ FREE_INPUT: call.arguments }).to_string();
        }
        let silent = self.reply.text.is_empty() && self.reply.calls.is_empty();
        if silent && matches!(stop, StopCause::EndTurn | StopCause::ToolCalls) {
            return Err(self.broken("its reply is empty"));
        }
        Ok(self.reply)
    }

    fn check_calls(&mut self) -> Result<(), CallFailure> {
        // A reply that reaches its token limit may end inside a call. None of its calls runs.
        let cut = self.reply.stop == StopCause::MaxTokens;
        if !cut && self.reply.calls.iter().any(|call| call.name.is_empty()) {
            return Err(self.broken("a tool call has no name"));
        }
        self.reply.calls.retain(|call| !call.name.is_empty());
        for (at, call) in self.reply.calls.iter_mut().enumerate() {
            if call.id.is_empty() {
                call.id = format!("call_{}_{at}", self.turn);
            }
        }
        let mut ids = self.reply.calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(self.broken("two tool calls have the same id"));
        }
        Ok(())
    }

    /// Returns the stop cause of a reply that ended normally: it has tool calls or not.
    pub fn normal_stop(&self) -> StopCause {
        if self.reply.calls.is_empty() { StopCause::EndTurn } else { StopCause::ToolCalls }
    }

    /// Returns the stop cause of a reply whose finish reason is unknown or missing.
    ///
    /// A reply with tool calls fails: Adjutant must not run calls that may be incomplete.
    pub fn unknown_stop(&self, reason: Option<&str>) -> Result<StopCause, CallFailure> {
        match reason {
            _ if self.reply.calls.is_empty() => Ok(StopCause::EndTurn),
            Some(reason) => {
                let reason = self.quoted(&reason);
                Err(self.broken(&format!("its tool calls ended for the unknown reason \"{reason}\"")))
            }
            None => Err(self.broken("its tool calls came without a finish reason")),
        }
    }

    /// Returns a text of the provider in a form that fits into a message: short, on one line, without keys.
    pub fn quoted(&self, text: &impl ToString) -> String {
        quote(&text.to_string(), &self.redactor)
    }

    /// Returns the failure for an error that the provider sent instead of the reply.
    pub fn provider_error(&self, error: &str) -> CallFailure {
        classify_in_stream(error, self.endpoint, &self.redactor)
    }

    /// Returns the failure for an invalid stream.
    pub fn broken(&self, what: &str) -> CallFailure {
        failure(FailureClass::Broken, format!("provider \"{}\" broke off: {what}", self.endpoint.provider))
    }

    /// Returns the failure for a stream that ended before the reply was complete.
    pub fn cut_short(&self) -> CallFailure {
        self.broken("its reply ended in the middle")
    }

    /// Returns the failure for a reply that exceeds a limit.
    pub fn too_much(&self, what: &str, limit: usize, unit: &str) -> CallFailure {
        let provider = self.endpoint.provider;
        let message = format!(
            "the reply of provider \"{provider}\" has more {what} than the limit of {limit} {unit}; \
             ask for the work in smaller steps"
        );
        failure(FailureClass::Total, message)
    }
}

/// Parses a number of tokens. An invalid number becomes zero, because it must not fail the reply.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let value = Value::deserialize(deserializer)?;
    // The conversion clamps at both ends.
    Ok(value.as_u64().or_else(|| value.as_f64().map(|number| number as u64)).unwrap_or(0))
}
