//! The fields for each generation of models.

use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_core::config::Wire;
use adjutant_core::prompt::{OpaqueItems, Reply};
use serde_json::{Value, json};

use super::*;
use crate::tests::request;

const SOURCE: Source<'static> = Source {
    wire: Wire::AnthropicMessages,
    provider: "acme",
    model: "m1",
    max_call_id: usize::MAX,
    free_form: false,
    images: &BTreeMap::new(),
};

fn fields_of(model: &str, effort: Option<Level>, max_tokens: u32) -> Value {
    let mut request = request("hello");
    request.model = model.to_owned();
    request.generation_settings.effort = effort;
    serde_json::to_value(fields(&request, max_tokens, &SOURCE)).unwrap()
}

#[test]
fn s84_an_effort_is_asked_for_in_the_way_the_model_knows() {
    let adaptive = json!({"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "low"}});
    for model in [
        "claude-opus-4-6",
        "claude-sonnet-4-6-20260101",
        "anthropic/claude-opus-4.7",
        "claude-sonnet-5",
        "anthropic.claude-opus-5-5-v1:0",
        "claude-opus-10",
        "claude-mythos-preview",
    ] {
        assert_eq!(fields_of(model, Some(Level::Low), 32_000), adaptive, "{model}");
    }
    let budget = json!({"thinking": {"type": "enabled", "budget_tokens": 4096}});
    for model in ["claude-3-7-sonnet-20250219", "claude-sonnet-4@20250514", "claude-haiku-4-5-20251001"] {
        assert_eq!(fields_of(model, Some(Level::Low), 32_000), budget, "{model}");
    }
    assert_eq!(fields_of("claude-3-5-haiku-20241022", Some(Level::High), 32_000), json!({}));
    assert_eq!(fields_of("glm-5", Some(Level::High), 32_000), json!({"output_config": {"effort": "high"}}));
    assert_eq!(fields_of("claude-opus-4-6", None, 32_000), json!({}));
}

#[test]
fn s84_a_budget_leaves_room_for_the_answer() {
    let of = |max_tokens| fields_of("claude-haiku-4-5", Some(Level::High), max_tokens);
    assert_eq!(of(8192)["thinking"]["budget_tokens"], 4096);
    assert_eq!(of(2048)["thinking"]["budget_tokens"], 1024);
    assert_eq!(of(2047), json!({}));
}

#[test]
fn s84_no_budget_behind_a_reply_that_came_without_thinking() {
    let mut request = request("hello");
    request.model = "claude-haiku-4-5".to_owned();
    request.generation_settings.effort = Some(Level::High);
    let source = Source { model: "claude-haiku-4-5", ..SOURCE };
    let mut thinks = |kept: Option<OpaqueItems>| {
        let reply = Reply { text: "so".to_owned(), kept, ..Reply::default() };
        request.messages.push(ModelMessage::Assistant { reply: Arc::new(reply) });
        request.messages.push(ModelMessage::Tool { call_id: "c1".into(), output: "out".into() });
        fields(&request, 32_000, &source).thinking.is_some()
    };
    let own = OpaqueItems {
        wire: Wire::AnthropicMessages,
        provider: "acme".to_owned(),
        model: "claude-haiku-4-5".to_owned(),
        items: vec!["{}".to_owned()],
    };
    assert!(thinks(Some(own.clone())));
    assert!(!thinks(Some(OpaqueItems { model: "other".to_owned(), ..own })));
    assert!(!thinks(None));
    request.messages.push(ModelMessage::user("go on"));
    assert!(fields(&request, 32_000, &source).thinking.is_some());
}
