//! `adjutant.cancel`, and the cancel button of a progress.
//!
//! Never waits for a run to end: it posts the cancel and names the cancelled runs.

use adjutant_core::text::display::one_line;
use adjutant_protocol::SessionId;
use adjutant_protocol::commands::CancelArguments;
use adjutant_protocol::errors::ErrorName;
use serde_json::{Value, json};
use tower_lsp::ls_types::{NumberOrString, WorkDoneProgressCancelParams};

use super::say;
use crate::agent::{Agent, Result};
use crate::client::{Level, OpenRun};
use crate::session::mailbox::ClientError;

/// Titles in one message.
const MAX_NAMED: usize = 5;
/// Characters of each.
const MAX_TITLE: usize = 60;

/// Serves `adjutant.cancel`.
pub(super) async fn cancel_command(agent: &Agent, arguments: CancelArguments) -> Result<Option<Value>> {
    let named = arguments.session_id.is_some() || arguments.run_id.is_some();
    let every = named || arguments.all;
    let mut cancelled = if every { open_runs(agent, &arguments) } else { Vec::new() };
    cancelled.iter().for_each(|run| cancel(agent, run));
    // A start right before counts as well, and is no run until its prompt is durable.
    agent.starts.answered().await;
    let mut left = open_runs(agent, &arguments);
    left.retain(|run| cancelled.iter().all(|known| known.run_id != run.run_id));
    let more = if every {
        std::mem::take(&mut left)
    } else {
        remove_default(&mut left, agent.starts.last().as_ref()).into_iter().collect()
    };
    more.iter().for_each(|run| cancel(agent, run));
    cancelled.extend(more);
    if cancelled.is_empty() {
        let why = if named { "that run is not open, so nothing was cancelled" } else { "nothing runs" };
        return Err(ClientError::new(ErrorName::RunMismatch, why).into());
    }
    say_which(agent, &cancelled, &left);
    let cancelled = cancelled
        .iter()
        .map(|run| json!({ "sessionId": run.session_id, "runId": run.run_id, "title": run.title }));
    Ok(Some(json!({ "cancelled": cancelled.collect::<Vec<_>>() })))
}

/// Handles the cancel button of a progress.
pub(in crate::lsp) fn progress_cancelled(agent: &Agent, params: &WorkDoneProgressCancelParams) {
    let token = match &params.token {
        NumberOrString::String(token) => token,
        // Adjutant's tokens are strings.
        NumberOrString::Number(_) => return,
    };
    if let Some(run) = agent.sessions.world().link.items().run_of_token(token) {
        cancel(agent, &run);
    }
}

/// Returns the open runs that the arguments do not exclude, in the order they began.
fn open_runs(agent: &Agent, arguments: &CancelArguments) -> Vec<OpenRun> {
    let CancelArguments { session_id, run_id, .. } = arguments;
    let mut runs = agent.sessions.world().link.items().open_runs();
    runs.retain(|run| {
        session_id.as_ref().is_none_or(|session| *session == run.session_id)
            && run_id.as_ref().is_none_or(|id| *id == run.run_id)
    });
    runs
}

/// Removes and returns the run that a cancel without arguments means: the run of the session that the
/// user used last, else the newest.
fn remove_default(runs: &mut Vec<OpenRun>, last: Option<&SessionId>) -> Option<OpenRun> {
    let at = runs.iter().position(|run| Some(&run.session_id) == last);
    at.or(runs.len().checked_sub(1)).map(|at| runs.remove(at))
}

fn cancel(agent: &Agent, run: &OpenRun) {
    if let Some(mailbox) = agent.sessions.in_memory(&run.session_id) {
        // The call has posted it; the answer is not awaited.
        drop(mailbox.cancel(Some(run.run_id.clone())));
    }
}

/// Shows which runs were cancelled, unless only one was open.
fn say_which(agent: &Agent, cancelled: &[OpenRun], left: &[OpenRun]) {
    if let [_, _, ..] = cancelled {
        let text = format!("cancelled {} runs: {}", cancelled.len(), titles(cancelled));
        say(agent, Level::Info, &text);
    } else if !left.is_empty() {
        let (ended, open) = (titles(cancelled), titles(left));
        say(agent, Level::Info, &format!("cancelled {ended}. Still open: {open}"));
    }
}

/// Returns the titles of runs in one line.
fn titles(runs: &[OpenRun]) -> String {
    let named = runs.iter().take(MAX_NAMED).map(|run| format!("“{}”", one_line(&run.title, MAX_TITLE)));
    let more = runs.len().saturating_sub(MAX_NAMED);
    named.chain((more > 0).then(|| format!("and {more} more"))).collect::<Vec<_>>().join(", ")
}
