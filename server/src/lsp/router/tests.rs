//! What is served in which phase of a connection, and what is refused.

use std::sync::OnceLock;

use adjutant_protocol::methods::{MODEL_LIST, SESSION_NEW, SESSION_PROMPT};
use serde_json::json;

use super::*;
use crate::lsp::{Options, Server};
use crate::model::Models;
use crate::settings::Sources;
use crate::transport::channel;

/// A router whose client has said nothing; its state is in a folder of its own.
fn router(state: &tempfile::TempDir) -> Router {
    let home = Some(state.path().to_owned());
    let sources = Sources { home, ..Sources::default() };
    let options = Options::new(sources, Models::default());
    // Nobody reads what is sent; the other end has to be there.
    let (out, parts) = channel();
    std::mem::forget(parts);
    let parent = tokio::sync::watch::channel(None).0;
    Router::new(Server { out, options, ready: OnceLock::new(), parent, sessions: Default::default() })
}

/// The code of the error, or 0.
async fn code_of(router: &Router, method: &str, params: Value) -> i64 {
    let params = (!params.is_null()).then_some(params);
    match router.request(method, params).await {
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
    assert!(matches!(router.notification("exit", None), Notified::Exit { after_shutdown: false }));
    // One that fails, or that its client withdraws, leaves room for another.
    assert_eq!(code_of(&router, "initialize", json!({"capabilities": "x"})).await, -32602);
    assert_eq!(code_of(&router, "initialize", Value::Null).await, -32602);
    drop(router.request("initialize", Some(initialize())));
    let in_flight = router.request("initialize", Some(initialize()));
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
    assert!(matches!(router.notification("exit", None), Notified::Exit { after_shutdown: true }));
}

#[tokio::test]
async fn what_nobody_serves_is_refused_and_a_notification_is_passed_over() {
    let state = tempfile::tempdir().unwrap();
    let router = router(&state);
    let open =
        || Some(json!({"textDocument": {"uri": "file:///a", "languageId": "", "version": 1, "text": ""}}));
    assert!(matches!(router.notification("textDocument/didOpen", open()), Notified::PassedOver), "too early");
    assert_eq!(code_of(&router, "initialize", initialize()).await, 0);
    for method in ["no/such", "$/noSuch", "textDocument/hover"] {
        assert_eq!(code_of(&router, method, json!([3])).await, -32601, "{method}");
        assert!(matches!(router.notification(method, None), Notified::PassedOver), "{method}");
    }
    for method in NOTIFICATIONS {
        assert_eq!(code_of(&router, method, json!({})).await, -32600, "{method} with an id");
    }
    for method in ["initialize", "shutdown", SESSION_NEW] {
        assert!(matches!(router.notification(method, Some(json!({}))), Notified::PassedOver), "{method}");
    }
    assert_eq!(code_of(&router, MODEL_LIST, json!({})).await, 0, "nothing of that ended anything");
    assert_eq!(code_of(&router, SESSION_PROMPT, Value::Null).await, -32602);
    assert_eq!(code_of(&router, SESSION_PROMPT, json!({"prompt": 1})).await, -32602);
    assert!(matches!(router.notification("textDocument/didOpen", open()), Notified::Serving(_)));
    for method in ["textDocument/didOpen", "textDocument/didChange", "textDocument/didClose"] {
        let unread = router.notification(method, Some(json!({"textDocument": 5})));
        assert!(matches!(unread, Notified::Unreadable(_)), "{method}: each of them counts");
    }
    assert!(matches!(router.notification("textDocument/didSave", Some(json!(5))), Notified::PassedOver));
}
