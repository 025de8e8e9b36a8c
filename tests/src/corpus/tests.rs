//! Tests of the reader of corpus lines.

use serde_json::json;

use super::*;

#[test]
fn base_64_is_read_as_it_is_written() {
    assert_eq!(decoded("TWFu"), b"Man");
    assert_eq!(decoded("TWE="), b"Ma");
    assert_eq!(decoded("TQ=="), b"M");
    assert_eq!(decoded("//4AAQ=="), [0xff, 0xfe, 0, 1]);
}

#[test]
fn what_is_made_is_written_out() {
    assert_eq!(generated(&json!({"parts": [{"text": "a"}, {"repeat": "bc", "n": 2}]})), b"abcbc");
    assert_eq!(generated(&json!({"repeat": "n", "n": 3})), b"nnn");
    assert_eq!(filled("{{A}}/b/{{A}}", |name| (name == "A").then(|| "x".to_owned())), "x/b/x");
}

#[test]
#[should_panic(expected = "unknown members")]
fn a_member_nobody_knows_fails() {
    read("x", r#"{"id":"a","class":"b","input":1,"expect":"ok","why":"w","source":"s","oops":1}"#);
}
