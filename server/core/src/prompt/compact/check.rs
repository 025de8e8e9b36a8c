//! Checks a summary that a model wrote.
//!
//! Never judges its style.

use crate::prompt::estimate;
use crate::prompt::message::{ModelMessage, Reply, RequestedCall};
use crate::prompt::words::SUMMARISE;
use crate::record::Compaction;
use crate::session::Session;
use crate::text::patch::files_of;
use crate::tool::APPLY_PATCH;

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

/// Returns the files of the work: those that have changes to review, and those that the replaced calls edit.
fn open_files(session: &Session, replaced: &[ModelMessage]) -> Vec<String> {
    let mut files: Vec<String> = session.applied.unreviewed_paths().map(str::to_owned).collect();
    for message in replaced {
        let ModelMessage::Assistant { reply } = message else { continue };
        files.extend(reply.calls.iter().flat_map(edited_files));
    }
    files.dedup();
    files
}

/// Returns the files that a call edits, as the model named them.
fn edited_files(call: &RequestedCall) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct EditedPath {
        path: String,
    }
    #[derive(serde::Deserialize)]
    struct Patch {
        input: String,
    }
    match call.name.as_str() {
        "edit_file" | "write_file" => {
            let edited = serde_json::from_str::<EditedPath>(&call.arguments);
            edited.map(|edited| edited.path).into_iter().collect()
        }
        APPLY_PATCH => {
            let patch = serde_json::from_str::<Patch>(&call.arguments);
            let names =
                patch.map(|patch| files_of(&patch.input).names.into_iter().map(str::to_owned).collect());
            names.unwrap_or_default()
        }
        _ => Vec::new(),
    }
}
