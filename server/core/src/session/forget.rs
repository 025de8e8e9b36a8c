//! Frees memory of a session that is only folded to replay its past updates.
//!
//! Never used for a live session, because its model needs what is removed here.

use std::sync::Arc;

use super::{ChangeState, Reads, Session};
use crate::prompt::message::ModelMessage;
use crate::record::{ChangeSetId, Event, ToolCallId};

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
                // Only the steps of a live session read them.
                self.reads = Reads::default();
                let of_call = self.changes.values().filter(|state| state.is_of(call));
                let of_call: Vec<ChangeSetId> =
                    of_call.map(|state| state.change.change_set.clone()).collect();
                of_call.iter().for_each(|id| self.forget_text(id));
            }
            Event::Settled { change_set, .. } => self.forget_text(change_set),
            Event::Applied { .. } => self.applied.forget_lines(),
            _ => {}
        }
    }

    /// Removes the hunks of a change all of whose calls are over, but keeps its id. An unsettled change keeps them,
    /// because its update is published once more.
    fn forget_text(&mut self, id: &ChangeSetId) {
        let is_open = |id: &ToolCallId| self.call(id).is_some_and(|call| !call.is_finished());
        let is_needed = |state: &ChangeState| state.unsettled || state.calls().any(is_open);
        if self.changes.get(id).is_none_or(is_needed) {
            return;
        }
        if let Some(state) = self.changes.get_mut(id) {
            state.change.hunks = Arc::default();
        }
    }
}
