//! The bytes of a request: items, opaque items, and that the bytes stay the same.

use std::sync::Arc;

use adjutant_core::config::Provider;
use adjutant_core::prompt::{Level, OpaqueItems, RequestedCall};
use adjutant_testkit::model::Dialect;
use serde_json::{Value, json};

use super::*;
use crate::tests::{LIMITS, provider_on, request};

const LOCAL: &str = "http://localhost:1";

fn provider(base_url: &str) -> Provider {
    provider_on(Dialect::Responses, base_url)
}

fn written(request: &ModelRequest, cache: &RequestCache, provider: &Provider) -> String {
    let post = Post::to(provider, &LIMITS, &request.model).unwrap();
    String::from_utf8(write(request, cache, &post, RejectedFields::default()).unwrap()).unwrap()
}

fn json_of(request: &ModelRequest, provider: &Provider) -> Value {
    serde_json::from_str(&written(request, &RequestCache::default(), provider)).unwrap()
}

fn reply(text: &str, id: &str, arguments: &str) -> Reply {
    let call = RequestedCall {
        id: id.to_owned(),
        name: "read_file".to_owned(),
        arguments: arguments.to_owned(),
        free_form: false,
    };
    Reply { text: text.to_owned(), reasoning: "hm".to_owned(), calls: vec![call], ..Reply::default() }
}

fn assistant(reply: Reply) -> ModelMessage {
    ModelMessage::Assistant { reply: Arc::new(reply) }
}

fn output(call_id: &str, output: &str) -> ModelMessage {
    ModelMessage::Tool { call_id: call_id.into(), output: output.into() }
}

/// A reply with opaque items from `provider`.
fn sealed(provider: &str, model: &str) -> ModelMessage {
    let items = [
        r#"{"id":"rs_1","type":"reasoning","status":"completed","summary":[],"encrypted_content":"a\/b+=="}"#,
        r#"{"id":"fc_1","type":"function_call","status":"completed","call_id":"c1","name":"read_file","arguments":"{}"}"#,
    ];
    let kept = OpaqueItems {
        wire: Wire::OpenaiResponses,
        provider: provider.to_owned(),
        model: model.to_owned(),
        items: items.map(str::to_owned).to_vec(),
    };
    assistant(Reply { kept: Some(kept), ..reply("", "c1", "{}") })
}

#[test]
fn s20_the_request_says_what_the_conversation_is() {
    let mut request = request("hello");
    request.messages.push(assistant(reply("So:", "c1", r#"{"path":"a"}"#)));
    request.messages.push(output("c1", "fn main() {}\n"));
    let expected = json!({
        "model": "m1",
        "stream": true,
        "store": false,
        "parallel_tool_calls": true,
        "tools": [{"type": "function", "name": "read_file", "description": "Reads.",
            "parameters": {"type": "object"}, "strict": false}],
        "instructions": "Be brief.",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So:"}]},
            {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": "{\"path\":\"a\"}"},
            {"type": "function_call_output", "call_id": "c1", "output": "fn main() {}\n"},
        ],
    });
    assert_eq!(json_of(&request, &provider(LOCAL)), expected);
}

#[test]
fn finding_f7_openai_is_told_which_requests_are_of_one_conversation() {
    let key = |request: &ModelRequest, url| json_of(request, &provider(url))["prompt_cache_key"].clone();
    let (one, mut other) = (request("hello"), request("hello there"));
    assert_eq!(key(&one, LOCAL), Value::Null);
    let named = key(&one, "https://api.openai.com/v1");
    assert_ne!(named, key(&other, "https://api.openai.com/v1"));
    other = one.clone();
    other.messages.push(output("c1", "more"));
    assert_eq!(key(&other, "https://api.openai.com/v1"), named);
    assert!(named.as_str().is_some_and(|named| named.len() == 32), "{named}");
}

#[test]
fn s20_what_is_empty_is_left_out() {
    let mut request = request("hello");
    request.system = "".into();
    request.tools = Arc::new([]);
    request.whole = true;
    request.messages.push(assistant(Reply::default()));
    let body = json_of(&request, &provider(LOCAL));
    let names = body.as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(names, ["input", "model", "store", "stream"]);
    assert_eq!((&body["stream"], body["input"].as_array().unwrap().len()), (&json!(false), 1));
}

#[test]
fn s84_a_verbosity_is_asked_for_where_it_is_set() {
    let mut request = request("hello");
    assert_eq!(json_of(&request, &provider(LOCAL)).get("text"), None);
    request.generation_settings.verbosity = Some(Level::Low);
    assert_eq!(json_of(&request, &provider(LOCAL))["text"], json!({"verbosity": "low"}));
}

#[test]
fn s111_what_was_kept_goes_back_to_whom_it_came_from() {
    let cache = RequestCache::default();
    let body = |message: ModelMessage| {
        let mut request = request("hello");
        request.messages.extend([message, output("c1", "text")]);
        written(&request, &cache, &provider(LOCAL))
    };
    let back = body(sealed("acme", "m1"));
    // All its bytes except `status`, in order, before the output of its call.
    let items = r#"{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"a\/b+=="},{"id":"fc_1","type":"function_call","call_id":"c1","name":"read_file","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"text"}]}"#;
    assert!(back.ends_with(items), "{back}");
    for other in [sealed("elsewhere", "m1"), sealed("acme", "m2")] {
        let back = body(other);
        assert!(!back.contains("rs_1") && !back.contains("reasoning"), "{back}");
        assert!(
            back.contains(r#"{"type":"function_call","call_id":"c1","name":"read_file","arguments":"{}"}"#)
        );
    }
}

#[test]
fn s20_the_beginning_is_the_same_bytes_every_turn() {
    let (cache, provider) = (RequestCache::default(), provider(LOCAL));
    let mut request = request("hello");
    let mut before = written(&request, &cache, &provider);
    for turn in 0..4 {
        let (message, id) = match turn % 2 {
            0 => (sealed("acme", "m1"), "c1"),
            _ => (assistant(reply("so", "c2", "{\"broken")), "c2"),
        };
        request.messages.extend([message, output(id, "text")]);
        let now = written(&request, &cache, &provider);
        assert!(now.starts_with(before.strip_suffix("]}").unwrap()), "turn {turn}");
        assert_eq!(now, written(&request, &RequestCache::default(), &provider), "turn {turn}");
        before = now;
    }
}

#[test]
fn s20_calls_from_elsewhere_are_written_as_this_wire_takes_them() {
    let mut request = request("hello");
    let long = "x".repeat(65);
    let mut odd = reply("", &long, "{\"path\": ");
    odd.calls[0].name = "mcp.read file".to_owned();
    request.messages.extend([assistant(odd), output(&long, "text")]);
    let body = json_of(&request, &provider(LOCAL));
    let (call, output) = (&body["input"][1], &body["input"][2]);
    let id = call["call_id"].as_str().unwrap();
    assert!(id.len() <= 64 && id.starts_with("call_"), "{id}");
    assert_eq!(output["call_id"], id);
    assert_eq!(call["name"], "mcp_read_file");
    assert_eq!(call["arguments"], r#"{"invalid_arguments":"{\"path\": "}"#);
}

#[test]
fn s85_reasoning_is_asked_for_where_the_model_has_it() {
    let asked = |model: &str, base_url: &str, effort: Option<Level>| {
        let mut request = request("hello");
        (request.model, request.generation_settings.effort) = (model.to_owned(), effort);
        let body = json_of(&request, &provider(base_url));
        (body["reasoning"].clone(), body["include"].clone())
    };
    let sealed = json!(["reasoning.encrypted_content"]);
    let openai = "https://api.openai.com/v1";
    assert_eq!(asked("gpt-4.1", openai, None), (Value::Null, Value::Null));
    assert_eq!(asked("gpt-5.1", openai, None), (Value::Null, sealed.clone()));
    // A compatible server might reject it, so it is sent only with an effort.
    assert_eq!(asked("gpt-5.1", LOCAL, None), (Value::Null, Value::Null));
    let effort = json!({"effort": "high", "summary": "auto"});
    assert_eq!(asked("any", LOCAL, Some(Level::High)), (effort, sealed));
}

#[test]
fn s20_the_output_limit_of_the_run_comes_before_that_of_the_provider() {
    let mut request = request("hello");
    let mut provider = provider(LOCAL);
    provider.max_output_tokens = Some(7);
    assert_eq!(json_of(&request, &provider)["max_output_tokens"], 7);
    request.max_output_tokens = Some(9);
    assert_eq!(json_of(&request, &provider)["max_output_tokens"], 9);
}

/// A request whose model takes free-form tools, after a call of one.
fn free_form_request() -> ModelRequest {
    let mut request = request("hello");
    request.free_form = true;
    let patch = ToolSpec {
        name: "apply_patch".into(),
        description: "Edits.".into(),
        parameters: json!({"type": "object"}),
        free_form: true,
    };
    request.tools = request.tools.iter().cloned().chain([patch]).collect();
    let calls = vec![
        RequestedCall {
            id: "c1".to_owned(),
            name: "apply_patch".to_owned(),
            arguments: r#"{"input":"*** \"x\"\n"}"#.to_owned(),
            free_form: true,
        },
        RequestedCall {
            id: "c2".to_owned(),
            name: "read_file".to_owned(),
            arguments: "{}".to_owned(),
            free_form: false,
        },
    ];
    let reply = Reply { calls, ..Reply::default() };
    request.messages.extend([assistant(reply), output("c1", "done"), output("c2", "text")]);
    request
}

#[test]
fn n24_a_free_form_call_is_plain_text_for_a_model_that_takes_it_and_a_function_for_any_other() {
    let mut request = free_form_request();
    let cache = RequestCache::default();
    let of = |request: &ModelRequest| -> Value {
        serde_json::from_str(&written(request, &cache, &provider(LOCAL))).unwrap()
    };
    let body = of(&request);
    assert_eq!(body["tools"][0]["type"], "function");
    assert_eq!(body["tools"][1], json!({"type": "custom", "name": "apply_patch", "description": "Edits."}));
    let rest = |body: &Value| body["input"].as_array().unwrap()[1..].to_vec();
    let function = json!({"type": "function_call", "call_id": "c2", "name": "read_file", "arguments": "{}"});
    let read = json!({"type": "function_call_output", "call_id": "c2", "output": "text"});
    assert_eq!(
        rest(&body),
        [
            json!({"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": "*** \"x\"\n"}),
            function.clone(),
            json!({"type": "custom_tool_call_output", "call_id": "c1", "output": "done"}),
            read.clone(),
        ]
    );
    // The same history and the same tools for a model that takes none.
    request.free_form = false;
    let body = of(&request);
    assert_eq!(body["tools"][1]["type"], "function");
    assert_eq!(
        rest(&body),
        [
            json!({"type": "function_call", "call_id": "c1", "name": "apply_patch",
                "arguments": "{\"input\":\"*** \\\"x\\\"\\n\"}"}),
            function,
            json!({"type": "function_call_output", "call_id": "c1", "output": "done"}),
            read,
        ]
    );
}

#[test]
fn n24_kept_items_of_a_free_form_call_go_back_only_to_a_model_that_takes_it() {
    let mut request = free_form_request();
    let item = r#"{"id":"ctc_1","type":"custom_tool_call","status":"completed","call_id":"c1","name":"apply_patch","input":"x"}"#;
    let kept = OpaqueItems {
        wire: Wire::OpenaiResponses,
        provider: "acme".to_owned(),
        model: "m1".to_owned(),
        items: vec![item.to_owned()],
    };
    let ModelMessage::Assistant { reply } = request.messages[1].clone() else { panic!("a reply") };
    let calls = reply.calls[..1].to_vec();
    request.messages[1] = assistant(Reply { calls, kept: Some(kept), ..Reply::default() });
    request.messages.pop();
    let types = |request: &ModelRequest| {
        let body = json_of(request, &provider(LOCAL));
        let types = body["input"].as_array().unwrap()[1..].iter().map(|item| item["type"].clone());
        (types.collect::<Vec<_>>(), body["input"][1]["id"].clone())
    };
    assert_eq!(
        types(&request),
        (vec![json!("custom_tool_call"), json!("custom_tool_call_output")], json!("ctc_1"))
    );
    request.free_form = false;
    assert_eq!(types(&request), (vec![json!("function_call"), json!("function_call_output")], Value::Null));
}
