//! The sessions that are in memory, are being opened, or are leaving memory.
//!
//! The first request for a session registers it, before its log is open. Its mailbox keeps the later requests in
//! their order. A close makes the session leave. The next request then begins another life of it, which waits
//! until the life before has ended. So no session is opened twice, and no session waits for another one.
//!
//! Never touches a log, and never waits under its lock.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use adjutant_protocol::SessionId;
use adjutant_protocol::errors::ErrorName;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::session::mailbox::{ClientError, Mail, Mailbox};

/// Lives of sessions that one process has at once, in any stage.
const MAX_OPEN: usize = 1_000;
/// Time limit for a session to leave memory and end its processes.
const LEAVE_LIMIT: Duration = Duration::from_secs(5);

/// The stage of a session's life.
enum Stage {
    /// Its log is being opened.
    Opening(Mailbox),
    Open(Mailbox),
    /// No more messages are posted to it.
    Leaving,
}

/// The registry; clones share it.
#[derive(Clone)]
pub struct Registry {
    entries: Arc<Mutex<HashMap<SessionId, Entry>>>,
    room: Arc<Semaphore>,
}

struct Entry {
    /// The identity of this life, compared by pointer.
    number: Arc<()>,
    stage: Stage,
    over: LifeEnd,
}

/// The end of one life: the channel closes then, and its value says whether the log was open.
#[derive(Clone)]
pub struct LifeEnd(watch::Receiver<bool>);

/// The result of [`Registry::enter`].
pub enum RegistryEntry {
    /// The session is in memory or is being opened.
    There(Mailbox),
    /// The session was not in memory; its life begins now.
    New(Life, Mailbox, Mail),
}

/// One life of a session in memory. When it is dropped, the session has left.
pub struct Life {
    registry: Registry,
    id: SessionId,
    number: Arc<()>,
    before: Option<LifeEnd>,
    /// Dropped before `was_open`: whoever waits for the end of this life finds its room free.
    _room: OwnedSemaphorePermit,
    was_open: watch::Sender<bool>,
}

impl Default for Registry {
    fn default() -> Self {
        Self { entries: Arc::default(), room: Arc::new(Semaphore::new(MAX_OPEN)) }
    }
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds a session, or begins a life of it. `Overloaded` if too many are in memory.
    pub fn enter(&self, id: &SessionId) -> Result<RegistryEntry, ClientError> {
        self.entered(id, |mailbox| Stage::Opening(mailbox.clone()))
    }

    /// Finds a session, or begins a life that only works on its files: no messages are posted to it.
    pub fn pass(&self, id: &SessionId) -> Result<RegistryEntry, ClientError> {
        self.entered(id, |_| Stage::Leaving)
    }

    fn entered(
        &self,
        id: &SessionId,
        stage: impl FnOnce(&Mailbox) -> Stage,
    ) -> Result<RegistryEntry, ClientError> {
        let mut entries = self.lock();
        if let Some(mailbox) = entries.get(id).and_then(|entry| entry.stage.mailbox()) {
            return Ok(RegistryEntry::There(mailbox.clone()));
        }
        let full = |_| ClientError::new(ErrorName::Overloaded, "too many sessions are open in this editor");
        let room = Arc::clone(&self.room).try_acquire_owned().map_err(full)?;
        let (mailbox, mail) = Mailbox::new();
        let (was_open, over) = watch::channel(false);
        let number = Arc::new(());
        let entry = Entry { number: number.clone(), stage: stage(&mailbox), over: LifeEnd(over) };
        let before = entries.insert(id.clone(), entry).map(|entry| entry.over);
        let (registry, id) = (self.clone(), id.clone());
        let life = Life { registry, id, number, before, was_open, _room: room };
        Ok(RegistryEntry::New(life, mailbox, mail))
    }

    /// Returns the mailbox of a session that is in memory or is being opened.
    pub fn find(&self, id: &SessionId) -> Option<Mailbox> {
        self.lock().get(id).and_then(|entry| entry.stage.mailbox()).cloned()
    }

    /// Returns the mailboxes of all sessions whose log is open.
    pub fn open(&self) -> Vec<Mailbox> {
        let open = |entry: &Entry| match &entry.stage {
            Stage::Open(mailbox) => Some(mailbox.clone()),
            Stage::Opening(_) | Stage::Leaving => None,
        };
        self.lock().values().filter_map(open).collect()
    }

    /// Makes a session leave, and returns the end of its life. `farewell` posts the last message; it is not called
    /// for a session that is already leaving.
    pub fn leave(&self, id: &SessionId, farewell: impl FnOnce(&Mailbox)) -> Option<LifeEnd> {
        self.lock().get_mut(id).map(|entry| entry.leave(farewell))
    }

    /// Makes all sessions leave, and returns the ends of their lives.
    pub fn leave_all(&self, farewell: impl Fn(&Mailbox)) -> Vec<LifeEnd> {
        self.lock().values_mut().map(|entry| entry.leave(&farewell)).collect()
    }
}

impl Stage {
    fn mailbox(&self) -> Option<&Mailbox> {
        match self {
            Stage::Opening(mailbox) | Stage::Open(mailbox) => Some(mailbox),
            Stage::Leaving => None,
        }
    }

    fn opened(self) -> Self {
        match self {
            Stage::Opening(mailbox) => Stage::Open(mailbox),
            other => other,
        }
    }
}

impl Entry {
    fn leave(&mut self, farewell: impl FnOnce(&Mailbox)) -> LifeEnd {
        let before = std::mem::replace(&mut self.stage, Stage::Leaving);
        if let Some(mailbox) = before.mailbox() {
            farewell(mailbox);
        }
        self.over.clone()
    }
}

impl LifeEnd {
    /// Waits until the life has ended. Returns whether its log was open, or `None` if the life has not ended within
    /// `LEAVE_LIMIT`.
    pub async fn reached(mut self) -> Option<bool> {
        let ended = async { while self.0.changed().await.is_ok() {} };
        tokio::time::timeout(LEAVE_LIMIT, ended).await.ok()?;
        Some(*self.0.borrow())
    }
}

impl Life {
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Waits until the life before this one has ended, at most `LEAVE_LIMIT`.
    pub async fn begun(&mut self) {
        if let Some(before) = self.before.take() {
            before.reached().await;
        }
    }

    /// Notes that the log of the session is open.
    pub fn opened(&self) {
        self.was_open.send_replace(true);
        self.set(Stage::opened);
    }

    /// Notes that the session is leaving: the next request for it begins a new life.
    pub fn leaves(&self) {
        self.set(|_| Stage::Leaving);
    }

    fn set(&self, change: impl FnOnce(Stage) -> Stage) {
        let mut entries = self.registry.lock();
        if let Some(entry) = entries.get_mut(&self.id)
            && Arc::ptr_eq(&entry.number, &self.number)
        {
            entry.stage = change(std::mem::replace(&mut entry.stage, Stage::Leaving));
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        let mut entries = self.registry.lock();
        if entries.get(&self.id).is_some_and(|entry| Arc::ptr_eq(&entry.number, &self.number)) {
            entries.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(registry: &Registry, id: &SessionId) -> (Life, Mailbox, Mail) {
        match registry.enter(id) {
            Ok(RegistryEntry::New(life, mailbox, mail)) => (life, mailbox, mail),
            Ok(RegistryEntry::There(_)) => panic!("it is there already"),
            Err(refused) => panic!("{refused}"),
        }
    }

    #[tokio::test]
    async fn a_life_begins_after_the_one_before_and_only_the_last_one_is_found() {
        let (registry, id) = (Registry::default(), SessionId::from("s-1"));
        let (first, ..) = new(&registry, &id);
        assert!(registry.find(&id).is_some() && registry.open().is_empty());
        first.opened();
        assert_eq!(registry.open().len(), 1);
        let over = registry.leave(&id, |_| {}).expect("it is there");
        assert!(registry.find(&id).is_none());
        let (mut second, ..) = new(&registry, &id);
        let begins = tokio::spawn(async move {
            second.begun().await;
            second
        });
        tokio::task::yield_now().await;
        assert!(!begins.is_finished());
        drop(first);
        assert_eq!(over.reached().await, Some(true), "the first one was in memory");
        let second = begins.await.expect("it begins");
        assert!(registry.find(&id).is_some(), "the end of the first one leaves the second alone");
        let over = registry.leave(&id, |_| {}).expect("it is there");
        drop(second);
        assert_eq!(over.reached().await, Some(false), "the second one was never in memory");
        assert!(registry.lock().is_empty());
    }

    #[tokio::test]
    async fn p28_lives_are_bounded_also_those_of_one_session_that_is_closed_again_and_again() {
        let (registry, id) = (Registry::default(), SessionId::from("s-1"));
        let mut lives = Vec::new();
        for _ in 0..MAX_OPEN {
            lives.push(new(&registry, &id));
            registry.leave(&id, |_| {});
        }
        let refused = registry.enter(&id).map(|_| ()).expect_err("there is no room");
        assert_eq!(refused.name, ErrorName::Overloaded);
        lives.truncate(MAX_OPEN - 1);
        assert!(registry.enter(&id).is_ok(), "and then there is");
    }
}
