//! What the name of a tool alone tells: its effect, its mode, a title.
//!
//! For calls that may not even parse; never judges arguments.

use serde::Deserialize;

use super::{Effect, MAX_TITLE, Mode, parse, schema, title};
use crate::display::one_line;

/// Bytes of arguments that are read whole for a title.
const MAX_LOOKED_AT: usize = 64 * 1024;

/// Returns the effect class of a tool by its name; an unknown tool counts as opaque.
pub fn effect_of(tool: &str) -> Effect {
    match tool {
        "list_files" | "read_file" | "find_files" | "search_text" => Effect::Read,
        "edit_file" | "write_file" => Effect::OwnEdit,
        "ask_user" => Effect::Question,
        "task_complete" | "fail" => Effect::End,
        _ => Effect::Opaque,
    }
}

/// Tells whether a mode offers a tool; a hidden tool is refused even if the model calls it (S39).
pub fn allowed_in(mode: Mode, tool: &str) -> bool {
    schema::specs_for(mode).iter().any(|spec| spec.name == tool)
}

/// Returns the title of a call as the model wrote it, whether or not it can be made.
pub fn title_of(tool: &str, arguments: &str) -> String {
    if arguments.len() > MAX_LOOKED_AT {
        return title_of_large(tool, arguments);
    }
    match parse(tool, arguments) {
        Ok(arguments) => title(&arguments),
        Err(_) => one_line(tool, MAX_TITLE),
    }
}

/// The title of a call that carries much text: only its path is read, and the text is passed over.
fn title_of_large(tool: &str, arguments: &str) -> String {
    #[derive(Deserialize)]
    struct Place {
        path: String,
    }
    let verb = match tool {
        "edit_file" => "Edit",
        "write_file" => "Write",
        _ => return one_line(tool, MAX_TITLE),
    };
    match serde_json::from_str::<Place>(arguments) {
        Ok(Place { path }) => one_line(&format!("{verb} {path}"), MAX_TITLE),
        Err(_) => one_line(tool, MAX_TITLE),
    }
}
