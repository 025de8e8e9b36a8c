//! A conversation in which every call has its output, whatever was lost of the log.
//!
//! A sound session is taken as it is. Never invents what a tool said: what is missing is
//! called missing.

use std::sync::Arc;

use crate::prompt::message::ModelMessage;

/// What stands for the output of a call whose end the log does not hold.
const LOST: &str = "Interrupted: what became of this call is not in the log, so its outcome is unknown. \
                    Check what happened before you do it again.";

/// Returns the messages with one output for each call, right behind it, and none without a call.
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

fn close(open: &mut Vec<Arc<str>>, whole: &mut Vec<ModelMessage>) {
    whole.extend(open.drain(..).map(|call_id| ModelMessage::Tool { call_id, output: LOST.into() }));
}

#[cfg(test)]
mod tests;
