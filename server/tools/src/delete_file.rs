//! `delete_file`: deletes one file.
//!
//! Never a folder. The user sees the text that goes, and can have it back.

use std::borrow::Cow;

use adjutant_core::tool::{Effect, MAX_ARGUMENTS, Tool};

use super::{Action, BuiltTool, no_check};

/// The tool as data, and its action.
pub const DELETE_FILE: BuiltTool = BuiltTool {
    tool: Tool {
        name: Cow::Borrowed("delete_file"),
        effect: Effect::OwnEdit,
        description: Cow::Borrowed("Delete one file, not a folder."),
        parameters: Cow::Borrowed(&[super::PATH]),
        most_bytes: MAX_ARGUMENTS,
        check: no_check,
        title: |given| format!("Delete {}", given.text("path")),
    },
    act: Action::Delete,
};
