//! May this happen, and which facts follow? All validation of inputs.
//!
//! One file per kind of input. Never changes the session, never does I/O and
//! never panics, whatever the input and the state.

mod answer;
mod call;
mod consent;
mod ending;
mod lifecycle;
mod prompt;
mod turn;

use crate::machine::input::{Input, Report, Stamp};
use crate::machine::step::{Step, next_steps};
use crate::record::{Event, Resolution, RunId};
use crate::session::Session;

pub use lifecycle::interrupt;

/// Why an input became no facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The named run is not the open one.
    RunMismatch {
        open: Option<RunId>,
    },
    AskNotFound,
    /// Somebody answered before; this is what won.
    AlreadyResolved(Resolution),
    /// The ask has no such option, or takes no text.
    AnswerInvalid(String),
    KeyReused,
    /// The same request again: its first result.
    Repeat {
        run: RunId,
        steered: bool,
        at: u64,
    },
    /// The model that is to see the prompt takes no images.
    ImagesUnsupported {
        model: String,
    },
    /// Too much waits already.
    Overloaded,
    /// The step that told this is no longer wanted.
    Stale,
    /// There is nothing to do.
    Nothing,
}

/// Judges one input: the facts that follow, or why none do.
pub fn accept(session: &Session, stamp: &Stamp, input: Input) -> Result<Vec<Event>, Refusal> {
    match input {
        Input::Prompt(prompt) => prompt::accept(session, stamp, prompt),
        Input::Answer(answer) => answer::accept(session, stamp, answer),
        Input::Cancel { run } => lifecycle::cancel(session, stamp, run.as_ref()),
        Input::Denials(now) => consent::denials(session, now),
        Input::Consent(given) => consent::follows(session, given),
        Input::Choose { chosen, offer } => lifecycle::choose(session, chosen, offer),
        Input::Opened { epoch } => lifecycle::opened(session, stamp, epoch),
        Input::Stopping => lifecycle::stopping(session, stamp),
        Input::Woke(wake) => {
            let why = wake.why.clone();
            wanted(session, &Step::Wake(wake))?;
            lifecycle::woke(session, stamp, &why)
        }
        Input::Step { step, report } => {
            wanted(session, &step)?;
            of_step(session, stamp, &step, report)
        }
    }
}

/// Only what ought to be running now may tell anything.
fn wanted(session: &Session, step: &Step) -> Result<(), Refusal> {
    if next_steps(session).contains(step) { Ok(()) } else { Err(Refusal::Stale) }
}

fn of_step(session: &Session, stamp: &Stamp, step: &Step, report: Report) -> Result<Vec<Event>, Refusal> {
    match (step, report) {
        (Step::CallModel { turn, attempt }, report) => {
            turn::accept(session, stamp, (*turn, *attempt), report)
        }
        (Step::Prepare { call, .. }, Report::Prepared(prepared)) => {
            call::prepared(session, stamp, call, *prepared)
        }
        (Step::Prepare { call, .. } | Step::RunTool { call }, Report::Finished(result)) => {
            call::finished(session, stamp, call, result)
        }
        (Step::RunTool { call }, Report::Applied(result)) => call::applied(session, stamp, call, result),
        (Step::RunTool { call }, Report::NotApplied { result, in_doubt, landed }) => {
            call::not_applied(session, stamp, call, (result, in_doubt, landed))
        }
        (Step::RunTool { call }, Report::Overtaken { change, seen, result }) => {
            call::overtaken(session, stamp, call, (change, *seen, result))
        }
        (Step::Settle { change_set }, Report::Settled(found)) => {
            Ok(vec![Event::Settled { change_set: change_set.clone(), found }])
        }
        _ => Err(Refusal::Stale),
    }
}
