//! Envelopes: a body is one message or none, and a message is the same after it is written again.

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
            assert!(read.is_none() || given == code::INVALID_REQUEST, "valid JSON counts as a parse error");
            assert!(!(lost && id.is_some()), "an answered message is not lost");
            if let Some(id) = id {
                assert!(shown(body).contains(id.token()), "the body does not contain the id");
            }
        }
    }
}

/// Another JSON parser must find the same message in the bytes.
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
            // Only halves of a surrogate pair are repaired. The tree may lack the repaired text, if a later
            // duplicate of its key replaces it.
            (Ok(_), Err(_)) => assert!(params.get().to_ascii_lowercase().contains("\\ud")),
            (Err(_), Err(_)) => {}
        }
    }
}

/// Writes a message with the server's own functions, with its id.
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

/// Returns the content of a message as text, for a comparison.
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
