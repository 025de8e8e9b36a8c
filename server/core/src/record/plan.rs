//! The plan of a task, as the model keeps it.

use serde::{Deserialize, Serialize};

/// The most steps of a plan: a person reads them at a glance.
pub const MAX_STEPS: usize = 30;
/// The most bytes of the text of a step.
pub const MAX_STEP: usize = 300;

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    pub status: StepStatus,
    #[serde(rename = "step")]
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    Pending,
    InProgress,
    Completed,
}

impl StepStatus {
    /// Every status, and its name in the arguments of `update_plan`.
    pub const NAMES: [(&'static str, StepStatus); 3] = [
        ("pending", StepStatus::Pending),
        ("in_progress", StepStatus::InProgress),
        ("completed", StepStatus::Completed),
    ];

    /// Returns the status with this name.
    pub fn of(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, status)| *status)
    }
}

/// Returns how many steps are done, and how many there are.
pub fn progress_of(steps: &[PlanStep]) -> (usize, usize) {
    (steps.iter().filter(|step| step.status == StepStatus::Completed).count(), steps.len())
}
