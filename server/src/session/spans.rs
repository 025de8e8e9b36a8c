//! Spans of the debug log: how long each step of each run, turn and call took.
//!
//! Costs nothing if no debug log is written, and never contains text of the user or the model.

use std::time::Instant;

use adjutant_core::machine::step::Step;
use adjutant_core::session::Session;
use adjutant_protocol::{RunId, ToolCallId};
use tracing::field::{Empty, display};
use tracing::{Span, debug_span};

/// The span of the whole task of a session.
pub fn of_session(session: &impl std::fmt::Display) -> Span {
    debug_span!("session", session = %session)
}

/// The span of one step, with the ids of its run, turn and call.
pub fn of(step: &Step, session: &Session) -> Span {
    let span = debug_span!(
        "step",
        step = name_of(step),
        run = Empty,
        turn = Empty,
        attempt = Empty,
        call = Empty,
        tool = Empty
    );
    if span.is_disabled() {
        return span;
    }
    let run = session.open_run();
    let mut turn = run.and_then(|run| run.turn.as_ref()).map(|turn| turn.number);
    let mut run: Option<&RunId> = run.map(|run| &run.id);
    let mut about: Option<&ToolCallId> = None;
    match step {
        Step::CallModel { turn: number, attempt } | Step::Compact { turn: number, attempt } => {
            turn = Some(*number);
            span.record("attempt", attempt);
        }
        Step::LookOutside { turn: number } => turn = Some(*number),
        Step::Prepare { calls, .. } => about = calls.first(),
        Step::RunTool { call } => about = Some(call),
        Step::Reobserve { changes, .. } => {
            let first = changes.first().and_then(|id| session.changes.get(id));
            about = first.and_then(|state| state.calls().next());
        }
        Step::Apply { batch, .. } => {
            let mut of_batch = session.changes.values().filter(|state| state.batches.contains_key(batch));
            about = of_batch.find_map(|state| state.calls().next());
        }
        Step::DeliverAsk { ask } => {
            let ask = session.asks.get(ask).map(|open| &open.ask);
            about = ask.and_then(|ask| ask.calls.first());
            run = ask.map(|ask| &ask.run);
        }
        // The run of the change set may be over.
        Step::Settle { change_set } => {
            about = session.changes.get(change_set).and_then(|state| state.calls().next());
            (run, turn) = (None, None);
        }
        Step::ReadContext { .. } | Step::Review { .. } | Step::Wake(_) => {}
    }
    if let Some(run) = run {
        span.record("run", display(run));
    }
    if let Some(turn) = turn {
        span.record("turn", turn);
    }
    if let Some(id) = about {
        span.record("call", display(id));
        if let Some(call) = session.call(id) {
            span.record("tool", call.tool.as_str());
        }
    }
    span
}

/// The span of a write to the log, with the run and the turn of its events.
pub fn of_write(session: &Session) -> Span {
    let span = debug_span!("write", run = Empty, turn = Empty);
    if let Some(run) = session.open_run().filter(|_| !span.is_disabled()) {
        span.record("run", display(&run.id));
        if let Some(turn) = &run.turn {
            span.record("turn", turn.number);
        }
    }
    span
}

fn name_of(step: &Step) -> &'static str {
    match step {
        Step::CallModel { .. } => "call_model",
        Step::Compact { .. } => "compact",
        Step::ReadContext { .. } => "read_context",
        Step::Prepare { .. } => "prepare",
        Step::RunTool { .. } => "run_tool",
        Step::Reobserve { .. } => "reobserve",
        Step::Apply { .. } => "apply",
        Step::DeliverAsk { .. } => "deliver_ask",
        Step::LookOutside { .. } => "look_outside",
        Step::Settle { .. } => "settle",
        Step::Review { .. } => "review",
        Step::Wake(_) => "wake",
    }
}

/// Logs how long a step took when this timer is dropped.
pub struct StepTimer {
    began: Instant,
    /// How the step ended.
    pub end: &'static str,
}

impl StepTimer {
    /// Starts the timer. Unless `end` is set, the step counts as cancelled.
    pub fn begin() -> Self {
        Self { began: Instant::now(), end: "cancelled" }
    }
}

impl Drop for StepTimer {
    fn drop(&mut self) {
        tracing::debug!(elapsed_ms = elapsed_ms(self.began), end = self.end, "step over");
    }
}

/// Milliseconds since `began`, with fractions.
pub fn elapsed_ms(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1_000.0
}
