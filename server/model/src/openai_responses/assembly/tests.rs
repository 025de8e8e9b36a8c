//! Replies from streams that real servers send, and from invalid streams.

mod ends;
mod keeping;
mod mixes;

use adjutant_core::machine::retry::FailureClass;
use adjutant_core::prompt::Delta;
use serde_json::json;

use super::*;
use crate::tests::request;

/// A reply and its deltas.
type Streamed = (Reply, Vec<Delta>);

fn assembled(events: &[Value]) -> Result<Streamed, CallFailure> {
    let endpoint = Endpoint { provider: "acme", model: "m1", key: None };
    let mut assembly = ResponsesAssembly::new(&request("hello"), endpoint, Arc::default());
    let mut streamed = Vec::new();
    for event in events {
        let data = event.to_string();
        let event = Event { name: event["type"].as_str().unwrap_or_default(), id: "", data: &data };
        if !ResponsesAssembly::is_keep_alive(&event) {
            assembly.add_event(&event, &mut |delta| streamed.push(delta))?;
        }
    }
    Ok((assembly.complete()?, streamed))
}

fn whole(body: &Value) -> Result<Reply, CallFailure> {
    let endpoint = Endpoint { provider: "acme", model: "m1", key: None };
    let mut assembly = ResponsesAssembly::new(&request("hello"), endpoint, Arc::default());
    assembly.add_whole(&body.to_string(), &mut |_| {})?;
    assembly.complete()
}

fn check_broken(events: &[Value], because: &str) {
    let failed = assembled(events).unwrap_err();
    assert_eq!(failed.class, FailureClass::Broken, "{}", failed.message);
    assert!(failed.message.contains(because), "{}", failed.message);
}

/// Checks the text of a reply, and that its deltas are the same text.
fn check_text(events: &[Value], text: &str) {
    let (reply, streamed) = assembled(events).unwrap();
    assert_eq!(reply.text, text);
    assert_eq!(words(&streamed), text);
}

fn words(streamed: &[Delta]) -> String {
    streamed.iter().map(|delta| if let Delta::Text(text) = delta { text.as_str() } else { "" }).collect()
}

/// Checks that the calls come out as `id name arguments`.
fn check_calls(events: &[Value], expected: &[&str]) {
    let (reply, streamed) = assembled(events).unwrap();
    let calls = reply.calls.iter().map(|call| format!("{} {} {}", call.id, call.name, call.arguments));
    assert_eq!(calls.collect::<Vec<_>>(), expected);
    assert_eq!(reply.stop, StopCause::ToolCalls);
    let named = streamed.iter().filter(|delta| matches!(delta, Delta::ToolCall { .. })).count();
    assert_eq!(named, expected.len(), "each call is streamed once");
}

/// An event of the item at `index`, with the id of that item.
fn event(kind: &str, index: i64, fields: Value) -> Value {
    let mut event =
        json!({"type": format!("response.{kind}"), "output_index": index, "item_id": format!("i{index}")});
    event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    event
}

fn added(index: i64, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn ended(index: i64, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn message(id: &str, text: &str) -> Value {
    json!({"id": id, "type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn call(id: &str, call_id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function_call", "call_id": call_id, "name": name, "arguments": arguments})
}

fn text(index: i64, piece: &str) -> Value {
    event("output_text.delta", index, json!({"content_index": 0, "delta": piece}))
}

fn arguments(index: i64, piece: &str) -> Value {
    event("function_call_arguments.delta", index, json!({"delta": piece}))
}

fn completed(output: Value) -> Value {
    json!({"type": "response.completed", "response": {"status": "completed", "output": output}})
}

#[test]
fn s111_split_and_interleaved_arguments() {
    let stream = [
        added(0, call("i0", "a", "read", "")),
        added(1, call("i1", "b", "list", "")),
        arguments(0, "{\"p\""),
        arguments(1, "{"),
        arguments(0, ":1}"),
        arguments(1, "}"),
        event("function_call_arguments.done", 0, json!({"arguments": "{\"p\":1}"})),
        ended(0, call("i0", "a", "read", "{\"p\":1}")),
        ended(1, call("i1", "b", "list", "{}")),
        completed(json!([call("i0", "a", "read", "{\"p\":1}"), call("i1", "b", "list", "{}")])),
    ];
    check_calls(&stream, &[r#"a read {"p":1}"#, "b list {}"]);
}

#[test]
fn s111_arguments_may_come_late_and_only_once() {
    let begun = || added(0, call("i0", "a", "read", ""));
    let given = |item: Value| completed(json!([item]));
    let expected = &["a read {\"p\":1}"];
    let in_done = event("function_call_arguments.done", 0, json!({"arguments": "{\"p\":1}"}));
    check_calls(&[begun(), in_done.clone(), completed(json!([]))], expected);
    check_calls(&[begun(), ended(0, call("i0", "a", "read", "{\"p\":1}")), completed(json!([]))], expected);
    check_calls(&[begun(), given(call("i0", "a", "read", "{\"p\":1}"))], expected);
    check_calls(&[ended(0, call("i0", "a", "read", "{\"p\":1}")), completed(json!([]))], expected);
    check_calls(&[given(call("i0", "a", "read", "{\"p\":1}"))], expected);
    // The complete arguments have the part that the deltas lack.
    check_calls(&[begun(), arguments(0, "{\"p"), in_done, completed(json!([]))], expected);
    // No complete arguments at the end, and an empty last event.
    let left_out = [begun(), arguments(0, "{\"p\":1}"), ended(0, call("i0", "a", "read", ""))];
    check_calls(&[&left_out[..], &[json!({"type": "response.completed"})]].concat(), expected);
    // Other white space, and an object instead of its text.
    let mut object = call("i0", "a", "read", "");
    object["arguments"] = json!({"p": 1});
    check_calls(&[begun(), arguments(0, "{\"p\": 1}"), given(object.clone())], &["a read {\"p\": 1}"]);
    check_calls(&[given(object)], expected);
}

#[test]
fn s111_items_are_told_apart_by_whatever_mark_is_good() {
    // Each item has the index zero.
    let at_zero = |kind: &str, id: &str, field: &str, text: &str| {
        let mut event = event(kind, 0, json!({"item_id": id}));
        event[field] = json!(text);
        event
    };
    let zero = [
        added(0, call("x", "a", "read", "")),
        at_zero("function_call_arguments.delta", "x", "delta", "{}"),
        added(0, call("y", "b", "list", "")),
        at_zero("function_call_arguments.delta", "y", "delta", "[1"),
        at_zero("function_call_arguments.delta", "x", "delta", " "),
        at_zero("function_call_arguments.delta", "y", "delta", "]"),
        ended(0, call("y", "b", "list", "[1]")),
        ended(0, call("x", "a", "read", "{} ")),
        completed(json!([call("x", "a", "read", "{} "), call("y", "b", "list", "[1]")])),
    ];
    check_calls(&zero, &["a read {} ", "b list [1]"]);
    // Each event has another id.
    let fresh = [
        added(0, message("q1", "")),
        at_zero("output_text.delta", "q2", "delta", "one "),
        at_zero("output_text.delta", "q3", "delta", "two"),
        at_zero("output_text.done", "q4", "text", "one two"),
        ended(0, message("q5", "one two")),
        completed(json!([message("q6", "one two")])),
    ];
    check_text(&fresh, "one two");
    // The last item ends first, and only its index identifies it.
    let crossed = [
        at_zero("output_text.delta", "q1", "delta", "one"),
        event("output_text.delta", 1, json!({"item_id": "q2", "delta": "two"})),
        ended(1, message("q3", "two")),
        ended(0, message("q4", "one")),
        completed(json!([message("q5", "one"), message("q6", "two")])),
    ];
    check_text(&crossed, "one\n\ntwo");
    // An item ends that never began, while another is open. The last event has new ids for both.
    let unheard = [
        arguments(2, "{\"p\""),
        ended(1, call("i1", "b", "list", "[1]")),
        arguments(2, ":1}"),
        ended(2, call("i2", "c", "read", "{\"p\":1}")),
        completed(json!([call("y", "b", "list", "[1]"), call("z", "c", "read", "{\"p\":1}")])),
    ];
    check_calls(&unheard, &[r#"c read {"p":1}"#, "b list [1]"]);
    // The second item has only deltas, and only its id identifies it at the end.
    let second = [
        arguments(1, "{\"p\":1}"),
        completed(json!([call("i0", "a", "list", "[]"), call("i1", "b", "read", "{\"p\":1}")])),
    ];
    check_calls(&second, &[r#"b read {"p":1}"#, "a list []"]);
    // No identifiers at all.
    let bare = [
        json!({"type": "response.output_text.delta", "delta": "one "}),
        json!({"type": "response.output_text.delta", "delta": "two"}),
        completed(json!([message("late", "one two")])),
    ];
    check_text(&bare, "one two");
}

#[test]
fn s111_no_word_is_told_twice_and_none_is_lost() {
    let all = || completed(json!([message("i0", "one two")]));
    check_text(&[text(0, "one "), text(0, "two"), all()], "one two");
    // The text is only in the `done` event, only in the last event, or its rest is there.
    check_text(&[ended(0, message("i0", "one two")), all()], "one two");
    check_text(&[all()], "one two");
    check_text(&[text(0, "one "), all()], "one two");
    check_text(
        &[text(0, "one "), event("output_text.done", 0, json!({"text": "one two"})), all()],
        "one two",
    );
    // After its item, and with other white space around it.
    let late = event("output_text.done", 0, json!({"text": "one two"}));
    check_text(&[text(0, "one two"), ended(0, message("i0", "one two")), late, all()], "one two");
    check_text(&[text(0, "one two\n"), all()], "one two\n");
    // The `done` text is empty: the streamed text counts.
    check_text(&[text(0, "one two"), completed(json!([message("i0", "")]))], "one two");
    // A gap separates two messages.
    let two = completed(json!([message("i0", "one"), message("i1", "two")]));
    check_text(&[text(0, "one"), text(1, "two"), two.clone()], "one\n\ntwo");
    check_text(&[two], "one\n\ntwo");
}

#[test]
fn s111_streams_that_contradict_themselves_are_clean_errors() {
    check_broken(
        &[text(0, "one"), completed(json!([message("i0", "two")]))],
        "the text at its end is not the one it streamed",
    );
    check_broken(&[text(0, "one"), event("output_text.done", 0, json!({"text": "two"}))], "not the one");
    let begun = added(0, call("i0", "a", "read", ""));
    let other = completed(json!([call("i0", "a", "read", "{\"p\":2}")]));
    check_broken(&[begun.clone(), arguments(0, "{\"p\":1}"), other], "are not those it streamed");
    let shorter = completed(json!([call("i0", "a", "read", "{\"p\"")]));
    check_broken(&[begun.clone(), arguments(0, "{\"p\":1}"), shorter], "are not those it streamed");
    let renamed = completed(json!([call("i0", "a", "shell", "{}")]));
    check_broken(&[begun.clone(), renamed], "began as \"read\"");
    let over = ended(0, call("i0", "a", "read", "{}"));
    check_broken(&[begun, over, arguments(0, "{}")], "continued after its end");
    check_broken(
        &[json!({"type": "response.function_call_arguments.delta", "delta": "{}"})],
        "before any tool call",
    );
    check_broken(&[arguments(0, "{}"), completed(json!([]))], "no name");
    let same = json!([call("i0", "a", "read", "{}"), call("i1", "a", "read", "[]")]);
    check_broken(&[completed(same)], "the same id");
}

#[test]
fn s111_deltas_come_in_order_and_reasoning_is_heard_once() {
    let summary = |part: i64, piece: &str| {
        event("reasoning_summary_text.delta", 0, json!({"summary_index": part, "delta": piece}))
    };
    let thought =
        event("reasoning_text.delta", 0, json!({"content_index": 0, "delta": "the same at length"}));
    let item = json!({"id": "i0", "type": "reasoning", "encrypted_content": "x", "summary": [
        {"type": "summary_text", "text": "So then"}, {"type": "summary_text", "text": "done"}],
        "content": [{"type": "reasoning_text", "text": "the same at length"}]});
    let stream = [
        summary(0, "So "),
        thought,
        summary(0, "then"),
        event("reasoning_summary_text.done", 0, json!({"summary_index": 0, "text": "So then"})),
        summary(1, "done"),
        ended(0, item.clone()),
        text(1, "text"),
        added(2, call("i2", "a", "read", "")),
        completed(json!([item, message("i1", "text"), call("i2", "a", "read", "{}")])),
    ];
    let (reply, streamed) = assembled(&stream).unwrap();
    assert_eq!(reply.reasoning, "So then\n\ndone");
    let reasoning = |text: &str| Delta::Reasoning(text.to_owned());
    let expected = [
        reasoning("So "),
        reasoning("then"),
        reasoning("\n\ndone"),
        Delta::Text("text".to_owned()),
        Delta::ToolCall { name: "read".to_owned() },
    ];
    assert_eq!(streamed, expected);
    // Reasoning only at the end, in either form. A reworded summary changes nothing that was streamed.
    let only =
        |item: Value| assembled(&[ended(0, item), text(1, "t"), completed(json!([]))]).unwrap().0.reasoning;
    assert_eq!(only(json!({"type": "reasoning", "summary": [{"text": "a"}, {"text": "b"}]})), "a\n\nb");
    assert_eq!(only(json!({"type": "reasoning", "summary": [], "content": [{"text": "raw"}]})), "raw");
    let reworded = json!({"id": "i0", "type": "reasoning", "summary": [{"text": "Otherwise"}]});
    let kept = assembled(&[summary(0, "So"), text(1, "t"), completed(json!([reworded, message("i1", "t")]))]);
    assert_eq!(kept.unwrap().0.reasoning, "So");
}

#[test]
fn s111_what_nobody_knows_is_skipped() {
    let stream = [
        json!({"type": "response.created", "response": {"status": "in_progress", "output": []}}),
        json!({"type": "response.audio.delta", "delta": {"not": "a text"}, "item": 7}),
        json!({"type": "response.output_text.annotation.added", "annotation": {}, "output_index": "x"}),
        json!({"type": "brand.new", "response": false}),
        added(0, json!({"id": "w", "type": "web_search_call", "status": "in_progress", "content": 1})),
        ended(0, json!({"id": "w", "type": "web_search_call", "status": "completed", "content": 1})),
        text(1, "found"),
        completed(json!([{"type": "web_search_call", "summary": 3}, message("i1", "found")])),
        text(1, "late"),
    ];
    check_text(&stream, "found");
}

#[test]
fn s111_items_and_calls_are_bounded() {
    let calls = |count: usize| {
        let calls = (0..count).map(|at| call("", &format!("c{at}"), "x", "{}"));
        assembled(&[completed(Value::from(calls.collect::<Vec<_>>()))])
    };
    assert_eq!(calls(4096).unwrap().0.calls.len(), 4096);
    assert_eq!(calls(4097).unwrap_err().class, FailureClass::Total);
    let others = vec![json!({"type": "strange"}); 4097];
    let failed = assembled(&[completed(Value::from(others))]).unwrap_err();
    assert_eq!(failed.class, FailureClass::Total);
    assert!(failed.message.contains("more items than the limit of 4096"), "{}", failed.message);
}

/// The events of a call of a free-form tool, whose last item has this input.
fn free_form_call(last: &str) -> Vec<Value> {
    let item = |status: &str, input: &str| {
        json!({"id": "ctc_1", "type": "custom_tool_call", "status": status, "call_id": "c1", "name": "apply_patch",
            "input": input})
    };
    let delta = |delta: &str| json!({"type": "response.custom_tool_call_input.delta", "item_id": "ctc_1", "output_index": 0, "delta": delta});
    vec![
        json!({"type": "response.output_item.added", "output_index": 0, "item": item("in_progress", "")}),
        delta("*** Begin "),
        delta("\"Patch\"\n"),
        json!({"type": "response.custom_tool_call_input.done", "item_id": "ctc_1", "output_index": 0, "input": last}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item("completed", last)}),
        json!({"type": "response.completed", "response": {"status": "completed", "output": [item("completed", last)]}}),
    ]
}

#[test]
fn n24_the_plain_text_of_a_call_becomes_one_json_argument() {
    let events = free_form_call("*** Begin \"Patch\"\n");
    let call = r#"c1 apply_patch {"input":"*** Begin \"Patch\"\n"}"#;
    check_calls(&events, &[call]);
    let (reply, _) = assembled(&events).unwrap();
    assert!(reply.calls[0].free_form);
    assert_eq!(reply.calls[0].free_input().as_deref(), Some("*** Begin \"Patch\"\n"));
    // Also without deltas, and without a stream.
    check_calls(&events[4..], &[call]);
    assert_eq!(whole(&events[5]["response"]).unwrap().calls, reply.calls);
    check_broken(&free_form_call("*** Begin Patch\n"), "the input of a tool call is not the one it streamed");
}
