//! `textDocument/codeLens`: keep or undo above each applied change.
//!
//! Never over a text that the changes were not found in: then there are none, and the client asks again.

use adjutant_protocol::commands::REVIEW;
use adjutant_protocol::review::ReviewHunk;
use tower_lsp::ls_types::{CodeLens, CodeLensParams, Command, Position, Range};

use super::actions::changes::{arguments, decisions, drawn};
use crate::agent::Agent;
use crate::documents::Text;

/// Returns the lenses of a document.
pub(super) async fn of_document(agent: &Agent, params: &CodeLensParams) -> Vec<CodeLens> {
    let world = agent.sessions.world();
    let uri = params.text_document.uri.as_str();
    let hunks = drawn(world, uri).await;
    let Text::Open(now) = world.documents.under(uri) else { return Vec::new() };
    // A change that removed the end of a text is below its last line.
    let last = u32::try_from(now.text.len_lines().saturating_sub(1)).unwrap_or(u32::MAX);
    hunks.iter().filter(|hunk| hunk.is_unreviewed()).flat_map(|hunk| of_hunk(hunk, last)).collect()
}

fn of_hunk(hunk: &ReviewHunk, last: u32) -> impl Iterator<Item = CodeLens> + '_ {
    let start = Position { line: hunk.line.min(last), character: 0 };
    decisions(hunk).into_iter().map(move |(title, action)| {
        let arguments = Some(vec![arguments(action, std::slice::from_ref(hunk))]);
        let command = Command { title, command: REVIEW.to_owned(), arguments };
        CodeLens { range: Range { start, end: start }, command: Some(command), data: None }
    })
}
