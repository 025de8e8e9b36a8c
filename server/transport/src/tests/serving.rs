//! Tests of order, answers, cancellation, panics and invalid messages.

use serde_json::json;

use super::rig::Rig;

#[test]
fn b6_9_notifications_keep_their_order_though_handlers_wait() {
    let mut rig = Rig::new();
    let mut stream = Vec::new();
    for n in 0..20_000 {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"test/note","params":{{"n":{n}}}}}"#);
        stream.extend(super::super::framing::encode(body.as_bytes()));
    }
    // The client writes from its own thread, as a real client does.
    let notes = std::thread::scope(|scope| {
        let mut writer = rig.take_writer();
        let writing = scope.spawn(move || {
            std::io::Write::write_all(&mut writer, &stream).unwrap();
            writer
        });
        let notes = rig.notes(20_000);
        drop(writing.join().unwrap());
        notes
    });
    let wrong = notes.iter().zip(0..).position(|(note, n)| *note != n);
    assert_eq!(wrong, None);
}

#[test]
fn replies_reach_waiting_handlers_past_any_number_of_notifications() {
    for (asks, notes) in [(4, 300), (64, 2_000)] {
        let mut rig = Rig::new();
        for n in 0..asks {
            rig.request(n, "test/ask", json!({"n": n}));
        }
        let questions: Vec<_> = (0..asks).map(|_| rig.hear()).collect();
        for n in 0..notes {
            rig.notify("test/note", json!({"n": n}));
        }
        for question in questions {
            assert_eq!(question["method"], "client/ask");
            rig.say(&json!({"jsonrpc":"2.0","id":question["id"],"result":question["params"]}));
        }
        let answers = rig.hear_answers(asks);
        for n in 0..asks {
            assert_eq!(answers[&n.to_string()]["result"], json!({"n": n}));
        }
    }
}

#[test]
fn b6_4_open_asks_notifications_and_cancels_do_not_hold_each_other_up() {
    let mut rig = Rig::new();
    let began = std::time::Instant::now();
    for n in 0..64 {
        rig.request(n, "test/ask", json!({"n": n}));
    }
    for _ in 0..64 {
        assert_eq!(rig.hear()["method"], "client/ask");
    }
    for n in 0..2_000 {
        rig.notify("test/note", json!({"n": n}));
    }
    for n in 0..64 {
        rig.cancel(n);
    }
    let (mut withdrawn, mut cancelled) = (0, 0);
    while withdrawn < 64 || cancelled < 64 {
        let message = rig.hear();
        match message["method"].as_str() {
            Some("$/cancelRequest") => withdrawn += 1,
            _ => {
                assert_eq!(message["error"]["code"], -32800, "{message}");
                cancelled += 1;
            }
        }
    }
    assert_eq!(rig.notes(2_000), (0..2_000).collect::<Vec<_>>());
    assert!(began.elapsed() < super::rig::DEADLINE, "{:?}", began.elapsed());
    assert_eq!((rig.alive(), rig.out.open_requests()), (0, 0));
    rig.assert_quiet();
}

#[test]
fn each_of_many_requests_can_be_cancelled_and_closes_its_question() {
    let mut rig = Rig::new();
    for n in 0..64 {
        rig.request(n, "test/ask", json!({"n": n}));
    }
    let mut questions: Vec<_> = (0..64).map(|_| rig.hear()["id"].clone()).collect();
    for n in (0..64).rev() {
        rig.cancel(n);
        rig.cancel(n);
    }
    let mut answered = Vec::new();
    for _ in 0..128 {
        let message = rig.hear();
        if message["method"] == "$/cancelRequest" {
            let at = questions.iter().position(|id| *id == message["params"]["id"]);
            questions.swap_remove(at.expect("an open question, once"));
        } else {
            assert_eq!(message["error"]["code"], -32800);
            answered.push(message["id"].as_u64().unwrap());
        }
    }
    answered.sort_unstable();
    assert_eq!(answered, (0..64).collect::<Vec<_>>());
    assert_eq!((rig.alive(), rig.out.open_requests()), (0, 0));
    rig.cancel(5);
    rig.cancel("never seen");
    rig.notify("$/cancelRequest", json!({"id": {}}));
    rig.notify("$/cancelRequest", json!({}));
    rig.assert_quiet();
}

#[test]
fn a_cancelled_handler_is_gone_before_its_answer() {
    let mut rig = Rig::new();
    rig.body(r#"{"jsonrpc":"2.0","id":"\u0061","method":"test/hang"}"#);
    rig.until("the handler", |rig| rig.alive() == 1);
    rig.cancel("a");
    let answer = rig.hear();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("a"), &json!(-32800)));
    assert_eq!(rig.alive(), 0);
}

#[test]
fn an_id_can_be_used_again_after_its_answer_but_not_before() {
    let mut rig = Rig::new();
    rig.request(7, "test/ask", json!({}));
    let question = rig.hear();
    rig.request(7, "test/echo", json!([]));
    assert_eq!(rig.hear()["error"]["code"], -32600);
    rig.say(&json!({"jsonrpc":"2.0","id":question["id"],"result":"first"}));
    assert_eq!(rig.hear(), json!({"jsonrpc":"2.0","id":7,"result":"first"}));
    rig.request(7, "test/echo", json!(["second"]));
    assert_eq!(rig.hear(), json!({"jsonrpc":"2.0","id":7,"result":["second"]}));
    rig.request("7", "test/echo", json!(["text"]));
    assert_eq!(rig.hear(), json!({"jsonrpc":"2.0","id":"7","result":["text"]}));
    rig.assert_quiet();
}

#[test]
fn id_tokens_are_echoed_byte_for_byte() {
    let tokens = [
        "0",
        "-0",
        "1",
        "-17",
        "2147483648",
        "9223372036854775807",
        "123456789012345678901234567890",
        r#""""#,
        r#""ap-7""#,
        r#""\u0000""#,
        r#""\u00e9\/\"""#,
        r#""é😀""#,
        r#""null""#,
    ];
    let (near, far) = super::super::pipe().unwrap();
    let (out, parts) = super::super::channel();
    let (face, _seen) = super::rig::face(out);
    let served = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(super::super::serve(face, parts, near.reader, near.writer))
    });
    let mut input = Vec::new();
    for token in tokens {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{token},"method":"test/echo"}}"#);
        input.extend(super::super::framing::encode(body.as_bytes()));
    }
    std::io::Write::write_all(&mut &far.writer, &input).unwrap();
    drop(far.writer);
    let output = std::io::read_to_string(far.reader).unwrap();
    for token in tokens {
        let start = format!(r#"{{"jsonrpc":"2.0","id":{token},"result":"#);
        assert_eq!(output.matches(&start).count(), 1, "{token} in {output}");
    }
    assert!(matches!(served.join().unwrap(), super::super::ConnectionEnd::InputClosed));
}

#[test]
fn b6_5_a_panic_ends_one_call_only() {
    let mut rig = Rig::new();
    rig.request(1, "test/panicNow", json!(null));
    assert_eq!(rig.hear()["error"]["code"], -32603);
    rig.request(2, "test/panicLater", json!(null));
    assert_eq!(rig.hear()["error"]["code"], -32603);
    rig.notify("test/panicNote", json!({}));
    rig.notify("test/panicNote", json!({"later": true}));
    rig.request(3, "test/panicDropped", json!(null));
    rig.cancel(3);
    let answer = rig.hear();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(3), &json!(-32603)));
    rig.request(2, "test/panicLater", json!(null));
    assert_eq!(rig.hear()["error"]["code"], -32603);
    assert_eq!(rig.alive(), 0);
    rig.assert_quiet();
}

#[test]
fn a_message_in_pieces_is_one_message() {
    let mut rig = Rig::new();
    let frame =
        super::super::framing::encode(br#"{"jsonrpc":"2.0","id":1,"method":"test/echo","params":["split"]}"#);
    for byte in &frame {
        rig.bytes(std::slice::from_ref(byte));
    }
    assert_eq!(rig.hear(), json!({"jsonrpc":"2.0","id":1,"result":["split"]}));
}

#[test]
fn bad_messages_are_answered_and_the_next_is_served() {
    let mut rig = Rig::new();
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"test/echo","params":{deep}}}"#);
    for (body, id, code) in [
        ("{", json!(null), -32700),
        ("[1,2]", json!(null), -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, json!(1), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"exit"}"#, json!(1), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"test/note"}"#, json!(1), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#, json!(1), -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"$/cancelRequest","params":{"id":2}}"#, json!(1), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#, json!(1), -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"$/whatever"}"#, json!(1), -32601),
        (&deep, json!(1), -32602),
    ] {
        rig.body(body);
        let answer = rig.hear();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{body:.80}");
    }
    rig.bytes(b"hello world\r\n\r\n");
    assert_eq!(rig.hear()["error"]["code"], -32700);
    rig.bytes(b"Content-Length: 4\r\n\r\n\xff\xfe\x00\x01");
    assert_eq!(rig.hear()["error"]["code"], -32700);
    for ignored in [
        r#"{"jsonrpc":"2.0","method":"no/such"}"#,
        r#"{"jsonrpc":"2.0","method":"$/whatever"}"#,
        r#"{"jsonrpc":"2.0","method":"shutdown"}"#,
        r#"{"jsonrpc":"2.0","method":"initialize","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"test/echo","params":[1]}"#,
        r#"{"jsonrpc":"2.0","id":"ap-7","result":{"decision":"allow"}}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}"#,
    ] {
        rig.body(ignored);
        rig.assert_quiet();
    }
}

/// An unreadable message may have been any message. The backend gets a report of it, in the order of arrival.
#[test]
fn a_message_that_nobody_can_read_is_told_to_the_face_as_lost() {
    let mut rig = Rig::new();
    let lost = |rig: &Rig| rig.seen.lost.load(std::sync::atomic::Ordering::Acquire);
    rig.notify("test/strict", json!({}));
    rig.assert_quiet();
    assert_eq!(lost(&rig), 1);
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    rig.body(&format!(r#"{{"jsonrpc":"2.0","method":"test/note","params":{deep}}}"#));
    rig.assert_quiet();
    assert_eq!(lost(&rig), 2);
    rig.body("{");
    assert_eq!(rig.hear()["error"]["code"], -32700);
    assert_eq!(lost(&rig), 3);
    rig.body(r#"{"jsonrpc":"2.0","id":5,"method":7}"#);
    assert_eq!(rig.hear()["id"], 5, "its sender hears of it");
    assert_eq!(lost(&rig), 3);
}

#[test]
fn half_a_surrogate_pair_reaches_the_handler() {
    let mut rig = Rig::new();
    rig.body(r#"{"jsonrpc":"2.0","id":1,"method":"test/echo","params":["\ud83d"]}"#);
    assert_eq!(rig.hear()["result"], json!(["\u{fffd}"]));
}

#[test]
fn p28_one_request_too_many_can_be_sent_again_and_the_rest_goes_on() {
    let mut rig = Rig::new();
    let limit = super::super::dispatcher::REQUEST_LIMIT;
    for n in 0..limit {
        rig.request(n, "test/hang", json!(null));
    }
    rig.request("over", "test/hang", json!(null));
    let refused = rig.hear();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("over"), &json!(-33002)));
    let detail = json!({"name": "Overloaded", "retryable": true, "retryAfterMs": 100});
    assert_eq!(refused["error"]["data"], detail);
    rig.cancel(0);
    assert_eq!(rig.hear()["error"]["code"], -32800);
    assert_eq!(rig.alive(), limit - 1);
    rig.request("over", "test/hang", json!(null));
    rig.cancel(1);
    assert_eq!(rig.hear()["id"], json!(1), "the same request was taken later");
    rig.assert_quiet();
}
