//! What is served in which phase of a connection, and what is refused.

use std::sync::OnceLock;

use adjutant_protocol::methods::{MODEL_LIST, SESSION_NEW, SESSION_PROMPT};
use serde_json::json;

use super::*;
use crate::lsp::{Options, Server};
use crate::model::Models;
use crate::settings::Sources;
use crate::transport::channel;

/// A router before `initialize`; its state is in a folder of its own.
fn router(state: &tempfile::TempDir) -> Router {
    let home = Some(state.path().to_owned());
    let sources = Sources { home, ..Sources::default() };
    let options = Options::new(sources, Models::default());
    // The other end must exist, though nothing reads from it.
    let (out, parts) = channel();
    std::mem::forget(parts);
    let parent = tokio::sync::watch::channel(None).0;
    Router::new(Server { out, options, ready: OnceLock::new(), parent, sessions: Default::default() })
}

/// The code of the error, or 0.
async fn code_of(router: &Router, method: &str, params: Value) -> i64 {
    let params = (!params.is_null()).then_some(params);
    match router.request(method, Ok(params)).await {
        Ok(_) => 0,
        Err(error) => error.code,
    }
}

fn initialize() -> Value {
    json!({ "capabilities": {} })
}

#[tokio::test]
async fn a_connection_begins_once_and_ends_once() {
    let state = tempfile::tempdir().unwrap();
    let router = router(&state);
    assert_eq!(code_of(&router, MODEL_LIST, json!({})).await, -32002);
    assert_eq!(code_of(&router, "shutdown", Value::Null).await, -32002);
    assert!(matches!(
        router.notification("exit", Ok(None)),
        NotificationOutcome::Exit { after_shutdown: false }
    ));
    // After one that fails, or that its client withdraws, another may come.
    assert_eq!(code_of(&router, "initialize", json!({"capabilities": "x"})).await, -32602);
    assert_eq!(code_of(&router, "initialize", Value::Null).await, -32602);
    drop(router.request("initialize", Ok(Some(initialize()))));
    let in_flight = router.request("initialize", Ok(Some(initialize())));
    assert_eq!(code_of(&router, "initialize", initialize()).await, -32600, "one is in flight");
    assert_eq!(code_of(&router, MODEL_LIST, json!({})).await, -32002, "not yet");
    assert!(in_flight.await.is_ok());
    assert_eq!(code_of(&router, "initialize", initialize()).await, -32600);
    assert_eq!(code_of(&router, "initialize", json!({"capabilities": "x"})).await, -32602);
    assert_eq!(code_of(&router, MODEL_LIST, json!({})).await, 0);
    assert_eq!(code_of(&router, MODEL_LIST, Value::Null).await, 0, "its params may be left out");
    assert_eq!(code_of(&router, "shutdown", json!({})).await, 0);
    assert_eq!(code_of(&router, MODEL_LIST, json!({})).await, -32600);
    assert_eq!(code_of(&router, "shutdown", Value::Null).await, -32600);
    assert!(matches!(
        router.notification("exit", Ok(None)),
        NotificationOutcome::Exit { after_shutdown: true }
    ));
}

#[tokio::test]
async fn what_nobody_serves_is_refused_and_a_notification_is_passed_over() {
    let state = tempfile::tempdir().unwrap();
    let router = router(&state);
    let open = || {
        Ok(Some(json!({"textDocument": {"uri": "file:///a", "languageId": "", "version": 1, "text": ""}})))
    };
    assert!(
        matches!(router.notification("textDocument/didOpen", open()), NotificationOutcome::PassedOver),
        "too early"
    );
    assert_eq!(code_of(&router, "initialize", initialize()).await, 0);
    for method in ["no/such", "$/noSuch", "textDocument/definition"] {
        assert_eq!(code_of(&router, method, json!([3])).await, -32601, "{method}");
        assert!(matches!(router.notification(method, Ok(None)), NotificationOutcome::PassedOver), "{method}");
    }
    for method in NOTIFICATIONS {
        assert_eq!(code_of(&router, method, json!({})).await, -32600, "{method} with an id");
    }
    for method in ["initialize", "shutdown", SESSION_NEW] {
        assert!(
            matches!(router.notification(method, Ok(Some(json!({})))), NotificationOutcome::PassedOver),
            "{method}"
        );
    }
    assert_eq!(code_of(&router, MODEL_LIST, json!({})).await, 0, "nothing of that ended anything");
    assert_eq!(code_of(&router, SESSION_PROMPT, Value::Null).await, -32602);
    assert_eq!(code_of(&router, SESSION_PROMPT, json!({"prompt": 1})).await, -32602);
    assert!(matches!(router.notification("textDocument/didOpen", open()), NotificationOutcome::Serving(_)));
    for method in ["textDocument/didOpen", "textDocument/didChange", "textDocument/didClose"] {
        let unread = router.notification(method, Ok(Some(json!({"textDocument": 5}))));
        assert!(matches!(unread, NotificationOutcome::Unreadable(_)), "{method}: each of them counts");
    }
    assert!(matches!(
        router.notification("textDocument/didSave", Ok(Some(json!(5)))),
        NotificationOutcome::PassedOver
    ));
}

/// A client can leave with any params.
#[tokio::test]
async fn the_end_of_a_connection_does_not_depend_on_params_that_cannot_be_read() {
    let state = tempfile::tempdir().unwrap();
    let router = router(&state);
    assert_eq!(
        code_of(&router, "textDocument/didOpen", json!({})).await,
        -32002,
        "too early, whatever it is"
    );
    assert_eq!(code_of(&router, "initialize", initialize()).await, 0);
    let unread = || Err("nested too deep".to_owned());
    let refused = router.request(MODEL_LIST, unread()).await.expect_err("it has params");
    assert_eq!(refused.code, -32602);
    for method in ["initialize", "shutdown"] {
        assert!(matches!(router.notification(method, unread()), NotificationOutcome::PassedOver), "{method}");
    }
    assert!(
        matches!(router.notification("no/such", unread()), NotificationOutcome::Unreadable(_)),
        "it may be any"
    );
    assert!(router.request("shutdown", unread()).await.is_ok());
    assert!(matches!(
        router.notification("exit", unread()),
        NotificationOutcome::Exit { after_shutdown: true }
    ));
}

/// No client could name such a session, and it would hold its place until the connection ends.
#[tokio::test]
async fn a_new_session_whose_request_is_withdrawn_is_not_made() {
    let state = tempfile::tempdir().unwrap();
    let router = router(&state);
    assert_eq!(code_of(&router, "initialize", initialize()).await, 0);
    let mut made = 0;
    for _ in 0..50 {
        let mut request = router.request(SESSION_NEW, Ok(Some(json!({}))));
        let begun = std::future::poll_fn(|cx| std::task::Poll::Ready(request.as_mut().poll(cx))).await;
        // It checks its folders on another thread, which may be the faster one.
        made += usize::from(begun.is_ready());
    }
    assert!(made < 50, "no request was withdrawn");
    assert_eq!(code_of(&router, SESSION_NEW, json!({})).await, 0);
    let agent = router.server.agent().expect("it is there");
    assert_eq!(agent.sessions.all().len(), made + 1);
}
