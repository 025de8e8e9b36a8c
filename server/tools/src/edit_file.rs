//! `edit_file`: replaces text that the model quotes.
//!
//! `locate` finds the quoted text. It also accepts other spaces at line ends, another indentation and other typography,
//! which the description does not say, so that the model copies exactly. Never guesses: if the text occurs several
//! times, the edit fails unless all are to be replaced.

use std::borrow::Cow;

use adjutant_core::policy::cause::{Cause, Reason};
use adjutant_core::text::locate;
use adjutant_core::tool::{ArgumentType, Arguments, Effect, MAX_EDIT_ARGUMENTS, Parameter, Tool};

use super::{Action, BuiltTool, FileBefore};

/// The tool as data, and its action.
pub const EDIT_FILE: BuiltTool = BuiltTool {
    tool: Tool {
        name: Cow::Borrowed("edit_file"),
        effect: Effect::OwnEdit,
        description: Cow::Borrowed(
            "Replace text in an existing file: `old_text` must be there exactly once, white space included, unless `replace_all` is true.",
        ),
        parameters: Cow::Borrowed(PARAMETERS),
        most_bytes: MAX_EDIT_ARGUMENTS,
        check: changes_something,
        title: |given| format!("Edit {}", given.text("path")),
    },
    act: Action::Edit(edited_text),
};

const PARAMETERS: &[Parameter] = &[
    super::PATH,
    Parameter::needed(
        "old_text",
        ArgumentType::Text,
        "Text to replace, copied exactly; enough lines to be unique.",
    ),
    Parameter::needed("new_text", ArgumentType::Text, "Text to put in its place; empty to delete."),
    Parameter::optional("replace_all", ArgumentType::Flag, "Replace every occurrence; false without it."),
];

/// Refuses an edit without text to replace, and one that would change nothing.
fn changes_something(given: &Arguments) -> Result<(), Reason> {
    let (old, new) = (given.text("old_text"), given.text("new_text"));
    let (cause, text) = if old.is_empty() {
        let text =
            "`old_text` of edit_file is empty; give the text to replace, or use write_file for a new file";
        (Cause::WrongArgument, text)
    } else if old == new {
        let text = "`old_text` and `new_text` of edit_file are equal, so nothing would change; give the changed text";
        (Cause::NothingToChange, text)
    } else if old.replace('\r', "") == new.replace('\r', "") {
        let text = "`old_text` and `new_text` of edit_file differ only in line ends; a file keeps its line ends, so leave them as they are";
        (Cause::LineEnds, text)
    } else {
        return Ok(());
    };
    Err(Reason::new(cause, text))
}

/// Returns the whole text of the file after the edit. Runs while the call is prepared, and again if the file changed
/// before the edit was made, so it only computes.
fn edited_text<'a>(given: &'a Arguments, before: &FileBefore<'_>) -> Result<Cow<'a, str>, Reason> {
    if !before.exists {
        let text = format!("\"{}\" does not exist; write_file creates it", before.path);
        return Err(Reason::new(Cause::Missing, text));
    }
    locate::replace(before.text, given.text("old_text"), given.text("new_text"), given.flag("replace_all"))
        .map(Cow::Owned)
        .map_err(|why| Reason::new(why.cause(), format!("\"{}\" was not changed: {why}", before.path)))
}
