//! Settings and workspace folders as LSP says them.
//!
//! The settings are pushed, or asked for and taken in the order of arrival, also of answers: a prompt
//! behind an answer sees what the answer said. Never makes a prompt wait for the client.

use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use tower_lsp::ls_types::{InitializeParams, WorkspaceFolder, WorkspaceFoldersChangeEvent};

use crate::agent::Agent;
use crate::agent::configured::{bound, says_nothing};
use crate::client::surfaces::Surfaces;
use crate::transport::{Out, PendingReply, ReplyError};
use crate::uri;

/// How long the client may take to say what its settings are; then those it said before count.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

type Answer = Result<Box<serde_json::value::RawValue>, ReplyError>;

/// The settings that the client was asked for.
#[derive(Default)]
pub struct Pulls {
    /// Those that were asked for last and did not come yet.
    pending: Mutex<PendingPull>,
    /// Somebody looked at `pending`, so whoever waits for it has to look again.
    looked: Notify,
}

#[derive(Default)]
struct PendingPull {
    reply: Option<PendingReply>,
    /// How often they were asked for: who waits for an older reply leaves this one alone.
    asked: u64,
}

impl Pulls {
    /// Takes settings that the client pushed. Returns what is wrong with them.
    pub fn push(&self, agent: &Agent, section: Value) -> Vec<String> {
        // eglot sends an empty object after `initialize` where its user has set nothing: then what
        // `initializationOptions` say counts.
        let is_empty = section.as_object().is_some_and(|keys| keys.is_empty());
        if says_nothing(&section) || (is_empty && !agent.configured.was_said()) {
            return Vec::new();
        }
        lock(&self.pending).reply = None;
        self.looked.notify_one();
        agent.configured.set_section(agent.sessions.world(), section)
    }

    /// Asks the client for its settings, and returns how often it was asked by now. What was asked
    /// before is not waited for any more.
    pub fn pull(&self, out: &Out) -> u64 {
        let params = json!({ "items": [{ "section": "adjutant" }] });
        let mut pending = lock(&self.pending);
        pending.reply = Some(out.request("workspace/configuration", &params));
        pending.asked += 1;
        self.looked.notify_one();
        pending.asked
    }

    /// Waits for what was asked for, and takes it unless a handler has done so. Bounded.
    pub async fn pulled(&self, agent: &Agent, asked: u64) -> Vec<String> {
        let answer = self.answered(asked, ANSWER_LIMIT).await;
        apply_answer(agent, answer)
    }

    async fn answered(&self, asked: u64, limit: Duration) -> Option<Answer> {
        let answered = async {
            loop {
                let looked = self.looked.notified();
                tokio::select! {
                    answer = poll_fn(|cx| self.poll(cx)) => return answer,
                    () = looked => {}
                }
            }
        };
        match tokio::time::timeout(limit, answered).await {
            Ok(answer) => answer,
            Err(_) => {
                tracing::warn!("the client did not say what its settings are");
                let mut pending = lock(&self.pending);
                if pending.asked == asked {
                    pending.reply = None;
                }
                None
            }
        }
    }

    /// Takes an answer that has arrived already: handlers call it first, so that nothing which was
    /// sent behind the answer overtakes it.
    pub fn catch_up(&self, agent: &Agent) -> Vec<String> {
        if lock(&self.pending).reply.is_none() {
            return Vec::new();
        }
        match self.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => apply_answer(agent, answer),
            Poll::Pending => {
                self.looked.notify_one();
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
            tracing::info!(%error, "the client does not say what its settings are");
            None
        }
    };
    // Clients answer null, an empty object or nothing for a section they do not have.
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

/// Where a client sends its settings only on request, requests it; the reply says nothing to us.
pub async fn register(out: &Out, surfaces: &Surfaces) {
    if !surfaces.register_configuration {
        return;
    }
    let registration = json!({
        "id": "adjutant-configuration",
        "method": "workspace/didChangeConfiguration",
        "registerOptions": { "section": "adjutant" },
    });
    let reply = out.request("client/registerCapability", &json!({ "registrations": [registration] }));
    if let Ok(Err(error)) = tokio::time::timeout(ANSWER_LIMIT, reply).await {
        tracing::info!(%error, "the client does not tell of changed settings");
    }
}

/// The folders of `initialize`, and what is wrong with them.
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

/// Takes folders in and out, and returns what is wrong with them.
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

/// Folders that are no files are somebody else's; a file of another machine is a mistake to tell.
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
