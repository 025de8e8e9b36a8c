//! The OpenAI Responses wire: sends one request, reads one reply.
//!
//! `body` writes the request, `event` parses the events of the stream, `item` finds the output item that an event
//! belongs to, and `assembly` builds the reply. `opaque` keeps the items that the next request must send back.
//!
//! Never asks the provider to store a conversation: each request has all of it. Never retries a failed call, except
//! without a field that the provider rejected.

mod assembly;
mod body;
mod event;
mod item;
mod opaque;
mod reasoning;
mod rejected;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use adjutant_core::machine::retry::CallFailure;
use adjutant_core::prompt::{ModelRequest, Reply};

pub(crate) use self::assembly::ResponsesAssembly;
use self::rejected::RejectedFields;
use super::http::{Clients, Post};
use super::reading::{self, OnDelta};
use super::request_cache::RequestCache;

/// The state of this wire in this process.
#[derive(Default)]
pub(super) struct ResponsesWire {
    cache: RequestCache,
    /// The fields that each provider rejected, by the provider's name.
    rejected: Mutex<BTreeMap<String, RejectedFields>>,
}

impl ResponsesWire {
    /// Makes one attempt and returns the complete reply.
    ///
    /// If the provider rejects an optional field, sends the request again without it, and omits the field from then
    /// on. A session must not end because of a field that it does not need.
    pub async fn attempt<'p>(
        &self,
        clients: &Clients,
        post: impl Fn() -> Result<Post<'p>, CallFailure>,
        request: &ModelRequest,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<Reply, CallFailure> {
        loop {
            let post = post()?;
            let provider = post.endpoint.provider;
            let rejected = self.rejected().get(provider).copied().unwrap_or_default();
            let body = body::write(request, &self.cache, &post, rejected)?;
            let assembly = ResponsesAssembly::new(request, post.endpoint, post.redactor.clone());
            let result = reading::call(clients, post, "responses", body, assembly, on_delta).await;
            match result.as_ref().err().and_then(|failed| rejected.with_failure(failed)) {
                // Each turn of the loop adds at least one of the four fields, so the loop ends.
                Some(more) => drop(self.rejected().insert(provider.to_owned(), more)),
                None => return result,
            }
        }
    }

    fn rejected(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, RejectedFields>> {
        self.rejected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
