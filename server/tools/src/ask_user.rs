//! `ask_user`: one question to the user.
//!
//! Runs nothing: its result is the answer.

use std::borrow::Cow;

use adjutant_core::tool::{ArgumentType, Effect, MAX_ARGUMENTS, MAX_PROSE, Parameter, Tool};

use super::{Act, BuiltTool, fits};

/// The tool as data, and what it does.
pub const ASK_USER: BuiltTool = BuiltTool {
    tool: Tool {
        name: Cow::Borrowed("ask_user"),
        effect: Effect::Question,
        description: Cow::Borrowed(
            "Ask the user one question that you cannot settle with the other tools, and wait for the answer.",
        ),
        parameters: Cow::Borrowed(PARAMETERS),
        most_bytes: MAX_ARGUMENTS,
        check: fits,
        title: |given| format!("Ask {}", given.text("question")),
    },
    act: Act::Question,
};

const PARAMETERS: &[Parameter] = &[
    Parameter::needed("question", ArgumentType::Bounded(MAX_PROSE), "The question, complete in itself."),
    Parameter::optional(
        "options",
        ArgumentType::Texts,
        "Up to 10 short answers to choose from; the user may also answer freely.",
    ),
];
