//! Frames, envelopes and positions, byte by byte.

use serde_json::{Value, json};

use super::super::position::{Encoding, Outside, Position, offset_of, position_of};
use super::super::wire::{Id, Message, RpcError, frame, parse, read_frame};

fn read(mut bytes: &[u8]) -> Result<Option<Vec<u8>>, String> {
    read_frame(&mut bytes)
}

#[test]
fn frames_are_read_one_by_one() {
    let mut bytes: &[u8] = b"Content-Length: 2\r\n\r\n{}content-length: 3\r\nContent-Type: x\r\n\r\n[1]";
    assert_eq!(read_frame(&mut bytes).unwrap().unwrap(), b"{}");
    assert_eq!(read_frame(&mut bytes).unwrap().unwrap(), b"[1]");
    assert_eq!(read_frame(&mut bytes), Ok(None));
}

#[test]
fn anything_that_is_not_quite_a_frame_is_refused() {
    let wrong: [&[u8]; 11] = [
        b"Content-Length: 2\n\n{}",
        b"Content-Length:2\r\n\r\n{}",
        b"Content-Length: +2\r\n\r\n{}",
        b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        b"Content-Type: x\r\n\r\n{}",
        b"Content-Length: 9999999999999\r\n\r\n{}",
        b"Content-Length: 3\r\n\r\n{}",
        b"Content-Length: 2\r\n",
        b"X-Other: 1\r\nContent-Length: 2\r\n\r\n{}",
        b"warning: something\n",
        b"\r\n{}",
    ];
    for bytes in wrong {
        assert!(read(bytes).is_err(), "{:?}", String::from_utf8_lossy(bytes));
    }
    let endless = vec![b'x'; 1 << 20];
    assert!(read(&endless).is_err());
}

#[test]
fn messages_survive_the_way_there_and_back() {
    let error =
        RpcError { code: -33001, message: "no".into(), data: Some(json!({"name": "SessionNotFound"})) };
    let messages = [
        Message::Request { id: Id::Number(1), method: "shutdown".into(), params: Value::Null },
        Message::Request { id: Id::Text("a".into()), method: "m".into(), params: json!({"ä": 1}) },
        Message::Notification { method: "m".into(), params: json!([1]) },
        Message::Response { id: Id::Number(-1), result: Ok(Value::Null) },
        Message::Response { id: Id::Number(2), result: Err(error) },
    ];
    for message in messages {
        let body = read(&frame(&message)).unwrap().unwrap();
        assert_eq!(parse(&body), Ok(message));
    }
}

#[test]
fn anything_that_is_not_quite_a_message_is_refused() {
    let wrong = [
        r#"{"id": 1, "method": "m"}"#,
        r#"{"jsonrpc": "1.0", "id": 1, "method": "m"}"#,
        r#"{"jsonrpc": "2.0"}"#,
        r#"{"jsonrpc": "2.0", "id": null, "method": "m"}"#,
        r#"{"jsonrpc": "2.0", "id": 1.5, "result": 1}"#,
        r#"{"jsonrpc": "2.0", "id": 1, "method": "m", "params": 1}"#,
        r#"{"jsonrpc": "2.0", "id": 1, "method": "m", "params": null}"#,
        r#"{"jsonrpc": "2.0", "id": 1, "method": "m", "extra": 1}"#,
        r#"{"jsonrpc": "2.0", "id": 1}"#,
        r#"{"jsonrpc": "2.0", "result": 1}"#,
        r#"{"jsonrpc": "2.0", "id": 1, "result": 1, "error": {"code": 1, "message": "m"}}"#,
        r#"{"jsonrpc": "2.0", "id": 1, "error": {"code": "1", "message": "m"}}"#,
        r#"{"jsonrpc": "2.0", "id": 1, "error": {"code": 1}}"#,
        r#"[{"jsonrpc": "2.0", "id": 1, "result": 1}]"#,
        r#"{"jsonrpc": "2.0", "id": 1, "result": 1} x"#,
        "{",
    ];
    for body in wrong {
        assert!(parse(body.as_bytes()).is_err(), "{body}");
    }
    assert!(parse(b"{\"jsonrpc\": \"2.0\", \"method\": \"\xff\"}").is_err());
}

#[test]
fn n07_positions_count_in_all_three_encodings() {
    use Encoding::{Utf8, Utf16, Utf32};
    // A letter of two bytes, one of four bytes (two UTF-16 units), and a combining mark.
    let text = "aä😀e\u{301}z\r\nsecond\rthird\nlast";
    let columns = [("ä", 1, 1, 1), ("😀", 3, 2, 2), ("e", 7, 4, 3), ("z", 10, 6, 5)];
    for (needle, utf8, utf16, utf32) in columns {
        let offset = text.find(needle).unwrap();
        for (encoding, character) in [(Utf8, utf8), (Utf16, utf16), (Utf32, utf32)] {
            let position = Position { line: 0, character };
            assert_eq!(position_of(text, offset, encoding), position, "{needle} in {encoding:?}");
            assert_eq!(offset_of(text, position, encoding), Ok(offset), "{needle} in {encoding:?}");
        }
    }
    for (line, needle) in [(1, "second"), (2, "third"), (3, "last")] {
        let offset = text.find(needle).unwrap();
        assert_eq!(position_of(text, offset, Utf16), Position { line, character: 0 });
        assert_eq!(offset_of(text, Position { line, character: 0 }, Utf16), Ok(offset));
    }
}

#[test]
fn places_outside_of_the_text_are_told_from_places_in_it() {
    let at = |line, character| offset_of("ab\n😀c\n", Position { line, character }, Encoding::Utf16);
    assert_eq!(at(0, 2), Ok(2));
    assert_eq!(at(0, 3), Err(Outside { nearest: 2 }));
    assert_eq!(at(1, 1), Err(Outside { nearest: 7 }));
    assert_eq!(at(2, 0), Ok(9));
    assert_eq!(at(3, 0), Err(Outside { nearest: 9 }));
}
