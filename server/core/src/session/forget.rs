//! What a reader of the past does not have to keep.
//!
//! Never used for a session that works on: its model needs what is forgotten here.

use std::sync::Arc;

use super::Session;
use crate::prompt::message::ModelMessage;
use crate::record::{ChangeSetId, Event};

impl Session {
    /// Forgets what only a model sees, and the text of changes whose call is over. Whoever tells the
    /// past again calls it after each fact, so that memory does not grow with the log. What is told
    /// of later facts stays the same.
    pub fn forget_published(&mut self, event: &Event) {
        match event {
            // Calls are read out of the last reply, and out of no older one.
            Event::Replied { .. } => {
                let is_reply = |message: &ModelMessage| matches!(message, ModelMessage::Assistant { .. });
                let last = self.transcript.iter().rposition(is_reply);
                self.transcript.drain(..last.unwrap_or(self.transcript.len()));
            }
            Event::ToolFinished { call, .. } => {
                let change_set = self.call(call).and_then(|call| call.change_set.clone());
                change_set.into_iter().for_each(|id| self.forget_text(&id));
            }
            Event::Settled { change_set, .. } => self.forget_text(change_set),
            _ => {}
        }
    }

    /// A change stays known by its id. One that is not settled is told once more, with its lines.
    fn forget_text(&mut self, id: &ChangeSetId) {
        let Some(state) = self.changes.get_mut(id).filter(|state| !state.unsettled) else { return };
        state.change.hunks = Arc::default();
    }
}
