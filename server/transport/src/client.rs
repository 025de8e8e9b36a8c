//! The client end of a connection. A headless client uses the same frames, envelopes, queue and writer
//! as the server.
//!
//! Routes nothing, and never answers a well-formed request itself.

use std::io::{self, Read, Write};
use std::ops::ControlFlow;

use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::envelope::{Envelope, RequestId};
use super::out::{self, Out};
use super::reader::{self, Arrival, Framing};
use super::{tap, writer};

/// The most messages that wait for the receiver; then reading pauses.
const INCOMING_ROOM: usize = 256;

/// A request or notification of the server.
#[derive(Debug)]
pub enum Incoming {
    /// Expects an answer: `Out::respond` or `Out::refuse`.
    Request {
        /// Its id.
        id: RequestId,
        /// Its method.
        method: String,
        /// Its params, not parsed.
        params: Option<Box<RawValue>>,
    },
    /// Expects no answer.
    Notification {
        /// Its method.
        method: String,
        /// Its params, not parsed.
        params: Option<Box<RawValue>>,
    },
}

/// Connects to a server. The caller must drain the receiver, because replies wait for the messages before
/// them. The receiver ends with the connection. The connection ends when the last `Out` is dropped or
/// closed.
pub fn connect(
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
) -> io::Result<(Out, mpsc::Receiver<Incoming>)> {
    let (out, frames) = out::queue();
    let (tx, rx) = mpsc::channel(INCOMING_ROOM);
    writer::spawn(Framing::Headers, writer, frames, out.downgrade(), tap::nothing)?;
    let weak = out.downgrade();
    let started = reader::spawn(Framing::Headers, reader, tap::nothing, move |arrival| {
        let incoming = match arrival {
            Arrival::Message(Envelope::Request { id, method, params }, _) => {
                Incoming::Request { id, method, params }
            }
            Arrival::Message(Envelope::Notification { method, params }, _) => {
                Incoming::Notification { method, params }
            }
            Arrival::Message(Envelope::Response { id, reply }, _) => {
                weak.limits.resolve(id.as_ref(), reply);
                return ControlFlow::Continue(());
            }
            Arrival::Refused(refusal) => {
                if let Some(out) = weak.upgrade().filter(Out::has_answer_room) {
                    out.refuse(refusal.id.as_ref(), refusal.code, &refusal.message);
                }
                return ControlFlow::Continue(());
            }
            Arrival::Ended(_) => {
                match weak.upgrade() {
                    Some(out) => out.close(),
                    None => weak.limits.close(),
                }
                return ControlFlow::Break(());
            }
        };
        // The receiver may be dropped; the client may still wait for replies.
        let _ = tx.blocking_send(incoming);
        ControlFlow::Continue(())
    });
    if let Err(error) = started {
        out.close();
        return Err(error);
    }
    Ok((out, rx))
}
