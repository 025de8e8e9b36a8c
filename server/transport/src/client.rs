//! The other end of a connection: what a headless client needs to speak to
//! the server over the same frames, envelopes, queue and writer.
//!
//! It routes nothing and never answers a well-formed request by itself.

use std::io::{self, Read, Write};
use std::ops::ControlFlow;

use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::envelope::{Envelope, RequestId};
use super::out::{self, Out};
use super::reader::{self, Arrival, Framing};
use super::{tap, writer};

/// Most messages that wait for the receiver; then reading pauses.
const INCOMING_ROOM: usize = 256;

/// What the server says without being asked.
#[derive(Debug)]
pub enum Incoming {
    /// Wants an answer: `Out::respond` or `Out::refuse`.
    Request {
        /// Its id.
        id: RequestId,
        /// Its method.
        method: String,
        /// Its params, unread.
        params: Option<Box<RawValue>>,
    },
    /// Wants none.
    Notification {
        /// Its method.
        method: String,
        /// Its params, unread.
        params: Option<Box<RawValue>>,
    },
}

/// Connects to a server. The receiver must be drained, since replies come
/// behind what is not; it ends with the connection. The connection ends when
/// the last `Out` is dropped or closed.
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
                weak.gauge.resolve(id.as_ref(), reply);
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
                    None => weak.gauge.close(),
                }
                return ControlFlow::Break(());
            }
        };
        // Replies still matter to a client that listens to nothing else.
        let _ = tx.blocking_send(incoming);
        ControlFlow::Continue(())
    });
    if let Err(error) = started {
        out.close();
        return Err(error);
    }
    Ok((out, rx))
}
