//! The plan of a task on the wire, and in words.

use adjutant_protocol::plan::{PlanEntry, PlanStatus};

use crate::record::{PlanStep, StepStatus};

/// Returns a plan as clients get it.
pub fn entries(steps: &[PlanStep]) -> Vec<PlanEntry> {
    let entry = |step: &PlanStep| PlanEntry { content: step.text.clone(), status: status(step.status) };
    steps.iter().map(entry).collect()
}

fn status(status: StepStatus) -> PlanStatus {
    match status {
        StepStatus::Pending => PlanStatus::Pending,
        StepStatus::InProgress => PlanStatus::InProgress,
        StepStatus::Completed => PlanStatus::Completed,
    }
}

/// Returns the mark of a step, as lists of tasks in Markdown write it.
pub fn mark(status: PlanStatus) -> &'static str {
    match status {
        PlanStatus::Pending => "[ ]",
        PlanStatus::InProgress => "[~]",
        PlanStatus::Completed => "[x]",
    }
}

/// Returns how far the plan is, for a line above its steps.
pub fn headline(entries: &[PlanEntry]) -> String {
    match position(entries) {
        Some((done, all)) => format!("Plan: {done} of {all} done"),
        None => "The plan was taken away".to_owned(),
    }
}

/// Returns how many steps are done and how many there are; `None` without a plan.
pub fn position(entries: &[PlanEntry]) -> Option<(usize, usize)> {
    let done = entries.iter().filter(|entry| entry.status == PlanStatus::Completed).count();
    (!entries.is_empty()).then_some((done, entries.len()))
}
