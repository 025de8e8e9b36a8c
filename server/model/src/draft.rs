//! A reply while it is put together, whichever wire it comes by, and its bounds.
//!
//! Never lets a reply through that is not sound (G3), and never grows past its
//! limits. What the pieces mean is the wire's.

use std::sync::Arc;

use adjutant_core::machine::retry::{CallFailure, FailureClass};
use adjutant_core::prompt::{Delta, ModelMessage, ModelRequest, Reply, RequestedCall, StopCause};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::failure::{Endpoint, classify_in_stream, failure, quote};
use super::reading::OnDelta;
use super::secret::Redactor;

/// The most bytes of text and reasoning of one reply, many times what any model writes. It streams to
/// the client and stands in facts meanwhile, so each byte of it is in memory several times.
const MAX_TEXT_BYTES: usize = 4 << 20;
/// The most bytes of what is kept of a reply verbatim: reasoning, ids and names.
pub(super) const MAX_KEPT_BYTES: usize = 16 << 20;
/// The most bytes of the arguments of all calls of one reply.
pub(super) const MAX_ARGUMENT_BYTES: usize = 16 << 20;
/// The most tool calls of one reply that are read. The loop runs fewer and refuses the others to the
/// model; a reply with more than these is a flood.
pub(super) const MAX_CALLS: usize = 4096;

pub(super) struct Draft<'a> {
    pub asked: Endpoint<'a>,
    pub reply: Reply,
    redactor: Arc<Redactor>,
    argument_bytes: usize,
    /// Bytes of what is kept verbatim beside the text and the arguments.
    kept_bytes: usize,
    /// The replies before this one, for ids a server left out.
    turn: usize,
}

impl<'a> Draft<'a> {
    pub fn new(request: &ModelRequest, asked: Endpoint<'a>, redactor: Arc<Redactor>) -> Draft<'a> {
        let replies =
            request.messages.iter().filter(|message| matches!(message, ModelMessage::Assistant { .. }));
        Draft {
            asked,
            reply: Reply::default(),
            redactor,
            argument_bytes: 0,
            kept_bytes: 0,
            turn: replies.count(),
        }
    }

    /// Reads one event or body of the wire.
    pub fn read<'t, T: Deserialize<'t>>(&self, data: &'t str) -> Result<T, CallFailure> {
        serde_json::from_str(data).map_err(|error| {
            self.broken(&format!("a piece of its reply makes no sense: {}", self.quoted(&error)))
        })
    }

    /// Adds text of the answer.
    pub fn text(&mut self, piece: String, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        self.check_room(piece.len())?;
        self.reply.text.push_str(&piece);
        on_delta(Delta::Text(piece));
        Ok(())
    }

    /// Adds reasoning.
    pub fn reasoning(&mut self, piece: String, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        self.check_room(piece.len())?;
        self.reply.reasoning.push_str(&piece);
        on_delta(Delta::Reasoning(piece));
        Ok(())
    }

    fn check_room(&self, more: usize) -> Result<(), CallFailure> {
        match self.reply.text.len() + self.reply.reasoning.len() + more > MAX_TEXT_BYTES {
            true => Err(self.too_much("text", MAX_TEXT_BYTES >> 20, "MiB")),
            false => Ok(()),
        }
    }

    /// Makes room for so many bytes of `what`, which is kept verbatim beside the text.
    pub fn keep(&mut self, what: &str, bytes: usize) -> Result<(), CallFailure> {
        self.kept_bytes += bytes;
        match self.kept_bytes > MAX_KEPT_BYTES {
            true => Err(self.too_much(what, MAX_KEPT_BYTES >> 20, "MiB")),
            false => Ok(()),
        }
    }

    /// Begins a tool call and returns its place among the calls.
    pub fn open_call(&mut self) -> Result<usize, CallFailure> {
        if self.reply.calls.len() == MAX_CALLS {
            return Err(self.too_much("tool calls", MAX_CALLS, "of them"));
        }
        self.reply.calls.push(RequestedCall {
            id: String::new(),
            name: String::new(),
            arguments: String::new(),
        });
        Ok(self.reply.calls.len() - 1)
    }

    /// Gives a call the id it is known by, unless it has one.
    pub fn identify(&mut self, at: usize, id: String) -> Result<(), CallFailure> {
        if self.reply.calls[at].id.is_empty() {
            self.keep("ids", id.len())?;
            self.reply.calls[at].id = id;
        }
        Ok(())
    }

    /// Names the tool of a call; a call cannot become one of another tool.
    pub fn name(&mut self, at: usize, name: String, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        let known = &self.reply.calls[at].name;
        if *known == name {
            return Ok(());
        }
        if !known.is_empty() {
            let message = format!("a tool call began as \"{known}\" and went on as \"{name}\"");
            return Err(self.broken(&self.quoted(&message)));
        }
        self.keep("names of tools", name.len())?;
        self.reply.calls[at].name.clone_from(&name);
        on_delta(Delta::ToolCall { name });
        Ok(())
    }

    /// Adds a piece of the arguments of a call.
    pub fn arguments(&mut self, at: usize, piece: &str) -> Result<(), CallFailure> {
        self.argument_bytes += piece.len();
        if self.argument_bytes > MAX_ARGUMENT_BYTES {
            return Err(self.too_much("tool arguments", MAX_ARGUMENT_BYTES >> 20, "MiB"));
        }
        self.reply.calls[at].arguments.push_str(piece);
        Ok(())
    }

    /// Returns the reply that stopped for this cause, if it is sound.
    pub fn complete(mut self, stop: StopCause) -> Result<Reply, CallFailure> {
        self.reply.stop = stop;
        self.check_calls()?;
        let silent = self.reply.text.is_empty() && self.reply.calls.is_empty();
        if silent && matches!(stop, StopCause::EndTurn | StopCause::ToolCalls) {
            return Err(self.broken("its reply is empty"));
        }
        Ok(self.reply)
    }

    fn check_calls(&mut self) -> Result<(), CallFailure> {
        // A reply cut at its limit may end inside a call; none of them will run.
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
        match ids.windows(2).any(|pair| pair[0] == pair[1]) {
            true => Err(self.broken("two tool calls have the same id")),
            false => Ok(()),
        }
    }

    /// Whether a reply that ended in good order wants tools run, or the user.
    pub fn ended(&self) -> StopCause {
        if self.reply.calls.is_empty() { StopCause::EndTurn } else { StopCause::ToolCalls }
    }

    /// Judges a reply that ended for a reason nobody knows, or for none: text is still text, but a call
    /// is not run on a guess.
    pub fn ended_oddly(&self, reason: Option<&str>) -> Result<StopCause, CallFailure> {
        match reason {
            _ if self.reply.calls.is_empty() => Ok(StopCause::EndTurn),
            Some(reason) => {
                let reason = self.quoted(&reason);
                Err(self.broken(&format!("its tool calls ended for the unknown reason \"{reason}\"")))
            }
            None => Err(self.broken("its tool calls came without a finish reason")),
        }
    }

    /// Returns foreign text fit for a sentence.
    pub fn quoted(&self, text: &impl ToString) -> String {
        quote(&text.to_string(), &self.redactor)
    }

    /// Returns the failure of an error that came in place of the reply.
    pub fn refused(&self, error: &str) -> CallFailure {
        classify_in_stream(error, self.asked, &self.redactor)
    }

    /// Returns the failure of a stream that makes no sense.
    pub fn broken(&self, what: &str) -> CallFailure {
        failure(FailureClass::Broken, format!("provider \"{}\" broke off: {what}", self.asked.provider))
    }

    /// Returns the failure of a stream that ended before its reply did.
    pub fn cut_short(&self) -> CallFailure {
        self.broken("its reply ended in the middle")
    }

    /// Returns the failure of a reply that has more of something than it may.
    pub fn too_much(&self, what: &str, limit: usize, unit: &str) -> CallFailure {
        let provider = self.asked.provider;
        let message = format!(
            "the reply of provider \"{provider}\" has more {what} than the limit of {limit} {unit}; \
             ask for the work in smaller steps"
        );
        failure(FailureClass::Total, message)
    }
}

/// Reads a count of tokens. A wrong one is worth less than the reply it came with: it becomes zero.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let value = Value::deserialize(deserializer)?;
    // The conversion clamps at both ends.
    Ok(value.as_u64().or_else(|| value.as_f64().map(|number| number as u64)).unwrap_or(0))
}
