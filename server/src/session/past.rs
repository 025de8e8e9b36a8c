//! What a session has told, told again from its log.
//!
//! Keeps one record in memory at a time beside the session itself, however
//! long the log is. Never takes the lock of a log and never changes one.

use adjutant_core::event::{Event, Fact};
use adjutant_core::session::Session;
use adjutant_core::state::Teller;
use adjutant_protocol::SessionId;
use adjutant_protocol::ask::AskResolvedParams;
use adjutant_protocol::update::SessionUpdateParams;
use tokio::sync::mpsc;

use super::catalog::Catalog;
use super::fact_of;
use super::log::{Log, Notice};
use crate::doors::past::{Recall, Spot, Stretch, Told};

/// Facts of a log that cannot stand where they stand.
#[derive(Default)]
pub struct Strays {
    first: Option<u64>,
    count: u64,
}

impl Strays {
    /// Looks at a fact before the session takes it.
    pub fn look(&mut self, session: &Session, fact: &Fact) {
        if session.is_out_of_place(&fact.event) {
            self.first.get_or_insert(fact.seq);
            self.count += 1;
        }
    }

    /// Returns what is to be told of them.
    pub fn told(&self) -> Option<Notice> {
        self.first.map(|seq| Notice::OutOfPlace { seq, facts: self.count })
    }
}

/// Returns a session as its log says it is. Blocks.
pub fn fold(catalog: &Catalog, id: &SessionId) -> Result<Session, String> {
    let place = catalog.place(&id.0).map_err(|error| error.to_string())?;
    let mut session = Session::new(id.clone(), Vec::new());
    let mut failed = None;
    let mut sink = |record| match fact_of(&record) {
        Ok(fact) if failed.is_none() => session.apply(&fact),
        Ok(_) => {}
        Err(why) => _ = failed.get_or_insert(why),
    };
    Log::read_each(&*place.storage, &place.dir, &id.0, &mut sink).map_err(|error| error.to_string())?;
    failed.map_or(Ok(session), Err)
}

/// Tells a stretch again, folded from the log as it was told the first time, and returns what is
/// to be told of the log itself. Blocks.
pub fn tell(
    catalog: &Catalog,
    id: &SessionId,
    stretch: Stretch,
    mut tell: impl FnMut(Told),
) -> Result<Vec<Notice>, String> {
    let place = catalog.place(&id.0).map_err(|error| error.to_string())?;
    let mut session = Session::new(id.clone(), Vec::new());
    let mut teller = Teller::new(&session);
    let (mut seq, mut failed) = (0, None);
    let mut strays = Strays::default();
    let mut sink = |record| {
        // Behind the end of the stretch nothing is of interest, and a fact that cannot be read
        // makes all that follow a guess.
        if seq > stretch.last.seq || failed.is_some() {
            return;
        }
        let fact: Fact = match fact_of(&record) {
            Ok(fact) => fact,
            Err(why) => {
                failed = Some(why);
                return;
            }
        };
        strays.look(&session, &fact);
        session.apply(&fact);
        let run_id = teller.run_of(&session, &fact);
        for update in teller.told(&session, &fact) {
            seq += 1;
            if stretch.contains(Spot { seq, behind: false }) {
                let (session_id, run_id) = (id.clone(), run_id.clone());
                tell(Told::Update(Box::new(SessionUpdateParams {
                    session_id,
                    seq,
                    sub: None,
                    run_id,
                    update,
                })));
            }
        }
        if let Event::AskClosed { ask, resolution } = fact.event
            && stretch.contains(Spot { seq, behind: true })
        {
            let session_id = id.clone();
            tell(Told::Resolved(Box::new(AskResolvedParams { session_id, ask_id: ask, resolution })));
        }
    };
    let read = Log::read_each(&*place.storage, &place.dir, &id.0, &mut sink);
    let mut read = read.map_err(|error| error.to_string())?;
    read.notices.extend(strays.told());
    let newer = read.notices.iter().find(|notice| matches!(notice, Notice::NewerFormat { .. }));
    match (failed, newer) {
        (None, _) => Ok(read.notices),
        (Some(why), None) => Err(why),
        (Some(why), Some(newer)) => Err(format!("{newer} ({why})")),
    }
}

/// Serves what clients have missed, one stretch at a time, until nobody can ask any more.
pub async fn serve(catalog: Catalog, mut recalls: mpsc::Receiver<Recall>) {
    while let Some(Recall { session, stretch, told }) = recalls.recv().await {
        let catalog = catalog.clone();
        let done = tokio::task::spawn_blocking(move || {
            // The client may go while it is told; then nobody listens.
            let read = tell(&catalog, &session, stretch, |past| drop(told.blocking_send(past)));
            if let Err(why) = read {
                tracing::error!(%session, %why, "what the client missed cannot be read from the log");
            }
        });
        // A panic is one client's gap, and the next is served.
        let _ = done.await;
    }
}
