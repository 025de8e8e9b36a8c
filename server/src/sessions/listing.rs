//! Follows the list of sessions for a client that shows it, from its first list on: what happens in this process at once, what other
//! processes do by a look at the logs every two seconds.
//!
//! Never opens a session and never makes one wait. Of a session that another process writes, only the summary is read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use adjutant_protocol::SessionId;
use adjutant_protocol::session::SessionChangedParams;
use tokio::time::{Instant, sleep, timeout_at};

use super::Sessions;
use super::opening::catalog_error;
use super::reading::{self, Read};
use crate::aside::aside;
use crate::session::catalog::{Catalog, CatalogError};
use crate::session::mailbox::ClientError;

/// The server sends what happens in this time together: at most four notifications a second for one session.
const TOGETHER: Duration = Duration::from_millis(250);
/// The least time between two looks at the logs of other processes.
const OTHERS_EVERY: Duration = Duration::from_secs(2);
/// A look that takes long is followed by a pause that many times as long: it takes 2 % of the time of a processor at most.
const SHARE: u32 = 50;
/// The most entries that one look sends. The next look sends the others.
const MOST_AT_ONCE: usize = 100;
/// The most folders that the server remembers for a client. After more it sends the sessions of every folder.
const MOST_FOLDERS: usize = 64;

/// The entries that the server has sent to a client.
#[derive(Default)]
pub struct FollowedList {
    inner: Mutex<FollowState>,
}

#[derive(Default)]
struct FollowState {
    /// The folders that it has listed, as URIs.
    folders: BTreeSet<String>,
    /// Whether it has listed the sessions of all folders.
    is_of_all: bool,
    /// The entries as they were told, of all folders.
    told: BTreeMap<String, Read>,
}

impl FollowState {
    fn shows(&self, cwd: &str) -> bool {
        self.is_of_all || self.folders.contains(cwd)
    }

    fn add(&mut self, folder: Option<String>) {
        self.is_of_all |= folder.is_none() || self.folders.len() >= MOST_FOLDERS;
        self.folders.extend(folder.filter(|_| !self.is_of_all));
    }
}

/// A session whose entry is not the one that was told.
struct ChangedEntry {
    id: String,
    now: Option<Read>,
}

impl FollowedList {
    fn lock(&self) -> MutexGuard<'_, FollowState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns which of these sessions have another entry now than was told. Blocks.
    fn look(&self, catalog: &Catalog, ids: BTreeSet<String>) -> Result<Vec<ChangedEntry>, CatalogError> {
        let mut changed = Vec::new();
        for id in ids {
            let now = reading::glance(catalog, &id)?;
            let told = self.lock().told.get(&id).map(|told| told.entry.clone());
            if told.as_ref() != now.as_ref().map(|now| &now.entry) {
                changed.push(ChangedEntry { id, now });
            } else if let Some(now) = now {
                self.lock().told.insert(id, now);
            }
            if changed.len() == MOST_AT_ONCE {
                break;
            }
        }
        Ok(changed)
    }

    /// Returns the sessions that others may have changed: those whose log is another, and those whose writer may be gone. Blocks.
    fn suspects(&self, catalog: &Catalog) -> Result<BTreeSet<String>, CatalogError> {
        let logs = catalog.logs()?;
        let followed = self.lock();
        let gone = followed.told.keys().filter(|id| !logs.contains_key(*id)).cloned();
        let is_suspect = |id: &String| {
            let log = logs.get(id).copied().flatten();
            followed.told.get(id).is_none_or(|told| !told.is_of(log))
        };
        Ok(gone.chain(logs.keys().filter(|id| is_suspect(id)).cloned()).collect())
    }
}

/// Tells the client what changed, until the connection is over.
pub async fn follow(sessions: Sessions) {
    let world = sessions.world().clone();
    let mut next = Instant::now() + OTHERS_EVERY;
    // Nothing follows before the first list.
    world.list_changes.changed().await;
    loop {
        let own = world.list_changes.take().into_iter().map(|SessionId(id)| id).collect::<BTreeSet<_>>();
        let (is_due, began) = (Instant::now() >= next, Instant::now());
        let here = sessions.clone();
        let looked = aside(move || {
            let (followed, catalog) = (&here.followed, &here.world().catalog);
            let mut ids = own;
            if is_due {
                ids.extend(followed.suspects(catalog)?);
            }
            followed.look(catalog, ids)
        });
        match looked.await {
            Ok(changed) => changed.into_iter().for_each(|changed| sessions.tell(changed)),
            // The next look at all logs finds it.
            Err(error) => tracing::warn!(%error, "the list of sessions was not looked at"),
        }
        if is_due {
            next = Instant::now() + OTHERS_EVERY.max(began.elapsed() * SHARE);
        }
        sleep(TOGETHER).await;
        // Whether something happened here or the time has come, there is a look.
        let _ = timeout_at(next, world.list_changes.changed()).await;
    }
}

impl Sessions {
    /// Notes that the client lists the sessions of this folder, or of all, and follows the list from now on.
    pub async fn follow_list(&self, folder: Option<String>) -> Result<(), ClientError> {
        self.followed.lock().add(folder);
        if self.world.list_changes.is_begun() {
            return Ok(());
        }
        // Before the logs are read, so that nothing is missing between.
        self.world.list_changes.begin();
        let here = self.clone();
        let known = aside(move || reading::all(&here.world().catalog)).await.map_err(catalog_error)?;
        let known = known.into_iter().map(|read| (read.entry.session_id.0.clone(), read));
        let mut followed = self.followed.lock();
        // What was told meanwhile is newer.
        let told = std::mem::take(&mut followed.told);
        followed.told = known.chain(told).collect();
        Ok(())
    }

    /// Tells the client one entry. What finds no room is told by a later look.
    fn tell(&self, changed: ChangedEntry) {
        let ChangedEntry { id, now } = changed;
        let mut followed = self.followed.lock();
        let cwd = now.as_ref().or_else(|| followed.told.get(&id)).map(|read| read.entry.cwd.clone());
        let params = SessionChangedParams {
            session_id: SessionId(id.clone()),
            session: now.as_ref().map(|now| now.entry.clone()),
        };
        let is_shown = cwd.is_some_and(|cwd| followed.shows(&cwd));
        if is_shown && !self.world.link.session_changed(&params) {
            if let Some(told) = followed.told.get_mut(&id) {
                told.look_again();
            }
            return;
        }
        match now {
            Some(now) => followed.told.insert(id, now),
            None => followed.told.remove(&id),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p27_a_client_hears_of_the_folders_that_it_lists() {
        let mut followed = FollowState::default();
        assert!(!followed.shows("file:///a"));
        followed.add(Some("file:///a".to_owned()));
        assert!(followed.shows("file:///a") && !followed.shows("file:///b"));
        for number in 0..2 * MOST_FOLDERS {
            followed.add(Some(format!("file:///many/{number}")));
        }
        assert!(followed.shows("file:///b"), "of too many it hears of all");
        assert!(followed.folders.len() <= MOST_FOLDERS);
    }
}
