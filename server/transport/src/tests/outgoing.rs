//! Tests of sending: order, bounds, requests to the client, and the headless client.

use serde_json::json;

use super::super::client::{Incoming, connect};
use super::super::limits::{ANSWER_ROOM, FRAME_ROOM};
use super::super::*;
use super::rig::{DEADLINE, Rig, face};

#[test]
fn a_dropped_request_is_withdrawn_behind_itself() {
    let mut rig = Rig::new();
    let reply = rig.out.request("client/ask", &json!({"n": 1}));
    let id = reply.id();
    drop(reply);
    let asked = rig.hear();
    assert_eq!((&asked["method"], &asked["id"]), (&json!("client/ask"), &json!(id)));
    let withdrawn = rig.hear();
    assert_eq!(withdrawn["method"], "$/cancelRequest");
    assert_eq!(withdrawn["params"], json!({"id": id}));
    // A late answer of the client has no effect.
    rig.say(&json!({"jsonrpc":"2.0","id":id,"error":{"code":-32800,"message":"ok"}}));
    rig.assert_quiet();
}

#[test]
fn a_reply_is_taken_once_and_only_from_a_sound_envelope() {
    let mut rig = Rig::new();
    let reply = rig.out.request("client/ask", &());
    let id = rig.hear()["id"].clone();
    rig.say(&json!({"jsonrpc":"2.0","id":id,"result":1,"error":{"code":1,"message":""}}));
    assert_eq!(rig.hear()["error"]["code"], -32600);
    rig.say(&json!({"jsonrpc":"1.0","id":id,"result":"old"}));
    assert_eq!(rig.hear()["error"]["code"], -32600);
    rig.say(&json!({"jsonrpc":"2.0","id":id.to_string(),"result":"other id"}));
    rig.assert_quiet();
    rig.say(&json!({"jsonrpc":"2.0","id":id,"error":{"code":-32601,"message":"unknown"}}));
    rig.say(&json!({"jsonrpc":"2.0","id":id,"result":"second"}));
    let error = ReplyError::Refused { code: -32601, message: "unknown".into() };
    assert_eq!(rig.wait(reply).unwrap_err(), error);
    rig.assert_quiet();
}

#[test]
fn a_client_that_does_not_read_fills_no_memory_and_is_still_heard() {
    let (mut rig, reader) = Rig::deaf();
    rig.request("init", "initialize", json!({"capabilities": {}}));
    let text = "x".repeat(1000);
    let mut sent = 0;
    while rig.out.try_notify("delta", &json!({"n": sent, "text": text})).is_ok() {
        sent += 1;
        assert!(sent < 100_000, "the queue has no bound");
    }
    rig.until("a full queue", |rig| {
        while rig.out.try_notify("delta", &json!({"n": sent, "text": text})).is_ok() {
            sent += 1;
        }
        rig.out.queued() == FRAME_ROOM
    });
    assert!(!rig.out.has_room());
    let out = rig.out.clone();
    let waiting = rig.spawn(async move { out.notify("last", &json!({})).await });
    let unsent = rig.out.request("client/ask", &json!({}));
    drop(unsent);
    // The other direction works: notifications arrive, requests are served and cancelled.
    for n in 0..500 {
        rig.notify("test/note", json!({"n": n}));
    }
    assert_eq!(rig.notes(500), (0..500).collect::<Vec<_>>());
    rig.request(1, "test/hang", json!(null));
    rig.until("the handler", |rig| rig.alive() == 1);
    rig.cancel(1);
    rig.until("the cancellation", |rig| rig.alive() == 0);
    assert_eq!(rig.out.queued(), FRAME_ROOM);
    assert!(!waiting.is_finished());
    // The client reads again and gets all messages in order.
    rig.listen(reader);
    let (mut next, mut others) = (0, Vec::new());
    while others.len() < 3 {
        let message = rig.hear();
        if message["method"] == "delta" {
            assert_eq!(message["params"]["n"], next);
            next += 1;
        } else {
            others.push(message);
        }
    }
    assert_eq!(next, sent);
    assert!(others.iter().any(|message| message["id"] == "init"));
    assert!(others.iter().any(|message| message["error"]["code"] == -32800));
    assert!(others.iter().any(|message| message["method"] == "last"));
    assert_eq!(rig.wait(waiting).unwrap(), Ok(()));
    rig.assert_quiet();
}

#[test]
fn large_frames_are_bounded_by_their_bytes() {
    let (rig, _reader) = Rig::deaf();
    let text = "x".repeat(1024 * 1024);
    let mut sent = 0;
    while rig.out.try_notify("large", &json!({"text": text})).is_ok() {
        sent += 1;
        assert!(sent < 40, "the queue has no bound in bytes");
    }
    assert!(sent >= 8);
    assert!(rig.out.queued() < 40);
}

#[test]
fn answers_nobody_reads_stop_the_intake_and_go_on_later() {
    let (mut rig, reader) = Rig::deaf();
    let count = ANSWER_ROOM + 5_000;
    let mut stream = Vec::new();
    for n in 0..count {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"test/echo"}}"#);
        stream.extend(framing::encode(body.as_bytes()));
    }
    let mut writer = rig.take_writer();
    let writing = std::thread::spawn(move || {
        std::io::Write::write_all(&mut writer, &stream).unwrap();
        writer
    });
    rig.until("the pause", |rig| !rig.out.has_answer_room());
    rig.assert_serving();
    rig.listen(reader);
    assert_eq!(rig.hear_answers(count).len(), count);
    drop(writing.join().unwrap());
    assert!(matches!(rig.ended(), ConnectionEnd::InputClosed));
}

#[test]
fn the_end_does_not_wait_for_a_client_that_does_not_read() {
    let (mut rig, _reader) = Rig::deaf();
    let text = "x".repeat(1000);
    rig.until("a full queue", |rig| {
        rig.out.try_notify("delta", &json!({"text": text})) == Err(SendError::Full)
    });
    rig.notify("exit", json!(null));
    assert!(matches!(rig.ended(), ConnectionEnd::Exit { .. }));
}

#[test]
fn each_of_many_producers_keeps_its_order() {
    let mut rig = Rig::new();
    for producer in 0..8 {
        let out = rig.out.clone();
        rig.spawn(async move {
            for n in 0..2_000 {
                let params = json!({"producer": producer, "n": n});
                out.notify("tick", &params).await.unwrap();
            }
        });
    }
    let mut next = [0; 8];
    for _ in 0..16_000 {
        let message = rig.hear();
        let producer = message["params"]["producer"].as_u64().unwrap() as usize;
        assert_eq!(message["params"]["n"], next[producer]);
        next[producer] += 1;
    }
    assert_eq!(next, [2_000; 8]);
}

#[test]
fn the_headless_client_speaks_over_the_same_code() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let dialogue = async {
        let (near, far) = pipe().unwrap();
        let (out, parts) = channel();
        let (face, seen) = face(out.clone());
        let served = tokio::spawn(serve(face, parts, near.reader, near.writer));
        let (peer, mut incoming) = connect(far.reader, far.writer).unwrap();
        let init = peer.request("initialize", &json!({"capabilities": {}})).await.unwrap();
        assert!(init.get().starts_with('{'));
        let no_such = peer.request("no/such", &json!({})).await.unwrap_err();
        assert!(matches!(no_such, ReplyError::Refused { code: -32601, .. }));
        let asked = peer.request("test/ask", &json!({"q": 1}));
        let Some(Incoming::Request { id, method, params }) = incoming.recv().await else {
            panic!("no question");
        };
        assert_eq!((method.as_str(), params.unwrap().get()), ("client/ask", r#"{"q":1}"#));
        peer.respond(&id, &json!("yes"));
        assert_eq!(asked.await.unwrap().get(), r#""yes""#);
        // A withdrawn request is cancelled at the other end; so is the request that its handler sent.
        let asked = peer.request("test/ask", &json!({"q": 2}));
        assert!(matches!(incoming.recv().await, Some(Incoming::Request { .. })));
        drop(asked);
        let Some(Incoming::Notification { method, .. }) = incoming.recv().await else {
            panic!("no cancellation");
        };
        assert_eq!(method, "$/cancelRequest");
        let reply = out.request("client/ask", &());
        let Some(Incoming::Request { id, .. }) = incoming.recv().await else {
            panic!("no question");
        };
        peer.refuse(Some(&id), code::METHOD_NOT_FOUND, "not here");
        assert!(matches!(reply.await, Err(ReplyError::Refused { code: -32601, .. })));
        assert_eq!(*seen.alive.lock().unwrap(), 0);
        drop(peer);
        assert!(matches!(served.await.unwrap(), ConnectionEnd::InputClosed));
        assert!(incoming.recv().await.is_none());
    };
    runtime.block_on(async { tokio::time::timeout(DEADLINE, dialogue).await }).expect("in time");
}
