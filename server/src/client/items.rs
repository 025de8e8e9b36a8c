//! What is open at this client: runs and asks, folded from its updates. A client
//! without the `agent/*` methods sees them as progress and diagnostics.
//!
//! Never asks a session anything, and never sees a replay: past updates go to the
//! client only, and `now` sets what is open.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use adjutant_core::text::review::Hunk;
use adjutant_protocol::ask::{AskGroup, AskView};
use adjutant_protocol::overview::Detail;
use adjutant_protocol::review::{ReviewHunk, ReviewUpdateParams};
use adjutant_protocol::state::StateView;
use adjutant_protocol::update::{AskChange, ChangeSetView, HunkState, RunView, SessionUpdateParams, Update};
use adjutant_protocol::{AskId, ChangeSetId, SessionId, methods};
use tokio::sync::{Notify, watch};

use super::diagnostics::Diagnostics;
use super::face::{Face, Note};
use super::outbound::OutboundQueue;
use super::overview::{Needs, Overviews};
use super::popup::SurfaceRoom;
use super::progress;
use super::run_progress::{OpenRun, ProgressOutput, RunProgress};
use crate::clock::now_ms;
use crate::documents::{Documents, Text};

/// How long code actions wait for the hunks of a text that has just changed. The next look is 100 ms away; a busy machine takes longer.
const CATCH_UP: Duration = Duration::from_secs(1);

/// The hunks of one file that a code action has to carry.
#[derive(Clone, Debug)]
pub struct CarriedHunks {
    pub change_set: ChangeSetId,
    pub uri: String,
    pub hunks: Arc<[Hunk]>,
}

/// The open runs and asks of one client; clones share them.
#[derive(Clone)]
pub struct Items {
    shared: Arc<ItemsState>,
}

struct ItemsState {
    open: Mutex<Open>,
    face: Arc<dyn Face>,
    outbound: OutboundQueue,
    documents: Documents,
    shown: OpenItems,
    /// A progress text waits for its second.
    waiting: Notify,
    /// Counts the changes of `hunks`.
    reviewed: watch::Sender<u64>,
    /// The number of the last notification of a document that `hunks` knows of.
    looked: watch::Sender<u64>,
}

/// How a client shows runs and asks.
#[derive(Clone, Copy, Debug)]
pub struct OpenItems {
    pub progress: bool,
    /// Asks are shown as diagnostics.
    pub diagnostics: bool,
    /// The client gets `agent/overview`.
    pub overview: bool,
    /// The client wants the version of the document that they belong to.
    pub versions: bool,
}

struct Open {
    /// How much its surfaces have room for.
    room: SurfaceRoom,
    /// One run for each session, with a growing number. Bounded by the sessions that a process may have open.
    runs: BTreeMap<SessionId, (u64, OpenRun)>,
    begun: u64,
    asks: BTreeMap<AskId, Arc<AskView>>,
    /// The file in which the whole of an ask was opened for the user.
    seen: BTreeMap<AskId, String>,
    /// The hunks of edits that a code action has to carry.
    carried: BTreeMap<AskId, Arc<[CarriedHunks]>>,
    progress: RunProgress,
    /// The applied hunks of open documents, as the last look found them.
    hunks: BTreeMap<String, ReviewUpdateParams>,
    diagnostics: Diagnostics,
    overviews: Overviews,
}

impl Items {
    /// Returns the items of a new connection: none is open.
    pub fn new(
        face: Arc<dyn Face>,
        outbound: OutboundQueue,
        documents: Documents,
        shown: OpenItems,
        room: SurfaceRoom,
    ) -> Self {
        let output = ProgressOutput { face: face.clone(), outbound: outbound.clone() };
        let open = Open {
            room,
            runs: BTreeMap::new(),
            asks: BTreeMap::new(),
            seen: BTreeMap::new(),
            carried: BTreeMap::new(),
            begun: 0,
            progress: RunProgress::new(output, shown.progress),
            hunks: BTreeMap::new(),
            diagnostics: Diagnostics::new(shown.versions),
            overviews: Overviews::default(),
        };
        let shared = ItemsState {
            open: Mutex::new(open),
            face,
            outbound,
            documents,
            shown,
            waiting: Notify::new(),
            reviewed: watch::Sender::new(0),
            looked: watch::Sender::new(0),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Returns how much diagnostics, menus and popups of several lines have room for.
    pub fn room(&self) -> SurfaceRoom {
        self.lock().room
    }

    /// Sets the room, and publishes the diagnostics again if it changed.
    pub fn set_room(&self, room: SurfaceRoom) {
        let mut open = self.lock();
        if open.room != room {
            open.room = room;
            self.publish_diagnostics(&mut open);
        }
    }

    /// Sets how much of a run the user wants to see.
    pub fn set_detail(&self, detail: Detail) {
        let mut open = self.lock();
        open.overviews.detail = detail;
        self.pulse(open);
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.shared.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Folds in one update, and shows the change.
    pub fn update(&self, params: &SessionUpdateParams) {
        if params.sub.is_some() && !matches!(params.update, Update::StateUpdate(_)) {
            // The only ephemeral update that is shown is a state.
            return;
        }
        let mut open = self.lock();
        let session = &params.session_id;
        match &params.update {
            Update::Run(RunView::Started { run_id, title, origin, .. }) => {
                let run = OpenRun {
                    session_id: session.clone(),
                    run_id: run_id.clone(),
                    title: title.clone(),
                    origin: origin.clone(),
                };
                open.begin(run, "begins");
            }
            Update::Run(RunView::Ended { end, .. }) => {
                open.runs.remove(session);
                open.progress.end(session, &progress::end_words(end));
            }
            Update::ChangeSet(view) => open.keep_waiting(view),
            Update::Ask(AskChange::Opened { ask } | AskChange::Changed { ask }) => {
                open.asks.insert(ask.ask_id.clone(), Arc::new(AskView::clone(ask)));
                self.publish_diagnostics(&mut open);
            }
            Update::Ask(AskChange::Closed { ask_id, .. }) => {
                open.close(ask_id);
                self.publish_diagnostics(&mut open);
            }
            _ => {}
        }
        open.progress.update(session, &params.update, now_ms());
        open.overviews.update(session, &params.update);
        self.pulse(open);
    }

    /// Replaces all that is open in a session: its client has just begun to follow it.
    pub fn now(&self, session: &SessionId, state: &StateView, run: Option<OpenRun>, asks: &[AskView]) {
        let mut open = self.lock();
        let gone =
            |ask: &AskView| ask.session_id == *session && asks.iter().all(|now| now.ask_id != ask.ask_id);
        let gone: Vec<AskId> =
            open.asks.values().filter(|ask| gone(ask)).map(|ask| ask.ask_id.clone()).collect();
        gone.iter().for_each(|ask| open.close(ask));
        for ask in asks {
            open.asks.insert(ask.ask_id.clone(), Arc::new(ask.clone()));
        }
        let before = open.runs.get(session).map(|(_, run)| run.run_id.clone());
        let after = run.as_ref().map(|run| run.run_id.clone());
        if before != after {
            open.runs.remove(session);
            open.progress.end(session, "ended");
        }
        if let Some(run) = run.filter(|_| before != after) {
            open.begin(run, &progress::state_words(state));
        }
        open.overviews.is_now(session, state);
        self.publish_diagnostics(&mut open);
        self.pulse(open);
    }

    /// Removes what is open in a session that was stopped or closed.
    pub fn forget(&self, session: &SessionId, why: &str) {
        let mut open = self.lock();
        open.runs.remove(session);
        open.progress.end(session, why);
        open.overviews.forget(session);
        let left: Vec<AskId> = open
            .asks
            .values()
            .filter(|ask| ask.session_id == *session)
            .map(|ask| ask.ask_id.clone())
            .collect();
        left.iter().for_each(|ask| open.close(ask));
        self.publish_diagnostics(&mut open);
        self.pulse(open);
    }

    /// Sends the progress and the overview that are due, and wakes `live` for the rest.
    fn pulse(&self, mut open: MutexGuard<'_, Open>) {
        self.say(&mut open);
        let waits = self.due(&open).is_some();
        drop(open);
        if waits {
            self.shared.waiting.notify_one();
        }
    }

    fn say(&self, open: &mut Open) {
        let now = Instant::now();
        open.progress.say(now);
        if !self.shared.shown.overview {
            return;
        }
        let needs = open.needs();
        let Open { runs, overviews, .. } = open;
        let told = overviews.next(&in_order(runs), &needs, now);
        if let Some(params) = told.and_then(|overview| serde_json::to_value(overview).ok()) {
            self.shared.outbound.notify(methods::OVERVIEW, &params);
        }
    }

    /// Returns when there is something more to say.
    fn due(&self, open: &Open) -> Option<Instant> {
        let overview = || open.overviews.due(&in_order(&open.runs), &open.needs());
        let overview = self.shared.shown.overview.then(overview).flatten();
        [open.progress.due(), overview].into_iter().flatten().min()
    }

    fn publish_diagnostics(&self, open: &mut Open) {
        if !self.shared.shown.diagnostics {
            return;
        }
        let Open { asks, seen, hunks, diagnostics, room, .. } = open;
        let asks = asks.values().map(|ask| (&**ask, seen.contains_key(&ask.ask_id)));
        for document in diagnostics.changed(asks, hunks.values(), &self.shared.documents, *room) {
            if let Some(Note { method, params }) = self.shared.face.diagnostics(&document) {
                self.shared.outbound.notify(method, &params);
            }
        }
    }

    /// Replaces the applied hunks of one document.
    pub fn review(&self, update: ReviewUpdateParams) {
        let mut open = self.lock();
        if update.hunks.is_empty() {
            open.hunks.remove(&update.uri);
        } else {
            open.hunks.insert(update.uri.clone(), update);
        }
        self.publish_diagnostics(&mut open);
        self.pulse(open);
        self.shared.reviewed.send_modify(|count| *count += 1);
    }

    /// Returns the applied hunks of an open document in its text of now. Waits a moment if they are known only for an older
    /// text, because the text has just changed.
    pub async fn hunks_of(&self, uri: &str) -> Vec<ReviewHunk> {
        let mut reviewed = self.shared.reviewed.subscribe();
        let deadline = tokio::time::Instant::now() + CATCH_UP;
        loop {
            let version = match self.shared.documents.under(uri) {
                Text::Open(snapshot) => snapshot.version,
                Text::Unsynced(_) | Text::Closed => return Vec::new(),
            };
            let Some(update) = self.lock().hunks.get(uri).cloned() else { return Vec::new() };
            if update.version == version {
                return update.hunks;
            }
            match tokio::time::timeout_at(deadline, reviewed.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return Vec::new(),
            }
        }
    }

    /// Notes that the hunks are known for all notifications of documents up to this number.
    pub fn looked(&self, notification: u64) {
        self.shared.looked.send_replace(notification);
    }

    /// Waits a moment until the hunks are known for the documents of now: one may just have been opened.
    pub async fn catch_up(&self) {
        let now = *self.shared.documents.watch().borrow();
        let mut looked = self.shared.looked.subscribe();
        // Later it is looked at with the next request.
        let _ = tokio::time::timeout(CATCH_UP, looked.wait_for(|number| *number >= now)).await;
    }

    /// Sends progress when it is due and follows the documents, until the future is dropped.
    pub async fn live(&self) {
        let mut changed = self.shared.documents.watch();
        loop {
            let due = self.due(&self.lock());
            let pause = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = pause => self.say(&mut self.lock()),
                () = self.shared.waiting.notified() => {}
                result = changed.changed() => {
                    if result.is_err() {
                        return;
                    }
                    let mut open = self.lock();
                    if !open.asks.is_empty() {
                        self.publish_diagnostics(&mut open);
                    }
                }
            }
        }
    }

    /// Returns the asks that wait for an answer, oldest first.
    pub fn open_asks(&self) -> Vec<Arc<AskView>> {
        let mut asks: Vec<Arc<AskView>> = self.lock().asks.values().cloned().collect();
        asks.sort_by_key(|ask| ask.opened_at);
        asks
    }

    /// Returns one open ask.
    pub fn open_ask(&self, id: &AskId) -> Option<Arc<AskView>> {
        self.lock().asks.get(id).cloned()
    }

    /// Returns the runs that have not ended, in the order they began.
    pub fn open_runs(&self) -> Vec<OpenRun> {
        in_order(&self.lock().runs).into_iter().cloned().collect()
    }

    /// Returns the run whose progress has this token.
    pub fn run_of_token(&self, token: &str) -> Option<OpenRun> {
        let open = self.lock();
        let session = open.progress.session_of(token)?;
        open.runs.get(session).map(|(_, run)| run.clone())
    }

    /// Returns the file in which the whole of an ask was opened for the user.
    pub fn seen_at(&self, ask: &AskId) -> Option<String> {
        self.lock().seen.get(ask).cloned()
    }

    /// Notes that the client can make this edit only by the code action that allows it.
    pub fn carries(&self, ask: &AskId, hunks: Arc<[CarriedHunks]>) {
        let mut open = self.lock();
        if open.asks.contains_key(ask) {
            open.carried.insert(ask.clone(), hunks);
        }
    }

    /// Returns the hunks that the code action for this ask has to carry.
    pub fn carried(&self, ask: &AskId) -> Option<Arc<[CarriedHunks]>> {
        self.lock().carried.get(ask).cloned()
    }

    /// Notes that the whole of an ask was opened, in the file `at`.
    pub fn mark_opened(&self, ask: &AskId, at: &str) {
        let mut open = self.lock();
        if open.asks.contains_key(ask) {
            open.seen.insert(ask.clone(), at.to_owned());
            self.publish_diagnostics(&mut open);
        }
    }
}

/// Returns the runs in the order in which they began.
fn in_order(runs: &BTreeMap<SessionId, (u64, OpenRun)>) -> Vec<&OpenRun> {
    let mut runs: Vec<&(u64, OpenRun)> = runs.values().collect();
    runs.sort_by_key(|(number, _)| *number);
    runs.into_iter().map(|(_, run)| run).collect()
}

impl Open {
    fn needs(&self) -> Needs {
        let waits = |ask: &&Arc<AskView>| matches!(ask.group, AskGroup::Interactive | AskGroup::NonBlocking);
        let hunks = self.hunks.values().flat_map(|update| &update.hunks);
        Needs {
            asking: self.asks.values().filter(waits).map(|ask| ask.session_id.clone()).collect(),
            hunks: hunks.filter(|hunk| !hunk.is_decided()).count(),
        }
    }

    /// Removes the hunks that were decided from the edits that a code action carries: a rejected hunk must not be made.
    fn keep_waiting(&mut self, view: &ChangeSetView) {
        let waits = |hunk: &Hunk| {
            let seen = view.hunks.iter().find(|of| of.hunk_id == hunk.id);
            seen.is_some_and(|of| of.state == HunkState::Proposed)
        };
        for carried in self.carried.values_mut() {
            if !carried.iter().any(|edit| edit.change_set == view.change_set_id) {
                continue;
            }
            let left = carried.iter().map(|edit| match edit.change_set == view.change_set_id {
                true => CarriedHunks {
                    hunks: edit.hunks.iter().filter(|hunk| waits(hunk)).cloned().collect(),
                    ..edit.clone()
                },
                false => edit.clone(),
            });
            *carried = left.collect();
        }
    }

    fn begin(&mut self, run: OpenRun, message: &str) {
        self.progress.begin(&run, message);
        self.begun += 1;
        self.runs.insert(run.session_id.clone(), (self.begun, run));
    }

    fn close(&mut self, ask: &AskId) {
        self.asks.remove(ask);
        self.seen.remove(ask);
        self.carried.remove(ask);
    }
}
