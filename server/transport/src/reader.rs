//! The thread that reads a stream: cuts bytes into frames and parses them as envelopes.
//!
//! It passes everything on in the order of arrival; an invalid message becomes a refusal to answer. It
//! cannot be joined, because a read may block for ever; it does not keep the process alive. Never answers
//! itself.

use std::io::{self, ErrorKind, Read};
use std::ops::ControlFlow;
use std::thread;

use super::envelope::{self, Envelope, Refusal, code};
use super::framing::{Decoder, FrameError};
use super::lines::LineDecoder;
use super::tap::MessageTap;

/// The size of one read, in bytes.
const READ_STEP: usize = 64 * 1024;

/// One arrival on the stream.
#[derive(Debug)]
pub(super) enum Arrival {
    /// A message and its length in bytes.
    Message(Envelope, usize),
    /// An invalid message, which is answered with an error.
    Refused(Refusal),
    /// The stream has ended.
    Ended(InputEnd),
}

/// How the incoming stream ended.
#[derive(Debug)]
pub(super) enum InputEnd {
    /// At its end, or by a read error.
    Closed,
    /// By a frame error after which the next frame cannot be found.
    Broken(FrameError),
}

/// How messages are separated on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// A header before each message has its length, as in LSP.
    Headers,
    /// Each message is one line.
    Lines,
}

enum Frames {
    Headers(Decoder),
    Lines(LineDecoder),
}

impl Frames {
    fn new(framing: Framing) -> Self {
        match framing {
            Framing::Headers => Frames::Headers(Decoder::new()),
            Framing::Lines => Frames::Lines(LineDecoder::new()),
        }
    }

    fn feed(&mut self, input: &mut &[u8]) -> Option<Result<Vec<u8>, FrameError>> {
        match self {
            Frames::Headers(decoder) => decoder.feed(input),
            Frames::Lines(decoder) => decoder.feed(input),
        }
    }

    fn finish(&self) -> Result<(), FrameError> {
        match self {
            Frames::Headers(decoder) => decoder.finish(),
            Frames::Lines(decoder) => decoder.finish(),
        }
    }
}

/// Starts the reader; it stops at the end of the stream or at `Break`.
pub(super) fn spawn(
    framing: Framing,
    reader: impl Read + Send + 'static,
    tap: MessageTap,
    mut deliver: impl FnMut(Arrival) -> ControlFlow<()> + Send + 'static,
) -> io::Result<()> {
    let name = "transport-reader".to_owned();
    thread::Builder::new().name(name).spawn(move || {
        if let ControlFlow::Continue(end) = run(framing, reader, tap, &mut deliver) {
            // The thread ends, whatever `deliver` returns.
            let _ = deliver(Arrival::Ended(end));
        }
    })?;
    Ok(())
}

fn run(
    framing: Framing,
    mut reader: impl Read,
    tap: MessageTap,
    deliver: &mut impl FnMut(Arrival) -> ControlFlow<()>,
) -> ControlFlow<(), InputEnd> {
    let mut decoder = Frames::new(framing);
    let mut chunk = vec![0; READ_STEP];
    loop {
        let mut input = match reader.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => chunk.get(..count).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => {
                tracing::warn!(%error, "could not read from the client");
                break;
            }
        };
        while let Some(frame) = decoder.feed(&mut input) {
            let arrival = match frame {
                Ok(body) => {
                    tap(&body);
                    match envelope::parse(&body) {
                        Ok(message) => Arrival::Message(message, body.len()),
                        Err(refusal) => Arrival::Refused(refusal),
                    }
                }
                Err(error) => {
                    let text = format!("failed to {error}");
                    deliver(Arrival::Refused(Refusal::anonymous(code::PARSE_ERROR, text)))?;
                    if error.ends_connection() {
                        return ControlFlow::Continue(InputEnd::Broken(error));
                    }
                    continue;
                }
            };
            deliver(arrival)?;
        }
    }
    if let Err(error) = decoder.finish() {
        tracing::warn!(%error, "the stream of the client ended early");
    }
    ControlFlow::Continue(InputEnd::Closed)
}
