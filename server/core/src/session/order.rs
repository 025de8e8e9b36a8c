//! Finds events that are out of order. `accept` never makes one, so records before it were lost, or another
//! program wrote it.
//!
//! Never rejects such an event: `apply` folds it anyway, as far as it makes sense.

use super::{CallPhase, HunkState, Session, TurnPhase};
use crate::record::{CallEnd, Event, RunId, ToolCallId};
use crate::tool::Effect;

impl Session {
    /// Whether this event cannot be the next event of the session.
    pub fn is_out_of_place(&self, event: &Event) -> bool {
        match event {
            Event::SessionCreated { .. } => self.created,
            Event::Forked { .. } => !self.inherits,
            Event::RunStarted { .. } => self.run.is_some(),
            Event::TurnStarted { run, .. }
            | Event::Completed { run, .. }
            | Event::RunEnded { run, .. }
            | Event::RulesChanged { run, .. } => !self.is_open_run(run),
            Event::AskReobserved { ask, .. } | Event::AskClosed { ask, .. } => !self.asks.contains_key(ask),
            Event::ReplyStarted { turn, .. } => !self.is_calling(*turn),
            Event::Replied { turn, .. } => !self.is_calling(*turn) && !self.has_cut_reply(*turn),
            Event::CallPrepared { call, .. }
            | Event::ChangeProposed { call, .. }
            | Event::OperationProposed { call, .. }
            | Event::ApplyStarted { call, .. }
            | Event::ToolStarted { call, .. } => !self.is_open_call(call),
            Event::ToolFinished { call, result } => {
                !self.is_open_call(call) || self.has_no_intent(call, result.end)
            }
            Event::HunkDecided { change_set, .. }
            | Event::Applied { change_set, .. }
            | Event::Settled { change_set, .. } => !self.changes.contains_key(change_set),
            Event::ReviewStarted { change_set, .. }
            | Event::Reviewed { change_set, .. }
            | Event::ReviewFailed { change_set, .. }
            | Event::Commented { change_set, .. } => self.applied.get(change_set).is_none(),
            _ => false,
        }
    }

    fn is_open_run(&self, run: &RunId) -> bool {
        self.open_run().is_some_and(|open| open.id == *run)
    }

    fn is_calling(&self, number: u32) -> bool {
        let turn = self.open_run().and_then(|run| run.turn.as_ref());
        turn.is_some_and(|turn| turn.number == number && turn.phase == TurnPhase::Calling)
    }

    /// Whether a reply that was cut may still count: the request with more room has failed.
    fn has_cut_reply(&self, number: u32) -> bool {
        let turn = self.open_run().and_then(|run| run.turn.as_ref());
        turn.is_some_and(|turn| {
            turn.number == number && turn.cut.is_some() && matches!(turn.phase, TurnPhase::Backoff { .. })
        })
    }

    fn is_open_call(&self, call: &ToolCallId) -> bool {
        self.call(call).is_some_and(|call| !call.is_finished())
    }

    /// Whether a call with an effect completed although its start was never recorded.
    fn has_no_intent(&self, call: &ToolCallId, end: CallEnd) -> bool {
        self.call(call).is_some_and(|call| {
            let acts = matches!(call.effect, Effect::OwnEdit | Effect::Opaque);
            let is_made = || {
                let mut of_call = self.changes.values().filter(|state| state.is_of(&call.id));
                of_call.any(|state| state.has(HunkState::Applied))
            };
            let is_started = matches!(call.phase, CallPhase::Started { .. });
            acts && end == CallEnd::Completed && !is_started && !is_made()
        })
    }
}
