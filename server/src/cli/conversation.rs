//! One session seen from the command line: what is said, asked and answered,
//! from the first request to the end of a run.
//!
//! Never decides for the user and never outlives the connection; whatever the
//! server asks of an editor is answered here, errors included.

mod asking;
mod deciding;
mod denied;
mod ears;
mod hearing;
mod unmade;
mod view;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use adjutant_protocol::ask::PermissionOutcome;
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::methods;
use adjutant_protocol::session::{CancelParams, RunEnd};
use adjutant_protocol::state::State;
use adjutant_protocol::update::FailureKind;
use adjutant_protocol::{AskId, RunId, SessionId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::settings::Sources;

use super::Exit;
use super::asks::AskDesk;
use super::client::{Client, Failure};
use super::page::{Printer, note};
use super::pages::Pages;
use super::present::Person;
use super::signals::Signals;
pub use denied::{AllowedFlags, DenialSummary};
use ears::{Ears, IncomingEvent};
use unmade::MissingEdits;
pub use view::View;

/// How long a cancelled run may take to end.
const CANCEL_LIMIT: Duration = Duration::from_secs(10);
/// How long the state may take to follow the end of its run.
const IDLE_LIMIT: Duration = Duration::from_secs(2);

/// Who answers asks.
pub enum Answers {
    Person(Person),
    /// Nobody: what needs leave is denied.
    Nobody,
    /// Nobody here, but perhaps elsewhere: asks stay open.
    Elsewhere,
    /// The demo itself, which says so.
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
    #[error("go on: it was told to end")]
    Terminated,
    #[error("go on: the server gave the run up; `adjutant run --continue` goes on from what was written")]
    GivenUp,
    #[error("go on: the server has said why")]
    Told,
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// Says why a conversation was left, and returns what the shell is told.
pub fn report_leaving(left: LeaveReason) -> anyhow::Result<Exit> {
    match left {
        LeaveReason::Interrupted => Ok(Exit::Interrupted),
        LeaveReason::Terminated => Ok(Exit::Terminated),
        LeaveReason::Told => Ok(Exit::Failed),
        LeaveReason::Waits => {
            note("the run waits for an answer; `adjutant asks` shows what is asked");
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

/// A session, the page it is shown on, and who answers.
pub struct Conversation {
    client: Client,
    ears: Ears,
    view: View,
    pages: Pages,
    answers: Answers,
    desk: AskDesk,
    session: Option<SessionId>,
    run: Option<RunId>,
    ended: Option<(RunId, RunEnd, Instant)>,
    idle: bool,
    /// The run that is followed waits for an answer.
    waits: bool,
    /// The server gave up the run that is followed.
    given_up: bool,
    denied: DenialSummary,
    /// The last request to the model failed, and so.
    failure: Option<FailureKind>,
    unmade: MissingEdits,
    /// What the server has said last, which comes as an update and as a message.
    said: Option<String>,
    /// The last notice that was shown: a refusal may say the same.
    noticed: String,
    /// The ask that the server took off the page and has not yet said why.
    withdrawn: Option<AskId>,
    cancelling: Option<Instant>,
    demo_answers_at: Option<Instant>,
    /// What was said to an ask that no request of the server waits for.
    decided: Option<PermissionOutcome>,
    /// The user wants to leave now; what the server still runs is dropped.
    at_once: bool,
}

impl Conversation {
    /// Starts a server and greets it from these folders.
    pub async fn start(
        sources: Sources,
        folders: &[PathBuf],
        view: View,
        answers: Answers,
    ) -> anyhow::Result<Self> {
        let signals = Signals::new()?;
        let (client, hearing) = Client::start(sources, folders).await?;
        let pages = view.pages();
        Ok(Conversation {
            client,
            ears: Ears::new(hearing, signals),
            view,
            pages,
            answers,
            desk: AskDesk::default(),
            session: None,
            run: None,
            ended: None,
            idle: false,
            waits: false,
            given_up: false,
            denied: DenialSummary::default(),
            failure: None,
            unmade: MissingEdits::default(),
            said: None,
            noticed: String::new(),
            withdrawn: None,
            cancelling: None,
            demo_answers_at: None,
            decided: None,
            at_once: false,
        })
    }

    /// Whose updates and asks count from now on.
    pub fn attach(&mut self, session: &SessionId) {
        self.session = Some(session.clone());
    }

    /// Which run's end is waited for; without one, the next that starts.
    pub fn follow(&mut self, run: Option<RunId>) {
        self.run = run;
    }

    /// What the session is doing at this moment, as the server has just said.
    pub fn now(&mut self, state: State) {
        self.waits = state == State::RequiresAction;
    }

    /// Returns the calls that were denied because no user was present.
    pub fn denied(&self) -> &DenialSummary {
        &self.denied
    }

    /// Returns the line that names the files without the last edit that was allowed; `None` without any.
    pub fn unmade(&self) -> Option<String> {
        self.unmade.in_words()
    }

    /// Says whether the reader of a page has gone.
    pub fn reader_left(&self) -> bool {
        self.pages.is_broken()
    }

    /// Fails where a page could not be written, though its reader is there.
    pub fn written(&mut self) -> anyhow::Result<()> {
        self.pages.written()
    }

    /// Says how the last request to the model failed, if it did.
    pub fn failure(&self) -> Option<FailureKind> {
        self.failure
    }

    /// Returns the page of the answer, for what a command itself has to say there.
    pub fn page(&mut self) -> &mut Printer {
        self.view.aside(&mut self.pages);
        self.pages.answer()
    }

    /// Sends a request, hearing what is said until its result is there.
    pub async fn request<R: DeserializeOwned>(
        &mut self,
        method: &'static str,
        params: &impl Serialize,
    ) -> Result<R, LeaveReason> {
        let client = self.client.clone();
        let reply = client.request(method, params);
        tokio::pin!(reply);
        let result = loop {
            let heard = tokio::select! {
                biased;
                result = &mut reply => break result,
                heard = self.ears.next(&mut self.answers) => heard,
            };
            self.hear(heard).await?;
        };
        // A reply overtakes what the server said before it, which may be why it refuses.
        while let Some(said) = self.ears.said() {
            self.hear(said).await?;
        }
        result.map_err(|failure| match failure {
            Failure::Refused { message, .. } if self.noticed.ends_with(&message) => LeaveReason::Told,
            failure => failure.into(),
        })
    }

    /// Hears everything up to the end of the run that is followed.
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
            let heard = self.ears.next(&mut self.answers).await;
            self.hear(heard).await?;
        }
    }

    /// Takes leave of the server.
    pub async fn finish(mut self) {
        self.view.aside(&mut self.pages);
        if self.at_once {
            return;
        }
        for delivery in self.desk.clear() {
            self.close_surface(&delivery);
        }
        self.client.stop(self.ears.into_hearing(), hearing::last_word).await;
    }

    async fn hear(&mut self, heard: IncomingEvent) -> Result<(), LeaveReason> {
        match heard {
            IncomingEvent::Said(incoming) => self.handle(incoming).await?,
            IncomingEvent::Closed => return Err(LeaveReason::Closed),
            IncomingEvent::Typed(typed) => self.typed(typed),
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
                    note("told to end; `adjutant run --continue` goes on from here");
                }
                return Err(LeaveReason::Terminated);
            }
            IncomingEvent::Wake => self.woke(Instant::now())?,
        }
        if self.reader_left() && self.cancelling.is_none() {
            self.cancel("").await?;
        }
        self.put_next();
        Ok(())
    }

    async fn cancel(&mut self, why: &str) -> Result<(), LeaveReason> {
        self.cancelling = Some(Instant::now() + CANCEL_LIMIT);
        if !why.is_empty() {
            self.view.aside(&mut self.pages);
            note(why);
        }
        let Some(session_id) = self.session.clone() else { return Ok(()) };
        let params = CancelParams { session_id, run_id: None };
        Ok(self.client.notify(methods::SESSION_CANCEL, &params).await?)
    }

    /// The end of the run that is followed, once the state has come after it or is late.
    fn end(&self) -> Option<RunEnd> {
        let (end, at) = self.followed_end()?;
        (self.idle || at.elapsed() >= IDLE_LIMIT).then(|| end.clone())
    }

    /// The end of the run that is followed, and when it was heard.
    fn followed_end(&self) -> Option<(&RunEnd, Instant)> {
        let (run, end, at) = self.ended.as_ref()?;
        (self.run.as_ref() == Some(run)).then_some((end, *at))
    }

    fn next_wake(&self) -> Option<Instant> {
        let ended = self.followed_end().map(|(_, at)| at + IDLE_LIMIT);
        [ended, self.cancelling, self.demo_answers_at, self.view.remark_at()].into_iter().flatten().min()
    }

    fn woke(&mut self, now: Instant) -> Result<(), LeaveReason> {
        if self.cancelling.is_some_and(|by| now >= by) {
            note("the run did not end in time");
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
