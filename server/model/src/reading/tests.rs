//! The failures for streams that cannot be decoded.

use std::sync::Arc;

use super::*;
use crate::failure::Endpoint;
use crate::openai_chat::ChatAssembly;
use crate::tests::request;

#[test]
fn s82_a_flood_in_one_event_is_not_asked_for_again() {
    let endpoint = Endpoint { provider: "acme", model: "m1", key: None };
    let assembly = ChatAssembly::new(&request("hello"), endpoint, Arc::default());
    let failed = unreadable(&SseError::TooLong { limit: 64 << 20 }, &assembly);
    assert_eq!(failed.class, FailureClass::Total);
    assert_eq!(
        failed.message,
        "provider \"acme\" broke off: could not read an event of the stream: it is longer than 67108864 bytes"
    );
    assert_eq!(unreadable(&SseError::NotUtf8, &assembly).class, FailureClass::Broken);
}
