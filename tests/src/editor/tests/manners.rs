//! The allowed messages of a server, their time and their clients; and the answers of the double.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::wire::{Id, Message};
use super::super::{Capabilities, Editor, Encoding, Options, Rule, UnknownRequests};
use super::{broken, pair, pair_with, unconnected};
use crate::fixture::Workspace;

fn options() -> (Workspace, Options) {
    let workspace = Workspace::new("");
    let options = Options::new(&workspace);
    (workspace, options)
}

#[test]
fn a_client_says_what_it_can_do() {
    let (workspace, options) = options();
    let (editor, mut peer) = unconnected(Options {
        settings: json!({"model": "a/b"}),
        initialization_options: json!({"x": 1}),
        ..options
    });
    let params = editor.shared.lock().options.initialize_params();
    let id = editor.request_nowait("initialize", params);
    let (_, params) = peer.read_request("initialize");
    assert_eq!(params["workspaceFolders"][0]["uri"], workspace.uri(""));
    assert_eq!(params["capabilities"]["experimental"]["agent"]["documents"]["complete"], true);
    assert_eq!(params["capabilities"]["general"]["positionEncodings"], json!(["utf-16"]));
    assert_eq!(params["initializationOptions"]["x"], 1);
    let agent = json!({
        "version": 0, "sessionMethods": ["new"], "updateKinds": [], "modes": ["code"], "fallbacks": {},
        "promptCapabilities": {"image": true, "embeddedContext": true},
        "limits": {
            "maxPromptBytes": 1, "maxImages": 1, "maxImageBytes": 1, "maxImagesEncodedBytes": 1, "maxQueue": 1,
        },
    });
    peer.respond(&id, json!({"capabilities": {"experimental": {"agent": agent}}}));
    editor.await_response(&id).unwrap();
    assert_eq!(editor.agent_capabilities().unwrap().session_methods, ["new"]);
    let items = json!({"items": [{"section": "adjutant"}, {"section": "other"}]});
    assert_eq!(peer.ask("workspace/configuration", items).unwrap(), json!([{"model": "a/b"}, null]));
    assert_eq!(broken(editor), []);
}

#[test]
fn a_plain_client_offers_nothing_of_ours_and_gets_nothing() {
    let (_workspace, options) = options();
    let (editor, mut peer) = pair(options.clone().capabilities(Capabilities::plain()));
    peer.update(1, json!({"sessionUpdate": "_rule", "text": "r"}));
    peer.settle();
    assert_eq!(broken(editor), [Rule::NotOffered]);

    let (editor, mut peer) = pair(options.capabilities(Capabilities::bare()));
    for method in ["workspace/configuration", "window/workDoneProgress/create", "window/showDocument"] {
        peer.ask(method, json!({"token": 1})).unwrap();
    }
    assert_eq!(broken(editor), [Rule::NotOffered; 3]);
}

#[test]
fn an_encoding_that_was_not_offered_is_refused() {
    let (_workspace, options) = options();
    let chosen = |name: &str| {
        let offered = Capabilities::full().with_encodings(&[Encoding::Utf8]);
        let options = options.clone().capabilities(offered);
        let (editor, _peer) = pair_with(options, json!({"positionEncoding": name}));
        broken(editor)
    };
    assert_eq!(chosen("utf-8"), []);
    assert_eq!(chosen("utf-16"), []);
    assert_eq!(chosen("utf-32"), [Rule::NotOffered]);
    assert_eq!(chosen("utf-7"), [Rule::NotOffered]);
}

#[test]
fn responses_belong_to_requests() {
    let (_workspace, options) = options();
    let (editor, mut peer) = pair(options);
    let first = editor.request_nowait("one", json!({}));
    let second = editor.request_nowait("two", json!({}));
    assert!(matches!((&first, &second), (Id::Number(_), Id::Text(_)) | (Id::Text(_), Id::Number(_))));
    peer.read_request("one");
    peer.read_request("two");
    peer.respond(&second, json!(2));
    peer.respond(&first, json!(1));
    assert_eq!(editor.await_response(&first), Ok(json!(1)));
    assert_eq!(editor.await_response(&second), Ok(json!(2)));
    peer.respond(&first, json!("again"));
    peer.respond(&Id::Number(9_999), json!(null));
    peer.settle();
    assert_eq!(broken(editor), [Rule::UnknownResponse, Rule::UnknownResponse]);
}

#[test]
fn every_request_wants_an_answer() {
    let (_workspace, options) = options();
    let (editor, peer) = pair(options.clone());
    editor.request_nowait("never/answered", json!({}));
    peer.read_request("never/answered");
    assert_eq!(broken(editor), [Rule::Unanswered]);
    let (editor, peer) = pair(options);
    editor.request_nowait("never/answered", json!({}));
    peer.read_request("never/answered");
    editor.expect_loss();
    assert_eq!(broken(editor), []);
}

#[test]
fn bytes_that_are_no_message_are_told() {
    let (_workspace, options) = options();
    let (editor, mut peer) = pair(options.clone());
    peer.raw(b"Content-Length: 2\r\n\r\n{}");
    peer.settle();
    assert_eq!(broken(editor), [Rule::Framing]);
    let (editor, mut peer) = pair(options);
    peer.raw(b"debug: hello\n");
    editor.await_end();
    let faults = broken(editor);
    assert_eq!(faults, [Rule::Framing, Rule::ConnectionLost]);
}

#[test]
fn an_end_without_a_shutdown_is_a_loss() {
    let (_workspace, options) = options();
    let (editor, peer) = pair(options.clone());
    drop(peer);
    editor.await_end();
    assert_eq!(broken(editor), [Rule::ConnectionLost]);
    let (editor, peer) = pair(options);
    editor.hang_up();
    assert_eq!(peer.read(), None);
    drop(peer);
    editor.await_end();
    assert_eq!(broken(editor), []);
}

#[test]
fn there_is_a_time_before_and_a_time_after() {
    let (_workspace, options) = options();
    let (editor, mut peer) = unconnected(options.clone());
    peer.notify("window/logMessage", json!({"type": 3, "message": "allowed"}));
    peer.notify("textDocument/publishDiagnostics", json!({"uri": "file:///a", "diagnostics": []}));
    editor.shared.wait("it", |inner| (!inner.diagnostics.is_empty()).then_some(()));
    assert_eq!(editor.logged(), ["allowed"]);
    assert_eq!(broken(editor), [Rule::EarlyMessage]);

    let (editor, mut peer) = pair(options);
    let faults = std::thread::scope(|scope| {
        let leaving = scope.spawn(|| {
            editor.shutdown();
            broken(editor)
        });
        let (id, params) = peer.read_request("shutdown");
        assert_eq!(params, Value::Null);
        peer.respond(&id, Value::Null);
        peer.notify("window/logMessage", json!({"type": 3, "message": "late"}));
        assert_eq!(peer.read_notification("exit"), Value::Null);
        drop(peer);
        leaving.join().unwrap()
    });
    assert_eq!(faults, [Rule::LateMessage]);
}

#[test]
fn what_the_client_does_not_know_it_says() {
    let (_workspace, options) = options();
    let (editor, mut peer) = pair(options.clone());
    assert_eq!(peer.ask("agent/unheard/of", json!({})).unwrap_err().code, -32601);
    peer.notify("agent/unheard/of", json!({}));
    peer.settle();
    assert_eq!(broken(editor), [Rule::UnknownNotification]);
    let (editor, mut peer) = pair(Options { unknown_requests: UnknownRequests::NullAsSuccess, ..options });
    assert_eq!(peer.ask("agent/unheard/of", json!({})), Ok(Value::Null));
    assert_eq!(broken(editor), []);
}

#[test]
fn ids_of_the_server_are_its_own_and_used_once_at_a_time() {
    let (_workspace, options) = options();
    let (editor, mut peer) = pair(options);
    let ask = |id: &str| Message::Request {
        id: Id::Text(id.into()),
        method: "window/showMessageRequest".into(),
        params: json!({"type": 3, "message": "?", "actions": [{"title": "Yes", "askId": "a1"}]}),
    };
    peer.send(&ask("q"));
    let popup = editor.await_popup();
    assert_eq!((popup.message.as_str(), popup.actions.as_slice()), ("?", &["Yes".to_owned()][..]));
    editor.press(&popup, Some("Yes"));
    // The answer has all members of the button.
    assert_eq!(peer.read_response(&Id::Text("q".into())).unwrap()["askId"], "a1");
    peer.send(&ask("q"));
    editor.press(&editor.await_popup(), None);
    assert_eq!(peer.read_response(&Id::Text("q".into())), Ok(Value::Null));
    peer.send(&ask("q"));
    peer.send(&ask("q"));
    peer.settle();
    assert_eq!(broken(editor), [Rule::ReusedId, Rule::SecondPopup]);
}

#[test]
fn one_popup_at_a_time() {
    let (_workspace, options) = options();
    let (editor, mut peer) = pair(options.capabilities(Capabilities::plain()));
    let first = peer.request("window/showMessageRequest", json!({"message": "1", "actions": []}));
    peer.notify("$/cancelRequest", json!({"id": first.to_value()}));
    assert_eq!(peer.read_response(&first).unwrap_err().code, -32800);
    peer.request("window/showMessageRequest", json!({"message": "2", "actions": []}));
    peer.settle();
    assert_eq!(editor.violations(), []);
    peer.request("window/showMessageRequest", json!({"message": "3", "actions": []}));
    peer.settle();
    assert_eq!(broken(editor), [Rule::SecondPopup]);
}

#[test]
fn progress_is_made_begun_and_ended() {
    let (_workspace, options) = options();
    let outcome = |kinds: &[&str]| {
        let (editor, mut peer) = pair(options.clone());
        for kind in kinds {
            match *kind {
                "create" => {
                    peer.ask("window/workDoneProgress/create", json!({"token": "t"})).unwrap();
                }
                kind => peer.notify("$/progress", json!({"token": "t", "value": {"kind": kind}})),
            }
        }
        peer.settle();
        (editor.open_progress(), editor.progress().len(), broken(editor))
    };
    assert_eq!(outcome(&["create", "begin", "report", "end"]), (0, 3, vec![]));
    assert_eq!(outcome(&["create", "begin"]), (1, 1, vec![]));
    assert_eq!(outcome(&["begin"]).2, [Rule::ProgressOrder]);
    assert_eq!(outcome(&["create", "report"]).2, [Rule::ProgressOrder]);
    assert_eq!(outcome(&["create", "begin", "end", "end"]).2, [Rule::ProgressOrder]);
    assert_eq!(outcome(&["create", "create"]).2, [Rule::ProgressOrder]);
}

#[test]
fn a_message_to_the_user_wants_to_be_read() {
    let (_workspace, options) = options();
    let (editor, mut peer) = pair(options);
    peer.notify("window/showMessage", json!({"type": 1, "message": "first"}));
    peer.notify("window/showMessage", json!({"type": 1, "message": "second"}));
    assert_eq!(editor.await_message(), "first");
    peer.settle();
    assert_eq!(broken(editor), [Rule::UnreadMessage]);
}

#[test]
fn an_editor_may_stop_reading() {
    let (_workspace, options) = options();
    let (editor, mut peer) = pair(options);
    editor.stall();
    // The double may already be reading one frame, but not the second.
    peer.notify("window/logMessage", json!({"type": 3, "message": "one"}));
    peer.notify("window/logMessage", json!({"type": 3, "message": "two"}));
    let id = editor.request_nowait("still/speaking", json!({}));
    peer.read_request("still/speaking");
    peer.respond(&id, json!({}));
    assert!(!editor.logged().contains(&"two".to_owned()));
    assert!(!editor.is_answered(&id));
    editor.unstall();
    editor.await_response(&id).unwrap();
    assert_eq!(editor.logged(), ["one", "two"]);
    assert_eq!(broken(editor), []);
}

#[test]
fn raw_bytes_and_withdrawn_requests_reach_the_server() {
    let (_workspace, options) = options();
    let (editor, mut peer) = pair(options);
    editor.send_bytes(&super::wire::frame(&Message::Notification {
        method: "raw".into(),
        params: Value::Null,
    }));
    peer.read_notification("raw");
    let id = editor.request_nowait("slow", json!({}));
    editor.cancel_request(&id);
    peer.read_request("slow");
    assert_eq!(peer.read_notification("$/cancelRequest")["id"], id.to_value());
    peer.respond(&id, json!({}));
    editor.await_response(&id).unwrap();
    assert_eq!(broken(editor), []);
}

fn panics_with(act: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = std::panic::catch_unwind(act).expect_err("a panic");
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn a_wait_that_fails_shows_what_was_seen() {
    let (_workspace, options) = options();
    let options = Options {
        deadline: Duration::from_millis(50),
        also_show: Some(std::sync::Arc::new(|| "what the server said".to_owned())),
        ..options
    };
    let (editor, peer) = pair(options);
    let editor = std::panic::AssertUnwindSafe(editor);
    let text = panics_with(|| {
        let editor: &Editor = &editor;
        editor.request("never/answered", json!({})).unwrap();
    });
    assert!(text.contains("waited for the response to the request"), "{text}");
    assert!(text.contains("nothing in 50ms") && text.contains("what the server said"), "{text}");
    assert!(text.contains("editor -> ") && text.contains("never/answered"), "{text}");
    drop(peer);
    let text = panics_with(|| {
        editor.await_message();
    });
    assert!(text.contains("the server closed the connection"), "{text}");
    assert_eq!(broken(editor.0), [Rule::ConnectionLost, Rule::Unanswered]);
}

#[test]
fn a_drop_fails_the_test_that_did_not_look() {
    let (_workspace, options) = options();
    let (editor, mut peer) = pair(options.clone());
    peer.respond(&Id::Number(77), Value::Null);
    peer.settle();
    let text = panics_with(std::panic::AssertUnwindSafe(|| drop(editor)));
    assert!(text.contains("UnknownResponse: a response to the id 77"), "{text}");
    let (editor, mut peer) = pair(options);
    peer.respond(&Id::Number(77), Value::Null);
    peer.settle();
    editor.forgive(Rule::UnknownResponse);
    drop(editor);
}

#[test]
fn a_panic_in_a_hook_fails_the_test() {
    let (workspace, editor, mut peer) = super::with_document("text\n", |options| options);
    editor.before_apply(|buffers| buffers.replace("a.txt", "not there", ""));
    let document = json!({"uri": workspace.uri("a.txt"), "version": 1});
    peer.request(
        "workspace/applyEdit",
        json!({"edit": {"documentChanges": [{"textDocument": document, "edits": []}]}}),
    );
    assert_eq!(editor.await_end(), "the editor double panicked in its own thread");
    assert_eq!(broken(editor), [Rule::ConnectionLost]);
}
