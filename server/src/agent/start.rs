//! `agent/start`: a place in a document becomes a prompt, in a new session or a given one.
//!
//! Makes no words for the model (core's `start` does) and never edits. The text
//! of an open document is the one it has when the request arrives.

use std::collections::VecDeque;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use adjutant_core::text::document::Snapshot;
use adjutant_core::wire::start::{Passage, Task, task};
use adjutant_protocol::SessionId;
use adjutant_protocol::origin::Origin;
use adjutant_protocol::session::{ContentBlock, Delivery, Overrides, PromptParams};
use adjutant_protocol::start::{StartParams, StartResult};
use tokio::sync::{RwLock, RwLockReadGuard};

use super::configured::folders_for;
use super::{Agent, Result, content, digest_of};
use crate::documents::Text;
use crate::session::World;
use crate::tools::paths::{ResolvedPath, Roots, open_read, resolve};
use crate::tools::protected::held_by;
use crate::transport::ErrorBody;

/// Keys of starts in new sessions that are remembered.
const MAX_KEYS: usize = 1_000;
/// The largest file on disk that lines are quoted from.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// Why nothing can be started at a document.
pub const NO_FOLDER: &str = "no workspace folder is open; open the folder of this file first";
pub const NO_FILE: &str = "this is no file yet; save it in the workspace first";
pub const OUTSIDE: &str = "this file is outside the workspace folders; open its folder first";

/// What was started by one connection.
#[derive(Default)]
pub struct Starts {
    shared: Mutex<StartedRun>,
    /// Read by each start until it is answered, so that what comes behind it can wait for it.
    under_way: RwLock<()>,
}

#[derive(Default)]
struct StartedRun {
    /// Which session a key made; within it, the session itself knows the key.
    keys: VecDeque<(String, SessionId)>,
    /// Where the user went on last.
    last: Option<SessionId>,
}

impl Starts {
    fn lock(&self) -> MutexGuard<'_, StartedRun> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a start; it is under way until the guard is dropped.
    pub async fn begun(&self) -> RwLockReadGuard<'_, ()> {
        self.under_way.read().await
    }

    /// Waits until the starts before this are answered, which waits for a disk and for no model.
    /// Later ones stay behind it.
    pub async fn answered(&self) {
        drop(self.under_way.write().await);
    }

    /// The session the user went on in last.
    pub fn last(&self) -> Option<SessionId> {
        self.lock().last.clone()
    }

    /// Notes where the user went on, and returns where that was before.
    pub fn went_on(&self, session: &SessionId) -> Option<SessionId> {
        self.lock().last.replace(session.clone())
    }

    /// Takes back a note about a session that cannot be opened.
    pub fn went_back(&self, session: &SessionId, before: Option<SessionId>) {
        let mut started = self.lock();
        if started.last.as_ref() == Some(session) {
            started.last = before;
        }
    }

    fn session_of(&self, key: &str) -> Option<SessionId> {
        self.lock().keys.iter().find(|(known, _)| known == key).map(|(_, session)| session.clone())
    }

    fn remember(&self, key: &str, session: &SessionId) {
        let mut started = self.lock();
        if started.keys.len() >= MAX_KEYS {
            started.keys.pop_front();
        }
        started.keys.push_back((key.to_owned(), session.clone()));
    }

    /// Forgets a session that came to nothing.
    fn forget(&self, session: &SessionId) {
        let mut started = self.lock();
        started.keys.retain(|(_, known)| known != session);
        started.last.take_if(|last| last == session);
    }
}

/// A place in the workspace as it was found.
struct FoundPlace {
    /// The workspace folders, first the one that holds it.
    folders: Vec<PathBuf>,
    display: String,
    /// None where lines are not quoted.
    text: Option<Snapshot>,
}

impl Agent {
    pub async fn start(&self, params: StartParams) -> Result<StartResult> {
        content::check_length(params.text.as_ref().map_or(0, String::len))
            .map_err(ErrorBody::invalid_params)?;
        let _under_way = self.starts.begun().await;
        let found = match &params.uri {
            Some(uri) => Some(find(self, uri).await.map_err(ErrorBody::invalid_params)?),
            None => None,
        };
        let encoding = self.sessions.world().documents.encoding();
        let passage = found.as_ref().map(|found| Passage {
            path: &found.display,
            text: found.text.as_ref().map(|snapshot| &snapshot.text),
            encoding,
        });
        let task =
            task(&params, passage.as_ref()).map_err(|why| ErrorBody::invalid_params(why.to_string()))?;
        let folders = found.map_or_else(|| self.configured.folders(), |found| found.folders);
        self.begin(params, task, &folders).await
    }

    /// Posts the prompt of a start; up to there nothing waits, so that starts keep their order.
    async fn begin(&self, params: StartParams, task: Task, folders: &[PathBuf]) -> Result<StartResult> {
        let body = digest_of(&params)?;
        let again = || params.key.as_deref().and_then(|key| self.starts.session_of(key));
        let known = params.session_id.clone().or_else(again);
        let session_id = match &known {
            Some(session) => session.clone(),
            None => {
                let made = self.sessions.create(Roots::open(folders))?;
                params.key.iter().for_each(|key| self.starts.remember(key, &made));
                made
            }
        };
        let first = params.diagnostics.first().and_then(|diagnostic| diagnostic.range);
        let range = params.range.or(first);
        let prompt = PromptParams {
            session_id: session_id.clone(),
            prompt: vec![ContentBlock::Text { text: task.text }],
            delivery: Delivery::Auto,
            expected_run_id: None,
            origin: params.uri.map(|uri| Origin { uri, range }),
            overrides: Overrides { mode: Some(task.mode.into()), ..Overrides::default() },
            key: params.key,
        };
        match self.post_prompt(prompt, task.title, body).await {
            Ok(told) => Ok(StartResult {
                session_id,
                run_id: told.run_id,
                accepted_at: told.accepted_at,
                disposition: told.disposition,
            }),
            Err(refused) => {
                if known.is_none() {
                    // A session that nothing was asked of leaves no trace: it has no folder. One whose prompt is in its
                    // log, and broke then, keeps that.
                    self.starts.forget(&session_id);
                    let _ = self.sessions.close(&session_id).await;
                }
                Err(refused)
            }
        }
    }
}

/// Finds the file of a URI in the workspace, and its text: the editor's before the disk's.
async fn find(agent: &Agent, uri: &str) -> std::result::Result<FoundPlace, String> {
    let world = agent.sessions.world().clone();
    let documents = world.documents.clone();
    // Taken before anything waits, so that what is typed next does not count.
    let open = documents.under(uri);
    let (folders, uri) = (agent.configured.folders(), uri.to_owned());
    let looked = tokio::task::spawn_blocking(move || resolve_place(folders, &world, &uri, open)).await;
    looked.unwrap_or_else(|error| Err(format!("the file could not be looked at: {error}")))
}

fn resolve_place(
    folders: Vec<PathBuf>,
    world: &World,
    uri: &str,
    open: Text,
) -> std::result::Result<FoundPlace, String> {
    let at = inside(&folders, uri)?;
    let open = if let Text::Closed = open { world.documents.text(&at.absolute) } else { open };
    let (roots, _) = Roots::open(&folders);
    let secret = held_by(&at, &world.own(&roots)).is_some();
    let shown: Vec<String> = roots.paths().map(|root| root.to_string_lossy().into_owned()).collect();
    let denied = world.settings().deny.denial_of_file("read_file", &at.display, &shown).is_some();
    let text = match open {
        Text::Unsynced(reason) => {
            return Err(format!(
                "the text of \"{}\" in the editor is not known ({reason}); close it and open it again",
                at.display
            ));
        }
        // It may be sent only after the ask that a read of it opens.
        _ if secret || denied => None,
        Text::Open(snapshot) => Some(snapshot),
        Text::Closed => on_disk(&at, uri)?,
    };
    Ok(FoundPlace { folders: folders_for(folders, uri), display: at.display, text })
}

fn inside(folders: &[PathBuf], uri: &str) -> std::result::Result<ResolvedPath, String> {
    if !uri.starts_with("file:") {
        return Err(NO_FILE.to_owned());
    }
    let (roots, _) = Roots::open(folders);
    let at = resolve(&roots, uri).map_err(|refusal| refusal.to_string())?;
    match at.inside {
        true => Ok(at),
        false if roots.is_empty() => Err(NO_FOLDER.to_owned()),
        false => Err(format!("\"{}\" is outside the workspace folders; open its folder first", at.display)),
    }
}

/// The text of a file that is not open; none where it is too large or no text: the model reads it
/// by its tools.
fn on_disk(at: &ResolvedPath, uri: &str) -> std::result::Result<Option<Snapshot>, String> {
    let failed = |why: String| format!("\"{}\" cannot be read: {why}", at.display);
    let mut file = open_read(at).map_err(|refusal| failed(refusal.to_string()))?.take(MAX_FILE + 1);
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| failed(error.to_string()))?;
    if bytes.len() as u64 > MAX_FILE {
        return Ok(None);
    }
    Ok(String::from_utf8(bytes).ok().map(|text| Snapshot::of_file(uri, &text)))
}
