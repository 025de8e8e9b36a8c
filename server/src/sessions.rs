//! All sessions of this process: made, opened, listed, deleted, stopped.
//!
//! Never looks into a session; each has a task of its own.

pub mod list;
pub mod reading;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use adjutant_core::session::Session;
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::session::{SessionEntry, SessionListResult};
use adjutant_protocol::state::State;
use adjutant_protocol::{AskId, SessionId};
use tokio::sync::{mpsc, oneshot, watch};

use crate::clock::now_ms;
use crate::doors::{Paper, PaperRequest, Written};
use crate::session::blobs::Blobs;
use crate::session::catalog::CatalogError;
use crate::session::log::{self, Log, OpenError, Opened};
use crate::session::mailbox::{Mailbox, Message, Refused};
use crate::session::papers;
use crate::session::past::Retold;
use crate::session::{Place, SessionTask, World};
use crate::tools::paths::Roots;

/// Sessions one process has in memory at once.
const MAX_OPEN: usize = 1_000;
/// How long a session may take to close; its children die within it.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);
/// How often a lock is tried again, and after how long: a list looks at each for an instant.
const LOCK_TRIES: u32 = 5;
const LOCK_PAUSE: Duration = Duration::from_millis(10);
/// How long all sessions together may take to stop (users.md need 7: gone within 2 s).
const STOP_LIMIT: Duration = Duration::from_millis(1_900);

/// What is told of a session whose open run began with other tools.
const OTHER_TOOLS: &str = "the tools have changed since this run began; it goes on with those of now";

/// The registry; clones share it.
#[derive(Clone)]
pub struct Sessions {
    world: Arc<World>,
    open: Arc<Mutex<HashMap<SessionId, Mailbox>>>,
    /// One session is opened at a time, so that none is opened twice.
    opening: Arc<tokio::sync::Mutex<()>>,
    /// Sessions on their way out of memory; each goes when it is out.
    closing: Arc<Mutex<HashMap<SessionId, watch::Receiver<()>>>>,
    /// What the pages of a list are cut from.
    scans: Arc<list::Scans>,
}

impl Sessions {
    pub fn new(world: Arc<World>) -> Self {
        Self {
            world,
            open: Arc::default(),
            opening: Arc::default(),
            closing: Arc::default(),
            scans: Arc::default(),
        }
    }

    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Mailbox>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a session in memory; it has no folder until its first prompt.
    pub fn create(&self, folders: &[PathBuf]) -> Result<SessionId, Refused> {
        let id = new_id();
        let place = self.world.catalog.place(&id.0).map_err(catalog_error)?;
        let (roots, problems) = Roots::open(folders);
        let paths = roots.paths().map(|path| path.display().to_string()).collect();
        let log = Log::create(place, now_ms());
        self.spawn(Session::new(id.clone(), paths), roots, log, (0, problems), None)?;
        Ok(id)
    }

    /// Returns the mailbox of a session, opening it from disk if need be. One in memory is there without
    /// waiting, so that what is posted keeps its order.
    pub async fn get(&self, id: &SessionId) -> Result<Mailbox, Refused> {
        if let Some(mailbox) = self.in_memory(id) {
            return Ok(mailbox);
        }
        self.closed(id).await;
        let _one = self.opening.lock().await;
        if let Some(mailbox) = self.in_memory(id) {
            return Ok(mailbox);
        }
        let place = self.world.catalog.place(&id.0).map_err(catalog_error)?;
        let opened = tokio::task::spawn_blocking(move || open(place)).await;
        let (opened, told) = opened
            .map_err(|error| Refused::new(ErrorName::SessionReadOnly, error.to_string()))?
            .map_err(open_error)?;
        self.reopen(opened, told)
    }

    fn reopen(&self, opened: Opened, told: Retold) -> Result<Mailbox, Refused> {
        let (strays, session, seq) = (told.folded.strays(), told.folded.session, told.seq);
        let folders: Vec<PathBuf> = session.roots.iter().map(PathBuf::from).collect();
        let (roots, problems) = Roots::open(&folders);
        let notices = opened.notices.into_iter().chain(strays).map(|notice| notice.to_string());
        let other_tools = session
            .open_run()
            .is_some_and(|run| !run.toolset.is_empty() && run.toolset != self.world.tools.now().set().hash());
        let of_tools = other_tools.then(|| OTHER_TOOLS.to_owned());
        let notices = notices.chain(problems).chain(of_tools).collect();
        self.spawn(session, roots, opened.log, (seq, notices), Some(opened.epoch))
    }

    fn spawn(
        &self,
        session: Session,
        roots: Roots,
        log: Log,
        told: (u64, Vec<String>),
        epoch: Option<u64>,
    ) -> Result<Mailbox, Refused> {
        let mut open = self.lock();
        open.retain(|_, mailbox| !mailbox.is_closed());
        if open.len() >= MAX_OPEN {
            return Err(Refused::new(ErrorName::Overloaded, "too many sessions are open in this editor"));
        }
        let (mailbox, mail) = Mailbox::new();
        let dir = log.place().dir.clone();
        let place = Arc::new(Place {
            world: self.world.clone(),
            id: session.id.clone(),
            roots,
            blobs: Arc::new(Blobs::new(log.place().storage.clone(), &dir)),
            dir,
            mailbox: mailbox.clone(),
        });
        open.insert(session.id.clone(), mailbox.clone());
        drop(open);
        tokio::spawn(SessionTask::new(place, session, log, mail, told).run(epoch));
        Ok(mailbox)
    }

    /// Writes what is to be shown, one paper after the other, until nobody asks any more.
    pub async fn write_papers(&self, mut requests: mpsc::Receiver<PaperRequest>) {
        while let Some(PaperRequest { paper, reply }) = requests.recv().await {
            let written = match paper {
                Paper::Subject { ask, text, ending } => {
                    let catalog = self.world.catalog.clone();
                    let write = move || papers::write_subject(&catalog, &ask, &text, ending);
                    tokio::task::spawn_blocking(write).await.unwrap_or_else(|error| Err(error.to_string()))
                }
                Paper::Transcript(session) => self.transcript(&session).await,
            };
            let _ = reply.send(written);
        }
    }

    async fn transcript(&self, session: &SessionId) -> Result<Written, String> {
        let mailbox = self.get(session).await.map_err(|refused| refused.message)?;
        let written =
            mailbox.request(|reply| Message::Transcript { reply }).map_err(|refused| refused.message)?;
        written.await.map_err(|_| Refused::gone().message)?.map_err(|refused| refused.message)
    }

    /// Returns the mailbox of the session an open ask belongs to.
    pub fn of_ask(&self, ask: &AskId) -> Option<Mailbox> {
        let asks = self.world.asks.lock().unwrap_or_else(PoisonError::into_inner);
        let session = asks.get(ask)?;
        self.in_memory(session)
    }

    /// Opens the session that has this ask open on disk, for a client that knows it from before a
    /// restart.
    pub async fn opened_for(&self, ask: &AskId) -> Result<Mailbox, Refused> {
        let (world, wanted) = (self.world.clone(), ask.clone());
        let found = tokio::task::spawn_blocking(move || reading::session_of(&world.catalog, &wanted)).await;
        match found.ok().flatten() {
            Some(id) => self.get(&id).await,
            None => Err(self.closed_elsewhere(ask).await),
        }
    }

    /// Says who answered an ask that is open in no session, if anybody did.
    async fn closed_elsewhere(&self, ask: &AskId) -> Refused {
        let (world, wanted) = (self.world.clone(), ask.clone());
        let closed = move || reading::closed_asks(&world.catalog, |id| *id == wanted).unwrap_or_default();
        let closed = tokio::task::spawn_blocking(closed).await.unwrap_or_default();
        match closed.into_iter().next() {
            Some((_, _, how)) => Refused::new(ErrorName::AskClosed, reading::who_won(&how)),
            None => Refused::new(ErrorName::AskNotFound, "no ask has this id"),
        }
    }

    /// Returns the mailboxes of all sessions in memory.
    pub fn all(&self) -> Vec<Mailbox> {
        self.lock().values().filter(|mailbox| !mailbox.is_closed()).cloned().collect()
    }

    /// Returns the mailbox of a session that is in memory; one whose task ended or broke is not.
    pub fn in_memory(&self, id: &SessionId) -> Option<Mailbox> {
        self.lock().get(id).filter(|mailbox| !mailbox.is_closed()).cloned()
    }

    /// Returns all sessions on disk, newest first.
    pub async fn entries(&self) -> Result<Vec<SessionEntry>, Refused> {
        let world = self.world.clone();
        let entries = tokio::task::spawn_blocking(move || reading::entries(&world.catalog)).await;
        entries
            .map_err(|error| Refused::new(ErrorName::SessionNotFound, error.to_string()))?
            .map_err(catalog_error)
    }

    /// Lists the sessions on disk, newest first; those with a stale summary are read anew.
    pub async fn list(&self, wanted: list::Wanted) -> Result<SessionListResult, Refused> {
        let world = self.world.clone();
        let scans = self.scans.clone();
        let listed = tokio::task::spawn_blocking(move || scans.page(&world.catalog, &wanted)).await;
        listed
            .map_err(|error| Refused::new(ErrorName::SessionNotFound, error.to_string()))?
            .map_err(catalog_error)
    }

    /// Frees a session from memory: its open run is cancelled, and what follows from that is told
    /// and durable. Takes effect before it waits; whoever opens the session meanwhile waits for it.
    pub async fn close(&self, id: &SessionId) -> Result<(), Refused> {
        let closing = match self.in_memory(id) {
            Some(mailbox) => Some(self.begin_to_close(id, &mailbox)),
            None => self.closing().get(id).cloned(),
        };
        if let Some(over) = closing {
            let why = "the session is still closing: its disk does not answer";
            return if ends(over).await { Ok(()) } else { Err(Refused::new(ErrorName::SessionLocked, why)) };
        }
        let (world, known) = (self.world.clone(), id.clone());
        match tokio::task::spawn_blocking(move || world.catalog.has(&known.0)).await {
            Ok(true) => Ok(()),
            _ => Err(Refused::new(ErrorName::SessionNotFound, format!("there is no session \"{id}\""))),
        }
    }

    fn begin_to_close(&self, id: &SessionId, mailbox: &Mailbox) -> watch::Receiver<()> {
        self.lock().remove(id);
        let (over, is_over) = watch::channel(());
        self.closing().insert(id.clone(), is_over.clone());
        let (done, wait) = oneshot::channel();
        mailbox.post(Message::Close { done });
        let (this, id) = (self.clone(), id.clone());
        // Not by the request, which its client may withdraw.
        tokio::spawn(async move {
            let _ = wait.await;
            this.closing().remove(&id);
            drop(over);
        });
        is_over
    }

    fn closing(&self) -> MutexGuard<'_, HashMap<SessionId, watch::Receiver<()>>> {
        self.closing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a session that is closing is out of memory.
    async fn closed(&self, id: &SessionId) {
        let closing = self.closing().get(id).cloned();
        if let Some(over) = closing {
            ends(over).await;
        }
    }

    /// Deletes a session that has no open run here and no writer elsewhere.
    pub async fn delete(&self, id: &SessionId) -> Result<(), Refused> {
        self.closed(id).await;
        if let Some(mailbox) = self.in_memory(id) {
            let resume = mailbox.request(|reply| Message::Resume { from: None, unattended: false, reply })?;
            let open = match resume.await.map_err(|_| Refused::gone())? {
                Ok(resumed) => {
                    matches!(resumed.result.state.state, State::Running | State::RequiresAction)
                }
                // Nothing runs in a session that cannot be written any more.
                Err(refused) if refused.name == ErrorName::SessionReadOnly => false,
                Err(refused) => return Err(refused),
            };
            if open {
                return Err(Refused::new(
                    ErrorName::SessionLocked,
                    "a run of this session is open; cancel it first",
                ));
            }
            stop(&mailbox).await;
        }
        let (world, id) = (self.world.clone(), id.clone());
        let is_used = |error: &CatalogError| matches!(error, CatalogError::InUse { .. });
        tokio::task::spawn_blocking(move || patiently(|| world.catalog.delete(&id.0), is_used))
            .await
            .map_err(|error| Refused::new(ErrorName::SessionLocked, error.to_string()))?
            .map_err(catalog_error)
    }

    /// Removes in the background what deletions and edits that were cut short left behind.
    pub fn sweep(&self) {
        let world = self.world.clone();
        tokio::task::spawn_blocking(move || {
            world.turns.sweep();
            if let Err(error) = world.catalog.sweep() {
                tracing::warn!(%error, "what is left of deleted sessions stays");
            }
        });
    }

    /// Stops every session: children die, what ran is closed, and it is durable. Bounded.
    pub async fn stop_all(&self) {
        let mailboxes: Vec<Mailbox> = self.lock().drain().map(|(_, mailbox)| mailbox).collect();
        let stops = futures_util::future::join_all(mailboxes.iter().map(stop));
        let closing: Vec<SessionId> = self.closing().keys().cloned().collect();
        let closed = futures_util::future::join_all(closing.iter().map(|id| self.closed(id)));
        let _ = tokio::time::timeout(STOP_LIMIT, futures_util::future::join(stops, closed)).await;
    }
}

/// Waits until the sender is gone, which never sends; says whether it went in time.
async fn ends(mut over: watch::Receiver<()>) -> bool {
    tokio::time::timeout(CLOSE_LIMIT, over.changed()).await.is_ok()
}

/// Opens a log for writing; what its last writer left half-written goes, now that nobody writes it.
fn open(place: log::Place) -> Result<(Opened, Retold), OpenError> {
    let blobs = Blobs::new(place.storage.clone(), &place.dir);
    let is_locked = |error: &OpenError| matches!(error, OpenError::Locked { .. });
    let open = || {
        let mut told = Retold::new(&place.session.as_str().into());
        let mut take = |record| {
            told.take(&record);
            told.folded.whole()
        };
        Log::open_each(place.clone(), now_ms(), &mut take).map(|opened| (opened, told))
    };
    let opened = patiently(open, is_locked)?;
    if let Err(error) = blobs.sweep() {
        tracing::warn!(%error, "what an earlier process left half-written stays");
    }
    Ok(opened)
}

/// Tries what needs the lock of a session again for an instant: whoever lists sessions, here or in
/// another process, holds it that long.
fn patiently<T, E>(attempt: impl Fn() -> Result<T, E>, is_locked: impl Fn(&E) -> bool) -> Result<T, E> {
    for _ in 0..LOCK_TRIES {
        match attempt() {
            Err(error) if is_locked(&error) => std::thread::sleep(LOCK_PAUSE),
            other => return other,
        }
    }
    attempt()
}

async fn stop(mailbox: &Mailbox) {
    let (done, wait) = oneshot::channel();
    mailbox.post(Message::Stop { done });
    let _ = wait.await;
}

fn new_id() -> SessionId {
    let mut bytes = [0_u8; 8];
    if let Err(error) = getrandom::fill(&mut bytes) {
        panic!("the system gives no random numbers: {error}");
    }
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    SessionId(format!("s-{hex}"))
}

fn catalog_error(error: CatalogError) -> Refused {
    let name = match &error {
        CatalogError::BadId { .. } | CatalogError::Missing { .. } => ErrorName::SessionNotFound,
        scarce if scarce.is_scarce() => ErrorName::Overloaded,
        _ => ErrorName::SessionLocked,
    };
    Refused::new(name, error.to_string())
}

fn open_error(error: OpenError) -> Refused {
    let name = match &error {
        OpenError::Missing { .. } => ErrorName::SessionNotFound,
        OpenError::Locked { .. } => ErrorName::SessionLocked,
        OpenError::Scarce { .. } => ErrorName::Overloaded,
        OpenError::NewerFormat { .. } | OpenError::Unknown { .. } => ErrorName::VersionUnsupported,
        _ => ErrorName::SessionReadOnly,
    };
    Refused::new(name, error.to_string())
}

#[cfg(test)]
mod tests;
