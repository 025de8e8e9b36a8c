//! `textDocument/hover`: who wrote the line under the cursor, and why.
//!
//! Never reads a log for it: the registry of applied changes knows. Whatever a model or a file wrote stands in blocks of code
//! that it cannot end.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use adjutant_core::text::display::{one_line, shown};
use adjutant_protocol::review::ReviewHunk;
use adjutant_protocol::update::HunkState;
use tower_lsp::ls_types::{Hover, HoverContents, HoverParams, MarkupContent, MarkupKind};

use crate::agent::Agent;
use crate::aside::aside;
use crate::clock::now_ms;
use crate::origin::Origin;
use crate::sessions::unreviewed;

/// Lines of the text before a change; more are counted.
const MOST_LINES: usize = 60;
/// Characters of one of them, or of a value.
const MOST_CHARACTERS: usize = 200;
/// Changes that are explained at one line.
const MOST_CHANGES: usize = 3;
/// How often sessions that are not in memory are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// When sessions that are not in memory were looked for.
#[derive(Default)]
pub(super) struct LastSearch(Mutex<Option<Instant>>);

impl LastSearch {
    /// Reads the changes of sessions that are not in memory: at the first hover before it is answered, later beside it.
    async fn search(&self, agent: &Agent) {
        let (sessions, folders) = (agent.sessions.clone(), agent.configured.folders());
        let search = async move { drop(unreviewed::load(&sessions, folders, true).await) };
        let is_first = {
            let mut last = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            match last.replace(Instant::now()) {
                None => true,
                Some(then) if then.elapsed() >= LOOK_EVERY => false,
                then @ Some(_) => {
                    *last = then;
                    return;
                }
            }
        };
        let searching = tokio::spawn(search);
        if is_first {
            let _ = searching.await;
        }
    }
}

/// Returns what is known of the line of a position; `None` if Adjutant did not write it.
pub(super) async fn at(agent: &Agent, searches: &LastSearch, params: &HoverParams) -> Option<Hover> {
    searches.search(agent).await;
    let position = &params.text_document_position_params;
    let (uri, line) = (position.text_document.uri.as_str().to_owned(), position.position.line);
    let world = agent.sessions.world().clone();
    let surfaces = world.link.surfaces().clone();
    let here = world.clone();
    let (hunks, own) = aside(move || {
        let (reviews, documents) = (&here.reviews, &here.documents);
        (reviews.of_open(documents, &uri), reviews.open_line(documents, &uri, line))
    })
    .await;
    let is_shown = |hunk: &&ReviewHunk| match hunk.state {
        // A client that draws changes explains them itself.
        HunkState::Applied | HunkState::Amended => !surfaces.hunks,
        // What was removed and kept has no line.
        HunkState::Kept => hunk.end_line.is_some_and(|end| end > hunk.line),
        _ => false,
    };
    let found = hunks.iter().rev().filter(is_shown).filter(|hunk| hunk.lines().contains(&line));
    let own = own.as_deref();
    let blocks = found.filter_map(|hunk| explained(hunk, line, own, surfaces.hover_markdown));
    let blocks: Vec<String> = blocks.take(MOST_CHANGES).collect();
    let (kind, between) = match surfaces.hover_markdown {
        true => (MarkupKind::Markdown, "\n\n---\n\n"),
        false => (MarkupKind::PlainText, "\n\n"),
    };
    let value = blocks.join(between);
    (!value.is_empty())
        .then_some(Hover { contents: HoverContents::Markup(MarkupContent { kind, value }), range: None })
}

/// Returns who wrote a line of a hunk and, if nobody has looked at it, the lines that were there before.
fn explained(hunk: &ReviewHunk, line: u32, own: Option<&str>, markdown: bool) -> Option<String> {
    let origin = Origin::of(hunk, line, own, now_ms())?;
    let mut text = one_line(&origin.headline, MOST_CHARACTERS);
    for (label, value) in &origin.rows {
        text.push_str(&format!("\n{label:<10}{}", one_line(value, MOST_CHARACTERS)));
    }
    let removed: Vec<&str> = hunk.removed.lines().collect();
    if !hunk.is_unreviewed() || removed.is_empty() {
        return Some(if markdown { fenced(&text, "text") } else { text });
    }
    let mut before: Vec<String> =
        removed.iter().take(MOST_LINES).map(|line| format!("-{}", shortened(line))).collect();
    if let Some(more) = removed.len().checked_sub(MOST_LINES).filter(|more| *more > 0) {
        before.push(format!("({more} more lines)"));
    }
    let before = before.join("\n");
    Some(match markdown {
        true => format!("{}\n\n{}", fenced(&text, "text"), fenced(&before, "diff")),
        false => format!("{text}\nbefore:\n{before}"),
    })
}

/// Returns a line with its blanks, with escapes for hidden characters, cut visibly.
fn shortened(line: &str) -> String {
    let mut text: String = line.chars().take(MOST_CHARACTERS).collect();
    if text.len() < line.len() {
        text.push('\u{2026}');
    }
    shown(&text).into_owned()
}

/// Returns a block of code that its text cannot end.
fn fenced(text: &str, language: &str) -> String {
    let runs = text.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n09_no_text_ends_its_block() {
        for text in ["", "a", "```", "a\n````\nb", "``` `````", "~~~"] {
            let block = fenced(text, "text");
            let (fence, rest) = block.split_once("text\n").expect("a fence");
            assert!(fence.chars().all(|c| c == '`') && fence.len() >= 3, "{block}");
            let inside = rest.strip_suffix(fence).expect("it ends with its fence");
            assert!(!inside.contains(fence), "{block}");
        }
    }
}
