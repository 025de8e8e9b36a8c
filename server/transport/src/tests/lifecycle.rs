//! Tests of the start and the end of a connection.

use serde_json::json;

use super::super::*;
use super::rig::Rig;

#[test]
fn b6_6_exit_ends_though_the_client_holds_the_stream_open() {
    let mut rig = Rig::new();
    rig.request(1, "test/hang", json!(null));
    rig.request(2, "shutdown", json!({}));
    assert_eq!(rig.hear(), json!({"jsonrpc":"2.0","id":2,"result":null}));
    rig.notify("exit", json!(null));
    assert!(matches!(rig.ended(), ConnectionEnd::Exit { after_shutdown: true }));
    assert_eq!(rig.alive(), 0);
    rig.assert_silence_and_end();
    assert!(rig.out.is_closed());
}

#[test]
fn exit_without_shutdown_is_told_apart() {
    let mut rig = Rig::mute();
    rig.notify("exit", json!(null));
    assert!(matches!(rig.ended(), ConnectionEnd::Exit { after_shutdown: false }));
}

#[test]
fn what_came_before_the_end_of_the_stream_is_served() {
    let mut rig = Rig::new();
    for n in 0..1000 {
        rig.request(n, "test/echo", json!([n]));
    }
    rig.hang_up();
    assert_eq!(rig.hear_answers(1000).len(), 1000);
    assert!(matches!(rig.ended(), ConnectionEnd::InputClosed));
    rig.assert_silence_and_end();
}

#[test]
fn a_stream_that_cannot_be_followed_ends_with_the_reason() {
    for bytes in [
        "Content-Length: 99999999999999999999\r\n\r\n",
        "Content-Length: 4294967295\r\n\r\n{}",
        "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    ] {
        let mut rig = Rig::new();
        rig.bytes(bytes.as_bytes());
        let answer = rig.hear();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(null), &json!(-32700)));
        assert!(matches!(rig.ended(), ConnectionEnd::InputBroken(_)));
        rig.assert_silence_and_end();
    }
}

#[test]
fn at_the_end_open_questions_are_withdrawn_and_waiters_told() {
    let mut rig = Rig::new();
    rig.request(1, "test/ask", json!({}));
    let question = rig.hear();
    let outside = rig.spawn(rig.out.request("client/outside", &json!({})));
    assert_eq!(rig.hear()["method"], "client/outside");
    rig.notify("exit", json!(null));
    assert!(matches!(rig.ended(), ConnectionEnd::Exit { .. }));
    let withdrawn = rig.hear();
    assert_eq!(withdrawn["method"], "$/cancelRequest");
    assert_eq!(withdrawn["params"]["id"], question["id"]);
    let reply = rig.wait(outside).unwrap();
    assert_eq!(reply.unwrap_err(), ReplyError::ConnectionClosed);
    let late = rig.wait(rig.out.request("client/late", &json!({})));
    assert_eq!(late.unwrap_err(), ReplyError::ConnectionClosed);
    assert_eq!(rig.wait(rig.out.notify("late", &json!({}))), Err(SendError::Closed));
    assert_eq!(rig.out.try_notify("late", &json!({})), Err(SendError::Closed));
}

#[test]
fn a_client_that_closed_its_stream_ends_the_connection() {
    let (rig, reader) = Rig::deaf();
    let open = rig.spawn(rig.out.request("client/ask", &json!({})));
    drop(reader);
    let _ = rig.out.try_notify("anything", &json!({}));
    assert!(matches!(rig.ended(), ConnectionEnd::OutputClosed));
    let reply = rig.wait(open).unwrap();
    assert_eq!(reply.unwrap_err(), ReplyError::ConnectionClosed);
}
