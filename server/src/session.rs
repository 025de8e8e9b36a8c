//! The shell of one session: a reconciling loop and nothing more.
//!
//! Takes one input at a time, lets `accept` judge it, has what follows recorded
//! and starts what ought to run. Sets no phase by hand and decides nothing about
//! the run.

mod choosing;
mod edits;
pub mod images;
pub mod inbox;
mod leaving;
pub mod mailbox;
mod page;
mod prepare;
mod publish;
mod recording;
pub mod replay;
mod replies;
mod spans;
mod steps;
mod stream;
pub mod summaries;
pub mod transcript_files;
mod verdicts;
mod world;

use choosing::options_of;

pub use adjutant_store::{blobs, catalog, log, storage, watermark};
pub use choosing::{chosen, options_of_new};
pub use leaving::End;
pub use world::{SessionWorld, World};

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use adjutant_core::machine::accept::{Refusal, accept};
use adjutant_core::machine::input::{Input, Report, Stamp};
use adjutant_core::machine::step::{Step, next_steps};
use adjutant_core::record::Event;
use adjutant_core::session::Session;
use futures_util::FutureExt;
use tracing::Instrument;

use crate::aside;
use crate::clock::now_ms;
use crate::faults::point;
use crate::tools::Toolbox;
use crate::tools::process::end_left_over;

use log::Log;
use mailbox::{Mail, Message};
use publish::Publisher;
use recording::RecordError;
use steps::RunningSteps;
use summaries::Summaries;

/// The door of `agent/ask/respond`.
pub const SURFACE_OF_CLIENTS: &str = "ask/respond";
/// The door of `adjutant.respond`, and of the code actions that carry it.
pub const SURFACE_OF_COMMANDS: &str = "command";

/// A session's task and what it owns.
pub struct SessionTask {
    place: Arc<SessionWorld>,
    session: Session,
    /// What the tools of the open run do, else of the next.
    tools: Arc<Toolbox>,
    /// Dropped before the log: whoever opens that next indexes the asks anew.
    publisher: Publisher,
    /// Used by this task alone, which also waits where a thread for the disk has it.
    log: Arc<Mutex<Log>>,
    mail: Mail,
    running: RunningSteps,
    replies: replies::Replies,
    /// Number of the last fact that has to be durable before it is told.
    barrier: u64,
    syncing: bool,
    sync_again: bool,
    /// It is closed for a client that goes on: what ends with it is told.
    tells_its_end: bool,
    /// Why the log takes no more facts.
    stopped: Option<String>,
    notices: Vec<String>,
    summary: Summaries,
    inbox: inbox::Inbox,
}

impl SessionTask {
    /// Makes the task of a session; `session` is what its log says, or a new one.
    pub fn new(
        place: Arc<SessionWorld>,
        session: Session,
        log: Log,
        mail: Mail,
        (told, notices): (u64, Vec<String>),
    ) -> Self {
        let publisher = Publisher::new(place.clone(), &session, told);
        let tools = place.world.tools.now();
        Self {
            session: session.with_tools(tools.set().clone()),
            tools,
            running: RunningSteps::new(place.clone()),
            summary: Summaries::new(place.clone()),
            inbox: inbox::Inbox::new(place.clone()),
            place,
            log: Arc::new(Mutex::new(log)),
            mail,
            publisher,
            replies: replies::Replies::default(),
            barrier: 0,
            syncing: false,
            sync_again: false,
            tells_its_end: false,
            stopped: None,
            notices,
        }
    }

    /// Runs until the session leaves memory, and returns how that came and what it did not look at.
    /// Its log is closed then. `opened` is the epoch of a log that had facts in it. `leaves` is called
    /// before clients hear that the session broke, so that what they send next is not posted here.
    pub async fn run(self, opened: Option<u64>, leaves: impl FnOnce()) -> (End, Mail) {
        let span = spans::of_session(&self.place.id);
        self.serve(opened, leaves).instrument(span).await
    }

    async fn serve(mut self, opened: Option<u64>, leaves: impl FnOnce()) -> (End, Mail) {
        let life = async {
            let end = self.live(opened).await;
            self.stop().await;
            end
        };
        let end = match AssertUnwindSafe(life).catch_unwind().await {
            Ok(end) => end,
            Err(panic) => {
                leaves();
                self.broken(panic).await
            }
        };
        // The rest goes here, and with it the lock of the log.
        let Self { mail, .. } = self;
        (end, mail)
    }

    async fn live(&mut self, opened: Option<u64>) -> End {
        if let Some(epoch) = opened {
            // A server that was killed could not end its commands; whoever opens the log next does.
            let calls = self.open_commands();
            let ended = aside::attempt(move || end_left_over(&calls)).await.unwrap_or(0);
            if ended > 0 {
                tracing::warn!(session = %self.place.id, ended, "ended what a killed server left running");
            }
            let _ = self.input(Input::Opened { epoch }).await;
            self.inbox.wake();
        }
        loop {
            self.reconcile().await;
            self.attend();
            // The session itself can post to its mailbox, so that never closes.
            let Some(message) = self.mail.recv().await else { return End::Stopped };
            if let Some(end) = self.handle(message).await {
                return end;
            }
        }
    }

    /// The commands of the open run that have no result yet.
    fn open_commands(&self) -> Vec<String> {
        let turn = self.session.open_run().and_then(|run| run.turn.as_ref());
        let calls = turn.into_iter().flat_map(|turn| turn.calls.iter());
        calls
            .filter(|call| call.is_command() && !call.is_finished())
            .map(|call| call.id.to_string())
            .collect()
    }

    /// Everything that can wake a session, on one screen.
    async fn handle(&mut self, message: Message) -> Option<End> {
        if self.session.open_run().is_none() {
            // A run that begins with this has the tools of now, to its end.
            self.tools = self.place.world.tools.now();
            self.session.equip(self.tools.set().clone());
        }
        match message {
            Message::Prompt { prompt, reply } => {
                self.publisher.attach(&self.session, self.barrier);
                self.prompt(*prompt, reply).await;
            }
            Message::Answer { ask, choice, surface, unattended, reply } => {
                if [SURFACE_OF_CLIENTS, SURFACE_OF_COMMANDS].contains(&surface) {
                    // Whoever answers by request hears what comes of it, also after a restart.
                    self.publisher.attach(&self.session, self.barrier);
                }
                self.answer(ask, choice, (surface, unattended), reply).await;
            }
            Message::InboxStirred => self.inbox.wake(),
            Message::InboxLooked { events } => self.inbox.scan_finished(events),
            Message::Cancel { run, taken } => {
                let _ = self.input(Input::Cancel { run }).await;
                drop(taken);
            }
            Message::Wait { run, timeout_ms, reply } => self.wait(run, timeout_ms, reply),
            Message::WaitOver { run, number } => self.wait_over(&run, number),
            Message::Resume { from, unattended, reply } => {
                if unattended {
                    // Refused where no run is open or it has this consent already: both are as wanted.
                    let consent = self.place.world.settings().unattended;
                    let _ = self.input(Input::Consent(consent)).await;
                }
                self.resume(from, reply);
            }
            Message::Transcript { reply } => self.transcript(reply),
            Message::Transcribed(begun) => self.publisher.transcribed(begun),
            Message::Asks { reply } => self.asks(reply),
            Message::Unkept { why } => self.read_only(why),
            Message::Report { step, report } => self.report(step, report).await,
            Message::Woke(wake) => {
                let _ = self.input(Input::Woke(wake)).await;
            }
            Message::Streamed { step } => self.streamed(&step),
            Message::Partial { step } => self.partial(step).await,
            Message::StepEnded { step, panicked } => self.step_ended(step, panicked).await,
            Message::Synced(result) => self.synced(result).await,
            Message::Choose { chosen, reply } => self.choose(chosen, reply).await,
            Message::Close => {
                let _ = self.input(Input::Cancel { run: None }).await;
                self.tells_its_end = true;
                return Some(End::Stopped);
            }
            Message::Delete { reply } => return self.deleted(reply),
            Message::Stop => return Some(End::Stopped),
        }
        None
    }

    /// Takes what a step tells. What is too large for the log is a call that failed: the session
    /// goes on without it.
    async fn report(&mut self, step: Step, report: Report) {
        let too_large = steps::too_large(&report);
        match self.record_input(Input::Step { step: step.clone(), report }).await {
            Ok(_) => {}
            Err(RecordError::TooLarge { limit }) => {
                if let Some(instead) = too_large {
                    let _ = self.input(Input::Step { step, report: instead(limit) }).await;
                }
            }
            Err(why) => tracing::debug!(?why, "a report came too late or cannot be written"),
        }
    }

    async fn input(&mut self, input: Input) -> Result<Vec<Event>, Refusal> {
        self.record_input(input).await.map_err(|why| match why {
            RecordError::Refused(refusal) => refusal,
            RecordError::TooLarge { .. } | RecordError::Later(_) => Refusal::Nothing,
        })
    }

    /// Puts one input through `accept`, writes what follows, folds it and queues what is told.
    async fn record_input(&mut self, input: Input) -> Result<Vec<Event>, RecordError> {
        self.join_denials(&input).await?;
        let stamp = stamp();
        let wake = matches!(input, Input::Woke(_));
        let events = match accept(&self.session, &stamp, input) {
            Ok(events) => events,
            Err(refusal) => {
                if !wake {
                    tracing::debug!(session = %self.place.id, ?refusal, "refused");
                }
                return Err(RecordError::Refused(refusal));
            }
        };
        if !events.is_empty() {
            self.record(stamp.now, &events).await?;
        }
        Ok(events)
    }

    /// Before a verdict, an open run gets the deny rules that the settings have since.
    async fn join_denials(&mut self, input: &Input) -> Result<(), RecordError> {
        let judged = match input {
            Input::Answer(_) => true,
            Input::Step { step, .. } => matches!(step, Step::Prepare { .. } | Step::RunTool { .. }),
            _ => false,
        };
        let now = judged.then(|| self.place.world.settings().deny.texts()).filter(|now| !now.is_empty());
        let Some(now) = now else { return Ok(()) };
        let stamp = stamp();
        match accept(&self.session, &stamp, Input::Denials(now)) {
            Ok(events) => self.record(stamp.now, &events).await,
            // There is nothing new in them.
            Err(_) => Ok(()),
        }
    }

    /// Starts what is missing, aborts what is no longer wanted.
    async fn reconcile(&mut self) {
        if self.stopped.is_some() {
            return;
        }
        loop {
            let wanted = next_steps(&self.session);
            self.running.keep_only(&wanted);
            // The first request of a turn begins with a fact.
            let begins = wanted.iter().find(|step| self.begins_turn(step)).cloned();
            if let Some(step) = begins {
                if self.input(Input::Step { step, report: Report::TurnBegan }).await.is_err() {
                    return;
                }
                point("turn-begun");
                continue;
            }
            let durable = self.publisher.durable();
            for step in wanted {
                let unseen = matches!(step, Step::DeliverAsk { .. }) && !self.publisher.attached();
                if self.running.has(&step) || unseen {
                    continue;
                }
                let gate = self.gated(&step).then(|| self.running.gate(&step, self.barrier));
                if gate.is_none_or(|seq| durable >= seq) {
                    self.running.start(step, &self.session, &self.tools);
                }
            }
            return;
        }
    }

    fn begins_turn(&self, step: &Step) -> bool {
        let Step::CallModel { turn, .. } = step else { return false };
        let begun = self.session.open_run().and_then(|run| run.turn.as_ref()).map(|turn| turn.number);
        begun != Some(*turn)
    }

    /// Effects and announcements wait until their intent is durable; reads do not.
    fn gated(&self, step: &Step) -> bool {
        match step {
            Step::RunTool { call } => self.session.call(call).is_none_or(|call| !call.is_read()),
            Step::DeliverAsk { .. } => true,
            Step::CallModel { .. } | Step::Prepare { .. } | Step::Settle { .. } | Step::Wake(_) => false,
        }
    }

    fn streamed(&mut self, step: &Step) {
        let Some(stream) = self.running.stream(step) else { return };
        let taken = stream.take_delta();
        point("reply-streaming");
        self.publisher.streamed(&self.session, step, taken, self.barrier);
    }

    async fn partial(&mut self, step: Step) {
        let partial = self.running.stream(&step).and_then(stream::Stream::take_partial);
        if let Some(report) = partial {
            self.report(step, report).await;
        }
    }

    /// A step that ended without its report being taken must not leave the run hanging.
    async fn step_ended(&mut self, step: Step, panicked: bool) {
        self.running.ended(&step);
        if matches!(step, Step::DeliverAsk { .. }) || !next_steps(&self.session).contains(&step) {
            return;
        }
        tracing::error!(session = %self.place.id, ?step, panicked, "a step ended without a result");
        if let Some(report) = steps::broken(&step) {
            let _ = self.input(Input::Step { step, report }).await;
        }
    }
}

/// Time and randomness for one input; the only place a session gets them from.
fn stamp() -> Stamp {
    let mut seed = [0; 16];
    if let Err(error) = getrandom::fill(&mut seed) {
        // Ids must be unguessable (A5), so without randomness nothing may go on.
        panic!("the system gives no random numbers: {error}");
    }
    Stamp::new(now_ms(), seed)
}
