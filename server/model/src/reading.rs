//! One attempt over any wire: the request out, its answer read event by event.
//!
//! Knows neither a wire format nor HTTP's limits, and retries nothing.

use adjutant_core::machine::retry::{CallFailure, FailureClass};
use adjutant_core::prompt::{Delta, Reply};

use super::http::{BodyProgress, Clients, Post};
use super::sse::{Decoder, Event, MAX_EVENT_BYTES, SseError};

/// Who hears the pieces of a reply while they stream.
pub(super) type OnDelta<'a> = dyn FnMut(Delta) + Send + 'a;

/// How far a reply has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyState {
    Open,
    /// It is complete; the usage may follow.
    Finished,
    /// Its last event came; whatever follows is not ours.
    Done,
}

/// An event that is cut into pieces counts as content only from this size on, for before its end
/// nobody knows whether it only keeps the connection open. No keep-alive of any wire is as long.
const CONTENT_BYTES: usize = 1 << 10;

/// Puts one reply together from what a wire sends.
pub(super) trait Assembly {
    /// Whether an event says nothing but that the connection is open; such a one is not taken (G4).
    fn keeps_alive(event: &Event<'_>) -> bool {
        event.data.trim().is_empty()
    }

    /// Takes one event of a stream.
    fn take(&mut self, event: &Event<'_>, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure>;

    /// Takes an answer that came all at once.
    fn take_whole(&mut self, body: &str, on_delta: &mut OnDelta<'_>) -> Result<(), CallFailure>;

    fn state(&self) -> ReplyState;

    /// Returns the reply if it is complete and sound (G3).
    fn complete(self) -> Result<Reply, CallFailure>;

    /// Returns the failure of a stream that makes no sense.
    fn broken(&self, what: &str) -> CallFailure;
}

/// Sends `body` to `path` and returns the complete reply.
pub(super) async fn call<A: Assembly>(
    clients: &Clients,
    post: Post<'_>,
    (path, body): (&str, Vec<u8>),
    assembly: A,
    on_delta: &mut OnDelta<'_>,
) -> Result<Reply, CallFailure> {
    let mut answer = post.send(clients, path, body).await?;
    let whole = answer.is_whole().then(Vec::new);
    let mut reader = Reader { decoder: Decoder::default(), assembly, on_delta, pending: 0, whole };
    let pumped = answer.pump(|piece| reader.eat(piece)).await;
    reader.finish(pumped)
}

/// Reads the body of an answer that came in these pieces, and nothing of HTTP.
#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn read_in_pieces<A: Assembly>(
    assembly: A,
    pieces: &[&[u8]],
    whole: bool,
    on_delta: &mut OnDelta<'_>,
) -> Result<Reply, CallFailure> {
    let whole = whole.then(Vec::new);
    let mut reader = Reader { decoder: Decoder::default(), assembly, on_delta, pending: 0, whole };
    let mut pumped = Ok(());
    for piece in pieces {
        match reader.eat(piece) {
            Ok(BodyProgress::Done) => break,
            Ok(_) => {}
            Err(failed) => {
                pumped = Err(failed);
                break;
            }
        }
    }
    reader.finish(pumped)
}

/// Turns the bytes of one answer into a reply.
struct Reader<'a, 'b, A> {
    decoder: Decoder,
    assembly: A,
    on_delta: &'a mut OnDelta<'b>,
    /// How much of an unfinished event there was after the last piece.
    pending: usize,
    /// The body so far of an answer that is not a stream: servers that do not
    /// know streaming send all at once.
    whole: Option<Vec<u8>>,
}

impl<A: Assembly> Reader<'_, '_, A> {
    fn eat(&mut self, piece: &[u8]) -> Result<BodyProgress, CallFailure> {
        if let Some(whole) = &mut self.whole {
            if whole.len() + piece.len() > MAX_EVENT_BYTES {
                return Err(unreadable(&SseError::TooLong { limit: MAX_EVENT_BYTES }, &self.assembly));
            }
            whole.extend_from_slice(piece);
            return Ok(BodyProgress::Progress);
        }
        let (assembly, on_delta) = (&mut self.assembly, &mut *self.on_delta);
        let mut heard = false;
        let fed = self.decoder.feed(piece, &mut |event| {
            heard |= hear(assembly, &event, on_delta)?;
            Ok(())
        });
        fed.map_err(|stop: Stop| stop.of(&self.assembly))?;
        let before = std::mem::replace(&mut self.pending, self.decoder.pending());
        let grows = self.pending > before.max(CONTENT_BYTES);
        Ok(match self.assembly.state() {
            ReplyState::Done => BodyProgress::Done,
            ReplyState::Finished => BodyProgress::Finishing,
            ReplyState::Open if heard || grows => BodyProgress::Progress,
            ReplyState::Open => BodyProgress::KeepAlive,
        })
    }

    fn finish(mut self, pumped: Result<(), CallFailure>) -> Result<Reply, CallFailure> {
        // What fails after a finish reason cannot take the reply away again.
        if self.assembly.state() == ReplyState::Open {
            pumped?;
            let (assembly, on_delta) = (&mut self.assembly, &mut *self.on_delta);
            match self.whole {
                Some(whole) => match std::str::from_utf8(&whole) {
                    Ok(text) => assembly.take_whole(text, on_delta)?,
                    Err(_) => return Err(assembly.broken("its answer is not valid UTF-8")),
                },
                // Some servers leave out the blank line after their last event.
                None => {
                    let take = &mut |event: Event<'_>| hear(assembly, &event, on_delta).map(drop);
                    self.decoder.finish(take).map_err(|stop| stop.of(&self.assembly))?;
                }
            }
        }
        self.assembly.complete()
    }
}

/// Hands on an event, unless it only keeps the connection open; returns whether it was one to take.
fn hear<A: Assembly>(assembly: &mut A, event: &Event<'_>, on_delta: &mut OnDelta<'_>) -> Result<bool, Stop> {
    if A::keeps_alive(event) {
        return Ok(false);
    }
    assembly.take(event, on_delta).map_err(Stop::Call)?;
    Ok(true)
}

/// Why a stream is read no further.
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
    fn of(self, assembly: &impl Assembly) -> CallFailure {
        match self {
            Stop::Call(failed) => failed,
            Stop::Stream(error) => unreadable(&error, assembly),
        }
    }
}

/// Returns the failure of a stream that cannot be decoded.
fn unreadable(error: &SseError, assembly: &impl Assembly) -> CallFailure {
    let failed = assembly.broken(&format!("could not {error}"));
    match error {
        // The same request would only bring the same flood again.
        SseError::TooLong { .. } => CallFailure { class: FailureClass::Total, ..failed },
        SseError::NotUtf8 => failed,
    }
}

#[cfg(test)]
mod tests;
