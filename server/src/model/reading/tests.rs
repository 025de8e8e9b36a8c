//! What becomes of a stream that cannot be decoded.

use super::*;

#[test]
fn s82_a_flood_in_one_event_is_not_asked_for_again() {
    let failed = CallFailure::from(SseError::TooLong { limit: 64 << 20 });
    assert_eq!(failed.class, FailureClass::Total);
    assert_eq!(failed.message, "could not read an event of the stream: it is longer than 67108864 bytes");
    assert_eq!(CallFailure::from(SseError::NotUtf8).class, FailureClass::Broken);
}
