//! `fail`: the end of a task that cannot be done.
//!
//! Runs nothing: it ends the run.

use std::borrow::Cow;

use adjutant_core::tool::{ArgumentType, Effect, MAX_ARGUMENTS, MAX_PROSE, Parameter, Tool};

use super::{Act, BuiltTool, fits};

/// The tool as data, and what it does.
pub const FAIL: BuiltTool = BuiltTool {
    tool: Tool {
        name: Cow::Borrowed("fail"),
        effect: Effect::End,
        description: Cow::Borrowed("End the task when it cannot be done."),
        parameters: Cow::Borrowed(PARAMETERS),
        most_bytes: MAX_ARGUMENTS,
        check: fits,
        title: |given| format!("Give up: {}", given.text("reason")),
    },
    act: Act::Fail,
};

const PARAMETERS: &[Parameter] = &[Parameter::needed(
    "reason",
    ArgumentType::Bounded(MAX_PROSE),
    "What is in the way and what the user could do, in a few sentences.",
)];
