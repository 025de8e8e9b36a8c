//! Caches the parts of a request that were sent before, to send the same bytes again.
//!
//! A provider can reuse its prompt cache only if a request begins with the same bytes as the one before.
//!
//! Never looks at what the bytes mean: each wire writes its own.

mod conversations;

use std::sync::{Arc, Mutex, PoisonError};

use adjutant_core::prompt::{ModelMessage, ModelRequest, ToolSpec};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use conversations::Conversations;
pub(super) use conversations::{CacheMarks, List, Source};

/// The number of cached tool lists: enough for each mode of a few sessions.
const MAX_TOOL_LISTS: usize = 16;

/// How one wire writes tools and messages.
pub(super) trait WireFormat {
    /// Returns one tool in the form of the wire. `free_form`: the model takes tools whose input is plain text.
    fn tool(tool: &ToolSpec, free_form: bool) -> impl Serialize;

    /// Writes what comes before the first message in the list, such as the system prompt.
    fn begin(list: &mut List, system: &str) -> serde_json::Result<()>;

    /// Returns the message of a reminder.
    fn reminder(text: &str) -> impl Serialize;

    /// Appends messages to the list.
    fn add(list: &mut List, new: &[ModelMessage], source: &Source<'_>) -> serde_json::Result<()>;
}

/// The cached tools and histories of one wire.
#[derive(Default)]
pub(super) struct RequestCache {
    tools: FrozenTools,
    pub(super) conversations: Conversations,
}

impl RequestCache {
    /// Returns the tools as a JSON list: the same bytes for the same list. `None` if there are no tools.
    pub fn tools<L: WireFormat>(
        &self,
        tools: &Arc<[ToolSpec]>,
        free_form: bool,
    ) -> serde_json::Result<Option<Arc<RawValue>>> {
        self.tools.json_of::<L>(tools, free_form)
    }

    /// Returns the body of a request, still open: the fields of `head`, then the list `field` with the history and the reminder.
    /// The reminder is never cached, because the next request has another one.
    ///
    /// `head` must have at least one field. The caller may append to the list, and must close it with `]}`.
    pub fn body<L: WireFormat>(
        &self,
        head: &impl Serialize,
        field: &str,
        request: &ModelRequest,
        source: &Source<'_>,
        cache_marks: CacheMarks<'_>,
    ) -> serde_json::Result<Vec<u8>> {
        let mut body = serde_json::to_vec(head)?;
        // Replace the brace that closes the head with the last field.
        body.pop();
        body.extend_from_slice(format!(",\"{field}\":[").as_bytes());
        self.conversations.append::<L>(request, source, cache_marks, &mut body)?;
        if let Some(reminder) = &request.reminder {
            if body.last() != Some(&b'[') {
                body.push(b',');
            }
            serde_json::to_writer(&mut body, &L::reminder(reminder))?;
        }
        Ok(body)
    }
}

/// Tool lists as JSON, found by the address of the list and by its form.
#[derive(Default)]
struct FrozenTools {
    /// Each entry holds its list, so that no other list can get its address.
    cached: Mutex<Vec<ToolList>>,
}

type ToolList = (Arc<[ToolSpec]>, bool, Arc<RawValue>);

impl FrozenTools {
    fn json_of<L: WireFormat>(
        &self,
        tools: &Arc<[ToolSpec]>,
        free_form: bool,
    ) -> serde_json::Result<Option<Arc<RawValue>>> {
        if tools.is_empty() {
            return Ok(None);
        }
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |(known, form, _): &&ToolList| Arc::ptr_eq(known, tools) && *form == free_form;
        if let Some((_, _, json)) = cached.iter().find(is_same) {
            return Ok(Some(Arc::clone(json)));
        }
        let lines = tools.iter().map(|tool| L::tool(tool, free_form));
        let json = Arc::<RawValue>::from(to_raw_value(&lines.collect::<Vec<_>>())?);
        if cached.len() == MAX_TOOL_LISTS {
            cached.remove(0);
        }
        cached.push((Arc::clone(tools), free_form, Arc::clone(&json)));
        Ok(Some(json))
    }
}

#[cfg(test)]
mod tests;
