//! Changes the rules of an open run: later deny rules, consent that is given or ends.
//!
//! Never judges a call; `permission` does, by the rules of that moment.

use super::Refusal;
use crate::record::{Event, UnattendedPolicy};
use crate::session::{Run, Session};

/// Adds the deny rules that are new in the settings to the open run. Rules that the run has already stay.
pub fn denials(session: &Session, deny_now: Vec<String>) -> Result<Vec<Event>, Refusal> {
    let run = session.open_run().ok_or(Refusal::Nothing)?;
    let mut deny = run.policy.deny.clone();
    for rule in deny_now {
        if !deny.contains(&rule) {
            deny.push(rule);
        }
    }
    if deny.len() == run.policy.deny.len() {
        return Err(Refusal::Nothing);
    }
    Ok(vec![Event::RulesChanged { run: run.id.clone(), deny, unattended: run.policy.unattended }])
}

/// Gives the open run consent without an answer to an ask. A client needs this if the open question answers
/// itself after a time, because the calls after it must not ask.
pub fn give(session: &Session, consent: UnattendedPolicy) -> Result<Vec<Event>, Refusal> {
    let run = session.open_run().ok_or(Refusal::Nothing)?;
    let changed = change(run, Some(consent)).ok_or(Refusal::Nothing)?;
    Ok(vec![changed])
}

/// Returns the event that gives the run this consent, or removes it; `None` if nothing would change.
pub fn change(run: &Run, unattended: Option<UnattendedPolicy>) -> Option<Event> {
    let deny = run.policy.deny.clone();
    let changed = Event::RulesChanged { run: run.id.clone(), deny, unattended };
    (run.policy.unattended != unattended).then_some(changed)
}
