//! The list of sessions: filtered, newest first, one page at a time.
//!
//! Never loads a session. The cursor says where the next page begins. Later pages reuse the scan of the first for
//! 30 s.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use adjutant_protocol::session::{SessionEntry, SessionListResult};

use super::reading::{self, Read, place};
use crate::session::catalog::{Catalog, CatalogError};

/// Sessions of one page.
const PAGE: usize = 100;

/// The last session of a page: the next page begins after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    updated_at: u64,
    id: String,
}

impl Cursor {
    fn of(entry: &SessionEntry) -> Self {
        Self { updated_at: entry.updated_at, id: entry.session_id.0.clone() }
    }

    fn text(&self) -> String {
        format!("{}.{}", self.updated_at, self.id)
    }

    /// Parses the text of a `nextCursor`.
    pub fn parse(text: &str) -> Option<Self> {
        let (updated_at, id) = text.split_once('.')?;
        Some(Self { updated_at: updated_at.parse().ok()?, id: id.to_owned() })
    }

    /// Whether a session comes after this cursor.
    fn is_before(&self, entry: &SessionEntry) -> bool {
        place(self.updated_at, &self.id) < place(entry.updated_at, &entry.session_id.0)
    }
}

/// Which sessions a list has.
#[derive(Clone, Debug, Default)]
pub struct ListFilter {
    /// The URI of their first folder.
    pub root: Option<String>,
    /// Part of their title; upper and lower case are equal.
    pub query: Option<String>,
    pub after: Option<Cursor>,
}

impl ListFilter {
    fn matches(&self, entry: &SessionEntry) -> bool {
        let fold = |text: &str| text.to_lowercase();
        self.root.as_ref().is_none_or(|root| entry.cwd == *root)
            && self.query.as_ref().is_none_or(|query| fold(&entry.title).contains(&fold(query)))
            && self.after.as_ref().is_none_or(|after| after.is_before(entry))
    }
}

/// How long the pages of a list use the same scan.
const SAME_SCAN: Duration = Duration::from_secs(30);

/// The last scan of all sessions, so that not every page of a list reads all of them.
#[derive(Default)]
pub struct Scans {
    last: Mutex<Option<Arc<Scan>>>,
}

struct Scan {
    at: Instant,
    /// The last changed first, at the time of the scan.
    read: Vec<Read>,
}

impl Scans {
    /// Returns one page: the first from a new scan of all sessions, a later one from the same scan. Blocks.
    ///
    /// A later page has the present entry of each session, in the order of the scan, without sessions that are
    /// gone.
    pub fn page(&self, catalog: &Catalog, filter: &ListFilter) -> Result<SessionListResult, CatalogError> {
        // An old scan is dropped even if this page does not use it.
        let cached = {
            let mut cached = self.cached();
            cached.take_if(|scan| scan.at.elapsed() >= SAME_SCAN);
            cached.clone().filter(|_| filter.after.is_some())
        };
        let (scan, fresh) = match cached {
            Some(scan) => (scan, false),
            None => {
                let read = reading::all(catalog)?;
                (Arc::new(Scan { at: Instant::now(), read }), true)
            }
        };
        let mut found = scan.read.iter().filter(|read| filter.matches(&read.entry));
        let listed: Vec<&Read> = found.by_ref().take(PAGE).collect();
        let more = found.next().is_some();
        let next_cursor = listed.last().filter(|_| more).map(|last| Cursor::of(&last.entry).text());
        let now = |read: &&Read| {
            if fresh { Ok(Some(read.entry.clone())) } else { reading::refreshed(catalog, read) }
        };
        let sessions = listed.iter().filter_map(|read| now(read).transpose());
        let sessions = sessions.collect::<Result<Vec<SessionEntry>, CatalogError>>()?;
        *self.cached() = more.then(|| scan.clone());
        Ok(SessionListResult { sessions, next_cursor })
    }

    fn cached(&self) -> MutexGuard<'_, Option<Arc<Scan>>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
