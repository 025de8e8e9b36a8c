//! Reads the logs and summaries of all sessions, also of sessions that another process
//! has open.
//!
//! Never keeps a lock, opens a file for writing or wakes a session. The result for a
//! running session may be a moment old.

use std::cmp::Reverse;
use std::path::Path;
use std::sync::Arc;

use adjutant_core::policy::ask;
use adjutant_core::record::{AskKind, Resolution};
use adjutant_core::wire;
use adjutant_protocol::ask::AskView;
use adjutant_protocol::session::SessionEntry;
use adjutant_protocol::state::State;
use adjutant_protocol::update::SessionUpdateParams;
use adjutant_protocol::{AskId, SessionId};

use crate::client::backfill::{LastingMessage, UpdateRange};
use crate::session::catalog::{Catalog, CatalogError, Condition, ListedSession, Summary};
use crate::session::log::{LogMark, Notice};
use crate::session::storage::{Disk, Stat};
use crate::session::watermark::Syncer;
use crate::session::{replay, summaries};
use crate::uri;

/// Sessions that are searched for a closed ask, the last changed first.
const MAX_SEARCHED: usize = 64;
/// Bytes of logs that are read for one search: the bound for a client that sends random ask ids.
const MAX_SEARCHED_BYTES: u64 = 64 << 20;

/// Returns the catalog of a state directory.
pub fn catalog(state_dir: &Path) -> std::io::Result<Catalog> {
    Ok(Catalog::new(Arc::new(Disk), Syncer::start()?, state_dir))
}

/// An open ask and the title of its session.
#[derive(Clone, Debug)]
pub struct ListedAsk {
    pub title: String,
    pub ask: AskView,
}

/// A session as a list shows it, and the size and time of the log that it was read from.
pub(super) struct Read {
    pub entry: SessionEntry,
    /// The log at the time of the read; `None` if the entry may be older.
    log: Option<Stat>,
}

impl Read {
    /// Whether the entry is that of this log, and stays so while the log does. Its writer may go without a word.
    pub fn is_of(&self, log: Option<Stat>) -> bool {
        let may_lose_its_writer = self.entry.state == State::Running || self.entry.open_in.is_some();
        log.is_some() && self.log == log && !may_lose_its_writer
    }

    /// Forgets for which log the entry is.
    pub fn look_again(&mut self) {
        self.log = None;
    }
}

/// Returns all sessions, the last changed first. A stale summary is made again from its log. Blocks.
pub fn entries(catalog: &Catalog) -> Result<Vec<SessionEntry>, CatalogError> {
    Ok(all(catalog)?.into_iter().map(|read| read.entry).collect())
}

/// A session with applied changes, as its summary says.
pub(super) struct SummedReview {
    pub session: SessionId,
    /// The URIs of its folders.
    pub roots: Vec<String>,
    pub updated_at: u64,
    /// Whether it has hunks that nobody has looked at, or comments that wait.
    pub is_open: bool,
    /// Whether files are being written, undone or restored, or were when its process was killed.
    pub is_unfinished: bool,
    /// Whether edits of open documents have no outcome.
    pub has_unproved: bool,
    /// Whether it has hunks that were undone, so that their text may be in a file again.
    pub has_undone: bool,
    /// The log that the summary is of; `None` if it is damaged, missing or that of another session.
    pub log: Option<LogMark>,
}

/// Returns what the summaries say of the reviews of all sessions. Touches no lock, so that a list at the same time does not
/// take this look for a writer. Blocks.
pub(super) fn reviews(catalog: &Catalog) -> Result<Vec<SummedReview>, CatalogError> {
    let of = |listed: ListedSession| {
        let (id, summary, condition) = current(catalog, listed)?;
        let is_sound = summary.damage.is_none() && !matches!(condition, Condition::Damaged(_));
        Ok(SummedReview {
            session: SessionId(id),
            roots: summary.roots.iter().map(|root| uri::of_path(Path::new(root))).collect(),
            updated_at: summary.updated_at,
            is_open: summary.unreviewed > 0 || summary.comments > 0,
            is_unfinished: summary.unfinished > 0,
            has_unproved: summary.unproved > 0,
            has_undone: summary.undone > 0,
            log: is_sound.then_some(summary.log),
        })
    };
    catalog.list()?.into_iter().map(of).collect()
}

/// As [`entries`], each with the log that it was read from. Blocks.
pub(super) fn all(catalog: &Catalog) -> Result<Vec<Read>, CatalogError> {
    let listed = catalog.list()?.into_iter().map(|listed| read(catalog, listed));
    let mut all = listed.collect::<Result<Vec<Read>, CatalogError>>()?;
    // Sorted again, because a log may have changed later than its stale summary says.
    all.sort_by(|Read { entry: one, .. }, Read { entry: other, .. }| {
        place(one.updated_at, &one.session_id.0).cmp(&place(other.updated_at, &other.session_id.0))
    });
    Ok(all)
}

/// The sort key of every list: the last changed first, and at equal times by id.
pub(super) fn place(updated_at: u64, id: &str) -> (Reverse<u64>, &str) {
    (Reverse(updated_at), id)
}

/// Returns the summary of a listed session; a stale one is made again from the log. Fails only if no file
/// descriptor is free, which is no fault of the session.
fn current(catalog: &Catalog, listed: ListedSession) -> Result<(String, Summary, Condition), CatalogError> {
    let ListedSession { id, summary, condition, fits, .. } = listed;
    let summary = match summary {
        Some(summary) if fits => summary,
        old => match summaries::rebuilt(catalog, &id) {
            Ok(summary) => summary,
            Err(error) if error.is_scarce() => return Err(error),
            Err(error) => {
                let mut summary = old.unwrap_or_default();
                summary.damage.get_or_insert_with(|| error.to_string());
                summary
            }
        },
    };
    Ok((id, summary, condition))
}

/// Returns the present entry of a session that was read before, or `None` if the session is gone. Blocks.
pub(super) fn refreshed(catalog: &Catalog, before: &Read) -> Result<Option<SessionEntry>, CatalogError> {
    let id = &before.entry.session_id.0;
    // If the log is unchanged, so is the entry, except that the writer of a running session may be gone.
    if before.is_of(catalog.log_of(id)) {
        return Ok(Some(before.entry.clone()));
    }
    let found = catalog.find(id)?.map(|listed| read(catalog, listed)).transpose()?;
    Ok(found.map(|read| read.entry))
}

/// Returns the present entry of a session for whoever looks often, or `None` if the session is gone. While a process writes it, its
/// last summary counts, so that no log is read again and again. Blocks.
pub(super) fn glance(catalog: &Catalog, id: &str) -> Result<Option<Read>, CatalogError> {
    let Some(listed) = catalog.find(id)? else { return Ok(None) };
    let is_behind = !listed.fits && listed.condition == Condition::Stale && listed.summary.is_some();
    if !is_behind || !catalog.is_written(id) {
        return read(catalog, listed).map(Some);
    }
    read(catalog, ListedSession { fits: true, log: None, ..listed }).map(Some)
}

fn read(catalog: &Catalog, listed: ListedSession) -> Result<Read, CatalogError> {
    let (log, open_in) = (listed.log, listed.holder);
    let (id, summary, condition) = current(catalog, listed)?;
    let damaged = match condition {
        Condition::Damaged(why) => Some(why),
        _ => summary.damage,
    };
    let state = serde_json::from_value(serde_json::Value::String(summary.state)).unwrap_or(State::None);
    let is_left = state == State::Running && !catalog.is_written(&id);
    let entry = SessionEntry {
        session_id: SessionId(id),
        title: summary.title,
        cwd: summary.roots.first().map(|root| uri::of_path(Path::new(root))).unwrap_or_default(),
        // No process has the session open, so its run can be resumed.
        state: if is_left { State::Resumable } else { state },
        updated_at: summary.updated_at,
        since: summary.since,
        waits_for: summary.waits_for,
        open_asks: u32::try_from(summary.open_asks).unwrap_or(u32::MAX),
        unreviewed_hunks: u32::try_from(summary.unreviewed).unwrap_or(u32::MAX),
        turns: u32::try_from(summary.turns).unwrap_or(u32::MAX),
        parent_session_id: summary.parent.map(SessionId),
        open_in,
        damaged,
    };
    Ok(Read { entry, log })
}

/// Returns the open asks of all sessions that have a wanted kind, the oldest first. Blocks.
pub fn open_asks(
    catalog: &Catalog,
    wanted: impl Fn(AskKind) -> bool,
) -> Result<Vec<ListedAsk>, CatalogError> {
    let mut asks = Vec::new();
    for listed in catalog.list()? {
        let (id, summary, _) = current(catalog, listed)?;
        if !summary.asks.iter().any(|mark| wanted(mark.kind)) {
            continue;
        }
        // The list of sessions reports a log that cannot be read.
        let Ok(session) = replay::fold(catalog, &SessionId(id)) else { continue };
        let open = session.open_asks().filter(|ask| wanted(ask.kind));
        asks.extend(
            open.map(|open| ListedAsk { title: session.title.clone(), ask: wire::ask::view(&session, open) }),
        );
    }
    asks.sort_by_key(|listed| listed.ask.opened_at);
    Ok(asks)
}

/// Returns the session that has an ask open, according to the summaries. Blocks.
pub fn session_of(catalog: &Catalog, ask: &AskId) -> Option<SessionId> {
    let listed = catalog.list().ok()?;
    let mut summaries = listed.into_iter().filter_map(|listed| current(catalog, listed).ok());
    let found = summaries.find(|(_, summary, _)| summary.asks.iter().any(|mark| mark.id == *ask));
    found.map(|(id, _, _)| SessionId(id))
}

/// Returns the recently closed asks that `meant` accepts, with their resolutions. Searches only the sessions that
/// changed last, within `MAX_SEARCHED` and `MAX_SEARCHED_BYTES`. Blocks.
pub fn closed_asks(
    catalog: &Catalog,
    meant: impl Fn(&AskId) -> bool,
) -> Result<Vec<(SessionId, AskId, Resolution)>, CatalogError> {
    let mut found = Vec::new();
    let mut bytes = 0;
    for listed in catalog.list()?.into_iter().take(MAX_SEARCHED) {
        let length = listed.log.map_or(0, |log| log.len);
        if bytes + length > MAX_SEARCHED_BYTES {
            continue;
        }
        bytes += length;
        let Ok(session) = replay::fold(catalog, &SessionId(listed.id)) else { continue };
        let closed = session.closed_asks.iter().filter(|(ask, _)| meant(ask));
        found.extend(closed.map(|(ask, how)| (session.id.clone(), ask.clone(), how.clone())));
    }
    Ok(found)
}

/// Returns the message for an answer that came after its ask was closed: how it was closed.
pub fn closed_message(how: &Resolution) -> String {
    let from = |surface: &str| ask::from_where(surface).map(|from| format!(" {from}")).unwrap_or_default();
    match how {
        Resolution::Selected { option_id, surface, .. } => {
            format!("this question is closed: \"{option_id}\" was chosen{}", from(surface))
        }
        Resolution::Answered { surface, .. } => {
            format!("this question is closed: it was answered{}", from(surface))
        }
        Resolution::Decided => "this question is closed: it was answered, change by change".to_owned(),
        Resolution::Cancelled => "this question is closed: its run was cancelled".to_owned(),
        Resolution::Superseded => "this question is closed: another one took its place".to_owned(),
        Resolution::Withdrawn => "this question is closed: its answer is no longer needed".to_owned(),
    }
}

/// Returns how an ask was closed, if it was. Blocks.
pub fn resolution(catalog: &Catalog, id: &SessionId, ask: &AskId) -> Result<Option<Resolution>, String> {
    Ok(replay::fold(catalog, id)?.resolution(ask).cloned())
}

/// Publishes the whole conversation of a session as updates, and returns the notices about its log. Blocks.
pub fn conversation(
    catalog: &Catalog,
    id: &SessionId,
    mut publish: impl FnMut(SessionUpdateParams),
) -> Result<Vec<String>, String> {
    let mut notices =
        replay::replay_range(catalog, id, UpdateRange::of_updates(1, u64::MAX), |message| match message {
            LastingMessage::Update(params) => publish(*params),
            LastingMessage::Resolved(_) => {}
        })?;
    if catalog.is_written(&id.0) {
        // A write that another process has not finished looks like a torn one.
        notices.retain(|notice| !matches!(notice, Notice::TornTail { .. }));
    }
    Ok(notices.iter().map(ToString::to_string).collect())
}
