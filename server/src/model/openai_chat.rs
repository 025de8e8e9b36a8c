//! OpenAI Chat Completions: one request out, one streamed reply in.
//!
//! Knows the wire format and nothing of HTTP's limits, retries or tools.

mod assembly;
mod body;
mod chunk;

use adjutant_core::prompt::{Delta, ModelRequest, Reply};
use adjutant_core::retry::{CallFailure, FailureClass};

use self::assembly::{Assembly, State};
pub(super) use self::body::Frozen;
use super::failure::failure;
use super::http::{Clients, Eaten, Post};
use super::sse::{Decoder, MAX_EVENT_BYTES, SseError};

/// Makes one call and returns the complete reply.
pub(super) async fn call(
    clients: &Clients,
    frozen: &Frozen,
    post: Post<'_>,
    request: &ModelRequest,
    on_delta: impl FnMut(Delta) + Send,
) -> Result<Reply, CallFailure> {
    let body = body::write(request, frozen, &post)?;
    let assembly = Assembly::new(request, post.asked, post.redactor.clone());
    let mut answer = post.send(clients, "chat/completions", body).await?;
    let whole = answer.is_whole().then(Vec::new);
    let mut reader = Reader { decoder: Decoder::default(), assembly, on_delta, payload: 0, whole };
    let pumped = answer.pump(|piece| reader.eat(piece)).await;
    reader.finish(pumped)
}

/// Turns the bytes of one answer into a reply.
struct Reader<'a, F> {
    decoder: Decoder,
    assembly: Assembly<'a>,
    on_delta: F,
    /// How much content the decoder had seen at the last piece.
    payload: u64,
    /// The body so far of an answer that is not a stream: servers that do not
    /// know streaming send all at once.
    whole: Option<Vec<u8>>,
}

impl<F: FnMut(Delta)> Reader<'_, F> {
    fn eat(&mut self, piece: &[u8]) -> Result<Eaten, CallFailure> {
        if let Some(whole) = &mut self.whole {
            if whole.len() + piece.len() > MAX_EVENT_BYTES {
                return Err(SseError::TooLong { limit: MAX_EVENT_BYTES }.into());
            }
            whole.extend_from_slice(piece);
            return Ok(Eaten::Progress);
        }
        let (assembly, on_delta) = (&mut self.assembly, &mut self.on_delta);
        self.decoder.feed(piece, &mut |event| assembly.take(&event, on_delta))?;
        let before = std::mem::replace(&mut self.payload, self.decoder.payload());
        Ok(match self.assembly.state() {
            State::Done => Eaten::Done,
            State::Finished => Eaten::Finishing,
            State::Open if self.payload > before => Eaten::Progress,
            State::Open => Eaten::KeepAlive,
        })
    }

    fn finish(mut self, pumped: Result<(), CallFailure>) -> Result<Reply, CallFailure> {
        // What fails after a finish reason cannot take the reply away again.
        if self.assembly.state() == State::Open {
            pumped?;
            let (assembly, on_delta) = (&mut self.assembly, &mut self.on_delta);
            match self.whole {
                Some(whole) => assembly.take_whole(&whole, on_delta)?,
                // Some servers leave out the blank line after their last event.
                None => self.decoder.finish(&mut |event| assembly.take(&event, on_delta)).map(drop)?,
            }
        }
        self.assembly.complete()
    }
}

impl From<SseError> for CallFailure {
    fn from(error: SseError) -> CallFailure {
        let class = match error {
            // The same request would only bring the same flood again.
            SseError::TooLong { .. } => FailureClass::Total,
            SseError::NotUtf8 => FailureClass::Broken,
        };
        failure(class, format!("could not {error}"))
    }
}

#[cfg(test)]
mod tests;
