//! Builds one reply from the chunks of a Chat Completions stream (S111).
//!
//! A chunk adds to the text, the reasoning or the tool calls. A call is named by its index, its id or both, and servers
//! differ in which they send. `Draft` checks the rules that all wires share.
//!
//! Never guesses the call of a piece that could belong to two.

use std::sync::Arc;

use adjutant_core::machine::retry::{CallFailure, FailureClass};
use adjutant_core::prompt::{ModelRequest, Reply, RequestedCall, StopCause, Usage};
use serde::de::IgnoredAny;

use super::super::draft::Draft;
use super::super::failure::{Endpoint, failure};
use super::super::reading::{Assembly, OnDelta, ReplyState};
use super::super::secret::Redactor;
use super::super::sse::Event;
use super::chunk::{CallPiece, Choice, Chunk, Message};

pub(crate) struct ChatAssembly<'a> {
    draft: Draft<'a>,
    /// The index of each call of the draft, as its first piece gave it.
    indices: Vec<Option<u64>>,
    /// The indices at which a call began while another call with the same index was unfinished. A piece with only such
    /// an index may belong to either call.
    shared: Vec<Option<u64>>,
    finish_reason: Option<String>,
    declined: bool,
    done: bool,
}

impl Assembly for ChatAssembly<'_> {
    fn state(&self) -> ReplyState {
        match (self.done, &self.finish_reason) {
            (true, _) => ReplyState::Closed,
            (false, Some(_)) => ReplyState::Complete,
            (false, None) => ReplyState::Open,
        }
    }

    fn add_event(&mut self, event: &Event<'_>, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        let data = event.data.trim();
        if self.done || data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        if event.name == "error" {
            return Err(self.draft.provider_error(data));
        }
        self.add_chunk(data, on_delta)
    }

    /// A chunk and a response without streaming have the same form.
    fn add_whole(&mut self, body: &str, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        self.add_chunk(body, on_delta)
    }

    fn complete(self) -> Result<Reply, CallFailure> {
        // Some gateways send `[DONE]` although the model stopped early: only a finish reason counts.
        if self.finish_reason.is_none() {
            return Err(self.draft.cut_short());
        }
        let stop = self.stop_cause()?;
        self.draft.complete(stop)
    }

    fn broken(&self, what: &str) -> CallFailure {
        self.draft.broken(what)
    }
}

impl<'a> ChatAssembly<'a> {
    pub fn new(request: &ModelRequest, endpoint: Endpoint<'a>, redactor: Arc<Redactor>) -> ChatAssembly<'a> {
        ChatAssembly {
            draft: Draft::new(request, endpoint, redactor),
            indices: Vec::new(),
            shared: Vec::new(),
            finish_reason: None,
            declined: false,
            done: false,
        }
    }

    fn add_chunk(&mut self, json: &str, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        let chunk: Chunk<'_> = self.draft.read(json)?;
        if let Some(error) = chunk.error {
            return Err(self.draft.provider_error(error.get()));
        }
        if let Some(usage) = chunk.usage {
            self.draft.reply.usage = Some(usage.into_usage());
        }
        // Adjutant requests one choice. If a server sends more, only the first is read.
        let choices = chunk.choices.unwrap_or_default();
        let choice = choices.into_iter().find(|choice| choice.index.unwrap_or(0) == 0);
        match choice {
            Some(choice) if self.state() == ReplyState::Open => self.add_choice(choice, on_delta),
            _ => Ok(()),
        }
    }

    fn add_choice(&mut self, choice: Choice, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        if let Some(message) = choice.delta.or(choice.message) {
            self.add_message(message, on_delta)?;
        }
        self.finish_reason = choice.finish_reason.filter(|reason| !reason.is_empty());
        Ok(())
    }

    fn add_message(&mut self, message: Message, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        let not_empty = |text: Option<String>| text.filter(|text| !text.is_empty());
        if let Some(piece) = not_empty(message.reasoning_content).or(not_empty(message.reasoning)) {
            self.draft.add_reasoning(piece, on_delta)?;
        }
        if let Some(piece) = not_empty(message.refusal) {
            self.declined = true;
            self.draft.add_text(piece, on_delta)?;
        }
        if let Some(piece) = not_empty(message.content) {
            self.draft.add_text(piece, on_delta)?;
        }
        for piece in message.tool_calls.unwrap_or_default() {
            self.add_call_piece(piece, on_delta)?;
        }
        Ok(())
    }

    fn add_call_piece(&mut self, piece: CallPiece, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        let (name, arguments) =
            piece.function.map_or((None, None), |function| (function.name, function.arguments));
        let name = name.filter(|name| !name.is_empty());
        let id = piece.id.filter(|id| !id.is_empty());
        let at = match self.find_call(piece.index, id.as_deref(), name.as_deref()) {
            Some(at) if name.is_none() && self.is_ambiguous(at, piece.index, id.as_deref()) => {
                return Err(self.draft.broken("a piece of arguments may belong to two of its tool calls"));
            }
            Some(at) => at,
            None if name.is_none() && id.is_none() && piece.index.is_none() => {
                return Err(self.draft.broken("arguments came before any tool call began"));
            }
            None => {
                if self.has_unfinished_at(piece.index) {
                    self.shared.push(piece.index);
                }
                self.indices.push(piece.index);
                self.draft.open_call()?
            }
        };
        if let Some(arguments) = arguments {
            self.draft.add_arguments(at, &arguments.0)?;
        }
        if let Some(id) = id {
            self.draft.set_call_id(at, id)?;
        }
        name.map_or(Ok(()), |name| self.draft.set_tool_name(at, name, on_delta))
    }

    /// Returns the call that a piece belongs to; `None` if the piece begins a call.
    ///
    /// Index and id together decide, then the index, then the id; without both, the piece belongs to the last call.
    /// Searches from the end, because most pieces belong to the latest call.
    fn find_call(&self, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        let has_other_id = |at: usize| {
            let known = self.draft.reply.calls[at].id.as_str();
            id.is_some_and(|id| !known.is_empty() && known != id)
        };
        if index.is_some() {
            let calls = self.draft.reply.calls.iter().zip(&self.indices);
            let exact = |(call, known): (&RequestedCall, &Option<u64>)| {
                *known == index && id.is_some_and(|id| id == call.id)
            };
            if let Some(at) = calls.map(exact).rposition(|is_exact| is_exact) {
                return Some(at);
            }
            let at = self.indices.iter().rposition(|known| *known == index)?;
            // Some servers give each call the index zero: a new id with a name begins a call. Other servers send
            // a new id with each piece: a new id without a name does not.
            return (!(has_other_id(at) && name.is_some())).then_some(at);
        }
        if id.is_some() {
            return self.draft.reply.calls.iter().rposition(|call| Some(call.id.as_str()) == id);
        }
        let last = self.draft.reply.calls.len().checked_sub(1)?;
        (name.is_none() || self.draft.reply.calls[last].name.is_empty()).then_some(last)
    }

    /// Whether a call with this index has arguments that are not complete JSON.
    ///
    /// Empty arguments are not complete: the next piece may belong to that call. Calls without an index share one, so
    /// only the last of these counts.
    fn has_unfinished_at(&self, index: Option<u64>) -> bool {
        let calls = self.draft.reply.calls.iter().zip(&self.indices);
        let is_unfinished =
            |call: &RequestedCall| serde_json::from_str::<IgnoredAny>(&call.arguments).is_err();
        let most = if index.is_some() { usize::MAX } else { 1 };
        calls.rev().take(most).any(|(call, known)| *known == index && is_unfinished(call))
    }

    /// Whether a piece with this index may belong to another call than `at`: two share the index, and the piece does not
    /// have the id of this one.
    fn is_ambiguous(&self, at: usize, index: Option<u64>, id: Option<&str>) -> bool {
        self.shared.contains(&index) && id != Some(self.draft.reply.calls[at].id.as_str())
    }

    fn stop_cause(&self) -> Result<StopCause, CallFailure> {
        let cause = match self.finish_reason.as_deref() {
            Some("tool_calls" | "function_call") if self.draft.reply.calls.is_empty() => {
                return Err(self.draft.broken("it says that it calls tools, and has no tool call"));
            }
            Some("stop" | "tool_calls" | "function_call" | "end_turn" | "eos" | "stop_sequence") => {
                self.draft.normal_stop()
            }
            Some("length" | "max_tokens" | "model_length") => return Ok(StopCause::MaxTokens),
            Some("content_filter" | "safety" | "refusal") => return Ok(StopCause::Refusal),
            Some("insufficient_system_resource") => {
                let message = format!(
                    "provider \"{}\" ran out of resources in the middle of its reply",
                    self.draft.endpoint.provider
                );
                return Err(failure(FailureClass::Overloaded, message));
            }
            Some("error") => return Err(self.draft.broken("its reply ended with an error")),
            reason => self.draft.unknown_stop(reason)?,
        };
        Ok(if self.declined { StopCause::Refusal } else { cause })
    }
}

impl super::chunk::ChatUsage {
    /// Returns the usage as Adjutant counts it: the input includes the cached tokens.
    fn into_usage(self) -> Usage {
        Usage {
            input_tokens: self.prompt_tokens,
            output_tokens: self.completion_tokens,
            // Servers send one of the two; the details may lack the count.
            cache_read_tokens: self
                .prompt_tokens_details
                .map_or(0, |details| details.cached_tokens)
                .max(self.prompt_cache_hit_tokens),
            cache_write_tokens: 0,
        }
    }
}

#[cfg(test)]
mod tests;
