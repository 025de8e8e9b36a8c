//! Providers that send without end, on every wire: each call fails with the limit in its message, and closes the
//! connection soon after the limit.
//!
//! The tests bound the memory by the bytes that the double could send. The bench measures the memory itself.

use adjutant_testkit::authority::Authority;
use adjutant_testkit::model::{Deaf, DeafHttp2};

use super::*;

const MIB: u64 = 1 << 20;
/// The bytes in the sockets of both sides and in the client's buffers when it closes the connection.
const IN_SOCKETS: u64 = 24 * MIB;
/// The maximum size of one event, and of an answer without streaming.
const EVENT: u64 = 32 * MIB;

/// The expected result of one flood.
struct Expected {
    class: FailureClass,
    says: &'static str,
    /// How many of its bytes may be read.
    taken: u64,
}

fn stream() -> Answer {
    Answer::status(200).header("content-type", "text/event-stream")
}

/// Plays the flood from `answer` on each wire.
async fn flooded(limits: ModelLimits, answer: impl Fn(Dialect) -> Answer, expected: Expected) {
    for wire in Dialect::ALL {
        let server = Arc::new(ModelServer::start([answer(wire)]));
        let called = call(&models(), &provider_on(wire, &server.base_url()), &limits).await;
        assert_eq!(called.class(), expected.class, "{wire:?}: {:?}", called.failure());
        let message = &called.failure().message;
        assert!(message.contains(expected.says) && message.contains("acme"), "{wire:?}: {message}");
        wait_for_closed(server.clone()).await;
        let (taken, most) = (server.flooded(), expected.taken + IN_SOCKETS);
        assert!(taken <= most, "{wire:?}: took {taken} bytes where {most} are enough");
        assert_eq!(server.requests().len(), 1, "{wire:?}");
    }
}

#[tokio::test]
async fn f13_s111_arguments_without_end_are_cut_at_their_limit() {
    let pieces = format!("{{\"content\":\"{}{}", "a".repeat(9), "b".repeat(32 << 10));
    let answer = |_| Answer::text("So.").and_raw_call("write_file", &pieces).repeating("bbbb");
    let says = "more tool arguments than the limit of 16 MiB";
    flooded(LIMITS, answer, Expected { class: FailureClass::Total, says, taken: 20 * MIB }).await;
}

#[tokio::test]
async fn f13_s82_a_text_without_end_is_cut_at_its_limit() {
    let answer = |_| Answer::text(&"w".repeat(32 << 10)).repeating("wwww");
    let says = "more text than the limit of 4 MiB";
    flooded(LIMITS, answer, Expected { class: FailureClass::Total, says, taken: 5 * MIB }).await;
}

/// An event that begins a block, item or call with a name of so many bytes; `at` is its number.
fn named_event(wire: Wire, what: &str, at: usize, bytes: usize) -> String {
    let long = format!("{at:06}{}", "n".repeat(bytes));
    let (id, name) = match what {
        "name" => ("c".to_owned(), long),
        _ => (long, "read_file".to_owned()),
    };
    let event = match (wire, what) {
        (Wire::AnthropicMessages, _) => serde_json::json!({"type": "content_block_start", "index": at,
            "content_block": {"type": "tool_use", "id": id, "name": name, "input": {}}}),
        (Wire::OpenaiResponses, "item") => serde_json::json!({"type": "response.output_item.added",
            "output_index": at, "item": {"type": "reasoning", "id": id}}),
        (Wire::OpenaiResponses, _) => serde_json::json!({"type": "response.output_item.added",
            "output_index": at, "item": {"type": "function_call", "call_id": id, "name": name}}),
        (Wire::OpenaiChat | Wire::Scripted, _) => serde_json::json!({"choices": [{"delta": {"tool_calls": [
            {"index": at, "id": id, "function": {"name": name}}]}}]}),
    };
    format!("data: {event}\n\n")
}

#[test]
fn f13_names_and_ids_without_end_are_cut_at_their_limit() {
    for wire in [Wire::OpenaiChat, Wire::AnthropicMessages, Wire::OpenaiResponses] {
        for what in ["id", "name", "item"] {
            let events = (0..20).map(|at| named_event(wire, what, at, 1 << 20)).collect::<Vec<_>>();
            let pieces = events.iter().map(String::as_bytes).collect::<Vec<_>>();
            let failed = unsent::read(wire, &request("hello"), &pieces, &mut |_| ()).unwrap_err();
            assert_eq!(failed.class, FailureClass::Total, "{wire:?}, {what}: {failed:?}");
            assert!(failed.message.contains("than the limit of 16 MiB"), "{wire:?}, {what}: {failed:?}");
        }
    }
}

#[tokio::test]
async fn f13_a_line_without_end_is_cut_at_its_limit() {
    let answer = |_| stream().body("data: {\"text\":\"").endless(b"x");
    let says = "it is longer than 33554432 bytes";
    flooded(LIMITS, answer, Expected { class: FailureClass::Total, says, taken: EVENT }).await;
}

#[tokio::test]
async fn f13_an_event_of_lines_without_end_is_cut_at_its_limit() {
    let answer = |_| stream().endless(b"data: and more of the same event\n");
    let says = "it is longer than 33554432 bytes";
    flooded(LIMITS, answer, Expected { class: FailureClass::Total, says, taken: 2 * EVENT }).await;
}

#[tokio::test]
async fn f13_an_answer_at_once_without_end_is_cut_at_its_limit() {
    let answer = |_| Answer::status(200).header("content-type", "application/json").endless(b" ");
    let says = "it is longer than 33554432 bytes";
    flooded(LIMITS, answer, Expected { class: FailureClass::Total, says, taken: EVENT }).await;
}

#[tokio::test]
async fn f13_g4_keep_alives_without_end_are_a_stall() {
    let limits = ModelLimits { first_byte_ms: 300, idle_ms: 300, total_ms: 60_000, ..LIMITS };
    let says = "stopped sending in the middle of its reply for 1 s";
    // Nothing of them is stored, so only their time is limited.
    let expected = || Expected { class: FailureClass::Stalled, says, taken: u64::MAX / 2 };
    for nothing in [": still here\n\n", "data:\n\n", "\n", "event: ping\n\n"] {
        flooded(limits, |_| Answer::text("one ").unfinished().endless(nothing), expected()).await;
    }
    let own = |wire| match wire {
        Dialect::Chat => "keep-alive",
        Dialect::Messages => "ping",
        Dialect::Responses => "keepalive",
    };
    flooded(limits, |wire| Answer::text("one ").and_keep_alives(1).repeating(own(wire)), expected()).await;
}

#[tokio::test]
async fn f13_a_bomb_is_not_even_unpacked() {
    let answer = |_| stream().header("content-encoding", "gzip").endless(b"\x1f\x8b\x08\0\0\0\0\0");
    let says = "answered in encoding \"gzip\", which was not asked for";
    flooded(LIMITS, answer, Expected { class: FailureClass::Broken, says, taken: 0 }).await;
}

#[tokio::test]
async fn f13_headers_without_end_are_cut_at_their_limit() {
    let says = "has more headers than the limit of 100 and of 400 KiB in all";
    for head in ["x-more: and more\r\n", "one-name-and-no-end"] {
        let answer = |_| Answer::text("never").header("x-first", "1").endless_head(head);
        flooded(LIMITS, answer, Expected { class: FailureClass::Total, says, taken: MIB }).await;
    }
}

#[tokio::test]
async fn f13_an_error_without_end_is_read_as_far_as_it_says_something() {
    let answer = |_| Answer::status(400).body("{\"error\":{\"message\":\"too bad\"}}").endless(b" ");
    let expected = Expected { class: FailureClass::InvalidRequest, says: "too bad", taken: MIB };
    flooded(LIMITS, answer, expected).await;
    let answer = |_| Answer::status(500).endless(b"x");
    flooded(LIMITS, answer, Expected { class: FailureClass::Overloaded, says: "500", taken: MIB }).await;
}

#[tokio::test]
async fn f13_a_redirect_without_end_is_not_followed_once() {
    let answer = |_| Answer::status(307).header("location", "https://acme.example/v1/again").endless(b"x");
    let says = "redirects to https://acme.example, which is not followed";
    flooded(LIMITS, answer, Expected { class: FailureClass::InvalidRequest, says, taken: MIB }).await;
}

#[tokio::test]
async fn f13_s82_a_provider_over_http2_that_stops_taking_part_meets_the_limits_of_the_settings() {
    let authority = Authority::new("Work");
    let folder = tempfile::tempdir().unwrap();
    let ca_file = folder.path().join("ca.pem");
    std::fs::write(&ca_file, authority.pem()).unwrap();
    let limits = ModelLimits { first_byte_ms: 400, idle_ms: 400, ..LIMITS };
    for (deaf, class) in [
        (Deaf::NoWindow, FailureClass::FirstByte),
        (Deaf::NoAnswer, FailureClass::FirstByte),
        (Deaf::NoReading, FailureClass::FirstByte),
        (Deaf::NoBody, FailureClass::Stalled),
        (Deaf::EndlessHead, FailureClass::Network),
    ] {
        let server = DeafHttp2::start(&authority, &["localhost"], deaf);
        // At the same time, because each call waits for its limit.
        let calls = Dialect::ALL.map(async |wire| {
            let mut provider = provider_on(wire, &server.base_url("localhost"));
            provider.reach.ca_file = ca_file.to_str().map(str::to_owned);
            let called = call(&models(), &provider, &limits).await;
            assert_eq!(called.class(), class, "{deaf:?} on {wire:?}: {:?}", called.failure());
        });
        futures_util::future::join_all(calls).await;
    }
}
