//! Caches the JSON of histories, so that each message is written once and a turn adds only its new messages.
//!
//! Never assumes that a history only grows: cached JSON is used only if the history begins with the very messages
//! that it was written from.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use adjutant_core::config::Wire;
use adjutant_core::prompt::{Base64Image, ModelMessage, ModelRequest, OpaqueItems, Reply};
use serde::Serialize;

use super::WireFormat;

/// The number of cached histories: enough for the sessions that work at the same time.
const MAX_CACHED: usize = 4;
/// The maximum size of a cached history in bytes. A longer one is written again for each request.
const MAX_BYTES: usize = 4 << 20;

/// The model that a request goes to. It gets only its own opaque items back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source<'a> {
    pub wire: Wire,
    pub provider: &'a str,
    pub model: &'a str,
    /// The maximum length of a call id that the provider accepts, in bytes.
    pub max_call_id: usize,
    /// Whether the model takes calls whose input is plain text.
    pub free_form: bool,
    /// The images of the history, by hash.
    pub images: &'a BTreeMap<String, Base64Image>,
}

impl Source<'_> {
    /// Returns the opaque items of `reply`, if this model wrote it.
    pub fn opaque_items<'r>(&self, reply: &'r Reply) -> Option<&'r [String]> {
        let OpaqueItems { wire, provider, model, items } = reply.kept.as_ref()?;
        let own = *wire == self.wire && provider == self.provider && model == self.model;
        own.then_some(items.as_slice())
    }
}

/// The marks in a request body that tell a provider how far to cache it.
#[derive(Clone, Copy)]
pub(crate) struct CacheMarks<'a> {
    /// How many of the last possible positions get a mark.
    pub count: usize,
    pub text: &'a str,
}

impl CacheMarks<'_> {
    /// For a wire whose providers cache without marks.
    pub const NONE: CacheMarks<'static> = CacheMarks { count: 0, text: "" };
}

/// The elements of a JSON list, without its brackets.
#[derive(Default)]
pub(crate) struct List {
    json: Vec<u8>,
    /// Where a cache mark may go: byte positions in `json`, in rising order.
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

    /// Allows a cache mark at so many bytes before the end.
    pub fn mark_before_end(&mut self, bytes: usize) {
        self.marks.push(self.json.len().saturating_sub(bytes));
    }

    /// Appends the list to `body`, with its cache marks.
    ///
    /// Inserts `body` into the list instead, so that a large list is not copied.
    fn append_to(self, body: &mut Vec<u8>, cache_marks: CacheMarks<'_>) {
        let List { mut json, marks } = self;
        for at in marks.iter().rev().take(cache_marks.count) {
            json.splice(*at..*at, cache_marks.text.bytes());
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

/// The JSON of the histories that were sent last.
#[derive(Default)]
pub(crate) struct Conversations {
    /// In order of use, the latest last.
    cached: Mutex<VecDeque<FrozenPrefix>>,
}

/// The JSON of the first messages of a history.
///
/// It holds the messages, because they are compared by address: no new message can get the address of an old one.
struct FrozenPrefix {
    provider: String,
    model: String,
    max_call_id: usize,
    free_form: bool,
    system: Arc<str>,
    messages: Vec<ModelMessage>,
    list: List,
}

impl Conversations {
    /// Appends the messages of `request` to `body`, as the elements of a JSON list, with `cache_marks`.
    pub fn append<L: WireFormat>(
        &self,
        request: &ModelRequest,
        source: &Source<'_>,
        cache_marks: CacheMarks<'_>,
        body: &mut Vec<u8>,
    ) -> serde_json::Result<()> {
        let mut prefix = match self.remove_longest(request, source) {
            Some(prefix) => prefix,
            None => FrozenPrefix::begin::<L>(request, source)?,
        };
        let new = request.messages.get(prefix.messages.len()..).unwrap_or_default();
        L::add(&mut prefix.list, new, source)?;
        prefix.messages.extend_from_slice(new);
        if prefix.list.json.len() > MAX_BYTES {
            prefix.list.append_to(body, cache_marks);
            return Ok(());
        }
        let List { json, marks } = &prefix.list;
        // Includes room for the end of the body, so that the caller does not reallocate it.
        body.reserve_exact(json.len() + cache_marks.count * cache_marks.text.len() + 8);
        let mut from = 0;
        for at in &marks[marks.len().saturating_sub(cache_marks.count)..] {
            body.extend_from_slice(&json[from..*at]);
            body.extend_from_slice(cache_marks.text.as_bytes());
            from = *at;
        }
        body.extend_from_slice(&json[from..]);
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if cached.len() == MAX_CACHED {
            cached.pop_front();
        }
        cached.push_back(prefix);
        Ok(())
    }

    #[cfg(test)]
    pub fn cached_count(&self) -> usize {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Removes and returns the longest cached prefix of this history.
    fn remove_longest(&self, request: &ModelRequest, source: &Source<'_>) -> Option<FrozenPrefix> {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let prefixes = cached.iter().enumerate().filter(|(_, prefix)| prefix.is_prefix_of(request, source));
        let (at, _) = prefixes.max_by_key(|(_, prefix)| prefix.messages.len())?;
        cached.remove(at)
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
            free_form: source.free_form,
            system: request.system.clone(),
            messages: Vec::new(),
            list,
        })
    }

    fn is_prefix_of(&self, request: &ModelRequest, source: &Source<'_>) -> bool {
        self.messages.len() <= request.messages.len()
            && (self.provider.as_str(), self.model.as_str()) == (source.provider, source.model)
            && (self.max_call_id, self.free_form) == (source.max_call_id, source.free_form)
            && self.system == request.system
            && self.messages.iter().zip(&request.messages).all(|(one, other)| is_same(one, other))
    }
}

/// Whether two messages are the same object in memory. Comparing the texts would cost as much as writing them.
fn is_same(one: &ModelMessage, other: &ModelMessage) -> bool {
    match (one, other) {
        (
            ModelMessage::User { text: one, pictures: one_pictures, .. },
            ModelMessage::User { text: other, pictures: other_pictures, .. },
        ) => Arc::ptr_eq(one, other) && one_pictures == other_pictures,
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
