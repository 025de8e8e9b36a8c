//! The end of a run: close what is open, end the run, open the idle ask that follows.
//!
//! Every way a run can end goes through `end_run`, so each run has exactly one
//! `RunEnded`, its last event (S30). Never decides whether a run ends.

use super::edited::with_made;
use crate::machine::input::Stamp;
use crate::policy::ask;
use crate::policy::cause::Cause;
use crate::record::{
    Ask, AskGroup, AskId, AskKind, CallEnd, CallResult, Event, Outcome, Resolution, RunId, StopReason,
    ToolCallId,
};
use crate::session::{Call, Session};

/// How a run ends.
pub struct Ending<'a> {
    outcome: Outcome,
    stop: StopReason,
    summary: Option<String>,
    /// The idle ask that follows.
    ask: Option<(AskKind, String)>,
    /// Calls that earlier events of the same batch finish.
    finished: Vec<&'a ToolCallId>,
    /// Asks that earlier events of the same batch close.
    closed: &'a [AskId],
}

impl<'a> Ending<'a> {
    pub fn new(outcome: Outcome, stop: StopReason) -> Self {
        Self { outcome, stop, summary: None, ask: None, finished: Vec::new(), closed: &[] }
    }

    pub fn with_summary(self, summary: Option<String>) -> Self {
        Self { summary, ..self }
    }

    pub fn with_ask(self, kind: AskKind, title: String) -> Self {
        Self { ask: Some((kind, title)), ..self }
    }

    pub fn after_calls(self, finished: impl IntoIterator<Item = &'a ToolCallId>) -> Self {
        Self { finished: finished.into_iter().collect(), ..self }
    }

    pub fn after_asks(self, closed: &'a [AskId]) -> Self {
        Self { closed, ..self }
    }
}

/// Closes what the open run has open, ends it, and opens the idle ask that follows.
pub fn end_run(session: &Session, stamp: &Stamp, ending: Ending<'_>) -> Vec<Event> {
    let Some(run) = session.open_run() else { return Vec::new() };
    let mut events: Vec<Event> = session
        .open_asks()
        .filter(|ask| ask.kind.group() != AskGroup::Idle && !ending.closed.contains(&ask.id))
        .map(|ask| Event::AskClosed { ask: ask.id.clone(), resolution: Resolution::Cancelled })
        .collect();
    let why = match ending.outcome {
        Outcome::Cancelled => "The user cancelled the run.",
        _ => "Not run: the run ended before.",
    };
    for call in open_calls(session).filter(|call| !ending.finished.contains(&&call.id)) {
        let result = with_made(session, call, result(CallEnd::Cancelled, why, "cancelled"));
        events.push(Event::ToolFinished { call: call.id.clone(), result });
    }
    events.push(Event::RunEnded {
        run: run.id.clone(),
        outcome: ending.outcome,
        stop: ending.stop,
        summary: ending.summary,
    });
    if let Some((kind, title)) = ending.ask {
        events.push(opened_ask(run_ask(stamp, &run.id, kind, title)));
    }
    events
}

pub fn opened_ask(ask: Ask) -> Event {
    Event::AskOpened { ask: Box::new(ask) }
}

/// Returns a result for a call that ends without a result from its tool.
pub fn result(end: CallEnd, output: &str, summary: &str) -> CallResult {
    CallResult::of(end, output, summary)
}

/// Returns the result of a call that the user rejected, with the user's own words (S16).
pub fn rejected_for(reason: Option<&str>) -> CallResult {
    let rejected = match reason.map(str::trim).filter(|reason| !reason.is_empty()) {
        Some(reason) => result(
            CallEnd::Denied,
            &format!("The user rejected this and says: {reason}"),
            &format!("rejected: {}", reason.lines().next().unwrap_or_default()),
        ),
        None => result(CallEnd::Denied, "The user rejected this.", "rejected"),
    };
    CallResult { cause: Some(Cause::Rejected), ..rejected }
}

/// Returns the result of a call with an unknown outcome.
pub fn interrupted_call() -> CallResult {
    result(
        CallEnd::Interrupted,
        "Interrupted: the server stopped while this ran, and its outcome is unknown. \
         Check what happened before you do it again.",
        "interrupted, outcome unknown",
    )
}

pub fn open_calls(session: &Session) -> impl Iterator<Item = &Call> {
    let turn = session.open_run().and_then(|run| run.turn.as_ref());
    turn.into_iter().flat_map(|turn| turn.calls.iter()).filter(|call| !call.is_finished())
}

/// Returns an ask about the run itself. No call waits for its answer.
pub fn run_ask(stamp: &Stamp, run: &RunId, kind: AskKind, title: String) -> Ask {
    Ask {
        id: stamp.id("ask").as_str().into(),
        kind,
        run: run.clone(),
        calls: Vec::new(),
        changes: Vec::new(),
        digest: crate::digest_parts(&[title.as_bytes()]),
        title,
        description: None,
        options: ask::options(kind, None, &[]),
        free_text: ask::takes_text(kind),
        opened_at: stamp.now,
        cause: None,
        unsaved: Vec::new(),
    }
}

/// Closes the idle asks about the last run, because a new prompt or a newer ask replaces them.
pub fn close_idle_asks(session: &Session) -> Vec<Event> {
    session
        .open_asks()
        .filter(|ask| ask.kind.group() == AskGroup::Idle)
        .map(|ask| Event::AskClosed { ask: ask.id.clone(), resolution: Resolution::Superseded })
        .collect()
}
