//! The link to one client: how an ask, an update or an edit reaches it.
//!
//! The only place that chooses a surface, by what the client can do. Never holds
//! state of the agent: an answer goes back to the caller.

pub mod backfill;
mod diagnostics;
mod edits;
pub mod face;
mod items;
mod offering;
mod outbound;
mod overview;
mod popup;
mod popup_lock;
mod progress;
pub mod refreshes;
mod rendered;
mod run_progress;
pub mod surfaces;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use adjutant_core::config::{Popups, Settings};
use adjutant_core::text::display::{Surface, display};
use adjutant_protocol::ask::{AskGroup, AskResolvedParams, AskView, PermissionOutcome, PermissionResponse};
use adjutant_protocol::document::WindowReachParams;
use adjutant_protocol::methods;
use adjutant_protocol::review::ReviewUpdateParams;
use adjutant_protocol::session::{RunEnd, SessionChangedParams};
use adjutant_protocol::state::{Outcome, StateView};
use adjutant_protocol::update::{RunView, SessionUpdateParams, Update};
use adjutant_protocol::{AskId, SessionId};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};

use crate::documents::Documents;
use crate::editor::NoAnswer;
use crate::transport::code::METHOD_NOT_FOUND;
use crate::transport::{Out, ReplyError};

use backfill::{Backfill, PastUpdates};
use face::{Face, Note, Request};
pub use items::CarriedHunks;
use items::{Items, OpenItems};
pub use outbound::OrderingBarrier;
use outbound::OutboundQueue;
pub use popup::{Choice, Offer, approves};
use popup::{MAX_LINES, SurfaceRoom, Whole};
use popup_lock::PopupLock;
use refreshes::Refreshes;
use rendered::RenderedFiles;
pub use rendered::{RenderRequest, RenderedContent, RenderedFile};
pub use run_progress::OpenRun;
use surfaces::Surfaces;

/// How long a client that is leaving may take to read the last updates.
const FAREWELL_LIMIT: Duration = Duration::from_millis(300);

/// Characters of one message. A longer one is cut visibly.
const MAX_MESSAGE: usize = 4_000;

/// How long an ask must have been shown before its approval counts (design 15).
pub const REACTION: Duration = Duration::from_millis(400);

/// How long this client may take to answer, and how long its user must have seen an ask.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// For an edit or a save, before the client counts as silent.
    pub patience: Duration,
    /// Before an approval in a popup counts.
    pub reaction: Duration,
}

/// What a connection asks of the owner of the logs: missed updates, and rendered files.
pub struct Wants {
    pub backfills: mpsc::Receiver<Backfill>,
    pub renders: mpsc::Receiver<RenderRequest>,
}

/// The link to one client; clones share it.
#[derive(Clone)]
pub struct ClientLink {
    outbound: OutboundQueue,
    /// How the client's protocol writes messages that are not `agent/*`.
    face: Arc<dyn Face>,
    items: Items,
    /// What this client can do: every choice of a surface depends on it.
    surfaces: Arc<Surfaces>,
    timing: Timing,
    /// Allows one popup at a time.
    popup_lock: PopupLock,
    /// The client has answered that it knows no edits.
    edit_unknown: Arc<AtomicBool>,
    /// The client has answered that it knows no popups with buttons.
    no_popups: Arc<AtomicBool>,
    /// The user's settings turn popups off.
    popups_off: Arc<AtomicBool>,
    /// When the user's last action began: popups that were closed before it come back.
    acted: Arc<watch::Sender<Instant>>,
    rendered: RenderedFiles,
    refreshes: Refreshes,
}

/// Returns a text as every message of a client shows it: the last check before the client draws it.
pub fn message(text: &str) -> String {
    display(text, Surface::Message(MAX_MESSAGE)).text.into_owned()
}

/// An action of the user, and when it began. Dropping it ends the action.
#[must_use]
pub struct Acts(Arc<watch::Sender<Instant>>, Instant);

impl Drop for Acts {
    fn drop(&mut self) {
        self.0.send_modify(|last| *last = self.1.max(*last));
    }
}

/// The result of one delivery of an ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskDelivery {
    /// An answer, and the surface it came from.
    Outcome { outcome: PermissionOutcome, surface: &'static str },
    /// This surface was closed or does not exist; the ask stays open.
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
    /// Tells the client where the applied hunks of a document are.
    pub fn review(&self, update: ReviewUpdateParams) {
        if self.surfaces.hunks
            && let Ok(params) = serde_json::to_value(&update)
        {
            self.outbound.notify(methods::REVIEW_UPDATE, &params);
        }
        self.refreshes.reviewed(&update, self.surfaces.lens_refresh);
        self.items.review(update);
    }

    /// Tells the client that an entry of the list of sessions changed. Returns whether there was room.
    pub fn session_changed(&self, changed: &SessionChangedParams) -> bool {
        serde_json::to_value(changed)
            .is_ok_and(|params| self.outbound.hint(methods::SESSION_CHANGED, &params))
    }

    /// What the client shows of a review and reads again when it changes.
    pub fn refreshes(&self) -> &Refreshes {
        &self.refreshes
    }

    /// Opens the link to a client with these `surfaces`.
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
        let (outbound, backfills) = OutboundQueue::start(out.clone(), wanted);
        let (writer, renders) = RenderedFiles::new();
        let shown = OpenItems {
            progress: surfaces.progress,
            diagnostics: surfaces.diagnostics,
            overview: surfaces.overview,
            versions: surfaces.diagnostic_version,
        };
        let room = SurfaceRoom { lines: MAX_LINES, one_line: false };
        let items = Items::new(face.clone(), outbound.clone(), documents, shown, room);
        let link = Self {
            outbound,
            face,
            items,
            surfaces,
            timing,
            popup_lock: PopupLock::default(),
            edit_unknown: Arc::default(),
            no_popups: Arc::default(),
            popups_off: Arc::default(),
            acted: Arc::new(watch::Sender::new(Instant::now())),
            rendered: writer,
            refreshes: Refreshes::default(),
        };
        let living = link.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = living.items.live() => {}
                () = living.refreshes.send(&living) => {}
                () = out.closed() => {}
            }
        });
        (link, Wants { backfills, renders })
    }

    /// Returns the link of a connection that is over, for tests.
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

    /// What this client can do, and which surface replaces what it cannot.
    pub fn surfaces(&self) -> &Surfaces {
        &self.surfaces
    }

    /// The open runs and asks of this client, for code actions, commands, progress and diagnostics.
    pub fn items(&self) -> &Items {
        &self.items
    }

    /// Sends one update, in order. A plain client gets no `agent/*` message, only what its face shows.
    pub fn update(&self, params: SessionUpdateParams) {
        self.items.update(&params);
        if let Update::Run(RunView::Ended { end, .. }) = &params.update {
            self.ended(end);
        }
        let warning = match &params.update {
            Update::Notice { message } => Some(format!("Adjutant: {message}")),
            _ => None,
        };
        if self.surfaces.updates {
            self.outbound.push(params);
        }
        if let Some(warning) = warning {
            self.say(Level::Warning, &warning);
        }
    }

    /// Sends past updates again, after everything queued before. Changes nothing that is open.
    pub fn replay(&self, session: &SessionId, past: PastUpdates) {
        if self.surfaces.updates {
            self.outbound.replay(session.clone(), past);
        }
    }

    /// Whether the client wants an update in an answer.
    pub fn wants(&self, update: &Update) -> bool {
        self.outbound.wants(update)
    }

    /// Sends an update that is in no log, and so cannot be read from there later.
    pub fn last_word(&self, params: &SessionUpdateParams) {
        match &params.update {
            _ if self.surfaces.updates => self.outbound.last_word(params),
            Update::Notice { message } => self.say(Level::Error, &format!("Adjutant: {message}")),
            _ => {}
        }
    }

    /// Shows what is open in a session that this client follows from now on.
    pub fn now(&self, session: &SessionId, state: &StateView, run: Option<OpenRun>, asks: &[AskView]) {
        self.items.now(session, state, run, asks);
    }

    /// Removes everything that shows a session, because it was stopped or closed.
    pub fn forget(&self, session: &SessionId, why: &str) {
        self.items.forget(session, why);
    }

    /// Says in one message how a run ended, to a client that does not draw it: nothing else of its end stays in sight there.
    /// A run that the user cancelled ends without a word.
    fn ended(&self, end: &RunEnd) {
        if self.surfaces.updates || end.outcome == Outcome::Cancelled {
            return;
        }
        let is_failure = matches!(end.outcome, Outcome::Failed | Outcome::Limit);
        let (level, how) = match is_failure {
            true => (Level::Error, progress::end_words(end)),
            false => (Level::Info, progress::answer_words(end)),
        };
        let line = end.edits.as_ref().and_then(|edits| edits.line.as_ref());
        let edits = line.map(|line| {
            format!(" It changed {line}; each file has its changes, and the command adjutant.undoRun undoes all of them.")
        });
        let more =
            if is_failure { "" } else { " The command adjutant.showTranscript opens the conversation." };
        self.say(level, &format!("Adjutant: {how}{}{more}", edits.unwrap_or_default()));
    }

    /// Sends that an ask closed, after the update `seq` of its session.
    pub fn resolved(&self, params: &AskResolvedParams, seq: u64) {
        if self.surfaces.updates {
            self.outbound.resolved(params, seq);
        }
    }

    /// Sends what is queued, bounded in time, and nothing after that.
    pub async fn finish(&self) {
        self.outbound.finish(FAREWELL_LIMIT).await;
    }

    /// Marks the place of an answer among the updates: updates queued before it are sent before it,
    /// later ones after it.
    pub fn ordering_barrier(&self) -> OrderingBarrier {
        self.outbound.ordering_barrier()
    }

    /// Shows an ask to the user and waits for the answer, without a time limit.
    /// Dropping the future withdraws it.
    pub async fn deliver(&self, ask: Arc<AskView>) -> AskDelivery {
        match (self.surfaces.asks_by_request, self.surfaces.popup) {
            // The client resumed the session itself, and got this ask in the answer.
            (true, _) if ask.group == AskGroup::Resumable => AskDelivery::Closed,
            (true, _) => self.request_permission(ask).await,
            (false, true) => self.offer(&ask).await,
            (false, false) => AskDelivery::Closed,
        }
    }

    async fn request_permission(&self, ask: Arc<AskView>) -> AskDelivery {
        // After the update that opens the ask, and before the one that closes it (docs/protocol.md, Order).
        let request =
            self.outbound.request(Request::new(methods::REQUEST_PERMISSION, Arc::clone(&ask))).await;
        let Some(reply) = request else { return AskDelivery::Closed };
        match reply.await {
            Ok(value) => match serde_json::from_str::<PermissionResponse>(value.get()) {
                Ok(response) => match response.outcome {
                    PermissionOutcome::Cancelled => AskDelivery::Closed,
                    outcome => AskDelivery::Outcome { outcome, surface: "request_permission" },
                },
                Err(error) => {
                    // A malformed answer is never an approval (rule b).
                    tracing::warn!(%error, ask = %ask.ask_id, "the client's answer cannot be read");
                    AskDelivery::Closed
                }
            },
            Err(error) => {
                tracing::info!(%error, ask = %ask.ask_id, "the client did not answer the ask");
                AskDelivery::Closed
            }
        }
    }

    /// Starts an action of the user; dropping the result ends it. Asks that were closed without an answer are
    /// then offered again, except those that the action answered.
    pub fn user_acts(&self) -> Acts {
        Acts(self.acted.clone(), Instant::now())
    }

    fn popups_are_unknown(&self) {
        self.no_popups.store(true, Ordering::Release);
    }

    fn no_popups(&self) -> bool {
        self.no_popups.load(Ordering::Acquire)
    }

    fn popups_off(&self) -> bool {
        self.popups_off.load(Ordering::Acquire)
    }

    /// Applies what the user's settings say about what the client shows; it may hear of that at once.
    pub fn configure(&self, settings: &Settings) {
        self.set_popups(settings.popups);
        self.items.set_detail(settings.detail.into());
    }

    /// Applies the user's settings for popups. A client with `agent/*` methods has room for all lines.
    pub fn set_popups(&self, popups: Popups) {
        self.popups_off.store(!popups.on, Ordering::Release);
        let lines = if self.surfaces.updates { MAX_LINES } else { popups.lines };
        self.items.set_room(SurfaceRoom { lines, one_line: false });
    }

    /// Returns what a surface may offer for an ask now, in order (design 15).
    pub fn offers(&self, ask: &AskView) -> Vec<Offer> {
        popup::offers(ask, self.items.seen_at(&ask.ask_id).is_some(), self.items.room())
    }

    /// Whether an ask is shown as a diagnostic, with as much of it as fits there.
    pub fn has_diagnostic(&self, ask: &AskView) -> bool {
        self.surfaces.diagnostics && diagnostics::has_place(ask)
    }

    /// Opens the whole subject of an open ask. Afterwards every surface may offer to allow it.
    pub async fn show(&self, ask: &AskId) {
        match self.items.open_ask(ask) {
            Some(ask) => self.open_subject(&ask).await,
            None => self.say(Level::Info, "Adjutant: this was answered already."),
        }
    }

    async fn open_subject(&self, ask: &AskView) {
        let Whole { text, ending } = popup::whole(ask);
        let content = RenderedContent::Subject { ask: Arc::new(ask.clone()), text, ending };
        match self.rendered.write(content).await {
            Ok(written) => {
                self.show_document(&written, false).await;
                self.items.mark_opened(&ask.ask_id, &written.path.display().to_string());
            }
            Err(why) => self.say(Level::Error, &format!("Adjutant: could not show the document: {why}.")),
        }
    }

    /// Opens the transcript of a session. The file grows from now on.
    pub async fn show_transcript(&self, session: &SessionId) {
        match self.rendered.write(RenderedContent::Transcript(session.clone())).await {
            // The user asked for it, so it may have the focus.
            Ok(written) => self.show_document(&written, true).await,
            Err(why) => self.say(Level::Error, &format!("Adjutant: could not show the document: {why}.")),
        }
    }

    /// Opens a rendered file in the editor, or shows a message with its path.
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

    /// Shows a message to the user, after everything queued before.
    pub fn say(&self, level: Level, text: &str) {
        match self.face.message(level, text) {
            Some(Note { method, params }) => self.outbound.notify(method, &params),
            None => tracing::warn!(?level, text, "there is no way to tell the user"),
        }
    }

    /// Sends a request after everything queued before, and waits at most `patience` for the reply; and as long as the window of
    /// the user cannot be reached.
    async fn request(&self, request: Request) -> Result<String, NoAnswer> {
        // The updates about a change reach the client before the change.
        let reply = self.sent(request);
        tokio::pin!(reply);
        let answered = match tokio::time::timeout(self.timing.patience, &mut reply).await {
            Err(_) if self.surfaces.reach => {
                tokio::select! {
                    biased;
                    answered = &mut reply => Ok(answered),
                    // What was sent while the window was away has reached it by now, too.
                    _ = self.reach() => tokio::time::timeout(self.timing.patience, &mut reply).await,
                }
            }
            answered => answered,
        };
        match answered {
            Ok(Ok(value)) => Ok(value.get().to_owned()),
            Ok(Err(ReplyError::ConnectionClosed)) => Err(NoAnswer::Gone),
            Ok(Err(ReplyError::Refused { code: METHOD_NOT_FOUND, .. })) => Err(NoAnswer::Unknown),
            Ok(Err(error)) => Err(NoAnswer::Refused(error.to_string())),
            Err(_) => Err(NoAnswer::Silent(self.timing.patience.as_secs())),
        }
    }

    /// Waits until the window of the user is reached, or the client answers otherwise. It may be on another machine, and away.
    async fn reach(&self) {
        if let Err(error) = self.sent(Request::new(methods::WINDOW_REACH, WindowReachParams {})).await {
            tracing::info!(%error, "the client does not say whether its window can be reached");
        }
    }

    async fn sent(&self, request: Request) -> Result<Box<RawValue>, ReplyError> {
        match self.outbound.request(request).await {
            Some(reply) => reply.await,
            None => Err(ReplyError::ConnectionClosed),
        }
    }
}
