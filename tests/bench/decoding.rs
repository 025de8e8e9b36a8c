//! The speed of the decoder for event streams, measured inside the bench.

use std::time::Instant;

use adjutant::model::sse::{Decoder, Event, SseError};

use super::figures::Bench;
use super::samples::{Samples, ms};

/// Bytes of the stream of small events.
const STREAM: usize = 64 << 20;
/// The bytes of one read from a socket.
const PIECE: usize = 16 << 10;
/// The bytes of a long line in one packet.
const PACKET: usize = 1_400;

/// Measures many small events in large pieces, and one long line in small pieces.
pub fn decoding(_: &Bench, samples: &mut Samples) {
    let event = format!("event: delta\ndata: {{\"text\":\"{}\"}}\n\n", "word ".repeat(30));
    let stream = event.repeat(STREAM / event.len());
    let took = decode(stream.as_bytes(), PIECE, STREAM / event.len());
    samples.add("sse MB/s", vec![stream.len() as f64 / 1e6 / (took / 1e3)]);
    for (name, size) in [("line ms", 1_usize << 20), ("long line ms", 8 << 20)] {
        let line = format!("data: {}\n\n", "x".repeat(size));
        samples.add(name, vec![decode(line.as_bytes(), PACKET, 1)]);
    }
}

/// Returns the milliseconds to decode a stream in pieces of this size.
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
        fed.expect("the stream is valid");
    }
    let took = ms(began.elapsed());
    assert_eq!(events, expected, "{length} bytes of data came out");
    took
}
