//! One reply, assembled from the items of a Responses stream (S111).
//!
//! Each text comes several times: in pieces, whole behind them, and again in
//! the last event. Never tells a word of it twice, and never believes a reply
//! whose tellings contradict each other.

mod streaming;

use std::sync::Arc;

use adjutant_core::machine::retry::CallFailure;
use adjutant_core::prompt::{ModelRequest, Reply, StopCause};
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::draft::{Draft, MAX_KEPT_BYTES};
use super::super::failure::Endpoint;
use super::super::reading::{Assembly, OnDelta, ReplyState};
use super::super::secret::Redactor;
use super::super::sse::Event;
use super::event::{EventType, ItemText, ResponsesEvent, WholeResponse, parts, plain};
use super::item::{ItemKey, ItemPart, Items, Sort, TextSource};
use super::opaque;

pub(crate) struct ResponsesAssembly<'a> {
    draft: Draft<'a>,
    items: Items,
    /// Bytes of the items as the provider wrote them; `None` once they are too many to be kept.
    kept_bytes: Option<usize>,
    refused: bool,
    end: Option<End>,
}

/// How the provider says that the reply ended.
enum End {
    Completed,
    /// It was cut, for this reason.
    Incomplete(String),
}

impl Assembly for ResponsesAssembly<'_> {
    fn keeps_alive(event: &Event<'_>) -> bool {
        /// Those that say that the provider is there, and nothing of the reply.
        const IDLE: [&str; 4] = ["keepalive", "response.created", "response.in_progress", "response.queued"];
        let data = event.data.trim();
        if data.is_empty() || !matches!(event.name, "" | "message") {
            return data.is_empty() || IDLE.contains(&event.name);
        }
        // Some gateways leave the names of events out, or write the same for all. What the model says
        // cannot look like this: its quotes are escaped.
        let head = data.chars().take(96).filter(|c| !c.is_whitespace()).collect::<String>();
        let mut kinds = head.split(r#""type":""#).skip(1).filter_map(|rest| rest.split('"').next());
        // Only what can be read whole is believed: the same bytes cut short may say something else.
        kinds.any(|kind| IDLE.contains(&kind))
            && serde_json::from_str::<EventType<'_>>(data).is_ok_and(|read| IDLE.contains(&&*read.kind))
    }

    fn state(&self) -> ReplyState {
        if self.end.is_some() { ReplyState::Done } else { ReplyState::Open }
    }

    fn take(&mut self, event: &Event<'_>, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        let data = event.data.trim();
        // A gateway before another wire ends its streams like that one.
        if self.end.is_some() || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        if event.name == "error" {
            return Err(self.draft.refused(data));
        }
        let EventType { kind, error } = self.draft.read(data)?;
        let kind = if kind.is_empty() { event.name } else { &*kind };
        if kind == "error" || (kind.is_empty() && error.is_some()) {
            return Err(self.draft.refused(data));
        }
        if !is_known(kind) {
            return Ok(());
        }
        let piece: ResponsesEvent<'_> = self.draft.read(data)?;
        self.take_piece(kind, piece, on_delta)
    }

    fn take_whole(&mut self, body: &str, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        let answer: WholeResponse<'_> = self.draft.read(body)?;
        match (&answer.error, &answer.status, &answer.output) {
            (Some(_), _, _) => Err(self.draft.refused(body)),
            // What is still being made in the background is no answer.
            (None, Some(status), _) if matches!(&**status, "in_progress" | "queued") => Ok(()),
            (None, None, None) => Ok(()),
            _ => self.finish(answer, "", on_delta),
        }
    }

    fn complete(mut self) -> Result<Reply, CallFailure> {
        let stop = match &self.end {
            None => return Err(self.draft.cut_short()),
            Some(End::Completed) if self.items.all.iter().any(|item| item.cut && item.call.is_some()) => {
                return Err(self.draft.broken("a tool call of its reply never ended"));
            }
            Some(End::Completed) if self.refused => StopCause::Refusal,
            Some(End::Completed) => self.draft.ended(),
            Some(End::Incomplete(reason)) => match reason.as_str() {
                "max_output_tokens" | "max_tokens" | "length" => StopCause::MaxTokens,
                "content_filter" => StopCause::Refusal,
                reason => {
                    let reason = self.draft.quoted(&reason);
                    return Err(self.draft.broken(&format!("its reply was cut for the reason \"{reason}\"")));
                }
            },
        };
        let asked = self.draft.asked;
        let mut reply = self.draft.complete(stop)?;
        if self.kept_bytes.is_some() {
            self.items.sort();
            reply.kept = opaque::of(self.items.all, &reply, asked);
        }
        Ok(reply)
    }

    fn broken(&self, what: &str) -> CallFailure {
        self.draft.broken(what)
    }
}

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
        | "function_call_arguments" => {
            matches!(end, "delta" | "done")
        }
        _ => false,
    }
}

impl<'a> ResponsesAssembly<'a> {
    pub fn new(
        request: &ModelRequest,
        asked: Endpoint<'a>,
        redactor: Arc<Redactor>,
    ) -> ResponsesAssembly<'a> {
        ResponsesAssembly {
            draft: Draft::new(request, asked, redactor),
            items: Items::default(),
            kept_bytes: Some(0),
            refused: false,
            end: None,
        }
    }

    fn take_piece(
        &mut self,
        kind: &str,
        piece: ResponsesEvent<'_>,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        let id = piece.item_id.as_deref().filter(|id| !id.is_empty());
        let mark = ItemKey { id, index: piece.output_index, call_id: None };
        let part = |voice, index: Option<i64>| ItemPart { voice, index: index.unwrap_or(0) };
        let said = part(TextSource::Said, piece.content_index);
        let summary = part(TextSource::Summary, piece.summary_index);
        let thought = part(TextSource::Thought, piece.content_index);
        match (kind, piece.item, piece.response) {
            ("response.output_item.added", Some(item), _) => self.begin_item(mark, item, on_delta),
            ("response.output_item.done", Some(item), _) => self.end_item(mark, item, None, on_delta),
            ("response.output_text.delta", ..) => self.stream(mark, said, piece.delta, on_delta),
            ("response.output_text.done", ..) => self.stream_rest(mark, said, piece.text, on_delta),
            ("response.refusal.delta", ..) => {
                self.refused = true;
                self.stream(mark, said, piece.delta, on_delta)
            }
            ("response.refusal.done", ..) => {
                self.refused = true;
                self.stream_rest(mark, said, piece.refusal, on_delta)
            }
            ("response.reasoning_summary_text.delta", ..) => {
                self.stream(mark, summary, piece.delta, on_delta)
            }
            ("response.reasoning_summary_text.done", ..) => {
                self.stream_rest(mark, summary, piece.text, on_delta)
            }
            ("response.reasoning_text.delta", ..) => self.stream(mark, thought, piece.delta, on_delta),
            ("response.reasoning_text.done", ..) => self.stream_rest(mark, thought, piece.text, on_delta),
            ("response.function_call_arguments.delta", ..) => {
                let at = self.open_call(mark)?;
                self.draft.arguments(at, piece.delta.as_deref().unwrap_or_default())
            }
            ("response.function_call_arguments.done", ..) if self.items.is_over(Sort::Call, mark) => Ok(()),
            ("response.function_call_arguments.done", ..) => {
                let at = self.open_call(mark)?;
                if let Some(name) = piece.name.filter(|name| !name.is_empty()) {
                    self.draft.name(at, name, on_delta)?;
                }
                self.final_arguments(at, piece.arguments).map(drop)
            }
            (kind, _, Some(response)) if !kind.contains("item") => {
                let answer: WholeResponse<'_> = self.draft.read(response.get())?;
                self.finish(answer, kind, on_delta)
            }
            ("response.output_item.added" | "response.output_item.done", ..) => Ok(()),
            (kind, ..) => self.finish(WholeResponse::default(), kind, on_delta),
        }
    }

    fn begin_item(
        &mut self,
        mark: ItemKey<'_>,
        raw: &RawValue,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        let sort = self.sort_of(raw)?;
        if sort == Sort::Other {
            return Ok(());
        }
        let text: ItemText<'_> = self.draft.read(raw.get())?;
        let mark = text.marked(mark);
        let at = match self.items.of_announced(sort, mark) {
            Some(at) => at,
            None => self.items.begin(sort, mark, &mut self.draft)?,
        };
        self.items.all[at].announce(mark, &mut self.draft)?;
        self.identify(at, &text, on_delta)
    }

    /// Takes an item that is complete: when it ends, or at its place in the final output.
    fn end_item(
        &mut self,
        mark: ItemKey<'_>,
        raw: &RawValue,
        place: Option<usize>,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        let sort = self.sort_of(raw)?;
        let text: ItemText<'_> = match sort {
            Sort::Other => ItemText::default(),
            _ => self.draft.read(raw.get())?,
        };
        let mark = text.marked(mark);
        let found = match place {
            Some(place) => self.items.of_final(sort, mark, place),
            None => self.items.of_ended(sort, mark),
        };
        let at = match found {
            Some(at) => at,
            None => self.items.begin(sort, mark, &mut self.draft)?,
        };
        self.items.all[at].end(mark, place, &mut self.draft)?;
        self.identify(at, &text, on_delta)?;
        let unreadable = |_| self.draft.broken("an item of its reply makes no sense");
        let (whole, sealed) = match sort {
            Sort::Message => {
                let content = parts(text.content).map_err(unreadable)?;
                self.refused |= content.iter().any(|part| part.refusal.is_some());
                let texts = content.into_iter().filter_map(|part| part.text.or(part.refusal));
                (self.end_text(at, &texts.collect::<String>(), on_delta)?, true)
            }
            Sort::Reasoning => {
                let texts = |raw| -> Result<Vec<String>, CallFailure> {
                    let parts = parts(raw).map_err(unreadable)?;
                    Ok(parts.into_iter().filter_map(|part| part.text).collect())
                };
                let (summary, content) = (texts(text.summary)?, texts(text.content)?);
                let sealed = opaque::is_sealed(&text, &content);
                self.end_reasoning(at, &summary, &content, on_delta)?;
                (true, sealed)
            }
            Sort::Call => {
                let call = self.items.all[at].call.unwrap_or_default();
                (self.final_arguments(call, text.arguments)?, true)
            }
            Sort::Other => (true, true),
        };
        let item = &mut self.items.all[at];
        item.irreplaceable |= sort == Sort::Reasoning || text.phase.is_some();
        item.cut = text.status.as_deref() == Some("incomplete");
        let json = (whole && sealed).then(|| raw.get().to_owned());
        self.keep(at, json);
        Ok(())
    }

    /// Takes the last event, or an answer that came all at once.
    fn finish(
        &mut self,
        answer: WholeResponse<'_>,
        kind: &str,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        let is = |ends: &[&str]| {
            let status = answer.status.as_deref().unwrap_or_default();
            ends.contains(&status) || kind.strip_prefix("response.").is_some_and(|kind| ends.contains(&kind))
        };
        if is(&["failed"]) || answer.error.is_some() {
            return Err(match answer.error {
                Some(error) => self.draft.refused(error.get()),
                None => self.draft.broken("its reply failed, it does not say why"),
            });
        }
        if is(&["cancelled"]) {
            return Err(self.draft.broken("its reply was cancelled"));
        }
        for (place, raw) in answer.output.iter().flatten().enumerate() {
            let sort = self.sort_of(raw)?;
            if sort != Sort::Other {
                let text: ItemText<'_> = self.draft.read(raw.get())?;
                self.items.place(sort, text.marked(ItemKey::default()), place);
            }
        }
        for (place, raw) in answer.output.iter().flatten().enumerate() {
            self.end_item(ItemKey::default(), raw, Some(place), on_delta)?;
        }
        if let Some(usage) = answer.usage {
            self.draft.reply.usage = Some(usage.counted());
        }
        let reason = answer.incomplete_details.and_then(|details| details.reason);
        self.end = Some(match is(&["incomplete"]) || reason.is_some() {
            true => End::Incomplete(reason.unwrap_or_default()),
            false => End::Completed,
        });
        Ok(())
    }

    fn sort_of(&self, raw: &RawValue) -> Result<Sort, CallFailure> {
        let EventType { kind, .. } = self.draft.read(raw.get())?;
        Ok(match &*kind {
            "message" => Sort::Message,
            "reasoning" => Sort::Reasoning,
            "function_call" => Sort::Call,
            _ => Sort::Other,
        })
    }

    /// Takes up the id and the name of a call.
    fn identify(
        &mut self,
        at: usize,
        text: &ItemText<'_>,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        let Some(call) = self.items.all[at].call else { return Ok(()) };
        if let Some(id) = text.call_id.as_ref().filter(|id| !id.is_empty()) {
            self.draft.identify(call, id.clone())?;
        }
        match text.name.as_ref().filter(|name| !name.is_empty()) {
            Some(name) => self.draft.name(call, name.clone(), on_delta),
            None => Ok(()),
        }
    }

    /// Keeps an item as the provider wrote it; one that cannot come back takes the place of none.
    fn keep(&mut self, at: usize, json: Option<String>) {
        let before = self.items.all[at].json.as_ref().map_or(0, String::len);
        let more = json.as_ref().map_or(0, String::len);
        let bytes = self.kept_bytes.map(|bytes| bytes - before + more);
        self.kept_bytes = bytes.filter(|bytes| *bytes <= MAX_KEPT_BYTES);
        if self.kept_bytes.is_some() {
            self.items.all[at].json = json;
        } else {
            self.items.all.iter_mut().for_each(|item| item.json = None);
        }
    }

    fn open_call(&mut self, mark: ItemKey<'_>) -> Result<usize, CallFailure> {
        let at = match self.items.of_piece(Sort::Call, mark) {
            Some(at) => at,
            None if self.items.is_over(Sort::Call, mark) => return Err(self.went_on()),
            None if mark.id.is_none() && mark.index.is_none() => {
                return Err(self.draft.broken("arguments came before any tool call began"));
            }
            None => self.items.begin(Sort::Call, mark, &mut self.draft)?,
        };
        Ok(self.items.all[at].call.unwrap_or_default())
    }

    fn went_on(&self) -> CallFailure {
        self.draft.broken("an item of its reply went on after its end")
    }

    /// Takes the arguments of a call as a whole, and returns whether they are what the call has now.
    fn final_arguments(&mut self, at: usize, raw: Option<&RawValue>) -> Result<bool, CallFailure> {
        let unreadable = |_| self.draft.broken("the arguments of a tool call make no sense");
        let whole = plain(raw).map_err(unreadable)?;
        let told = &self.draft.reply.calls[at].arguments;
        // Some servers leave out at the end what they streamed.
        if whole.is_empty() || *told == whole {
            return Ok(*told == whole);
        }
        if let Some(rest) = whole.strip_prefix(told.as_str()) {
            return self.draft.arguments(at, rest).map(|()| true);
        }
        // Others write the same arguments with other spaces.
        let parsed = |text: &str| serde_json::from_str::<Value>(text).ok();
        match parsed(told).is_some_and(|value| parsed(&whole) == Some(value)) {
            true => Ok(true),
            false => Err(self.draft.broken("the arguments of a tool call are not those it streamed")),
        }
    }
}

#[cfg(test)]
mod tests;
