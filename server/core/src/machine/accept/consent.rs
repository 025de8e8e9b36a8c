//! Changes the rules of an open run: later deny rules, consent that is given or ends.
//!
//! Judges no call; `permission` does, by the rules as they are then.

use super::Refusal;
use crate::record::{Event, UnattendedPolicy};
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

/// Gives the open run consent without an answer to an ask. It is needed where the open question answers itself
/// after a time: the calls after it must not ask.
pub fn follows(session: &Session, consent: UnattendedPolicy) -> Result<Vec<Event>, Refusal> {
    let run = session.open_run().ok_or(Refusal::Nothing)?;
    let given = given(run, Some(consent)).ok_or(Refusal::Nothing)?;
    Ok(vec![given])
}

/// The open run has this consent from now on; nothing where it has it already.
pub fn given(run: &Run, unattended: Option<UnattendedPolicy>) -> Option<Event> {
    let deny = run.policy.deny.clone();
    let changed = Event::RulesChanged { run: run.id.clone(), deny, unattended };
    (run.policy.unattended != unattended).then_some(changed)
}
