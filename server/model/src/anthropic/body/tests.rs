//! The bytes of a request: roles, repairs, cache marks, and that the rest stays the same.

use std::sync::Arc;

use adjutant_core::prompt::{Level, OpaqueItems, Reply, RequestedCall};
use adjutant_testkit::model::Dialect;
use serde_json::{Value, json};

use super::*;
use crate::tests::{provider_on, request};

fn acme() -> Provider {
    provider_on(Dialect::Messages, "http://localhost:1")
}

fn written(request: &ModelRequest, cache: &RequestCache) -> String {
    String::from_utf8(write(request, cache, &acme()).unwrap()).unwrap()
}

fn json_of(request: &ModelRequest) -> Value {
    serde_json::from_str(&written(request, &RequestCache::default())).unwrap()
}

/// The messages without cache marks.
fn messages_of(request: &ModelRequest) -> Value {
    let bare = written(request, &RequestCache::default()).replace(CACHE_MARK, "");
    serde_json::from_str::<Value>(&bare).unwrap()["messages"].take()
}

fn user(text: &str) -> ModelMessage {
    ModelMessage::user(text)
}

fn output(call_id: &str, output: &str) -> ModelMessage {
    ModelMessage::Tool { call_id: call_id.into(), output: output.into() }
}

fn call(id: &str, arguments: &str) -> RequestedCall {
    RequestedCall {
        id: id.to_owned(),
        name: "read_file".to_owned(),
        arguments: arguments.to_owned(),
        free_form: false,
    }
}

fn assistant(text: &str, calls: &[RequestedCall]) -> ModelMessage {
    let reply = Reply {
        text: text.to_owned(),
        reasoning: "left out".to_owned(),
        calls: calls.to_vec(),
        ..Reply::default()
    };
    ModelMessage::Assistant { reply: Arc::new(reply) }
}

fn kept(items: &[&str], model: &str) -> ModelMessage {
    let kept = OpaqueItems {
        wire: Wire::AnthropicMessages,
        provider: "acme".to_owned(),
        model: model.to_owned(),
        items: items.iter().map(|item| (*item).to_owned()).collect(),
    };
    let reply = Reply { text: "so".to_owned(), kept: Some(kept), ..Reply::default() };
    ModelMessage::Assistant { reply: Arc::new(reply) }
}

#[test]
fn s20_the_request_says_what_the_conversation_is() {
    let mut request = request("hello");
    request.messages.push(assistant("", &[call("c1", r#"{"path":"a"}"#), call("c2", "{}")]));
    request.messages.extend([output("c1", "fn main() {}\n"), output("c2", ""), user("and mind the tests")]);
    let marked = json!({"type": "ephemeral"});
    let expected = json!({
        "model": "m1",
        "stream": true,
        "max_tokens": 32_000,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": marked}],
        "tools": [{"name": "read_file", "description": "Reads.", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hello", "cache_control": marked}]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "a"}},
                {"type": "tool_use", "id": "c2", "name": "read_file", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "fn main() {}\n"},
                {"type": "tool_result", "tool_use_id": "c2"},
                {"type": "text", "text": "and mind the tests", "cache_control": marked},
            ]},
        ],
    });
    assert_eq!(json_of(&request), expected);
}

#[test]
fn s20_the_head_follows_the_request_and_the_provider() {
    let mut request = request("hello");
    request.whole = true;
    request.model = "claude-opus-4-6".to_owned();
    request.generation_settings.effort = Some(Level::Medium);
    request.tools = Arc::from([]);
    request.system = " ".into();
    let body = json_of(&request);
    assert_eq!((&body["stream"], &body["max_tokens"]), (&json!(false), &json!(32_000)));
    assert_eq!(body["output_config"], json!({"effort": "medium"}));
    assert_eq!(body["thinking"], json!({"type": "adaptive", "display": "summarized"}));
    assert_eq!((body.get("tools"), body.get("system")), (None, None));
    let mut provider = acme();
    provider.max_output_tokens = Some(7);
    let limit = |request: &ModelRequest| {
        let body = write(request, &RequestCache::default(), &provider).unwrap();
        serde_json::from_slice::<Value>(&body).unwrap()["max_tokens"].clone()
    };
    assert_eq!(limit(&request), 7);
    request.max_output_tokens = Some(9);
    assert_eq!(limit(&request), 9);
}

#[test]
fn s69_more_room_for_the_reply_changes_nothing_that_the_cache_depends_on() {
    let mut request = request("hello");
    request.model = "claude-haiku-4-5".to_owned();
    request.generation_settings.effort = Some(Level::High);
    let before = json_of(&request);
    request.max_output_tokens = Some(64_000);
    let after = json_of(&request);
    assert_eq!((&before["max_tokens"], &after["max_tokens"]), (&json!(32_000), &json!(64_000)));
    assert_eq!(before["thinking"], json!({"type": "enabled", "budget_tokens": 16_000}));
    assert_eq!(before["thinking"], after["thinking"]);
}

#[test]
fn s20_what_this_wire_refuses_is_never_sent() {
    let mut request = request("  \n");
    request.messages.push(assistant("said \n", &[]));
    request.messages.extend([user(""), user("more"), user("\t")]);
    request.messages.push(assistant(" ", &[]));
    request.messages.push(user("again"));
    request.messages.push(assistant("", &[call("functions.read:0", "[1]")]));
    request.messages.push(output("functions.read:0", "\n"));
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let expected = json!([
        {"role": "user", "content": text(NO_WORDS)},
        {"role": "assistant", "content": text("said")},
        {"role": "user", "content": text("more")},
        {"role": "user", "content": text("again")},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "functions_read_0", "name": "read_file",
            "input": {"invalid_arguments": "[1]"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "functions_read_0"}]},
    ]);
    assert_eq!(messages_of(&request), expected);
}

#[test]
fn s20_a_conversation_begins_with_the_user() {
    let mut request = request("hello");
    request.messages = vec![assistant("", &[]), assistant("hi", &[]), user("go on")];
    let messages = messages_of(&request);
    assert_eq!(messages[0], json!({"role": "user", "content": [{"type": "text", "text": NO_BEGINNING}]}));
    assert_eq!((&messages[1]["role"], &messages[2]["role"]), (&json!("assistant"), &json!("user")));
    request.messages = vec![kept(&[r#"{"type":"text","text":"hi"}"#], "m1"), user("go on")];
    assert_eq!(messages_of(&request)[0]["role"], "user");
}

#[test]
fn s85_reasoning_goes_back_verbatim_to_the_model_it_is_from_and_to_no_other() {
    let thinking = r#"{"type":"thinking","thinking":"hm","signature":"sig+/=="}"#;
    let call = r#"{"type":"tool_use","id":"a","name":"read","input":{"z": 1,  "a": 2.50}}"#;
    let mut request = request("hello");
    request.messages.push(kept(&[thinking, call], "m1"));
    let body = written(&request, &RequestCache::default());
    assert!(body.contains(&format!(r#"{{"role":"assistant","content":[{thinking},{call}]}}"#)), "{body}");
    request.messages[1] = kept(&[thinking, call], "m2");
    let body = written(&request, &RequestCache::default());
    assert!(body.contains(r#"{"role":"assistant","content":[{"type":"text","text":"so"}]}"#), "{body}");
}

#[test]
fn s20_a_conversation_ends_with_the_user() {
    let mut request = request("hello");
    request.messages.push(assistant("so \n", &[]));
    let messages = messages_of(&request);
    assert_eq!(messages[1]["content"][0]["text"], "so");
    assert_eq!(messages[2], json!({"role": "user", "content": [{"type": "text", "text": "Go on."}]}));
    request.messages = vec![assistant("", &[])];
    assert_eq!(messages_of(&request), json!([]));
    request.messages.push(user("hello"));
    assert_eq!(messages_of(&request).as_array().map(Vec::len), Some(1));
}

/// Returns the request of each turn of one conversation.
fn turns(count: usize) -> impl Iterator<Item = ModelRequest> {
    let mut request = request("hello");
    (0..count).map(move |turn| {
        if turn > 0 {
            let ids = [format!("a{turn}"), format!("b{turn}")];
            request.messages.push(assistant("so", &[call(&ids[0], "{}"), call(&ids[1], "{}")]));
            request.messages.extend(ids.iter().map(|id| output(id, "text")));
        }
        if turn % 3 == 2 {
            request.messages.push(user("steered"));
        }
        request.clone()
    })
}

#[test]
fn s71_but_for_the_marks_the_beginning_is_the_same_bytes_every_turn() {
    let cache = RequestCache::default();
    let mut before = String::new();
    for request in turns(12) {
        let body = written(&request, &cache);
        assert_eq!(
            body,
            written(&request, &RequestCache::default()),
            "the same bytes from the cache and without it"
        );
        let bare = body.replace(CACHE_MARK, "");
        assert!(bare.starts_with(before.strip_suffix("]}").unwrap_or_default()), "{before}\n{bare}");
        before = bare;
    }
}

#[test]
fn s71_the_marks_stand_at_the_system_prompt_and_along_the_latest_messages() {
    let cache = RequestCache::default();
    for (turn, request) in turns(12).enumerate() {
        let body = written(&request, &cache);
        let marks = body.matches(r#""cache_control""#).count();
        assert_eq!(marks, 1 + (turn + 1).min(MARKED_MESSAGES), "turn {turn}");
        let body: Value = serde_json::from_str(&body).unwrap();
        assert!(body["system"][0].get("cache_control").is_some());
        let inputs = body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "user");
        for input in inputs.rev().take(MARKED_MESSAGES) {
            let blocks = input["content"].as_array().unwrap();
            assert!(blocks.last().unwrap().get("cache_control").is_some(), "{input}");
        }
    }
}

#[test]
fn s84_a_model_that_is_known_to_write_less_is_asked_for_less() {
    let asked = |model: &str| {
        let mut request = request("hello");
        request.model = model.to_owned();
        json_of(&request)["max_tokens"].clone()
    };
    assert_eq!(asked("claude-3-5-haiku-20241022"), 8_192);
    assert_eq!(asked("claude-opus-4-6"), 32_000, "enough for one reply");
    assert_eq!(asked("m1"), 32_000);
}
