//! One reply, assembled from the events of a Chat Completions stream (S111).
//!
//! Never lets a reply through that did not say it was complete (G3), and
//! never grows past its limits.

use std::sync::Arc;

use adjutant_core::prompt::{Delta, ModelMessage, ModelRequest, Reply, RequestedCall, StopCause, Usage};
use adjutant_core::retry::{CallFailure, FailureClass};
use serde_json::Value;

use super::super::failure::{Asked, classify_in_stream, failure, quote};
use super::super::secret::Redactor;
use super::super::sse::Event;
use super::chunk::{CallPiece, Choice, Chunk, Message};

/// The most bytes of text and reasoning of one reply.
pub(super) const MAX_TEXT_BYTES: usize = 16 << 20;
/// The most bytes of the arguments of all calls of one reply.
pub(super) const MAX_ARGUMENT_BYTES: usize = 16 << 20;
/// The most tool calls of one reply.
pub(super) const MAX_CALLS: usize = 256;

/// How far a reply has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    /// A finish reason came; the usage may follow.
    Finished,
    /// `[DONE]` came; whatever follows is not ours.
    Done,
}

pub(super) struct Assembly<'a> {
    asked: Asked<'a>,
    redactor: Arc<Redactor>,
    reply: Reply,
    /// The index each call was announced with, beside `reply.calls`.
    indices: Vec<Option<u64>>,
    argument_bytes: usize,
    finish_reason: Option<String>,
    refused: bool,
    done: bool,
    /// The replies before this one, for ids a server left out.
    turn: usize,
}

impl<'a> Assembly<'a> {
    pub fn new(request: &ModelRequest, asked: Asked<'a>, redactor: Arc<Redactor>) -> Assembly<'a> {
        let turn = request
            .messages
            .iter()
            .filter(|message| matches!(message, ModelMessage::Assistant { .. }))
            .count();
        Assembly {
            asked,
            redactor,
            reply: Reply::default(),
            indices: Vec::new(),
            argument_bytes: 0,
            finish_reason: None,
            refused: false,
            done: false,
            turn,
        }
    }

    pub fn state(&self) -> State {
        match (self.done, &self.finish_reason) {
            (true, _) => State::Done,
            (false, Some(_)) => State::Finished,
            (false, None) => State::Open,
        }
    }

    /// Takes one event of the stream.
    pub fn take(&mut self, event: &Event<'_>, on_delta: &mut impl FnMut(Delta)) -> Result<(), CallFailure> {
        let data = event.data.trim();
        if self.done || data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        if event.name == "error" {
            let error = serde_json::from_str(data).unwrap_or_else(|_| Value::from(data));
            return Err(classify_in_stream(&error, self.asked, &self.redactor));
        }
        self.take_chunk(data, on_delta)
    }

    /// Takes the body of an answer that came all at once.
    pub fn take_whole(&mut self, body: &[u8], on_delta: &mut impl FnMut(Delta)) -> Result<(), CallFailure> {
        let text = std::str::from_utf8(body).map_err(|_| self.broken("its answer is not valid UTF-8"))?;
        self.take_chunk(text, on_delta)
    }

    fn take_chunk(&mut self, data: &str, on_delta: &mut impl FnMut(Delta)) -> Result<(), CallFailure> {
        let chunk: Chunk = serde_json::from_str(data).map_err(|error| {
            let said = quote(&error.to_string(), &self.redactor);
            self.broken(&format!("a piece of its reply makes no sense: {said}"))
        })?;
        if let Some(error) = chunk.error {
            return Err(classify_in_stream(&error, self.asked, &self.redactor));
        }
        if let Some(usage) = chunk.usage {
            self.reply.usage = Some(usage.counted());
        }
        // We ask for one choice; a server that sends more gets the first heard.
        let choices = chunk.choices.unwrap_or_default();
        let choice = choices.into_iter().find(|choice| choice.index.unwrap_or(0) == 0);
        match choice {
            Some(choice) if self.state() == State::Open => self.take_choice(choice, on_delta),
            _ => Ok(()),
        }
    }

    fn take_choice(&mut self, choice: Choice, on_delta: &mut impl FnMut(Delta)) -> Result<(), CallFailure> {
        if let Some(message) = choice.delta.or(choice.message) {
            self.take_message(message, on_delta)?;
        }
        self.finish_reason = choice.finish_reason.filter(|reason| !reason.is_empty());
        Ok(())
    }

    fn take_message(
        &mut self,
        message: Message,
        on_delta: &mut impl FnMut(Delta),
    ) -> Result<(), CallFailure> {
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        if let Some(piece) = given(message.reasoning_content).or(given(message.reasoning)) {
            self.check_room(piece.len())?;
            self.reply.reasoning.push_str(&piece);
            on_delta(Delta::Reasoning(piece));
        }
        if let Some(piece) = given(message.refusal) {
            self.refused = true;
            self.take_text(piece, on_delta)?;
        }
        if let Some(piece) = given(message.content) {
            self.take_text(piece, on_delta)?;
        }
        for piece in message.tool_calls.unwrap_or_default() {
            self.take_call(piece, on_delta)?;
        }
        Ok(())
    }

    fn take_text(&mut self, piece: String, on_delta: &mut impl FnMut(Delta)) -> Result<(), CallFailure> {
        self.check_room(piece.len())?;
        self.reply.text.push_str(&piece);
        on_delta(Delta::Text(piece));
        Ok(())
    }

    fn check_room(&self, more: usize) -> Result<(), CallFailure> {
        match self.reply.text.len() + self.reply.reasoning.len() + more > MAX_TEXT_BYTES {
            true => Err(self.too_much("text", MAX_TEXT_BYTES >> 20, "MiB")),
            false => Ok(()),
        }
    }

    fn take_call(&mut self, piece: CallPiece, on_delta: &mut impl FnMut(Delta)) -> Result<(), CallFailure> {
        let (name, arguments) =
            piece.function.map_or((None, None), |function| (function.name, function.arguments));
        let name = name.filter(|name| !name.is_empty());
        let id = piece.id.filter(|id| !id.is_empty());
        let at = match self.find_call(piece.index, id.as_deref(), name.as_deref()) {
            Some(at) => at,
            None if name.is_none() && id.is_none() && piece.index.is_none() => {
                return Err(self.broken("arguments came before any tool call began"));
            }
            None => self.open_call(piece.index)?,
        };
        self.argument_bytes += arguments.as_ref().map_or(0, |arguments| arguments.0.len());
        if self.argument_bytes > MAX_ARGUMENT_BYTES {
            return Err(self.too_much("tool arguments", MAX_ARGUMENT_BYTES >> 20, "MiB"));
        }
        let call = &mut self.reply.calls[at];
        if let Some(arguments) = arguments {
            call.arguments.push_str(&arguments.0);
        }
        if let Some(id) = id.filter(|_| call.id.is_empty()) {
            call.id = id;
        }
        match name {
            Some(name) if call.name.is_empty() => {
                call.name.clone_from(&name);
                on_delta(Delta::ToolCall { name });
            }
            Some(name) if call.name != name => {
                let message = format!("a tool call began as \"{}\" and went on as \"{name}\"", call.name);
                return Err(self.broken(&quote(&message, &self.redactor)));
            }
            _ => {}
        }
        Ok(())
    }

    /// Finds the call a piece belongs to; `None` if it begins one. The latest
    /// is looked at first, so that long arguments stay cheap.
    fn find_call(&self, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        let other_id = |at: usize| {
            let known = self.reply.calls[at].id.as_str();
            id.is_some_and(|id| !known.is_empty() && known != id)
        };
        if index.is_some() {
            let at = self.indices.iter().rposition(|known| *known == index)?;
            // Some servers number every call zero; a new id with a name tells
            // them apart. A new id alone is noise of other servers.
            return (!(other_id(at) && name.is_some())).then_some(at);
        }
        if id.is_some() {
            return self.reply.calls.iter().rposition(|call| Some(call.id.as_str()) == id);
        }
        let last = self.reply.calls.len().checked_sub(1)?;
        (name.is_none() || self.reply.calls[last].name.is_empty()).then_some(last)
    }

    fn open_call(&mut self, index: Option<u64>) -> Result<usize, CallFailure> {
        if self.reply.calls.len() == MAX_CALLS {
            return Err(self.too_much("tool calls", MAX_CALLS, "of them"));
        }
        self.indices.push(index);
        self.reply.calls.push(RequestedCall {
            id: String::new(),
            name: String::new(),
            arguments: String::new(),
        });
        Ok(self.reply.calls.len() - 1)
    }

    /// Returns the reply if it is complete and sound.
    pub fn complete(mut self) -> Result<Reply, CallFailure> {
        if self.state() == State::Open {
            return Err(self.broken("its reply ended in the middle"));
        }
        self.reply.stop = self.stop_cause()?;
        self.check_calls()?;
        let silent = self.reply.text.is_empty() && self.reply.calls.is_empty();
        if silent && matches!(self.reply.stop, StopCause::EndTurn | StopCause::ToolCalls) {
            return Err(self.broken("its reply is empty"));
        }
        Ok(self.reply)
    }

    fn stop_cause(&self) -> Result<StopCause, CallFailure> {
        let has_calls = !self.reply.calls.is_empty();
        let ended = if has_calls { StopCause::ToolCalls } else { StopCause::EndTurn };
        let cause = match self.finish_reason.as_deref() {
            Some("stop" | "tool_calls" | "function_call" | "end_turn" | "eos" | "stop_sequence") => ended,
            Some("length" | "max_tokens" | "model_length") => return Ok(StopCause::MaxTokens),
            Some("content_filter" | "safety" | "refusal") => return Ok(StopCause::Refusal),
            Some("insufficient_system_resource") => {
                let message = format!(
                    "provider \"{}\" ran out of resources in the middle of its reply",
                    self.asked.provider
                );
                return Err(failure(FailureClass::Overloaded, message));
            }
            Some("error") => return Err(self.broken("its reply ended with an error")),
            // Text without a known reason is still text; a call is not run on a guess.
            Some(reason) if has_calls => {
                let reason = quote(reason, &self.redactor);
                return Err(self.broken(&format!("its tool calls ended for the unknown reason \"{reason}\"")));
            }
            None if has_calls => return Err(self.broken("its tool calls came without a finish reason")),
            _ => ended,
        };
        Ok(if self.refused { StopCause::Refusal } else { cause })
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

    fn broken(&self, what: &str) -> CallFailure {
        failure(FailureClass::Broken, format!("provider \"{}\" broke off: {what}", self.asked.provider))
    }

    fn too_much(&self, what: &str, limit: usize, unit: &str) -> CallFailure {
        let provider = self.asked.provider;
        let message = format!(
            "the reply of provider \"{provider}\" has more {what} than the limit of {limit} {unit}; \
             ask for the work in smaller steps"
        );
        failure(FailureClass::Total, message)
    }
}

impl super::chunk::Counts {
    /// The provider's count; its input includes what it read from its cache.
    fn counted(self) -> Usage {
        Usage {
            input_tokens: self.prompt_tokens,
            output_tokens: self.completion_tokens,
            cache_read_tokens: self
                .prompt_tokens_details
                .map_or(self.prompt_cache_hit_tokens, |details| details.cached_tokens),
            cache_write_tokens: 0,
        }
    }
}

#[cfg(test)]
mod tests;
