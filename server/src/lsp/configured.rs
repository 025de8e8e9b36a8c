//! What the client may change while the server runs: its settings and its workspace folders.
//!
//! Takes effect in the order of arrival, also of answers: a prompt behind an answer sees what the
//! answer said. Never makes a prompt wait for the client.

use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use adjutant_core::display::one_line;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tower_lsp::ls_types::{InitializeParams, WorkspaceFolder, WorkspaceFoldersChangeEvent};

use crate::doors::fallbacks::Surfaces;
use crate::session::World;
use crate::settings::{Sources, load};
use crate::transport::{Out, PendingReply, ReplyError};
use crate::uri;

/// How long the client may take to say what its settings are; then those it said before count.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// Workspace folders one client may have; the rest are left out, and that is told.
const MAX_FOLDERS: usize = 1_000;
/// Characters of a folder in a message.
const MAX_SHOWN: usize = 200;

type Answer = Result<Box<serde_json::value::RawValue>, ReplyError>;

/// Settings and folders as the client says they are.
pub struct Configured {
    /// Its roots are the workspace folders.
    sources: Mutex<Sources>,
    /// Whether the section of the editor was ever there: until then `initializationOptions` count.
    pulled: Mutex<bool>,
    /// The settings that were asked for last and did not come yet.
    pending: Mutex<Pending>,
    /// Somebody looked at `pending`, so whoever waits for it has to look again.
    looked: Notify,
}

#[derive(Default)]
struct Pending {
    reply: Option<PendingReply>,
    /// How often they were asked for: who waits for an older reply leaves this one alone.
    asked: u64,
}

impl Configured {
    pub fn new(sources: Sources) -> Self {
        Self {
            sources: Mutex::new(sources),
            pulled: Mutex::default(),
            pending: Mutex::default(),
            looked: Notify::new(),
        }
    }

    /// The folders that later sessions get.
    pub fn folders(&self) -> Vec<PathBuf> {
        lock(&self.sources).roots.clone()
    }

    /// Takes another section of the editor; runs keep their settings. Returns what is wrong with it.
    pub fn push(&self, world: &World, section: Value) -> Vec<String> {
        // eglot sends an empty object after `initialize` where its user has set nothing: then what
        // `initializationOptions` say counts.
        let is_empty = section.as_object().is_some_and(|keys| keys.is_empty());
        if says_nothing(&section) || (is_empty && !*lock(&self.pulled)) {
            return Vec::new();
        }
        lock(&self.pending).reply = None;
        self.looked.notify_one();
        self.take_section(world, section)
    }

    fn take_section(&self, world: &World, section: Value) -> Vec<String> {
        if !section.is_object() {
            return vec![not_an_object(&section)];
        }
        *lock(&self.pulled) = true;
        let mut sources = lock(&self.sources);
        sources.editor = Some(section);
        reload(world, &sources)
    }

    /// Takes folders in and out; sessions keep those they began with. Returns what is wrong with them.
    pub fn change_folders(&self, world: &World, event: &WorkspaceFoldersChangeEvent) -> Vec<String> {
        let (added, mut problems) = paths(&event.added);
        let (removed, _) = paths(&event.removed);
        let mut sources = lock(&self.sources);
        sources.roots.retain(|folder| !removed.contains(folder));
        for folder in added {
            if !sources.roots.contains(&folder) {
                sources.roots.push(folder);
            }
        }
        bound(&mut sources.roots, &mut problems);
        // Sessions go on in folders that were closed, so their names stay known.
        world.documents.add_folders(&sources.roots);
        problems.extend(reload(world, &sources));
        problems
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
    pub async fn pulled(&self, world: &World, asked: u64) -> Vec<String> {
        let answer = self.answered(asked, ANSWER_LIMIT).await;
        self.take(world, answer)
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
    pub fn catch_up(&self, world: &World) -> Vec<String> {
        if lock(&self.pending).reply.is_none() {
            return Vec::new();
        }
        match self.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => self.take(world, answer),
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

    fn take(&self, world: &World, answer: Option<Answer>) -> Vec<String> {
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
        let first = !*lock(&self.pulled);
        let said = section.filter(|section| match section {
            Value::Object(keys) => !(first && keys.is_empty()),
            other => !says_nothing(other),
        });
        said.map(|section| self.take_section(world, section)).unwrap_or_default()
    }
}

/// Returns the folders in the order that a session about this document gets them: the one that holds
/// it is the first, in which its commands run. Looks at the disk.
pub fn folders_for(mut folders: Vec<PathBuf>, uri: &str) -> Vec<PathBuf> {
    let Ok(path) = uri::to_path(uri) else { return folders };
    // Of folders within folders the inner one is meant.
    let holds = |folder: &Path| {
        let named = path.starts_with(folder);
        let resolved = || folder.canonicalize().is_ok_and(|resolved| path.starts_with(resolved));
        (named || resolved()).then(|| folder.components().count())
    };
    let home = folders.iter().enumerate().filter_map(|(at, folder)| Some((holds(folder)?, at)));
    if let Some((_, at)) = home.max_by_key(|(depth, at)| (*depth, std::cmp::Reverse(*at))) {
        let home = folders.remove(at);
        folders.insert(0, home);
    }
    folders
}

/// Whether settings are how a client writes "there are none": null, or an empty text or list.
pub fn says_nothing(settings: &Value) -> bool {
    match settings {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Says that settings have the wrong shape, so that those from before stay in use.
fn not_an_object(settings: &Value) -> String {
    let shape = match settings {
        Value::Array(_) => "a list",
        Value::String(_) => "a text",
        _ => "a single value",
    };
    format!(
        "the editor's settings for \"adjutant\" are {shape}, so they are not used. Write them as an object, such as \
         {{\"model\": \"PROVIDER/MODEL\"}}"
    )
}

fn lock<T>(slot: &Mutex<T>) -> MutexGuard<'_, T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

fn reload(world: &World, sources: &Sources) -> Vec<String> {
    let loaded = load(sources);
    world.set_settings(loaded.settings);
    loaded.problems.iter().map(ToString::to_string).collect()
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
        bound(&mut folders, &mut problems);
        return (folders, problems);
    }
    #[allow(deprecated)]
    let root = params.root_uri.iter().map(|uri| uri.as_str());
    readable(root)
}

/// Leaves out the folders that are too many, and says so.
fn bound(folders: &mut Vec<PathBuf>, problems: &mut Vec<String>) {
    if folders.len() > MAX_FOLDERS {
        problems.push(format!("only the first {MAX_FOLDERS} workspace folders are used"));
        folders.truncate(MAX_FOLDERS);
    }
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

/// Returns the folders that a client added.
pub fn added(event: &WorkspaceFoldersChangeEvent) -> Vec<PathBuf> {
    paths(&event.added).0
}

/// Says in which of these workspace folders nothing can be read. Waits for the disk.
pub async fn absent(folders: Vec<PathBuf>) -> Vec<String> {
    let look = move || folders.iter().take(MAX_FOLDERS).filter_map(|folder| not_there(folder)).collect();
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}

/// Says why nothing can be read in a workspace folder. It stays one: it may be made later.
fn not_there(folder: &Path) -> Option<String> {
    let why = match std::fs::metadata(folder) {
        Ok(found) if found.is_dir() => return None,
        Ok(_) => "is not a folder",
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "does not exist",
        Err(_) => "cannot be read",
    };
    let folder = one_line(&folder.to_string_lossy(), MAX_SHOWN);
    Some(format!("a workspace folder {why}, so Adjutant does nothing there. Open another folder: {folder}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::channel;

    #[tokio::test]
    async fn who_waited_in_vain_leaves_alone_what_was_asked_since() {
        let (out, _parts) = channel();
        let configured = Configured::new(Sources::default());
        let (first, second) = (configured.pull(&out), configured.pull(&out));
        assert!(configured.answered(first, Duration::ZERO).await.is_none());
        assert!(lock(&configured.pending).reply.is_some(), "its answer may still come");
        assert!(configured.answered(second, Duration::ZERO).await.is_none());
        assert!(lock(&configured.pending).reply.is_none());
    }
}
