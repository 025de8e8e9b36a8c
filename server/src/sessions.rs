//! All sessions of this process: creates, opens, lists, deletes and stops them.
//!
//! Never reads the state of a session: each has its own task, from the first request for it until it leaves
//! memory.

mod beneath;
pub mod committing;
mod elsewhere;
mod forking;
pub mod list;
pub mod listing;
mod opening;
pub mod prompts;
pub mod reading;
mod registry;
mod results;
mod spare;
pub mod tracking;
pub mod unreviewed;
pub mod watching;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use adjutant_core::session::Session;
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::history::PromptHistoryResult;
use adjutant_protocol::items::ItemReadResult;
use adjutant_protocol::session::{ReplayFrom, SessionEntry, SessionForkResult, SessionListResult};
use adjutant_protocol::{AskId, MessageId, SessionId, ToolCallId};
use futures_util::StreamExt;
use tokio::sync::{RwLock, Semaphore, mpsc, oneshot};

use crate::client::{RenderRequest, RenderedContent, RenderedFile};
use crate::session::blobs::Blobs;
use crate::session::mailbox::{ClientError, Mail, Mailbox, Message, ResumePoint};
use crate::session::{End, SessionTask, SessionWorld, World, log, replay, transcript_files};
use crate::tools::paths::Roots;
use opening::{LoadedSession, catalog_error};
use registry::{Life, Registry, RegistryEntry};

/// Logs that are opened at once; each needs a thread while its disk is read.
const MAX_OPENING: usize = 64;
/// Rendered files that are written at once.
const MAX_TRANSCRIPTS: usize = 8;
/// Time limit for all sessions together to stop (users.md need 7: gone within 2 s).
const STOP_LIMIT: Duration = Duration::from_millis(1_900);

/// The sessions; clones share them.
#[derive(Clone)]
pub struct Sessions {
    world: Arc<World>,
    registry: Registry,
    opening: Arc<Semaphore>,
    /// The last scan of all sessions, for the later pages of a list.
    scans: Arc<list::Scans>,
    /// The entries that the client has of the list.
    followed: Arc<listing::FollowedList>,
    /// What was last seen of the repositories with changes.
    last_look: Arc<Mutex<committing::SharedLook>>,
    /// Held by who reads the changes of sessions that are not in memory.
    review_reads: Arc<Mutex<()>>,
    /// Held for reading by each letter that waits for another process.
    letters: Arc<RwLock<()>>,
}

impl Sessions {
    pub fn new(world: Arc<World>) -> Self {
        let opening = Arc::new(Semaphore::new(MAX_OPENING));
        Self {
            world,
            registry: Registry::default(),
            opening,
            scans: Arc::default(),
            followed: Arc::default(),
            last_look: Arc::default(),
            review_reads: Arc::default(),
            letters: Arc::default(),
        }
    }

    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    /// Creates a session in memory; it has no folder on disk until its first prompt. `roots` are its workspace
    /// folders, already opened, with a message for each that cannot be used.
    pub fn create(&self, roots: (Roots, Vec<String>)) -> Result<SessionId, ClientError> {
        let id = new_id();
        let place = self.world.catalog.place(&id.0).map_err(catalog_error)?;
        let RegistryEntry::New(life, mailbox, mail) = self.registry.enter(&id)? else {
            let why = "the new session has the id of another one; try again";
            return Err(ClientError::new(ErrorName::Overloaded, why));
        };
        let loaded = LoadedSession::new(|paths| Session::new(id.clone(), paths), roots, place);
        life.opened();
        tokio::spawn(self.clone().live(life, loaded, mailbox, mail));
        Ok(id)
    }

    /// Returns the mailbox of a session. If the session is not in memory, it is opened from disk, and its mailbox
    /// keeps the messages that are posted meanwhile. If it cannot be opened, each request is refused with the
    /// reason.
    pub fn get(&self, id: &SessionId) -> Result<Mailbox, ClientError> {
        let place = self.world.catalog.place(&id.0).map_err(catalog_error)?;
        match self.registry.enter(id)? {
            RegistryEntry::There(mailbox) => Ok(mailbox),
            RegistryEntry::New(life, mailbox, mail) => {
                tokio::spawn(self.clone().open(life, place, mailbox.clone(), mail));
                Ok(mailbox)
            }
        }
    }

    async fn open(self, mut life: Life, place: log::LogPlace, mailbox: Mailbox, mail: Mail) {
        life.begun().await;
        let (room, world) = (self.opening.acquire().await, self.world.clone());
        let opened = tokio::task::spawn_blocking(move || opening::open(&world, &place)).await;
        drop(room);
        let broken =
            |error: tokio::task::JoinError| ClientError::new(ErrorName::SessionReadOnly, error.to_string());
        match opened.unwrap_or_else(|error| Err(broken(error))) {
            Ok(loaded) => {
                life.opened();
                self.live(life, loaded, mailbox, mail).await;
            }
            Err(refused) => {
                life.leaves();
                // The mail ends once all other clones are dropped too, so that each request is answered.
                drop(mailbox);
                self.refuse_rest(life, mail, refused).await;
            }
        }
    }

    /// Runs the task of a session until it leaves memory.
    async fn live(self, life: Life, loaded: LoadedSession, mailbox: Mailbox, mail: Mail) {
        let LoadedSession { session, roots, log, items, notices, epoch } = loaded;
        let dir = log.place().dir.clone();
        let place = Arc::new(SessionWorld {
            world: self.world.clone(),
            id: session.id.clone(),
            roots,
            blobs: Arc::new(Blobs::new(log.place().storage.clone(), &dir)),
            dir,
            mailbox,
            looks: Default::default(),
            surroundings: Default::default(),
        });
        let task = SessionTask::new(place, session, log, mail, items, notices);
        let (end, mut mail) = task.run(epoch, || life.leaves()).await;
        life.leaves();
        self.world.reviews.leaves(life.id());
        mail.close();
        let refused = match end {
            End::Stopped => ClientError::gone(),
            End::Deleted(reply) => {
                let _ = reply.send(self.delete_files(life.id()).await);
                ClientError::gone()
            }
            End::Broken(refused) => refused,
        };
        self.refuse_rest(life, mail, refused).await;
    }

    /// Refuses the messages that a session did not handle. A delete is still done, because it needs no session in
    /// memory.
    async fn refuse_rest(&self, life: Life, mut mail: Mail, refused: ClientError) {
        while let Some(message) = mail.recv().await {
            match message {
                Message::Delete { reply } => {
                    let _ = reply.send(self.delete_files(life.id()).await);
                }
                other => other.refuse(refused.clone()),
            }
        }
    }

    async fn delete_files(&self, id: &SessionId) -> Result<(), ClientError> {
        let (world, deleted) = (self.world.clone(), id.clone());
        world.reviews.remove(id);
        let deleted = tokio::task::spawn_blocking(move || opening::delete(&world, &deleted.0)).await;
        self.world.list_changes.note(id);
        deleted.unwrap_or_else(|error| Err(ClientError::new(ErrorName::SessionLocked, error.to_string())))
    }

    /// Writes rendered files until all senders of requests are gone. A write that never ends keeps one of the
    /// `MAX_TRANSCRIPTS` slots for good.
    pub async fn write_transcripts(&self, mut requests: mpsc::Receiver<RenderRequest>) {
        let requests = futures_util::stream::poll_fn(|context| requests.poll_recv(context));
        let write = |RenderRequest { content, reply }| async {
            let _ = reply.send(self.write_transcript(content).await);
        };
        requests.for_each_concurrent(MAX_TRANSCRIPTS, write).await;
    }

    async fn write_transcript(&self, content: RenderedContent) -> Result<RenderedFile, String> {
        match content {
            RenderedContent::Subject { ask, text, ending } => {
                let catalog = self.world.catalog.clone();
                let write = move || transcript_files::write_subject(&catalog, &ask, &text, ending);
                tokio::task::spawn_blocking(write).await.unwrap_or_else(|error| Err(error.to_string()))
            }
            RenderedContent::Transcript(session) => self.transcript(&session).await,
        }
    }

    async fn transcript(&self, session: &SessionId) -> Result<RenderedFile, String> {
        let mailbox = self.get(session).map_err(|refused| refused.message)?;
        let written =
            mailbox.request(|reply| Message::Transcript { reply }).map_err(|refused| refused.message)?;
        written.await.map_err(|_| ClientError::gone().message)?.map_err(|refused| refused.message)
    }

    /// Returns the mailbox of the session that an ask belongs to, if that session is in memory.
    pub fn of_ask(&self, ask: &AskId) -> Option<Mailbox> {
        let asks = self.world.asks.lock().unwrap_or_else(PoisonError::into_inner);
        let session = asks.get(ask)?;
        self.in_memory(session)
    }

    /// Opens the session that has this ask open on disk, for a client that knows the ask from before a restart.
    pub async fn opened_for(&self, ask: &AskId) -> Result<Mailbox, ClientError> {
        let (world, wanted) = (self.world.clone(), ask.clone());
        let found = tokio::task::spawn_blocking(move || reading::session_of(&world.catalog, &wanted)).await;
        match found.ok().flatten() {
            Some(id) => self.get(&id),
            None => Err(self.not_open(ask).await),
        }
    }

    /// Returns the error for an answer to an ask that is open in no session: how it was closed, if that is known.
    async fn not_open(&self, ask: &AskId) -> ClientError {
        let (world, wanted) = (self.world.clone(), ask.clone());
        let closed = move || reading::closed_asks(&world.catalog, |id| *id == wanted).unwrap_or_default();
        let closed = tokio::task::spawn_blocking(closed).await.unwrap_or_default();
        match closed.into_iter().next() {
            Some((_, _, how)) => ClientError::new(ErrorName::AskClosed, reading::closed_message(&how)),
            None => ClientError::new(ErrorName::AskNotFound, "no ask has this id"),
        }
    }

    /// Returns the mailboxes of all sessions whose log is open.
    pub fn all(&self) -> Vec<Mailbox> {
        self.registry.open()
    }

    /// Attaches a client to a session. One that could not be written any more is opened again from its log.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be opened, or still cannot be written.
    pub async fn resume(
        &self,
        id: &SessionId,
        from: Option<ReplayFrom>,
        unattended: bool,
    ) -> Result<ResumePoint, ClientError> {
        let attach = || async {
            let mailbox = self.get(id)?;
            let resumed = mailbox.request(|reply| Message::Resume { from, unattended, reply })?;
            resumed.await.map_err(|_| ClientError::gone())?
        };
        match attach().await {
            Err(refused) if refused.name == ErrorName::SessionReadOnly => {
                self.close(id).await?;
                attach().await
            }
            done => done,
        }
    }

    /// Returns the mailbox of a session that is in memory or is being opened.
    pub fn in_memory(&self, id: &SessionId) -> Option<Mailbox> {
        self.registry.find(id)
    }

    /// Returns all sessions on disk, newest first.
    pub async fn entries(&self) -> Result<Vec<SessionEntry>, ClientError> {
        let world = self.world.clone();
        let entries = tokio::task::spawn_blocking(move || reading::entries(&world.catalog)).await;
        entries
            .map_err(|error| ClientError::new(ErrorName::SessionNotFound, error.to_string()))?
            .map_err(catalog_error)
    }

    /// Returns one page of the sessions on disk, newest first. A stale summary is made again from its log.
    pub async fn list(&self, filter: list::ListFilter) -> Result<SessionListResult, ClientError> {
        let world = self.world.clone();
        let scans = self.scans.clone();
        let listed = tokio::task::spawn_blocking(move || scans.page(&world.catalog, &filter)).await;
        listed
            .map_err(|error| ClientError::new(ErrorName::SessionNotFound, error.to_string()))?
            .map_err(catalog_error)
    }

    /// Returns a page of the prompts of a folder, newest first, without opening a session.
    pub async fn prompts(&self, filter: prompts::PromptFilter) -> Result<PromptHistoryResult, ClientError> {
        let world = self.world.clone();
        let found = tokio::task::spawn_blocking(move || prompts::page(&world.catalog, &filter)).await;
        found
            .map_err(|error| ClientError::new(ErrorName::SessionNotFound, error.to_string()))?
            .map_err(catalog_error)
    }

    /// Returns what a tool call gave, without opening its session.
    pub async fn result_of(&self, id: SessionId, call: ToolCallId) -> Result<ItemReadResult, ClientError> {
        let world = self.world.clone();
        let found = tokio::task::spawn_blocking(move || results::of_call(&world.catalog, &id, &call)).await;
        found
            .map_err(|error| ClientError::new(ErrorName::SessionNotFound, error.to_string()))?
            .map_err(catalog_error)
    }

    /// Returns a session as it is now. One that is not in memory is read from its log, also if another process has it.
    pub async fn snapshot(&self, id: &SessionId) -> Result<Box<Session>, ClientError> {
        if let Some(mailbox) = self.in_memory(id) {
            let answer = mailbox.request(|reply| Message::Snapshot { reply })?;
            return answer.await.unwrap_or_else(|_| Err(ClientError::gone()));
        }
        let (world, id) = (self.world.clone(), id.clone());
        let missing = |why: String| ClientError::new(ErrorName::SessionNotFound, why);
        let read = move || match world.catalog.has(&id.0) {
            true => replay::fold(&world.catalog, &id),
            false => Err(format!("there is no session \"{id}\"")),
        };
        let found = tokio::task::spawn_blocking(read).await.map_err(|error| missing(error.to_string()))?;
        found.map(Box::new).map_err(missing)
    }

    /// Removes a session from memory. Its open run is cancelled, and the end of the run is made durable and
    /// published. The close is posted before the first wait; a later request opens the session again after it.
    pub async fn close(&self, id: &SessionId) -> Result<(), ClientError> {
        if let Some(over) = self.registry.leave(id, |mailbox| mailbox.post(Message::Close)) {
            let why = "the session is still closing: its disk does not answer";
            match over.reached().await {
                None => return Err(ClientError::new(ErrorName::SessionLocked, why)),
                Some(true) => return Ok(()),
                // The session could not be opened, so only the disk knows whether it exists.
                Some(false) => {}
            }
        }
        let (world, known) = (self.world.clone(), id.clone());
        match tokio::task::spawn_blocking(move || world.catalog.has(&known.0)).await {
            Ok(true) => Ok(()),
            _ => Err(ClientError::new(ErrorName::SessionNotFound, format!("there is no session \"{id}\""))),
        }
    }

    /// Deletes a session. Refused if it has an open run here or another process has it open. The delete is posted
    /// before the first wait, after all earlier messages to the session.
    pub async fn delete(&self, id: &SessionId) -> Result<(), ClientError> {
        self.world.catalog.place(&id.0).map_err(catalog_error)?;
        let deleted = match self.registry.pass(id)? {
            RegistryEntry::There(mailbox) => mailbox.request(|reply| Message::Delete { reply })?,
            RegistryEntry::New(mut life, ..) => {
                let (reply, deleted) = oneshot::channel();
                let this = self.clone();
                // In its own task, because the client may withdraw the request.
                tokio::spawn(async move {
                    life.begun().await;
                    let _ = reply.send(this.delete_files(life.id()).await);
                });
                deleted
            }
        };
        deleted.await.map_err(|_| ClientError::gone())?
    }

    /// Copies a conversation into a new session, up to before the prompt `at` if it is named. The session that is copied is only
    /// read; what was sent to it here before is in the copy.
    pub async fn fork(
        &self,
        from: SessionId,
        at: Option<MessageId>,
    ) -> Result<SessionForkResult, ClientError> {
        self.world.catalog.place(&from.0).map_err(catalog_error)?;
        let in_memory = self.in_memory(&from);
        if let Some(mailbox) = &in_memory {
            // The session handles all earlier messages first. If it cannot write its log any more, the log has all that clients have seen.
            let _ = mailbox.request(|reply| Message::Written { reply })?.await;
        }
        let (world, id, source) = (self.world.clone(), new_id(), from.clone());
        let fork = id.clone();
        let copied = tokio::task::spawn_blocking(move || forking::fork(&world, &source, &fork, at.as_ref()));
        let broken =
            |error: tokio::task::JoinError| ClientError::new(ErrorName::Overloaded, error.to_string());
        let copied = copied.await.unwrap_or_else(|error| Err(broken(error)));
        if copied.is_ok() {
            self.world.list_changes.note(&id);
        }
        copied.map_err(|refused| match refused.name {
            ErrorName::SessionNotFound if in_memory.is_some() => ClientError::new(
                ErrorName::AnswerInvalid,
                "this conversation has no prompt yet, so there is nothing to fork: send one first",
            ),
            _ => refused,
        })
    }

    /// Fails with `SessionNotFound` if no session has this id, in memory or on disk.
    pub async fn check(&self, id: &SessionId) -> Result<(), ClientError> {
        self.world.catalog.place(&id.0).map_err(catalog_error)?;
        let (world, known) = (self.world.clone(), id.clone());
        let is_there = self.in_memory(id).is_some()
            || tokio::task::spawn_blocking(move || world.catalog.has(&known.0)).await.unwrap_or(false);
        let why = || ClientError::new(ErrorName::SessionNotFound, format!("there is no session \"{id}\""));
        if is_there { Ok(()) } else { Err(why()) }
    }

    /// Removes, in the background, files that interrupted deletions and edits have left, and the oldest texts before edits
    /// if there are too many.
    pub fn sweep(&self) {
        let world = self.world.clone();
        tokio::task::spawn_blocking(move || {
            world.write_locks.sweep();
            if let Err(error) = world.catalog.sweep() {
                tracing::warn!(%error, "what is left of deleted sessions stays");
            }
            spare::keep_within(&world, world.settings().kept_texts_mb.saturating_mul(1 << 20));
        });
    }

    /// Stops every session: ends its processes, records the end of its run and makes it durable. Also waits until letters of
    /// cancelled requests are withdrawn. Waits at most `STOP_LIMIT`.
    pub async fn stop_all(&self) {
        let over = self.registry.leave_all(|mailbox| mailbox.post(Message::Stop));
        let stopped = futures_util::future::join_all(over.into_iter().map(registry::LifeEnd::reached));
        let withdrawn = self.letters.write();
        let _ = tokio::time::timeout(STOP_LIMIT, futures_util::future::join(stopped, withdrawn)).await;
    }
}

fn new_id() -> SessionId {
    let mut bytes = [0_u8; 8];
    if let Err(error) = getrandom::fill(&mut bytes) {
        panic!("the system gives no random numbers: {error}");
    }
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    SessionId(format!("s-{hex}"))
}

#[cfg(test)]
mod tests;
