//! Which sessions of this process may have another entry in the list of sessions.
//!
//! Names only sessions: `sessions::listing` reads their entries again. Never reads one itself.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use adjutant_protocol::SessionId;
use tokio::sync::Notify;

/// The sessions that changed since the last [`ListChanges::take`]. Before [`ListChanges::begin`] it notes none.
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

    /// Whether changes are noted.
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
