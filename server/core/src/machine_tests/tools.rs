//! Tools for the tests of the loop: named like those of the product, so that logs look alike.
//!
//! They take any text for the arguments that the tests give.

use std::borrow::Cow;
use std::sync::Arc;

use crate::tool::{ArgumentType, Arguments, Effect, MAX_EDIT_ARGUMENTS, Parameter, Tool, Toolset};

const TOOLS: [(&str, Effect, &[&str]); 10] = [
    ("list_files", Effect::Read, &["path"]),
    ("read_file", Effect::Read, &["path"]),
    ("find_files", Effect::Read, &["pattern"]),
    ("search_text", Effect::Read, &["pattern"]),
    ("edit_file", Effect::OwnEdit, &["path", "old_text", "new_text"]),
    ("write_file", Effect::OwnEdit, &["path", "content"]),
    ("run_command", Effect::Opaque, &["command"]),
    ("ask_user", Effect::Question, &["question"]),
    ("task_complete", Effect::End, &["summary"]),
    ("fail", Effect::End, &["reason"]),
];

fn title(given: &Arguments) -> String {
    let first = ["path", "pattern", "command", "question", "summary", "reason"];
    first.iter().find_map(|name| given.optional(name)).unwrap_or_default().to_owned()
}

/// A tool of this name and effect that takes these texts.
pub fn tool(name: &'static str, effect: Effect, takes: &'static [&'static str]) -> Tool {
    let parameters = takes.iter().map(|name| Parameter::optional(name, ArgumentType::Text, "A text."));
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
    let tools = TOOLS.map(|(name, effect, takes)| tool(name, effect, takes));
    Arc::new(Toolset::new(tools.to_vec()).expect("their names differ"))
}
