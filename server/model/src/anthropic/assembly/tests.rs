//! Replies from streams that real servers send, and from invalid streams.

use adjutant_core::machine::retry::FailureClass;
use adjutant_core::prompt::{Delta, Usage};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::draft::MAX_CALLS;
use crate::tests::request;

const ASKED: Endpoint<'static> = Endpoint { provider: "acme", model: "m1", key: None };

fn new() -> MessagesAssembly<'static> {
    MessagesAssembly::new(&request("hello"), ASKED, Arc::default())
}

/// Assembles these events and the end of a reply that stopped for `reason`.
fn assemble(events: &[Value], reason: &str) -> Result<Reply, CallFailure> {
    let end =
        [json!({"type": "message_delta", "delta": {"stop_reason": reason}}), json!({"type": "message_stop"})];
    assemble_streamed(&[events, &end].concat()).map(|(reply, _)| reply)
}

fn assemble_streamed(events: &[Value]) -> Result<(Reply, Vec<Delta>), CallFailure> {
    let mut assembly = new();
    let mut streamed = Vec::new();
    for event in events {
        let data = event.to_string();
        let event = Event { name: event["type"].as_str().unwrap_or_default(), id: "", data: &data };
        assembly.add_event(&event, &mut |delta| streamed.push(delta))?;
    }
    Ok((assembly.complete()?, streamed))
}

fn start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn tool(index: u64, id: &str, name: &str) -> Value {
    start(index, json!({"type": "tool_use", "id": id, "name": name, "input": {}}))
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn input(index: u64, piece: &str) -> Value {
    delta(index, json!({"type": "input_json_delta", "partial_json": piece}))
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn text(index: u64, text: &str) -> [Value; 3] {
    [
        start(index, json!({"type": "text", "text": ""})),
        delta(index, json!({"type": "text_delta", "text": text})),
        stop(index),
    ]
}

fn thinking(index: u64, text: &str, signature: &str) -> [Value; 4] {
    [
        start(index, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(index, json!({"type": "thinking_delta", "thinking": text})),
        delta(index, json!({"type": "signature_delta", "signature": signature})),
        stop(index),
    ]
}

/// Checks that the calls come out as `id name arguments`.
fn check(events: &[Value], expected: &[&str]) {
    let reply = assemble(events, "tool_use").unwrap();
    let calls = reply.calls.iter().map(|call| format!("{} {} {}", call.id, call.name, call.arguments));
    assert_eq!(calls.collect::<Vec<_>>(), expected);
    assert_eq!(reply.stop, StopCause::ToolCalls);
}

fn check_broken(events: &[Value], because: &str) {
    let failed = assemble(events, "tool_use").unwrap_err();
    assert_eq!(failed.class, FailureClass::Broken);
    assert!(failed.message.contains(because), "{}", failed.message);
}

#[test]
fn s111_split_interleaved_and_unordered_blocks() {
    check(
        &[
            tool(1, "b", "list"),
            tool(0, "a", "read"),
            input(0, "{\"p\""),
            input(1, "{"),
            input(0, ":1}"),
            input(1, "}"),
            stop(0),
            stop(1),
        ],
        &["b list {}", r#"a read {"p":1}"#],
    );
    // Other blocks in between, and gaps in the numbers.
    let events = [vec![tool(3, "a", "read")], text(7, "so").to_vec(), vec![input(3, "{}"), stop(3)]];
    check(&events.concat(), &["a read {}"]);
}

#[test]
fn s111_arguments_may_come_whole_or_not_at_all() {
    let whole = start(0, json!({"type": "tool_use", "id": "a", "name": "read", "input": {"b": 1, "a": [2]}}));
    check(&[whole.clone(), stop(0)], &[r#"a read {"a":[2],"b":1}"#]);
    // Arguments in deltas replace those of the start event.
    check(&[whole, input(0, "{\"c\":3}"), stop(0)], &[r#"a read {"c":3}"#]);
    check(&[tool(0, "a", "read"), stop(0)], &["a read {}"]);
    check(&[tool(0, "a", "read"), input(0, ""), stop(0)], &["a read {}"]);
    let none = start(0, json!({"type": "tool_use", "id": "a", "name": "read", "input": null}));
    check(&[none, stop(0)], &["a read {}"]);
    // Truncated arguments in a block that stopped: the tool rejects them.
    check(&[tool(0, "a", "read"), input(0, "{\"p"), stop(0)], &["a read {\"p"]);
}

#[test]
fn s111_streams_that_make_no_sense_are_clean_errors() {
    check_broken(&[input(0, "{}")], "never began");
    check_broken(&[stop(4)], "never began");
    check_broken(&[tool(0, "a", "read"), stop(0), input(0, "{}")], "after its end");
    check_broken(&[tool(0, "a", "read"), input(0, "{}")], "never ended");
    check_broken(&[tool(0, "a", "read"), tool(0, "b", "read")], "the same number");
    check_broken(&[tool(0, "a", "read"), stop(0), tool(1, "a", "read"), stop(1)], "the same id");
    check_broken(&[tool(0, "a", ""), stop(0)], "no name");
    let words = delta(0, json!({"type": "text_delta", "text": "x"}));
    check_broken(&[tool(0, "a", "read"), words], "does not fit");
    check_broken(&[json!({"type": "content_block_start", "index": 0})], "without content");
    check_broken(&[json!({"type": "content_block_start", "content_block": {"type": "text"}})], "or number");
    check_broken(&[start(0, json!({"text": "x"}))], "makes no sense");
    let began = json!({"type": "message_start", "message": {}});
    check_broken(&[began.clone(), began], "began twice");
    let many =
        |count: usize| (0..count as u64).flat_map(|at| [tool(at, "", "x"), stop(at)]).collect::<Vec<_>>();
    assert_eq!(assemble(&many(MAX_CALLS + 1), "tool_use").unwrap_err().class, FailureClass::Total);
    assert_eq!(assemble(&many(MAX_CALLS), "tool_use").unwrap().calls.len(), MAX_CALLS);
    let blocks = (0..=MAX_BLOCKS as u64).flat_map(|at| text(at, "x")).collect::<Vec<_>>();
    assert_eq!(assemble(&blocks, "end_turn").unwrap_err().class, FailureClass::Total);
}

#[test]
fn g3_calls_need_a_stop_reason_that_allows_them() {
    let call = [tool(0, "a", "read"), input(0, "{\"pa"), stop(0)];
    let failed = assemble_streamed(&call).unwrap_err();
    assert!(failed.message.contains("ended in the middle"), "{}", failed.message);
    let ended = [call.as_slice(), &[json!({"type": "message_stop"})]].concat();
    let failed = assemble_streamed(&ended).unwrap_err();
    assert!(failed.message.contains("without a finish reason"), "{}", failed.message);
    let failed = assemble(&call, "mystery").unwrap_err();
    assert!(failed.message.contains("unknown reason \"mystery\""), "{}", failed.message);
    for cut in ["max_tokens", "model_context_window_exceeded"] {
        // Inside an open block.
        assert_eq!(assemble(&call[..2], cut).unwrap().stop, StopCause::MaxTokens);
    }
    assert_eq!(assemble(&call, "end_turn").unwrap().stop, StopCause::ToolCalls);
}

#[test]
fn s83_every_way_to_stop() {
    for (reason, stop) in [
        ("end_turn", StopCause::EndTurn),
        ("stop_sequence", StopCause::EndTurn),
        ("pause_turn", StopCause::EndTurn),
        ("max_tokens", StopCause::MaxTokens),
        ("model_context_window_exceeded", StopCause::MaxTokens),
        ("refusal", StopCause::Refusal),
        ("whatever", StopCause::EndTurn),
    ] {
        assert_eq!(assemble(&text(0, "hi"), reason).unwrap().stop, stop, "{reason}");
    }
    let failed = assemble(&text(0, "hi"), "tool_use").unwrap_err();
    assert!(failed.message.contains("has no tool call"), "{}", failed.message);
    // A token limit without text, and a refusal without text, are complete replies: no retry.
    assert_eq!(assemble(&[], "max_tokens").unwrap().stop, StopCause::MaxTokens);
    assert_eq!(assemble(&[], "refusal").unwrap().stop, StopCause::Refusal);
    let check_empty = |said: &[Value]| {
        let failed = assemble(said, "end_turn").unwrap_err();
        assert!(failed.message.contains("empty"), "{}", failed.message);
    };
    check_empty(&[]);
    check_empty(&thinking(0, "only thinking", "sig"));
    // A text block without a stop event is complete when the message stops, also without a stop reason.
    let unended = [&text(0, "hi")[..2], &[json!({"type": "message_stop"})]].concat();
    assert_eq!(assemble_streamed(&unended).unwrap().0.text, "hi");
}

#[test]
fn s83_an_error_event_in_whatever_dress() {
    let class = |name: &str, data: &str| {
        new().add_event(&Event { name, id: "", data }, &mut |_| {}).unwrap_err().class
    };
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    assert_eq!(class("error", overloaded), FailureClass::Overloaded);
    assert_eq!(class("", overloaded), FailureClass::Overloaded);
    assert_eq!(
        class("error", r#"{"type":"error","error":{"type":"rate_limit_error"}}"#),
        FailureClass::RateLimited
    );
    assert_eq!(class("error", r#"{"type":"error","error":{"type":"api_error"}}"#), FailureClass::Overloaded);
    assert_eq!(class("error", "upstream timed out"), FailureClass::Broken);
    assert_eq!(class("", r#"{"error":{"code":429,"message":"slow down"}}"#), FailureClass::RateLimited);
    assert_eq!(class("message_start", "{\"type\":"), FailureClass::Broken);
}

#[test]
fn g4_a_ping_is_no_content_also_without_its_name() {
    let alive = |name: &str, data: &str| MessagesAssembly::is_keep_alive(&Event { name, id: "", data });
    assert!(alive("ping", r#"{"type": "ping"}"#));
    assert!(alive("", r#"{"type": "ping"}"#));
    assert!(alive("message", "{ \"type\":\"ping\" }\n"));
    assert!(!alive("content_block_delta", r#"{"type":"content_block_delta","index":0}"#));
    let said =
        delta(0, json!({"type": "text_delta", "text": "\"type\":\"ping\", or so I think"})).to_string();
    assert!(!alive("content_block_delta", &said));
}

#[test]
fn s111_deltas_come_in_order_and_what_nobody_knows_is_skipped() {
    let events = [
        vec![
            json!({"type": "message_start", "message": {"role": "system", "content": []}}),
            json!({"type": "ping"}),
        ],
        thinking(0, "hm", "sig").to_vec(),
        text(1, "one").to_vec(),
        vec![
            start(2, json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}})),
            input(2, "{\"query\": 1}"),
            stop(2),
            start(3, json!({"type": "web_search_tool_result", "content": []})),
            stop(3),
            json!({"type": "something_new", "index": 9}),
        ],
        vec![
            start(4, json!({"type": "text", "text": "two"})),
            delta(4, json!({"type": "citations_delta", "citation": {"url": "x"}})),
            delta(4, json!({"type": "text_delta", "text": ""})),
            stop(4),
            tool(5, "a", "read"),
            stop(5),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
            // Adds nothing, because the reply is complete.
            start(6, json!({"type": "text", "text": "late"})),
            json!({"type": "message_stop"}),
            json!({"type": "message_start", "message": {}}),
        ],
    ];
    let (reply, streamed) = assemble_streamed(&events.concat()).unwrap();
    let expected = [
        Delta::Reasoning("hm".to_owned()),
        Delta::Text("one".to_owned()),
        Delta::Text("two".to_owned()),
        Delta::ToolCall { name: "read".to_owned() },
    ];
    assert_eq!(streamed, expected);
    assert_eq!((reply.text.as_str(), reply.reasoning.as_str()), ("onetwo", "hm"));
    assert_eq!(reply.calls.len(), 1);
}

#[test]
fn s85_signed_reasoning_is_kept_as_it_came() {
    let redacted = r#"{"type":"redacted_thinking","data":"b64+/=="}"#;
    let events = [
        thinking(0, "first \"this\"", "sig+/==").to_vec(),
        text(1, "so: ").to_vec(),
        vec![start(2, serde_json::from_str(redacted).unwrap()), stop(2)],
        vec![tool(3, "a", "read"), input(3, "{\"z\": 1,  \"a\""), input(3, ": 2.50}"), stop(3)],
        text(4, " \n").to_vec(),
        thinking(5, "unsigned", "").to_vec(),
        vec![tool(6, "b", "list"), stop(6)],
        vec![tool(7, "c", "list"), input(7, "{\"cut"), stop(7)],
        thinking(8, "last", "sig").to_vec(),
    ];
    let reply = assemble(&events.concat(), "tool_use").unwrap();
    let kept = reply.kept.unwrap();
    assert_eq!(
        (kept.wire, kept.provider.as_str(), kept.model.as_str()),
        (Wire::AnthropicMessages, "acme", "m1")
    );
    // Anthropic would reject blank texts, unsigned thinking, thinking at the end and invalid arguments.
    assert_eq!(
        kept.items,
        [
            r#"{"type":"thinking","thinking":"first \"this\"","signature":"sig+/=="}"#,
            r#"{"type":"text","text":"so: "}"#,
            &redacted.replace(
                r#""type":"redacted_thinking","data":"b64+/==""#,
                r#""data":"b64+/==","type":"redacted_thinking""#
            ),
            r#"{"type":"tool_use","id":"a","name":"read","input":{"z": 1,  "a": 2.50}}"#,
            r#"{"type":"tool_use","id":"b","name":"list","input":{}}"#,
            r#"{"type":"tool_use","id":"c","name":"list","input":{"invalid_arguments":"{\"cut"}}"#,
        ]
    );
}

#[test]
fn s85_without_reasoning_that_has_to_come_back_nothing_is_kept() {
    let kept = |events: &[&[Value]], reason| assemble(&events.concat(), reason).unwrap().kept;
    assert!(kept(&[&text(0, "hi")], "end_turn").is_none());
    assert!(kept(&[&thinking(0, "hm", ""), &text(1, "hi")], "end_turn").is_none());
    assert!(kept(&[&thinking(0, "hm", "sig")], "max_tokens").is_none());
    assert!(kept(&[&thinking(0, "", "sig"), &text(1, "hi")], "end_turn").is_some());
    // A blank text is not sent back, so it does not count as an end either.
    assert!(kept(&[&thinking(0, "", "sig"), &text(1, " \n")], "end_turn").is_none());
    let blank = kept(&[&text(0, "hi"), &thinking(1, "", "sig"), &text(2, "\n")], "end_turn").unwrap();
    assert_eq!(blank.items, [r#"{"type":"text","text":"hi"}"#]);
    let nameless =
        kept(&[&text(0, "hi"), &thinking(1, "", "sig"), &[tool(2, "a", "")]], "max_tokens").unwrap();
    assert_eq!(nameless.items, [r#"{"type":"text","text":"hi"}"#]);
    // A call without a name is neither in the reply nor in the items.
    let cut = kept(&[&thinking(0, "", "sig"), &text(1, "hi"), &[tool(2, "a", "")]], "max_tokens").unwrap();
    assert_eq!(cut.items.len(), 2);
}

#[test]
fn s85_what_is_kept_is_bounded() {
    let secret = "x".repeat(9 << 20);
    let redacted = |at| start(at, json!({"type": "redacted_thinking", "data": secret}));
    let failed = assemble(&[redacted(0), stop(0), redacted(1)], "end_turn").unwrap_err();
    assert_eq!(failed.class, FailureClass::Total);
    assert!(failed.message.contains("more reasoning than the limit of 16 MiB"), "{}", failed.message);
}

#[test]
fn s83_counts_include_the_cache_and_only_grow() {
    let usage = |events: &[Value]| {
        let ends = [json!({"type": "message_stop"})];
        assemble_streamed(&[events, &text(0, "hi"), &ends].concat()).unwrap().0.usage
    };
    let began = json!({"type": "message_start", "message": {"usage": {"input_tokens": 10,
        "cache_creation_input_tokens": 200, "cache_read_input_tokens": 3000, "output_tokens": 1}}});
    let ended = |usage: Value| json!({"type": "message_delta", "delta": {}, "usage": usage});
    let expected = |output| {
        Some(Usage {
            input_tokens: 3210,
            output_tokens: output,
            cache_read_tokens: 3000,
            cache_write_tokens: 200,
        })
    };
    assert_eq!(usage(std::slice::from_ref(&began)), expected(1));
    assert_eq!(usage(&[began.clone(), ended(json!({"output_tokens": 7}))]), expected(7));
    assert_eq!(usage(&[began.clone(), ended(json!({"output_tokens": -7, "input_tokens": 0}))]), expected(1));
    assert_eq!(
        usage(&[began, ended(json!({"output_tokens": 2.0, "cache_read_input_tokens": null}))]),
        expected(2)
    );
    assert_eq!(usage(&[]), None);
}

#[test]
fn s81_a_whole_answer_is_taken_as_its_stream_would_be() {
    let whole = |body: Value| {
        let mut assembly = new();
        assembly.add_whole(&body.to_string(), &mut |_| {})?;
        assembly.complete()
    };
    let reply = whole(json!({"type": "message", "role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "text", "text": "so"},
        {"type": "tool_use", "id": "a", "name": "read", "input": {"p": 1}},
    ], "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 2}}))
    .unwrap();
    let streamed = [
        vec![json!({"type": "message_start", "message": {"usage": {"input_tokens": 1, "output_tokens": 0}}})],
        thinking(0, "hm", "sig").to_vec(),
        text(1, "so").to_vec(),
        vec![tool(2, "a", "read"), input(2, "{\"p\":1}"), stop(2)],
        vec![json!({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 2}})],
    ];
    assert_eq!(reply, assemble(&streamed.concat(), "tool_use").unwrap());
    let failed = |body: Value| whole(body).unwrap_err().class;
    assert_eq!(
        failed(json!({"type": "error", "error": {"type": "overloaded_error"}})),
        FailureClass::Overloaded
    );
    assert_eq!(failed(json!({})), FailureClass::Broken);
    assert_eq!(failed(json!({"content": [], "stop_reason": "end_turn"})), FailureClass::Broken);
}

/// Events in any order, whether they fit together or not.
fn some_event() -> impl Strategy<Value = Value> {
    (0..3_u64, 0..12_usize).prop_map(|(index, kind)| match kind {
        0 => json!({"type": "message_start", "message": {"usage": {"input_tokens": 3}}}),
        1 => start(index, json!({"type": "text", "text": ""})),
        2 => start(index, json!({"type": "thinking", "thinking": "", "signature": "s"})),
        3 => start(index, json!({"type": "redacted_thinking", "data": "d"})),
        4 => tool(index, &format!("c{index}"), "read"),
        5 => delta(index, json!({"type": "text_delta", "text": "né "})),
        6 => delta(index, json!({"type": "thinking_delta", "thinking": "hm"})),
        7 => input(index, "{\"p\":"),
        8 => input(index, "1}"),
        9 => json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        10 => json!({"type": "message_stop"}),
        _ => stop(index),
    })
}

proptest! {
    #[test]
    fn s111_no_events_make_the_assembly_of_messages_panic(events in prop::collection::vec(some_event(), 0..24)) {
        match assemble_streamed(&events) {
            Ok((reply, streamed)) => {
                // The deltas make up the text, and the opaque items are valid JSON.
                let texts = streamed.iter().map(|delta| if let Delta::Text(text) = delta { text } else { "" });
                prop_assert_eq!(&texts.collect::<String>(), &reply.text);
                for item in reply.kept.into_iter().flat_map(|kept| kept.items) {
                    prop_assert!(serde_json::from_str::<Value>(&item).unwrap().is_object());
                }
            }
            Err(failed) => prop_assert_eq!(failed.class, FailureClass::Broken),
        }
    }
}
