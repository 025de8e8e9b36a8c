//! `adjutant.review`: keeps, undoes or restores applied changes.
//!
//! Undoes text of the user only if the caller names the text that was shown.

use adjutant_core::wire::deciding::in_decisions;
use adjutant_protocol::commands::{ChosenHunks, ReviewArguments};
use adjutant_protocol::review::{
    ReviewAction, ReviewDecideParams, ReviewHunk, ReviewListParams, ReviewTarget,
};
use serde_json::{Value, json};

use super::say;
use crate::agent::{Agent, Result};
use crate::client::Level;
use crate::transport::ErrorBody;

/// Serves the command, and returns how many changes were decided.
pub(super) async fn review_command(agent: &Agent, arguments: ReviewArguments) -> Result<Option<Value>> {
    let ReviewArguments { action, uri, line, targets } = arguments;
    if matches!(action, ReviewAction::Apply | ReviewAction::Reject) {
        let why = "this command is for changes that are applied; answer a question with adjutant.respond";
        return Err(ErrorBody::invalid_params(why));
    }
    let targets = if targets.is_empty() { listed(agent, action, uri, line).await? } else { targets };
    if targets.is_empty() {
        return Err(ErrorBody::invalid_params("there is no change to decide about here"));
    }
    let (mut done, mut refused) = (0, Vec::new());
    for params in in_order(action, targets) {
        for hunk in agent.review_decide(params).await?.hunks {
            match hunk.why {
                Some(why) => refused.push(why),
                None => done += 1,
            }
        }
    }
    if let Some(why) = refused.first() {
        let verb = if action == ReviewAction::Undo { "undone" } else { "changed" };
        let text = match refused.len() {
            1 => format!("A change was not {verb}: {why}."),
            several => format!("{several} changes were not {verb}. The first: {why}."),
        };
        say(agent, Level::Warning, &text);
    }
    Ok(Some(json!({ "decided": done, "refused": refused.len() })))
}

/// Returns the decisions about targets in their order: neighbours of one session are one.
fn in_order(action: ReviewAction, targets: Vec<ChosenHunks>) -> Vec<ReviewDecideParams> {
    let mut decisions: Vec<ReviewDecideParams> = Vec::new();
    for ChosenHunks { session_id, change_set_id, hunk_ids, seen } in targets {
        let target = ReviewTarget { change_set_id, hunk_ids, seen };
        match decisions.last_mut().filter(|last| last.session_id == session_id) {
            Some(last) => last.targets.push(target),
            None => {
                decisions.push(ReviewDecideParams { session_id, targets: vec![target], action, reason: None })
            }
        }
    }
    decisions
}

/// Returns the changes at a line, of a document, or all, in the order of their decisions.
async fn listed(
    agent: &Agent,
    action: ReviewAction,
    uri: Option<String>,
    line: Option<u32>,
) -> Result<Vec<ChosenHunks>> {
    let all = agent.review_list(ReviewListParams { uri, ..ReviewListParams::default() }).await?.hunks;
    let is_there = |hunk: &ReviewHunk| line.is_none_or(|line| hunk.lines().contains(&line));
    let chosen = all.iter().filter(|hunk| hunk.is_unreviewed() && is_there(hunk));
    let chosen =
        in_decisions(action, chosen).into_iter().flat_map(|(_, hunks)| hunks).map(|hunk| ChosenHunks {
            session_id: hunk.session_id.clone(),
            change_set_id: hunk.change_set_id.clone(),
            hunk_ids: vec![hunk.hunk_id.clone()],
            seen: Default::default(),
        });
    Ok(chosen.collect())
}
