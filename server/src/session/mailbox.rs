//! The mailbox of a session: requests with a slot for their reply, and reports.
//!
//! Never answers a request on its own; the task of the session does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use adjutant_core::machine::input::{Choice, HunkComment, OutsideLook, Report};
use adjutant_core::machine::step::{Step, Wake};
use adjutant_core::policy::ask::INBOX;
use adjutant_core::policy::choices::JudgedChoice;
use adjutant_core::record::ReviewedBy;
use adjutant_core::session::Session;
use adjutant_core::wire::round::RoundComment;
use adjutant_protocol::ask::{AskRespondResult, AskView};
use adjutant_protocol::context::SessionCompactResult;
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::option::SetConfigOptionResult;
use adjutant_protocol::review::{DecidedHunk, ReviewCommentResult, ReviewDecideParams, ReviewHunk};
use adjutant_protocol::rewind::{PreviewParams, RewindParams, RewindPreview};
use adjutant_protocol::session::{Done, PromptParams, PromptResult, ReplayFrom, ResumeResult, WaitResult};
use adjutant_protocol::{AskId, ChangeSetId, RunId};
use tokio::sync::{mpsc, oneshot};

use super::attached::AttachedBlocks;
use super::images::PendingImages;
use super::paging::PublishedPage;
use super::transcript_files::TranscriptFile;
use crate::client::{OrderingBarrier, RenderedFile};

/// Requests that wait for one session; more are refused with `Overloaded`.
pub const MAX_QUEUE: usize = 256;
/// Bytes of text in one prompt, without its images, and in one answer: the model reads both.
pub const MAX_WORDS: usize = 1024 * 1024;

/// An error that a client gets as the reply to its request.
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

    /// The error for a request whose session was closed before it answered.
    pub fn gone() -> Self {
        Self::new(ErrorName::SessionNotFound, "the session was closed meanwhile")
    }
}

/// The present state of a session, and its place among the updates.
pub struct ResumePoint {
    pub result: ResumeResult,
    pub place: OrderingBarrier,
}

pub type Reply<T> = oneshot::Sender<Result<T, ClientError>>;

/// A prompt as the handler of its request parsed it.
pub struct PostedPrompt {
    /// Without its blocks: they are in `text` and `images`.
    pub params: PromptParams,
    pub text: String,
    pub images: PendingImages,
    pub wording: Wording,
    /// The digest of the request's body. A repeated key must come with the same digest.
    pub body: String,
}

/// What a prompt has beside its words.
#[derive(Default)]
pub struct Wording {
    /// The title of the run, unless it is the first line of the prompt.
    pub title: Option<String>,
    /// The place and the problems that the editor knows; follows the words.
    pub added: String,
    /// Follows `added`, once it is read.
    pub attached: AttachedBlocks,
    /// The comments on hunks that its text has.
    pub comments: Vec<HunkComment>,
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
        /// Whether this answer also consents to an unattended run.
        unattended: bool,
        reply: Option<Reply<AskRespondResult>>,
    },
    /// Wake-up: there may be an answer in the inbox.
    InboxChanged,
    /// A scan of the inbox has ended. `events` says whether the system reports later changes.
    InboxScanned {
        events: bool,
    },
    Cancel {
        run: Option<RunId>,
        /// Dropped when the session has handled the cancel.
        handled: oneshot::Sender<()>,
    },
    Wait {
        run: RunId,
        timeout_ms: u64,
        reply: Reply<WaitResult>,
    },
    Resume {
        from: Option<ReplayFrom>,
        /// Whether the client also consents to an unattended run.
        unattended: bool,
        reply: Reply<ResumePoint>,
    },
    /// A client asks for a page of items.
    Items {
        before: Option<u64>,
        limit: usize,
        reply: Reply<PublishedPage>,
    },
    /// A client asks for the transcript, which grows from then on.
    Transcript {
        reply: Reply<RenderedFile>,
    },
    /// The transcript is written, up to the last update that was published when a client asked for it.
    Transcribed(Result<(TranscriptFile, RenderedFile), String>),
    Asks {
        reply: Reply<Vec<AskView>>,
    },
    /// A client asks for the conversation to be compacted now.
    Compact {
        reply: Reply<SessionCompactResult>,
    },
    /// Returns the session as it is now.
    Snapshot {
        reply: Reply<Box<Session>>,
    },
    /// The hunks that are under review.
    Hunks {
        reply: Reply<Vec<ReviewHunk>>,
    },
    /// The text of a document shows hunks in another state than the log.
    Found {
        change_set: ChangeSetId,
        hunks: Vec<String>,
        is_in_text: bool,
        by: ReviewedBy,
    },
    /// Hunks of a change that nobody has decided about are in a commit.
    Committed {
        change_set: ChangeSetId,
        hunks: Vec<String>,
        /// What is checked out.
        on: Option<String>,
    },
    /// The client reports that files changed.
    FilesChanged,
    /// What a look at the files that the model knows has found, and the moment that it belongs to.
    LookedOutside {
        look: Option<OutsideLook>,
        moment: (u32, u64),
    },
    /// A decision about single hunks.
    Decide {
        decision: Box<ReviewDecideParams>,
        reply: Reply<Vec<DecidedHunk>>,
    },
    /// What it would mean to take runs back.
    Preview {
        params: PreviewParams,
        reply: Reply<RewindPreview>,
    },
    /// A decision to take back what a preview has shown.
    Comment {
        comment: HunkComment,
        reply: Reply<ReviewCommentResult>,
    },
    /// Returns the comments that wait, each with what it is about now.
    Comments {
        reply: Reply<Vec<RoundComment>>,
    },
    Rewind {
        params: Box<RewindParams>,
        reply: Reply<Vec<DecidedHunk>>,
    },
    /// A blob that a step must save before it continues could not be written.
    BlobFailed {
        why: String,
    },
    /// A report of a step.
    Report {
        step: Step,
        report: Report,
    },
    /// Returns how many files are still on their way, as soon as it is none; else when what an earlier process left has
    /// had its time.
    Settled {
        reply: Reply<usize>,
    },
    /// Messages have waited long enough for what an earlier process left on its way.
    HeldLongEnough,
    /// Text of a step waits in its stream.
    Streamed {
        step: Step,
    },
    /// A partial reply of a step should be recorded; it waits in its stream.
    Partial {
        step: Step,
    },
    /// The time of a wake-up has come.
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
    /// A mode, a model or a level for the session, already checked against the settings.
    Choose {
        chosen: JudgedChoice,
        reply: Reply<SetConfigOptionResult>,
    },
    /// A title of the user's own.
    Rename {
        title: String,
        reply: Reply<Done>,
    },
    /// Asks when everything that came before is in the log for good.
    Written {
        reply: Reply<()>,
    },
    /// Cancels the open run, publishes its end, and removes the session from memory.
    Close,
    /// Removes the session from memory and deletes it, unless a run is open.
    Delete {
        reply: Reply<()>,
    },
    Stop,
}

impl Message {
    /// Refuses a request that no session will handle.
    pub fn refuse(self, refused: ClientError) {
        fn answer<T>(reply: Reply<T>, refused: ClientError) {
            // The send fails only if the client has withdrawn its request.
            let _ = reply.send(Err(refused));
        }
        match self {
            Message::Prompt { reply, .. } => answer(reply, refused),
            // No session has judged it, so its file stays for the next task of the session.
            Message::Answer { surface: INBOX, .. } => {}
            Message::Answer { reply, .. } => {
                if let Some(reply) = reply {
                    answer(reply, refused);
                }
            }
            Message::Wait { reply, .. } => answer(reply, refused),
            Message::Resume { reply, .. } => answer(reply, refused),
            Message::Items { reply, .. } => answer(reply, refused),
            Message::Transcript { reply } => answer(reply, refused),
            Message::Asks { reply } => answer(reply, refused),
            Message::Compact { reply } => answer(reply, refused),
            Message::Snapshot { reply } => answer(reply, refused),
            Message::Hunks { reply } => answer(reply, refused),
            Message::Decide { reply, .. } => answer(reply, refused),
            Message::Preview { reply, .. } => answer(reply, refused),
            Message::Rewind { reply, .. } => answer(reply, refused),
            Message::Comment { reply, .. } => answer(reply, refused),
            Message::Comments { reply } => answer(reply, refused),
            Message::Settled { reply } => answer(reply, refused),
            Message::Choose { reply, .. } => answer(reply, refused),
            Message::Rename { reply, .. } => answer(reply, refused),
            Message::Written { reply } => answer(reply, refused),
            Message::Delete { reply } => answer(reply, refused),
            Message::Found { .. }
            | Message::Committed { .. }
            | Message::FilesChanged
            | Message::HeldLongEnough
            | Message::LookedOutside { .. }
            | Message::InboxChanged
            | Message::InboxScanned { .. }
            | Message::Cancel { .. }
            | Message::Transcribed(_)
            | Message::BlobFailed { .. }
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
/// The channel itself has no bound, but its messages have. Requests: `MAX_QUEUE`. Answers and
/// cancels: as many as the connection has calls in flight. Of each running step: its start, one
/// `Streamed`, one `Partial`, its report and its end. One `InboxChanged` and one `InboxScanned`. One
/// `Synced`, one `HeldLongEnough`, one `WaitOver` for each request that waits, one `Transcribed`, one `Close` or `Stop`.
#[derive(Clone)]
pub struct Mailbox {
    sender: mpsc::UnboundedSender<Message>,
    /// Requests that are posted and not yet handled; at most `MAX_QUEUE`.
    waiting: Arc<AtomicUsize>,
}

impl Mailbox {
    pub fn new() -> (Self, Mail) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self { sender, waiting: Arc::default() }, receiver)
    }

    /// Whether both are the mailbox of one session in memory.
    pub fn is_same(&self, other: &Self) -> bool {
        self.sender.same_channel(&other.sender)
    }

    /// Posts a message that is always admitted: a report, an answer, a cancel or a stop.
    pub fn post(&self, message: Message) {
        // If the session is gone, the message is dropped; a dropped reply slot wakes its owner.
        let _ = self.sender.send(message);
    }

    /// Posts a request and returns the receiver of its reply, or `Overloaded` if too many wait already.
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

    /// Posts a request that is always admitted, and returns the receiver of its reply.
    pub fn admit<T>(
        &self,
        message: impl FnOnce(Reply<T>) -> Message,
    ) -> oneshot::Receiver<Result<T, ClientError>> {
        let (reply, receiver) = oneshot::channel();
        self.post(message(reply));
        receiver
    }

    /// Posts a cancel, which is never refused. The receiver ends when the session has handled it. The
    /// caller waits for that, so that a client has no more cancels in the queue than calls in flight.
    pub fn cancel(&self, run: Option<RunId>) -> oneshot::Receiver<()> {
        let (handled, receiver) = oneshot::channel();
        self.post(Message::Cancel { run, handled });
        receiver
    }

    /// Notes that the session has handled one request.
    pub fn note_handled(&self) {
        self.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A refusal would remove its file, although no session has judged it.
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
