//! The grammar of event streams, its limits, and that it does not matter how the bytes are cut.

use proptest::prelude::*;

use super::*;

type Owned = (String, String, String);

/// Decodes `chunks`. The flag is set if the last event had no blank line.
fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Result<(Vec<Owned>, bool), SseError> {
    let mut events = Vec::new();
    let mut sink = |event: Event<'_>| {
        events.push((event.name.to_owned(), event.id.to_owned(), event.data.to_owned()));
        Ok::<(), SseError>(())
    };
    let mut decoder = Decoder::default();
    for chunk in chunks {
        decoder.feed(chunk, &mut sink)?;
    }
    let trailing = decoder.finish(&mut sink)?;
    Ok((events, trailing))
}

/// Checks that `stream` decodes to `expected` data, in one chunk and byte by byte.
fn check(stream: &[u8], expected: &[&str]) {
    for (events, trailing) in [decode([stream]).unwrap(), decode(stream.chunks(1)).unwrap()] {
        assert_eq!(events.iter().map(|event| event.2.as_str()).collect::<Vec<_>>(), expected);
        assert!(!trailing);
    }
}

#[test]
fn s82_line_ends_of_all_three_kinds() {
    check(b"data: a\n\ndata: b\n\n", &["a", "b"]);
    check(b"data: a\r\rdata: b\r\r", &["a", "b"]);
    check(b"data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
    check(b"data: a\r\n\ndata: b\n\r\n", &["a", "b"]);
}

#[test]
fn s82_mark_comments_and_missing_space() {
    check("\u{feff}data: hi\n\n".as_bytes(), &["hi"]);
    check(b": keep-alive\n\n:\n\ndata:hi\n\n", &["hi"]);
    check(b"data: a\ndata: b\ndata\n\n", &["a\nb\n"]);
    check(b"data:  two spaces\n\n", &[" two spaces"]);
    check(b"retry: 10\nunknown: x\nno colon at all\n\n", &[]);
    check(b"data\n\n", &[""]);
}

#[test]
fn s82_event_and_id_fields() {
    let (events, _) =
        decode([b"event: a\nid: 7\ndata: x\n\ndata: y\n\nid: bad\0\ndata: z\n\n".as_slice()]).unwrap();
    let owned = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
    assert_eq!(events, [owned("a", "7", "x"), owned("", "7", "y"), owned("", "7", "z")]);
}

#[test]
fn finding_f9_a_name_after_data_begins_the_next_event() {
    let (events, _) = decode([b"event: a\ndata: x\nevent: b\ndata: y\n\n".as_slice()]).unwrap();
    let owned = |a: &str, b: &str| (a.to_owned(), String::new(), b.to_owned());
    assert_eq!(events, [owned("a", "x"), owned("b", "y")]);
    // The same without its second half: the first event is unchanged.
    let (events, trailing) = decode([b"event: a\ndata: x\n".as_slice()]).unwrap();
    assert_eq!((events, trailing), (vec![owned("a", "x")], true));
}

#[test]
fn s82_an_event_without_its_blank_line_is_reported_as_trailing() {
    for stream in [b"data: a\n\ndata: b".as_slice(), b"data: a\n\ndata: b\n", b"data: a\n\ndata: b\r"] {
        let (events, trailing) = decode([stream]).unwrap();
        assert_eq!(events.len(), 2);
        assert!(trailing);
    }
    assert_eq!(decode([b"event: x\n".as_slice()]).unwrap(), (vec![], false));
}

#[test]
fn s82_a_character_split_over_chunks_is_whole_and_a_broken_one_an_error() {
    let (events, _) = decode([b"data: \xc3".as_slice(), b"\xa9\n\n"]).unwrap();
    assert_eq!(events[0].2, "é");
    assert_eq!(decode([b"data: \xff\xfe\n\n".as_slice()]), Err(SseError::NotUtf8));
}

#[test]
fn s82_the_size_of_an_event_is_bounded() {
    let feed = |stream: &[u8], chunk: usize| {
        let mut decoder = Decoder::with_limit(16);
        stream.chunks(chunk).try_for_each(|chunk| decoder.feed(chunk, &mut |_| Ok::<(), SseError>(())))
    };
    let too_long = Err(SseError::TooLong { limit: 16 });
    for chunk in [1, 3, 100] {
        assert_eq!(feed(b"data: 12345\n\ndata: 12345\n\ndata: 12345\n\n", chunk), Ok(()));
        assert_eq!(feed(b"data: 0123456789abcdef\n\n", chunk), too_long);
        assert_eq!(feed(b"data: 01234567\ndata: 01234567\n\n", chunk), too_long);
        assert_eq!(feed(b"nothing but one endless line without an end", chunk), too_long);
    }
}

#[test]
fn s82_each_byte_is_scanned_once_however_it_is_cut() {
    let stream = [b"data: ".as_slice(), &b"x".repeat(1 << 20), b"\r\n\r\n"].concat();
    for size in [1, 7, 1400, stream.len()] {
        let mut decoder = Decoder::default();
        for chunk in stream.chunks(size) {
            decoder.feed(chunk, &mut |_| Ok::<(), SseError>(())).unwrap();
        }
        assert_eq!(decoder.scanned(), stream.len() as u64, "chunks of {size}");
    }
}

#[test]
fn g4_keep_alives_are_not_counted_as_part_of_an_event() {
    let mut decoder = Decoder::default();
    let mut feed = |bytes: &[u8]| {
        decoder.feed(bytes, &mut |_| Ok::<(), SseError>(())).unwrap();
        decoder.pending()
    };
    assert_eq!(feed(b": processing\n\n: and"), 0);
    assert_eq!(feed(b" still\r\n\r\n"), 0);
    assert_eq!(feed(b"data"), 4);
    assert_eq!(feed(b": x\n: no"), 1);
    assert_eq!(feed(b"\n\n"), 0);
}

/// A stream of syntax elements in any order.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("data: ".to_owned()),
        Just("data:".to_owned()),
        Just("event: e".to_owned()),
        Just("id: 1".to_owned()),
        Just(": comment".to_owned()),
        Just("\n".to_owned()),
        Just("\r".to_owned()),
        Just("\r\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("\u{feff}".to_owned()),
        "[a-zé😀:]{0,8}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #[test]
    fn s82_any_chunking_gives_the_same_events(stream in stream(), cuts in prop::collection::vec(1usize..9, 1..20)) {
        let whole = decode([stream.as_slice()]).unwrap();
        let mut rest = stream.as_slice();
        let mut chunks = Vec::new();
        for size in cuts.iter().cycle() {
            let (chunk, tail) = rest.split_at((*size).min(rest.len()));
            chunks.push(chunk);
            rest = tail;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(decode(chunks).unwrap(), whole);
    }

    #[test]
    fn s82_no_bytes_make_it_panic(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..10)) {
        let _ = decode(chunks.iter().map(Vec::as_slice));
    }
}
