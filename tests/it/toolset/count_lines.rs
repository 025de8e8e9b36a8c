//! `count_lines` counts the lines of a file. This is the whole file of an added tool.

use std::borrow::Cow;

use adjutant::tools::{Action, BuiltTool, Read, ReadScope, ReadTarget, ToolOutput};
use adjutant_core::tool::{ArgumentType, Arguments, Effect, MAX_ARGUMENTS, Parameter, Tool};

pub const COUNT_LINES: BuiltTool = BuiltTool {
    tool: Tool {
        name: Cow::Borrowed("count_lines"),
        effect: Effect::Read,
        description: Cow::Borrowed("Count the lines of a file."),
        parameters: Cow::Borrowed(PARAMETERS),
        most_bytes: MAX_ARGUMENTS,
        check: |_| Ok(()),
        title: |given| format!("Count the lines of {}", given.text("path")),
    },
    act: Action::Read(Read { target: |given| ReadTarget::At(given.text("path")), run: count_lines }),
};

const PARAMETERS: &[Parameter] = &[Parameter::needed("path", ArgumentType::Path, "The file.")];

fn count_lines(given: &Arguments, sight: &ReadScope<'_>) -> ToolOutput {
    let text = sight.at.and_then(|at| std::fs::read_to_string(&at.absolute).ok());
    match text.map(|text| text.lines().count()) {
        Some(count) => ToolOutput::done(format!("{count} lines"), &format!("{count} lines")),
        None => ToolOutput::failed(format!("\"{}\" cannot be read", given.text("path"))),
    }
}
