//! Why a call was run, asked about or denied, for the debug log (S17).
//!
//! Never decides it: core made the verdict, and the events have it.

use adjutant_core::policy::permission;
use adjutant_core::record::{CallEnd, Event};

/// Returns the verdict of an event with its reason, if the event has one.
pub fn why(event: &Event) -> Option<String> {
    match event {
        Event::AskOpened { ask } => ask.description.as_ref().map(|why| format!("ask: {why}")),
        Event::ToolFinished { result, .. } if result.end == CallEnd::Denied => {
            Some(format!("deny: {}", result.output))
        }
        Event::ToolStarted { allowed_by, .. } | Event::ApplyStarted { allowed_by, .. } => {
            allowed_by.as_ref().map(|by| format!("allowed: {}", permission::in_words(by)))
        }
        _ => None,
    }
}
