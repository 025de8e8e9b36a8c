//! The bytes of a request: items, what goes back verbatim, and that the beginning stays the same.

use std::sync::Arc;

use adjutant_core::config::Provider;
use adjutant_core::prompt::{Effort, Kept, RequestedCall};
use adjutant_testkit::model::Dialect;
use serde_json::{Value, json};

use super::*;
use crate::model::tests::{LIMITS, provider_on, request};

fn acme() -> Provider {
    provider_on(Dialect::Responses, "http://localhost:1")
}

fn written(request: &ModelRequest, frozen: &Frozen) -> String {
    written_to(&acme(), request, frozen)
}

fn written_to(provider: &Provider, request: &ModelRequest, frozen: &Frozen) -> String {
    let post = Post::to(provider, &LIMITS, &request.model).unwrap();
    String::from_utf8(write(request, frozen, &post).unwrap()).unwrap()
}

fn json_of(request: &ModelRequest) -> Value {
    serde_json::from_str(&written(request, &Frozen::default())).unwrap()
}

fn assistant(kept: Option<Kept>) -> ModelMessage {
    let call =
        RequestedCall { id: "c1".to_owned(), name: "read_file".to_owned(), arguments: "{oops".to_owned() };
    let reply = Reply {
        text: "So:".to_owned(),
        reasoning: "hm".to_owned(),
        calls: vec![call],
        kept,
        ..Reply::default()
    };
    ModelMessage::Assistant { reply: Arc::new(reply) }
}

fn kept(provider: &str, model: &str) -> Option<Kept> {
    let items = vec![
        r#"{"encrypted_content":"e+/","type":"reasoning"}"#.to_owned(),
        r#"{"type":"message"}"#.to_owned(),
    ];
    Some(Kept { wire: Wire::OpenaiResponses, provider: provider.to_owned(), model: model.to_owned(), items })
}

#[test]
fn s20_the_request_says_what_the_conversation_is_and_asks_to_keep_nothing() {
    let mut request = request("hello");
    request.messages.push(assistant(None));
    request.messages.push(ModelMessage::Tool { call_id: "c1".into(), output: "fn main() {}\n".into() });
    let expected = json!({
        "model": "m1", "stream": true, "store": false, "parallel_tool_calls": true, "instructions": "Be brief.",
        "tools": [{"type": "function", "name": "read_file", "description": "Reads.",
            "parameters": {"type": "object"}, "strict": false}],
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So:"}]},
            {"type": "function_call", "call_id": "c1", "name": "read_file",
                "arguments": "{\"invalid_arguments\":\"{oops\"}"},
            {"type": "function_call_output", "call_id": "c1", "output": "fn main() {}\n"},
        ],
    });
    assert_eq!(json_of(&request), expected);
}

#[test]
fn s85_reasoning_goes_back_verbatim_to_the_model_it_is_from_and_to_no_other() {
    let with = |kept| {
        let mut request = request("hello");
        request.messages.push(assistant(kept));
        written(&request, &Frozen::default())
    };
    let own = with(kept("acme", "m1"));
    assert!(
        own.contains(r#"{"encrypted_content":"e+/","type":"reasoning","summary":[]},{"type":"message"}]"#),
        "{own}"
    );
    assert!(!own.contains("function_call"), "what was kept stands for all of it: {own}");
    for foreign in [kept("other", "m1"), kept("acme", "m2")] {
        let foreign = with(foreign);
        assert!(!foreign.contains("encrypted") && foreign.contains("function_call"), "{foreign}");
    }
}

#[test]
fn s85_what_was_thought_is_asked_for_only_where_it_is_there() {
    let mut request = request("hello");
    assert_eq!(json_of(&request).get("include"), None);
    request.effort = Some(Effort::Low);
    let body = json_of(&request);
    assert_eq!(
        (&body["include"], &body["reasoning"]),
        (&json!(["reasoning.encrypted_content"]), &json!({"effort": "low", "summary": "auto"}))
    );
    request.effort = None;
    let asked = |base: &str, model: &str| {
        let mut request = request.clone();
        request.model = model.to_owned();
        let provider = provider_on(Dialect::Responses, base);
        let body: Value = serde_json::from_str(&written_to(&provider, &request, &Frozen::default())).unwrap();
        body.get("include").is_some()
    };
    assert!(asked("https://api.openai.com/v1", "gpt-5-mini"));
    assert!(!asked("https://api.openai.com/v1", "gpt-4o"), "it refuses to be asked");
    assert!(!asked("https://api.openai.com/v1", "gpt-5-chat-latest"));
    assert!(!asked("https://gateway.example/v1", "gpt-5-mini"), "it may know no such field");
}

#[test]
fn s20_the_beginning_is_the_same_bytes_every_turn() {
    let frozen = Frozen::default();
    let mut request = request("hello");
    let first = written(&request, &frozen);
    request.messages.push(assistant(kept("acme", "m1")));
    let second = written(&request, &frozen);
    assert!(second.starts_with(first.strip_suffix("]}").unwrap()), "{second}");
    request.whole = true;
    assert_eq!(json_of(&request)["stream"], false);
}
