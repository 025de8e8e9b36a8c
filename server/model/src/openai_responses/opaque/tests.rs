//! Items that are sent back: which fields are removed, and that the rest is unchanged.

use super::*;

fn check(item: &str, expected: &str) {
    assert_eq!(to_input(item).unwrap(), expected);
}

#[test]
fn s111_only_what_no_input_may_have_is_left_out() {
    check(
        r#"{"id":"rs_1","type":"reasoning","status":"completed","summary":[],"encrypted_content":"a\/b+==","content":null}"#,
        r#"{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"a\/b+=="}"#,
    );
    check(
        r#"{ "type": "message", "phase": "commentary", "status": null, "content": [ {"n": 1.50} ] }"#,
        r#"{"type":"message","phase":"commentary","content":[ {"n": 1.50} ]}"#,
    );
    check(r#"{"type":"reasoning"}"#, r#"{"type":"reasoning","summary":[]}"#);
    assert!(to_input("[1]").is_err());
}

#[test]
fn s20_a_call_the_model_got_wrong_goes_back_as_one_that_is_taken() {
    check(
        r#"{"type":"function_call","call_id":"a","arguments":"{\"p\": 1}"}"#,
        r#"{"type":"function_call","call_id":"a","arguments":"{\"p\": 1}"}"#,
    );
    check(
        r#"{"type":"function_call","call_id":"a","arguments":"{\"p"}"#,
        r#"{"type":"function_call","call_id":"a","arguments":"{\"invalid_arguments\":\"{\\\"p\"}"}"#,
    );
    check(
        r#"{"type":"function_call","arguments":{"p":1}}"#,
        r#"{"type":"function_call","arguments":"{\"p\":1}"}"#,
    );
    check(
        r#"{"type":"function_call","call_id":"a","name":"tools.read file","arguments":"{}"}"#,
        r#"{"type":"function_call","call_id":"a","name":"tools_read_file","arguments":"{}"}"#,
    );
    check(
        r#"{"type":"function_call","call_id":"a","name":"read_file","arguments":"{}"}"#,
        r#"{"type":"function_call","call_id":"a","name":"read_file","arguments":"{}"}"#,
    );
    // Names of other items stay.
    check(r#"{"type":"mcp_call","name":"a.b"}"#, r#"{"type":"mcp_call","name":"a.b"}"#);
}
