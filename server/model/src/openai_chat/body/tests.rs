//! The bytes of a request: roles, repairs, and that they stay the same.

use std::sync::Arc;

use adjutant_core::config::Provider;
use adjutant_core::prompt::{ModelMessage, Reply, RequestedCall};
use serde_json::{Value, json};

use super::*;
use crate::tests::{LIMITS, provider, request};

fn written(request: &ModelRequest, cache: &RequestCache, provider: &Provider) -> String {
    let post = Post::to(provider, &LIMITS, &request.model).unwrap();
    String::from_utf8(write(request, cache, &post).unwrap()).unwrap()
}

fn json_of(request: &ModelRequest, provider: &Provider) -> Value {
    serde_json::from_str(&written(request, &RequestCache::default(), provider)).unwrap()
}

fn assistant(text: &str, arguments: &str) -> ModelMessage {
    let call = RequestedCall {
        id: "c1".to_owned(),
        name: "read_file".to_owned(),
        arguments: arguments.to_owned(),
        free_form: false,
    };
    let reply = Reply {
        text: text.to_owned(),
        reasoning: "kept to ourselves".to_owned(),
        calls: vec![call],
        ..Reply::default()
    };
    ModelMessage::Assistant { reply: Arc::new(reply) }
}

#[test]
fn s20_messages_are_written_in_their_roles() {
    let mut request = request("hello");
    request.messages.push(assistant("", r#"{"path":"a"}"#));
    request.messages.push(ModelMessage::Tool { call_id: "c1".into(), output: "fn main() {}\n".into() });
    let body = json_of(&request, &provider("http://localhost:1"));
    let expected = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": null, "tool_calls":
            [{"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": "{\"path\":\"a\"}"}}]},
        {"role": "tool", "content": "fn main() {}\n", "tool_call_id": "c1"},
    ]);
    assert_eq!(body["messages"], expected);
}

#[test]
fn s20_a_call_the_model_got_wrong_is_sent_back_as_valid_json() {
    let mut request = request("hello");
    for arguments in ["", "{\"path\": ", "[1]", "{}"] {
        request.messages.push(assistant("text", arguments));
    }
    let body = json_of(&request, &provider("http://localhost:1"));
    let arguments = |at: usize| {
        body["messages"][at]["tool_calls"][0]["function"]["arguments"].as_str().unwrap().to_owned()
    };
    assert_eq!([arguments(2), arguments(4), arguments(5)], ["{}", r#"{"invalid_arguments":"[1]"}"#, "{}"]);
    assert_eq!(arguments(3), r#"{"invalid_arguments":"{\"path\": "}"#);
}

#[test]
fn s20_a_tool_name_the_model_made_up_is_sent_back_in_letters_that_are_taken() {
    let mut request = request("hello");
    let ModelMessage::Assistant { reply } = assistant("", "{}") else { panic!("it is a reply") };
    let mut made_up = Reply::clone(&reply);
    made_up.calls[0].name = "multi_tool_use.read file".to_owned();
    request.messages.push(ModelMessage::Assistant { reply: Arc::new(made_up) });
    let body = json_of(&request, &provider("http://localhost:1"));
    assert_eq!(body["messages"][2]["tool_calls"][0]["function"]["name"], "multi_tool_use_read_file");
}

#[test]
fn s20_openai_gets_ids_from_elsewhere_in_the_length_it_takes_and_others_get_their_own_back() {
    let long = format!("chatcmpl-tool-{}", "0".repeat(32));
    let mut request = request("hello");
    let ModelMessage::Assistant { reply } = assistant("", "{}") else { panic!("it is a reply") };
    let mut elsewhere = Reply::clone(&reply);
    elsewhere.calls[0].id.clone_from(&long);
    request.messages.push(ModelMessage::Assistant { reply: Arc::new(elsewhere) });
    request.messages.push(ModelMessage::Tool { call_id: long.as_str().into(), output: "text".into() });
    let ids = |base_url: &str| {
        let body = json_of(&request, &provider(base_url));
        let ids = [&body["messages"][2]["tool_calls"][0]["id"], &body["messages"][3]["tool_call_id"]];
        ids.map(|id| id.as_str().unwrap().to_owned())
    };
    let [call, output] = ids("https://api.openai.com/v1");
    assert!(call == output && call.len() <= 40 && call.starts_with("call_"), "{call} and {output}");
    assert_eq!(ids("https://gateway.example/v1"), [long.clone(), long.clone()]);
}

#[test]
fn s20_the_beginning_is_the_same_bytes_every_turn() {
    let (cache, provider) = (RequestCache::default(), provider("http://localhost:1"));
    let mut request = request("hello");
    let first = written(&request, &cache, &provider);
    request.messages.push(assistant("so", "{}"));
    let second = written(&request, &cache, &provider);
    let shared = first.strip_suffix("]}").unwrap();
    assert!(second.starts_with(shared));
}

#[test]
fn s20_the_output_limit_goes_by_the_name_the_provider_knows() {
    let mut request = request("hello");
    let mut provider = provider("https://api.openai.com/v1");
    assert_eq!(json_of(&request, &provider).get("max_completion_tokens"), None);
    provider.max_output_tokens = Some(7);
    assert_eq!(json_of(&request, &provider)["max_completion_tokens"], 7);
    request.max_output_tokens = Some(9);
    assert_eq!(json_of(&request, &provider)["max_completion_tokens"], 9);
    provider.base_url = Some("http://localhost:1".to_owned());
    assert_eq!(json_of(&request, &provider)["max_tokens"], 9);
}

#[test]
fn s20_a_conversation_kept_from_before_is_written_as_if_it_were_new() {
    let (cache, provider) = (RequestCache::default(), provider("http://localhost:1"));
    let same = |request: &ModelRequest| {
        assert_eq!(
            written(request, &cache, &provider),
            written(request, &RequestCache::default(), &provider)
        );
    };
    let mut one = request("hello");
    let mut other = request("hello");
    for number in 0..10 {
        one.messages.push(assistant(&format!("one {number}"), "{}"));
        same(&one);
        other.messages.push(assistant(&format!("other {number}"), "{}"));
        same(&other);
    }
    // A shortened history, one that continues from there, and another system prompt.
    let mut cut = one.clone();
    cut.messages.truncate(3);
    same(&cut);
    cut.messages.push(ModelMessage::Tool { call_id: "c1".into(), output: "text".into() });
    same(&cut);
    one.system = "Be long.".into();
    same(&one);
    one.system = "".into();
    same(&one);
    assert!(cache.conversations.cached_count() <= 4);
}

#[test]
fn n24_a_call_in_plain_text_is_a_function_call_with_json() {
    let mut request = request("hello");
    let message = assistant("", r#"{"input":"*** Begin Patch\n"}"#);
    let ModelMessage::Assistant { reply } = &message else { panic!("a reply") };
    let mut reply = (**reply).clone();
    reply.calls[0].free_form = true;
    request.messages.push(ModelMessage::Assistant { reply: Arc::new(reply) });
    request.messages.push(ModelMessage::Tool { call_id: "c1".into(), output: "done".into() });
    let body = json_of(&request, &provider("http://localhost:1"));
    let function = &body["messages"][2]["tool_calls"][0]["function"];
    assert_eq!(function["arguments"], r#"{"input":"*** Begin Patch\n"}"#);
    assert_eq!(body["messages"][3]["role"], "tool");
}
