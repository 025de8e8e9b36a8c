//! `task_complete`: the end of a task that is done.
//!
//! Runs nothing: it ends the run.

use std::borrow::Cow;

use adjutant_core::tool::{ArgumentType, Effect, MAX_ARGUMENTS, MAX_PROSE, Parameter, Tool};

use super::{Act, BuiltTool, fits};

/// The tool as data, and what it does.
pub const TASK_COMPLETE: BuiltTool = BuiltTool {
    tool: Tool {
        name: Cow::Borrowed("task_complete"),
        effect: Effect::End,
        description: Cow::Borrowed("End the task when it is done and checked."),
        parameters: Cow::Borrowed(PARAMETERS),
        most_bytes: MAX_ARGUMENTS,
        check: fits,
        title: |given| format!("Done: {}", given.text("summary")),
    },
    act: Act::Complete,
};

const PARAMETERS: &[Parameter] = &[Parameter::needed(
    "summary",
    ArgumentType::Bounded(MAX_PROSE),
    "What was done, in a few sentences for the user.",
)];
