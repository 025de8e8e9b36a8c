//! `fail`: ends a task that cannot be done.
//!
//! Never runs anything: it ends the run.

use std::borrow::Cow;

use adjutant_core::tool::{ArgumentType, Effect, MAX_ARGUMENTS, MAX_PROSE, Parameter, Tool};

use super::{Action, BuiltTool, no_check};

/// The tool as data, and its action.
pub const FAIL: BuiltTool = BuiltTool {
    tool: Tool {
        name: Cow::Borrowed("fail"),
        effect: Effect::End,
        description: Cow::Borrowed("End the task when it cannot be done."),
        parameters: Cow::Borrowed(PARAMETERS),
        most_bytes: MAX_ARGUMENTS,
        check: no_check,
        title: |given| format!("Give up: {}", given.text("reason")),
    },
    act: Action::Fail,
};

const PARAMETERS: &[Parameter] = &[Parameter::needed(
    "reason",
    ArgumentType::Bounded(MAX_PROSE),
    "What is in the way and what the user could do, in a few sentences.",
)];
