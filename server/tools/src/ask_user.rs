//! `ask_user`: asks the user one question.
//!
//! Never runs anything: its result is the answer of the user.

use std::borrow::Cow;

use adjutant_core::tool::{ArgumentType, Effect, MAX_ARGUMENTS, MAX_PROSE, Parameter, Tool};

use super::{Action, BuiltTool, no_check};

/// The tool as data, and its action.
pub const ASK_USER: BuiltTool = BuiltTool {
    tool: Tool {
        name: Cow::Borrowed("ask_user"),
        effect: Effect::Question,
        description: Cow::Borrowed("Ask the user one question, and wait for the answer."),
        parameters: Cow::Borrowed(PARAMETERS),
        most_bytes: MAX_ARGUMENTS,
        check: no_check,
        title: |given| format!("Ask {}", given.text("question")),
    },
    act: Action::Question,
};

const PARAMETERS: &[Parameter] = &[
    Parameter::needed("question", ArgumentType::Bounded(MAX_PROSE), "The question, complete in itself."),
    Parameter::optional(
        "options",
        ArgumentType::Texts,
        "Up to 10 short answers to choose from; the user may also answer freely.",
    ),
];
