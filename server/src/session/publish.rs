//! What is told of a session, in order; what has a number, never before it is durable.
//!
//! Numbers updates and holds them back until the disk has their facts. Decides
//! nothing about what is told: core's `state` does.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, PoisonError};

use adjutant_core::machine::step::Step;
use adjutant_core::policy::cause::Cause;
use adjutant_core::policy::unsaved;
use adjutant_core::record::{CallResult, Event, Payload, Record};
use adjutant_core::session::{Call, Session};
use adjutant_core::wire::state::{self, Projector};
use adjutant_protocol::ask::{AskResolvedParams, AskView};
use adjutant_protocol::session::ResumeResult;
use adjutant_protocol::state::{RequiredAction, State, StateView};
use adjutant_protocol::update::{RunView, SessionUpdateParams, Update};
use adjutant_protocol::{AskId, SessionId, ToolCallId};

use super::SessionWorld;
use super::mailbox::{ClientError, Message, Reply, ResumePoint};
use super::page::TranscriptProgress;
use super::stream::StreamDelta;
use super::transcript_files::TranscriptFile;
use crate::client::backfill::UpdateRange;
use crate::client::{OpenRun, RenderedFile};

enum QueuedUpdate {
    Update(Box<SessionUpdateParams>),
    /// An ask closed, as the update with this number says.
    Resolved(AskResolvedParams, u64),
    Resumed(Box<Follower>),
    /// What is open as a client begins to follow.
    Now(Box<Now>),
}

/// What is open in a session: what a client that begins to follow is shown, whatever it is told of
/// the past.
struct Now {
    state: StateView,
    run: Option<OpenRun>,
    asks: Vec<AskView>,
}

impl Now {
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

/// A client that follows a session from now on.
pub struct Follower {
    pub result: ResumeResult,
    /// Updates after this one are told again.
    pub after: u64,
    pub reply: Reply<ResumePoint>,
}

pub struct Publisher {
    place: Arc<SessionWorld>,
    teller: Projector,
    waiting: VecDeque<(u64, QueuedUpdate)>,
    durable: u64,
    /// Number of the last lasting update.
    seq: u64,
    sub: u64,
    /// The numbers of the last update that was not held back any more.
    released: (u64, u64),
    /// A client made, resumed or prompted this session: until then nothing is told.
    attached: bool,
    /// The client knows of the open run: what was never told cannot be told to wait.
    run_shown: bool,
    /// Asks that closed since the index was last cleared of what the session has forgotten.
    closed_asks: usize,
    /// The documents of the present run whose older text a command saw.
    old_texts: BTreeSet<String>,
    /// The state that was told without a number, until the next one that has one.
    passing: Option<StateView>,
    /// Grows with what is told, once somebody wanted to see it.
    transcript: TranscriptProgress,
}

impl Drop for Publisher {
    fn drop(&mut self) {
        index(&self.place, |asks| asks.retain(|_, owner| *owner != self.place.id));
    }
}

impl Publisher {
    pub fn new(place: Arc<SessionWorld>, session: &Session, seq: u64) -> Self {
        // An answer finds its session by the ask alone, also when the ask is from before a restart.
        index(&place, |asks| asks.extend(known_asks(session)));
        Self {
            teller: Projector::new(session),
            place,
            waiting: VecDeque::new(),
            durable: 0,
            seq,
            sub: 0,
            released: (seq, 0),
            attached: !session.created,
            run_shown: false,
            closed_asks: 0,
            old_texts: BTreeSet::new(),
            passing: None,
            transcript: TranscriptProgress::default(),
        }
    }

    /// Somebody follows: what is told from now on reaches the client.
    pub fn attach(&mut self, session: &Session, barrier: u64) {
        if !std::mem::replace(&mut self.attached, true) {
            self.waiting.push_back((barrier, QueuedUpdate::Now(Box::new(Now::of(session)))));
            self.release();
        }
    }

    /// Has the transcript written as far as it was told, beside the session; from now on it grows.
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

    /// Takes the transcript that was written beside the session.
    pub fn transcribed(&mut self, begun: Result<(TranscriptFile, RenderedFile), String>) {
        self.transcript.begun(&self.place.id, begun);
    }

    pub fn attached(&self) -> bool {
        self.attached
    }

    /// Queues the answer to a client that follows from now on, behind what it tells of.
    pub fn resumed(&mut self, session: &Session, following: Follower, barrier: u64) {
        self.waiting.push_back((barrier, QueuedUpdate::Now(Box::new(Now::of(session)))));
        let tells_again = following.after < following.result.seq;
        self.waiting.push_back((barrier, QueuedUpdate::Resumed(Box::new(following))));
        if let Some(view) = self.passing.clone().filter(|_| tells_again) {
            // What is told again ends with a state before this one.
            let params = self.params(session, Update::StateUpdate(view), true);
            self.waiting.push_back((barrier, QueuedUpdate::Update(Box::new(params))));
        }
        self.release();
    }

    /// Refuses those who wait to follow: nothing becomes durable any more.
    pub fn fail_all(&mut self, refused: &ClientError) {
        for (_, told) in self.waiting.drain(..) {
            if let QueuedUpdate::Resumed(following) = told {
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

    /// Queues the updates of one fact behind the facts that must be durable before it.
    pub fn publish(&mut self, session: &Session, fact: &Record, barrier: u64) {
        let run = self.teller.run_of(session, fact);
        let (updates, passing) = match self.teller.told(session, fact) {
            state::Updates::Lasting(updates) => (updates, false),
            state::Updates::Passing(updates) => (updates, true),
        };
        for update in updates {
            if !passing {
                self.seq += 1;
                self.sub = 0;
            }
            if let Update::StateUpdate(view) = &update {
                self.passing = passing.then(|| view.clone());
            }
            let params = SessionUpdateParams { run_id: run.clone(), ..self.params(session, update, passing) };
            self.waiting.push_back((barrier, QueuedUpdate::Update(Box::new(params))));
        }
        match &fact.event {
            Event::RunStarted { .. } => self.old_texts.clear(),
            Event::ToolFinished { call, result } => {
                let warning = warning_of(session.call(call), result);
                for message in warning.into_iter().chain(self.old_text(session, call, result)) {
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

    /// What the user is told of a command that saw older texts: of each file once a run.
    fn old_text(&mut self, session: &Session, call: &ToolCallId, result: &CallResult) -> Option<String> {
        let mut news = false;
        for document in &result.unsaved {
            news |= self.old_texts.insert(document.uri.clone());
        }
        match session.call(call).and_then(|call| call.payload.as_ref()) {
            Some(Payload::Command { line, .. }) if news => unsaved::notice(line, &result.unsaved),
            _ => None,
        }
    }

    /// Forgets the asks that the session itself has forgotten, now and then.
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

    /// Queues what streamed out of a step.
    pub fn streamed(&mut self, session: &Session, step: &Step, taken: StreamDelta, barrier: u64) {
        let Some(run) = session.open_run() else { return };
        let mut updates = Vec::new();
        match step {
            Step::CallModel { .. } => {
                let Some(message_id) = run.turn.as_ref().and_then(|turn| turn.message.clone()) else {
                    return;
                };
                if !taken.reasoning.is_empty() {
                    updates.push(Update::AgentThoughtChunk {
                        message_id: message_id.clone(),
                        text: taken.reasoning,
                    });
                }
                if !taken.text.is_empty() {
                    updates.push(Update::AgentMessageChunk { message_id, text: taken.text });
                }
            }
            Step::RunTool { call } if !taken.text.is_empty() => {
                updates.push(Update::ToolCallContentChunk { tool_call_id: call.clone(), text: taken.text });
            }
            _ => {}
        }
        for update in updates {
            let params = self.params(session, update, true);
            self.waiting.push_back((barrier, QueuedUpdate::Update(Box::new(params))));
        }
        self.release();
    }

    /// Tells at once why no more facts follow: nothing runs any more, so nothing may be shown as
    /// running, and an open run waits for whoever opens the session next. `end` is what surfaces show.
    pub fn stopped(&mut self, session: &Session, message: String, end: &str) {
        // What waits for the disk is never told, so numbering goes on from what was.
        (self.seq, self.sub) = self.released;
        let notice = self.params(session, Update::Notice { message }, true);
        self.place.world.link.last_word(&notice);
        self.place.world.link.forget(&session.id, end);
        if session.open_run().is_none() || !self.run_shown {
            return;
        }
        // Without a number: the log may give that to something else when the disk is well again.
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
            let Some((_, told)) = self.waiting.pop_front() else { return };
            if let QueuedUpdate::Update(params) = &told {
                self.released = (params.seq, params.sub.unwrap_or(0));
                match &params.update {
                    Update::Run(RunView::Started { .. }) => self.run_shown = true,
                    Update::Run(RunView::Ended { .. }) => self.run_shown = false,
                    _ => {}
                }
                self.transcript.add_update(&self.place.id, params);
            }
            match told {
                QueuedUpdate::Now(now) => {
                    self.run_shown |= now.run.is_some();
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
                QueuedUpdate::Update(_) | QueuedUpdate::Resolved(..) => {}
            }
        }
    }
}

/// What the user is told of an allowed edit that is not where it should be; the output is for the model.
fn warning_of(call: Option<&Call>, result: &CallResult) -> Option<String> {
    if !matches!(result.cause, Some(Cause::NotMade | Cause::NotSaved)) {
        return None;
    }
    // A call that is refused beforehand has one sentence for both, and the summary is how it begins.
    let begin = result.summary.strip_suffix('…').filter(|begin| result.output.starts_with(*begin));
    let what = begin.map_or(&*result.summary, |_| &*result.output);
    Some(format!("{}: {what}", call.map_or("An edit", |call| &call.title)))
}

/// The asks a session can still say something about.
fn known_asks(session: &Session) -> impl Iterator<Item = (AskId, SessionId)> {
    let known = session.asks.keys().chain(session.closed_asks.iter().map(|(ask, _)| ask));
    known.map(|ask| (ask.clone(), session.id.clone()))
}

fn index(place: &SessionWorld, change: impl FnOnce(&mut HashMap<AskId, SessionId>)) {
    change(&mut place.world.asks.lock().unwrap_or_else(PoisonError::into_inner));
}

/// Answers what is true, then tells the past; the answer has its place between what was told
/// before and what is told after (protocol section 4).
fn follow(place: &SessionWorld, following: Follower) {
    let Follower { result, after, reply } = following;
    let last = result.seq;
    let answer = ResumePoint { result, place: place.world.link.ordering_barrier() };
    if reply.send(Ok(answer)).is_ok() && after < last {
        // The log is read as the client takes it, while the session works on.
        place.world.link.replay(&place.id, UpdateRange::of_updates(after + 1, last));
    }
}
