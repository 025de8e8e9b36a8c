//! Which sessions of this process may have another entry in the list of sessions.
//!
//! Never says what changed: whoever follows the list reads the entry again.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use adjutant_protocol::SessionId;
use tokio::sync::Notify;

/// The sessions that changed since somebody looked; while nobody follows the list, none.
#[derive(Default)]
pub struct ListChanges {
    changed: Mutex<Option<BTreeSet<SessionId>>>,
    wake: Notify,
}

impl ListChanges {
    /// From now on changes are kept until they are taken.
    pub fn begin(&self) {
        self.lock().get_or_insert_default();
        self.wake.notify_one();
    }

    /// Whether somebody follows the list.
    pub fn is_begun(&self) -> bool {
        self.lock().is_some()
    }

    /// Notes that the entry of a session may have changed, or that the session is gone.
    pub fn note(&self, session: &SessionId) {
        if let Some(changed) = &mut *self.lock() {
            changed.insert(session.clone());
            self.wake.notify_one();
        }
    }

    /// Takes what changed.
    pub fn take(&self) -> BTreeSet<SessionId> {
        self.lock().as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Waits until something changed.
    pub async fn changed(&self) {
        self.wake.notified().await;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<BTreeSet<SessionId>>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
