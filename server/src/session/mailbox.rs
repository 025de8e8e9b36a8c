//! What reaches a session: requests with a slot for their reply, and reports.
//!
//! Never answers anything; the session's own task does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use adjutant_core::machine::input::{Choice, Report};
use adjutant_core::machine::step::{Step, Wake};
use adjutant_core::policy::ask::INBOX;
use adjutant_core::policy::choices::JudgedChoice;
use adjutant_protocol::ask::{AskRespondResult, AskView};
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::option::SetConfigOptionResult;
use adjutant_protocol::session::{PromptParams, PromptResult, ReplayFrom, ResumeResult, WaitResult};
use adjutant_protocol::{AskId, RunId};
use tokio::sync::{mpsc, oneshot};

use super::images::PendingImages;
use super::transcript_files::TranscriptFile;
use crate::client::{OrderingBarrier, RenderedFile};

/// Requests that wait for one session; more are refused with `Overloaded`.
pub const MAX_QUEUE: usize = 256;
/// Bytes of the words of one prompt, without its images, and of one answer: the model reads both.
pub const MAX_WORDS: usize = 1024 * 1024;

/// An error of ours on its way to a client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ClientError {
    pub name: ErrorName,
    pub message: String,
}

impl ClientError {
    pub fn new(name: ErrorName, message: impl Into<String>) -> Self {
        Self { name, message: message.into() }
    }

    /// The refusal of a session that went before it answered.
    pub fn gone() -> Self {
        Self::new(ErrorName::SessionNotFound, "the session was closed meanwhile")
    }
}

/// What is true of a session, and its place among the updates.
pub struct ResumePoint {
    pub result: ResumeResult,
    pub place: OrderingBarrier,
}

pub type Reply<T> = oneshot::Sender<Result<T, ClientError>>;

/// A prompt as it was read at the door.
pub struct PostedPrompt {
    /// Without its blocks, which are `text` and `images`.
    pub params: PromptParams,
    pub text: String,
    pub images: PendingImages,
    /// What the run is called, where the first line of the prompt is not it.
    pub title: Option<String>,
    /// The digest of the request's own body: what a repeated key is compared by.
    pub body: String,
}

pub enum Message {
    Prompt {
        prompt: Box<PostedPrompt>,
        reply: Reply<PromptResult>,
    },
    Answer {
        ask: AskId,
        choice: Choice,
        surface: &'static str,
        /// Whether the one who answers gives consent to go on unattended.
        unattended: bool,
        reply: Option<Reply<AskRespondResult>>,
    },
    /// Somebody may have left an answer in the inbox.
    InboxStirred,
    /// What was in the inbox is judged; `events` says whether the system tells of more.
    InboxLooked {
        events: bool,
    },
    Cancel {
        run: Option<RunId>,
        /// Dropped when it was looked at.
        taken: oneshot::Sender<()>,
    },
    Wait {
        run: RunId,
        timeout_ms: u64,
        reply: Reply<WaitResult>,
    },
    Resume {
        from: Option<ReplayFrom>,
        /// Whether the one who follows it gives consent to go on unattended.
        unattended: bool,
        reply: Reply<ResumePoint>,
    },
    /// The transcript is to be written, and to grow from now on.
    Transcript {
        reply: Reply<RenderedFile>,
    },
    /// The transcript is written as far as was told when it was asked for.
    Transcribed(Result<(TranscriptFile, RenderedFile), String>),
    Asks {
        reply: Reply<Vec<AskView>>,
    },
    /// What a step needs kept before it may go on cannot be written: the disk of the session fails.
    Unkept {
        why: String,
    },
    /// A step tells how it goes.
    Report {
        step: Step,
        report: Report,
    },
    /// Text of a step waits in its stream.
    Streamed {
        step: Step,
    },
    /// What a step has streamed is worth keeping; it waits in its stream.
    Partial {
        step: Step,
    },
    /// A time that was waited for has come.
    Woke(Wake),
    StepEnded {
        step: Step,
        panicked: bool,
    },
    Synced(Result<u64, String>),
    WaitOver {
        run: RunId,
        number: u64,
    },
    /// A mode or a model for the session, judged by the settings.
    Choose {
        chosen: JudgedChoice,
        reply: Reply<SetConfigOptionResult>,
    },
    /// Cancels the open run, tells of it, and leaves memory.
    Close,
    /// Leaves memory and is deleted, unless a run is open.
    Delete {
        reply: Reply<()>,
    },
    Stop,
}

impl Message {
    /// Answers a request that no session will look at.
    pub fn refuse(self, refused: ClientError) {
        fn answer<T>(reply: Reply<T>, refused: ClientError) {
            // A client that withdrew its request waits for nothing.
            let _ = reply.send(Err(refused));
        }
        match self {
            Message::Prompt { reply, .. } => answer(reply, refused),
            // Nobody has judged it: its file stays for whoever opens the session next.
            Message::Answer { surface: INBOX, .. } => {}
            Message::Answer { reply, .. } => {
                if let Some(reply) = reply {
                    answer(reply, refused);
                }
            }
            Message::Wait { reply, .. } => answer(reply, refused),
            Message::Resume { reply, .. } => answer(reply, refused),
            Message::Transcript { reply } => answer(reply, refused),
            Message::Asks { reply } => answer(reply, refused),
            Message::Choose { reply, .. } => answer(reply, refused),
            Message::Delete { reply } => answer(reply, refused),
            Message::InboxStirred
            | Message::InboxLooked { .. }
            | Message::Cancel { .. }
            | Message::Transcribed(_)
            | Message::Unkept { .. }
            | Message::Report { .. }
            | Message::Streamed { .. }
            | Message::Partial { .. }
            | Message::Woke(_)
            | Message::StepEnded { .. }
            | Message::Synced(_)
            | Message::WaitOver { .. }
            | Message::Close
            | Message::Stop => {}
        }
    }
}

/// The receiving side of a session's mailbox.
pub type Mail = mpsc::UnboundedReceiver<Message>;

/// The sending side of a session's mailbox; clones share it.
///
/// The channel has no bound of its own; what is in it has. Requests: `MAX_QUEUE`. Answers and
/// cancels: as many as the connection has calls in flight. Of each running step: its start, one
/// word that text waits, one that a partial waits, its report and its end. Of the inbox: one word
/// that it stirs and one that it was looked into. One `Synced`, one `WaitOver` for each request that
/// waits, one `Transcribed`, one `Close` or `Stop`.
#[derive(Clone)]
pub struct Mailbox {
    sender: mpsc::UnboundedSender<Message>,
    /// Requests taken and not yet looked at: the bound of the queue.
    waiting: Arc<AtomicUsize>,
}

impl Mailbox {
    pub fn new() -> (Self, Mail) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self { sender, waiting: Arc::default() }, receiver)
    }

    /// Posts what is always admitted: reports, answers, cancels, stop.
    pub fn post(&self, message: Message) {
        // A session that is gone needs nothing any more; a reply slot tells its owner by closing.
        let _ = self.sender.send(message);
    }

    /// Posts a request and returns the place of its reply, unless too many wait already.
    pub fn request<T>(
        &self,
        message: impl FnOnce(Reply<T>) -> Message,
    ) -> Result<oneshot::Receiver<Result<T, ClientError>>, ClientError> {
        if self.waiting.fetch_add(1, Ordering::AcqRel) >= MAX_QUEUE {
            self.note_handled();
            return Err(ClientError::new(ErrorName::Overloaded, "too many requests wait for this session"));
        }
        let (reply, receiver) = oneshot::channel();
        self.post(message(reply));
        Ok(receiver)
    }

    /// Posts what is always admitted and returns the place of its reply.
    pub fn admit<T>(
        &self,
        message: impl FnOnce(Reply<T>) -> Message,
    ) -> oneshot::Receiver<Result<T, ClientError>> {
        let (reply, receiver) = oneshot::channel();
        self.post(message(reply));
        receiver
    }

    /// Posts a cancel, which is never refused; the receiver ends when it was looked at. Whoever
    /// posts waits for that, so that a client cannot send more than its calls in flight.
    pub fn cancel(&self, run: Option<RunId>) -> oneshot::Receiver<()> {
        let (taken, looked_at) = oneshot::channel();
        self.post(Message::Cancel { run, taken });
        looked_at
    }

    /// Notes that the session has looked at one request.
    pub fn note_handled(&self) {
        self.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its file is removed once it was judged, and nobody has.
    #[tokio::test]
    async fn an_answer_from_the_inbox_that_no_session_looked_at_is_not_refused() {
        let answer = |surface| {
            let (reply, answered) = oneshot::channel();
            let choice = Choice::Text("yes".to_owned());
            let message = Message::Answer {
                ask: "ask-1".into(),
                choice,
                surface,
                unattended: false,
                reply: Some(reply),
            };
            (message, answered)
        };
        let (message, answered) = answer(INBOX);
        message.refuse(ClientError::gone());
        assert!(answered.await.is_err(), "nothing is said of it");
        let (message, answered) = answer("ask/respond");
        message.refuse(ClientError::gone());
        assert!(answered.await.expect("it is answered").is_err());
    }
}
