//! The Anthropic Messages wire: sends one request, reads one reply.
//!
//! `body` writes the request with the parts of `block` and `thinking`, `event` parses the events of the stream, and
//! `assembly` builds the reply from them. `http` sets the headers of this wire and, with `reading`, the limits of time
//! and size.
//!
//! Never retries and never runs a tool.

mod assembly;
mod block;
mod body;
mod event;
mod thinking;

use adjutant_core::config::Provider;
use adjutant_core::machine::retry::CallFailure;
use adjutant_core::prompt::{ModelRequest, Reply};

pub(crate) use self::assembly::MessagesAssembly;
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
    let body = body::write(request, cache, post.provider)?;
    let assembly = MessagesAssembly::new(request, post.endpoint, post.redactor.clone());
    let path = path_below(post.provider);
    reading::call(clients, post, path, body, assembly, on_delta).await
}

/// Returns the path of the endpoint, relative to the base URL.
///
/// Anthropic's own programs add the version to the base URL, so users often leave it out.
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
