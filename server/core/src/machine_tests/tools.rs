//! Tools for the tests of the loop. They have the names of the real tools, so that the logs look alike.
//!
//! They accept any text as an argument. They never run.

use std::borrow::Cow;
use std::sync::Arc;

use crate::tool::{ArgumentType, Arguments, Effect, MAX_EDIT_ARGUMENTS, Parameter, Tool, Toolset};

const TOOLS: [(&str, Effect, &[&str]); 11] = [
    ("list_files", Effect::Read, &["path"]),
    ("read_file", Effect::Read, &["path"]),
    ("find_files", Effect::Read, &["pattern"]),
    ("search_text", Effect::Read, &["pattern"]),
    ("edit_file", Effect::OwnEdit, &["path", "old_text", "new_text"]),
    ("write_file", Effect::OwnEdit, &["path", "content"]),
    ("run_command", Effect::Opaque, &["command"]),
    ("update_plan", Effect::Read, &["plan"]),
    ("ask_user", Effect::Question, &["question"]),
    ("task_complete", Effect::End, &["summary"]),
    ("fail", Effect::End, &["reason"]),
];

fn title(given: &Arguments) -> String {
    let first = ["path", "pattern", "command", "question", "summary", "reason"];
    first.iter().find_map(|name| given.optional(name)).unwrap_or_default().to_owned()
}

/// Returns a tool with this name, this effect and these text parameters.
pub fn tool(name: &'static str, effect: Effect, parameters: &'static [&'static str]) -> Tool {
    let parameters = parameters.iter().map(|name| Parameter::optional(name, ArgumentType::Text, "A text."));
    Tool {
        name: Cow::Borrowed(name),
        effect,
        description: Cow::Borrowed("A tool of the tests."),
        parameters: parameters.collect(),
        most_bytes: MAX_EDIT_ARGUMENTS,
        check: |_| Ok(()),
        title,
    }
}

pub fn tools() -> Arc<Toolset> {
    let tools = TOOLS.map(|(name, effect, parameters)| tool(name, effect, parameters));
    Arc::new(Toolset::new(tools.to_vec()).expect("their names differ"))
}
