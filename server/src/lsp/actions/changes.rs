//! Applied changes as code actions: keep or undo the one at the cursor, or all of the document.
//!
//! A decision names exactly the hunks that were offered, and the text that the user sees in their place.

use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_core::text::review::plus_minus;
use adjutant_core::wire::deciding::in_decisions;
use adjutant_protocol::commands::{ChosenHunks, REVIEW, ReviewArguments};
use adjutant_protocol::review::{ReviewAction, ReviewHunk};
use adjutant_protocol::update::HunkState;
use serde_json::{Value, json};
use tower_lsp::ls_types::{CodeActionParams, Diagnostic};

use super::{ActionOffer, KEEP, UNDO, is_from_adjutant};
use crate::agent::Agent;
use crate::aside::aside;
use crate::session::World;

/// Returns the actions for the applied changes of a document.
pub(super) async fn offered(agent: &Agent, params: &CodeActionParams) -> Vec<ActionOffer> {
    let drawn = drawn(agent.sessions.world(), params.text_document.uri.as_str()).await;
    let all: Vec<ReviewHunk> = drawn.into_iter().filter(ReviewHunk::is_unreviewed).collect();
    let (from, to) = (params.range.start.line, params.range.end.line);
    // A change that only removed lines has its place before a line.
    let is_here = |hunk: &&ReviewHunk| hunk.line <= to && from < hunk.lines().end;
    let mut offers = Vec::new();
    for hunk in all.iter().filter(is_here) {
        let about: Vec<Diagnostic> =
            params.context.diagnostics.iter().filter(|one| is_of(one, hunk)).cloned().collect();
        for (title, action) in decisions(hunk) {
            let kind = if action == ReviewAction::Keep { KEEP } else { UNDO };
            offers.push(offer(title, kind, action, std::slice::from_ref(hunk), about.clone()));
        }
    }
    if all.len() > 1 && !offers.is_empty() {
        let count = all.len();
        // What the user changed is undone one by one, where it is seen.
        let exact: Vec<ReviewHunk> =
            all.iter().filter(|hunk| hunk.state == HunkState::Applied).cloned().collect();
        if exact.len() == count {
            let title = format!("Adjutant: Undo all {count} changes of this file");
            offers.push(offer(title, UNDO, ReviewAction::Undo, &exact, Vec::new()));
        }
        let title = format!("Adjutant: Yes, keep all {count} changes of this file");
        offers.push(offer(title, KEEP, ReviewAction::Keep, &all, Vec::new()));
    }
    offers
}

/// Returns the applied hunks of a document as the client shows them. Waits a moment for those of a document that was just opened.
pub(in crate::lsp) async fn drawn(world: &Arc<World>, uri: &str) -> Vec<ReviewHunk> {
    let items = world.link.items();
    let hunks = items.hunks_of(uri).await;
    if !hunks.is_empty() || world.reviews.is_empty() {
        return hunks;
    }
    let (here, document) = (world.clone(), uri.to_owned());
    if !aside(move || here.reviews.has_changes(&document)).await {
        return hunks;
    }
    items.catch_up().await;
    items.hunks_of(uri).await
}

/// Returns what a user can decide about an applied change, by the titles of a menu: sorted, undo is before keep.
pub(in crate::lsp) fn decisions(hunk: &ReviewHunk) -> [(String, ReviewAction); 2] {
    let size = plus_minus(hunk.inserted.lines().count(), hunk.removed.lines().count());
    let yours = match hunk.user_lines {
        0 if hunk.state == HunkState::Amended => " as you left it",
        0 => "",
        1 => " with your line",
        _ => " with your lines",
    };
    [
        (format!("Adjutant: Undo change{yours} ({size})"), ReviewAction::Undo),
        (format!("Adjutant: Yes, keep change{yours} ({size})"), ReviewAction::Keep),
    ]
}

fn is_of(diagnostic: &Diagnostic, hunk: &ReviewHunk) -> bool {
    is_from_adjutant(diagnostic)
        && match &diagnostic.data {
            Some(data) => data["hunkId"] == hunk.hunk_id && data["changeSetId"] == hunk.change_set_id.0,
            None => diagnostic.range.start.line == hunk.line,
        }
}

fn offer(
    title: String,
    kind: &'static str,
    action: ReviewAction,
    hunks: &[ReviewHunk],
    diagnostics: Vec<Diagnostic>,
) -> ActionOffer {
    let argument = arguments(action, hunks);
    ActionOffer {
        title,
        kind,
        command: REVIEW,
        argument,
        edit: None,
        generated: false,
        diagnostics,
        disabled: None,
    }
}

/// Returns the arguments of `adjutant.review` for exactly these hunks, with the text that the user sees in their place.
pub(in crate::lsp) fn arguments(action: ReviewAction, hunks: &[ReviewHunk]) -> Value {
    let mut targets: Vec<ChosenHunks> = Vec::new();
    for hunk in in_decisions(action, hunks).into_iter().flat_map(|(_, hunks)| hunks) {
        let is_same = |chosen: &ChosenHunks| {
            chosen.session_id == hunk.session_id && chosen.change_set_id == hunk.change_set_id
        };
        let at = targets.iter().position(is_same).unwrap_or_else(|| {
            let (session_id, change_set_id) = (hunk.session_id.clone(), hunk.change_set_id.clone());
            let (hunk_ids, seen) = (Vec::new(), BTreeMap::new());
            targets.push(ChosenHunks { session_id, change_set_id, hunk_ids, seen });
            targets.len() - 1
        });
        targets[at].hunk_ids.push(hunk.hunk_id.clone());
        targets[at].seen.extend(hunk.text.clone().map(|text| (hunk.hunk_id.clone(), text)));
    }
    json!(ReviewArguments { action, uri: None, line: None, targets })
}
