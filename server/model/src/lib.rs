//! The models: one attempt of one call, over whichever wire the provider speaks.
//!
//! Decides no retry and keeps no conversation; a call is all it knows. Nothing
//! connects, and no TLS is set up, before the first call.

mod anthropic;
mod draft;
mod failure;
mod frozen;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod http;
mod openai_chat;
mod openai_responses;
mod page;
mod parts;
mod reading;
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

use frozen::FrozenRequest;
pub use scripted::script_fault;

/// The way to every model. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Models {
    inner: Arc<Inner>,
}

struct Inner {
    clients: http::Clients,
    chat: FrozenRequest,
    messages: FrozenRequest,
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

    /// Returns the models with the environment that `variables` gives, which gets the name of one:
    /// keys, and the proxies to providers.
    pub fn with_keys(variables: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Models {
        Models {
            inner: Arc::new(Inner {
                clients: http::Clients::new(Box::new(variables)),
                chat: FrozenRequest::default(),
                messages: FrozenRequest::default(),
                responses: openai_responses::ResponsesWire::default(),
            }),
        }
    }

    /// Says who starts the programs that print keys; without, none can be started.
    pub fn start_key_commands_by(&self, run: http::RunCommand) {
        // Who said it first keeps it: a program is started the same way everywhere.
        let _ = self.inner.clients.keys.run.set(run);
    }

    /// Makes attempt number `attempt`, from one, at getting a reply.
    ///
    /// `on_delta` gets the pieces while they stream; it must return at once.
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
        // An answer that comes whole begins when it is complete.
        let patient = ModelLimits { first_byte_ms: limits.first_byte_ms.max(limits.total_ms / 3), ..*limits };
        let limits = if request.whole { &patient } else { limits };
        match provider.wire {
            Wire::Scripted => {
                scripted::call(scripted::path_of(provider)?, limits, request, attempt, on_delta).await
            }
            Wire::OpenaiChat => {
                let post = http::Post::to(provider, limits, &request.model)?;
                openai_chat::call(&inner.clients, &inner.chat, post, request, &mut on_delta).await
            }
            Wire::AnthropicMessages => {
                let post = http::Post::to(provider, limits, &request.model)?;
                anthropic::call(&inner.clients, &inner.messages, post, request, &mut on_delta).await
            }
            Wire::OpenaiResponses => {
                let post = || http::Post::to(provider, limits, &request.model);
                inner.responses.call(&inner.clients, post, request, &mut on_delta).await
            }
        }
    }
}

#[cfg(test)]
mod tests;

// The fuzz targets name us as everybody else does, also where they are part of our own tests.
#[cfg(test)]
extern crate self as adjutant_model;
