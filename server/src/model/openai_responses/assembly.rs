//! One reply, assembled from the items of a Responses stream (S111).
//!
//! The last event is the truth: what streamed is the beginning of what it says, or the reply is broken.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_core::config::Wire;
use adjutant_core::prompt::{Kept, ModelRequest, Reply, StopCause};
use adjutant_core::retry::CallFailure;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::draft::Draft;
use super::super::failure::Asked;
use super::super::reading::{Assembly, OnDelta, State};
use super::super::secret::Redactor;
use super::super::sse::Event;
use super::event::{Content, Item, Piece, Response};

/// The most items of one reply.
const MAX_ITEMS: usize = 4096;

pub(super) struct ResponseAssembly<'a> {
    draft: Draft<'a>,
    parts: Vec<Part>,
    refused: bool,
    /// How it ended; none while it streams.
    end: Option<End>,
}

/// One item of the output.
struct Part {
    /// Its place in the output, and the name later events may call it by.
    index: Option<u64>,
    id: Option<String>,
    kind: Kind,
    /// All of it was said.
    done: bool,
    /// As it has to come back.
    kept: Option<String>,
}

enum Kind {
    /// What has streamed of it.
    Message(String),
    Reasoning(String),
    /// A tool call, by its place among the calls of the draft.
    Call(usize),
    /// Of a kind nobody knows.
    Other,
}

enum End {
    Completed,
    Incomplete(Option<String>),
}

impl Assembly for ResponseAssembly<'_> {
    /// These say that a response is worked on, and some servers say so again and again.
    fn keeps_alive(event: &Event<'_>) -> bool {
        const IDLE: [&str; 4] = ["keepalive", "response.created", "response.in_progress", "response.queued"];
        let data = event.data.trim();
        // The kind stands first in what servers write; gateways leave the names of events out.
        let head: String = data.chars().take(48).filter(|c| !c.is_whitespace()).collect();
        let is = |kind: &str| event.name == kind || head.starts_with(&format!(r#"{{"type":"{kind}""#));
        data.is_empty() || IDLE.iter().any(|kind| is(kind))
    }

    fn state(&self) -> State {
        if self.end.is_some() { State::Done } else { State::Open }
    }

    fn take(&mut self, event: &Event<'_>, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        let data = event.data.trim();
        // A gateway before another wire ends its streams like that one.
        if self.end.is_some() || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        if event.name == "error" {
            return Err(self.refused_by(data));
        }
        let piece: Piece<'_> = self.draft.read(data)?;
        let kind = piece.kind.clone().unwrap_or(Cow::Borrowed(event.name));
        match &*kind {
            "error" | "response.failed" => Err(self.refused_by(data)),
            "response.output_item.added" => self.begin(&piece, on_delta).map(drop),
            "response.output_text.delta" => self.say(&piece, on_delta),
            "response.refusal.delta" => {
                self.refused = true;
                self.say(&piece, on_delta)
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.think(&piece, on_delta)
            }
            "response.reasoning_summary_part.added" if piece.summary_index.unwrap_or(0) > 0 => {
                self.think(&Piece { delta: Some("\n\n".to_owned()), ..piece }, on_delta)
            }
            "response.function_call_arguments.delta" => {
                let at = self.call(&piece)?;
                self.draft.arguments(at, piece.delta.as_deref().unwrap_or_default())
            }
            "response.function_call_arguments.done" => {
                let at = self.call(&piece)?;
                self.settle_call(at, piece.arguments.as_deref())
            }
            "response.output_item.done" => self.finish_item(&piece, on_delta),
            "response.completed" | "response.incomplete" | "response.done" => match piece.response {
                Some(response) => self.finish(response.get(), on_delta),
                None => Err(self.draft.broken("its reply ended without saying what it is")),
            },
            _ => Ok(()),
        }
    }

    fn take_whole(&mut self, body: &str, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        self.finish(body, on_delta)
    }

    fn complete(self) -> Result<Reply, CallFailure> {
        let stop = match &self.end {
            None => return Err(self.draft.cut_short()),
            Some(_) if self.refused => StopCause::Refusal,
            Some(End::Completed) => self.draft.ended(),
            Some(End::Incomplete(reason)) => match reason.as_deref() {
                Some("max_output_tokens" | "max_tokens") => StopCause::MaxTokens,
                Some("content_filter") => StopCause::Refusal,
                reason => self.draft.ended_oddly(reason)?,
            },
        };
        let asked = self.draft.asked;
        let items = kept(self.parts);
        let mut reply = self.draft.complete(stop)?;
        reply.kept = items.map(|items| Kept {
            wire: Wire::OpenaiResponses,
            provider: asked.provider.to_owned(),
            model: asked.model.to_owned(),
            items,
        });
        Ok(reply)
    }

    fn broken(&self, what: &str) -> CallFailure {
        self.draft.broken(what)
    }
}

impl<'a> ResponseAssembly<'a> {
    pub fn new(request: &ModelRequest, asked: Asked<'a>, redactor: Arc<Redactor>) -> ResponseAssembly<'a> {
        ResponseAssembly {
            draft: Draft::new(request, asked, redactor),
            parts: Vec::new(),
            refused: false,
            end: None,
        }
    }

    /// An error stands by itself, in a field, or in the response that failed.
    fn refused_by(&self, data: &str) -> CallFailure {
        let value: Value = serde_json::from_str(data).unwrap_or_else(|_| Value::from(data));
        let inner = value.pointer("/response/error").or(value.get("error")).filter(|error| !error.is_null());
        self.draft.refused(inner.unwrap_or(&value))
    }

    /// Finds the item a piece belongs to. The latest is looked at first, so that long ones stay cheap.
    fn find(&self, index: Option<u64>, id: Option<&str>) -> Option<usize> {
        let named = |part: &Part| id.is_some() && part.id.as_deref() == id;
        let placed = |part: &Part| index.is_some() && part.index == index;
        // Some gateways give every event another id: the place tells.
        self.parts.iter().rposition(placed).or_else(|| self.parts.iter().rposition(named))
    }

    fn find_of(&self, piece: &Piece<'_>) -> Option<usize> {
        self.find(piece.output_index, piece.item_id.as_deref())
    }

    fn push(&mut self, index: Option<u64>, id: Option<&str>, kind: Kind) -> Result<usize, CallFailure> {
        if self.parts.len() == MAX_ITEMS {
            return Err(self.draft.too_much("items", MAX_ITEMS, "of them"));
        }
        self.parts.push(Part { index, id: id.map(str::to_owned), kind, done: false, kept: None });
        Ok(self.parts.len() - 1)
    }

    /// Takes up an item as it begins; returns its place.
    fn begin(&mut self, piece: &Piece<'_>, on_delta: &mut OnDelta<'_>) -> Result<usize, CallFailure> {
        let Some(raw) = piece.item else {
            return Err(self.draft.broken("an item of its reply began without saying what it is"));
        };
        let item: Item<'_> = self.draft.read(raw.get())?;
        if self.find(piece.output_index, item.id.as_deref()).is_some() {
            return Err(self.draft.broken("two items of its reply have the same number"));
        }
        self.open(piece.output_index, &item, on_delta)
    }

    fn open(
        &mut self,
        index: Option<u64>,
        item: &Item<'_>,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<usize, CallFailure> {
        let kind = match &*item.kind {
            "message" => Kind::Message(String::new()),
            "reasoning" => Kind::Reasoning(String::new()),
            "function_call" => {
                let at = self.draft.open_call()?;
                let id = item.call_id.clone().or_else(|| item.id.as_deref().map(str::to_owned));
                self.draft.identify(at, id.unwrap_or_default());
                if let Some(name) = item.name.clone().filter(|name| !name.is_empty()) {
                    self.draft.name(at, name, on_delta)?;
                }
                Kind::Call(at)
            }
            _ => Kind::Other,
        };
        self.push(index, item.id.as_deref(), kind)
    }

    fn say(&mut self, piece: &Piece<'_>, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        let at = match self.find_of(piece) {
            Some(at) => at,
            // Some servers leave out that a message begins.
            None => self.push(piece.output_index, piece.item_id.as_deref(), Kind::Message(String::new()))?,
        };
        match (&mut self.parts[at].kind, piece.delta.clone().filter(|delta| !delta.is_empty())) {
            (Kind::Message(said), Some(delta)) => {
                said.push_str(&delta);
                self.draft.text(delta, on_delta)
            }
            (Kind::Message(_) | Kind::Other, _) => Ok(()),
            _ => Err(self.draft.broken("a piece does not fit the item it came for")),
        }
    }

    fn think(&mut self, piece: &Piece<'_>, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        let at = match self.find_of(piece) {
            Some(at) => at,
            None => {
                self.push(piece.output_index, piece.item_id.as_deref(), Kind::Reasoning(String::new()))?
            }
        };
        match (&mut self.parts[at].kind, piece.delta.clone().filter(|delta| !delta.is_empty())) {
            (Kind::Reasoning(said), Some(delta)) => {
                said.push_str(&delta);
                self.draft.reasoning(delta, on_delta)
            }
            (Kind::Reasoning(_) | Kind::Other, _) => Ok(()),
            _ => Err(self.draft.broken("a piece does not fit the item it came for")),
        }
    }

    /// The call a piece of arguments belongs to.
    fn call(&self, piece: &Piece<'_>) -> Result<usize, CallFailure> {
        match self.find_of(piece).map(|at| &self.parts[at]) {
            Some(Part { kind: Kind::Call(_), done: true, .. }) => {
                Err(self.draft.broken("a tool call of its reply went on after its end"))
            }
            Some(Part { kind: Kind::Call(at), .. }) => Ok(*at),
            Some(_) => Err(self.draft.broken("a piece does not fit the item it came for")),
            None => Err(self.draft.broken("arguments came before any tool call began")),
        }
    }

    /// Adds what has not streamed of the arguments of a call.
    fn settle_call(&mut self, at: usize, all: Option<&str>) -> Result<(), CallFailure> {
        let Some(all) = all.filter(|all| !all.is_empty()) else { return Ok(()) };
        let rest = all.strip_prefix(self.draft.reply.calls[at].arguments.as_str()).map(str::to_owned);
        match rest {
            Some(rest) => self.draft.arguments(at, &rest),
            None => Err(self.draft.broken("the arguments of a tool call are not what had streamed")),
        }
    }

    fn finish_item(&mut self, piece: &Piece<'_>, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        match piece.item {
            Some(raw) => self.settle(piece.output_index, raw, on_delta),
            None => Ok(()),
        }
    }

    /// Takes an item as it is in the end: what streamed of it has to be its beginning.
    fn settle(
        &mut self,
        index: Option<u64>,
        raw: &RawValue,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        let item: Item<'_> = self.draft.read(raw.get())?;
        let at = match self.find(index, item.id.as_deref()) {
            Some(at) => at,
            None => self.open(index, &item, on_delta)?,
        };
        if std::mem::replace(&mut self.parts[at].done, true) {
            return Ok(());
        }
        self.draft.keep(raw.get().len())?;
        self.parts[at].kept = to_send_back(&item, raw);
        let rest = |said: &str, all: &str| all.strip_prefix(said).map(str::to_owned);
        match &self.parts[at].kind {
            Kind::Call(call) => {
                let call = *call;
                self.settle_call(call, item.arguments.as_deref())
            }
            Kind::Message(said) => {
                let all = item.content.unwrap_or_default();
                self.refused |= all.iter().any(|part| part.refusal.is_some());
                let all = text_of(all);
                match rest(said, &all) {
                    Some(rest) if rest.is_empty() => Ok(()),
                    Some(rest) => self.draft.text(rest, on_delta),
                    // Servers that repeat nothing at the end.
                    None if all.is_empty() => Ok(()),
                    None => Err(self.draft.broken("a text is not what had streamed")),
                }
            }
            // What was thought and not streamed is shown whole; how it streamed does not matter.
            Kind::Reasoning(said) if said.is_empty() => {
                let parts = item.summary.into_iter().chain(item.content).flatten();
                let texts: Vec<String> = parts.filter_map(|part| part.text).collect();
                match texts.join("\n\n") {
                    all if all.is_empty() => Ok(()),
                    all => self.draft.reasoning(all, on_delta),
                }
            }
            Kind::Reasoning(_) | Kind::Other => Ok(()),
        }
    }

    /// Takes the response as it is in the end.
    fn finish(&mut self, response: &str, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure> {
        let response: Response<'_> = self.draft.read(response)?;
        if let Some(error) = response.error.filter(|error| !error.is_null()) {
            return Err(self.draft.refused(&error));
        }
        for (index, raw) in (0..).zip(response.output.unwrap_or_default()) {
            self.settle(Some(index), raw, on_delta)?;
        }
        if let Some(usage) = response.usage {
            self.draft.reply.usage = Some(usage.counted());
        }
        let reason = response.incomplete_details.and_then(|details| details.reason).map(Cow::into_owned);
        self.end = match response.status.as_deref() {
            Some("incomplete") => Some(End::Incomplete(reason)),
            Some("failed" | "cancelled") => return Err(self.draft.broken("it gave up its reply")),
            // A whole answer that is no response at all.
            None if self.parts.is_empty() => return Err(self.draft.broken("its answer is no response")),
            Some("in_progress" | "queued") => return Err(self.draft.cut_short()),
            _ => Some(End::Completed),
        };
        Ok(())
    }
}

fn text_of(content: Vec<Content>) -> String {
    content.into_iter().filter_map(|part| part.text.or(part.refusal)).collect()
}

/// An item as it goes back: verbatim but for its id and status. Nothing is stored there, so that an
/// id would be looked for and not found, and a status is not taken.
fn to_send_back(item: &Item<'_>, raw: &RawValue) -> Option<String> {
    let usable = match &*item.kind {
        "reasoning" => item.encrypted_content.is_some(),
        "message" | "function_call" => true,
        _ => false,
    };
    let mut fields: BTreeMap<String, &RawValue> = serde_json::from_str(raw.get()).ok().filter(|_| usable)?;
    fields.remove("id");
    fields.remove("status");
    serde_json::to_string(&fields).ok()
}

/// What has to come back verbatim: everything, where reasoning is among it; else nothing.
fn kept(mut parts: Vec<Part>) -> Option<Vec<String>> {
    parts.sort_by_key(|part| part.index);
    let thought = parts.iter().any(|part| matches!(part.kind, Kind::Reasoning(_)) && part.kept.is_some());
    let all: Vec<String> = parts.into_iter().filter_map(|part| part.kept).collect();
    thought.then_some(all)
}

#[cfg(test)]
mod tests;
