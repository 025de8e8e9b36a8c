//! The decoder of frames: every cut of a stream gives the same frames, and its memory has a bound.

use adjutant::transport::framing::{Decoder, FrameError, HEADER_LIMIT, encode};

use super::{number, pieces};

type Events = Vec<Result<Vec<u8>, FrameError>>;

pub fn check(mut input: &[u8]) {
    let shape = number(&mut input);
    let (events, end) = decoded(&[input]);
    assert_eq!(decoded(&pieces(input, shape)), (events.clone(), end.clone()), "cut by {shape}");
    let bodies: Vec<&Vec<u8>> = events.iter().filter_map(|event| event.as_ref().ok()).collect();
    let length: usize = bodies.iter().map(|body| body.len()).sum();
    assert!(length <= input.len(), "{length} bytes of bodies from {} bytes", input.len());
    if let Some(last) = events.iter().position(|event| event.as_ref().is_err_and(FrameError::ends_connection))
    {
        assert_eq!(last + 1, events.len(), "an event follows the end");
    }
    let again: Vec<u8> = bodies.iter().flat_map(|body| encode(body)).collect();
    let expected: Events = bodies.into_iter().cloned().map(Ok).collect();
    assert_eq!(decoded(&[&again]), (expected, Ok(())));
}

fn decoded(pieces: &[&[u8]]) -> (Events, Result<(), FrameError>) {
    let mut decoder = Decoder::new();
    let mut events = Vec::new();
    let mut fed = 0;
    for piece in pieces {
        let mut rest = *piece;
        while let Some(event) = decoder.feed(&mut rest) {
            events.push(event);
        }
        assert!(rest.is_empty(), "{} bytes were left", rest.len());
        fed += piece.len();
        // The buffer of a body begins with a fixed size and then is at most twice the received bytes.
        let most = 2 * HEADER_LIMIT + (64 * 1024).max(2 * fed);
        assert!(decoder.held() <= most, "{} bytes are buffered of {fed}", decoder.held());
    }
    let end = decoder.finish();
    (events, end)
}
