//! The OpenAI Chat Completions wire, which most compatible servers also support: sends one request, reads one reply.
//!
//! `body` writes the request, `chunk` parses the events of the stream, and `assembly` builds the reply from them.
//!
//! `reading` and `http` have the limits of time and size. Never retries and never runs a tool.

mod assembly;
mod body;
mod chunk;

use adjutant_core::machine::retry::CallFailure;
use adjutant_core::prompt::{ModelRequest, Reply};

pub(crate) use self::assembly::ChatAssembly;
use super::http::{Clients, Post};
use super::reading::{self, OnDelta};
use super::request_cache::RequestCache;

/// Makes one attempt and returns the complete reply.
pub(super) async fn attempt(
    clients: &Clients,
    cache: &RequestCache,
    post: Post<'_>,
    request: &ModelRequest,
    on_delta: &mut OnDelta<'_>,
) -> Result<Reply, CallFailure> {
    let body = body::write(request, cache, &post)?;
    let assembly = ChatAssembly::new(request, post.endpoint, post.redactor.clone());
    reading::call(clients, post, "chat/completions", body, assembly, on_delta).await
}
