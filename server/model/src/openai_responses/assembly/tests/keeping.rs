//! Which items of an output are stored to be sent back unchanged, and when none are.

use super::*;

fn reasoning(id: &str, sealed: Value) -> Value {
    json!({"id": id, "type": "reasoning", "summary": [], "encrypted_content": sealed})
}

fn kept(events: &[Value]) -> Option<Vec<Value>> {
    let kept = assembled(events).unwrap().0.kept?;
    assert_eq!((kept.wire.name(), &*kept.provider, &*kept.model), ("openai_responses", "acme", "m1"));
    Some(kept.items.iter().map(|item| serde_json::from_str(item).unwrap()).collect())
}

#[test]
fn s111_sealed_reasoning_is_kept_with_all_that_stood_beside_it() {
    let output = [
        reasoning("r", json!("sealed+/==")),
        message("m", "So:"),
        reasoning("r2", json!("more")),
        call("f", "a", "read", "{}"),
    ];
    // In the order of the output, no matter which item ended first.
    let ends = [3, 0, 2, 1].map(|at: usize| ended(at as i64, output[at].clone()));
    let ended_only = [&ends[..], &[completed(json!([]))]].concat();
    assert_eq!(kept(&ended_only), Some(output.to_vec()));
    assert_eq!(kept(&[completed(Value::from(output.to_vec()))]), Some(output.to_vec()));
    // The JSON is the same, byte for byte: white space, order and spelling.
    let odd =
        r#"{ "type":"reasoning","zeta": 1.50, "encrypted_content" : "a\/b+==", "id":"r","summary":[] }"#;
    let end = format!(r#"{{"type":"response.completed","response":{{"output":[{odd},{}]}}}}"#, output[1]);
    let endpoint = Endpoint { provider: "acme", model: "m1", key: None };
    let mut assembly = ResponsesAssembly::new(&request("hello"), endpoint, Arc::default());
    assembly.add_event(&Event { name: "", id: "", data: &end }, &mut |_| {}).unwrap();
    assert_eq!(assembly.complete().unwrap().kept.unwrap().items[0], odd);
}

#[test]
fn s111_a_phase_is_kept_and_plain_words_are_not() {
    let mut phased = message("m", "So:");
    phased["phase"] = json!("commentary");
    assert_eq!(kept(&[completed(json!([phased]))]), Some(vec![phased]));
    assert_eq!(kept(&[completed(json!([message("m", "So:"), call("f", "a", "read", "{}")]))]), None);
}

#[test]
fn s111_an_output_is_kept_whole_or_not_at_all() {
    let sealed = || reasoning("r", json!("sealed"));
    let with = |items: Value| kept(&[completed(items)]);
    // Only a reference by id, which the provider does not store.
    assert_eq!(with(json!([reasoning("r", Value::Null), message("m", "So:")])), None);
    assert_eq!(with(json!([reasoning("r", json!("")), sealed(), message("m", "So:")])), None);
    // Readable reasoning is self-contained.
    let open = json!({"id": "r", "type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]});
    assert_eq!(with(json!([open, message("m", "So:")])).map(|items| items.len()), Some(2));
    // Reasoning without an item after it would be rejected, and nothing else is left.
    assert_eq!(with(json!([sealed(), message("m", "So:"), sealed()])).map(|items| items.len()), Some(2));
    assert_eq!(with(json!([message("m", "So:"), sealed()])), None);
    // The provider sent no id, so the output could not be paired with the call.
    assert_eq!(with(json!([sealed(), call("f", "", "read", "{}")])), None);
    let long = "x".repeat(65);
    assert_eq!(with(json!([sealed(), call("f", &long, "read", "{}")])), None);
    // Text that was streamed but is not in the item.
    assert_eq!(kept(&[ended(0, sealed()), text(1, "So:"), completed(json!([]))]), None);
    assert_eq!(kept(&[text(1, "So:"), completed(json!([sealed(), message("i1", "")]))]), None);
    // No request continues a reply that was cut.
    let cut = json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"},
        "output": [sealed(), message("m", "So")]}});
    assert_eq!(kept(&[cut]), None);
}

#[test]
fn s111_what_is_kept_is_bounded_and_the_reply_is_not_lost_for_it() {
    let large = reasoning("r", json!("x".repeat(9 << 20)));
    let one = [ended(0, large.clone()), ended(1, message("m", "So:")), completed(json!([]))];
    assert_eq!(kept(&one).map(|items| items.len()), Some(2));
    let two =
        [ended(0, large.clone()), ended(2, reasoning("r2", json!("x".repeat(9 << 20)))), one[1].clone()];
    let two = [&two[..], &[completed(json!([]))]].concat();
    assert_eq!(kept(&two), None);
    assert_eq!(assembled(&two).unwrap().0.text, "So:");
    // The same item again counts once towards the limit.
    let again = [ended(0, large.clone()), one[1].clone(), completed(json!([large, message("m", "So:")]))];
    assert_eq!(kept(&again).map(|items| items.len()), Some(2));
}
