//! `write_file`: creates a file, or replaces its whole text.
//!
//! Never changes the line ends of an existing file, or its byte order mark.

use std::borrow::Cow;

use adjutant_core::policy::cause::Reason;
use adjutant_core::text::edit::{rewritten, split_bom};
use adjutant_core::tool::{ArgumentType, Arguments, Effect, MAX_EDIT_ARGUMENTS, Parameter, Tool};

use super::{Action, BuiltTool, FileBefore, no_check};

/// The tool as data, and its action.
pub const WRITE_FILE: BuiltTool = BuiltTool {
    tool: Tool {
        name: Cow::Borrowed("write_file"),
        effect: Effect::OwnEdit,
        description: Cow::Borrowed("Create a file, or replace its whole text; for changes prefer edit_file."),
        parameters: Cow::Borrowed(PARAMETERS),
        most_bytes: MAX_EDIT_ARGUMENTS,
        check: no_check,
        title: |given| format!("Write {}", given.text("path")),
    },
    act: Action::Write(new_text),
};

const PARAMETERS: &[Parameter] =
    &[super::PATH, Parameter::needed("content", ArgumentType::Text, "The complete text of the file.")];

fn new_text<'a>(given: &'a Arguments, before: &FileBefore<'_>) -> Result<Cow<'a, str>, Reason> {
    let content = given.text("content");
    Ok(rewritten(before.text, if before.has_mark { split_bom(content).1 } else { content }))
}
