//! `update_plan`: tells the user the steps of a long task and how far it is.
//!
//! Never runs anything: the plan is kept in the log of the session, and clients show it.

use std::borrow::Cow;

use adjutant_core::policy::cause::{Cause, Reason};
use adjutant_core::record::StepStatus;
use adjutant_core::tool::{ArgumentType, Effect, MAX_ARGUMENTS, Parameter, Tool};

use super::{Action, BuiltTool};

/// The tool as data, and its action.
pub const UPDATE_PLAN: BuiltTool = BuiltTool {
    tool: Tool {
        name: Cow::Borrowed("update_plan"),
        effect: Effect::Read,
        description: Cow::Borrowed(
            "Show the user the plan of a task with three or more steps, and where it stands; send all steps each time.",
        ),
        parameters: Cow::Borrowed(PARAMETERS),
        most_bytes: MAX_ARGUMENTS,
        check: |given| match given
            .steps("plan")
            .iter()
            .filter(|step| step.status == StepStatus::InProgress)
            .count()
        {
            0 | 1 => Ok(()),
            count => Err(Reason::new(
                Cause::WrongArgument,
                format!(
                    "{count} steps of the plan are in_progress, and at most one may be; send the plan again"
                ),
            )),
        },
        title: |given| match given.steps("plan").len() {
            1 => "Plan 1 step".to_owned(),
            count => format!("Plan {count} steps"),
        },
    },
    act: Action::Plan,
};

const PARAMETERS: &[Parameter] = &[Parameter::needed(
    "plan",
    ArgumentType::Steps,
    "At most 30 short steps in order, at most one of them in_progress; an empty list takes the plan away.",
)];
