//! Replies from streams as servers really write them, and from such as make no sense.

use adjutant_core::config::Wire;
use adjutant_core::prompt::{Delta, Usage};
use adjutant_core::retry::FailureClass;
use serde_json::json;

use super::*;
use crate::model::tests::request;

const ASKED: Asked<'static> = Asked { provider: "acme", model: "m1", key: None };

fn assembly() -> ResponsesAssembly<'static> {
    ResponsesAssembly::new(&request("hello"), ASKED, Arc::default())
}

/// Assembles events; the names of events are left out, as some gateways do.
fn assemble(events: &[Value]) -> Result<(Reply, Vec<Delta>), CallFailure> {
    let mut assembly = assembly();
    let mut streamed = Vec::new();
    for event in events {
        let data = event.to_string();
        let event = Event { name: "", id: "", data: &data };
        assembly.take(&event, &mut |delta| streamed.push(delta))?;
    }
    Ok((assembly.complete()?, streamed))
}

fn added(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn done(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn call(index: u64, id: &str, name: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{index}"), "call_id": id, "name": name, "arguments": arguments})
}

fn arguments(index: u64, delta: &str) -> Value {
    json!({"type": "response.function_call_arguments.delta", "output_index": index, "delta": delta})
}

fn text(index: u64, delta: &str) -> Value {
    json!({"type": "response.output_text.delta", "output_index": index, "item_id": format!("m_{index}"), "delta": delta})
}

fn message(text: &str) -> Value {
    json!({"type": "message", "id": "m_0", "status": "completed", "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn end(status: &str, output: &[Value]) -> Value {
    json!({"type": format!("response.{status}"), "response": {"status": status, "output": output,
        "usage": {"input_tokens": 9, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 5}}}})
}

fn check(events: &[Value], text: &str, calls: &[&str]) -> Reply {
    let (reply, streamed) = assemble(events).unwrap();
    let found = reply.calls.iter().map(|call| format!("{} {} {}", call.id, call.name, call.arguments));
    assert_eq!(
        (reply.text.as_str(), found.collect::<Vec<_>>()),
        (text, calls.iter().map(ToString::to_string).collect())
    );
    let said = streamed.iter().map(|delta| if let Delta::Text(text) = delta { text.as_str() } else { "" });
    assert_eq!(said.collect::<String>(), text, "what streamed is what was said");
    reply
}

fn check_broken(events: &[Value], because: &str) {
    let failed = assemble(events).unwrap_err();
    assert_eq!(failed.class, FailureClass::Broken, "{}", failed.message);
    assert!(failed.message.contains(because), "{}", failed.message);
}

#[test]
fn s111_split_and_interleaved_arguments() {
    let events = [
        added(0, call(0, "a", "read", "")),
        added(1, call(1, "b", "list", "")),
        arguments(0, "{\"p\""),
        arguments(1, "{"),
        arguments(0, ":1}"),
        arguments(1, "}"),
        done(0, call(0, "a", "read", "{\"p\":1}")),
        done(1, call(1, "b", "list", "{}")),
        end("completed", &[call(0, "a", "read", "{\"p\":1}"), call(1, "b", "list", "{}")]),
    ];
    let reply = check(&events, "", &["a read {\"p\":1}", "b list {}"]);
    assert_eq!(reply.stop, StopCause::ToolCalls);
    let usage = Usage { input_tokens: 9, output_tokens: 4, cache_read_tokens: 5, cache_write_tokens: 0 };
    assert_eq!(reply.usage, Some(usage));
}

#[test]
fn s111_what_comes_only_later_is_taken_then_and_nothing_twice() {
    let whole = [message("Hello."), call(1, "a", "read", "{}")];
    // Nothing but the end; items as a whole; deltas, and the rest in each place it may stand in.
    check(&[end("completed", &whole)], "Hello.", &["a read {}"]);
    check(
        &[done(0, whole[0].clone()), done(1, whole[1].clone()), end("completed", &[])],
        "Hello.",
        &["a read {}"],
    );
    check(&[text(0, "Hel"), done(0, whole[0].clone()), end("completed", &whole)], "Hello.", &["a read {}"]);
    check(&[text(0, "Hel"), text(0, "lo."), end("completed", &whole)], "Hello.", &["a read {}"]);
    let finished =
        json!({"type": "response.function_call_arguments.done", "output_index": 1, "arguments": "{}"});
    check(
        &[
            text(0, "Hello."),
            added(1, call(1, "a", "read", "")),
            arguments(1, "{"),
            finished,
            end("completed", &[]),
        ],
        "Hello.",
        &["a read {}"],
    );
}

#[test]
fn s111_streams_that_make_no_sense_are_clean_errors() {
    let nowhere = json!({"type": "response.function_call_arguments.delta", "delta": "{}"});
    check_broken(&[nowhere], "before any tool call began");
    check_broken(&[text(0, "Hullo"), end("completed", &[message("Hello.")])], "not the one it streamed");
    check_broken(
        &[added(0, call(0, "a", "r", "")), arguments(0, "[1"), end("completed", &[call(0, "a", "r", "{}")])],
        "not those it streamed",
    );
    check_broken(&[done(0, call(0, "a", "r", "{}")), arguments(0, "{}")], "went on after its end");
    check_broken(&[end("completed", &[call(0, "a", "r", "{}"), call(1, "a", "r", "{}")])], "the same id");
    check_broken(&[end("completed", &[])], "empty");
    check_broken(&[json!({"type": "response.completed"})], "is empty");
    check_broken(&[text(0, "So")], "ended in the middle");
}

#[test]
fn g3_a_cut_reply_says_so_and_its_calls_do_not_count_as_whole() {
    let cut = |reason: &str| {
        let mut end = end("incomplete", &[]);
        end["response"]["incomplete_details"] = json!({"reason": reason});
        assemble(&[added(0, call(0, "a", "read", "")), arguments(0, "{\"p"), end])
    };
    assert_eq!(cut("max_output_tokens").unwrap().0.stop, StopCause::MaxTokens);
    assert_eq!(cut("content_filter").unwrap().0.stop, StopCause::Refusal);
    assert!(cut("moon").unwrap_err().message.contains("cut for the reason \"moon\""));
}

#[test]
fn s85_encrypted_reasoning_is_kept_as_it_came() {
    let thought = json!({"type": "reasoning", "id": "rs_1", "status": "completed", "encrypted_content": "gA+/=",
        "summary": [{"type": "summary_text", "text": "First."}, {"type": "summary_text", "text": "Then."}]});
    let output = [thought, call(1, "a", "read", "{ \"p\" : 1 }")];
    let (reply, streamed) = assemble(&[end("completed", &output)]).unwrap();
    assert_eq!(reply.reasoning, "First.\n\nThen.");
    assert_eq!(streamed[0], Delta::Reasoning("First.\n\nThen.".to_owned()));
    let kept = reply.kept.unwrap();
    assert_eq!(
        (kept.wire, kept.provider.as_str(), kept.model.as_str()),
        (Wire::OpenaiResponses, "acme", "m1")
    );
    let items: Vec<Value> = kept.items.iter().map(|item| serde_json::from_str(item).unwrap()).collect();
    assert_eq!(items, output);
    // Without anything encrypted there is nothing that could not be written again.
    let plain = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": null, "summary": []});
    assert_eq!(assemble(&[end("completed", &[plain, message("So.")])]).unwrap().0.kept, None);
}

#[test]
fn s83_errors_are_found_wherever_they_stand() {
    let class = |event: Value| assemble(&[text(0, "So"), event]).unwrap_err().class;
    let error = json!({"code": "rate_limit_exceeded", "message": "slow down"});
    assert_eq!(
        class(json!({"type": "error", "code": "server_error", "message": "oops"})),
        FailureClass::Overloaded
    );
    assert_eq!(class(json!({"type": "error", "error": error})), FailureClass::RateLimited);
    let failed =
        |error: Value| json!({"type": "response.failed", "response": {"status": "failed", "error": error}});
    assert_eq!(class(failed(error)), FailureClass::RateLimited);
    let long = json!({"code": "context_length_exceeded", "message": "too long"});
    assert_eq!(class(failed(long)), FailureClass::ContextExceeded);
    assert_eq!(
        class(json!({"type": "response.completed", "response": {"status": "failed", "error": null}})),
        FailureClass::Broken
    );
}

#[test]
fn g4_what_says_that_a_response_is_worked_on_is_no_progress() {
    let alive = |data: &str| ResponsesAssembly::keeps_alive(&Event { name: "", id: "", data });
    assert!(alive(r#"{"type":"response.in_progress","sequence_number":1,"response":{}}"#));
    assert!(alive(r#"{ "type": "keepalive" }"#) && alive(""));
    assert!(!alive(r#"{"type":"response.output_text.delta","delta":"a"}"#));
    assert!(!alive(r#"{"delta":"{\"type\":\"keepalive\"","type":"response.output_text.delta"}"#));
}

#[test]
fn s81_an_answer_that_came_at_once_is_a_reply_or_an_error() {
    let whole = |body: Value| {
        let mut assembly = assembly();
        assembly.take_whole(&body.to_string(), &mut |_| {})?;
        assembly.complete()
    };
    let body = json!({"status": "completed", "output": [message("Hello.")], "error": null});
    assert_eq!(whole(body).unwrap().text, "Hello.");
    assert_eq!(
        whole(json!({"error": {"code": "server_error"}})).unwrap_err().class,
        FailureClass::Overloaded
    );
    assert_eq!(whole(json!({"hello": 1})).unwrap_err().class, FailureClass::Broken);
    assert_eq!(
        whole(json!({"status": "in_progress", "output": []})).unwrap_err().class,
        FailureClass::Broken
    );
}
