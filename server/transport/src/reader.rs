//! The thread that reads a stream: bytes to frames to envelopes.
//!
//! It hands everything on in arrival order, bad messages as the refusal to
//! answer. It never answers by itself and cannot be joined: it may sit in a
//! read for ever, and does not keep the process alive.

use std::io::{self, ErrorKind, Read};
use std::ops::ControlFlow;
use std::thread;

use super::envelope::{self, Envelope, Refusal, code};
use super::framing::{Decoder, FrameError};
use super::lines::LineDecoder;
use super::tap::MessageTap;

/// Size of one read.
const READ_STEP: usize = 64 * 1024;

/// What came in.
#[derive(Debug)]
pub(super) enum Arrival {
    /// A message, and how many bytes it was.
    Message(Envelope, usize),
    /// Something to be answered with an error.
    Refused(Refusal),
    /// Nothing follows.
    Ended(InputEnd),
}

/// How the incoming stream ended.
#[derive(Debug)]
pub(super) enum InputEnd {
    /// At its end, or by a failure to read.
    Closed,
    /// In the middle, since the next frame cannot be found.
    Broken(FrameError),
}

/// How messages are told apart on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// A header says how long each is, as in LSP.
    Headers,
    /// Each is one line.
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
    seen: MessageTap,
    mut deliver: impl FnMut(Arrival) -> ControlFlow<()> + Send + 'static,
) -> io::Result<()> {
    let name = "transport-reader".to_owned();
    thread::Builder::new().name(name).spawn(move || {
        if let ControlFlow::Continue(end) = run(framing, reader, seen, &mut deliver) {
            // Either way this thread is done.
            let _ = deliver(Arrival::Ended(end));
        }
    })?;
    Ok(())
}

fn run(
    framing: Framing,
    mut reader: impl Read,
    seen: MessageTap,
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
                    seen(&body);
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
