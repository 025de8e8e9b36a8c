//! Checks a summary that a model wrote.
//!
//! Never judges its style.

use super::Compaction;
use crate::prompt::estimate;
use crate::prompt::message::{ModelMessage, Reply};
use crate::prompt::words::SUMMARISE;
use crate::session::Session;

/// Returns the headings that a summary must have, in their order.
fn headings() -> impl Iterator<Item = &'static str> {
    SUMMARISE.lines().filter(|line| line.starts_with("## "))
}

/// Returns why a reply is no summary of what it would replace; `None` if it is one.
pub fn flaw(session: &Session, compaction: &Compaction, reply: &Reply) -> Option<String> {
    let text = reply.text.trim();
    if text.is_empty() {
        return Some("it has no text".to_owned());
    }
    let has = |heading: &str| text.lines().any(|line| line.trim_end() == heading);
    if let Some(missing) = headings().find(|heading| !has(heading)) {
        return Some(format!("it lacks the heading \"{missing}\""));
    }
    let replaced = session.history.get(compaction.range()).unwrap_or_default();
    if estimate::of_text(text) >= replaced.iter().map(estimate::of_message).sum() {
        return Some("it is longer than what it would replace".to_owned());
    }
    let files = open_files(session, replaced);
    let is_named = |path: &String| {
        let name = path.rsplit('/').next().unwrap_or(path);
        text.contains(path.as_str()) || text.contains(name)
    };
    if !files.is_empty() && !files.iter().any(is_named) {
        return Some(format!("it names none of the files of the work, such as {}", files[0]));
    }
    None
}

/// Returns the files that the work is about: those with changes that nobody has reviewed, and those that the replaced calls
/// edit.
fn open_files(session: &Session, replaced: &[ModelMessage]) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct EditedPath {
        path: String,
    }
    let mut files: Vec<String> = session.applied.unreviewed_paths().map(str::to_owned).collect();
    for message in replaced {
        let ModelMessage::Assistant { reply } = message else { continue };
        let edits = reply.calls.iter().filter(|call| call.name == "edit_file" || call.name == "write_file");
        let paths = edits.filter_map(|call| serde_json::from_str::<EditedPath>(&call.arguments).ok());
        files.extend(paths.map(|edited| edited.path));
    }
    files.dedup();
    files
}
