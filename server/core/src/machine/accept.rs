//! Decides whether an input may happen, and which events follow. All validation of inputs is here.
//!
//! One file per kind of input. Never changes the session, never does I/O and
//! never panics, whatever the input and the state.

mod answer;
mod call;
mod compact;
mod consent;
mod context;
mod edited;
mod edits;
mod ending;
mod forking;
mod lifecycle;
mod outside;
mod prompt;
mod renaming;
mod review;
mod turn;

use crate::machine::input::{Input, Report, Stamp};
use crate::machine::step::{Step, next_steps};
use crate::record::{Event, Resolution, RunId};
use crate::session::Session;

pub use edited::{READ_AGAIN, leads_elsewhere};
pub use forking::{fork_title, forked};
pub use lifecycle::interrupt;
pub use outside::outside_moment;
pub use review::given_up;

/// Why an input caused no events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The named run is not the open one.
    RunMismatch {
        open: Option<RunId>,
    },
    AskNotFound,
    /// The ask was closed before; this is the answer that won.
    AlreadyResolved(Resolution),
    /// The ask has no such option, or accepts no text.
    AnswerInvalid(String),
    /// A different request has used this key before.
    KeyReused,
    /// The same request again, with the result of the first.
    Repeat {
        run: RunId,
        steered: bool,
        at: u64,
    },
    /// The model that would see the prompt does not support images.
    ImagesUnsupported {
        model: String,
    },
    /// Too many prompts wait for the next turn.
    Overloaded,
    /// The input is out of date: its step should no longer run, or what it names is over.
    Stale,
    /// The input would change nothing.
    Nothing,
}

/// Returns the events that follow from an input, or why none do.
pub fn accept(session: &Session, stamp: &Stamp, input: Input) -> Result<Vec<Event>, Refusal> {
    match input {
        Input::Prompt(prompt) => prompt::accept(session, stamp, *prompt),
        Input::Answer(answer) => answer::accept(session, stamp, answer),
        Input::Decide(decision) => edits::decide(session, stamp, decision),
        Input::Review(input) => review::decide(session, stamp, input),
        Input::Found { target, is_in_text, by } => review::found(session, target, is_in_text, by),
        Input::Comment(comment) => review::comment(session, comment),
        Input::Outside { look, moment } => outside::heard(session, look, moment),
        Input::Committed { target, on } => review::committed(session, target, on),
        Input::Cancel { run } => lifecycle::cancel(session, stamp, run.as_ref()),
        Input::Denials(now) => consent::denials(session, now),
        Input::Consent(given) => consent::give(session, given),
        Input::Choose { chosen, offer } => lifecycle::choose(session, chosen, offer),
        Input::Compact(wanted) => compact::wanted(session, stamp, wanted),
        Input::Rename { title } => renaming::rename(session, &title),
        Input::Opened { epoch } => lifecycle::opened(session, stamp, epoch),
        Input::Stopping => lifecycle::stopping(session, stamp),
        Input::Woke(wake) => {
            let why = wake.why.clone();
            check_current(session, &Step::Wake(wake))?;
            lifecycle::woke(session, stamp, &why)
        }
        Input::Step { step, report } => {
            check_current(session, &step)?;
            accept_report(session, stamp, &step, report)
        }
    }
}

/// Refuses a report or wake-up of a step that should not be running now.
fn check_current(session: &Session, step: &Step) -> Result<(), Refusal> {
    if next_steps(session).contains(step) { Ok(()) } else { Err(Refusal::Stale) }
}

fn accept_report(
    session: &Session,
    stamp: &Stamp,
    step: &Step,
    report: Report,
) -> Result<Vec<Event>, Refusal> {
    match (step, report) {
        (Step::CallModel { turn, attempt } | Step::Compact { turn, attempt }, report) => {
            turn::accept(session, stamp, *turn, *attempt, report)
        }
        (Step::Prepare { calls, .. }, Report::Prepared(prepared)) => match calls.as_slice() {
            [call] => call::prepared(session, stamp, call, *prepared),
            _ => Err(Refusal::Stale),
        },
        (Step::Prepare { calls, .. }, Report::PreparedEdits(prepared)) => {
            edits::prepared(session, stamp, calls, prepared)
        }
        (Step::Prepare { calls, .. }, Report::Finished(result)) => {
            call::finished(session, stamp, calls, &result)
        }
        (Step::RunTool { call }, Report::Finished(result)) => call::finished(session, stamp, [call], &result),
        (Step::Apply { batch, part }, Report::Finished(result)) => {
            edits::broke(session, stamp, batch, part, &result)
        }
        (Step::Apply { batch, part }, Report::Edited { change_set, report }) => {
            let state = session.changes.get(&change_set).filter(|state| part.has(&state.change));
            edits::edited(session, stamp, state.ok_or(Refusal::Stale)?, batch, report)
        }
        (Step::Reobserve { changes, .. }, Report::Reobserved(found)) => {
            edits::reobserved(session, stamp, changes, found)
        }
        (Step::Reobserve { changes, .. }, Report::Finished(_)) => {
            edits::reobserved(session, stamp, changes, Vec::new())
        }
        (Step::Review { batch, .. }, Report::Reviewed { change_set, outcome }) => {
            let change = session.applied.get(&change_set).ok_or(Refusal::Stale)?;
            review::done(batch, change, outcome)
        }
        (Step::Review { batch, .. }, Report::Finished(_)) => review::broke(session, batch),
        (Step::ReadContext { run }, Report::ContextRead(texts)) => context::read(session, run, texts),
        (Step::LookOutside { turn }, Report::LookedOutside(look)) => {
            outside::looked(session, stamp, *turn, look)
        }
        (Step::Settle { change_set }, Report::Settled(found)) => {
            let (hunks, note) = (Vec::new(), None);
            Ok(vec![Event::Settled { change_set: change_set.clone(), found, hunks, note }])
        }
        _ => Err(Refusal::Stale),
    }
}

/// Returns the model of the run that begins with this input; `None` if a run is open, or none begins.
pub fn model_to_begin(session: &Session, input: &Input) -> Option<String> {
    if session.open_run().is_some() {
        return None;
    }
    match input {
        Input::Prompt(prompt) => Some(prompt.model.clone()),
        Input::Answer(answer) => {
            let ask = &session.asks.get(&answer.ask)?.ask;
            let last = session.ended.iter().rev().find(|ended| ended.run == ask.run)?;
            Some(session.chosen_for(last).0)
        }
        _ => None,
    }
}
