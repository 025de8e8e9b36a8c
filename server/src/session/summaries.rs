//! What a list shows of a session, kept beside its log.
//!
//! Derived, never synced and never in the way: a list that finds none that fits
//! has it made anew from the log.

use std::sync::Arc;
use std::time::{Duration, Instant};

use adjutant_core::session::Session;
use adjutant_core::wire::state;
use adjutant_protocol::state::{State, StateView};

use super::SessionWorld;
use super::catalog::{AskMark, Catalog, CatalogError, Summary};
use super::log::LogMark;
use super::replay::FoldedSession;
use crate::aside::aside;

/// A summary is rewritten at most this often while a run is under way.
const SUMMARY_EVERY: Duration = Duration::from_secs(2);

/// The summary of one session, written as it changes.
pub struct Summaries {
    place: Arc<SessionWorld>,
    written: Option<Instant>,
    shown: Option<StateView>,
    due: Option<Summary>,
    due_seq: u64,
}

impl Summaries {
    pub fn new(place: Arc<SessionWorld>) -> Self {
        Self { place, written: None, shown: None, due: None, due_seq: 0 }
    }

    /// Notes a change; it is written when the facts are durable and the state is worth it.
    pub fn changed(&mut self, session: &Session, mark: LogMark) {
        let view = state::view(session);
        let shown = self.shown.as_ref();
        let rests = view.state != State::Running;
        let turned = shown.is_none_or(|shown| shown.state != view.state || shown.asks != view.asks);
        if turned || rests || self.written.is_none_or(|written| written.elapsed() >= SUMMARY_EVERY) {
            self.due = Some(summary(session, mark));
            self.due_seq = mark.last_seq;
        }
        self.shown = Some(view);
    }

    pub fn durable(&mut self, seq: u64) {
        if self.due_seq > seq {
            return;
        }
        let Some(summary) = self.due.take() else { return };
        self.written = Some(Instant::now());
        let place = self.place.clone();
        tokio::task::spawn_blocking(move || write(&place, &summary));
    }

    pub async fn write_now(&mut self, session: &Session, mark: LogMark) {
        if session.created {
            let (place, summary) = (self.place.clone(), summary(session, mark));
            aside(move || write(&place, &summary)).await;
        }
    }
}

fn write(place: &SessionWorld, summary: &Summary) {
    if let Err(error) = place.world.catalog.write_summary(&place.id.0, summary) {
        // The list reads the log itself where the summary is stale.
        tracing::warn!(%error, session = %place.id, "the summary was not written");
    }
}

/// Makes the summary of a session anew from its log, for a list that finds none that fits. Blocks.
pub fn rebuilt(catalog: &Catalog, id: &str) -> Result<Summary, CatalogError> {
    let take = |folded: &mut FoldedSession, record| drop(folded.fold(&record));
    catalog.rebuild(id, FoldedSession::new(&id.into()), take, |folded, mark| {
        let damage = folded.strays().map(|notice| notice.to_string());
        Summary { updated_at: folded.at, damage, ..summary(&folded.session, mark) }
    })
}

/// What a list shows of a session.
fn summary(session: &Session, mark: LogMark) -> Summary {
    let view = state::view(session);
    let asks: Vec<AskMark> =
        session.open_asks().map(|ask| AskMark { id: ask.id.clone(), kind: ask.kind }).collect();
    let name = serde_json::to_value(view.state).ok().and_then(|name| name.as_str().map(str::to_owned));
    Summary {
        title: session.title.clone(),
        roots: session.roots.clone(),
        state: name.unwrap_or_default(),
        created_at: session.created_at,
        updated_at: crate::clock::now_ms(),
        turns: u64::from(session.turns),
        open_asks: asks.len() as u64,
        asks,
        log: mark,
        written: None,
        torn: false,
        damage: None,
    }
}
