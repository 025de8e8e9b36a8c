//! Writes messages to the debug log (S17): direction, method or update, and size.
//!
//! Never writes their content: an editor's settings may contain a key, and an edit may contain a file.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// A function that logs one message; only the server's side of a connection logs.
pub(super) type MessageTap = fn(&[u8]);

/// The part of a message that may be logged.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Update<'a> {
    seq: u64,
    #[serde(borrow)]
    update: MessageHead<'a>,
}

#[derive(Deserialize)]
struct MessageHead<'a> {
    #[serde(rename = "sessionUpdate", borrow)]
    name: Cow<'a, str>,
}

/// Logs a message from the client.
pub(super) fn incoming(body: &[u8]) {
    log("in", body);
}

/// Logs a message to the client.
pub(super) fn outgoing(body: &[u8]) {
    log("out", body);
}

/// Logs nothing.
pub(super) fn nothing(_: &[u8]) {}

fn log(way: &'static str, body: &[u8]) {
    if !tracing::enabled!(tracing::Level::TRACE) {
        return;
    }
    let bytes = body.len();
    let Ok(head) = serde_json::from_slice::<Head>(body) else {
        tracing::trace!(way, bytes, "not a message");
        return;
    };
    let id = head.id.map(RawValue::get);
    let update = head.params.and_then(|params| serde_json::from_str::<Update>(params.get()).ok());
    match (head.method, update) {
        (Some(method), Some(Update { seq, update })) => {
            tracing::trace!(way, %method, seq, update = %update.name, bytes, "message");
        }
        (Some(method), None) => tracing::trace!(way, %method, id, bytes, "message"),
        (None, _) => tracing::trace!(way, id, refused = head.error.is_some(), bytes, "message"),
    }
}
