//! Replies from streams that real servers send, and from invalid streams.

use adjutant_core::prompt::Delta;
use serde_json::{Value, json};

use super::*;
use crate::draft::MAX_CALLS;
use crate::tests::request;

/// Assembles the `delta` objects of a stream and ends it for `finish`.
fn assemble(deltas: &[Value], finish: &str) -> Result<Reply, CallFailure> {
    assemble_streamed(deltas, finish).map(|(reply, _)| reply)
}

fn assemble_streamed(deltas: &[Value], finish: &str) -> Result<(Reply, Vec<Delta>), CallFailure> {
    let deltas = deltas.iter().map(|delta| json!({"choices": [{"index": 0, "delta": delta}]}).to_string());
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}).to_string();
    assemble_events(deltas.chain([end]).collect::<Vec<_>>())
}

fn assemble_events(events: Vec<String>) -> Result<(Reply, Vec<Delta>), CallFailure> {
    let endpoint = Endpoint { provider: "acme", model: "m1", key: None };
    let mut assembly = ChatAssembly::new(&request("hello"), endpoint, Arc::default());
    let mut streamed = Vec::new();
    for data in &events {
        assembly.add_event(&Event { name: "", id: "", data }, &mut |delta| streamed.push(delta))?;
    }
    Ok((assembly.complete()?, streamed))
}

fn piece(index: impl Into<Value>, id: &str, name: &str, arguments: &str) -> Value {
    json!({"tool_calls": [{"index": index.into(), "id": id, "function": {"name": name, "arguments": arguments}}]})
}

/// Checks that the calls come out as `id name arguments`.
fn check(deltas: &[Value], expected: &[&str]) {
    let reply = assemble(deltas, "tool_calls").unwrap();
    let calls = reply.calls.iter().map(|call| format!("{} {} {}", call.id, call.name, call.arguments));
    assert_eq!(calls.collect::<Vec<_>>(), expected);
    assert_eq!(reply.stop, StopCause::ToolCalls);
}

fn check_broken(deltas: &[Value], finish: &str, because: &str) {
    let failed = assemble(deltas, finish).unwrap_err();
    assert_eq!(failed.class, FailureClass::Broken);
    assert!(failed.message.contains(because), "{}", failed.message);
}

#[test]
fn s111_split_and_interleaved_arguments() {
    check(
        &[
            piece(0, "a", "read", ""),
            piece(1, "b", "list", "{"),
            piece(0, "", "", "{\"p\""),
            piece(1, "", "", "}"),
            piece(0, "", "", ":1}"),
        ],
        &[r#"a read {"p":1}"#, "b list {}"],
    );
    let both = json!({"tool_calls": [
        {"index": 0, "id": "a", "function": {"name": "read", "arguments": "{}"}},
        {"index": 1, "id": "b", "function": {"name": "list", "arguments": "{}"}},
    ]});
    check(&[both], &["a read {}", "b list {}"]);
}

#[test]
fn s111_what_servers_leave_out_or_repeat() {
    // Without an index, the id decides. Without both, the piece belongs to the latest call.
    check(&[piece(None::<u64>, "a", "read", "{"), piece(None::<u64>, "a", "", "}")], &["a read {}"]);
    check(&[piece(None::<u64>, "a", "read", "{"), piece(None::<u64>, "", "", "}")], &["a read {}"]);
    check(
        &[piece(None::<u64>, "a", "read", "{}"), piece(None::<u64>, "b", "read", "{}")],
        &["a read {}", "b read {}"],
    );
    // Without an id, the call gets one that is unique in the conversation.
    check(
        &[piece(0, "", "read", "{}"), piece(1, "", "read", "{}")],
        &["call_0_0 read {}", "call_0_1 read {}"],
    );
    // Each call has the index zero.
    check(&[piece(0, "a", "read", "{}"), piece(0, "b", "list", "{}")], &["a read {}", "b list {}"]);
    // Id and name are repeated in each piece. A new id without a name is ignored.
    check(&[piece(0, "a", "read", "{"), piece(0, "a", "read", "}")], &["a read {}"]);
    check(&[piece(0, "a", "read", "{"), piece(0, "z", "", "}")], &["a read {}"]);
    // The name comes in a later piece. Arguments are an object or null.
    check(&[piece(0, "a", "", ""), piece(0, "", "read", "{}")], &["a read {}"]);
    let object = json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "read", "arguments": {"p": [1]}}}]});
    check(&[object], &[r#"a read {"p":[1]}"#]);
    let null = json!({"content": null, "tool_calls": [{"index": 0, "id": "a", "type": null, "function": {"name": "read", "arguments": null}}]});
    check(&[null], &["a read "]);
}

#[test]
fn s111_streams_that_make_no_sense_are_clean_errors() {
    check_broken(&[piece(None::<u64>, "", "", "{}")], "tool_calls", "before any tool call");
    check_broken(
        &[piece(0, "a", "shell", ""), piece(0, "", "read_file", "{}")],
        "tool_calls",
        "began as \"shell\"",
    );
    check_broken(&[piece(0, "c1", "x", ""), piece(1, "c1", "x", "")], "tool_calls", "the same id");
    check_broken(&[piece(0, "a", "", "{}")], "tool_calls", "no name");
    let many = (0..=MAX_CALLS).map(|at| piece(at as u64, "", "x", "")).collect::<Vec<_>>();
    assert_eq!(assemble(&many, "tool_calls").unwrap_err().class, FailureClass::Total);
    assert_eq!(assemble(&many[1..], "tool_calls").unwrap().calls.len(), MAX_CALLS);
}

#[test]
fn g3_calls_need_a_finish_reason_that_allows_them() {
    let events = |end: &str| {
        vec![json!({"choices": [{"delta": piece(0, "a", "read", "{}")}]}).to_string(), end.to_owned()]
    };
    let failed = assemble_events(events("[DONE]")).unwrap_err();
    assert_eq!(failed.class, FailureClass::Broken);
    check_broken(&[piece(0, "a", "read", "{}")], "mystery", "unknown reason \"mystery\"");
    check_broken(&[piece(0, "a", "read", "{}")], "error", "ended with an error");
    check_broken(&[piece(0, "a", "read", "{}")], "", "in the middle");
    let cut = assemble(&[piece(0, "a", "read", "{\"pa")], "length").unwrap();
    assert_eq!(cut.stop, StopCause::MaxTokens);
    let ended = assemble(&[piece(0, "a", "read", "{}")], "stop").unwrap();
    assert_eq!(ended.stop, StopCause::ToolCalls);
}

#[test]
fn s83_every_way_to_stop() {
    let text = [json!({"role": "system", "content": "hi"})];
    for (reason, stop) in [
        ("stop", StopCause::EndTurn),
        ("length", StopCause::MaxTokens),
        ("content_filter", StopCause::Refusal),
        ("whatever", StopCause::EndTurn),
    ] {
        assert_eq!(assemble(&text, reason).unwrap().stop, stop, "{reason}");
    }
    assert_eq!(assemble(&[json!({"refusal": "I will not"})], "stop").unwrap().stop, StopCause::Refusal);
    let overloaded = assemble(&text, "insufficient_system_resource").unwrap_err();
    assert_eq!(overloaded.class, FailureClass::Overloaded);
    let only_done = vec![json!({"choices": [{"delta": {"content": "hi"}}]}).to_string(), "[DONE]".to_owned()];
    assert_eq!(assemble_events(only_done).unwrap_err().class, FailureClass::Broken);
    check_broken(&text, "tool_calls", "has no tool call");
    // A token limit or a filter without text is a complete reply: no retry.
    assert_eq!(assemble(&[], "length").unwrap().stop, StopCause::MaxTokens);
    assert_eq!(assemble(&[], "content_filter").unwrap().stop, StopCause::Refusal);
    check_broken(&[], "stop", "empty");
    check_broken(&[json!({"reasoning": "only thinking"})], "stop", "empty");
}

#[test]
fn s111_deltas_come_in_order_with_reasoning_under_either_name() {
    let deltas = [
        json!({"reasoning_content": "a"}),
        json!({"reasoning": "b", "content": ""}),
        json!({"reasoning": "c", "reasoning_content": "c"}),
        json!({"content": "text"}),
        piece(0, "x", "read", "{}"),
        piece(0, "x", "read", ""),
    ];
    let (reply, streamed) = assemble_streamed(&deltas, "tool_calls").unwrap();
    assert_eq!(reply.reasoning, "abc");
    let reasoning = |text: &str| Delta::Reasoning(text.to_owned());
    let expected = [
        reasoning("a"),
        reasoning("b"),
        reasoning("c"),
        Delta::Text("text".to_owned()),
        Delta::ToolCall { name: "read".to_owned() },
    ];
    assert_eq!(streamed, expected);
}

#[test]
fn s83_counts_are_clamped_and_the_last_ones_hold() {
    let text = json!({"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1}}).to_string();
    let counts = |usage: Value| {
        let last = json!({"choices": [], "usage": usage}).to_string();
        assemble_events(vec![text.clone(), last]).unwrap().0.usage.unwrap()
    };
    let usage = counts(
        json!({"prompt_tokens": -5, "completion_tokens": 2.0, "prompt_tokens_details": {"cached_tokens": 7}}),
    );
    assert_eq!(
        usage,
        Usage { input_tokens: 0, output_tokens: 2, cache_read_tokens: 7, cache_write_tokens: 0 }
    );
    assert_eq!(counts(json!({"prompt_tokens": "many", "prompt_cache_hit_tokens": 3})).cache_read_tokens, 3);
    let other_details = json!({"prompt_tokens_details": {"audio_tokens": 0}, "prompt_cache_hit_tokens": 3});
    assert_eq!(counts(other_details).cache_read_tokens, 3);
    assert_eq!(counts(Value::Null).input_tokens, 1);
}

#[test]
fn s82_only_the_first_choice_is_heard() {
    let events = vec![
        json!({"choices": [{"index": 1, "delta": {"content": "no"}}, {"index": 0, "delta": {"content": "yes"}}]}).to_string(),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}).to_string(),
        json!({"choices": [{"index": 0, "delta": {"content": "late"}}]}).to_string(),
    ];
    assert_eq!(assemble_events(events).unwrap().0.text, "yes");
}

#[test]
fn finding_f7_pieces_that_may_be_of_either_call_are_not_put_together() {
    let begun = [piece(0, "a", "read", "{\"pa"), piece(0, "b", "read", "")];
    let more = [json!({"tool_calls": [{"index": 0, "function": {"arguments": "th\": 1}"}}]})];
    check_broken(&[&begun[..], &more[..]].concat(), "tool_calls", "may belong to two of its tool calls");
    // The first call is complete, so the piece belongs to the second.
    let first = [piece(0, "a", "read", "{}"), piece(0, "b", "read", "")];
    let reply = assemble(
        &[&first[..], &[json!({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]})]].concat(),
        "tool_calls",
    )
    .unwrap();
    assert_eq!(reply.calls[1].arguments, "{}");
}

#[test]
fn finding_f7_a_call_without_arguments_still_waits_for_them() {
    // Each call has the index zero and the first has no arguments yet, so the next piece may belong to either.
    let begun = [piece(0, "a", "read", ""), piece(0, "b", "list", "")];
    let more = [json!({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]})];
    check_broken(&[&begun[..], &more[..]].concat(), "tool_calls", "may belong to two of its tool calls");
    // With an id in the piece, or with a complete first call, the piece is clear.
    check(&[&begun[..], &[piece(0, "b", "", "{}")]].concat(), &["a read ", "b list {}"]);
    check(&[&begun[..], &[piece(0, "a", "", "{}")]].concat(), &["a read {}", "b list "]);
    // An id that no call has makes nothing clear.
    let foreign = [piece(0, "z", "", "{}")];
    check_broken(&[&begun[..], &foreign[..]].concat(), "tool_calls", "may belong to two of its tool calls");
    // A call between the two changes nothing.
    let apart = [piece(0, "a", "read", ""), piece(1, "c", "find", "{}"), piece(0, "b", "list", "")];
    check_broken(&[&apart[..], &more[..]].concat(), "tool_calls", "may belong to two of its tool calls");
    // Nor does the id of a call with another index.
    let crossed = [piece(0, "c", "", "{}")];
    check_broken(&[&apart[..], &crossed[..]].concat(), "tool_calls", "may belong to two of its tool calls");
    let whole = [piece(0, "a", "read", "{}"), piece(0, "b", "list", "")];
    check(&[&whole[..], &more[..]].concat(), &["a read {}", "b list {}"]);
}

#[test]
fn finding_f7_a_reply_of_many_calls_is_read_whole() {
    let many = (0..300).map(|at| piece(at, "", "x", "{}")).collect::<Vec<_>>();
    assert_eq!(assemble(&many, "tool_calls").unwrap().calls.len(), 300);
}
