//! The conversation as JSON, each message written once: a turn adds what is new.
//!
//! Never believes that a conversation only grows: what is kept counts for the
//! very messages it was written from, and for no others.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use adjutant_core::config::Wire;
use adjutant_core::prompt::{Base64Image, ModelMessage, ModelRequest, OpaqueItems, Reply};
use serde::Serialize;

use super::WireFormat;

/// Conversations that are kept: those of the sessions that work at the moment.
const KEPT: usize = 4;
/// A conversation of more bytes is written anew each time.
const MOST_BYTES: usize = 4 << 20;

/// To whom a conversation is told: what a reply kept comes back only to the model it is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source<'a> {
    pub wire: Wire,
    pub provider: &'a str,
    pub model: &'a str,
    /// The longest id of a call that is taken, in bytes.
    pub max_call_id: usize,
    /// What pictures of the conversation show.
    pub images: &'a BTreeMap<String, Base64Image>,
}

impl Source<'_> {
    /// Returns what `reply` kept, if it came from here.
    pub fn opaque_items<'r>(&self, reply: &'r Reply) -> Option<&'r [String]> {
        let OpaqueItems { wire, provider, model, items } = reply.kept.as_ref()?;
        let own = *wire == self.wire && provider == self.provider && model == self.model;
        own.then_some(items.as_slice())
    }
}

/// The elements of a JSON list, without its brackets.
#[derive(Default)]
pub(crate) struct List {
    json: Vec<u8>,
    /// Places in the list that mean something to its wire, in rising order.
    marks: Vec<usize>,
}

impl List {
    pub fn push(&mut self, element: &impl Serialize) -> serde_json::Result<()> {
        self.separate();
        serde_json::to_writer(&mut self.json, element)
    }

    pub fn is_empty(&self) -> bool {
        self.json.is_empty()
    }

    /// Adds an element that is JSON already.
    pub fn push_raw(&mut self, element: &str) {
        self.separate();
        self.json.extend_from_slice(element.as_bytes());
    }

    /// Marks the place so many bytes before the end.
    pub fn mark_before_end(&mut self, bytes: usize) {
        self.marks.push(self.json.len().saturating_sub(bytes));
    }

    /// Puts `body` before the list, and all of it in the place of `body`: a list that is large and not
    /// kept is not copied.
    fn become_part_of(self, body: &mut Vec<u8>, (marked, mark): (usize, &str)) {
        let List { mut json, marks } = self;
        for at in marks.iter().rev().take(marked) {
            json.splice(*at..*at, mark.bytes());
        }
        json.splice(..0, body.drain(..));
        *body = json;
    }

    fn separate(&mut self) {
        if !self.json.is_empty() {
            self.json.push(b',');
        }
    }
}

/// The latest conversations, as they were last written.
#[derive(Default)]
pub(crate) struct Conversations {
    /// The one used last stands last.
    kept: Mutex<VecDeque<FrozenPrefix>>,
}

/// The start of a conversation. Holding the messages themselves keeps their
/// addresses from being given to others.
struct FrozenPrefix {
    provider: String,
    model: String,
    max_call_id: usize,
    system: Arc<str>,
    messages: Vec<ModelMessage>,
    list: List,
}

impl Conversations {
    /// Appends the messages of `request` to `body`, as the elements of a list. At each of the last
    /// `marked` marks it writes `mark`.
    pub fn append<L: WireFormat>(
        &self,
        request: &ModelRequest,
        source: &Source<'_>,
        (marked, mark): (usize, &str),
        body: &mut Vec<u8>,
    ) -> serde_json::Result<()> {
        let mut written = match self.take(request, source) {
            Some(written) => written,
            None => FrozenPrefix::begin::<L>(request, source)?,
        };
        let new = request.messages.get(written.messages.len()..).unwrap_or_default();
        L::add(&mut written.list, new, source)?;
        written.messages.extend_from_slice(new);
        if written.list.json.len() > MOST_BYTES {
            written.list.become_part_of(body, (marked, mark));
            return Ok(());
        }
        let List { json, marks } = &written.list;
        // Room for what closes the list, so that nothing is moved for a few bytes.
        body.reserve_exact(json.len() + marked * mark.len() + 8);
        let mut from = 0;
        for at in &marks[marks.len().saturating_sub(marked)..] {
            body.extend_from_slice(&json[from..*at]);
            body.extend_from_slice(mark.as_bytes());
            from = *at;
        }
        body.extend_from_slice(&json[from..]);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(written);
        Ok(())
    }

    #[cfg(test)]
    pub fn kept_count(&self) -> usize {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Takes out the longest start of this conversation.
    fn take(&self, request: &ModelRequest, source: &Source<'_>) -> Option<FrozenPrefix> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let starts = kept.iter().enumerate().filter(|(_, written)| written.starts(request, source));
        let (at, _) = starts.max_by_key(|(_, written)| written.messages.len())?;
        kept.remove(at)
    }
}

impl FrozenPrefix {
    fn begin<L: WireFormat>(request: &ModelRequest, source: &Source<'_>) -> serde_json::Result<FrozenPrefix> {
        let mut list = List::default();
        L::begin(&mut list, &request.system)?;
        Ok(FrozenPrefix {
            provider: source.provider.to_owned(),
            model: source.model.to_owned(),
            max_call_id: source.max_call_id,
            system: request.system.clone(),
            messages: Vec::new(),
            list,
        })
    }

    fn starts(&self, request: &ModelRequest, source: &Source<'_>) -> bool {
        self.messages.len() <= request.messages.len()
            && (self.provider.as_str(), self.model.as_str()) == (source.provider, source.model)
            && self.max_call_id == source.max_call_id
            && self.system == request.system
            && self.messages.iter().zip(&request.messages).all(|(one, other)| same(one, other))
    }
}

/// Whether two messages are one, not only alike: to compare the texts would
/// cost as much as to write them.
fn same(one: &ModelMessage, other: &ModelMessage) -> bool {
    match (one, other) {
        (
            ModelMessage::User { text: one, pictures: shown },
            ModelMessage::User { text: other, pictures: also },
        ) => Arc::ptr_eq(one, other) && shown == also,
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
