//! How an attempt that failed changes a session.
//!
//! Never decides whether there is another; `machine::retry` does.

use std::sync::Arc;

use super::Session;
use crate::machine::retry::FailureClass;
use crate::prompt::image::withheld;
use crate::prompt::message::{CutReply, ModelMessage, Reply, Usage};
use crate::record::{Event, Record};
use crate::session::TurnPhase;
use crate::session::spending::Spent;

impl Session {
    pub(super) fn fold_failed_attempt(&mut self, record: &Record) {
        let Event::AttemptFailed { attempt, retry_at, failure, cut, .. } = &record.event else { return };
        let Some(turn) = self.run.as_mut().and_then(|run| run.turn.as_mut()) else { return };
        turn.attempt = *attempt;
        turn.phase = TurnPhase::Backoff { since: record.at, retry_at: *retry_at };
        turn.streaming = false;
        turn.tries.fail(failure.class);
        match failure.class {
            FailureClass::History => {
                repair(&mut self.history);
                self.compacted.number += 1;
            }
            FailureClass::Images => {
                withheld::refuse(&mut self.history);
                self.compacted.number += 1;
            }
            _ => {}
        }
        if let Some(cut) = cut {
            self.note_cut(cut);
        }
    }

    /// Keeps a reply that was cut out of the conversation, and counts its tokens.
    fn note_cut(&mut self, cut: &CutReply) {
        let Some(run) = &mut self.run else { return };
        let estimated = || self.tokens.estimated(&self.history, Some(&cut.reply));
        let spent = Spent::of_reply(&run.policy.budget, run.current_model(), cut.reply.usage, estimated);
        if let Some(usage) = cut.reply.usage.filter(Usage::is_counted) {
            self.tokens.counted(usage, &self.history);
        }
        if let Some(turn) = &mut run.turn {
            turn.cut = Some(cut.clone());
        }
        self.spend(&spent);
    }
}

/// Removes the opaque provider items from a history whose provider refuses them. All texts, calls and outputs
/// stay; `prompt` pairs calls and outputs in every request anyway.
fn repair(history: &mut [ModelMessage]) {
    for message in history {
        if let ModelMessage::Assistant { reply } = message
            && reply.kept.is_some()
        {
            *reply = Arc::new(Reply { kept: None, ..Reply::clone(reply) });
        }
    }
}
