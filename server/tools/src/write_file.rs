//! `write_file`: the whole text of a file.
//!
//! Never changes the line ends of a file that is there, or its byte order mark.

use std::borrow::Cow;

use adjutant_core::policy::cause::Reason;
use adjutant_core::text::edit::{rewritten, split_bom};
use adjutant_core::tool::{ArgumentType, Arguments, Effect, MAX_EDIT_ARGUMENTS, Parameter, Tool};

use super::{Act, Before, BuiltTool, fits};

/// The tool as data, and what it does.
pub const WRITE_FILE: BuiltTool = BuiltTool {
    tool: Tool {
        name: Cow::Borrowed("write_file"),
        effect: Effect::OwnEdit,
        description: Cow::Borrowed(
            "Create a file, or replace the whole text of one; prefer edit_file for changes to an existing file.",
        ),
        parameters: Cow::Borrowed(PARAMETERS),
        most_bytes: MAX_EDIT_ARGUMENTS,
        check: fits,
        title: |given| format!("Write {}", given.text("path")),
    },
    act: Act::Edit(after),
};

const PARAMETERS: &[Parameter] =
    &[super::PATH, Parameter::needed("content", ArgumentType::Text, "The complete text of the file.")];

fn after<'a>(given: &'a Arguments, before: &Before<'_>) -> Result<Cow<'a, str>, Reason> {
    let content = given.text("content");
    Ok(rewritten(before.text, if before.has_mark { split_bom(content).1 } else { content }))
}
