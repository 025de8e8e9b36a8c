//! Tests of the envelope: which bodies are refused, and with which answer. Never touches a stream.

use super::*;

fn refusal(body: &[u8]) -> (i64, Option<String>) {
    match parse(body) {
        Err(refusal) => (refusal.code, refusal.id.map(|id| id.token().to_owned())),
        Ok(envelope) => panic!("{} is {envelope:?}", String::from_utf8_lossy(body)),
    }
}

#[test]
fn bad_envelopes_are_refused_with_the_code_and_the_id_that_could_be_read() {
    let deep = "{\"a\":".repeat(100_000);
    let long_id = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"m"}}"#, "x".repeat(2000));
    let cases: &[(&str, i64, Option<&str>)] = &[
        ("", -32700, None),
        ("{", -32700, None),
        ("nonsense", -32700, None),
        (&deep, -32700, None),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m"} x"#, -32700, None),
        ("\u{feff}{}", -32700, None),
        ("[1,2]", -32600, None),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"m"}]"#, -32600, None),
        ("[]", -32600, None),
        ("null", -32600, None),
        ("\"text\"", -32600, None),
        ("{}", -32600, None),
        (r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#, -32600, Some("1")),
        (r#"{"jsonrpc":2.0,"id":1,"method":"m"}"#, -32600, Some("1")),
        (r#"{"id":"a","method":"m"}"#, -32600, Some("\"a\"")),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600, Some("1")),
        (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, -32600, Some("1")),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1.0,"method":"m"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1e3,"method":"m"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":true,"method":"m"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"m"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, -32600, None),
        (&long_id, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"m"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","method":"n"}"#, -32600, Some("1")),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","x":1,"x":1}"#, -32600, Some("1")),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","result":1}"#, -32600, Some("1")),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":5}"#, -32600, Some("1")),
        (r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","result":1}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1.5,"result":1}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1,"result":1,"params":{}}"#, -32600, None),
    ];
    for (body, code, id) in cases {
        let shown = &body[..body.len().min(80)];
        assert_eq!(refusal(body.as_bytes()), (*code, id.map(str::to_owned)), "{shown}");
    }
    assert_eq!(refusal(b"\xff\xfe\x00\x01"), (-32700, None));
    assert_eq!(refusal(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}"), (-32700, None));
}

#[test]
fn good_envelopes_are_exactly_one_thing() {
    let parsed = |text: &str| parse(text.as_bytes()).unwrap_or_else(|r| panic!("{text}: {r:?}"));
    assert!(matches!(
        parsed(r#" {"method":"m","params":[1],"id":"\u0000","jsonrpc":"2.0","extra":0} "#),
        Envelope::Request { id, method, params: Some(p) }
            if id.token() == r#""\u0000""# && method == "m" && p.get() == "[1]"
    ));
    assert!(matches!(
        parsed(r#"{"jsonrpc":"2.0","method":"m","params":null}"#),
        Envelope::Notification { params: None, .. }
    ));
    assert!(matches!(
        parsed(r#"{"jsonrpc":"2.0","id":7,"result":null}"#),
        Envelope::Response { id: Some(id), reply: Ok(_) } if *id.key() == IdKey::Number(7)
    ));
    assert!(matches!(
        parsed(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#),
        Envelope::Response { id: None, reply: Err(e) } if e.code == -32700 && e.message == "no"
    ));
}

#[test]
fn ids_written_differently_mean_the_same() {
    let key = |token: &str| {
        let raw: Box<RawValue> = serde_json::from_str(token).expect("valid");
        RequestId::read(&raw).expect("legal").key().clone()
    };
    assert_eq!(key(r#""a""#), key(r#""\u0061""#));
    assert_eq!(key("0"), key("-0"));
    assert_ne!(key("1"), key(r#""1""#));
    assert_eq!(key("123456789012345678901"), IdKey::Digits("123456789012345678901".into()));
}

#[test]
fn half_a_surrogate_pair_does_not_lose_the_message() {
    let raw = |text: &str| serde_json::from_str::<Box<RawValue>>(text).expect("valid");
    let mended = |text: &str| tree(&raw(text)).expect("readable");
    assert_eq!(mended(r#"["a\ud83dz"]"#), serde_json::json!(["a\u{fffd}z"]));
    assert_eq!(mended(r#"["\ude00\ud83d"]"#), serde_json::json!(["\u{fffd}\u{fffd}"]));
    assert_eq!(
        mended(r#"["\ud83d\ud83d\ude00 \\ud83d \u00e9"]"#),
        serde_json::json!(["\u{fffd}\u{1f600} \\ud83d é"])
    );
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(tree(&raw(&deep)).is_err());
    assert!(tree(&raw("[1e999]")).is_err());
}

#[test]
fn bodies_without_params_have_no_params_key() {
    assert_eq!(call_body(None, "a/b", &()).as_deref(), Ok(&br#"{"jsonrpc":"2.0","method":"a/b"}"#[..]));
    assert_eq!(
        call_body(Some(3), "m", &[1, 2]).as_deref(),
        Ok(&br#"{"jsonrpc":"2.0","id":3,"method":"m","params":[1,2]}"#[..])
    );
}

#[test]
fn a_body_over_the_limit_is_not_sent() {
    let text = "x".repeat(BODY_LIMIT);
    assert!(call_body(None, "m", &[text]).is_err());
}

/// Found by fuzzing: a fraction with many digits was written again as a neighbouring number.
#[test]
fn a_number_written_again_is_the_same_number() {
    let body = |number: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":1,"message":"","data":{number}}}}}"#)
    };
    for number in
        ["1.3026066666666628e+101", "0.1", "1.7976931348623157e+308", "5e-324", "0.30000000000000004"]
    {
        let Ok(Envelope::Response { reply: Err(ErrorBody { data: Some(data), .. }), .. }) =
            parse(body(number).as_bytes())
        else {
            panic!("an answer with an error");
        };
        assert_eq!(data.as_f64(), number.parse().ok());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&data.to_string()).unwrap(), data);
    }
    let read: f64 = serde_json::from_str("1.3026066666666627e+101").unwrap();
    assert_eq!(Ok(read), "1.3026066666666627e+101".parse());
}
