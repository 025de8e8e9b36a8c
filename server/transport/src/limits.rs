//! The limits of a connection and the callers that wait for it: room in the queue, Adjutant's requests
//! without a reply, and the end.
//!
//! Counts room and resolves replies. Never sends, and never holds a lock while it waits.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::{Notify, Semaphore, oneshot, watch};

use super::envelope::{ErrorBody, IdKey, RequestId};

/// The most outgoing notifications and requests that wait for the writer.
pub const FRAME_ROOM: usize = 1024;
/// The most bytes of such frames that wait for the writer.
pub const BYTE_ROOM: usize = 16 * 1024 * 1024;
/// The most answers that wait for the writer; then intake pauses.
pub const ANSWER_ROOM: usize = 10_000;
/// The most bytes of answers that wait for the writer; then intake pauses.
pub const ANSWER_BYTE_ROOM: usize = 64 * 1024 * 1024;
/// The most requests of Adjutant that wait for a reply.
pub const PENDING_LIMIT: usize = 4096;

/// Why a message was not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The queue is full; the caller may merge its messages and try later.
    #[error("send: the client does not read fast enough")]
    Full,
    /// The connection has ended.
    #[error("send: the connection is closed")]
    Closed,
    /// The body cannot be serialised, or is too large.
    #[error("send: {0}")]
    Unsendable(String),
}

/// Why a request of Adjutant got no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReplyError {
    /// The peer answered with an error.
    #[error("get a result: the client answered {code}: \"{message}\"")]
    Refused {
        /// The code of the error.
        code: i64,
        /// The text of the error.
        message: String,
    },
    /// The connection ended first.
    #[error("get a result: the connection is closed")]
    ConnectionClosed,
    /// The request was not sent.
    #[error("send the request: {0}")]
    Unsendable(String),
}

pub(super) type Reply = Result<Box<RawValue>, ReplyError>;

/// The room that a frame occupies until the writer has written it.
#[derive(Debug)]
pub(super) enum Permit {
    /// One frame and this many bytes.
    Produced(u32),
    /// One answer.
    Answer,
    /// Nothing.
    Free,
    /// Nothing; the writer stops before this frame.
    Close,
}

/// One body in the queue of the writer.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) body: Vec<u8>,
    pub(super) permit: Permit,
}

/// Requests of Adjutant without a reply; `None` after the end of the connection.
type PendingReplies = Option<HashMap<i32, oneshot::Sender<Reply>>>;

/// The room, the pending replies and the end of a connection; all its parts share it.
#[derive(Debug)]
pub(super) struct ConnectionLimits {
    pub(super) frames: Semaphore,
    pub(super) bytes: Semaphore,
    answers: AtomicUsize,
    answer_bytes: AtomicUsize,
    pub(super) answers_written: Notify,
    /// Notified when the next answer is queued.
    pub(super) after_answer: Mutex<Vec<oneshot::Sender<()>>>,
    next_id: AtomicU32,
    pending: Mutex<PendingReplies>,
    pub(super) closed: watch::Sender<bool>,
}

impl ConnectionLimits {
    pub(super) fn new() -> Self {
        ConnectionLimits {
            frames: Semaphore::new(FRAME_ROOM),
            bytes: Semaphore::new(BYTE_ROOM),
            answers: AtomicUsize::new(0),
            answer_bytes: AtomicUsize::new(0),
            answers_written: Notify::new(),
            after_answer: Mutex::default(),
            next_id: AtomicU32::new(0),
            pending: Mutex::new(Some(HashMap::new())),
            closed: watch::Sender::new(false),
        }
    }

    fn pending(&self) -> MutexGuard<'_, PendingReplies> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a free id for a request and registers the sender of its reply.
    pub(super) fn open(&self, tx: oneshot::Sender<Reply>) -> Result<i32, SendError> {
        let mut pending = self.pending();
        let pending = pending.as_mut().ok_or(SendError::Closed)?;
        if pending.len() >= PENDING_LIMIT {
            let why = format!("{PENDING_LIMIT} requests already wait for the client");
            return Err(SendError::Unsendable(why));
        }
        loop {
            // Ids of LSP have 31 bits; after the last id, the first is used again.
            let id = self.next_id.fetch_add(1, Ordering::Relaxed) % 0x7fff_ffff + 1;
            if let Entry::Vacant(vacant) = pending.entry(id.cast_signed()) {
                let id = *vacant.key();
                vacant.insert(tx);
                return Ok(id);
            }
        }
    }

    /// Removes a pending request. Returns `false` if it was no longer pending.
    pub(super) fn remove_pending(&self, id: i32) -> bool {
        let removed = self.pending().as_mut().and_then(|map| map.remove(&id));
        removed.is_some()
    }

    /// Returns how many requests of Adjutant wait for a reply.
    pub(super) fn open_requests(&self) -> usize {
        self.pending().as_ref().map_or(0, HashMap::len)
    }

    /// Returns how many notifications and requests wait for the writer.
    pub(super) fn queued(&self) -> usize {
        FRAME_ROOM.saturating_sub(self.frames.available_permits())
    }

    /// Counts an answer that is about to be queued.
    pub(super) fn count_answer(&self, bytes: usize) {
        self.answers.fetch_add(1, Ordering::AcqRel);
        self.answer_bytes.fetch_add(bytes, Ordering::AcqRel);
    }

    /// Notifies the callers that waited for an answer to be queued.
    pub(super) fn answer_queued(&self) {
        let mut waiting = self.after_answer.lock().unwrap_or_else(PoisonError::into_inner);
        for queued in waiting.drain(..) {
            // The receiver may be dropped meanwhile.
            let _ = queued.send(());
        }
    }

    /// Whether there is room for another answer; without it, the peer does not read its answers.
    pub(super) fn has_answer_room(&self) -> bool {
        self.answers.load(Ordering::Acquire) < ANSWER_ROOM
            && self.answer_bytes.load(Ordering::Acquire) < ANSWER_BYTE_ROOM
    }

    /// Ends the connection: every wait for room or for a reply fails.
    pub(super) fn close(&self) {
        self.frames.close();
        self.bytes.close();
        let pending = self.pending().take();
        drop(pending);
        self.closed.send_replace(true);
    }

    /// Releases the room of frames that were written.
    pub(super) fn release(&self, permits: impl Iterator<Item = (usize, Permit)>) {
        let (mut frames, mut bytes, mut answers, mut answer_bytes) = (0, 0, 0, 0);
        for (length, permit) in permits {
            match permit {
                Permit::Produced(size) => {
                    frames += 1;
                    bytes += size as usize;
                }
                Permit::Answer => {
                    answers += 1;
                    answer_bytes += length;
                }
                Permit::Free | Permit::Close => {}
            }
        }
        self.frames.add_permits(frames);
        self.bytes.add_permits(bytes);
        if answers > 0 {
            self.answers.fetch_sub(answers, Ordering::AcqRel);
            self.answer_bytes.fetch_sub(answer_bytes, Ordering::AcqRel);
            self.answers_written.notify_one();
        }
    }

    /// Passes a response of the peer to the caller that waits for it.
    pub(super) fn resolve(&self, id: Option<&RequestId>, reply: Result<Box<RawValue>, ErrorBody>) {
        let sender = match id.map(RequestId::key) {
            Some(IdKey::Number(id)) => {
                i32::try_from(*id).ok().and_then(|id| self.pending().as_mut()?.remove(&id))
            }
            _ => None,
        };
        let Some(sender) = sender else {
            tracing::debug!("ignored a response to no open request");
            return;
        };
        let reply = reply.map_err(|error| ReplyError::Refused { code: error.code, message: error.message });
        // The caller may have dropped its future in this moment.
        let _ = sender.send(reply);
    }
}
