//! OpenAI Responses: one request out, one streamed reply in.
//!
//! Knows the wire format and nothing of HTTP's limits, retries or tools. Never
//! asks the provider to keep a conversation: all of it is sent each time.

mod assembly;
mod body;
mod event;
mod item;
mod opaque;
mod reasoning;
mod refused;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use adjutant_core::machine::retry::CallFailure;
use adjutant_core::prompt::{ModelRequest, Reply};

pub(crate) use self::assembly::ResponsesAssembly;
use self::refused::RejectedFields;
use super::frozen::FrozenRequest;
use super::http::{Clients, Post};
use super::reading::{self, OnDelta};

/// What this process knows for this wire.
#[derive(Default)]
pub(super) struct ResponsesWire {
    frozen: FrozenRequest,
    /// What each provider refused to hear of, by its name.
    refused: Mutex<BTreeMap<String, RejectedFields>>,
}

impl ResponsesWire {
    /// Makes one call and returns the complete reply.
    ///
    /// What a provider refuses to hear of reasoning is left out from then on, and this request is
    /// sent once more without it: a session must not end for what it can do without.
    pub async fn call<'p>(
        &self,
        clients: &Clients,
        post: impl Fn() -> Result<Post<'p>, CallFailure>,
        request: &ModelRequest,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<Reply, CallFailure> {
        loop {
            let post = post()?;
            let provider = post.asked.provider;
            let refused = self.refused().get(provider).copied().unwrap_or_default();
            let body = body::write(request, &self.frozen, &post, refused)?;
            let assembly = ResponsesAssembly::new(request, post.asked, post.redactor.clone());
            let result = reading::call(clients, post, ("responses", body), assembly, on_delta).await;
            match result.as_ref().err().and_then(|failed| refused.and(failed)) {
                // Each turn of the loop knows of one refusal more, and there are three of them.
                Some(more) => drop(self.refused().insert(provider.to_owned(), more)),
                None => return result,
            }
        }
    }

    fn refused(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, RejectedFields>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
