//! Calls a model: makes one attempt of one call, over the wire of the provider.
//!
//! Start with `openai_chat`, the simplest wire, and `reading`, which all wires over HTTP use.
//!
//! Never retries, and never decides anything about a session. Never connects or sets up TLS before the first call.

mod anthropic;
mod draft;
mod failure;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod http;
mod openai_chat;
mod openai_responses;
mod page;
mod parts;
mod reading;
mod request_cache;
mod scripted;
mod secret;
mod sendable;
pub mod sse;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod unsent;
mod waits;

use std::sync::Arc;

use adjutant_core::config::{ModelLimits, Provider, Wire};
use adjutant_core::machine::retry::CallFailure;
use adjutant_core::prompt::{Delta, ModelRequest, Reply};

pub use http::usable_address;
use request_cache::RequestCache;
pub use scripted::script_fault;

/// Calls any model. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Models {
    inner: Arc<Inner>,
}

struct Inner {
    clients: http::Clients,
    chat: RequestCache,
    messages: RequestCache,
    responses: openai_responses::ResponsesWire,
}

impl Default for Models {
    fn default() -> Self {
        Models::new()
    }
}

impl Models {
    /// Returns the models with the environment of the process.
    pub fn new() -> Models {
        Models::with_keys(|name| std::env::var(name).ok())
    }

    /// Returns the models with another environment, from which keys and proxies are read.
    ///
    /// `variables` gets the name of a variable and returns its value.
    pub fn with_keys(variables: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Models {
        Models {
            inner: Arc::new(Inner {
                clients: http::Clients::new(Box::new(variables)),
                chat: RequestCache::default(),
                messages: RequestCache::default(),
                responses: openai_responses::ResponsesWire::default(),
            }),
        }
    }

    /// Sets the function that runs the commands that print keys. Without it, these commands cannot run.
    pub fn start_key_commands_by(&self, run: http::RunCommand) {
        // The first function stays, because every caller sets the same one.
        let _ = self.inner.clients.keys.run.set(run);
    }

    /// Makes one attempt to get a reply. The first `attempt` is one.
    ///
    /// `on_delta` gets the deltas while they stream. It must return immediately.
    /// Dropping the future closes the connection.
    pub async fn call(
        &self,
        provider: &Provider,
        limits: &ModelLimits,
        request: &ModelRequest,
        attempt: u32,
        mut on_delta: impl FnMut(Delta) + Send,
    ) -> Result<Reply, CallFailure> {
        let inner = &*self.inner;
        // An answer without streaming has its first byte only when it is complete.
        let patient = ModelLimits { first_byte_ms: limits.first_byte_ms.max(limits.total_ms / 3), ..*limits };
        let limits = if request.whole { &patient } else { limits };
        match provider.wire {
            Wire::Scripted => {
                scripted::call(scripted::path_of(provider)?, limits, request, attempt, on_delta).await
            }
            Wire::OpenaiChat => {
                let post = http::Post::to(provider, limits, &request.model)?;
                openai_chat::attempt(&inner.clients, &inner.chat, post, request, &mut on_delta).await
            }
            Wire::AnthropicMessages => {
                let post = http::Post::to(provider, limits, &request.model)?;
                anthropic::attempt(&inner.clients, &inner.messages, post, request, &mut on_delta).await
            }
            Wire::OpenaiResponses => {
                let post = || http::Post::to(provider, limits, &request.model);
                inner.responses.attempt(&inner.clients, post, request, &mut on_delta).await
            }
        }
    }
}

#[cfg(test)]
mod tests;

// The fuzz targets are also part of this crate's tests, and import it by its name.
#[cfg(test)]
extern crate self as adjutant_model;
