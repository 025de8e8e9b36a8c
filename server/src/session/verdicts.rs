//! Why a call was run, asked about or denied, for the debug log (S17).
//!
//! Never decides it: the verdict was core's, and is in the facts.

use adjutant_core::event::{CallEnd, Event};
use adjutant_core::permission::{Wanted, why_safe};
use adjutant_core::session::Session;
use adjutant_protocol::ToolCallId;

/// What one fact of a batch says of a verdict; `session` has taken it in already.
pub fn why(session: &Session, batch: &[Event], event: &Event) -> Option<String> {
    match event {
        Event::AskOpened { ask } => ask.description.as_ref().map(|why| format!("ask: {why}")),
        Event::ToolFinished { result, .. } if result.end == CallEnd::Denied => {
            Some(format!("deny: {}", result.output))
        }
        Event::ToolStarted { call } | Event::ApplyStarted { call, .. } => {
            let answered = batch.iter().any(|event| matches!(event, Event::AskClosed { .. }));
            let safe = || safe(session, call).map(|why| format!("safe: {why}"));
            if answered { Some("allowed: the user's answer".to_owned()) } else { safe() }
        }
        _ => None,
    }
}

fn safe(session: &Session, id: &ToolCallId) -> Option<&'static str> {
    let (run, call) = (session.open_run()?, session.call(id)?);
    let change = session.change_of(call).map(|state| Wanted::Change(&state.change));
    let wanted = change.or_else(|| call.payload.as_ref().map(Wanted::Payload))?;
    Some(why_safe(session, &run.policy, wanted))
}
