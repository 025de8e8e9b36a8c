//! How replies end: the last event decides.

use adjutant_core::prompt::Usage;

use super::*;

fn ended_for(status: &str, reason: Option<&str>) -> Value {
    let details = reason.map(|reason| json!({"reason": reason}));
    json!({"type": format!("response.{status}"), "response": {"status": status, "incomplete_details": details}})
}

#[test]
fn g3_a_reply_without_its_last_event_is_cut_short() {
    let said = [
        added(0, message("i0", "")),
        text(0, "all of it"),
        event("output_text.done", 0, json!({"text": "all of it"})),
        ended(0, message("i0", "all of it")),
    ];
    check_broken(&said, "in the middle");
    let called = [added(0, call("i0", "a", "read", "")), ended(0, call("i0", "a", "read", "{}"))];
    check_broken(&called, "in the middle");
    let begun = [json!({"type": "response.created"}), json!({"type": "response.in_progress"})];
    check_broken(&begun, "in the middle");
}

#[test]
fn g3_calls_of_a_reply_that_was_cut_do_not_run() {
    let begun = [added(0, call("i0", "a", "read", "")), arguments(0, "{\"pa")];
    let cut = |end: Value| assembled(&[&begun[..], &[end]].concat());
    assert_eq!(cut(ended_for("incomplete", Some("max_output_tokens"))).unwrap().0.stop, StopCause::MaxTokens);
    assert_eq!(cut(ended_for("incomplete", Some("content_filter"))).unwrap().0.stop, StopCause::Refusal);
    let failed = cut(ended_for("incomplete", Some("mystery"))).unwrap_err();
    assert!(failed.message.contains("cut for the reason \"mystery\""), "{}", failed.message);
    assert_eq!(cut(ended_for("incomplete", None)).unwrap_err().class, FailureClass::Broken);
    assert_eq!(cut(ended_for("cancelled", None)).unwrap_err().class, FailureClass::Broken);
    // The last event reports success, but the call reports that it is incomplete.
    let mut item = call("i0", "a", "read", "{\"pa");
    item["status"] = json!("incomplete");
    let failed = cut(completed(json!([item]))).unwrap_err();
    assert!(failed.message.contains("a tool call of its reply never ended"), "{}", failed.message);
}

#[test]
fn s83_every_way_to_stop() {
    let stop = |end: Value| assembled(&[text(0, "hi"), end]).map(|(reply, _)| reply.stop);
    assert_eq!(stop(completed(json!([]))).unwrap(), StopCause::EndTurn);
    assert_eq!(stop(json!({"type": "response.done", "response": {}})).unwrap(), StopCause::EndTurn);
    assert_eq!(stop(ended_for("incomplete", Some("max_output_tokens"))).unwrap(), StopCause::MaxTokens);
    // The name of the event and its status may differ: the worse one counts.
    let cut = json!({"type": "response.completed", "response": {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}});
    assert_eq!(stop(cut).unwrap(), StopCause::Refusal);
    let failed = json!({"type": "response.completed", "response": {"status": "failed"}});
    assert_eq!(stop(failed).unwrap_err().class, FailureClass::Broken);
    // A token limit without text is a complete reply. An empty reply fails.
    let silent = assembled(&[ended_for("incomplete", Some("max_output_tokens"))]).unwrap().0;
    assert_eq!(silent.stop, StopCause::MaxTokens);
    check_broken(&[completed(json!([]))], "empty");
    let refusal = event("refusal.delta", 0, json!({"delta": "I will not"}));
    let (reply, streamed) = assembled(&[refusal, completed(json!([]))]).unwrap();
    assert_eq!(
        (reply.stop, reply.text.as_str(), &*words(&streamed)),
        (StopCause::Refusal, "I will not", "I will not")
    );
    let item = json!({"id": "m", "type": "message", "content": [{"type": "refusal", "refusal": "No"}]});
    assert_eq!(assembled(&[completed(json!([item]))]).unwrap().0.stop, StopCause::Refusal);
}

#[test]
fn s83_failures_inside_the_stream_have_their_class() {
    let check = |event: Value, class| {
        let failed = assembled(&[text(0, "hi"), event.clone()]).unwrap_err();
        assert_eq!(failed.class, class, "{event}");
    };
    let failed = |code: &str| json!({"type": "response.failed", "response": {"status": "failed", "error": {"code": code, "message": "no"}}});
    check(failed("rate_limit_exceeded"), FailureClass::RateLimited);
    check(failed("server_error"), FailureClass::Overloaded);
    check(failed("context_length_exceeded"), FailureClass::ContextExceeded);
    check(failed("insufficient_quota"), FailureClass::Quota);
    check(failed("invalid_prompt"), FailureClass::InvalidRequest);
    check(failed("something_new"), FailureClass::Broken);
    check(json!({"type": "response.failed", "response": {"error": null}}), FailureClass::Broken);
    check(
        json!({"type": "error", "code": "server_error", "message": "x", "param": null}),
        FailureClass::Overloaded,
    );
    check(
        json!({"type": "error", "error": {"type": "rate_limit_error", "message": "x"}}),
        FailureClass::RateLimited,
    );
    check(json!({"error": {"code": 503, "message": "x"}}), FailureClass::Overloaded);
}

#[test]
fn s83_counts_include_the_cache_and_the_reasoning() {
    let counts = |usage: Value| {
        let end = json!({"type": "response.completed", "response": {"usage": usage}});
        assembled(&[text(0, "hi"), end]).unwrap().0.usage
    };
    let usage = json!({"input_tokens": 90, "input_tokens_details": {"cached_tokens": 64},
        "output_tokens": 40, "output_tokens_details": {"reasoning_tokens": 30}, "total_tokens": 130});
    let expected =
        Usage { input_tokens: 90, output_tokens: 40, cache_read_tokens: 64, cache_write_tokens: 0 };
    assert_eq!(counts(usage), Some(expected));
    assert_eq!(counts(json!({"input_tokens": -5, "output_tokens": "many"})), Some(Usage::default()));
    assert_eq!(counts(Value::Null), None);
}

#[test]
fn s81_a_whole_answer_is_read_like_a_stream() {
    let answer = |status: &str| {
        json!({"object": "response", "status": status, "error": null, "incomplete_details": null,
        "output": [message("m", "So:"), call("f", "a", "read", "{}")], "usage": {"input_tokens": 3, "output_tokens": 2}})
    };
    let reply = whole(&answer("completed")).unwrap();
    assert_eq!((reply.text.as_str(), reply.calls.len(), reply.stop), ("So:", 1, StopCause::ToolCalls));
    assert_eq!(reply.usage.map(|usage| usage.input_tokens), Some(3));
    // Without a status and other fields: some servers write only `output`.
    assert_eq!(whole(&json!({"output": [{"type": "message", "content": "plain"}]})).unwrap().text, "plain");
    for unfinished in [answer("in_progress"), answer("queued"), json!({"object": "response"})] {
        assert_eq!(whole(&unfinished).unwrap_err().class, FailureClass::Broken, "{unfinished}");
    }
    assert_eq!(whole(&answer("failed")).unwrap_err().class, FailureClass::Broken);
    let refused =
        json!({"status": "failed", "error": {"code": "server_error", "message": "x"}, "output": []});
    assert_eq!(whole(&refused).unwrap_err().class, FailureClass::Overloaded);
}

#[test]
fn g4_what_says_nothing_of_the_reply_keeps_no_call_alive() {
    let check = |name: &str, data: &str, expected: bool| {
        let event = Event { name, id: "", data };
        assert_eq!(ResponsesAssembly::is_keep_alive(&event), expected, "{name} {data}");
    };
    check("keepalive", r#"{"type":"keepalive","sequence_number":7}"#, true);
    check("response.in_progress", r#"{"type":"response.in_progress"}"#, true);
    check("", r#"{"sequence_number": 3, "type": "keepalive"}"#, true);
    check("message", r#"{ "type" : "response.created" , "response": {}}"#, true);
    check("", "", true);
    check("", r#"{"type":"response.output_text.delta","delta":"\"type\":\"keepalive\""}"#, false);
    check("response.output_item.added", r#"{"type":"response.output_item.added"}"#, false);
    check("error", r#"{"type":"error"}"#, false);
}

#[test]
fn finding_f9_a_sign_of_life_is_one_json_value_and_no_part_of_one() {
    let idle = |data: &str| ResponsesAssembly::is_keep_alive(&Event { name: "", id: "", data });
    assert!(idle(r#"{"type":"response.in_progress","response":{}}"#));
    // The first half alone is a valid last event, so the whole must not count as a keep-alive.
    assert!(!idle(r#"{"type":"response.completed"}"type":"response.in_progress""#));
}
