//! The list of sessions: filtered, newest first, a page at a time.
//!
//! Loads no session; where a page goes on is in its cursor, not in here.

use std::path::Path;

use adjutant_protocol::SessionId;
use adjutant_protocol::session::{SessionEntry, SessionListResult};
use adjutant_protocol::state::State;

use crate::session::catalog::{CatalogError, Condition, Listed};
use crate::session::{World, summary_of};
use crate::uri;

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

    /// Whether a session stands behind it: older, or as old and later by its id.
    fn is_before(&self, entry: &SessionEntry) -> bool {
        let older = entry.updated_at < self.updated_at;
        older || (entry.updated_at == self.updated_at && entry.session_id.0 > self.id)
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
pub fn page(world: &World, wanted: &Wanted) -> Result<SessionListResult, CatalogError> {
    let listed = world.catalog.list()?;
    let entries = listed.into_iter().filter_map(|listed| entry(world, listed));
    let mut sessions: Vec<SessionEntry> = entries.filter(|entry| wanted.takes(entry)).collect();
    sessions.sort_by(|a, b| b.updated_at.cmp(&a.updated_at).then_with(|| a.session_id.cmp(&b.session_id)));
    let more = sessions.len() > PAGE;
    sessions.truncate(PAGE);
    let next_cursor = sessions.last().filter(|_| more).map(|last| Cursor::of(last).text());
    Ok(SessionListResult { sessions, next_cursor })
}

fn entry(world: &World, listed: Listed) -> Option<SessionEntry> {
    let Listed { id, summary, condition } = listed;
    let summary = match (&condition, summary) {
        (Condition::Current, Some(summary)) => summary,
        (_, old) => match world.catalog.rebuild(&id, |read| summary_of(&id, read)) {
            Ok(summary) => summary,
            Err(error) => {
                let mut summary = old.unwrap_or_default();
                summary.damage.get_or_insert_with(|| error.to_string());
                summary
            }
        },
    };
    let damaged = match condition {
        Condition::Damaged(why) => Some(why),
        _ => summary.damage,
    };
    let state = serde_json::from_value(serde_json::Value::String(summary.state)).unwrap_or(State::None);
    let left = state == State::Running && !world.catalog.is_written(&id);
    Some(SessionEntry {
        session_id: SessionId(id),
        title: summary.title,
        cwd: summary.roots.first().map(|root| uri::of_path(Path::new(root))).unwrap_or_default(),
        // A run that nobody runs waits to be resumed.
        state: if left { State::Resumable } else { state },
        updated_at: summary.updated_at,
        open_asks: u32::try_from(summary.open_asks).unwrap_or(u32::MAX),
        turns: u32::try_from(summary.turns).unwrap_or(u32::MAX),
        damaged,
    })
}
