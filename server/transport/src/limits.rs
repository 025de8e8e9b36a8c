//! What bounds a connection and what waits on it: room in the queue, requests
//! of ours without a reply, and the end.
//!
//! It counts and resolves; it never sends, and its lock is never held while
//! anything is waited for.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::{Notify, Semaphore, oneshot, watch};

use super::envelope::{ErrorBody, IdKey, RequestId};

/// Most frames of ours that wait for the writer.
pub const FRAME_ROOM: usize = 1024;
/// Most bytes of ours that wait for the writer.
pub const BYTE_ROOM: usize = 16 * 1024 * 1024;
/// Most answers that wait for the writer before intake pauses.
pub const ANSWER_ROOM: usize = 10_000;
/// Most bytes of answers that wait for the writer before intake pauses.
pub const ANSWER_BYTE_ROOM: usize = 64 * 1024 * 1024;
/// Most requests of ours that wait for a reply.
pub const PENDING_LIMIT: usize = 4096;

/// Why something was not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The queue is full; merge and try later.
    #[error("send: the client does not read fast enough")]
    Full,
    /// The connection is over.
    #[error("send: the connection is closed")]
    Closed,
    /// The body cannot be written as a message.
    #[error("send: {0}")]
    Unsendable(String),
}

/// Why a request of ours got no result.
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
    /// The request never left.
    #[error("send the request: {0}")]
    Unsendable(String),
}

pub(super) type Reply = Result<Box<RawValue>, ReplyError>;

/// What the writer gives back when a frame is written.
#[derive(Debug)]
pub(super) enum Permit {
    /// One frame and so many bytes of room.
    Produced(u32),
    /// One answer.
    Answer,
    /// Nothing.
    Free,
    /// Nothing, and the writer stops before this frame.
    Close,
}

/// One body on its way to the writer.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) body: Vec<u8>,
    pub(super) toll: Permit,
}

/// Requests of ours without a reply; `None` once the connection is over.
type PendingReplies = Option<HashMap<i32, oneshot::Sender<Reply>>>;

/// Room, pending replies and the end of a connection, shared by all its parts.
#[derive(Debug)]
pub(super) struct ConnectionLimits {
    pub(super) frames: Semaphore,
    pub(super) bytes: Semaphore,
    answers: AtomicUsize,
    answer_bytes: AtomicUsize,
    pub(super) answers_written: Notify,
    /// Those who go on behind the next answer.
    pub(super) behind_answer: Mutex<Vec<oneshot::Sender<()>>>,
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
            behind_answer: Mutex::default(),
            next_id: AtomicU32::new(0),
            pending: Mutex::new(Some(HashMap::new())),
            closed: watch::Sender::new(false),
        }
    }

    fn pending(&self) -> MutexGuard<'_, PendingReplies> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an id for a request of ours.
    pub(super) fn open(&self, tx: oneshot::Sender<Reply>) -> Result<i32, SendError> {
        let mut pending = self.pending();
        let pending = pending.as_mut().ok_or(SendError::Closed)?;
        if pending.len() >= PENDING_LIMIT {
            let why = format!("{PENDING_LIMIT} requests already wait for the client");
            return Err(SendError::Unsendable(why));
        }
        loop {
            // Ids of LSP are 31 bits wide; after the last comes the first again.
            let id = self.next_id.fetch_add(1, Ordering::Relaxed) % 0x7fff_ffff + 1;
            if let Entry::Vacant(vacant) = pending.entry(id.cast_signed()) {
                let id = *vacant.key();
                vacant.insert(tx);
                return Ok(id);
            }
        }
    }

    /// Gives up a request of ours; `false` when it was no longer open.
    pub(super) fn give_up(&self, id: i32) -> bool {
        let given_up = self.pending().as_mut().and_then(|map| map.remove(&id));
        given_up.is_some()
    }

    /// Returns how many requests of ours wait for a reply.
    pub(super) fn open_requests(&self) -> usize {
        self.pending().as_ref().map_or(0, HashMap::len)
    }

    /// Returns how many frames of ours wait for the writer.
    pub(super) fn queued(&self) -> usize {
        FRAME_ROOM.saturating_sub(self.frames.available_permits())
    }

    /// Counts an answer that is about to be queued.
    pub(super) fn count_answer(&self, bytes: usize) {
        self.answers.fetch_add(1, Ordering::AcqRel);
        self.answer_bytes.fetch_add(bytes, Ordering::AcqRel);
    }

    /// Lets those go on who waited for an answer to be queued.
    pub(super) fn answer_queued(&self) {
        let mut waiting = self.behind_answer.lock().unwrap_or_else(PoisonError::into_inner);
        for go_on in waiting.drain(..) {
            // Who has gone meanwhile needs no word.
            let _ = go_on.send(());
        }
    }

    /// Says whether the peer reads its answers.
    pub(super) fn has_answer_room(&self) -> bool {
        self.answers.load(Ordering::Acquire) < ANSWER_ROOM
            && self.answer_bytes.load(Ordering::Acquire) < ANSWER_BYTE_ROOM
    }

    /// Ends the connection for everyone who waits for room or for a reply.
    pub(super) fn close(&self) {
        self.frames.close();
        self.bytes.close();
        let pending = self.pending().take();
        drop(pending);
        self.closed.send_replace(true);
    }

    /// Gives back the room of frames that were written or given up.
    pub(super) fn release(&self, tolls: impl Iterator<Item = (usize, Permit)>) {
        let (mut frames, mut bytes, mut answers, mut answer_bytes) = (0, 0, 0, 0);
        for (length, toll) in tolls {
            match toll {
                Permit::Produced(permits) => {
                    frames += 1;
                    bytes += permits as usize;
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

    /// Hands a response of the peer to whoever waits for it.
    pub(super) fn resolve(&self, id: Option<&RequestId>, reply: Result<Box<RawValue>, ErrorBody>) {
        let sender = match id.map(RequestId::key) {
            Some(IdKey::Number(id)) => {
                i32::try_from(*id).ok().and_then(|id| self.pending().as_mut()?.remove(&id))
            }
            _ => None,
        };
        let Some(sender) = sender else {
            tracing::debug!("passed over a response that answers no open request");
            return;
        };
        let reply = reply.map_err(|error| ReplyError::Refused { code: error.code, message: error.message });
        // The one who asked may have gone in this moment; that is no loss.
        let _ = sender.send(reply);
    }
}
