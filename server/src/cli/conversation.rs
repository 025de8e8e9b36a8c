//! One session seen from the command line: requests, updates, asks and answers,
//! from the first request to the end of a run.
//!
//! Never decides for the user and never outlives the connection. Every request of
//! the server to an editor is answered here, if only by an error.

mod asking;
mod changes;
mod deciding;
mod denied;
mod ears;
mod forking;
pub(super) mod hearing;
mod prompting;
mod unmade;
mod view;
mod work;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use adjutant_core::policy::detail::Detail;
use adjutant_protocol::ask::PermissionOutcome;
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::methods;
use adjutant_protocol::review::{ReviewListParams, ReviewListResult};
use adjutant_protocol::session::{CancelParams, RunEnd};
use adjutant_protocol::state::State;
use adjutant_protocol::update::FailureKind;
use adjutant_protocol::{AskId, RunId, SessionId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::settings::{Sources, load};

use super::Exit;
use super::asks::AskDesk;
use super::client::{Client, Failure};
use super::page::{Printer, note};
use super::pages::Pages;
use super::present::Person;
use super::signals::Signals;
use changes::Changes;
pub use denied::{AllowedFlags, DenialSummary};
use ears::{Ears, IncomingEvent};
use prompting::PromptState;
use unmade::MissingEdits;
pub use view::View;

/// How long a cancelled run may take to end.
const CANCEL_LIMIT: Duration = Duration::from_secs(10);
/// How long the state may take to follow the end of its run.
const IDLE_LIMIT: Duration = Duration::from_secs(2);

/// Where the answers to asks come from.
pub enum Answers {
    Person(Person),
    /// No person can answer, so permissions are denied.
    Nobody,
    /// No person here, but perhaps at another client: asks stay open.
    Elsewhere,
    /// The demo answers, and prints that it did.
    Demo,
}

/// Why a conversation was left before its run ended.
#[derive(Debug, thiserror::Error)]
pub enum LeaveReason {
    #[error("go on: the server ended unexpectedly")]
    Closed,
    #[error("go on: it was interrupted")]
    Interrupted,
    #[error("go on: the run waits for an answer")]
    Waits,
    #[error("go on: a signal asked it to end")]
    Terminated,
    #[error("go on: the server gave the run up; `adjutant run --continue` continues it")]
    GivenUp,
    /// The notice with the reason was already printed.
    #[error("go on: the reason was printed")]
    AlreadyPrinted,
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// Prints why a conversation was left, and returns the exit code.
pub fn report_leaving(left: LeaveReason) -> anyhow::Result<Exit> {
    match left {
        LeaveReason::Interrupted => Ok(Exit::Interrupted),
        LeaveReason::Terminated => Ok(Exit::Terminated),
        LeaveReason::AlreadyPrinted => Ok(Exit::Failed),
        LeaveReason::Waits => {
            note("the run waits for an answer; `adjutant asks` shows the question");
            Ok(Exit::Fine)
        }
        LeaveReason::Failed(Failure::Refused { code, message, .. }) => {
            note(&message);
            let no_model = code == ErrorName::ProviderUnavailable.code();
            Ok(if no_model { Exit::Usage } else { Exit::Failed })
        }
        left => Err(left.into()),
    }
}

/// A session, the pages for it, and the source of answers.
pub struct Conversation {
    client: Client,
    ears: Ears,
    view: View,
    pages: Pages,
    answers: Answers,
    desk: AskDesk,
    /// The changes of the ask on the desk, if the person decides them one by one.
    changes: Option<Changes>,
    session: Option<SessionId>,
    run: Option<RunId>,
    ended: Option<(RunId, RunEnd, Instant)>,
    idle: bool,
    /// The followed run waits for an answer.
    waits: bool,
    /// The server gave up the followed run.
    given_up: bool,
    denied: DenialSummary,
    /// How the last request to the model failed, if it did.
    failure: Option<FailureKind>,
    /// The same in a sentence.
    failure_words: Option<String>,
    unmade: MissingEdits,
    /// The last notice as a message, because the server sends it as an update and as a message.
    notice_message: Option<String>,
    /// The last notice that was printed: a refusal may have the same text.
    last_notice: String,
    /// The ask that the server has withdrawn, until it sends how the ask closed.
    withdrawn: Option<AskId>,
    cancelling: Option<Instant>,
    demo_answers_at: Option<Instant>,
    /// The answer to an ask that no request of the server waits for.
    decided: Option<PermissionOutcome>,
    /// The user wants to leave now, without waiting for the server.
    at_once: bool,
    /// In the loop: what the user typed at a prompt.
    prompt: PromptState,
}

impl Conversation {
    /// Starts a server and initializes it with these folders.
    pub async fn start(
        sources: Sources,
        folders: &[PathBuf],
        mut view: View,
        answers: Answers,
    ) -> anyhow::Result<Self> {
        let signals = Signals::new()?;
        view.draw(load(&sources).settings.detail);
        let (client, incoming) = Client::start(sources, folders).await?;
        let pages = view.pages();
        Ok(Conversation {
            client,
            ears: Ears::new(incoming, signals),
            view,
            pages,
            answers,
            desk: AskDesk::default(),
            changes: None,
            session: None,
            run: None,
            ended: None,
            idle: false,
            waits: false,
            given_up: false,
            denied: DenialSummary::default(),
            failure: None,
            failure_words: None,
            unmade: MissingEdits::default(),
            notice_message: None,
            last_notice: String::new(),
            withdrawn: None,
            cancelling: None,
            demo_answers_at: None,
            decided: None,
            at_once: false,
            prompt: PromptState::default(),
        })
    }

    /// Sets how much of a run is printed from now on.
    pub fn draw(&mut self, detail: Detail) {
        self.view.draw(detail);
    }

    /// Sets the session whose updates and asks count from now on.
    pub fn attach(&mut self, session: &SessionId) {
        self.session = Some(session.clone());
    }

    /// Sets the run whose end is awaited; `None` means the next that starts.
    pub fn follow(&mut self, run: Option<RunId>) {
        self.run = run;
    }

    /// Sets the state of the session from a reply of the server.
    pub fn now(&mut self, state: State) {
        self.waits = state == State::RequiresAction;
    }

    /// Returns the calls that were denied because no user was present.
    pub fn denied(&self) -> &DenialSummary {
        &self.denied
    }

    /// Returns the line that names files without their last allowed edit; `None` if there is none.
    pub fn unmade(&self) -> Option<String> {
        self.unmade.in_words()
    }

    /// Whether the reader of a page has gone.
    pub fn reader_left(&self) -> bool {
        self.pages.is_broken()
    }

    /// Fails if a page could not be written although its reader is there.
    pub fn written(&mut self) -> anyhow::Result<()> {
        self.pages.written()
    }

    /// Returns how the last request to the model failed, if it did.
    pub fn failure(&self) -> Option<FailureKind> {
        self.failure
    }

    /// Returns the same in a sentence.
    pub fn failure_words(&self) -> Option<&str> {
        self.failure_words.as_deref()
    }

    /// Returns the session whose updates count.
    pub fn session(&self) -> Option<&SessionId> {
        self.session.as_ref()
    }

    /// Returns the page of the answer, for text of the command itself.
    pub fn page(&mut self) -> &mut Printer {
        self.view.aside(&mut self.pages);
        self.pages.answer()
    }

    /// Sends a request, and handles events until its result has come.
    pub async fn request<R: DeserializeOwned>(
        &mut self,
        method: &'static str,
        params: &impl Serialize,
    ) -> Result<R, LeaveReason> {
        let client = self.client.clone();
        let reply = client.request(method, params);
        tokio::pin!(reply);
        let result = loop {
            let event = tokio::select! {
                biased;
                result = &mut reply => break result,
                event = self.ears.next(&mut self.answers) => event,
            };
            self.on_event(event).await?;
        };
        // A reply overtakes earlier messages, which may have the reason of a refusal.
        while let Some(event) = self.ears.arrived() {
            self.on_event(event).await?;
        }
        result.map_err(|failure| match failure {
            Failure::Refused { message, .. } if self.last_notice.ends_with(&message) => {
                LeaveReason::AlreadyPrinted
            }
            failure => failure.into(),
        })
    }

    /// Lets the server look which changes of the session were committed, and on which branch. That it cannot be known is no
    /// error.
    pub async fn note_commits(&mut self) {
        let params = ReviewListParams { session_id: self.session.clone(), ..ReviewListParams::default() };
        let looked: Result<ReviewListResult, _> = self.request(methods::REVIEW_LIST, &params).await;
        if let Err(why) = looked {
            tracing::debug!(%why, "whether changes were committed is not known");
        }
    }

    /// Handles events until the end of the followed run.
    pub async fn until_ended(&mut self) -> Result<RunEnd, LeaveReason> {
        loop {
            if let Some(end) = self.end() {
                return Ok(end);
            }
            if self.waits && matches!(self.answers, Answers::Elsewhere) {
                return Err(LeaveReason::Waits);
            }
            if self.given_up {
                return Err(LeaveReason::GivenUp);
            }
            self.ears.wake_at(self.next_wake());
            let event = self.ears.next(&mut self.answers).await;
            self.on_event(event).await?;
        }
    }

    /// Returns open asks and stops the server; at once, if the user wants to leave now.
    pub async fn finish(mut self) {
        self.pages.go_on();
        self.view.aside(&mut self.pages);
        if self.at_once {
            return;
        }
        for delivery in self.desk.clear() {
            self.close_surface(&delivery);
        }
        self.client.stop(self.ears.into_incoming(), hearing::last_word).await;
    }

    async fn on_event(&mut self, event: IncomingEvent) -> Result<(), LeaveReason> {
        match event {
            IncomingEvent::Message(incoming) => self.handle(incoming).await?,
            IncomingEvent::Closed => return Err(LeaveReason::Closed),
            // Boxed, because a line may send a request, and events are handled until its result has come.
            IncomingEvent::Typed(typed) => Box::pin(self.typed(typed)).await?,
            IncomingEvent::Interrupt if self.is_at_prompt() => self.prompt_interrupted(),
            IncomingEvent::Interrupt if self.cancelling.is_none() && self.session.is_some() => {
                self.cancel("cancelling; Ctrl-C again leaves at once").await?;
            }
            IncomingEvent::Interrupt => {
                self.at_once = true;
                return Err(LeaveReason::Interrupted);
            }
            IncomingEvent::Terminate => {
                self.view.aside(&mut self.pages);
                if self.session.is_some() {
                    self.note("stopped by a signal; `adjutant run --continue` goes on from here");
                }
                return Err(LeaveReason::Terminated);
            }
            IncomingEvent::Wake => self.woke(Instant::now())?,
        }
        if self.reader_left() && self.cancelling.is_none() {
            self.cancel("").await?;
        }
        self.put_next();
        self.watch_keys();
        Ok(())
    }

    /// Writes a line about the program itself.
    pub fn note(&mut self, text: &str) {
        self.view.note(&mut self.pages, text);
    }

    /// Cancels the followed run, and returns its end if it comes in time.
    pub async fn cut_short(&mut self) -> Option<RunEnd> {
        self.cancel("").await.ok()?;
        self.until_ended().await.ok()
    }

    async fn cancel(&mut self, why: &str) -> Result<(), LeaveReason> {
        self.cancelling = Some(Instant::now() + CANCEL_LIMIT);
        if !why.is_empty() {
            self.note(why);
        }
        let Some(session_id) = self.session.clone() else { return Ok(()) };
        let params = CancelParams { session_id, run_id: None };
        Ok(self.client.notify(methods::SESSION_CANCEL, &params).await?)
    }

    /// Returns the end of the followed run, once the state after it has come or is late.
    fn end(&self) -> Option<RunEnd> {
        let (end, at) = self.followed_end()?;
        (self.idle || at.elapsed() >= IDLE_LIMIT).then(|| end.clone())
    }

    /// Returns the end of the followed run, and when it came.
    fn followed_end(&self) -> Option<(&RunEnd, Instant)> {
        let (run, end, at) = self.ended.as_ref()?;
        (self.run.as_ref() == Some(run)).then_some((end, *at))
    }

    fn next_wake(&self) -> Option<Instant> {
        let ended = self.followed_end().map(|(_, at)| at + IDLE_LIMIT);
        [ended, self.cancelling, self.demo_answers_at, self.view.wakes_at()].into_iter().flatten().min()
    }

    fn woke(&mut self, now: Instant) -> Result<(), LeaveReason> {
        if self.cancelling.is_some_and(|by| now >= by) {
            self.note("the run did not end in time");
            return Err(LeaveReason::Interrupted);
        }
        if self.demo_answers_at.is_some_and(|at| now >= at) {
            self.demo_answers_at = None;
            self.demo_answers();
        }
        self.view.still(&mut self.pages, now);
        Ok(())
    }
}
