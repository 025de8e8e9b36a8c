//! `adjutant.undoRun`: undoes a whole run after a popup that says what it means.
//!
//! Never undoes anything but what the popup said.

use std::sync::Arc;

use adjutant_core::text::display::one_line;
use adjutant_protocol::commands::UndoRunArguments;
use adjutant_protocol::rewind::{PreviewParams, RewindParams, RewindPreview};
use serde_json::Value;

use super::say;
use crate::agent::{Agent, Result};
use crate::client::{Choice, Level, Offer};
use crate::transport::ErrorBody;

/// Lines and characters of a preview that a popup shows; of a longer one it has the first line and the counts.
const MOST_LINES: usize = 8;
const MOST_CHARS: usize = 800;
/// The button that changes nothing. It is the first, also if an editor sorts them.
const LEAVE: &str = "Leave as it is";

/// Serves the command. The user answers later.
pub(super) async fn undo_run_command(
    agent: &Arc<Agent>,
    arguments: UndoRunArguments,
) -> Result<Option<Value>> {
    let UndoRunArguments { session_id, run_id, later, restore } = arguments;
    let session_id = session_id.or_else(|| agent.starts.last()).ok_or_else(|| {
        ErrorBody::invalid_params(
            "nothing was started here yet; at a terminal use `adjutant review undo --run`",
        )
    })?;
    let preview = agent.review_preview(PreviewParams { session_id, run_id, later, restore }).await?;
    if preview.choices.is_empty() {
        say(agent, Level::Info, &preview.lines.join("\n"));
        return Ok(None);
    }
    let agent = agent.clone();
    // In a task of its own, because the editor may answer no request before it has this answer.
    tokio::spawn(async move {
        if let Err(error) = choose(&agent, preview).await {
            say(&agent, Level::Warning, &error.message);
        }
    });
    Ok(None)
}

async fn choose(agent: &Agent, preview: RewindPreview) -> Result<()> {
    let link = &agent.sessions.world().link;
    let option = |title: &str, id: &str, approves| {
        let choice = Choice::Option { id: id.to_owned(), approves };
        Offer { title: title.to_owned(), choice }
    };
    let mut buttons = vec![option(LEAVE, "leave", false)];
    for choice in &preview.choices {
        let id = if choice.user_lines { "all" } else { "own" };
        buttons.push(option(&choice.title, id, true));
    }
    let Ok(pressed) = link.choose(&text(&preview), &buttons).await else {
        let why = "this editor shows no popups; use `adjutant review undo --run` at a terminal";
        return Err(ErrorBody::invalid_params(why));
    };
    let user_lines = match pressed.as_deref() {
        Some("own") => false,
        Some("all") => true,
        _ => return Ok(()),
    };
    let RewindPreview { session_id, run_id, later, restore, expect, .. } = preview;
    let params = RewindParams { session_id, run_id, later, restore, expect, user_lines, reason: None };
    let decided = agent.review_rewind(params).await?.hunks;
    let why: Vec<String> = decided.iter().filter_map(|hunk| hunk.why.clone()).collect();
    let verb = if restore { "restored" } else { "undone" };
    match why.first() {
        None => say(agent, Level::Info, &format!("{} changes {verb}.", decided.len())),
        Some(first) => {
            let text =
                format!("{} of {} changes were not {verb}. The first: {first}.", why.len(), decided.len());
            say(agent, Level::Warning, &text);
        }
    }
    Ok(())
}

/// Returns the text of the popup.
fn text(preview: &RewindPreview) -> String {
    let whole = format!("Adjutant: {}", preview.lines.join("\n"));
    if preview.lines.len() <= MOST_LINES && whole.chars().count() <= MOST_CHARS {
        return whole;
    }
    let sum =
        |of: fn(&adjutant_protocol::rewind::FilePreview) -> u32| preview.files.iter().map(of).sum::<u32>();
    let left: u32 = preview.files.iter().flat_map(|file| &file.left).map(|left| left.hunks).sum();
    let first = preview.lines.first().map(|line| one_line(line, MOST_CHARS)).unwrap_or_default();
    format!(
        "Adjutant: {first}\nkept before: {}, with lines of yours: {}, left: {left}, commands not covered: {}\n\
         `adjutant review undo --run` at a terminal lists the files.",
        sum(|file| file.kept),
        sum(|file| file.user_hunks),
        preview.commands_run,
    )
}
