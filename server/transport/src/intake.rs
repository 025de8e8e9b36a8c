//! What lies between the reader thread and the dispatcher: messages made
//! ready for the router, in arrival order, bounded in number and in bytes.
//!
//! It decides nothing and drops nothing but a cancellation that names no id:
//! when it is full, the reader waits, and with it the pipe of the client.
//! Replies have no weight, for what fills it may be waiting for them.

use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::envelope::{self, Envelope, ErrorBody, IdKey, Refusal, RequestId};
use super::reader::{Arrival, InputEnd};

/// Most messages that wait for the dispatcher.
pub(super) const MESSAGE_ROOM: usize = 256;
/// Most bytes of messages that are not yet done with; one message may be over.
const BYTE_ROOM: usize = 128 * 1024 * 1024;

/// One arrival, made ready for the router.
#[derive(Debug)]
pub(super) enum Inbound {
    Request { id: RequestId, call: RawCall },
    Notification(RawCall),
    Response { id: Option<RequestId>, reply: Result<Box<RawValue>, ErrorBody> },
    Cancel(IdKey),
    Refused(Refusal),
    Ended(InputEnd),
}

/// A method with its params as a tree, or why there is no tree.
#[derive(Debug)]
pub(super) struct RawCall {
    pub(super) method: String,
    pub(super) params: Result<Option<Value>, String>,
    pub(super) weight: IntakePermit,
}

/// The bytes of messages that are not yet done with.
#[derive(Debug, Default)]
struct IntakeLimit {
    load: Mutex<usize>,
    lighter: Condvar,
}

/// The part of the load that one message is; dropped with the message.
#[derive(Debug)]
pub(super) struct IntakePermit {
    scale: Arc<IntakeLimit>,
    bytes: usize,
}

impl IntakeLimit {
    /// Waits until there is room. A message on its own always passes.
    fn acquire(self: &Arc<Self>, bytes: usize) -> IntakePermit {
        let load = self.load.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |load: &mut usize| *load > 0 && load.saturating_add(bytes) > BYTE_ROOM;
        let mut load = self.lighter.wait_while(load, full).unwrap_or_else(PoisonError::into_inner);
        *load += bytes;
        IntakePermit { scale: Arc::clone(self), bytes }
    }
}

impl Drop for IntakePermit {
    fn drop(&mut self) {
        let mut load = self.scale.load.lock().unwrap_or_else(PoisonError::into_inner);
        *load = load.saturating_sub(self.bytes);
        drop(load);
        self.scale.lighter.notify_all();
    }
}

/// Returns what the reader thread calls with each arrival, and the end at
/// which the dispatcher takes them.
pub(super) fn channel() -> (impl FnMut(Arrival) -> ControlFlow<()> + Send + 'static, mpsc::Receiver<Inbound>)
{
    let (tx, rx) = mpsc::channel(MESSAGE_ROOM);
    let scale = Arc::new(IntakeLimit::default());
    let deliver = move |arrival| {
        let inbound = match arrival {
            Arrival::Message(message, bytes) => match ready(message, bytes, &scale) {
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

fn ready(message: Envelope, bytes: usize, scale: &Arc<IntakeLimit>) -> Option<Inbound> {
    let call = |method, params: Option<Box<RawValue>>| {
        let params = params.map(|raw| envelope::tree(&raw)).transpose();
        RawCall { method, params: params.map_err(|error| error.to_string()), weight: scale.acquire(bytes) }
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
