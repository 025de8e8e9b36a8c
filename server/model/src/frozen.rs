//! What was written for a provider before and is sent again, byte for byte.
//!
//! The same bytes every turn are what lets a provider reuse what it has read.
//! Knows nothing of what they say: that is the wire's.

mod conversations;

use std::sync::{Arc, Mutex, PoisonError};

use adjutant_core::prompt::{ModelMessage, ModelRequest, ToolSpec};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use conversations::Conversations;
pub(super) use conversations::{List, Source};

/// How many tool lists are kept: one per mode of a few sessions.
const KEPT_TOOL_LISTS: usize = 16;

/// How one wire writes tools and messages.
pub(super) trait WireFormat {
    /// One tool as the wire tells it.
    fn tool(tool: &ToolSpec) -> impl Serialize;

    /// Writes what stands in the list before the first message.
    fn begin(list: &mut List, system: &str) -> serde_json::Result<()>;

    /// Writes messages behind those that are written.
    fn add(list: &mut List, new: &[ModelMessage], source: &Source<'_>) -> serde_json::Result<()>;
}

/// What was written for one wire.
#[derive(Default)]
pub(super) struct FrozenRequest {
    tools: FrozenTools,
    pub(super) conversations: Conversations,
}

impl FrozenRequest {
    /// Returns the tools as a JSON list, the same bytes for the same list; none for no tools.
    pub fn tools<L: WireFormat>(&self, tools: &Arc<[ToolSpec]>) -> serde_json::Result<Option<Arc<RawValue>>> {
        self.tools.json_of::<L>(tools)
    }

    /// Returns the body of a request: the fields of `head`, which has at least one, and the conversation
    /// as the last one, `field`. The wire may have more to say in the list, and closes it with `]}`.
    pub fn body<L: WireFormat>(
        &self,
        head: &impl Serialize,
        field: &str,
        request: &ModelRequest,
        source: &Source<'_>,
        marks: (usize, &str),
    ) -> serde_json::Result<Vec<u8>> {
        let mut body = serde_json::to_vec(head)?;
        // The brace that closes the head gives way to the last field.
        body.pop();
        body.extend_from_slice(format!(",\"{field}\":[").as_bytes());
        self.conversations.append::<L>(request, source, marks, &mut body)?;
        Ok(body)
    }
}

/// Tool lists as JSON, by the identity of the list they were written from.
#[derive(Default)]
struct FrozenTools {
    /// Holding the list itself keeps its address from being given to another.
    kept: Mutex<Vec<ToolList>>,
}

type ToolList = (Arc<[ToolSpec]>, Arc<RawValue>);

impl FrozenTools {
    fn json_of<L: WireFormat>(&self, tools: &Arc<[ToolSpec]>) -> serde_json::Result<Option<Arc<RawValue>>> {
        if tools.is_empty() {
            return Ok(None);
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, json)) = kept.iter().find(|(known, _)| Arc::ptr_eq(known, tools)) {
            return Ok(Some(Arc::clone(json)));
        }
        let lines = tools.iter().map(L::tool);
        let json = Arc::<RawValue>::from(to_raw_value(&lines.collect::<Vec<_>>())?);
        if kept.len() == KEPT_TOOL_LISTS {
            kept.remove(0);
        }
        kept.push((Arc::clone(tools), Arc::clone(&json)));
        Ok(Some(json))
    }
}

#[cfg(test)]
mod tests;
