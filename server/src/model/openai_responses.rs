//! OpenAI Responses: one request out, one streamed reply in.
//!
//! Knows the wire format and nothing of HTTP's limits, retries or tools. Never
//! asks the provider to keep a conversation: all of it is sent each time.

mod assembly;
mod body;
mod event;
mod item;
mod kept;
mod reasoning;

use adjutant_core::prompt::{ModelRequest, Reply};
use adjutant_core::retry::CallFailure;

use self::assembly::ResponsesAssembly;
use super::frozen::Frozen;
use super::http::{Clients, Post};
use super::reading::{self, OnDelta};

/// Makes one call and returns the complete reply.
pub(super) async fn call(
    clients: &Clients,
    frozen: &Frozen,
    post: Post<'_>,
    request: &ModelRequest,
    on_delta: &mut OnDelta<'_>,
) -> Result<Reply, CallFailure> {
    let body = body::write(request, frozen, &post)?;
    let assembly = ResponsesAssembly::new(request, post.asked, post.redactor.clone());
    reading::call(clients, post, ("responses", body), assembly, on_delta).await
}
