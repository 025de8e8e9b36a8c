//! What a log alone says of whether a call could run without an ask.
//!
//! Never asks the code under test.

use crate::policy::observation::FileClass;
use crate::record::{
    AllowedBy, EditsMode, Event, FileChange, Payload, Record, Rule, ToolCallId, UnattendedPolicy,
};

/// Returns the consent of the run at the end of this log.
pub fn consent(log: &[Record]) -> Option<UnattendedPolicy> {
    let changed = log.iter().rev().find_map(|record| match &record.event {
        Event::RunStarted { policy, .. } => Some(policy.unattended),
        Event::RulesChanged { unattended, .. } => Some(*unattended),
        _ => None,
    });
    changed.flatten()
}

pub fn edits_mode(log: &[Record]) -> EditsMode {
    let mode = log.iter().rev().find_map(|record| match &record.event {
        Event::RunStarted { policy, .. } => Some(policy.edits),
        _ => None,
    });
    mode.unwrap_or_default()
}

/// Whether the file of an edit runs on build, and no edit of it was allowed by an answer in this run.
fn asks_for_its_class(log: &[Record], call: &ToolCallId) -> bool {
    let begun = log.iter().rposition(|record| matches!(record.event, Event::RunStarted { .. })).unwrap_or(0);
    let proposed = |of: &dyn Fn(&FileChange) -> bool| {
        log.iter().rev().find_map(|record| match &record.event {
            Event::ChangeProposed { change, seen, .. } | Event::OperationProposed { change, seen, .. }
                if of(change) =>
            {
                Some((change.path.clone(), seen.clone()))
            }
            _ => None,
        })
    };
    let Some((path, seen)) = proposed(&|change| change.parts.iter().any(|part| part.call == *call)) else {
        return false;
    };
    let is_answered = log[begun..].iter().any(|record| match &record.event {
        Event::ApplyStarted { change_set, allowed_by: Some(AllowedBy::Answer { .. }), .. } => {
            proposed(&|change| change.change_set == *change_set).is_some_and(|(other, _)| other == path)
        }
        _ => false,
    });
    seen.is_some_and(|seen| seen.write_class == Some(FileClass::Build)) && !is_answered
}

/// Whether this call could run without an ask.
pub fn was_free(log: &[Record], call: &ToolCallId, edit: bool) -> bool {
    let unattended = consent(log);
    let rules: Vec<&Rule> = log
        .iter()
        .filter_map(|record| match &record.event {
            Event::RuleAdded { rule } => Some(rule),
            _ => None,
        })
        .collect();
    if edit {
        let at_once = edits_mode(log) != EditsMode::Ask && !asks_for_its_class(log, call);
        return unattended.is_some_and(|allowed| allowed.edit) || rules.contains(&&Rule::Edits) || at_once;
    }
    let payload = log.iter().rev().find_map(|record| match &record.event {
        Event::CallPrepared { call: id, payload, seen } if id == call => {
            Some((payload.clone(), seen.clone()))
        }
        _ => None,
    });
    match payload {
        Some((Payload::Read { .. }, Some(seen))) if seen.inside && seen.secret.is_none() => true,
        Some((Payload::Read { path, .. }, _)) => rules.contains(&&Rule::Read { path }),
        Some((Payload::Command { line, cwd, .. }, _)) => {
            unattended.is_some_and(|allowed| allowed.command) || rules.contains(&&Rule::Command { line, cwd })
        }
        _ => false,
    }
}
