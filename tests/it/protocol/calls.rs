//! Calls every request of the table: too early, and for things that do not exist.
//!
//! Never checks whether a request does its work; other tests do.

use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::methods::{self, Direction, METHODS};
use serde_json::{Value, json};

use super::client::Rig;

/// Returns valid params that name nothing that exists.
fn params(method: &str) -> Value {
    match method {
        methods::SESSION_NEW
        | methods::SESSION_LIST
        | methods::MODEL_LIST
        | methods::CONFIG_SCHEMA
        | methods::DOCTOR
        | methods::SETUP_PROVIDERS => {
            json!({})
        }
        methods::SETUP_TRY | methods::SETUP_WRITE => json!({ "provider": "nowhere", "model": "any" }),
        methods::REVIEW_DECIDE => {
            json!({ "sessionId": "s-0000000000000000", "targets": [], "action": "apply" })
        }
        methods::PROMPT_COMPLETE => json!({ "text": "@a", "offset": 2 }),
        methods::PROMPT_HISTORY => json!({ "cwd": "file:///nowhere" }),
        methods::REVIEW_BASE => json!({ "uri": "file:///nowhere/a.txt" }),
        methods::REVIEW_LIST
        | methods::REVIEW_DIFF
        | methods::ASK_LIST
        | methods::SESSION_RESUME
        | methods::SESSION_CLOSE
        | methods::SESSION_CONTEXT
        | methods::SESSION_COMPACT
        | methods::SESSION_DELETE => {
            json!({ "sessionId": "s-0000000000000000" })
        }
        methods::SESSION_RENAME => json!({ "sessionId": "s-0000000000000000", "title": "mine" }),
        methods::SESSION_FORK => json!({ "sessionId": "s-0000000000000000" }),
        methods::SESSION_ITEMS => json!({ "sessionId": "s-0000000000000000", "limit": 1 }),
        methods::ITEM_READ => json!({ "sessionId": "s-0000000000000000", "toolCallId": "call-0" }),
        methods::REVIEW_PREVIEW => json!({ "sessionId": "s-0000000000000000" }),
        methods::REVIEW_REWIND => {
            json!({ "sessionId": "s-0000000000000000", "runId": "run-0", "expect": {} })
        }
        methods::REVIEW_COMMENT => {
            json!({ "sessionId": "s-0000000000000000", "changeSetId": "c-0", "hunkId": "h1", "text": "why?" })
        }
        methods::REVIEW_SEND => json!({ "sessionId": "s-0000000000000000" }),
        methods::SESSION_PROMPT => {
            json!({ "sessionId": "s-0000000000000000", "prompt": [{ "type": "text", "text": "go" }] })
        }
        methods::SESSION_WAIT => {
            json!({ "sessionId": "s-0000000000000000", "runId": "run-0", "timeoutMs": 1 })
        }
        methods::SESSION_SET_CONFIG_OPTION => {
            json!({ "sessionId": "s-0000000000000000", "configId": "mode", "value": "ask" })
        }
        methods::START => json!({ "sessionId": "s-0000000000000000", "text": "go" }),
        methods::ASK_RESPOND => json!({ "askId": "ask-0", "optionId": "allow" }),
        _ => panic!("add params for {method} here"),
    }
}

fn requests() -> impl Iterator<Item = &'static str> {
    METHODS.iter().filter(|method| method.direction == Direction::ClientRequest).map(|method| method.name)
}

#[test]
fn s10_calls_too_early_or_about_nothing_get_one_defined_error() {
    let mut rig = Rig::start("[[turn]]\ntext = \"Hello.\"\n");
    let mut id = 0;
    let mut next = || {
        id += 1;
        id
    };
    for method in requests() {
        let answer = rig.client.ask(next(), method, params(method));
        assert_eq!(answer["error"]["code"], -32_002, "{method} before initialize: {answer}");
    }
    let hello = json!({ "processId": null, "capabilities": {} });
    assert!(rig.client.ask(next(), "initialize", hello)["result"].is_object());
    rig.client.send(json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }));
    for method in requests() {
        let answer = rig.client.ask(next(), method, params(method));
        let expected = match method {
            methods::SESSION_NEW
            | methods::SESSION_LIST
            | methods::MODEL_LIST
            | methods::CONFIG_SCHEMA
            | methods::DOCTOR
            | methods::PROMPT_COMPLETE
            | methods::SETUP_PROVIDERS => {
                assert!(answer["result"].is_object(), "{method}: {answer}");
                continue;
            }
            methods::REVIEW_BASE | methods::PROMPT_HISTORY | methods::SETUP_TRY | methods::SETUP_WRITE => {
                // They name a file, a folder or a service, which no error of Adjutant's own is about.
                assert_eq!(answer["error"]["code"], -32_602, "{method}: {answer}");
                continue;
            }
            methods::ASK_RESPOND => ErrorName::AskNotFound,
            _ => ErrorName::SessionNotFound,
        };
        assert_eq!(answer["error"]["code"], expected.code(), "{method}: {answer}");
        assert_eq!(answer["error"]["data"], json!({ "name": expected, "retryable": false }), "{method}");
    }
    // An id that could lead out of the state directory is an unknown id.
    for session in ["", "..", "../s-0000000000000000", "s-0/../..", "\0"] {
        let answer = rig.client.ask(next(), methods::SESSION_RESUME, json!({ "sessionId": session }));
        assert_eq!(answer["error"]["code"], ErrorName::SessionNotFound.code(), "{session:?}: {answer}");
    }
    for wrong in [json!({}), json!({ "sessionId": 7 }), json!({ "sessionId": "s-1", "more": true })] {
        let answer = rig.client.ask(next(), methods::SESSION_RESUME, wrong.clone());
        assert_eq!(answer["error"]["code"], -32_602, "{wrong}: {answer}");
    }
    let answer = rig.client.ask(next(), "agent/session/nothing", json!({}));
    assert_eq!(answer["error"]["code"], -32_601, "{answer}");
    rig.stop();
}
