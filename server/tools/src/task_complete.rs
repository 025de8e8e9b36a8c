//! `task_complete`: ends a task that is done.
//!
//! Never runs anything: it ends the run.

use std::borrow::Cow;

use adjutant_core::tool::{ArgumentType, Effect, MAX_ARGUMENTS, MAX_PROSE, Parameter, Tool};

use super::{Action, BuiltTool, no_check};

/// The tool as data, and its action.
pub const TASK_COMPLETE: BuiltTool = BuiltTool {
    tool: Tool {
        name: Cow::Borrowed("task_complete"),
        effect: Effect::End,
        description: Cow::Borrowed("End the task when it is done and checked."),
        parameters: Cow::Borrowed(PARAMETERS),
        most_bytes: MAX_ARGUMENTS,
        check: no_check,
        title: |given| format!("Done: {}", given.text("summary")),
    },
    act: Action::Complete,
};

const PARAMETERS: &[Parameter] = &[Parameter::needed(
    "summary",
    ArgumentType::Bounded(MAX_PROSE),
    "What was done, in a few sentences for the user.",
)];
