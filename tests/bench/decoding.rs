//! How fast a stream is taken apart, without a process around it.

use std::time::Instant;

use adjutant::model::sse::{Decoder, Event, SseError};

use super::figures::Ground;
use super::samples::{Samples, ms};

/// Bytes of the stream of small events.
const STREAM: usize = 64 << 20;
/// As much of it as a socket gives at once.
const PIECE: usize = 16 << 10;
/// What of one long line comes in a packet.
const PACKET: usize = 1_400;

/// Many small events in large pieces, and one long line in small ones.
pub fn decoding(_: &Ground, samples: &mut Samples) {
    let event = format!("event: delta\ndata: {{\"text\":\"{}\"}}\n\n", "word ".repeat(30));
    let stream = event.repeat(STREAM / event.len());
    let took = decode(stream.as_bytes(), PIECE, STREAM / event.len());
    samples.add("sse MB/s", vec![stream.len() as f64 / 1e6 / (took / 1e3)]);
    for (name, size) in [("line ms", 1_usize << 20), ("long line ms", 8 << 20)] {
        let line = format!("data: {}\n\n", "x".repeat(size));
        samples.add(name, vec![decode(line.as_bytes(), PACKET, 1)]);
    }
}

/// Milliseconds that a stream takes in pieces of this size.
fn decode(bytes: &[u8], piece: usize, expected: usize) -> f64 {
    let mut decoder = Decoder::default();
    let (mut events, mut length) = (0, 0);
    let began = Instant::now();
    for piece in bytes.chunks(piece) {
        let fed = decoder.feed(piece, &mut |event: Event<'_>| {
            events += 1;
            length += event.data.len();
            Ok::<(), SseError>(())
        });
        fed.expect("the stream is sound");
    }
    let took = ms(began.elapsed());
    assert_eq!(events, expected, "{length} bytes of data came out");
    took
}
