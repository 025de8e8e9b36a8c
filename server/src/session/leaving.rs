//! Ends a session in memory: a client closes or deletes it, or it breaks.
//!
//! Never touches the files of a deleted session; the caller of the task removes them.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use adjutant_core::machine::input::Input;
use adjutant_core::machine::step::{Step, next_steps};
use adjutant_core::session::run::SessionState;
use adjutant_core::text::display::one_line;
use adjutant_protocol::errors::ErrorName;
use tokio::sync::oneshot;

use super::SessionTask;
use super::mailbox::{ClientError, Message, Reply};

/// Time limit for the sync of the events that were written before a session broke.
const SYNC_LIMIT: Duration = Duration::from_secs(2);
/// Time limit for the check of edits that were on their way; less than a stopping server waits.
const SETTLE_LIMIT: Duration = Duration::from_millis(1_500);
/// Characters of a panic in a message.
const MAX_PANIC: usize = 300;

/// Why the task of a session ended.
pub enum End {
    /// A client closed the session, or the server stops.
    Stopped,
    /// A client deletes the session; its files must be removed.
    Deleted(Reply<()>),
    /// A bug ended it; the requests that wait are refused with this error.
    Broken(ClientError),
}

impl SessionTask {
    /// Ends the session for good, unless a run is open.
    pub(super) fn deleted(&mut self, reply: Reply<()>) -> Option<End> {
        self.place.mailbox.note_handled();
        let (state, _) = self.session.current_state();
        // Nothing runs in a session that cannot be written any more.
        if self.stopped.is_none() && matches!(state, SessionState::Running | SessionState::RequiresAction) {
            let why = "a run of this session is open; cancel it first";
            let _ = reply.send(Err(ClientError::new(ErrorName::SessionLocked, why)));
            return None;
        }
        Some(End::Deleted(reply))
    }

    /// Finds out what became of edits that were on their way when their run ended, as far as `SETTLE_LIMIT` allows. What is
    /// on disk would be listed nowhere until the session is opened again.
    pub(super) async fn settle_edits(&mut self) {
        let until = tokio::time::Instant::now() + SETTLE_LIMIT;
        let mut others = Vec::new();
        let is_settle = |step: &Step| matches!(step, Step::Settle { .. });
        while self.stopped.is_none() && next_steps(&self.session).iter().any(is_settle) {
            self.reconcile().await;
            match tokio::time::timeout_at(until, self.mail.recv()).await {
                Ok(Some(
                    message @ (Message::Report { .. } | Message::StepEnded { .. } | Message::Synced(_)),
                )) => {
                    // None of these ends a session.
                    let _ = self.handle(message).await;
                }
                Ok(Some(message)) => others.push(message),
                Ok(None) | Err(_) => break,
            }
        }
        others.into_iter().for_each(|message| self.place.mailbox.post(message));
    }

    /// Ends all steps with their processes, records the end and makes it durable.
    pub(super) async fn stop(&mut self) {
        self.running.abort_all_and_wait().await;
        let _ = self.input(Input::Stopping).await;
        self.place.world.link.forget(&self.place.id, "stopped with the server");
        let (synced, wait) = oneshot::channel();
        self.log().request_sync(move |result| {
            let _ = synced.send(result.ok());
        });
        if let Ok(Some(seq)) = wait.await
            && self.publish_end
        {
            self.publisher.durable_up_to(seq);
            self.replies.durable_up_to(seq);
        }
        let mark = self.log().summary_mark();
        self.summary.write_now(&self.session, mark).await;
    }

    /// Answers the requests whose events were written before the session broke, if they reach the disk
    /// within `SYNC_LIMIT`.
    async fn answer_durable(&mut self) {
        let (synced, wait) = oneshot::channel();
        self.log().request_sync(move |result| {
            let _ = synced.send(result.ok());
        });
        if let Ok(Ok(Some(seq))) = tokio::time::timeout(SYNC_LIMIT, wait).await {
            self.replies.durable_up_to(seq);
        }
    }

    /// Ends a session whose task panicked. Its memory may be wrong, so no event is written from it.
    /// The log stays as it is, and the next request opens it again.
    pub(super) async fn broken(&mut self, panic: Box<dyn Any + Send>) -> End {
        let why = one_line(&text_of(panic), MAX_PANIC);
        tracing::error!(session = %self.place.id, why, "the session broke");
        self.running.abort_all_and_wait().await;
        self.answer_durable().await;
        let refused = ClientError::new(
            ErrorName::SessionNotFound,
            format!(
                "the session broke and was closed ({why}); send the request again to open it from its log"
            ),
        );
        let message = format!(
            "A bug of Adjutant broke this session, so it was closed: {why}. Its log is kept: resume the session, or send a \
             prompt, to continue."
        );
        let publish = AssertUnwindSafe(|| {
            self.publisher.stopped(&self.session, message, "stopped: the session broke");
            self.replies.fail_all(
                "the session broke before this was on disk; resume the session to see whether it was accepted",
            );
            self.publisher.fail_all(&refused);
        });
        if catch_unwind(publish).is_err() {
            // Waiting requests are answered anyway, because their reply slots are dropped with the session.
            tracing::error!(session = %self.place.id, "the client could not be notified that the session broke");
        }
        End::Broken(refused)
    }
}

/// Returns the message of a panic.
fn text_of(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason was given").to_owned()
}
