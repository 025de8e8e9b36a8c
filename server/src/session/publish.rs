//! Publishes the updates of a session in order.
//!
//! Numbers the updates, and never publishes one before its events are durable. Does not
//! decide which updates an event has: core's `state` does.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, PoisonError};

use adjutant_core::machine::step::Step;
use adjutant_core::policy::cause::Cause;
use adjutant_core::policy::{outside, tasks, unsaved};
use adjutant_core::record::{AllowedBy, CallResult, Event, Payload, Record};
use adjutant_core::session::{Call, Session};
use adjutant_core::wire::items::{ItemPage, Items};
use adjutant_core::wire::state::{self, Projector};
use adjutant_core::wire::usage;
use adjutant_protocol::ask::{AskResolvedParams, AskView};
use adjutant_protocol::session::ResumeResult;
use adjutant_protocol::state::{RequiredAction, State, StateView};
use adjutant_protocol::update::{RunView, SessionUpdateParams, Update};
use adjutant_protocol::{AskId, ChangeSetId, MessageId, SessionId, ToolCallId};

use super::SessionWorld;
use super::mailbox::{ClientError, Message, Reply, ResumePoint};
use super::page::TranscriptProgress;
use super::paging::PublishedPage;
use super::stream::StreamDelta;
use super::transcript_files::TranscriptFile;
use crate::client::backfill::PastUpdates;
use crate::client::{OpenRun, RenderedFile};

enum QueuedUpdate {
    Update(Box<SessionUpdateParams>),
    /// All text of a message that streams, for the transcript.
    Streaming(MessageId, String),
    /// An ask closed; the number is that of the update that says so.
    Resolved(AskResolvedParams, u64),
    Resumed(Box<Follower>),
    /// The open run and asks, for a client that begins to follow.
    Snapshot(Box<Snapshot>),
}

/// The state, the open run and the open asks of a session. A client that begins to follow gets them,
/// whether or not it also gets past updates.
struct Snapshot {
    state: StateView,
    run: Option<OpenRun>,
    asks: Vec<AskView>,
}

impl Snapshot {
    fn of(session: &Session) -> Self {
        let open = |run: &adjutant_core::session::run::Run| OpenRun {
            session_id: session.id.clone(),
            run_id: run.id.clone(),
            title: run.title.clone(),
            origin: session.origin_of(&run.id).map(Into::into),
        };
        Self {
            state: state::view(session),
            run: session.open_run().map(open),
            asks: session.open_asks().map(|ask| adjutant_core::wire::ask::view(session, ask)).collect(),
        }
    }
}

/// A client that begins to follow a session.
pub struct Follower {
    pub result: ResumeResult,
    /// The updates that are sent again.
    pub past: Option<PastUpdates>,
    pub reply: Reply<ResumePoint>,
}

pub struct Publisher {
    place: Arc<SessionWorld>,
    projector: Projector,
    items: Items,
    waiting: VecDeque<(u64, QueuedUpdate)>,
    durable: u64,
    /// Number of the last lasting update.
    seq: u64,
    sub: u64,
    /// The two numbers (`seq`, `sub`) of the last published update.
    released: (u64, u64),
    /// Whether a client created, resumed or prompted this session. Until then nothing is published.
    attached: bool,
    /// Whether the client knows of the open run. If not, it needs no state when the log stops.
    run_published: bool,
    /// Asks that closed since the asks that the session has forgotten were last removed from the index.
    closed_asks: usize,
    /// The documents of the present run whose older text a command saw.
    old_texts: BTreeSet<String>,
    /// The files of the present run that have undecided changes of other tasks.
    shared_files: BTreeSet<String>,
    /// The last state without a number, until a state with a number follows.
    passing: Option<StateView>,
    /// Grows with the published updates, once a client has asked for the transcript.
    transcript: TranscriptProgress,
}

impl Drop for Publisher {
    fn drop(&mut self) {
        index(&self.place, |asks| asks.retain(|_, owner| *owner != self.place.id));
    }
}

impl Publisher {
    pub fn new(place: Arc<SessionWorld>, session: &Session, items: Items) -> Self {
        // An answer names only its ask, also when the ask is from before a restart.
        index(&place, |asks| asks.extend(known_asks(session)));
        Self {
            projector: Projector::new(session),
            place,
            waiting: VecDeque::new(),
            durable: 0,
            seq: items.last(),
            sub: 0,
            released: (items.last(), 0),
            items,
            attached: !session.created,
            run_published: false,
            closed_asks: 0,
            old_texts: BTreeSet::new(),
            shared_files: BTreeSet::new(),
            passing: None,
            transcript: TranscriptProgress::default(),
        }
    }

    /// Attaches the client: it gets all updates that are published from now on.
    pub fn attach(&mut self, session: &Session, barrier: u64) {
        if !std::mem::replace(&mut self.attached, true) {
            self.waiting.push_back((barrier, QueuedUpdate::Snapshot(Box::new(Snapshot::of(session)))));
            self.release();
        }
    }

    /// Starts a task that writes the transcript of all published updates. From then on it grows.
    pub fn transcribe(&mut self, reply: Reply<RenderedFile>) {
        if !self.transcript.begin(reply) {
            return;
        }
        let (place, last) = (self.place.clone(), self.released.0);
        tokio::spawn(async move {
            let (catalog, id) = (place.world.catalog.clone(), place.id.clone());
            let begin = move || TranscriptFile::begin(&catalog, &id, last);
            let begun = tokio::task::spawn_blocking(begin).await;
            let begun = begun.unwrap_or_else(|error| Err(format!("write the transcript: {error}")));
            place.mailbox.post(Message::Transcribed(begun));
        });
    }

    /// Continues the transcript that the task of `transcribe` has written.
    pub fn transcribed(&mut self, begun: Result<(TranscriptFile, RenderedFile), String>) {
        self.transcript.begun(&self.place.id, begun);
    }

    pub fn attached(&self) -> bool {
        self.attached
    }

    /// Queues the answer to a client that begins to follow, after the updates that its state includes.
    pub fn resumed(&mut self, session: &Session, following: Follower, barrier: u64) {
        self.waiting.push_back((barrier, QueuedUpdate::Snapshot(Box::new(Snapshot::of(session)))));
        let replays = following.past.is_some();
        self.waiting.push_back((barrier, QueuedUpdate::Resumed(Box::new(following))));
        if let Some(view) = self.passing.clone().filter(|_| replays) {
            // The replayed updates end with a state that is older than this one.
            let params = self.params(session, Update::StateUpdate(view), true);
            self.waiting.push_back((barrier, QueuedUpdate::Update(Box::new(params))));
        }
        self.release();
    }

    /// Refuses the clients that wait to follow, because nothing becomes durable any more.
    pub fn fail_all(&mut self, refused: &ClientError) {
        for (_, queued) in self.waiting.drain(..) {
            if let QueuedUpdate::Resumed(following) = queued {
                let _ = following.reply.send(Err(refused.clone()));
            }
        }
    }

    pub fn durable(&self) -> u64 {
        self.durable
    }

    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Returns the newest items up to the last update.
    pub fn last_items(&self, limit: usize) -> ItemPage {
        self.items.page(u64::MAX, limit, self.seq)
    }

    /// Returns the number of the newest state.
    pub fn last_state(&self) -> Option<u64> {
        self.items.last_state()
    }

    /// Returns a page of items as far as their updates are published.
    pub fn items_before(&self, before: Option<u64>, limit: usize) -> PublishedPage {
        let last = self.released.0;
        let ItemPage { updates, before } = self.items.page(before.unwrap_or(u64::MAX), limit, last);
        let updates = updates.into_iter().filter_map(|seq| Some((seq, self.items.item_of(seq)?))).collect();
        PublishedPage { updates, before, last }
    }

    /// Queues the updates of one record. They wait until the event with the number `barrier` is durable.
    pub fn publish(&mut self, session: &Session, record: &Record, barrier: u64) {
        let run = self.projector.run_of(session, record);
        let (updates, passing) = match self.projector.project(session, record) {
            state::Updates::Lasting(updates) => (updates, false),
            state::Updates::Passing(updates) => (updates, true),
        };
        for update in updates {
            if !passing {
                self.seq += 1;
                self.sub = 0;
                self.items.add(run.as_ref(), &update);
            }
            if let Update::StateUpdate(view) = &update {
                self.passing = passing.then(|| view.clone());
            }
            let params = SessionUpdateParams { run_id: run.clone(), ..self.params(session, update, passing) };
            self.waiting.push_back((barrier, QueuedUpdate::Update(Box::new(params))));
        }
        match &record.event {
            Event::RunStarted { .. } => {
                self.old_texts.clear();
                self.shared_files.clear();
            }
            Event::ReplyPartial { text, .. } if self.transcript.grows() => {
                let message = session.open_run().and_then(|run| run.turn.as_ref()?.message.clone());
                if let Some(message) = message {
                    self.waiting.push_back((barrier, QueuedUpdate::Streaming(message, text.clone())));
                }
            }
            Event::ApplyStarted { change_set, allowed_by, .. } => {
                if let Some(message) = self.shared_file(session, change_set, allowed_by.as_ref()) {
                    let notice = self.params(session, Update::Notice { message }, true);
                    self.waiting.push_back((barrier, QueuedUpdate::Update(Box::new(notice))));
                }
            }
            Event::ToolFinished { call, result } => {
                let warning = warning_of(session.call(call), result);
                for message in warning.into_iter().chain(self.old_text(session, call, result)) {
                    let notice = self.params(session, Update::Notice { message }, true);
                    self.waiting.push_back((barrier, QueuedUpdate::Update(Box::new(notice))));
                }
            }
            Event::Replied { reply, .. } if reply.usage.is_some_and(|usage| usage.is_counted()) => {
                if let Some(context) = usage::context(session, &self.place.world.settings()) {
                    let update = self.params(session, Update::UsageUpdate(context), true);
                    self.waiting.push_back((barrier, QueuedUpdate::Update(Box::new(update))));
                }
            }
            Event::OutsideChanged { .. } => {
                if let Some(message) = outside::notice(session, &record.event) {
                    let notice = self.params(session, Update::Notice { message }, true);
                    self.waiting.push_back((barrier, QueuedUpdate::Update(Box::new(notice))));
                }
            }
            Event::AskOpened { ask } => index(&self.place, |asks| {
                asks.insert(ask.id.clone(), session.id.clone());
            }),
            Event::AskClosed { ask, resolution } => {
                self.forget_asks(session);
                let resolved = AskResolvedParams {
                    session_id: session.id.clone(),
                    ask_id: ask.clone(),
                    resolution: resolution.clone().into(),
                };
                self.waiting.push_back((barrier, QueuedUpdate::Resolved(resolved, self.seq)));
            }
            _ => {}
        }
        self.release();
    }

    /// Returns the notice for a command that saw older texts of open documents: for each file once a run.
    fn old_text(&mut self, session: &Session, call: &ToolCallId, result: &CallResult) -> Option<String> {
        let mut has_new = false;
        for document in &result.unsaved {
            has_new |= self.old_texts.insert(document.uri.clone());
        }
        match session.call(call).and_then(|call| call.payload.as_ref()) {
            Some(Payload::Command { line, .. }) if has_new => unsaved::notice(line, &result.unsaved),
            _ => None,
        }
    }

    /// Returns the notice for a change that is about to be made in a file with undecided changes of another task: for each file
    /// once a run. A question says it itself.
    fn shared_file(
        &mut self,
        session: &Session,
        change_set: &ChangeSetId,
        allowed_by: Option<&AllowedBy>,
    ) -> Option<String> {
        let change = &session.changes.get(change_set)?.change;
        let message = tasks::notice(&session.open_run()?.title, change)?;
        let was_asked = matches!(allowed_by, Some(AllowedBy::Answer { .. }));
        (!was_asked && self.shared_files.insert(change.target.clone())).then_some(message)
    }

    /// Removes from the index the asks that the session itself has forgotten, once for many closed asks.
    fn forget_asks(&mut self, session: &Session) {
        self.closed_asks += 1;
        if self.closed_asks > session.closed_asks.len() {
            self.closed_asks = 0;
            index(&self.place, |asks| {
                asks.retain(|_, owner| *owner != session.id);
                asks.extend(known_asks(session));
            });
        }
    }

    /// Queues the streamed text of a step.
    pub fn streamed(&mut self, session: &Session, step: &Step, delta: StreamDelta, barrier: u64) {
        let Some(run) = session.open_run() else { return };
        let mut updates = Vec::new();
        match step {
            Step::CallModel { .. } => {
                let Some(message_id) = run.turn.as_ref().and_then(|turn| turn.message.clone()) else {
                    return;
                };
                if !delta.reasoning.is_empty() {
                    updates.push(Update::AgentThoughtChunk {
                        message_id: message_id.clone(),
                        text: delta.reasoning,
                    });
                }
                if !delta.text.is_empty() {
                    updates.push(Update::AgentMessageChunk { message_id, text: delta.text });
                }
            }
            Step::RunTool { call } if !delta.text.is_empty() => {
                updates.push(Update::ToolCallContentChunk { tool_call_id: call.clone(), text: delta.text });
            }
            _ => {}
        }
        for update in updates {
            let params = self.params(session, update, true);
            self.waiting.push_back((barrier, QueuedUpdate::Update(Box::new(params))));
        }
        self.release();
    }

    /// Publishes at once why no more events follow. Nothing runs any more, so an open run is published
    /// as resumable. `end` is the text that surfaces show.
    pub fn stopped(&mut self, session: &Session, message: String, end: &str) {
        // What waits for the disk is never published, so the numbers continue from the last published one.
        (self.seq, self.sub) = self.released;
        let notice = self.params(session, Update::Notice { message }, true);
        self.place.world.link.last_word(&notice);
        self.place.world.link.forget(&session.id, end);
        if session.open_run().is_none() || !self.run_published {
            return;
        }
        // It has no number, because the log may give that number to another update once the disk works.
        let view = StateView {
            state: State::Resumable,
            sub: None,
            asks: Vec::new(),
            ask_kind: None,
            required_action: RequiredAction::ResumeOrDiscard,
            ..state::view(session)
        };
        let params = self.params(session, Update::StateUpdate(view), true);
        self.place.world.link.last_word(&params);
    }

    fn params(&mut self, session: &Session, update: Update, ephemeral: bool) -> SessionUpdateParams {
        let sub = ephemeral.then(|| {
            self.sub += 1;
            self.sub
        });
        SessionUpdateParams {
            session_id: session.id.clone(),
            seq: self.seq,
            sub,
            run_id: session.open_run().map(|run| run.id.clone()),
            update,
        }
    }

    pub fn durable_up_to(&mut self, seq: u64) {
        self.durable = self.durable.max(seq);
        self.release();
    }

    fn release(&mut self) {
        while self.waiting.front().is_some_and(|(needs, _)| *needs <= self.durable) {
            let Some((_, queued)) = self.waiting.pop_front() else { return };
            if let QueuedUpdate::Update(params) = &queued {
                self.released = (params.seq, params.sub.unwrap_or(0));
                match &params.update {
                    Update::Run(RunView::Started { .. }) => self.run_published = true,
                    Update::Run(RunView::Ended { .. }) => self.run_published = false,
                    _ => {}
                }
                self.transcript.add_update(&self.place.id, params);
            }
            match queued {
                QueuedUpdate::Snapshot(now) => {
                    self.run_published |= now.run.is_some();
                    self.place.world.link.now(&self.place.id, &now.state, now.run, &now.asks);
                }
                QueuedUpdate::Resumed(following) => {
                    self.attached = true;
                    follow(&self.place, *following);
                }
                QueuedUpdate::Update(params) if self.attached => self.place.world.link.update(*params),
                QueuedUpdate::Resolved(params, seq) if self.attached => {
                    self.place.world.link.resolved(&params, seq);
                }
                QueuedUpdate::Streaming(message, text) => {
                    self.transcript.add_streamed(&self.place.id, &message, &text);
                }
                QueuedUpdate::Update(_) | QueuedUpdate::Resolved(..) => {}
            }
        }
    }
}

/// Returns the notice for an allowed edit that was not made or not saved. The output itself is for the model.
fn warning_of(call: Option<&Call>, result: &CallResult) -> Option<String> {
    if !matches!(result.cause, Some(Cause::NotMade | Cause::NotSaved)) {
        return None;
    }
    // A call that was refused beforehand has one text for both; the summary is only its beginning.
    let begin = result.summary.strip_suffix('…').filter(|begin| result.output.starts_with(*begin));
    let what = begin.map_or(&*result.summary, |_| &*result.output);
    Some(format!("{}: {what}", call.map_or("An edit", |call| &call.title)))
}

/// The asks that a session still knows, open or closed.
fn known_asks(session: &Session) -> impl Iterator<Item = (AskId, SessionId)> {
    let known = session.asks.keys().chain(session.closed_asks.iter().map(|(ask, _)| ask));
    known.map(|ask| (ask.clone(), session.id.clone()))
}

fn index(place: &SessionWorld, change: impl FnOnce(&mut HashMap<AskId, SessionId>)) {
    change(&mut place.world.asks.lock().unwrap_or_else(PoisonError::into_inner));
}

/// Answers with the present state, then sends the past updates. The answer is ordered between the
/// updates before it and the updates after it (docs/protocol.md, Sessions).
fn follow(place: &SessionWorld, following: Follower) {
    let Follower { result, past, reply } = following;
    let answer = ResumePoint { result, place: place.world.link.ordering_barrier() };
    if reply.send(Ok(answer)).is_ok()
        && let Some(past) = past
    {
        // The log is read as fast as the client reads, while the session continues.
        place.world.link.replay(&place.id, past);
    }
}
