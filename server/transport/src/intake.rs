//! The queue between the reader thread and the dispatcher: parsed messages in the order of arrival,
//! bounded in number and in bytes.
//!
//! When it is full, the reader waits, and so does the pipe of the client. Replies need no permit, because
//! the calls that fill the queue may wait for them. Never drops a message, except a cancellation without
//! an id.

use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::envelope::{self, Envelope, ErrorBody, IdKey, Refusal, RequestId};
use super::reader::{Arrival, InputEnd};

/// The most messages that wait for the dispatcher.
pub(super) const MESSAGE_ROOM: usize = 256;
/// The most bytes of unfinished messages; a single message may be larger.
const BYTE_ROOM: usize = 128 * 1024 * 1024;

/// One arrival, parsed for the dispatcher.
#[derive(Debug)]
pub(super) enum Inbound {
    Request { id: RequestId, call: RawCall },
    Notification(RawCall),
    Response { id: Option<RequestId>, reply: Result<Box<RawValue>, ErrorBody> },
    Cancel(IdKey),
    Refused(Refusal),
    Ended(InputEnd),
}

/// A method with its params as a tree, or why they cannot be parsed.
#[derive(Debug)]
pub(super) struct RawCall {
    pub(super) method: String,
    pub(super) params: Result<Option<Value>, String>,
    pub(super) permit: IntakePermit,
}

/// The number of bytes of unfinished messages.
#[derive(Debug, Default)]
struct IntakeLimit {
    load: Mutex<usize>,
    released: Condvar,
}

/// The bytes of one message in the load. Dropping it releases them.
#[derive(Debug)]
pub(super) struct IntakePermit {
    limit: Arc<IntakeLimit>,
    bytes: usize,
}

impl IntakeLimit {
    /// Waits until there is room for a message. A single message always has room.
    fn acquire(self: &Arc<Self>, bytes: usize) -> IntakePermit {
        let load = self.load.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |load: &mut usize| *load > 0 && load.saturating_add(bytes) > BYTE_ROOM;
        let mut load = self.released.wait_while(load, full).unwrap_or_else(PoisonError::into_inner);
        *load += bytes;
        IntakePermit { limit: Arc::clone(self), bytes }
    }
}

impl Drop for IntakePermit {
    fn drop(&mut self) {
        let mut load = self.limit.load.lock().unwrap_or_else(PoisonError::into_inner);
        *load = load.saturating_sub(self.bytes);
        drop(load);
        self.limit.released.notify_all();
    }
}

/// Returns the function that the reader thread calls with each arrival, and the receiver of the
/// dispatcher.
pub(super) fn channel() -> (impl FnMut(Arrival) -> ControlFlow<()> + Send + 'static, mpsc::Receiver<Inbound>)
{
    let (tx, rx) = mpsc::channel(MESSAGE_ROOM);
    let limit = Arc::new(IntakeLimit::default());
    let deliver = move |arrival| {
        let inbound = match arrival {
            Arrival::Message(message, bytes) => match prepare(message, bytes, &limit) {
                Some(inbound) => inbound,
                None => return ControlFlow::Continue(()),
            },
            Arrival::Refused(refusal) => Inbound::Refused(refusal),
            Arrival::Ended(end) => Inbound::Ended(end),
        };
        match tx.blocking_send(inbound) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    };
    (deliver, rx)
}

fn prepare(message: Envelope, bytes: usize, limit: &Arc<IntakeLimit>) -> Option<Inbound> {
    let call = |method, params: Option<Box<RawValue>>| {
        let params = params.map(|raw| envelope::tree(&raw)).transpose();
        RawCall { method, params: params.map_err(|error| error.to_string()), permit: limit.acquire(bytes) }
    };
    Some(match message {
        Envelope::Request { id, method, params } => Inbound::Request { id, call: call(method, params) },
        Envelope::Notification { method, params } if method == "$/cancelRequest" => {
            let id = envelope::cancelled_id(params.as_deref())?;
            Inbound::Cancel(id.key().clone())
        }
        Envelope::Notification { method, params } => Inbound::Notification(call(method, params)),
        Envelope::Response { id, reply } => Inbound::Response { id, reply },
    })
}
