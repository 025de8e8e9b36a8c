//! `move_file`: gives one file another name, in the same folder or in another.
//!
//! Never a folder, and never over a file that exists.

use std::borrow::Cow;

use adjutant_core::policy::cause::{Cause, Reason};
use adjutant_core::tool::{ArgumentType, Arguments, Effect, MAX_ARGUMENTS, Parameter, Tool};

use super::{Action, BuiltTool};

/// The tool as data, and its action.
pub const MOVE_FILE: BuiltTool = BuiltTool {
    tool: Tool {
        name: Cow::Borrowed("move_file"),
        effect: Effect::OwnEdit,
        description: Cow::Borrowed("Move or rename one file, not a folder; never over a file that exists."),
        parameters: Cow::Borrowed(PARAMETERS),
        most_bytes: MAX_ARGUMENTS,
        check: names_a_file,
        title: |given| format!("Move {} to {}", given.text("from"), given.text("to")),
    },
    act: Action::Move,
};

const PARAMETERS: &[Parameter] = &[
    Parameter::needed("from", ArgumentType::Path, "Path of the file."),
    Parameter::needed("to", ArgumentType::Path, "Its whole new path; missing folders are made."),
];

/// Refuses a new name that can only be a folder.
fn names_a_file(given: &Arguments) -> Result<(), Reason> {
    let to = given.text("to");
    if to.ends_with('/') || matches!(to.rsplit('/').next(), Some("." | "..")) {
        let text =
            format!("`to` of move_file names a folder (\"{to}\"); give the whole new path of the file");
        return Err(Reason::new(Cause::WrongArgument, text));
    }
    Ok(())
}
