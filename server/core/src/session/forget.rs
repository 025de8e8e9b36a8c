//! Frees memory of a session that is only folded to replay its past updates.
//!
//! Never used for a live session, because its model needs what is removed here.

use std::sync::Arc;

use super::Session;
use crate::prompt::message::ModelMessage;
use crate::record::{ChangeSetId, Event};

impl Session {
    /// Removes the history for the model, and the text of changes whose call is over. A replay calls it after each
    /// event, so that memory does not grow with the log. The updates of later events stay the same.
    pub fn forget_published(&mut self, event: &Event) {
        match event {
            // Calls need the last reply, and no older one.
            Event::Replied { .. } => {
                let is_reply = |message: &ModelMessage| matches!(message, ModelMessage::Assistant { .. });
                let last = self.history.iter().rposition(is_reply);
                self.history.drain(..last.unwrap_or(self.history.len()));
            }
            Event::ToolFinished { call, .. } => {
                let change_set = self.call(call).and_then(|call| call.change_set.clone());
                change_set.into_iter().for_each(|id| self.forget_text(&id));
            }
            Event::Settled { change_set, .. } => self.forget_text(change_set),
            _ => {}
        }
    }

    /// Removes the hunks of a change but keeps its id. An unsettled change keeps them, because its update is
    /// published once more.
    fn forget_text(&mut self, id: &ChangeSetId) {
        let Some(state) = self.changes.get_mut(id).filter(|state| !state.unsettled) else { return };
        state.change.hunks = Arc::default();
    }
}
