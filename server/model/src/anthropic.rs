//! Anthropic Messages: one request out, one streamed reply in.
//!
//! Knows the wire format and nothing of HTTP's limits, retries or tools.

mod assembly;
mod block;
mod body;
mod event;
mod thinking;

use adjutant_core::config::Provider;
use adjutant_core::machine::retry::CallFailure;
use adjutant_core::prompt::{ModelRequest, Reply};

pub(crate) use self::assembly::MessagesAssembly;
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
    let body = body::write(request, frozen, post.provider)?;
    let assembly = MessagesAssembly::new(request, post.asked, post.redactor.clone());
    let path = path_below(post.provider);
    reading::call(clients, post, (path, body), assembly, on_delta).await
}

/// Anthropic's own address is often written without its version, for its own programs add that.
fn path_below(provider: &Provider) -> &'static str {
    let base = provider.base_url.as_deref().unwrap_or_default().trim_end_matches('/');
    if base.ends_with("://api.anthropic.com") { "v1/messages" } else { "messages" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::provider;

    #[test]
    fn s85_the_address_works_with_its_version_and_without() {
        let check = |base: &str, expected| assert_eq!(path_below(&provider(base)), expected, "below {base}");
        check("https://api.anthropic.com", "v1/messages");
        check("https://api.anthropic.com/", "v1/messages");
        check("https://api.anthropic.com/v1", "messages");
        check("https://gateway.example/anthropic/v1/", "messages");
    }
}
