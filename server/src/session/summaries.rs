//! The summary of a session for lists, in a file next to its log.
//!
//! It is derived and never synced. If it is missing or stale, a list makes it again
//! from the log.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use adjutant_core::machine::step::{unfinished_writes, unproved_edits};
use adjutant_core::record::{Ask, AskGroup};
use adjutant_core::session::Session;
use adjutant_core::session::applied::AppliedChanges;
use adjutant_core::text::display::{Surface, display};
use adjutant_core::wire::state;
use adjutant_protocol::state::{State, StateView};

use super::catalog::{AskMark, Catalog, CatalogError, Summary};
use super::log::LogMark;
use super::replay::FoldedSession;
use super::{SessionWorld, kept_changes};
use crate::aside::aside;

/// A summary is rewritten at most this often while a run is open.
const SUMMARY_EVERY: Duration = Duration::from_secs(2);

/// Characters of what a session waits for.
const MAX_WAITS_FOR: usize = 120;

/// The summary of one session, written as it changes.
pub struct Summaries {
    place: Arc<SessionWorld>,
    written: Option<Instant>,
    last_view: Option<StateView>,
    last_title: String,
    due: Option<Summary>,
    due_seq: u64,
    /// The changes as the last run left them, until they are kept next to the log.
    due_changes: Option<DueChanges>,
    /// The number of the last event in the file. Writes run side by side, and an older one never replaces a newer one: while the
    /// session is open, lists believe the file.
    newest: Arc<Mutex<u64>>,
}

/// What a session has changed at the end of a run or of its time in memory, and the log up to there.
struct DueChanges {
    log: LogMark,
    roots: Vec<String>,
    applied: AppliedChanges,
}

impl DueChanges {
    /// `None` if nothing was applied.
    fn of(session: &Session, log: LogMark) -> Option<Self> {
        let (roots, applied) = (session.roots.clone(), session.applied.clone());
        (!applied.is_empty()).then_some(Self { log, roots, applied })
    }

    /// Blocks.
    fn keep(self, place: &SessionWorld) {
        kept_changes::keep(&place.world.catalog, &place.id, self.log, &self.roots, &self.applied);
    }
}

impl Summaries {
    pub fn new(place: Arc<SessionWorld>) -> Self {
        Self {
            place,
            written: None,
            last_view: None,
            last_title: String::new(),
            due: None,
            due_seq: 0,
            due_changes: None,
            newest: Arc::default(),
        }
    }

    /// Notes a change. If the state or the title changed, no run is open, or the last write is old, the summary is
    /// written once its events are durable.
    pub fn changed(&mut self, session: &Session, mark: LogMark) {
        let view = state::view(session);
        let last = self.last_view.as_ref();
        let is_idle = view.state != State::Running;
        let differs = last.is_none_or(|last| last.state != view.state || last.asks != view.asks)
            || self.last_title != session.title;
        if differs || is_idle || self.written.is_none_or(|written| written.elapsed() >= SUMMARY_EVERY) {
            self.due = Some(summary(session, mark));
            self.due_seq = mark.last_seq;
        }
        if is_idle && last.is_some_and(|last| last.state == State::Running) {
            self.due_changes = DueChanges::of(session, mark);
        }
        self.last_view = Some(view);
        self.last_title.clone_from(&session.title);
    }

    pub fn durable(&mut self, seq: u64) {
        if self.due_seq > seq {
            return;
        }
        let Some(summary) = self.due.take() else { return };
        self.written = Some(Instant::now());
        let (place, changes, newest) = (self.place.clone(), self.due_changes.take(), self.newest.clone());
        tokio::task::spawn_blocking(move || {
            write(&place, &summary, &newest);
            if let Some(changes) = changes {
                changes.keep(&place);
            }
        });
    }

    pub async fn write_now(&mut self, session: &Session, mark: LogMark) {
        if session.created {
            let (place, summary, changes) =
                (self.place.clone(), summary(session, mark), DueChanges::of(session, mark));
            let newest = self.newest.clone();
            aside(move || {
                write(&place, &summary, &newest);
                if let Some(changes) = changes {
                    changes.keep(&place);
                }
            })
            .await;
        }
    }
}

/// Writes a summary, unless a newer one is in the file. Blocks.
fn write(place: &SessionWorld, summary: &Summary, newest: &Mutex<u64>) {
    let mut newest = newest.lock().unwrap_or_else(PoisonError::into_inner);
    if summary.log.last_seq < *newest {
        return;
    }
    match place.world.catalog.write_summary(&place.id.0, summary) {
        Ok(()) => *newest = summary.log.last_seq,
        // A list reads the log itself if the summary is stale.
        Err(error) => tracing::warn!(%error, session = %place.id, "the summary was not written"),
    }
    place.world.list_changes.note(&place.id);
}

/// Makes the summary of a session from its log, for a list that finds none or a stale one. Blocks.
pub fn rebuilt(catalog: &Catalog, id: &str) -> Result<Summary, CatalogError> {
    let fold = |folded: &mut FoldedSession, record| drop(folded.fold(&record));
    catalog.rebuild(id, FoldedSession::new(&id.into()), fold, |folded, mark| {
        let damage = folded.strays().map(|notice| notice.to_string());
        Summary { updated_at: folded.at, damage, ..summary(&folded.session, mark) }
    })
}

/// Returns the summary of a session.
fn summary(session: &Session, mark: LogMark) -> Summary {
    let view = state::view(session);
    let asks: Vec<AskMark> =
        session.open_asks().map(|ask| AskMark { id: ask.id.clone(), kind: ask.kind }).collect();
    let name = serde_json::to_value(view.state).ok().and_then(|name| name.as_str().map(str::to_owned));
    Summary {
        title: session.title.clone(),
        roots: session.roots.clone(),
        parent: session.parent.as_ref().map(|parent| parent.0.clone()),
        state: name.unwrap_or_default(),
        created_at: session.created_at,
        updated_at: crate::clock::now_ms(),
        since: since(session, view.state),
        turns: u64::from(session.turns),
        open_asks: asks.len() as u64,
        asks,
        waits_for: waits_for(session),
        unreviewed: session.applied.unreviewed() as u64,
        comments: session.applied.commented().len() as u64,
        unfinished: unfinished_writes(session) as u64,
        unproved: unproved_edits(session).count() as u64,
        undone: session.applied.undone() as u64,
        log: mark,
        written: None,
        torn: false,
        damage: None,
    }
}

/// When the session began to be in this state, without its steps.
fn since(session: &Session, state: State) -> Option<u64> {
    match state {
        State::None => None,
        State::Idle => session.ended.back().map(|ended| ended.end.ended_at),
        State::Running => session.open_run().map(|run| run.started_at),
        State::RequiresAction | State::Resumable => blocking(session).map(|ask| ask.opened_at),
    }
}

/// The title of the oldest ask that the run waits for, as one line for any client.
fn waits_for(session: &Session) -> Option<String> {
    blocking(session).map(|ask| display(&ask.title, Surface::Status(MAX_WAITS_FOR)).text.into_owned())
}

fn blocking(session: &Session) -> Option<&Ask> {
    session.open_asks().find(|ask| matches!(ask.kind.group(), AskGroup::Interactive | AskGroup::Resumable))
}
