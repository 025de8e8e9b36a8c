//! The ways out: how an ask, an update, an edit reaches this client.
//!
//! The only seat of "which door", by what the client can do. Holds no agent
//! state: an answer goes back to whoever asked.

pub mod backfill;
mod diagnostics;
mod edits;
pub mod face;
mod items;
mod offering;
mod outbound;
mod popup;
mod popup_lock;
mod progress;
mod rendered;
mod run_progress;
pub mod surfaces;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use adjutant_core::config::Popups;
use adjutant_core::text::display::{Surface, display};
use adjutant_protocol::ask::{AskGroup, AskResolvedParams, AskView, PermissionOutcome, PermissionResponse};
use adjutant_protocol::methods;
use adjutant_protocol::session::RunEnd;
use adjutant_protocol::state::{Outcome, StateView};
use adjutant_protocol::update::{RunView, SessionUpdateParams, Update};
use adjutant_protocol::{AskId, SessionId};
use tokio::sync::{mpsc, watch};

use crate::documents::Documents;
use crate::editor::NoAnswer;
use crate::transport::code::METHOD_NOT_FOUND;
use crate::transport::{Out, ReplyError};

use backfill::{Backfill, UpdateRange};
use face::{Face, Note, Request};
use items::{Items, OpenItems};
pub use outbound::OrderingBarrier;
use outbound::OutboundQueue;
pub use popup::{Choice, Offer, approves};
use popup::{MAX_LINES, SurfaceRoom, Whole};
use popup_lock::PopupLock;
use rendered::RenderedFiles;
pub use rendered::{PaperRequest, RenderedContent, RenderedFile};
pub use run_progress::OpenRun;
use surfaces::Surfaces;

/// How long a client that is leaving may take to read the last updates.
const FAREWELL_LIMIT: Duration = Duration::from_millis(300);

/// Characters of one message; a longer one is cut, and that is seen.
const MAX_MESSAGE: usize = 4_000;

/// How long what is approved has to have been asked before the approval counts (decision 15).
pub const REACTION: Duration = Duration::from_millis(400);

/// How long this client may take, and how long its user has to have looked.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// For an edit or a save, before the client counts as silent.
    pub patience: Duration,
    /// Before an approval in a popup counts.
    pub reaction: Duration,
}

/// What a connection asks of those who own the logs: what a client has missed, and papers.
pub struct Wants {
    pub recalls: mpsc::Receiver<Backfill>,
    pub papers: mpsc::Receiver<PaperRequest>,
}

/// The doors of one connection; clones share them.
#[derive(Clone)]
pub struct ClientLink {
    outlet: OutboundQueue,
    /// How the client's protocol says what only it has words for.
    face: Arc<dyn Face>,
    items: Items,
    /// What this client can do: every choice of a door goes by it.
    surfaces: Arc<Surfaces>,
    timing: Timing,
    /// The one place for a popup.
    slot: PopupLock,
    /// The client has answered that it knows no edits.
    edit_unknown: Arc<AtomicBool>,
    /// The client said that it knows no popups with buttons.
    no_popups: Arc<AtomicBool>,
    /// The user's settings want no popups.
    unwanted: Arc<AtomicBool>,
    /// When what the user did last began: popups that were closed before come back.
    acted: Arc<watch::Sender<Instant>>,
    papers: RenderedFiles,
}

/// Returns a text as every message of a client shows it: the last gate before somebody else draws it.
pub fn message(text: &str) -> String {
    display(text, Surface::Message(MAX_MESSAGE)).text.into_owned()
}

/// Something that the user does, and when it began; dropped, it is done.
#[must_use]
pub struct Acts(Arc<watch::Sender<Instant>>, Instant);

impl Drop for Acts {
    fn drop(&mut self) {
        self.0.send_modify(|last| *last = self.1.max(*last));
    }
}

/// What became of one delivery of an ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskDelivery {
    /// An answer, and the door it came by.
    Outcome { outcome: PermissionOutcome, surface: &'static str },
    /// This door is closed or was never there; the ask stays open.
    Closed,
}

/// How much a message to the user matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Error = 1,
    Warning = 2,
    Info = 3,
}

impl ClientLink {
    /// Opens the doors of a connection to a client that can do what `surfaces` says.
    pub fn open(
        out: Out,
        face: Box<dyn Face>,
        surfaces: Surfaces,
        timing: Timing,
        documents: Documents,
    ) -> (Self, Wants) {
        let face: Arc<dyn Face> = face.into();
        let surfaces = Arc::new(surfaces);
        let chosen = surfaces.clone();
        let wanted = move |update: &Update| {
            let kind = update.kind();
            (chosen.chunks || !kind.ends_with("_chunk")) && !chosen.opt_out.iter().any(|out| out == kind)
        };
        let (outlet, recalls) = OutboundQueue::start(out.clone(), wanted);
        let (writer, papers) = RenderedFiles::new();
        let shown = OpenItems {
            progress: surfaces.progress,
            marks: surfaces.diagnostics,
            versions: surfaces.diagnostic_version,
        };
        let room = SurfaceRoom { lines: MAX_LINES, one_line: false };
        let items = Items::new((face.clone(), outlet.clone()), documents, shown, room);
        let living = items.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = living.live() => {}
                () = out.closed() => {}
            }
        });
        let link = Self {
            outlet,
            face,
            items,
            surfaces,
            timing,
            slot: PopupLock::default(),
            edit_unknown: Arc::default(),
            no_popups: Arc::default(),
            unwanted: Arc::default(),
            acted: Arc::new(watch::Sender::new(Instant::now())),
            papers: writer,
        };
        (link, Wants { recalls, papers })
    }

    /// The doors of a connection that is over, for tests of those who have some.
    #[cfg(test)]
    pub fn to_nobody() -> Self {
        let timing = Timing { patience: Duration::ZERO, reaction: Duration::ZERO };
        Self::open(
            crate::transport::channel().0,
            Box::new(face::Bare),
            Surfaces::default(),
            timing,
            Documents::default(),
        )
        .0
    }

    /// What this client can do, and which surface stands for what at it.
    pub fn surfaces(&self) -> &Surfaces {
        &self.surfaces
    }

    /// What is open at this client, for code actions, commands and what a plain client is shown.
    pub fn items(&self) -> &Items {
        &self.items
    }

    /// Tells one update, in order; a plain client gets nothing of ours but what its face shows.
    pub fn update(&self, params: SessionUpdateParams) {
        self.items.update(&params);
        if let Update::Run(RunView::Ended { end, .. }) = &params.update {
            self.failed(end);
        }
        let warning = match &params.update {
            Update::Notice { message } => Some(format!("Adjutant: {message}")),
            _ => None,
        };
        if self.surfaces.updates {
            self.outlet.push(params);
        }
        if let Some(warning) = warning {
            self.say(Level::Warning, &warning);
        }
    }

    /// Tells a stretch of the past again, behind what was told before: nothing of it is open now.
    pub fn replay(&self, session: &SessionId, stretch: UpdateRange) {
        if self.surfaces.updates {
            self.outlet.replay(session.clone(), stretch);
        }
    }

    /// Tells an update that is in no log, so that it could not be told from there.
    pub fn last_word(&self, params: &SessionUpdateParams) {
        match &params.update {
            _ if self.surfaces.updates => self.outlet.last_word(params),
            Update::Notice { message } => self.say(Level::Error, &format!("Adjutant: {message}")),
            _ => {}
        }
    }

    /// Tells what is open in a session that this client follows from now on.
    pub fn now(&self, session: &SessionId, state: &StateView, run: Option<OpenRun>, asks: &[AskView]) {
        self.items.now(session, state, run, asks);
    }

    /// Takes back everything that shows a session: it is stopped or closed here.
    pub fn forget(&self, session: &SessionId, why: &str) {
        self.items.forget(session, why);
    }

    /// A failure that needs the user is the one message without a question (decision 16).
    fn failed(&self, end: &RunEnd) {
        if !self.surfaces.updates && matches!(end.outcome, Outcome::Failed | Outcome::Limit) {
            self.say(Level::Error, &format!("Adjutant: {}", progress::end_words(end)));
        }
    }

    /// Says that an ask closed, behind the update `seq` of its session.
    pub fn resolved(&self, params: &AskResolvedParams, seq: u64) {
        if self.surfaces.updates {
            self.outlet.resolved(params, seq);
        }
    }

    /// Tells what is still to be told, bounded in time, and nothing after that.
    pub async fn finish(&self) {
        self.outlet.finish(FAREWELL_LIMIT).await;
    }

    /// Marks the place of an answer among the updates: those told before it are sent before it,
    /// those told after it behind it.
    pub fn ordering_barrier(&self) -> OrderingBarrier {
        self.outlet.ordering_barrier()
    }

    /// Puts an ask before the user and waits for the answer, for as long as it takes.
    /// Dropping the future withdraws it.
    pub async fn deliver(&self, ask: Arc<AskView>) -> AskDelivery {
        match (self.surfaces.asks_by_request, self.surfaces.popup) {
            // It has resumed the session by itself, and was told.
            (true, _) if ask.group == AskGroup::Resumable => AskDelivery::Closed,
            (true, _) => self.request_permission(ask).await,
            (false, true) => self.offer(&ask).await,
            (false, false) => AskDelivery::Closed,
        }
    }

    async fn request_permission(&self, ask: Arc<AskView>) -> AskDelivery {
        // Behind the update that opens the ask, and before the one that closes it (protocol
        // section 6, rule 2).
        let request = self.outlet.request(Request::new(methods::REQUEST_PERMISSION, Arc::clone(&ask))).await;
        let Some(reply) = request else { return AskDelivery::Closed };
        match reply.await {
            Ok(value) => match serde_json::from_str::<PermissionResponse>(value.get()) {
                Ok(response) => match response.outcome {
                    PermissionOutcome::Cancelled => AskDelivery::Closed,
                    outcome => AskDelivery::Outcome { outcome, surface: "request_permission" },
                },
                Err(error) => {
                    // A malformed answer is never an approval (rule b).
                    tracing::warn!(%error, ask = %ask.ask_id, "the client's answer makes no sense");
                    AskDelivery::Closed
                }
            },
            Err(error) => {
                tracing::info!(%error, ask = %ask.ask_id, "the client did not take the ask");
                AskDelivery::Closed
            }
        }
    }

    /// Notes that the user did something, once what this returns is dropped: what was closed without an answer
    /// is offered again then, and no question that was answered thereby.
    pub fn user_acts(&self) -> Acts {
        Acts(self.acted.clone(), Instant::now())
    }

    fn popups_are_unknown(&self) {
        self.no_popups.store(true, Ordering::Release);
    }

    fn no_popups(&self) -> bool {
        self.no_popups.load(Ordering::Acquire)
    }

    fn are_unwanted(&self) -> bool {
        self.unwanted.load(Ordering::Acquire)
    }

    /// Takes what the user's settings say of popups. A client with methods of ours has room enough.
    pub fn set_popups(&self, popups: Popups) {
        self.unwanted.store(!popups.on, Ordering::Release);
        let lines = if self.surfaces.updates { MAX_LINES } else { popups.lines };
        self.items.set_room(SurfaceRoom { lines, one_line: false });
    }

    /// Returns what any surface may offer for an ask now, in order (decision 15).
    pub fn offers(&self, ask: &AskView) -> Vec<Offer> {
        popup::offers(ask, self.items.seen_at(&ask.ask_id).is_some(), self.items.room())
    }

    /// Whether an ask is shown as a diagnostic, with as much of it as fits there.
    pub fn is_marked(&self, ask: &AskView) -> bool {
        self.surfaces.diagnostics && diagnostics::has_place(ask)
    }

    /// Opens the whole of what an open ask is about; afterwards it may be allowed everywhere.
    pub async fn show(&self, ask: &AskId) {
        match self.items.open_ask(ask) {
            Some(ask) => self.open_subject(&ask).await,
            None => self.say(Level::Info, "Adjutant: this was answered already."),
        }
    }

    async fn open_subject(&self, ask: &AskView) {
        let Whole { text, ending } = popup::whole(ask);
        match self.papers.write(RenderedContent::Subject { ask: Arc::new(ask.clone()), text, ending }).await {
            Ok(written) => {
                self.show_document(&written, false).await;
                self.items.saw(&ask.ask_id, &written.path.display().to_string());
            }
            Err(why) => self.say(Level::Error, &format!("Adjutant: failed to {why}.")),
        }
    }

    /// Opens the transcript of a session, which grows from now on.
    pub async fn show_transcript(&self, session: &SessionId) {
        match self.papers.write(RenderedContent::Transcript(session.clone())).await {
            // The user asked for it, so it may have the focus.
            Ok(written) => self.show_document(&written, true).await,
            Err(why) => self.say(Level::Error, &format!("Adjutant: failed to {why}.")),
        }
    }

    /// Opens a file of ours in the editor, or says where it is.
    async fn show_document(&self, written: &RenderedFile, focus: bool) {
        let request = self.face.show_document(&written.uri, focus).filter(|_| self.surfaces.show_document);
        let shown = match request {
            Some(request) => self.request(request).await.is_ok_and(|reply| self.face.was_shown(&reply)),
            None => false,
        };
        if !shown {
            self.say(Level::Info, &format!("Adjutant: it is in {}", written.path.display()));
        }
    }

    /// Says something to the user, behind what was told before.
    pub fn say(&self, level: Level, text: &str) {
        match self.face.message(level, text) {
            Some(Note { method, params }) => self.outlet.notify(method, &params),
            None => tracing::warn!(?level, text, "there is no way to tell the user"),
        }
    }

    /// Sends a request behind what was told before; a client has the time of one edit to answer.
    async fn request(&self, request: Request) -> Result<String, NoAnswer> {
        let request = async {
            // What the client was told of the change comes before the change.
            match self.outlet.request(request).await {
                Some(reply) => reply.await,
                None => Err(ReplyError::ConnectionClosed),
            }
        };
        match tokio::time::timeout(self.timing.patience, request).await {
            Ok(Ok(value)) => Ok(value.get().to_owned()),
            Ok(Err(ReplyError::ConnectionClosed)) => Err(NoAnswer::Gone),
            Ok(Err(ReplyError::Refused { code: METHOD_NOT_FOUND, .. })) => Err(NoAnswer::Unknown),
            Ok(Err(error)) => Err(NoAnswer::Refused(error.to_string())),
            Err(_) => Err(NoAnswer::Silent(self.timing.patience.as_secs())),
        }
    }
}
