//! Messages as the debug log has them (S17): which way, what, how large.
//!
//! Never what is in them: a key or a header may stand in the settings of an
//! editor, and a file in any edit.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Notes one message; the server's own side of a connection does.
pub(super) type MessageTap = fn(&[u8]);

/// The part of a message that may be shown.
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

/// Notes what the client sent.
pub(super) fn incoming(body: &[u8]) {
    note("in", body);
}

/// Notes what the client is sent.
pub(super) fn outgoing(body: &[u8]) {
    note("out", body);
}

/// Notes nothing.
pub(super) fn nothing(_: &[u8]) {}

fn note(way: &'static str, body: &[u8]) {
    if !tracing::enabled!(tracing::Level::TRACE) {
        return;
    }
    let bytes = body.len();
    let Ok(head) = serde_json::from_slice::<Head>(body) else {
        tracing::trace!(way, bytes, "message that is none");
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
