//! Reads the bytes of an answer with the reader and assembly of a wire, without a request.
//!
//! For tests and fuzz targets only. Never uses the network.

use std::sync::Arc;

use adjutant_core::config::Wire;
use adjutant_core::machine::retry::CallFailure;
use adjutant_core::prompt::{ModelRequest, Reply};

use super::anthropic::MessagesAssembly;
use super::failure::Endpoint;
use super::openai_chat::ChatAssembly;
use super::openai_responses::ResponsesAssembly;
use super::reading::{Assembly, OnDelta, read_in_pieces};

const ASKED: Endpoint<'static> = Endpoint { provider: "acme", model: "m1", key: None };

/// Reads the body of an answer from these pieces. It is not a stream if `request.whole` is set.
pub(crate) fn read(
    wire: Wire,
    request: &ModelRequest,
    pieces: &[&[u8]],
    on_delta: &mut OnDelta<'_>,
) -> Result<Reply, CallFailure> {
    match wire {
        Wire::AnthropicMessages => {
            run(MessagesAssembly::new(request, ASKED, Arc::default()), request, pieces, on_delta)
        }
        Wire::OpenaiResponses => {
            run(ResponsesAssembly::new(request, ASKED, Arc::default()), request, pieces, on_delta)
        }
        // A script has no stream of its own.
        Wire::OpenaiChat | Wire::Scripted => {
            run(ChatAssembly::new(request, ASKED, Arc::default()), request, pieces, on_delta)
        }
    }
}

fn run<A: Assembly>(
    assembly: A,
    request: &ModelRequest,
    pieces: &[&[u8]],
    on_delta: &mut OnDelta<'_>,
) -> Result<Reply, CallFailure> {
    read_in_pieces(assembly, pieces, request.whole, on_delta)
}
