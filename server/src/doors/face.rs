//! What is open at this client: runs and asks, folded from what it is told.
//!
//! The same fold for every client; what a plain client is shown of it (progress,
//! popups, diagnostics) follows from it. Never asks a session anything.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use adjutant_protocol::ask::AskView;
use adjutant_protocol::origin::Origin;
use adjutant_protocol::update::{AskChange, RunView, SessionUpdateParams, Update};
use adjutant_protocol::{AskId, RunId, SessionId};

/// A run that has not ended, as its client knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRun {
    pub session_id: SessionId,
    pub run_id: RunId,
    pub title: String,
    pub origin: Option<Origin>,
}

/// Shared by the clones of one connection's doors.
#[derive(Clone, Default)]
pub struct Face {
    shared: Arc<Mutex<Open>>,
}

#[derive(Default)]
struct Open {
    /// One run a session; bounded by the sessions a process may have open.
    runs: BTreeMap<SessionId, OpenRun>,
    asks: BTreeMap<AskId, Arc<AskView>>,
}

impl Face {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Folds in one update.
    pub fn told(&self, params: &SessionUpdateParams) {
        match &params.update {
            Update::Run(RunView::Started { run_id, title, origin, .. }) => {
                let run = OpenRun {
                    session_id: params.session_id.clone(),
                    run_id: run_id.clone(),
                    title: title.clone(),
                    origin: origin.clone(),
                };
                self.lock().runs.insert(params.session_id.clone(), run);
            }
            Update::Run(RunView::Ended { .. }) => {
                self.lock().runs.remove(&params.session_id);
            }
            Update::Ask(AskChange::Opened { ask }) => {
                self.lock().asks.insert(ask.ask_id.clone(), Arc::new(ask.clone()));
            }
            Update::Ask(AskChange::Closed { ask_id, .. }) => {
                self.lock().asks.remove(ask_id);
            }
            _ => {}
        }
    }

    /// The asks that wait for an answer, oldest first.
    pub fn open_asks(&self) -> Vec<Arc<AskView>> {
        let mut asks: Vec<Arc<AskView>> = self.lock().asks.values().cloned().collect();
        asks.sort_by_key(|ask| ask.opened_at);
        asks
    }

    /// The runs that have not ended.
    pub fn open_runs(&self) -> Vec<OpenRun> {
        self.lock().runs.values().cloned().collect()
    }
}
