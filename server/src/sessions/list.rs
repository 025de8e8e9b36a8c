//! The list of sessions: filtered, newest first, a page at a time.
//!
//! Loads no session; where a page goes on is in its cursor, not in here.

use adjutant_protocol::session::{SessionEntry, SessionListResult};

use super::reading::{self, place};
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
pub struct Wanted {
    /// The URI of their first folder.
    pub root: Option<String>,
    /// Part of their title, in whatever case.
    pub query: Option<String>,
    pub after: Option<Cursor>,
}

impl Wanted {
    fn takes(&self, entry: &SessionEntry) -> bool {
        let fold = |text: &str| text.to_lowercase();
        self.root.as_ref().is_none_or(|root| entry.cwd == *root)
            && self.query.as_ref().is_none_or(|query| fold(&entry.title).contains(&fold(query)))
            && self.after.as_ref().is_none_or(|after| after.is_before(entry))
    }
}

/// Reads one page. Blocks.
pub fn page(catalog: &Catalog, wanted: &Wanted) -> Result<SessionListResult, CatalogError> {
    let mut sessions = reading::entries(catalog)?;
    sessions.retain(|entry| wanted.takes(entry));
    let more = sessions.len() > PAGE;
    sessions.truncate(PAGE);
    let next_cursor = sessions.last().filter(|_| more).map(|last| Cursor::of(last).text());
    Ok(SessionListResult { sessions, next_cursor })
}
