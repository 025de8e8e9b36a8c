//! Makes a conversation valid: every call has exactly one output, even if the log lost some.
//!
//! A complete conversation stays unchanged. Never invents an output: a fixed text says that the output is lost.

use std::sync::Arc;

use crate::prompt::message::ModelMessage;

/// The output of a call whose end is not in the log.
const LOST: &str = "Interrupted: what became of this call is not in the log, so its outcome is unknown. \
                    Check what happened before you do it again.";

/// Returns the messages with one output for each call before the next message of the user or the model. Outputs
/// without a call are removed.
pub fn paired(messages: &[ModelMessage]) -> Vec<ModelMessage> {
    let mut whole = Vec::with_capacity(messages.len());
    let mut open: Vec<Arc<str>> = Vec::new();
    for message in messages {
        match message {
            ModelMessage::Tool { call_id, .. } => {
                let Some(at) = open.iter().position(|id| id == call_id) else { continue };
                open.remove(at);
            }
            ModelMessage::Assistant { reply } => {
                close(&mut open, &mut whole);
                open.extend(reply.calls.iter().map(|call| Arc::from(call.id.as_str())));
            }
            ModelMessage::User { .. } => close(&mut open, &mut whole),
        }
        whole.push(message.clone());
    }
    close(&mut open, &mut whole);
    whole
}

/// Adds an output for each open call.
fn close(open: &mut Vec<Arc<str>>, whole: &mut Vec<ModelMessage>) {
    whole.extend(open.drain(..).map(|call_id| ModelMessage::Tool { call_id, output: LOST.into() }));
}

#[cfg(test)]
mod tests;
