//! Builds one reply from the events of a Messages stream (S111).
//!
//! The content of a reply is a list of blocks: text, thinking and tool calls. Each block has a start event, deltas and
//! a stop event, and blocks may be interleaved. `Draft` checks the rules that all wires share.
//!
//! Never accepts a delta for a block that has not started or has already stopped.

use std::borrow::Cow;
use std::sync::Arc;

use adjutant_core::config::Wire;
use adjutant_core::machine::retry::CallFailure;
use adjutant_core::prompt::{ModelRequest, OpaqueItems, Reply, StopCause};
use serde_json::value::RawValue;

use super::super::draft::Draft;
use super::super::failure::Endpoint;
use super::super::reading::{Assembly, OnDelta, ReplyState};
use super::super::secret::Redactor;
use super::super::sse::Event;
use super::block::Block;
use super::event::{BlockDelta, BlockStart, MessagesEvent, MessagesUsage, Whole};

/// The maximum number of blocks in one reply.
const MAX_BLOCKS: usize = 4096;

pub(crate) struct MessagesAssembly<'a> {
    draft: Draft<'a>,
    blocks: Vec<ReplyBlock>,
    usage: MessagesUsage,
    stop_reason: Option<String>,
    started: bool,
    done: bool,
}

/// One block of the content.
struct ReplyBlock {
    /// The block's number in the content. Later events name the block by it.
    index: u64,
    open: bool,
    content: Content,
}

enum Content {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    /// A tool call; `at` is its index in the calls of the draft.
    Call {
        at: usize,
        /// The arguments from the start event. Some servers send them there and not in deltas.
        input: Option<String>,
    },
    /// A block kept as JSON: encrypted reasoning, or a block of an unknown type.
    Opaque {
        json: String,
        is_encrypted_reasoning: bool,
    },
    /// A block without a known form of deltas that came in deltas. It cannot be sent back, so it is dropped.
    Skipped,
}

impl Assembly for MessagesAssembly<'_> {
    fn is_keep_alive(event: &Event<'_>) -> bool {
        let data = event.data.trim();
        // Some gateways leave out the names of events.
        let is_ping = || {
            data.len() < 64
                && data.replace(' ', "").contains(r#""type":"ping""#)
                // Parse all of it: a truncated event may only look like a ping.
                && serde_json::from_str::<MessagesEvent<'_>>(data).is_ok_and(|read| read.kind.as_deref() == Some("ping"))
        };
        data.is_empty() || event.name == "ping" || is_ping()
    }

    fn state(&self) -> ReplyState {
        match (self.done, &self.stop_reason) {
            (true, _) => ReplyState::Closed,
            (false, Some(_)) => ReplyState::Complete,
            (false, None) => ReplyState::Open,
        }
    }

    fn add_event(&mut self, event: &Event<'_>, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        let data = event.data.trim();
        // Some gateways translate from Chat Completions and keep its end marker.
        if self.done || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        if event.name == "error" {
            return Err(self.draft.provider_error(data));
        }
        let parsed: MessagesEvent<'_> = self.draft.read(data)?;
        if parsed.error.is_some() {
            return Err(self.draft.provider_error(data));
        }
        let kind = parsed.kind.unwrap_or(Cow::Borrowed(event.name));
        let open = self.state() == ReplyState::Open;
        match &*kind {
            "error" => Err(self.draft.provider_error(data)),
            "message_start" if open => self.begin_message(parsed.message.and_then(|start| start.usage)),
            "content_block_start" if open => match (parsed.index, parsed.content_block) {
                (Some(index), Some(block)) => self.begin_block(index, block, on_delta),
                _ => Err(self.draft.broken("a block of its reply began without content or number")),
            },
            "content_block_delta" if open => {
                let at = self.find_open_block(parsed.index)?;
                parsed.delta.map_or(Ok(()), |delta| self.add_delta(at, delta, on_delta))
            }
            "content_block_stop" if open => {
                let at = self.find_open_block(parsed.index)?;
                self.blocks[at].open = false;
                Ok(())
            }
            "message_delta" => {
                self.add_usage(parsed.usage);
                let reason = parsed.delta.and_then(|delta| delta.stop_reason);
                self.stop_reason = self.stop_reason.take().or(reason.filter(|reason| !reason.is_empty()));
                Ok(())
            }
            "message_stop" => {
                self.done = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn add_whole(&mut self, body: &str, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        let whole: Whole<'_> = self.draft.read(body)?;
        if whole.error.is_some() || whole.kind.as_deref() == Some("error") {
            return Err(self.draft.provider_error(body));
        }
        // Without content the reply stays open, and `complete` fails.
        let Some(content) = whole.content else { return Ok(()) };
        for (index, block) in (0..).zip(content) {
            self.begin_block(index, block, on_delta)?;
            self.blocks.last_mut().into_iter().for_each(|block| block.open = false);
        }
        self.add_usage(whole.usage);
        self.stop_reason = whole.stop_reason;
        self.done = true;
        Ok(())
    }

    fn complete(mut self) -> Result<Reply, CallFailure> {
        if self.state() == ReplyState::Open {
            return Err(self.draft.cut_short());
        }
        let stop = self.stop_cause()?;
        let is_open_call = |block: &ReplyBlock| block.open && matches!(block.content, Content::Call { .. });
        // A reply that reaches its token limit may end inside a call. The call does not run then.
        if stop != StopCause::MaxTokens && self.blocks.iter().any(is_open_call) {
            return Err(self.draft.broken("a tool call of its reply never ended"));
        }
        for block in &mut self.blocks {
            if let Content::Call { at, input } = &mut block.content
                && self.draft.reply.calls[*at].arguments.is_empty()
            {
                self.draft.add_arguments(*at, input.as_deref().unwrap_or("{}"))?;
            }
        }
        // At a token limit, the draft drops calls without a name. Elsewhere such a call fails the reply.
        let has_name = self.draft.reply.calls.iter().map(|call| !call.name.is_empty()).collect::<Vec<_>>();
        let endpoint = self.draft.endpoint;
        let mut reply = self.draft.complete(stop)?;
        reply.kept = opaque_items(self.blocks, &reply, &has_name).map(|items| OpaqueItems {
            wire: Wire::AnthropicMessages,
            provider: endpoint.provider.to_owned(),
            model: endpoint.model.to_owned(),
            items,
        });
        Ok(reply)
    }

    fn broken(&self, what: &str) -> CallFailure {
        self.draft.broken(what)
    }
}

impl<'a> MessagesAssembly<'a> {
    pub fn new(
        request: &ModelRequest,
        endpoint: Endpoint<'a>,
        redactor: Arc<Redactor>,
    ) -> MessagesAssembly<'a> {
        MessagesAssembly {
            draft: Draft::new(request, endpoint, redactor),
            blocks: Vec::new(),
            usage: MessagesUsage::default(),
            stop_reason: None,
            started: false,
            done: false,
        }
    }

    fn begin_message(&mut self, usage: Option<MessagesUsage>) -> Result<(), CallFailure> {
        if std::mem::replace(&mut self.started, true) {
            return Err(self.draft.broken("its reply began twice"));
        }
        self.add_usage(usage);
        Ok(())
    }

    fn add_usage(&mut self, usage: Option<MessagesUsage>) {
        if let Some(usage) = usage {
            self.usage.raise_to(usage);
            self.draft.reply.usage = Some(self.usage.into_usage());
        }
    }

    fn begin_block(
        &mut self,
        index: u64,
        block: &RawValue,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        if self.blocks.iter().any(|block| block.index == index) {
            return Err(self.draft.broken("two blocks of its reply have the same number"));
        }
        if self.blocks.len() == MAX_BLOCKS {
            return Err(self.draft.too_much("blocks", MAX_BLOCKS, "of them"));
        }
        let start: BlockStart<'_> = self.draft.read(block.get())?;
        let content = match &*start.kind {
            "text" => Content::Text(String::new()),
            "thinking" => Content::Thinking { text: String::new(), signature: String::new() },
            "tool_use" => {
                let at = self.draft.open_call()?;
                self.draft.set_call_id(at, start.id.unwrap_or_default())?;
                if let Some(name) = start.name.filter(|name| !name.is_empty()) {
                    self.draft.set_tool_name(at, name, on_delta)?;
                }
                let input = start.input.map(RawValue::get).filter(|input| !matches!(*input, "{}" | "null"));
                self.draft.count_stored("tool arguments", input.map_or(0, str::len))?;
                Content::Call { at, input: input.map(str::to_owned) }
            }
            kind => {
                self.draft.count_stored("reasoning", block.get().len())?;
                Content::Opaque {
                    json: block.get().to_owned(),
                    is_encrypted_reasoning: kind == "redacted_thinking",
                }
            }
        };
        self.blocks.push(ReplyBlock { index, open: true, content });
        let at = self.blocks.len() - 1;
        self.add_text(at, start.text, on_delta)?;
        self.add_thinking(at, start.thinking, on_delta)?;
        self.set_signature(at, start.signature)
    }

    /// Returns the position of the open block with this number.
    ///
    /// Searches from the end, because most deltas belong to the latest block.
    fn find_open_block(&self, index: Option<u64>) -> Result<usize, CallFailure> {
        let at = self.blocks.iter().rposition(|block| Some(block.index) == index);
        match at {
            Some(at) if self.blocks[at].open => Ok(at),
            Some(_) => Err(self.draft.broken("a block of its reply continued after its end")),
            None => Err(self.draft.broken("a piece came for a block that never began")),
        }
    }

    fn add_delta(
        &mut self,
        at: usize,
        delta: BlockDelta<'_>,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        let kind = delta.kind.unwrap_or_default();
        match (&mut self.blocks[at].content, &*kind) {
            (Content::Text(_), "text_delta") => self.add_text(at, delta.text, on_delta),
            (Content::Thinking { .. }, "thinking_delta") => self.add_thinking(at, delta.thinking, on_delta),
            (Content::Thinking { .. }, "signature_delta") => self.set_signature(at, delta.signature),
            (Content::Call { at, .. }, "input_json_delta") => {
                self.draft.add_arguments(*at, delta.partial_json.as_deref().unwrap_or_default())
            }
            (content @ (Content::Opaque { .. } | Content::Skipped), _) => {
                *content = Content::Skipped;
                Ok(())
            }
            (_, "text_delta" | "thinking_delta" | "signature_delta" | "input_json_delta") => {
                Err(self.draft.broken("a piece does not fit the block it came for"))
            }
            // Citations, and deltas of an unknown type.
            _ => Ok(()),
        }
    }

    fn add_text(
        &mut self,
        at: usize,
        piece: Option<String>,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        if let (Content::Text(text), Some(piece)) = (&mut self.blocks[at].content, not_empty(piece)) {
            text.push_str(&piece);
            self.draft.add_text(piece, on_delta)?;
        }
        Ok(())
    }

    fn add_thinking(
        &mut self,
        at: usize,
        piece: Option<String>,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        if let (Content::Thinking { text, .. }, Some(piece)) =
            (&mut self.blocks[at].content, not_empty(piece))
        {
            text.push_str(&piece);
            self.draft.add_reasoning(piece, on_delta)?;
        }
        Ok(())
    }

    /// A signature comes in one piece. A later one replaces it.
    fn set_signature(&mut self, at: usize, piece: Option<String>) -> Result<(), CallFailure> {
        if let (Content::Thinking { signature, .. }, Some(piece)) =
            (&mut self.blocks[at].content, not_empty(piece))
        {
            self.draft.count_stored("reasoning", piece.len())?;
            *signature = piece;
        }
        Ok(())
    }

    fn stop_cause(&self) -> Result<StopCause, CallFailure> {
        match self.stop_reason.as_deref() {
            Some("tool_use") if self.draft.reply.calls.is_empty() => {
                Err(self.draft.broken("it says that it calls tools, and has no tool call"))
            }
            // `pause_turn` belongs to tools that the provider runs itself. Adjutant requests none of these.
            Some("end_turn" | "tool_use" | "stop_sequence" | "pause_turn") => Ok(self.draft.normal_stop()),
            Some("max_tokens" | "model_context_window_exceeded") => Ok(StopCause::MaxTokens),
            Some("refusal") => Ok(StopCause::Refusal),
            reason => self.draft.unknown_stop(reason),
        }
    }
}

fn not_empty(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

/// Returns the blocks to send back with the next request; `None` if no block is signed or encrypted reasoning, or if
/// no text and no call is left.
///
/// Anthropic requires its reasoning back unchanged. `has_name` has one entry for each call of the draft: only calls
/// with a name are in `reply`.
fn opaque_items(mut blocks: Vec<ReplyBlock>, reply: &Reply, has_name: &[bool]) -> Option<Vec<String>> {
    blocks.sort_by_key(|block| block.index);
    let mut has_reasoning = false;
    let mut items = Vec::new();
    let mut end = 0;
    for block in &blocks {
        let item = match &block.content {
            Content::Text(text) => Block::text(text).and_then(|block| serde_json::to_string(&block).ok()),
            Content::Thinking { signature, .. } if signature.is_empty() => None,
            Content::Thinking { text, signature } => {
                has_reasoning = true;
                serde_json::to_string(&Block::Thinking { thinking: text, signature }).ok()
            }
            Content::Call { at, .. } if has_name[*at] => {
                let at_in_reply = has_name[..*at].iter().filter(|has_name| **has_name).count();
                let block = reply.calls.get(at_in_reply).and_then(|call| Block::tool_use(call).ok());
                block.and_then(|block| serde_json::to_string(&block).ok())
            }
            Content::Call { .. } => None,
            Content::Opaque { json, is_encrypted_reasoning } => {
                has_reasoning |= is_encrypted_reasoning;
                Some(json.clone())
            }
            Content::Skipped => None,
        };
        let may_end = item.is_some() && matches!(block.content, Content::Text(_) | Content::Call { .. });
        items.extend(item);
        if may_end {
            end = items.len();
        }
    }
    // Anthropic rejects a reply that ends with thinking, so the items end with the last text or call.
    items.truncate(end);
    (has_reasoning && !items.is_empty()).then_some(items)
}

#[cfg(test)]
mod tests;
