//! Complete calls over real sockets, against a model double on loopback.
//!
//! Each scenario runs on every wire of [`Dialect::ALL`]. Features of one wire are tested in the file of that wire.

mod chat;
mod corpus;
mod failures;
mod floods;
mod images;
mod messages;
mod mixes;
mod proxies;
mod replies;
mod responses;
mod secure;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use adjutant_core::config::{KeySource, Reach};
use adjutant_core::machine::retry::FailureClass;
use adjutant_core::prompt::{GenerationSettings, ModelMessage, ToolSpec};
use adjutant_testkit::model::{Dialect, ModelServer, Reply as Answer};

use super::*;

/// A generous deadline for tests of liveness.
const DEADLINE: Duration = Duration::from_secs(10);

pub(super) const LIMITS: ModelLimits =
    ModelLimits { first_byte_ms: 10_000, idle_ms: 10_000, total_ms: 10_000, silence_ms: 10_000 };

fn wire_of(dialect: Dialect) -> Wire {
    let known = Wire::ALL.into_iter().find(|known| known.name() == dialect.wire());
    known.expect("the double speaks wires of the settings")
}

/// A provider that speaks Chat Completions.
pub(super) fn provider(base_url: &str) -> Provider {
    provider_on(Dialect::Chat, base_url)
}

pub(super) fn provider_on(wire: Dialect, base_url: &str) -> Provider {
    Provider {
        name: "acme".to_owned(),
        wire: wire_of(wire),
        base_url: Some(base_url.to_owned()),
        key: Some(KeySource::Variable("ACME_KEY".to_owned())),
        script: None,
        headers: BTreeMap::new(),
        reach: Reach::default(),
        context_window: None,
        max_output_tokens: None,
        temperature: None,
        tools: true,
        images: None,
        edit_tool: None,
    }
}

pub(super) fn request(prompt: &str) -> ModelRequest {
    let tool = ToolSpec {
        name: "read_file".into(),
        description: "Reads.".into(),
        parameters: serde_json::json!({"type": "object"}),
        free_form: false,
    };
    ModelRequest {
        model: "m1".to_owned(),
        system: "Be brief.".into(),
        tools: Arc::new([tool]),
        messages: vec![ModelMessage::user(prompt)],
        max_output_tokens: None,
        free_form: false,
        generation_settings: GenerationSettings::default(),
        whole: false,
        images: Default::default(),
        reminder: None,
        is_summary: false,
        replaced_replies: 0,
    }
}

fn models() -> Models {
    Models::with_keys(|name| (name == "ACME_KEY").then(|| "topsecret-key".to_owned()))
}

/// The result of one call, and its deltas.
struct Called {
    result: Result<Reply, CallFailure>,
    deltas: Vec<Delta>,
}

async fn call(models: &Models, provider: &Provider, limits: &ModelLimits) -> Called {
    let deltas = Mutex::new(Vec::new());
    let request = request("hello");
    let on_delta = |delta| deltas.lock().unwrap().push(delta);
    let result = tokio::time::timeout(DEADLINE, models.call(provider, limits, &request, 1, on_delta)).await;
    Called {
        result: result.expect("the call ends within its deadline"),
        deltas: deltas.into_inner().unwrap(),
    }
}

/// Calls `server` once, over `wire`.
async fn call_once(wire: Dialect, server: &ModelServer) -> Called {
    call(&models(), &provider_on(wire, &server.base_url()), &LIMITS).await
}

/// The same stream in one write, so that it has no random pause.
fn at_once(wire: Dialect, answer: &Answer) -> Answer {
    Answer::status(200).header("content-type", "text/event-stream").body(answer.bytes_in(wire))
}

/// Waits on another thread, because the runtime must run to close the connection.
async fn wait_for_closed(server: Arc<ModelServer>) {
    tokio::task::spawn_blocking(move || server.wait_for_closed(1)).await.unwrap();
}

impl Called {
    fn class(&self) -> FailureClass {
        self.failure().class
    }

    fn failure(&self) -> &CallFailure {
        self.result.as_ref().expect_err("the call fails")
    }

    fn reply(&self) -> &Reply {
        self.result.as_ref().expect("the call succeeds")
    }

    fn streamed_text(&self) -> String {
        let texts = self.deltas.iter().map(|delta| match delta {
            Delta::Text(text) => text.as_str(),
            _ => "",
        });
        texts.collect()
    }
}
