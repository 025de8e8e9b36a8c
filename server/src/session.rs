//! The task of one session: a reconciling loop and nothing more.
//!
//! Receives one input at a time, passes it to `accept`, records the events that
//! follow and starts the steps that should run. Never sets a phase by hand and
//! never decides anything about the run.

pub mod attached;
mod choosing;
mod commenting;
mod compacting;
pub mod context;
mod cut_short;
mod deciding;
pub mod edits;
pub mod images;
pub mod inbox;
pub mod kept_changes;
mod leaving;
pub mod list_changes;
pub mod mailbox;
pub mod mentions;
mod outside;
mod page;
pub mod paging;
mod prepare;
mod publish;
pub mod quotable;
mod recording;
mod renaming;
pub mod replay;
mod replies;
mod review;
mod rewinding;
pub mod slash_files;
mod spans;
mod steps;
mod stream;
pub mod summaries;
pub mod transcript_files;
mod verdicts;
mod world;

use choosing::options_of;

pub use adjutant_store::{blobs, catalog, log, storage, watermark};
pub use choosing::{chosen, options_of_new, setting_of};
pub use leaving::End;
pub use prepare::read_denied;
pub use world::{SessionWorld, World};

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use adjutant_core::machine::accept::{Refusal, accept, model_to_begin};
use adjutant_core::machine::input::{Input, Report, ReviewTarget, Stamp};
use adjutant_core::machine::step::{Step, next_steps, unfinished_writes};
use adjutant_core::policy::unfinished;
use adjutant_core::prompt::models::EditTool;
use adjutant_core::record::{Event, SeenHunk};
use adjutant_core::session::Session;
use adjutant_core::wire::items::Items;
use futures_util::FutureExt;
use tracing::Instrument;

use crate::aside;
use crate::client::Level;
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

/// The surface of an answer that came by `agent/ask/respond`.
pub const SURFACE_OF_CLIENTS: &str = "ask/respond";
/// The surface of an answer that came by `adjutant.respond`, also from a code action.
pub const SURFACE_OF_COMMANDS: &str = "command";

/// The task of a session and all that it owns.
pub struct SessionTask {
    place: Arc<SessionWorld>,
    session: Session,
    /// The tools of the open run, or of the next run if none is open.
    tools: Arc<Toolbox>,
    /// Dropped before the log, because the next task that opens the log indexes the asks again.
    publisher: Publisher,
    /// Only this task uses it, and waits while a blocking thread has it.
    log: Arc<Mutex<Log>>,
    mail: Mail,
    running: RunningSteps,
    replies: replies::Replies,
    /// Number of the last event that must be durable before its updates are published.
    barrier: u64,
    syncing: bool,
    sync_again: bool,
    /// Whether a client closed the session and stays connected: the end of the run is then published.
    publish_end: bool,
    /// Why no more events can be written to the log.
    stopped: Option<String>,
    notices: Vec<String>,
    summary: Summaries,
    inbox: inbox::Inbox,
    outside: outside::LooksBetween,
    /// While something is on its way that an earlier process began.
    held: Option<cut_short::HeldMessages>,
    /// Whether messages waited for that too long.
    has_left_cut_short: bool,
}

/// Returns the tools of the open run of a session: those that it began with, else the present ones for its model.
fn tools_of(world: &World, session: &Session) -> Arc<Toolbox> {
    let Some(run) = session.open_run() else { return world.tools.current(EditTool::EditFile) };
    let known = world.tools.of_hash(&run.toolset);
    known.unwrap_or_else(|| world.tools.current(world.settings().edit_tool(&run.model)))
}

impl SessionTask {
    /// Creates the task of a session. `session` is folded from its log, or new; `items` has its
    /// lasting updates.
    pub fn new(
        place: Arc<SessionWorld>,
        session: Session,
        log: Log,
        mail: Mail,
        items: Items,
        notices: Vec<String>,
    ) -> Self {
        let publisher = Publisher::new(place.clone(), &session, items);
        let tools = tools_of(&place.world, &session);
        Self {
            session: session.with_tools(tools.set().clone()),
            tools,
            running: RunningSteps::new(place.clone()),
            summary: Summaries::new(place.clone()),
            inbox: inbox::Inbox::new(place.clone()),
            outside: outside::LooksBetween::default(),
            held: None,
            has_left_cut_short: false,
            place,
            log: Arc::new(Mutex::new(log)),
            mail,
            publisher,
            replies: replies::Replies::default(),
            barrier: 0,
            syncing: false,
            sync_again: false,
            publish_end: false,
            stopped: None,
            notices,
        }
    }

    /// Runs until the session leaves memory. Returns why it ended and the messages it did not handle.
    /// The log is closed by then. `opened` is the epoch of a log that already had events. `leaves` is
    /// called before clients learn that the session broke, so that their next messages are not posted here.
    pub async fn run(self, opened: Option<u64>, leaves: impl FnOnce()) -> (End, Mail) {
        let span = spans::of_session(&self.place.id);
        self.serve(opened, leaves).instrument(span).await
    }

    async fn serve(mut self, opened: Option<u64>, leaves: impl FnOnce()) -> (End, Mail) {
        let life = async {
            let end = self.live(opened).await;
            self.put_back();
            if matches!(end, End::Stopped) {
                self.settle_edits().await;
            }
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
        // Everything else is dropped here, and with it the lock of the log.
        let Self { mail, .. } = self;
        (end, mail)
    }

    async fn live(&mut self, opened: Option<u64>) -> End {
        self.place.world.reviews.set(
            &self.place.id,
            &self.place.roots,
            &self.place.blobs,
            &self.session.applied,
        );
        if let Some(epoch) = opened {
            // A killed server could not end its commands, so the next server that opens the log ends them.
            let calls = self.open_commands();
            let ended = aside::attempt(move || end_left_over(&calls)).await.unwrap_or(0);
            if ended > 0 {
                tracing::warn!(session = %self.place.id, ended, "ended what a killed server left running");
            }
            let unfinished = unfinished::notice(unfinished_writes(&self.session));
            let _ = self.input(Input::Opened { epoch }).await;
            self.note_cut_short();
            // No client follows the session yet.
            if let Some(message) = unfinished {
                self.place.world.link.say(Level::Warning, &format!("Adjutant: {message}"));
            }
            self.inbox.wake();
        }
        loop {
            self.reconcile().await;
            self.attend();
            // The session itself holds a sender of its mailbox, so the mailbox never closes.
            let Some(message) = self.mail.recv().await else { return End::Stopped };
            let Some(message) = self.hold(message) else { continue };
            if let Some(end) = self.handle(message).await {
                return end;
            }
            for message in self.released() {
                // None of these ends a session.
                let _ = self.handle(message).await;
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

    /// Handles one message. Every message that can wake a session is listed here.
    async fn handle(&mut self, message: Message) -> Option<End> {
        match message {
            Message::Prompt { prompt, reply } => {
                self.publisher.attach(&self.session, self.barrier);
                self.prompt(*prompt, reply).await;
            }
            Message::Answer { ask, choice, surface, unattended, reply } => {
                if [SURFACE_OF_CLIENTS, SURFACE_OF_COMMANDS].contains(&surface) {
                    // A client that answers by request gets the updates that follow, also after a restart.
                    self.publisher.attach(&self.session, self.barrier);
                }
                self.answer(ask, choice, surface, unattended, reply).await;
            }
            Message::Hunks { reply } => {
                self.place.mailbox.note_handled();
                let _ = reply.send(Ok(adjutant_core::wire::review::hunks(&self.session)));
            }
            Message::Found { change_set, hunks, is_in_text, by } => {
                let hunks = hunks.into_iter().map(|hunk| SeenHunk { hunk, seen: None }).collect();
                let target = ReviewTarget { change_set, hunks, open: false };
                let _ = self.input(Input::Found { target, is_in_text, by }).await;
            }
            Message::Committed { change_set, hunks, on } => {
                let hunks = hunks.into_iter().map(|hunk| SeenHunk { hunk, seen: None }).collect();
                let _ = self
                    .input(Input::Committed { target: ReviewTarget { change_set, hunks, open: false }, on })
                    .await;
            }
            Message::Settled { reply } => self.settled(reply),
            Message::HeldLongEnough => self.held_long_enough(),
            Message::FilesChanged => self.files_changed(),
            Message::LookedOutside { look, moment } => self.looked_outside(look, moment).await,
            Message::Decide { decision, reply } => {
                // A client that decides gets the updates that follow, also after a restart.
                self.publisher.attach(&self.session, self.barrier);
                self.decide(*decision, reply).await;
            }
            Message::Preview { params, reply } => {
                self.place.mailbox.note_handled();
                let _ = reply.send(self.preview(params).await);
            }
            Message::Rewind { params, reply } => {
                self.publisher.attach(&self.session, self.barrier);
                self.rewind(*params, reply).await;
            }
            Message::Comment { comment, reply } => {
                self.place.mailbox.note_handled();
                self.publisher.attach(&self.session, self.barrier);
                self.comment(comment, reply).await;
            }
            Message::Comments { reply } => {
                self.place.mailbox.note_handled();
                let _ = reply.send(Ok(self.comments().await));
            }
            Message::InboxChanged => self.inbox.wake(),
            Message::InboxScanned { events } => self.inbox.scan_finished(events),
            Message::Cancel { run, handled } => {
                let _ = self.input(Input::Cancel { run }).await;
                drop(handled);
            }
            Message::Wait { run, timeout_ms, reply } => self.wait(run, timeout_ms, reply),
            Message::WaitOver { run, number } => self.wait_over(&run, number),
            Message::Resume { from, unattended, reply } => {
                if unattended {
                    // A refusal means that no run is open or the run has this consent already: both are fine.
                    let consent = self.place.world.settings().unattended;
                    let _ = self.input(Input::Consent(consent)).await;
                }
                self.resume(from, reply);
            }
            Message::Items { before, limit, reply } => self.items(before, limit, reply),
            Message::Transcript { reply } => self.transcript(reply),
            Message::Transcribed(begun) => self.publisher.transcribed(begun),
            Message::Asks { reply } => self.asks(reply),
            Message::Snapshot { reply } => {
                self.place.mailbox.note_handled();
                let _ = reply.send(Ok(Box::new(self.session.clone())));
            }
            Message::Compact { reply } => {
                self.publisher.attach(&self.session, self.barrier);
                self.compact(reply).await;
            }
            Message::BlobFailed { why } => self.read_only(why),
            Message::Report { step, report } => self.report(step, report).await,
            Message::Woke(wake) => {
                let _ = self.input(Input::Woke(wake)).await;
            }
            Message::Streamed { step } => self.streamed(&step),
            Message::Partial { step } => self.partial(step).await,
            Message::StepEnded { step, panicked } => self.step_ended(step, panicked).await,
            Message::Synced(result) => self.synced(result).await,
            Message::Choose { chosen, reply } => self.choose(chosen, reply).await,
            Message::Rename { title, reply } => {
                self.place.mailbox.note_handled();
                self.rename(title, reply).await;
            }
            Message::Written { reply } => {
                self.place.mailbox.note_handled();
                self.replies.after_durable(self.barrier, move |durable| {
                    let _ = reply.send(durable);
                });
            }
            Message::Close => {
                let _ = self.input(Input::Cancel { run: None }).await;
                self.publish_end = true;
                return Some(End::Stopped);
            }
            Message::Delete { reply } => return self.deleted(reply),
            Message::Stop => return Some(End::Stopped),
        }
        None
    }

    /// Records the report of a step. A report that is too large for the log is replaced by a failed
    /// call, and the session continues.
    async fn report(&mut self, step: Step, report: Report) {
        let too_large = steps::too_large(&report);
        match self.record_input(Input::Step { step: step.clone(), report }).await {
            Ok(_) => {}
            Err(RecordError::TooLarge { limit }) => {
                if let Some(fallback) = too_large {
                    let _ = self.input(Input::Step { step, report: fallback(limit) }).await;
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

    /// Passes one input to `accept`, records the events that follow and queues their updates.
    async fn record_input(&mut self, input: Input) -> Result<Vec<Event>, RecordError> {
        self.join_denials(&input).await?;
        self.equip(&input);
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

    /// Gives a run that begins with this input the present tools for its model, which it keeps to its end.
    fn equip(&mut self, input: &Input) {
        if let Some(model) = model_to_begin(&self.session, input) {
            let world = &self.place.world;
            self.tools = world.tools.current(world.settings().edit_tool(&model));
            self.session.equip(self.tools.set().clone());
        }
    }

    /// Adds the present deny rules of the settings to the open run, before a verdict.
    async fn join_denials(&mut self, input: &Input) -> Result<(), RecordError> {
        let needs_verdict = match input {
            Input::Answer(_) | Input::Decide(_) => true,
            Input::Step { step, .. } => !matches!(
                step,
                Step::CallModel { .. }
                    | Step::Compact { .. }
                    | Step::ReadContext { .. }
                    | Step::LookOutside { .. }
                    | Step::Settle { .. }
                    | Step::Review { .. }
                    | Step::DeliverAsk { .. }
                    | Step::Wake(_)
            ),
            _ => false,
        };
        let rules = needs_verdict.then(|| self.place.world.settings().deny.texts());
        let Some(rules) = rules.filter(|rules| !rules.is_empty()) else { return Ok(()) };
        let stamp = stamp();
        match accept(&self.session, &stamp, Input::Denials(rules)) {
            Ok(events) => self.record(stamp.now, &events).await,
            // The run has all of these rules already.
            Err(_) => Ok(()),
        }
    }

    /// Starts each wanted step that does not run, and aborts each running step that is not wanted.
    async fn reconcile(&mut self) {
        if self.stopped.is_some() {
            return;
        }
        loop {
            let wanted = next_steps(&self.session);
            self.running.keep_only(&wanted);
            // `TurnStarted` is recorded before the first request of a turn.
            let first_of_turn = wanted.iter().find(|step| self.begins_turn(step)).cloned();
            if let Some(step) = first_of_turn {
                if self.input(Input::Step { step, report: Report::TurnBegan }).await.is_err() {
                    return;
                }
                point("turn-begun");
                continue;
            }
            let durable = self.publisher.durable();
            for step in wanted {
                let no_client = matches!(step, Step::DeliverAsk { .. }) && !self.publisher.attached();
                if self.running.has(&step) || no_client {
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

    /// Whether a step waits until its intent is durable: effects and deliveries of asks do, reads do not.
    fn gated(&self, step: &Step) -> bool {
        match step {
            Step::RunTool { call } => self.session.call(call).is_none_or(|call| !call.is_read()),
            Step::Apply { .. } | Step::Review { .. } | Step::DeliverAsk { .. } => true,
            Step::CallModel { .. }
            | Step::Compact { .. }
            | Step::ReadContext { .. }
            | Step::LookOutside { .. }
            | Step::Prepare { .. }
            | Step::Reobserve { .. }
            | Step::Settle { .. }
            | Step::Wake(_) => false,
        }
    }

    fn streamed(&mut self, step: &Step) {
        let Some(stream) = self.running.stream(step) else { return };
        let delta = stream.take_delta();
        point("reply-streaming");
        self.publisher.streamed(&self.session, step, delta, self.barrier);
    }

    async fn partial(&mut self, step: Step) {
        let partial = self.running.stream(&step).and_then(stream::Stream::take_partial);
        if let Some(report) = partial {
            self.report(step, report).await;
        }
    }

    /// Notes that a step ended. If it is still wanted, none of its reports was accepted, so a failure is
    /// recorded and the run does not hang.
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

/// Time and randomness for one input. A session gets them only from here.
fn stamp() -> Stamp {
    let mut seed = [0; 16];
    if let Err(error) = getrandom::fill(&mut seed) {
        // Ids must be unguessable (A5), so nothing may continue without randomness.
        panic!("the system gives no random numbers: {error}");
    }
    Stamp::new(now_ms(), seed)
}
