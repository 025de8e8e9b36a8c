//! The entries that wait for one client: in order, text merged, bounded in bytes.
//!
//! Never holds much more than its room: text is then withheld, and a lasting update
//! leaves a gap that is filled from the log when the client reads.

use std::collections::{HashMap, VecDeque};

use adjutant_protocol::SessionId;
use adjutant_protocol::ask::AskResolvedParams;
use adjutant_protocol::update::{SessionUpdateParams, Update};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::oneshot;

use super::super::backfill::{PastUpdates, UpdateCursor, UpdateRange};
use crate::transport::{Out, PendingReply};

/// Bytes of waiting updates, of all sessions. At the bound chunks are withheld and gaps are left.
pub const ROOM: usize = 16 * 1024 * 1024;
/// Text of one item that is merged for a slow client; more is withheld.
const MAX_MERGED: usize = 4 * 1024 * 1024;
/// Bytes that an entry costs in addition to its text.
const ENTRY: usize = 256;

/// Sends one request. Its params are serialized only then, because they may be large.
pub type SendRequest = Box<dyn FnOnce(&Out) -> PendingReply + Send>;

/// One entry of the queue.
pub enum QueueEntry {
    /// An update that no log has: a piece of text, which later chunks may merge into, or a state.
    Piece(Box<SessionUpdateParams>),
    /// A lasting update.
    Update(Box<RawValue>),
    /// An ask closed.
    Resolved(Box<RawValue>),
    /// Updates of this session that did not fit, to be read from the log.
    Gap(SessionId, UpdateRange),
    /// Past updates of this session that the client requested. It resumed the session, so it has no
    /// open ask whose end it still needs.
    Replay(SessionId, PastUpdates),
    /// Reports when everything before it has been handed to the writer.
    Marker(oneshot::Sender<()>),
    /// A request to the client. It is not sent if its caller has left.
    Request { send: SendRequest, pending: oneshot::Sender<PendingReply> },
    /// A notification in the words of the face.
    Notification { method: &'static str, params: Box<RawValue> },
    /// The place of an answer: later entries wait until it has been given.
    Barrier { reached: oneshot::Sender<()>, go_on: oneshot::Receiver<()> },
}

impl QueueEntry {
    fn bytes(&self) -> usize {
        match self {
            QueueEntry::Piece(params) => ENTRY + piece(&params.update).map_or(0, |(_, text)| text.len()),
            QueueEntry::Update(body)
            | QueueEntry::Resolved(body)
            | QueueEntry::Notification { params: body, .. } => ENTRY + body.get().len(),
            // Bounded by their callers, and by one gap for each session between two of these.
            QueueEntry::Gap(..)
            | QueueEntry::Replay(..)
            | QueueEntry::Marker(_)
            | QueueEntry::Request { .. }
            | QueueEntry::Barrier { .. } => 0,
        }
    }
}

/// The queue of one connection.
#[derive(Default)]
pub struct Queue {
    waiting: VecDeque<QueueEntry>,
    /// How many entries were ever removed. Added to an index it numbers an entry for good.
    removed: u64,
    /// The number of each session's gap that still grows.
    gaps: HashMap<SessionId, u64>,
    /// The last state of such a session that no log has; it follows the gap. A later lasting update replaces it.
    states: HashMap<SessionId, Box<SessionUpdateParams>>,
    bytes: usize,
    closed: bool,
}

impl Queue {
    /// Queues an update; text is merged into the piece before it. Returns whether it will be sent.
    pub fn update(&mut self, params: SessionUpdateParams) -> bool {
        if self.closed {
            return false;
        }
        if params.sub.is_some() {
            return self.ephemeral(params);
        }
        let cursor = UpdateCursor { seq: params.seq, behind: false };
        self.states.remove(&params.session_id);
        if self.leave_gap(&params.session_id, cursor) {
            return true;
        }
        self.put(to_raw_value(&params).map(QueueEntry::Update))
    }

    /// Queues the message that an ask closed, after the update `seq` about the same.
    pub fn resolved(&mut self, params: &AskResolvedParams, seq: u64) -> bool {
        if self.closed {
            return false;
        }
        if self.leave_gap(&params.session_id, UpdateCursor { seq, behind: true }) {
            return true;
        }
        self.put(to_raw_value(params).map(QueueEntry::Resolved))
    }

    /// Queues an update that no log has; there is one for each session that breaks.
    pub fn last_word(&mut self, params: &SessionUpdateParams) -> bool {
        !self.closed && self.put(to_raw_value(params).map(QueueEntry::Update))
    }

    /// Queues a notification. One that is not `lasting` is dropped when there is no room.
    pub fn notification(&mut self, method: &'static str, params: &Value, lasting: bool) -> bool {
        let room = lasting || self.bytes < ROOM;
        !self.closed
            && room
            && self.put(to_raw_value(params).map(|params| QueueEntry::Notification { method, params }))
    }

    /// Queues an entry that no later entry may pass.
    pub fn barrier(&mut self, waiting: QueueEntry) -> bool {
        if self.closed {
            return false;
        }
        self.gaps.clear();
        let states = std::mem::take(&mut self.states);
        states.into_values().for_each(|state| self.push(QueueEntry::Piece(state)));
        self.push(waiting);
        true
    }

    /// Removes and returns the first entry.
    pub fn pop(&mut self) -> Option<QueueEntry> {
        let next = self.waiting.pop_front()?;
        if let QueueEntry::Gap(session, _) = &next
            && self.gaps.get(session) == Some(&self.removed)
        {
            self.gaps.remove(session);
            if let Some(state) = self.states.remove(session) {
                // It gets the place of the gap, so that no other number changes.
                let state = QueueEntry::Piece(state);
                self.bytes += state.bytes();
                self.waiting.push_front(state);
                return Some(next);
            }
        }
        self.removed += 1;
        self.bytes = self.bytes.saturating_sub(next.bytes());
        Some(next)
    }

    pub fn first(&self) -> Option<&QueueEntry> {
        self.waiting.front()
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Accepts no more entries; those that wait are still sent.
    pub fn refuse(&mut self) -> bool {
        self.closed = true;
        true
    }

    /// Accepts no more entries and drops those that wait.
    pub fn close(&mut self) {
        self.closed = true;
        self.waiting = VecDeque::new();
        self.gaps = HashMap::new();
        self.states = HashMap::new();
        self.bytes = 0;
    }

    fn push(&mut self, waiting: QueueEntry) {
        self.bytes += waiting.bytes();
        self.waiting.push_back(waiting);
    }

    fn put(&mut self, waiting: serde_json::Result<QueueEntry>) -> bool {
        match waiting {
            Ok(waiting) => self.push(waiting),
            Err(error) => tracing::error!(%error, "an update cannot be written"),
        }
        true
    }

    fn ephemeral(&mut self, params: SessionUpdateParams) -> bool {
        if let Update::StateUpdate(_) = params.update {
            if self.gaps.contains_key(&params.session_id) {
                self.states.insert(params.session_id.clone(), Box::new(params));
            } else {
                // There are only a few in a turn; its numbered updates make a gap when there is no room.
                self.push(QueueEntry::Piece(Box::new(params)));
            }
            return true;
        }
        // After a gap the item may already be finished, and no piece may follow its item.
        if self.gaps.contains_key(&params.session_id) || self.bytes >= ROOM {
            return false;
        }
        if let Some(QueueEntry::Piece(last)) = self.waiting.back_mut()
            && let Some(added) = merge(last, &params)
        {
            self.bytes += added;
            return true;
        }
        self.push(QueueEntry::Piece(Box::new(params)));
        true
    }

    /// Leaves a gap if there is no room, and returns whether it did. A gap that still waits grows, so that
    /// the log is read once for all of it.
    fn leave_gap(&mut self, session: &SessionId, cursor: UpdateCursor) -> bool {
        let open = self.gaps.get(session).and_then(|place| place.checked_sub(self.removed));
        let open = open.and_then(|index| self.waiting.get_mut(usize::try_from(index).ok()?));
        if let Some(QueueEntry::Gap(_, range)) = open {
            range.last = range.last.max(cursor);
            return true;
        }
        if self.bytes < ROOM {
            return false;
        }
        tracing::info!(%session, seq = cursor.seq, "the client does not read; what follows comes from the log");
        self.gaps.insert(session.clone(), self.removed + self.waiting.len() as u64);
        self.push(QueueEntry::Gap(session.clone(), UpdateRange { first: cursor, last: cursor }));
        true
    }
}

/// Returns the item and text of a chunk.
pub fn piece(update: &Update) -> Option<(&str, &str)> {
    match update {
        Update::AgentMessageChunk { message_id, text } | Update::AgentThoughtChunk { message_id, text } => {
            Some((&message_id.0, text))
        }
        Update::ToolCallContentChunk { tool_call_id, text } => Some((&tool_call_id.0, text)),
        _ => None,
    }
}

fn piece_mut(update: &mut Update) -> Option<&mut String> {
    match update {
        Update::AgentMessageChunk { text, .. }
        | Update::AgentThoughtChunk { text, .. }
        | Update::ToolCallContentChunk { text, .. } => Some(text),
        _ => None,
    }
}

/// Adds a chunk to the one before it, if it is of the same item and kind; returns the bytes added.
fn merge(last: &mut SessionUpdateParams, next: &SessionUpdateParams) -> Option<usize> {
    let same = match (piece(&last.update), piece(&next.update)) {
        (Some((one, _)), Some((other, _))) => {
            one == other && last.update.kind() == next.update.kind() && last.session_id == next.session_id
        }
        _ => false,
    };
    if !same {
        return None;
    }
    if let (Some(text), Some((_, more))) = (piece_mut(&mut last.update), piece(&next.update))
        && text.len() < MAX_MERGED
    {
        text.push_str(more);
        return Some(more.len());
    }
    Some(0)
}

#[cfg(test)]
mod tests;
