//! Builds one reply from the events of a Responses stream (S111).
//!
//! The output is a list of items: messages, reasoning, function calls and calls of free-form tools. The stream sends each text up to four times:
//! in deltas, in a `done` event of the text, in the `done` event of the item, and in the last event.
//!
//! Never streams the same text twice to the client, and never accepts a reply whose copies of a text differ.

mod streaming;

use std::sync::Arc;

use adjutant_core::machine::retry::CallFailure;
use adjutant_core::prompt::{ModelRequest, Reply, StopCause};
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::draft::{Draft, MAX_STORED_BYTES};
use super::super::failure::Endpoint;
use super::super::reading::{Assembly, OnDelta, ReplyState};
use super::super::secret::Redactor;
use super::super::sse::Event;
use super::event::{EventType, ItemText, ResponsesEvent, WholeResponse, parts, plain};
use super::item::{ItemKey, ItemKind, ItemPart, Items, TextSource};
use super::opaque;

pub(crate) struct ResponsesAssembly<'a> {
    draft: Draft<'a>,
    items: Items,
    /// The size of the items' JSON in bytes; `None` once it exceeds the limit and nothing is kept.
    opaque_bytes: Option<usize>,
    refused: bool,
    end: Option<End>,
}

/// How the reply ended, as the provider reports it.
enum End {
    Completed,
    /// The provider stopped early, for this reason.
    Incomplete(String),
}

impl Assembly for ResponsesAssembly<'_> {
    fn is_keep_alive(event: &Event<'_>) -> bool {
        /// Events without content: they only show that the provider is alive.
        const IDLE: [&str; 4] = ["keepalive", "response.created", "response.in_progress", "response.queued"];
        let data = event.data.trim();
        if data.is_empty() || !matches!(event.name, "" | "message") {
            return data.is_empty() || IDLE.contains(&event.name);
        }
        // Some gateways leave out the names of events, or use one name for all. Text of the model cannot match this
        // search, because its quotes are escaped.
        let head = data.chars().take(96).filter(|c| !c.is_whitespace()).collect::<String>();
        let mut kinds = head.split(r#""type":""#).skip(1).filter_map(|rest| rest.split('"').next());
        // Parse all of it: a truncated event may only look like one of these.
        kinds.any(|kind| IDLE.contains(&kind))
            && serde_json::from_str::<EventType<'_>>(data).is_ok_and(|read| IDLE.contains(&&*read.kind))
    }

    fn state(&self) -> ReplyState {
        if self.end.is_some() { ReplyState::Closed } else { ReplyState::Open }
    }

    fn add_event(&mut self, event: &Event<'_>, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        let data = event.data.trim();
        // Some gateways translate from Chat Completions and keep its end marker.
        if self.end.is_some() || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        if event.name == "error" {
            return Err(self.draft.provider_error(data));
        }
        let EventType { kind, error } = self.draft.read(data)?;
        let kind = if kind.is_empty() { event.name } else { &*kind };
        if kind == "error" || (kind.is_empty() && error.is_some()) {
            return Err(self.draft.provider_error(data));
        }
        if !is_known(kind) {
            return Ok(());
        }
        let event: ResponsesEvent<'_> = self.draft.read(data)?;
        self.add_known(kind, event, on_delta)
    }

    fn add_whole(&mut self, body: &str, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        let response: WholeResponse<'_> = self.draft.read(body)?;
        match (&response.error, &response.status, &response.output) {
            (Some(_), _, _) => Err(self.draft.provider_error(body)),
            // The provider still works on this answer in the background, so there is no reply yet.
            (None, Some(status), _) if matches!(&**status, "in_progress" | "queued") => Ok(()),
            (None, None, None) => Ok(()),
            _ => self.finish(response, "", on_delta),
        }
    }

    fn complete(mut self) -> Result<Reply, CallFailure> {
        let stop = match &self.end {
            None => return Err(self.draft.cut_short()),
            Some(End::Completed) if self.items.all.iter().any(|item| item.cut && item.call.is_some()) => {
                return Err(self.draft.broken("a tool call of its reply never ended"));
            }
            Some(End::Completed) if self.refused => StopCause::Refusal,
            Some(End::Completed) => self.draft.normal_stop(),
            Some(End::Incomplete(reason)) => match reason.as_str() {
                "max_output_tokens" | "max_tokens" | "length" => StopCause::MaxTokens,
                "content_filter" => StopCause::Refusal,
                reason => {
                    let reason = self.draft.quoted(&reason);
                    return Err(self.draft.broken(&format!("its reply was cut for the reason \"{reason}\"")));
                }
            },
        };
        let endpoint = self.draft.endpoint;
        let mut reply = self.draft.complete(stop)?;
        if self.opaque_bytes.is_some() {
            self.items.sort();
            reply.kept = opaque::items_of(self.items.all, &reply, endpoint);
        }
        Ok(reply)
    }

    fn broken(&self, what: &str) -> CallFailure {
        self.draft.broken(what)
    }
}

/// Whether `add_known` handles events of this type.
fn is_known(kind: &str) -> bool {
    let name = kind.strip_prefix("response.").unwrap_or_default();
    let (group, end) = name.rsplit_once('.').unwrap_or(("", name));
    match group {
        "" => matches!(end, "completed" | "done" | "incomplete" | "failed" | "cancelled"),
        "output_item" => matches!(end, "added" | "done"),
        "output_text"
        | "refusal"
        | "reasoning_summary_text"
        | "reasoning_text"
        | "function_call_arguments"
        | "custom_tool_call_input" => {
            matches!(end, "delta" | "done")
        }
        _ => false,
    }
}

impl<'a> ResponsesAssembly<'a> {
    pub fn new(
        request: &ModelRequest,
        endpoint: Endpoint<'a>,
        redactor: Arc<Redactor>,
    ) -> ResponsesAssembly<'a> {
        ResponsesAssembly {
            draft: Draft::new(request, endpoint, redactor),
            items: Items::default(),
            opaque_bytes: Some(0),
            refused: false,
            end: None,
        }
    }

    fn add_known(
        &mut self,
        kind: &str,
        event: ResponsesEvent<'_>,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        let id = event.item_id.as_deref().filter(|id| !id.is_empty());
        let key = ItemKey { id, index: event.output_index, call_id: None };
        let part = |source, index: Option<i64>| ItemPart { source, index: index.unwrap_or(0) };
        let answer = part(TextSource::Answer, event.content_index);
        let summary = part(TextSource::Summary, event.summary_index);
        let reasoning = part(TextSource::Reasoning, event.content_index);
        match (kind, event.item, event.response) {
            ("response.output_item.added", Some(item), _) => self.begin_item(key, item, on_delta),
            ("response.output_item.done", Some(item), _) => self.end_item(key, item, None, on_delta),
            ("response.output_text.delta", ..) => self.stream(key, answer, event.delta, on_delta),
            ("response.output_text.done", ..) => self.finish_part(key, answer, event.text, on_delta),
            ("response.refusal.delta", ..) => {
                self.refused = true;
                self.stream(key, answer, event.delta, on_delta)
            }
            ("response.refusal.done", ..) => {
                self.refused = true;
                self.finish_part(key, answer, event.refusal, on_delta)
            }
            ("response.reasoning_summary_text.delta", ..) => self.stream(key, summary, event.delta, on_delta),
            ("response.reasoning_summary_text.done", ..) => {
                self.finish_part(key, summary, event.text, on_delta)
            }
            ("response.reasoning_text.delta", ..) => self.stream(key, reasoning, event.delta, on_delta),
            ("response.reasoning_text.done", ..) => self.finish_part(key, reasoning, event.text, on_delta),
            ("response.function_call_arguments.delta", ..) => {
                let at = self.open_call(key)?;
                self.draft.add_arguments(at, event.delta.as_deref().unwrap_or_default())
            }
            ("response.custom_tool_call_input.delta", ..) => {
                let at = self.open_call(key)?;
                self.draft.set_free_form(at);
                self.draft.add_arguments(at, event.delta.as_deref().unwrap_or_default())
            }
            ("response.custom_tool_call_input.done", ..) if self.items.has_ended(ItemKind::Call, key) => {
                Ok(())
            }
            ("response.custom_tool_call_input.done", ..) => {
                let at = self.open_call(key)?;
                self.draft.set_free_form(at);
                self.final_arguments(at, event.input).map(drop)
            }
            ("response.function_call_arguments.done", ..) if self.items.has_ended(ItemKind::Call, key) => {
                Ok(())
            }
            ("response.function_call_arguments.done", ..) => {
                let at = self.open_call(key)?;
                if let Some(name) = event.name.filter(|name| !name.is_empty()) {
                    self.draft.set_tool_name(at, name, on_delta)?;
                }
                self.final_arguments(at, event.arguments).map(drop)
            }
            // The other known types end the reply.
            (kind, _, Some(response)) if !kind.contains("item") => {
                let response: WholeResponse<'_> = self.draft.read(response.get())?;
                self.finish(response, kind, on_delta)
            }
            ("response.output_item.added" | "response.output_item.done", ..) => Ok(()),
            (kind, ..) => self.finish(WholeResponse::default(), kind, on_delta),
        }
    }

    fn begin_item(
        &mut self,
        key: ItemKey<'_>,
        raw: &RawValue,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        let item_kind = self.kind_of(raw)?;
        if item_kind == ItemKind::Other {
            return Ok(());
        }
        let text: ItemText<'_> = self.draft.read(raw.get())?;
        let key = text.key_with_ids(key);
        let at = match self.items.find_announced(item_kind, key) {
            Some(at) => at,
            None => self.items.begin(item_kind, key, &mut self.draft)?,
        };
        self.items.all[at].announce(key, &mut self.draft)?;
        self.identify(at, &text, on_delta)
    }

    /// Adds a complete item: from its `done` event, or from the final output, where its index is `final_index`.
    fn end_item(
        &mut self,
        key: ItemKey<'_>,
        raw: &RawValue,
        final_index: Option<usize>,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        let item_kind = self.kind_of(raw)?;
        let text: ItemText<'_> = match item_kind {
            ItemKind::Other => ItemText::default(),
            _ => self.draft.read(raw.get())?,
        };
        let key = text.key_with_ids(key);
        let found = match final_index {
            Some(final_index) => self.items.find_final(item_kind, key, final_index),
            None => self.items.find_ended(item_kind, key),
        };
        let at = match found {
            Some(at) => at,
            None => self.items.begin(item_kind, key, &mut self.draft)?,
        };
        self.items.all[at].end(key, final_index, &mut self.draft)?;
        self.identify(at, &text, on_delta)?;
        let unreadable = |_| self.draft.broken("an item of its reply makes no sense");
        let (is_complete, is_self_contained) = match item_kind {
            ItemKind::Message => {
                let content = parts(text.content).map_err(unreadable)?;
                self.refused |= content.iter().any(|part| part.refusal.is_some());
                let texts = content.into_iter().filter_map(|part| part.text.or(part.refusal));
                (self.finish_text(at, &texts.collect::<String>(), on_delta)?, true)
            }
            ItemKind::Reasoning => {
                let texts = |raw| -> Result<Vec<String>, CallFailure> {
                    let parts = parts(raw).map_err(unreadable)?;
                    Ok(parts.into_iter().filter_map(|part| part.text).collect())
                };
                let (summary, content) = (texts(text.summary)?, texts(text.content)?);
                let is_self_contained = opaque::is_self_contained(&text, &content);
                self.finish_reasoning(at, &summary, &content, on_delta)?;
                (true, is_self_contained)
            }
            ItemKind::Call => {
                let call = self.items.all[at].call.unwrap_or_default();
                let whole = if text.is_free_form() { text.input } else { text.arguments };
                (self.final_arguments(call, whole)?, true)
            }
            ItemKind::Other => (true, true),
        };
        let item = &mut self.items.all[at];
        item.irreplaceable |= item_kind == ItemKind::Reasoning || text.phase.is_some();
        item.cut = text.status.as_deref() == Some("incomplete");
        let json = (is_complete && is_self_contained).then(|| raw.get().to_owned());
        self.keep(at, json);
        Ok(())
    }

    /// Adds the last event, or an answer without streaming.
    fn finish(
        &mut self,
        response: WholeResponse<'_>,
        kind: &str,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        let is = |ends: &[&str]| {
            let status = response.status.as_deref().unwrap_or_default();
            ends.contains(&status) || kind.strip_prefix("response.").is_some_and(|kind| ends.contains(&kind))
        };
        if is(&["failed"]) || response.error.is_some() {
            return Err(match response.error {
                Some(error) => self.draft.provider_error(error.get()),
                None => self.draft.broken("its reply failed, it does not say why"),
            });
        }
        if is(&["cancelled"]) {
            return Err(self.draft.broken("its reply was cancelled"));
        }
        for (final_index, raw) in response.output.iter().flatten().enumerate() {
            let item_kind = self.kind_of(raw)?;
            if item_kind != ItemKind::Other {
                let text: ItemText<'_> = self.draft.read(raw.get())?;
                self.items.assign_final_index(item_kind, text.key_with_ids(ItemKey::default()), final_index);
            }
        }
        for (final_index, raw) in response.output.iter().flatten().enumerate() {
            self.end_item(ItemKey::default(), raw, Some(final_index), on_delta)?;
        }
        if let Some(usage) = response.usage {
            self.draft.reply.usage = Some(usage.into_usage());
        }
        let reason = response.incomplete_details.and_then(|details| details.reason);
        let is_incomplete = is(&["incomplete"]) || reason.is_some();
        self.end =
            Some(if is_incomplete { End::Incomplete(reason.unwrap_or_default()) } else { End::Completed });
        Ok(())
    }

    fn kind_of(&self, raw: &RawValue) -> Result<ItemKind, CallFailure> {
        let EventType { kind, .. } = self.draft.read(raw.get())?;
        Ok(match &*kind {
            "message" => ItemKind::Message,
            "reasoning" => ItemKind::Reasoning,
            "function_call" | "custom_tool_call" => ItemKind::Call,
            _ => ItemKind::Other,
        })
    }

    /// Sets the id and the name of a call, if the item has them.
    fn identify(
        &mut self,
        at: usize,
        text: &ItemText<'_>,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        let Some(call) = self.items.all[at].call else { return Ok(()) };
        if text.is_free_form() {
            self.draft.set_free_form(call);
        }
        if let Some(id) = text.call_id.as_ref().filter(|id| !id.is_empty()) {
            self.draft.set_call_id(call, id.clone())?;
        }
        match text.name.as_ref().filter(|name| !name.is_empty()) {
            Some(name) => self.draft.set_tool_name(call, name.clone(), on_delta),
            None => Ok(()),
        }
    }

    /// Stores the JSON of an item, to send it back later; `None` for an item that cannot be sent back.
    fn keep(&mut self, at: usize, json: Option<String>) {
        let before = self.items.all[at].json.as_ref().map_or(0, String::len);
        let more = json.as_ref().map_or(0, String::len);
        let bytes = self.opaque_bytes.map(|bytes| bytes - before + more);
        self.opaque_bytes = bytes.filter(|bytes| *bytes <= MAX_STORED_BYTES);
        if self.opaque_bytes.is_some() {
            self.items.all[at].json = json;
        } else {
            self.items.all.iter_mut().for_each(|item| item.json = None);
        }
    }

    fn open_call(&mut self, key: ItemKey<'_>) -> Result<usize, CallFailure> {
        let at = match self.items.find_open(ItemKind::Call, key) {
            Some(at) => at,
            None if self.items.has_ended(ItemKind::Call, key) => return Err(self.after_end()),
            None if key.id.is_none() && key.index.is_none() => {
                return Err(self.draft.broken("arguments came before any tool call began"));
            }
            None => self.items.begin(ItemKind::Call, key, &mut self.draft)?,
        };
        Ok(self.items.all[at].call.unwrap_or_default())
    }

    fn after_end(&self) -> CallFailure {
        self.draft.broken("an item of its reply continued after its end")
    }

    /// Adds the complete arguments of a call. Returns whether they equal the arguments that the call has now.
    ///
    /// Fails if they contradict the arguments that were streamed.
    fn final_arguments(&mut self, at: usize, raw: Option<&RawValue>) -> Result<bool, CallFailure> {
        let unreadable = |_| self.draft.broken("the arguments of a tool call make no sense");
        let whole = plain(raw).map_err(unreadable)?;
        let streamed = &self.draft.reply.calls[at].arguments;
        // Some servers send no complete arguments after the deltas.
        if whole.is_empty() || *streamed == whole {
            return Ok(*streamed == whole);
        }
        if let Some(rest) = whole.strip_prefix(streamed.as_str()) {
            return self.draft.add_arguments(at, rest).map(|()| true);
        }
        if self.draft.reply.calls[at].free_form {
            return Err(self.draft.broken("the input of a tool call is not the one it streamed"));
        }
        // Other servers write the same arguments with other white space.
        let parsed = |text: &str| serde_json::from_str::<Value>(text).ok();
        if parsed(streamed).is_some_and(|value| parsed(&whole) == Some(value)) {
            Ok(true)
        } else {
            Err(self.draft.broken("the arguments of a tool call are not those it streamed"))
        }
    }
}

#[cfg(test)]
mod tests;
