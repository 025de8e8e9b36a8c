//! A task that is too long for a small context window: it reads part after part, and the conversation is compacted once.
//!
//! Never decides when: the server does.

use serde_json::json;

use crate::model::{Reply, Request};

/// The settings of the provider under which the task is too long.
pub const SETTINGS: &str = "context_window = 12000";
/// The last words of the task.
pub const LAST: &str = "All parts are read.";
/// A line of the summary.
pub const GOAL: &str = "Read all parts and say what they have in common.";

const PARTS: usize = 30;

/// Returns files of less than 2 KiB each: larger outputs make way by themselves.
pub fn fixture() -> String {
    let text = "the quick brown fox jumps over the lazy dog\n".repeat(40);
    (1..=PARTS).map(|part| format!("//- /parts/part{part}.txt\n{text}")).collect()
}

/// Returns a model that reads until it is asked for a summary, of which `summary` makes the reply, and then ends.
pub fn model(mut summary: impl FnMut(Reply) -> Reply + Send) -> impl FnMut(&Request) -> Reply + Send {
    let (mut part, mut is_summarised) = (0, false);
    move |request| {
        if is_summarised || part == PARTS {
            return Reply::text(LAST);
        }
        if String::from_utf8_lossy(&request.body).contains("conversation is about to be shortened") {
            is_summarised = true;
            let others =
                ["Done", "Files", "Decisions", "Open", "Next"].map(|name| format!("## {name}\n- none\n"));
            return summary(Reply::text(&format!("## Goal\n{GOAL}\n{}", others.concat())));
        }
        part += 1;
        Reply::call("read_file", json!({ "path": format!("parts/part{part}.txt") }))
    }
}
