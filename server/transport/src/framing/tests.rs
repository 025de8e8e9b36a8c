//! Tests of frames that are cut or damaged at any byte. Never touches a stream.

use super::*;

fn run(bytes: &[u8]) -> (Vec<Result<Vec<u8>, FrameError>>, Decoder) {
    let mut decoder = Decoder::new();
    let mut input = bytes;
    let mut events = Vec::new();
    while let Some(event) = decoder.feed(&mut input) {
        events.push(event);
    }
    (events, decoder)
}

fn ok(body: &str) -> Result<Vec<u8>, FrameError> {
    Ok(body.as_bytes().to_vec())
}

#[test]
fn frames_split_at_every_byte_give_the_same_bodies() {
    let stream = [
        encode(b"{\"a\":1}"),
        b"content-LENGTH:  3 \r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\nabc".to_vec(),
        encode(b""),
        b"Content-Length: 4\n\nbare".to_vec(),
        encode("é😀".as_bytes()),
    ]
    .concat();
    let expected = vec![ok("{\"a\":1}"), ok("abc"), ok(""), ok("bare"), ok("é😀")];
    assert_eq!(run(&stream).0, expected);
    for cut in 0..=stream.len() {
        let mut decoder = Decoder::new();
        let mut events = Vec::new();
        for mut part in [&stream[..cut], &stream[cut..]] {
            while let Some(event) = decoder.feed(&mut part) {
                events.push(event);
            }
        }
        assert_eq!(events, expected, "cut at {cut}");
        assert_eq!(decoder.finish(), Ok(()));
    }
    let mut decoder = Decoder::new();
    let mut events = Vec::new();
    for byte in &stream {
        let mut one = std::slice::from_ref(byte);
        while let Some(event) = decoder.feed(&mut one) {
            events.push(event);
        }
    }
    assert_eq!(events, expected, "byte by byte");
}

#[test]
fn headers_that_cannot_be_followed_end_the_connection() {
    let long = format!("X-Pad: {}\r\n\r\n", "a".repeat(10_000_000));
    let many = "X: y\r\n".repeat(3_000);
    for (bytes, error) in [
        (long.as_str(), FrameError::HeaderTooLong),
        (many.as_str(), FrameError::HeaderTooLong),
        ("Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", FrameError::DuplicateLength),
        ("Content-Length: 2\r\ncontent-length: 3\r\n\r\n{}", FrameError::DuplicateLength),
        ("Content-Length: -2\r\n\r\n{}", FrameError::BadLength("-2".into())),
        ("Content-Length: +2\r\n\r\n{}", FrameError::BadLength("+2".into())),
        ("Content-Length: 0x2\r\n\r\n{}", FrameError::BadLength("0x2".into())),
        ("Content-Length: 2, 2\r\n\r\n{}", FrameError::BadLength("2, 2".into())),
        ("Content-Length:\r\n\r\n{}", FrameError::BadLength(String::new())),
        (
            "Content-Length: 99999999999999999999\r\n\r\n",
            FrameError::BadLength("99999999999999999999".into()),
        ),
        ("Content-Length: 18446744073709551615\r\n\r\n{}", FrameError::Absurd(u64::MAX)),
        ("Content-Length: 4294967295\r\n\r\n{}", FrameError::Absurd(4_294_967_295)),
    ] {
        assert!(error.ends_connection(), "{error}");
        let stream = [bytes.as_bytes(), &encode(b"{}")].concat();
        let (events, _) = run(&stream);
        assert_eq!(events, vec![Err(error)], "{}", &bytes[..bytes.len().min(60)]);
    }
}

#[test]
fn a_header_without_a_length_is_reported_and_passed_over() {
    for junk in ["\r\n", "hello world\r\n\r\n", "Content-Type: x\r\n\r\n"] {
        let stream = [junk.as_bytes(), &encode(b"{}")].concat();
        assert_eq!(run(&stream).0, vec![Err(FrameError::NoLength), ok("{}")], "{junk:?}");
    }
    let stream = [&b"stray print\r\n"[..], &encode(b"{}")].concat();
    assert_eq!(run(&stream).0, vec![ok("{}")]);
}

#[test]
fn a_stream_of_junk_is_given_up() {
    let (events, _) = run("\r\n".repeat(100).as_bytes());
    assert_eq!(events.len(), ASTRAY_LIMIT as usize);
    assert_eq!(events.last(), Some(&Err(FrameError::Astray)));
}

#[test]
fn a_body_over_the_limit_is_skipped_without_being_kept() {
    let length = BODY_LIMIT + 10;
    let mut decoder = Decoder::new();
    let head = format!("Content-Length: {length}\r\n\r\n");
    let mut input = head.as_bytes();
    let error = FrameError::TooLarge(length as u64);
    assert!(!error.ends_connection());
    assert_eq!(decoder.feed(&mut input), Some(Err(error)));
    let chunk = vec![b'x'; 1024 * 1024];
    let mut left = length;
    while left > 0 {
        let mut part = &chunk[..left.min(chunk.len())];
        left -= part.len();
        assert_eq!(decoder.feed(&mut part), None);
        assert!(decoder.line.capacity() < HEADER_LIMIT);
    }
    let next = encode(b"{}");
    assert_eq!(decoder.feed(&mut &next[..]), Some(ok("{}")));
}

#[test]
fn an_announced_size_is_not_allocated() {
    let mut decoder = Decoder::new();
    let head = format!("Content-Length: {BODY_LIMIT}\r\n\r\nabc");
    assert_eq!(decoder.feed(&mut head.as_bytes()), None);
    assert!((3..=BODY_STEP + HEADER_LIMIT).contains(&decoder.held()), "{}", decoder.held());
}

#[test]
fn the_end_of_the_stream_is_judged() {
    for (bytes, expected) in [
        ("", Ok(())),
        ("Content-Le", Err(FrameError::Truncated)),
        ("Content-Length: 5\r\n\r\nab", Err(FrameError::Truncated)),
        ("Content-Length: 2\r\n\r\nab", Ok(())),
    ] {
        assert_eq!(run(bytes.as_bytes()).1.finish(), expected, "{bytes:?}");
    }
}
