//! One attempt over any wire: sends the request and passes each event of the answer to the wire's assembly.
//!
//! Never depends on a wire format, and never retries.

use adjutant_core::machine::retry::{CallFailure, FailureClass};
use adjutant_core::prompt::{Delta, Reply};

use super::http::{BodyProgress, Clients, Post};
use super::sse::{Decoder, Event, MAX_EVENT_BYTES, SseError};

/// Receives the deltas of a reply while it streams.
pub(super) type OnDelta<'a> = dyn FnMut(Delta) + Send + 'a;

/// How complete a reply is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyState {
    Open,
    /// The reply is complete. The usage may follow.
    Complete,
    /// The last event came. Everything after it is ignored.
    Closed,
}

/// An incomplete event counts as progress only from this size on, in bytes.
///
/// Until an event is complete, it may turn out to be a keep-alive. No wire has a keep-alive of this size.
const CONTENT_BYTES: usize = 1 << 10;

/// Builds one reply from the events of a wire.
pub(super) trait Assembly {
    /// Whether an event only keeps the connection open. Such an event is not added (G4).
    fn is_keep_alive(event: &Event<'_>) -> bool {
        event.data.trim().is_empty()
    }

    /// Adds one event of a stream.
    fn add_event(&mut self, event: &Event<'_>, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure>;

    /// Adds the body of an answer without streaming.
    fn add_whole(&mut self, body: &str, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure>;

    fn state(&self) -> ReplyState;

    /// Returns the reply. Fails if it is incomplete or invalid (G3).
    fn complete(self) -> Result<Reply, CallFailure>;

    /// Returns the failure for an invalid stream.
    fn broken(&self, what: &str) -> CallFailure;
}

/// Sends `body` to `path` and returns the complete reply.
pub(super) async fn call<A: Assembly>(
    clients: &Clients,
    post: Post<'_>,
    path: &str,
    body: Vec<u8>,
    assembly: A,
    on_delta: &mut OnDelta<'_>,
) -> Result<Reply, CallFailure> {
    let mut answer = post.send(clients, path, body).await?;
    let whole = answer.is_whole().then(Vec::new);
    let mut reader = Reader { decoder: Decoder::default(), assembly, on_delta, pending: 0, whole };
    let received = answer.read_body(|piece| reader.read_piece(piece)).await;
    reader.finish(received)
}

/// Reads the body of an answer from these pieces, without HTTP.
#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn read_in_pieces<A: Assembly>(
    assembly: A,
    pieces: &[&[u8]],
    whole: bool,
    on_delta: &mut OnDelta<'_>,
) -> Result<Reply, CallFailure> {
    let whole = whole.then(Vec::new);
    let mut reader = Reader { decoder: Decoder::default(), assembly, on_delta, pending: 0, whole };
    let mut received = Ok(());
    for piece in pieces {
        match reader.read_piece(piece) {
            Ok(BodyProgress::Done) => break,
            Ok(_) => {}
            Err(failed) => {
                received = Err(failed);
                break;
            }
        }
    }
    reader.finish(received)
}

/// Turns the bytes of one answer into a reply.
struct Reader<'a, 'b, A> {
    decoder: Decoder,
    assembly: A,
    on_delta: &'a mut OnDelta<'b>,
    /// The size of the incomplete event after the last piece, in bytes.
    pending: usize,
    /// The body so far of an answer without streaming; `None` for a stream. Some servers do not support streaming.
    whole: Option<Vec<u8>>,
}

impl<A: Assembly> Reader<'_, '_, A> {
    fn read_piece(&mut self, piece: &[u8]) -> Result<BodyProgress, CallFailure> {
        if let Some(whole) = &mut self.whole {
            if whole.len() + piece.len() > MAX_EVENT_BYTES {
                return Err(unreadable(&SseError::TooLong { limit: MAX_EVENT_BYTES }, &self.assembly));
            }
            whole.extend_from_slice(piece);
            return Ok(BodyProgress::Progress);
        }
        let (assembly, on_delta) = (&mut self.assembly, &mut *self.on_delta);
        let mut progressed = false;
        let fed = self.decoder.feed(piece, &mut |event| {
            progressed |= add_event(assembly, &event, on_delta)?;
            Ok(())
        });
        fed.map_err(|stop: Stop| stop.into_failure(&self.assembly))?;
        let before = std::mem::replace(&mut self.pending, self.decoder.pending());
        let grows = self.pending > before.max(CONTENT_BYTES);
        Ok(match self.assembly.state() {
            ReplyState::Closed => BodyProgress::Done,
            ReplyState::Complete => BodyProgress::Finishing,
            ReplyState::Open if progressed || grows => BodyProgress::Progress,
            ReplyState::Open => BodyProgress::KeepAlive,
        })
    }

    fn finish(mut self, received: Result<(), CallFailure>) -> Result<Reply, CallFailure> {
        // A failure after the finish reason does not matter: the reply is complete.
        if self.assembly.state() == ReplyState::Open {
            received?;
            let (assembly, on_delta) = (&mut self.assembly, &mut *self.on_delta);
            match self.whole {
                Some(whole) => match std::str::from_utf8(&whole) {
                    Ok(text) => assembly.add_whole(text, on_delta)?,
                    Err(_) => return Err(assembly.broken("its answer is not valid UTF-8")),
                },
                // Some servers leave out the blank line after the last event.
                None => {
                    let sink = &mut |event: Event<'_>| add_event(assembly, &event, on_delta).map(drop);
                    self.decoder.finish(sink).map_err(|stop| stop.into_failure(&self.assembly))?;
                }
            }
        }
        self.assembly.complete()
    }
}

/// Adds an event, unless it only keeps the connection open. Returns whether it was added.
fn add_event<A: Assembly>(
    assembly: &mut A,
    event: &Event<'_>,
    on_delta: &mut OnDelta<'_>,
) -> Result<bool, Stop> {
    if A::is_keep_alive(event) {
        return Ok(false);
    }
    assembly.add_event(event, on_delta).map_err(Stop::Call)?;
    Ok(true)
}

/// Why the rest of a stream is not read.
enum Stop {
    Stream(SseError),
    Call(CallFailure),
}

impl From<SseError> for Stop {
    fn from(error: SseError) -> Stop {
        Stop::Stream(error)
    }
}

impl Stop {
    fn into_failure(self, assembly: &impl Assembly) -> CallFailure {
        match self {
            Stop::Call(failed) => failed,
            Stop::Stream(error) => unreadable(&error, assembly),
        }
    }
}

/// Returns the failure for a stream that cannot be decoded.
fn unreadable(error: &SseError, assembly: &impl Assembly) -> CallFailure {
    let failed = assembly.broken(&format!("could not {error}"));
    match error {
        // A retry would get the same oversized event.
        SseError::TooLong { .. } => CallFailure { class: FailureClass::Total, ..failed },
        SseError::NotUtf8 => failed,
    }
}

#[cfg(test)]
mod tests;
