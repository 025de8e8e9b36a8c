//! The rules of an open run while it goes on: deny rules that are set later, consent that is given or ends.
//!
//! Judges no call; `permission` does, by the rules as they are then.

use super::Refusal;
use crate::event::{Event, Unattended};
use crate::session::{Run, Session};

/// The settings have these deny rules now: an open run gets those it did not begin with, and keeps its own.
pub fn denials(session: &Session, now: Vec<String>) -> Result<Vec<Event>, Refusal> {
    let run = session.open_run().ok_or(Refusal::Nothing)?;
    let mut deny = run.policy.deny.clone();
    for rule in now {
        if !deny.contains(&rule) {
            deny.push(rule);
        }
    }
    if deny.len() == run.policy.deny.len() {
        return Err(Refusal::Nothing);
    }
    Ok(vec![Event::RulesChanged { run: run.id.clone(), deny, unattended: run.policy.unattended }])
}

/// Whoever follows the open run gives it consent, without an ask to answer: a question may be open that is
/// left to time, and what comes after it is not to be asked.
pub fn follows(session: &Session, consent: Unattended) -> Result<Vec<Event>, Refusal> {
    let run = session.open_run().ok_or(Refusal::Nothing)?;
    let given = given(run, Some(consent)).ok_or(Refusal::Nothing)?;
    Ok(vec![given])
}

/// The open run has this consent from now on; nothing where it has it already.
pub fn given(run: &Run, unattended: Option<Unattended>) -> Option<Event> {
    let deny = run.policy.deny.clone();
    let changed = Event::RulesChanged { run: run.id.clone(), deny, unattended };
    (run.policy.unattended != unattended).then_some(changed)
}
