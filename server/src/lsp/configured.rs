//! Settings and workspace folders in LSP.
//!
//! Clients push settings, or Adjutant pulls them. They apply in the order of arrival, answers included: a
//! prompt after an answer uses its settings. Never makes a prompt wait for the client.

use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use tower_lsp::ls_types::{InitializeParams, WorkspaceFolder, WorkspaceFoldersChangeEvent};

use super::prompt_buffers;
use crate::agent::Agent;
use crate::agent::configured::{bound, says_nothing};
use crate::client::surfaces::Surfaces;
use crate::transport::{Out, PendingReply, ReplyError};
use crate::uri;

/// How long the client may take to answer with its settings; after that the earlier ones count.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

type Answer = Result<Box<serde_json::value::RawValue>, ReplyError>;

/// The requests for the client's settings.
#[derive(Default)]
pub struct Pulls {
    /// The last request, until its answer has come.
    pending: Mutex<PendingPull>,
    /// `pending` was polled or replaced, so its waiter must poll it again.
    polled: Notify,
}

#[derive(Default)]
struct PendingPull {
    reply: Option<PendingReply>,
    /// The number of the request: a waiter for an older one does not remove this reply.
    number: u64,
}

impl Pulls {
    /// Applies settings that the client pushed. Returns their problems.
    pub fn push(&self, agent: &Agent, section: Value) -> Vec<String> {
        // If its user has set nothing, eglot sends an empty object after `initialize`. Then
        // `initializationOptions` count.
        let is_empty = section.as_object().is_some_and(|keys| keys.is_empty());
        if says_nothing(&section) || (is_empty && !agent.configured.was_said()) {
            return Vec::new();
        }
        lock(&self.pending).reply = None;
        self.polled.notify_one();
        agent.configured.set_section(agent.sessions.world(), section)
    }

    /// Asks the client for its settings, and returns the number of the request. It replaces an earlier one.
    pub fn pull(&self, out: &Out) -> u64 {
        let params = json!({ "items": [{ "section": "adjutant" }] });
        let mut pending = lock(&self.pending);
        pending.reply = Some(out.request("workspace/configuration", &params));
        pending.number += 1;
        self.polled.notify_one();
        pending.number
    }

    /// Waits for the answer to a request, and applies it unless a handler has done so. Bounded in time.
    pub async fn pulled(&self, agent: &Agent, number: u64) -> Vec<String> {
        let answer = self.answered(number, ANSWER_LIMIT).await;
        apply_answer(agent, answer)
    }

    async fn answered(&self, number: u64, limit: Duration) -> Option<Answer> {
        let answered = async {
            loop {
                let polled = self.polled.notified();
                tokio::select! {
                    answer = poll_fn(|cx| self.poll(cx)) => return answer,
                    () = polled => {}
                }
            }
        };
        match tokio::time::timeout(limit, answered).await {
            Ok(answer) => answer,
            Err(_) => {
                tracing::warn!("the client did not answer with its settings in time");
                let mut pending = lock(&self.pending);
                if pending.number == number {
                    pending.reply = None;
                }
                None
            }
        }
    }

    /// Applies an answer that has already arrived. Handlers call it first, so that no later message
    /// overtakes the answer.
    pub fn catch_up(&self, agent: &Agent) -> Vec<String> {
        if lock(&self.pending).reply.is_none() {
            return Vec::new();
        }
        match self.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => apply_answer(agent, answer),
            Poll::Pending => {
                self.polled.notify_one();
                Vec::new()
            }
        }
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<Answer>> {
        let mut pending = lock(&self.pending);
        let Some(reply) = pending.reply.as_mut() else { return Poll::Ready(None) };
        let answer = Pin::new(reply).poll(cx).map(Some);
        if answer.is_ready() {
            pending.reply = None;
        }
        answer
    }
}

fn apply_answer(agent: &Agent, answer: Option<Answer>) -> Vec<String> {
    let section = match answer {
        None => return Vec::new(),
        Some(Ok(values)) => {
            serde_json::from_str::<Vec<Value>>(values.get()).unwrap_or_default().into_iter().next()
        }
        Some(Err(error)) => {
            tracing::info!(%error, "the client refuses to answer with its settings");
            None
        }
    };
    // Clients answer null, an empty object or nothing for a section that they do not have.
    let first = !agent.configured.was_said();
    let said = section.filter(|section| match section {
        Value::Object(keys) => !(first && keys.is_empty()),
        other => !says_nothing(other),
    });
    said.map(|section| agent.configured.set_section(agent.sessions.world(), section)).unwrap_or_default()
}

fn lock<T>(slot: &Mutex<T>) -> MutexGuard<'_, T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers for changed settings, changed files and completion in prompt buffers, if the client needs that. The content of the reply does not matter.
pub async fn register(out: &Out, surfaces: &Surfaces) {
    let settings = json!({
        "id": "adjutant-configuration",
        "method": "workspace/didChangeConfiguration",
        "registerOptions": { "section": "adjutant" },
    });
    let files = json!({
        "id": "adjutant-files",
        "method": "workspace/didChangeWatchedFiles",
        "registerOptions": { "watchers": [{ "globPattern": "**/*" }] },
    });
    let wanted = [
        (surfaces.register_configuration, settings),
        (surfaces.register_files, files),
        (surfaces.completion && surfaces.register_completion, prompt_buffers::registration()),
    ];
    let registrations: Vec<Value> = wanted
        .into_iter()
        .filter(|(is_wanted, _)| *is_wanted)
        .map(|(_, registration)| registration)
        .collect();
    if registrations.is_empty() {
        return;
    }
    let reply = out.request("client/registerCapability", &json!({ "registrations": registrations }));
    if let Ok(Err(error)) = tokio::time::timeout(ANSWER_LIMIT, reply).await {
        tracing::info!(%error, "the client does not report changed settings or files");
    }
}

/// Returns the folders of `initialize`, and their problems.
pub fn first_folders(params: &InitializeParams) -> (Vec<PathBuf>, Vec<String>) {
    if let Some(folders) = &params.workspace_folders {
        let (mut folders, mut problems) = paths(folders);
        problems.extend(bound(&mut folders));
        return (folders, problems);
    }
    #[allow(deprecated)]
    let root = params.root_uri.iter().map(|uri| uri.as_str());
    readable(root)
}

/// Adds and removes folders, and returns their problems.
pub fn change_folders(agent: &Agent, event: &WorkspaceFoldersChangeEvent) -> Vec<String> {
    let (added, mut problems) = paths(&event.added);
    let (removed, _) = paths(&event.removed);
    problems.extend(agent.configured.change_folders(agent.sessions.world(), added, &removed));
    problems
}

/// Returns the folders that a client added.
pub fn added(event: &WorkspaceFoldersChangeEvent) -> Vec<PathBuf> {
    paths(&event.added).0
}

fn paths(folders: &[WorkspaceFolder]) -> (Vec<PathBuf>, Vec<String>) {
    readable(folders.iter().map(|folder| folder.uri.as_str()))
}

/// Returns the paths of folders, and the problems to show. Other schemes are left out silently; a `file:`
/// URI of another machine is a problem.
fn readable<'a>(uris: impl Iterator<Item = &'a str>) -> (Vec<PathBuf>, Vec<String>) {
    let (mut folders, mut problems) = (Vec::new(), Vec::new());
    for uri in uris {
        match uri::to_path(uri) {
            Ok(path) => folders.push(path),
            Err(why) if uri.starts_with("file:") => {
                problems.push(format!("a workspace folder is left out: {why}"))
            }
            Err(why) => tracing::info!(%why, "a workspace folder is left out"),
        }
    }
    (folders, problems)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::channel;

    #[tokio::test]
    async fn who_waited_in_vain_leaves_alone_what_was_asked_since() {
        let (out, _parts) = channel();
        let pulls = Pulls::default();
        let (first, second) = (pulls.pull(&out), pulls.pull(&out));
        assert!(pulls.answered(first, Duration::ZERO).await.is_none());
        assert!(lock(&pulls.pending).reply.is_some(), "its answer may still come");
        assert!(pulls.answered(second, Duration::ZERO).await.is_none());
        assert!(lock(&pulls.pending).reply.is_none());
    }
}
