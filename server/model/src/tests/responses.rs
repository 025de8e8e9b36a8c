//! Tests of OpenAI Responses only: fields that a provider rejected are omitted.

use std::sync::Arc;

use adjutant_core::prompt::{Level, OpaqueItems};
use serde_json::{Value, json};

use super::*;

/// A request to a model that reasons, with encrypted reasoning in its history.
fn reasoning_request() -> ModelRequest {
    let items = [r#"{"type":"reasoning","encrypted_content":"gAAA"}"#, r#"{"type":"message","content":[]}"#];
    let kept = OpaqueItems {
        wire: Wire::OpenaiResponses,
        provider: "acme".to_owned(),
        model: "m1".to_owned(),
        items: items.map(str::to_owned).to_vec(),
    };
    let reply = Reply { text: "said".to_owned(), kept: Some(kept), ..Reply::default() };
    let mut request = request("hello");
    request.generation_settings.effort = Some(Level::Low);
    request.messages.push(ModelMessage::Assistant { reply: Arc::new(reply) });
    request
}

/// Calls twice. The first answer is `refusal`. Returns the bodies of the requests.
async fn sent_after(refusal: &str) -> Vec<Value> {
    let refusal = Answer::status(400).body(json!({"error": {"message": refusal}}).to_string());
    let server = ModelServer::start([refusal, Answer::text("one"), Answer::text("two")]);
    let provider = provider_on(Dialect::Responses, &server.base_url());
    let (models, request) = (models(), reasoning_request());
    for expected in ["one", "two"] {
        let reply = models.call(&provider, &LIMITS, &request, 1, |_| {}).await.unwrap();
        assert_eq!(reply.text, expected);
    }
    server.requests().iter().map(|request| request.json()).collect()
}

#[tokio::test]
async fn s83_sealed_reasoning_that_is_refused_does_not_end_the_session() {
    for refusal in [
        "Encrypted content is not supported with this model.",
        "The encrypted content gAAA could not be verified.",
        "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
    ] {
        let sent = sent_after(refusal).await;
        let sealed = |body: &Value| (body.get("include").is_some(), body.to_string().contains("gAAA"));
        assert_eq!(
            sent.iter().map(sealed).collect::<Vec<_>>(),
            [(true, true), (false, false), (false, false)]
        );
        assert_eq!(sent[1]["input"][1]["content"][0]["text"], "said");
        assert_eq!(sent[1]["reasoning"]["summary"], "auto");
    }
}

#[tokio::test]
async fn s83_a_summary_that_is_refused_is_not_asked_for_again() {
    let sent = sent_after("Your organization must be verified to generate reasoning summaries.").await;
    assert_eq!(
        sent.iter().map(|body| body["reasoning"].clone()).collect::<Vec<_>>(),
        [json!({"effort": "low", "summary": "auto"}), json!({"effort": "low"}), json!({"effort": "low"}),]
    );
    assert!(sent[1].get("include").is_some());
}

#[tokio::test]
async fn s83_other_refusals_are_asked_once_and_a_refusal_again_is_one() {
    let refusal = |text: &str| Answer::status(400).body(json!({"error": {"message": text}}).to_string());
    let server = ModelServer::start([
        refusal("Unsupported parameter: 'reasoning.effort' is not supported with this model."),
        refusal("encrypted content is not supported"),
        refusal("encrypted content is not supported"),
    ]);
    let provider = provider_on(Dialect::Responses, &server.base_url());
    let (models, request) = (models(), reasoning_request());
    for (requests, class) in [(1, FailureClass::InvalidRequest), (3, FailureClass::History)] {
        let failed = models.call(&provider, &LIMITS, &request, 1, |_| {}).await.unwrap_err();
        assert_eq!(failed.class, class);
        assert_eq!(server.requests().len(), requests);
    }
}
