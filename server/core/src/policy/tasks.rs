//! The sentences about a file with undecided changes of another task.
//!
//! Never decides whether an edit may be made: such changes block nothing.

use crate::record::FileChange;
use crate::text::display::{one_line, shown};

/// How many tasks a sentence names.
const MAX_NAMED: usize = 3;
/// Characters of one title.
const MAX_TITLE: usize = 80;

/// Returns the sentence for the question about a change; `None` if no other task has undecided changes of its file.
pub fn note(change: &FileChange) -> Option<String> {
    let tasks = named(&change.tasks)?;
    Some(format!("\"{}\" has undecided changes of {tasks}", shown(&change.path)))
}

/// Returns the notice for the user before a change is made that nobody is asked about.
pub fn notice(title: &str, change: &FileChange) -> Option<String> {
    let why = note(change)?;
    Some(format!("the task “{}” edits a file of another one: {why}", one_line(title, MAX_TITLE)))
}

fn named(tasks: &[String]) -> Option<String> {
    let name = |title: &String| format!("“{}”", one_line(title, MAX_TITLE));
    let names: Vec<String> = tasks.iter().take(MAX_NAMED).map(name).collect();
    let more = match tasks.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let noun = if tasks.len() == 1 { "the task" } else { "the tasks" };
    (!names.is_empty()).then(|| format!("{noun} {}{more}", names.join(", ")))
}
