//! Server-sent events: for every cut of a stream, a simple reader of its lines finds the same events.

use adjutant_model::sse::{Decoder, Event, SseError};

use super::{number, pieces};

/// Name, id and data of an event.
type Found = (String, String, String);

pub fn check(mut input: &[u8]) {
    let shape = number(&mut input);
    let whole = decoded(&[input], usize::MAX);
    assert_eq!(decoded(&pieces(input, shape), usize::MAX), whole, "cut by {shape}");
    match (&whole, plainly(input)) {
        ((found, Ok(())), Some(expected)) => assert_eq!(found, &expected),
        ((_, outcome), expected) => {
            assert_eq!((outcome.is_ok(), expected.is_some()), (false, false), "{outcome:?}");
        }
    }
    // A limit changes only the place where the decoder stops.
    let (few, outcome) = decoded(&pieces(input, shape), 1 + shape);
    assert_eq!(few[..], whole.0[..few.len()]);
    assert!(few.iter().all(|(_, _, data)| data.len() <= 1 + shape));
    assert!(outcome.is_err() || outcome == whole.1);
}

fn decoded(pieces: &[&[u8]], limit: usize) -> (Vec<Found>, Result<(), SseError>) {
    let mut decoder = Decoder::with_limit(limit);
    let mut found = Vec::new();
    let mut sink = |event: Event<'_>| {
        found.push((event.name.to_owned(), event.id.to_owned(), event.data.to_owned()));
        Ok::<(), SseError>(())
    };
    let mut fed = 0;
    for piece in pieces {
        if let Err(error) = decoder.feed(piece, &mut sink) {
            return (found, Err(error));
        }
        fed += piece.len();
        assert_eq!(decoder.scanned(), fed as u64, "each byte is scanned once");
        assert!(decoder.pending() <= limit.min(fed), "{} of {fed} bytes", decoder.pending());
    }
    let outcome = decoder.finish(&mut sink).map(drop);
    (found, outcome)
}

/// Returns the events of a complete stream; `None` if an event is not valid UTF-8.
fn plainly(bytes: &[u8]) -> Option<Vec<Found>> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let mut found = Vec::new();
    let (mut name, mut id, mut data): (Vec<u8>, Vec<u8>, Option<Vec<u8>>) = Default::default();
    // An unfinished last line counts, and so does an event without a blank line after it.
    for line in lines(bytes).into_iter().chain([&b""[..]]) {
        if line.is_empty() {
            if let Some(data) = data.take() {
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
                found.push((text(&name)?, text(&id)?, text(&data)?));
            }
            name.clear();
            continue;
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                data = Some(match data.take() {
                    Some(before) => [&before, &b"\n"[..], value].concat(),
                    None => value.to_vec(),
                });
            }
            b"event" => {
                // A name after data begins the next event.
                if let Some(data) = data.take() {
                    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
                    found.push((text(&name)?, text(&id)?, text(&data)?));
                }
                name = value.to_vec();
            }
            b"id" if !value.contains(&0) => id = value.to_vec(),
            _ => {}
        }
    }
    Some(found)
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    let (mut lines, mut from, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        if matches!(bytes[at], b'\r' | b'\n') {
            lines.push(&bytes[from..at]);
            at += usize::from(bytes[at..].starts_with(b"\r\n"));
            from = at + 1;
        }
        at += 1;
    }
    lines.push(&bytes[from.min(bytes.len())..]);
    lines
}
