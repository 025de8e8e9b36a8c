//! The double's own codec for frames and envelopes, as strict as the specification.
//!
//! Shares no line with the server's codec, so that one mistake cannot be in both. Never repairs a message.

use std::fmt;
use std::io::{BufRead, Read};

use serde_json::{Map, Value, json};

/// The most bytes of one header line.
const MAX_HEADER: u64 = 1 << 10;
/// The most header lines of one frame.
const MAX_HEADERS: usize = 8;
/// The most bytes of one body; far more than a server may ever send.
const MAX_BODY: usize = 256 << 20;

/// A request id of JSON-RPC.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    Number(i64),
    Text(String),
}

impl Id {
    /// Returns the id as JSON.
    pub fn to_value(&self) -> Value {
        match self {
            Id::Number(number) => json!(number),
            Id::Text(text) => json!(text),
        }
    }

    /// Parses an id; returns none for fractions, null and other types.
    pub fn from_value(value: &Value) -> Option<Id> {
        match value {
            Value::Number(number) => number.as_i64().map(Id::Number),
            Value::String(text) => Some(Id::Text(text.clone())),
            _ => None,
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_value())
    }
}

/// An error response.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", self.message, self.code)
    }
}

impl std::error::Error for RpcError {}

/// One message in either direction.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    Request { id: Id, method: String, params: Value },
    Notification { method: String, params: Value },
    Response { id: Id, result: Result<Value, RpcError> },
}

/// Reads one frame and returns its body; `None` is an end between two frames.
pub fn read_frame(input: &mut impl BufRead) -> Result<Option<Vec<u8>>, String> {
    let mut length = None;
    for index in 0..=MAX_HEADERS {
        let Some(line) = header_line(input, index == 0)? else { return Ok(None) };
        if line.is_empty() {
            let length = length.ok_or("a frame without Content-Length")?;
            return read_body(input, length).map(Some);
        }
        let (name, value) = line.split_once(": ").ok_or_else(|| format!("the header line {line:?}"))?;
        if name.eq_ignore_ascii_case("Content-Length") {
            if length.is_some() {
                return Err("a second Content-Length".to_owned());
            }
            length = Some(content_length(value)?);
        } else if !name.eq_ignore_ascii_case("Content-Type") {
            return Err(format!("the unknown header {name:?}"));
        }
    }
    Err(format!("more than {MAX_HEADERS} header lines"))
}

fn content_length(value: &str) -> Result<usize, String> {
    let wrong = || format!("the Content-Length {value:?}");
    if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    value.parse().ok().filter(|length| *length <= MAX_BODY).ok_or_else(wrong)
}

/// Reads one line that ends with CR LF and returns it without these. `None` is an end, if `may_end`.
fn header_line(input: &mut impl BufRead, may_end: bool) -> Result<Option<String>, String> {
    let mut line = Vec::new();
    let read = input.by_ref().take(MAX_HEADER).read_until(b'\n', &mut line);
    read.map_err(|error| format!("reading a header: {error}"))?;
    if line.is_empty() && may_end {
        return Ok(None);
    }
    let text = line.strip_suffix(b"\r\n").ok_or_else(|| {
        format!("the header line {:?}, which does not end with CR LF", String::from_utf8_lossy(&line))
    })?;
    match std::str::from_utf8(text) {
        Ok(text) if text.is_ascii() => Ok(Some(text.to_owned())),
        _ => Err("a header that is not ASCII".to_owned()),
    }
}

fn read_body(input: &mut impl BufRead, length: usize) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    let read = input.by_ref().take(length as u64).read_to_end(&mut body);
    read.map_err(|error| format!("reading a body: {error}"))?;
    if body.len() == length { Ok(body) } else { Err("an end in the middle of a body".to_owned()) }
}

/// Parses a body as exactly one message.
pub fn parse(body: &[u8]) -> Result<Message, String> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| format!("{error} in the body {:?}", String::from_utf8_lossy(body)))?;
    let Value::Object(mut object) = value else { return Err(format!("the body {value}, no object")) };
    let shown = Value::Object(object.clone()).to_string();
    let message = envelope(&mut object).map_err(|why| format!("{why} in {shown}"))?;
    match object.keys().next() {
        None => Ok(message),
        Some(extra) => Err(format!("the unexpected member {extra:?} in {shown}")),
    }
}

fn envelope(object: &mut Map<String, Value>) -> Result<Message, String> {
    if object.remove("jsonrpc") != Some(json!("2.0")) {
        return Err("no \"jsonrpc\": \"2.0\"".to_owned());
    }
    let id = match object.remove("id") {
        None => None,
        Some(value) => Some(Id::from_value(&value).ok_or_else(|| format!("the id {value}"))?),
    };
    let Some(method) = object.remove("method") else {
        let id = id.ok_or("neither method nor id")?;
        return Ok(Message::Response { id, result: outcome(object)? });
    };
    let Value::String(method) = method else { return Err(format!("the method {method}")) };
    let params = match object.remove("params") {
        None => Value::Null,
        Some(params @ (Value::Object(_) | Value::Array(_))) => params,
        Some(params) => return Err(format!("the params {params}")),
    };
    Ok(match id {
        Some(id) => Message::Request { id, method, params },
        None => Message::Notification { method, params },
    })
}

fn outcome(object: &mut Map<String, Value>) -> Result<Result<Value, RpcError>, String> {
    match (object.remove("result"), object.remove("error")) {
        (Some(result), None) => Ok(Ok(result)),
        (None, Some(Value::Object(mut error))) => {
            let code =
                error.remove("code").and_then(|code| code.as_i64()).ok_or("an error without a code")?;
            let Some(Value::String(message)) = error.remove("message") else {
                return Err("an error without a message".to_owned());
            };
            Ok(Err(RpcError { code, message, data: error.remove("data") }))
        }
        (None, Some(error)) => Err(format!("the error {error}")),
        (Some(_), Some(_)) => Err("both result and error".to_owned()),
        (None, None) => Err("neither result nor error".to_owned()),
    }
}

/// Returns a message as JSON.
pub fn to_value(message: &Message) -> Value {
    match message {
        Message::Request { id, method, params } => {
            with_params(json!({"jsonrpc": "2.0", "id": id.to_value(), "method": method}), params)
        }
        Message::Notification { method, params } => {
            with_params(json!({"jsonrpc": "2.0", "method": method}), params)
        }
        Message::Response { id, result: Ok(result) } => {
            json!({"jsonrpc": "2.0", "id": id.to_value(), "result": result})
        }
        Message::Response { id, result: Err(error) } => {
            let mut body = json!({"code": error.code, "message": error.message});
            if let Some(data) = &error.data {
                body["data"] = data.clone();
            }
            json!({"jsonrpc": "2.0", "id": id.to_value(), "error": body})
        }
    }
}

/// Adds params that are not null: `shutdown` and `exit` have none, and null is not allowed.
fn with_params(mut body: Value, params: &Value) -> Value {
    if !params.is_null() {
        body["params"] = params.clone();
    }
    body
}

/// Returns a message as one frame.
pub fn frame(message: &Message) -> Vec<u8> {
    let body = to_value(message).to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
