//! `agent/start`: makes a prompt of a place in a document, in a new session or a given one.
//!
//! Never words the prompt (core's `start` does) and never edits. Uses the text that an
//! open document has when the request arrives.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use adjutant_core::wire::start::{Passage, Task, task};
use adjutant_protocol::SessionId;
use adjutant_protocol::origin::Origin;
use adjutant_protocol::session::{ContentBlock, Delivery, Overrides, PromptParams};
use adjutant_protocol::start::{StartParams, StartResult};
use tokio::sync::{RwLock, RwLockReadGuard};

use super::configured::folders_for;
use super::{Agent, Result, content, digest_of};
use crate::session::attached::AttachedBlocks;
use crate::session::mailbox::Wording;
use crate::session::mentions::ClientContext;
use crate::session::quotable::{self, QuotableFile};
use crate::tools::paths::Roots;
use crate::transport::ErrorBody;

/// How many keys of starts in new sessions are remembered.
const MAX_KEYS: usize = 1_000;
/// What one connection has started.
#[derive(Default)]
pub struct Starts {
    shared: Mutex<StartedRun>,
    /// Each start holds a read lock until it is answered, so that later requests can wait for it.
    under_way: RwLock<()>,
}

#[derive(Default)]
struct StartedRun {
    /// The session that each key created. Within a session, the session itself remembers its keys.
    keys: VecDeque<(String, SessionId)>,
    /// The session that the user prompted or resumed last.
    last: Option<SessionId>,
}

impl Starts {
    fn lock(&self) -> MutexGuard<'_, StartedRun> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a start, which lasts until the guard is dropped.
    pub async fn begun(&self) -> RwLockReadGuard<'_, ()> {
        self.under_way.read().await
    }

    /// Waits until all earlier starts are answered. They wait for the disk at most, and never for a model. Later
    /// starts wait for this.
    pub async fn answered(&self) {
        drop(self.under_way.write().await);
    }

    /// The session that the user prompted or resumed last.
    pub fn last(&self) -> Option<SessionId> {
        self.lock().last.clone()
    }

    /// Sets the last session and returns the one before.
    pub fn set_last(&self, session: &SessionId) -> Option<SessionId> {
        self.lock().last.replace(session.clone())
    }

    /// Restores the last session, if it is still `session`, which could not be opened.
    pub fn restore_last(&self, session: &SessionId, before: Option<SessionId>) {
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

    /// Forgets a session whose first prompt was refused.
    fn forget(&self, session: &SessionId) {
        let mut started = self.lock();
        started.keys.retain(|(_, known)| known != session);
        started.last.take_if(|last| last == session);
    }
}

/// A file of the workspace at which something is started.
struct FoundPlace {
    /// The workspace folders; the one that contains the file is the first.
    folders: Vec<PathBuf>,
    file: QuotableFile,
}

impl Agent {
    pub async fn start(&self, params: StartParams) -> Result<StartResult> {
        content::check_length(params.text.as_ref().map_or(0, String::len))
            .map_err(ErrorBody::invalid_params)?;
        if params.attach.iter().any(|block| matches!(block, ContentBlock::Text { .. })) {
            return Err(ErrorBody::invalid_params(
                "`attach` has no block of the type `text`; give the words as `text`",
            ));
        }
        let context = ClientContext {
            begins_prompt: params.template.is_none(),
            is_worded: params.uri.is_some(),
            ..ClientContext::default()
        };
        let words = params.text.as_deref().unwrap_or_default();
        let attached = self.attached(&params.attach, words, context).map_err(ErrorBody::invalid_params)?;
        let _under_way = self.starts.begun().await;
        let found = match &params.uri {
            Some(uri) => Some(find(self, uri).await.map_err(ErrorBody::invalid_params)?),
            None => None,
        };
        let encoding = self.sessions.world().documents.encoding();
        let passage = found.as_ref().map(|found| Passage {
            path: &found.file.display,
            text: found.file.text.as_ref().map(|snapshot| &snapshot.text),
            encoding,
        });
        let task =
            task(&params, passage.as_ref()).map_err(|why| ErrorBody::invalid_params(why.to_string()))?;
        let folders = found.map_or_else(|| self.configured.folders(), |found| found.folders);
        self.begin(params, task, attached, &folders).await
    }

    /// Posts the prompt of a start, without a wait before it, so that starts keep their order.
    async fn begin(
        &self,
        mut params: StartParams,
        task: Task,
        attached: AttachedBlocks,
        folders: &[PathBuf],
    ) -> Result<StartResult> {
        let body = digest_of(&params)?;
        let by_key = || params.key.as_deref().and_then(|key| self.starts.session_of(key));
        let known = params.session_id.clone().or_else(by_key);
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
        let mut blocks = vec![ContentBlock::Text { text: task.text }];
        blocks.append(&mut params.attach);
        let prompt = PromptParams {
            session_id: session_id.clone(),
            prompt: blocks,
            delivery: Delivery::Auto,
            expected_run_id: None,
            origin: params.uri.map(|uri| Origin { uri, range }),
            diagnostics: Vec::new(),
            overrides: Overrides { mode: task.mode.map(Into::into), ..Overrides::default() },
            key: params.key,
        };
        let wording = Wording { title: task.title, added: task.added, attached, ..Wording::default() };
        match self.post_prompt(prompt, wording, body).await {
            Ok(result) => Ok(StartResult {
                session_id,
                run_id: result.run_id,
                accepted_at: result.accepted_at,
                disposition: result.disposition,
            }),
            Err(refused) => {
                if known.is_none() {
                    // The new session has no folder, so nothing is left of it. If its prompt is already in its
                    // log, and the session broke after that, the log stays.
                    self.starts.forget(&session_id);
                    let _ = self.sessions.close(&session_id).await;
                }
                Err(refused)
            }
        }
    }
}

/// Finds the file of a URI in the workspace, and its text: the editor's if it is open, else the disk's.
async fn find(agent: &Agent, uri: &str) -> std::result::Result<FoundPlace, String> {
    let world = agent.sessions.world().clone();
    // Read before the first wait, so that text typed later does not count.
    let open = world.documents.under(uri);
    let (folders, uri) = (agent.configured.folders(), uri.to_owned());
    let found = tokio::task::spawn_blocking(move || {
        let file = quotable::find(&folders, &world, &uri, open)?;
        Ok(FoundPlace { folders: folders_for(folders, &uri), file })
    });
    found.await.unwrap_or_else(|error| Err(format!("the file could not be read: {error}")))
}
