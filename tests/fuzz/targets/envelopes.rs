//! Envelopes: a body is one message or none, and a message written again is the same one.

use adjutant::transport::envelope::{
    Envelope, ErrorBody, Refusal, call_body, cancelled_id, code, error_body, parse, result_body, tree,
};
use serde_json::{Value, json};

pub fn check(body: &[u8]) {
    let read: Option<Value> = serde_json::from_slice(body).ok();
    match parse(body) {
        Ok(envelope) => {
            if let Some(value) = &read {
                reads_as(&envelope, value);
            }
            look_into(&envelope);
            let again = written(&envelope);
            let back = parse(&again).unwrap_or_else(|refusal| panic!("{refusal:?} of {}", shown(&again)));
            assert_eq!(key(&envelope), key(&back), "{}", shown(&again));
        }
        Err(Refusal { id, code: given, message, lost, retryable: _ }) => {
            assert!(!message.is_empty());
            assert!(given == code::PARSE_ERROR || given == code::INVALID_REQUEST, "{given}");
            assert!(read.is_none() || given == code::INVALID_REQUEST, "valid JSON is called none");
            assert!(!(lost && id.is_some()), "what is answered is not lost");
            if let Some(id) = id {
                assert!(shown(body).contains(id.token()), "the id is not of the body");
            }
        }
    }
}

/// Another reading of the same bytes must find the same message in them.
fn reads_as(envelope: &Envelope, value: &Value) {
    assert_eq!(value["jsonrpc"], "2.0");
    let has = |name| value.get(name).is_some();
    let (method, answer) = match envelope {
        Envelope::Request { method, .. } | Envelope::Notification { method, .. } => (Some(method), false),
        Envelope::Response { .. } => (None, true),
    };
    assert_eq!(value.get("method").and_then(Value::as_str), method.map(String::as_str));
    assert_eq!(has("result") ^ has("error"), answer);
    assert_eq!(has("id"), !matches!(envelope, Envelope::Notification { .. }));
}

fn look_into(envelope: &Envelope) {
    if let Envelope::Request { params: Some(params), .. }
    | Envelope::Notification { params: Some(params), .. } = envelope
    {
        drop(cancelled_id(Some(params)));
        let exact: Result<Value, _> = serde_json::from_str(params.get());
        match (tree(params), exact) {
            (read, Ok(exact)) => assert_eq!(read.ok(), Some(exact)),
            // Only halves of a pair are mended. The tree need not show one: it may stand under a key that
            // is said again.
            (Ok(_), Err(_)) => assert!(params.get().to_ascii_lowercase().contains("\\ud")),
            (Err(_), Err(_)) => {}
        }
    }
}

/// Writes a message as we write our own, with its id.
fn written(envelope: &Envelope) -> Vec<u8> {
    let body = match envelope {
        Envelope::Notification { method, params } => call_body(None, method, params),
        Envelope::Request { id, method, params } => call_body(None, method, params).map(|mut body| {
            body.pop();
            body.extend_from_slice(format!(",\"id\":{}}}", id.token()).as_bytes());
            body
        }),
        Envelope::Response { id: Some(id), reply: Ok(result) } => result_body(id, result),
        Envelope::Response { id: None, reply: Ok(result) } => {
            Ok(format!("{{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}}", result.get()).into_bytes())
        }
        Envelope::Response { id, reply: Err(ErrorBody { code, message, data }) } => {
            error_body(id.as_ref(), &json!({"code": code, "message": message, "data": data}))
        }
    };
    body.expect("a message that was read can be written")
}

/// What a message says, to be compared.
fn key(envelope: &Envelope) -> String {
    match envelope {
        Envelope::Request { id, method, params } => {
            let params = params.as_ref().map(|params| params.get());
            format!("request {:?} {} {method} {params:?}", id.key(), id.token())
        }
        Envelope::Notification { method, params } => {
            format!("notification {method} {:?}", params.as_ref().map(|params| params.get()))
        }
        Envelope::Response { id, reply } => {
            let reply = reply.as_ref().map(|result| result.get());
            format!("response {:?} {reply:?}", id.as_ref().map(|id| (id.key(), id.token())))
        }
    }
}

fn shown(body: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(body)
}
