//! OpenAI Chat Completions: one request out, one streamed reply in.
//!
//! Knows the wire format and nothing of HTTP's limits, retries or tools.

mod assembly;
mod body;
mod chunk;

use adjutant_core::machine::retry::CallFailure;
use adjutant_core::prompt::{ModelRequest, Reply};

pub(crate) use self::assembly::ChatAssembly;
use super::frozen::FrozenRequest;
use super::http::{Clients, Post};
use super::reading::{self, OnDelta};

/// Makes one call and returns the complete reply.
pub(super) async fn call(
    clients: &Clients,
    frozen: &FrozenRequest,
    post: Post<'_>,
    request: &ModelRequest,
    on_delta: &mut OnDelta<'_>,
) -> Result<Reply, CallFailure> {
    let body = body::write(request, frozen, &post)?;
    let assembly = ChatAssembly::new(request, post.asked, post.redactor.clone());
    reading::call(clients, post, ("chat/completions", body), assembly, on_delta).await
}
