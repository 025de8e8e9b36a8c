//! The list of sessions: filtered, newest first, a page at a time.
//!
//! Loads no session; where a page goes on is in its cursor. Later pages reuse the scan of the first for 30 s.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use adjutant_protocol::session::{SessionEntry, SessionListResult};

use super::reading::{self, Read, place};
use crate::session::catalog::{Catalog, CatalogError};

/// Sessions of one page.
const PAGE: usize = 100;

/// The last session of a page: what comes behind it in the order is the next page.
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

    /// Reads what `nextCursor` said before.
    pub fn parse(text: &str) -> Option<Self> {
        let (updated_at, id) = text.split_once('.')?;
        Some(Self { updated_at: updated_at.parse().ok()?, id: id.to_owned() })
    }

    /// Whether a session stands behind it.
    fn is_before(&self, entry: &SessionEntry) -> bool {
        place(self.updated_at, &self.id) < place(entry.updated_at, &entry.session_id.0)
    }
}

/// Which sessions are wanted.
#[derive(Clone, Debug, Default)]
pub struct ListFilter {
    /// The URI of their first folder.
    pub root: Option<String>,
    /// Part of their title, in whatever case.
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

/// How long the pages of one list are cut from the same look at all sessions.
const SAME_SCAN: Duration = Duration::from_secs(30);

/// The last look at all sessions, so that the pages of a list do not each read all of them.
#[derive(Default)]
pub struct Scans {
    last: Mutex<Option<Arc<Scan>>>,
}

struct Scan {
    at: Instant,
    /// The last changed first, as it was then.
    read: Vec<Read>,
}

impl Scans {
    /// Reads one page: the first by a look at all sessions, a later one out of that look. Blocks.
    ///
    /// A later page shows each of its sessions as it is now, in the order that there was, and leaves out
    /// those that are gone.
    pub fn page(&self, catalog: &Catalog, wanted: &ListFilter) -> Result<SessionListResult, CatalogError> {
        // Whatever is read: a scan that is too old goes, also where this page needs none.
        let kept = {
            let mut kept = self.cached();
            kept.take_if(|scan| scan.at.elapsed() >= SAME_SCAN);
            kept.clone().filter(|_| wanted.after.is_some())
        };
        let (scan, fresh) = match kept {
            Some(scan) => (scan, false),
            None => {
                let read = reading::all(catalog)?;
                (Arc::new(Scan { at: Instant::now(), read }), true)
            }
        };
        let mut found = scan.read.iter().filter(|read| wanted.matches(&read.entry));
        let listed: Vec<&Read> = found.by_ref().take(PAGE).collect();
        let more = found.next().is_some();
        let next_cursor = listed.last().filter(|_| more).map(|last| Cursor::of(&last.entry).text());
        let now = |read: &&Read| match fresh {
            true => Ok(Some(read.entry.clone())),
            false => reading::again(catalog, read),
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
