//! Changes that cannot be followed: the document is neither read nor edited until the client sends its whole
//! text. Adjutant never guesses a text.

use adjutant_testkit::editor::Rule;
use adjutant_testkit::fixture::Workspace;
use serde_json::{Value, json};

use super::Seen;
use super::raw::{Raw, framed};
use crate::stage::Stage;

const MIB: usize = 1 << 20;

fn stage() -> Stage {
    let stage = Stage::new("//- /a.txt\none\ntwo\n").answering("allow");
    stage.rig.open("a.txt");
    stage
}

fn range(start: (u64, u64), end: (u64, u64)) -> Value {
    json!({"start": {"line": start.0, "character": start.1}, "end": {"line": end.0, "character": end.1}})
}

fn change(stage: &Stage, version: u64, change: Value) {
    let document = json!({"uri": stage.workspace.uri("a.txt"), "version": version});
    let params = json!({"textDocument": document, "contentChanges": [change]});
    stage.rig.notify("textDocument/didChange", params);
}

/// Asserts that the document is neither read nor edited, and that a full text fixes it.
fn is_unsynced(stage: &Stage) -> Seen {
    let read = stage.call("read_file", json!({"path": "a.txt"}));
    assert!(!read.contains("one") && !read.contains("two"), "the document was read: {read}");
    let output = stage.edit("a.txt", "one", "1");
    assert!(!output.starts_with("Edited"), "{output}");
    assert!(stage.rig.applies().is_empty());
    assert_eq!(stage.workspace.read("a.txt"), "one\ntwo\n");
    change(stage, 900, json!({"text": "healed\n"}));
    let read = stage.call("read_file", json!({"path": "a.txt"}));
    assert!(read.contains("healed"), "{read}");
    Seen::Shown("resync")
}

pub fn inside_a_pair() -> Seen {
    let stage = stage();
    change(&stage, 2, json!({"text": "\u{1f600}x\n"}));
    change(&stage, 3, json!({"range": range((0, 1), (0, 1)), "text": "y"}));
    is_unsynced(&stage)
}

pub fn opened_twice() -> Seen {
    let stage = stage();
    let uri = stage.workspace.uri("a.txt");
    let document = json!({"uri": uri, "languageId": "text", "version": 1, "text": "second\n"});
    stage.rig.notify("textDocument/didOpen", json!({"textDocument": document}));
    let read = stage.call("read_file", json!({"path": "a.txt"}));
    assert!(read.contains("second") && !read.contains("one"), "{read}");
    Seen::Shown("ok")
}

pub fn version_goes_back() -> Seen {
    let stage = stage();
    let edit = json!({"range": range((0, 0), (0, 0)), "text": "x"});
    change(&stage, 5, edit.clone());
    change(&stage, 3, edit);
    is_unsynced(&stage)
}

pub fn inverted_range() -> Seen {
    let stage = stage();
    change(&stage, 2, json!({"range": range((1, 0), (0, 1)), "text": "x"}));
    is_unsynced(&stage)
}

pub fn largest_line() -> Seen {
    let stage = stage();
    let line = u64::from(u32::MAX);
    change(&stage, 2, json!({"range": range((line, 0), (line, 0)), "text": "three\n"}));
    let read = stage.call("read_file", json!({"path": "a.txt"}));
    if read.contains("two") {
        assert!(read.ends_with("two\nthree\n"), "a line after the end means the end: {read}");
        return Seen::Shown("clamped");
    }
    is_unsynced(&stage)
}

pub fn line_beyond_the_largest() -> Seen {
    let stage = stage();
    let line = u64::from(u32::MAX) + 1;
    change(&stage, 2, json!({"range": range((line, 0), (line, 0)), "text": "three\n"}));
    is_unsynced(&stage)
}

pub fn open_that_cannot_be_read() -> Seen {
    let stage = stage();
    let document = json!({"uri": stage.workspace.uri("a.txt"), "languageId": "text", "text": "other\n"});
    stage.rig.notify("textDocument/didOpen", json!({"textDocument": document}));
    is_unsynced(&stage)
}

/// Returns a framed `didOpen` with a text of `bytes` bytes.
fn open_of(workspace: &Workspace, bytes: usize) -> Vec<u8> {
    let document = json!({"uri": workspace.uri("b.txt"), "languageId": "text", "version": 1, "text": ""});
    let message =
        json!({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": document}});
    let message = message.to_string();
    let (head, tail) = message.split_once(r#""text":"""#).expect("the text is empty");
    let mut body = format!(r#"{head}"text":""#).into_bytes();
    body.resize(body.len() + bytes, b'x');
    body.extend_from_slice(format!("\"{tail}").as_bytes());
    framed(&body)
}

pub fn huge_document() -> Seen {
    let workspace = Workspace::new("//- /a.txt\none\n//- /b.txt\nsmall\n");
    let mut raw = Raw::initialized(&workspace);
    let before = raw.server.memory().expect("the system reports memory").resident;
    raw.bytes(&open_of(&workspace, 200 * MIB));
    let refused = raw.answer(&Value::Null);
    assert_eq!(refused["error"]["code"], -32700, "{refused}");
    assert!(raw.request("next", "agent/session/new", json!({}))["result"].is_object());
    let growth = raw.server.memory().expect("it lives").peak.saturating_sub(before);
    assert!(growth <= 16 << 20, "{growth} bytes more");
    Seen::Shown("degraded")
}

pub fn huge_change() -> Seen {
    let stage = stage();
    let document = json!({"uri": stage.workspace.uri("a.txt"), "version": 2});
    let text = "x".repeat(70 * MIB);
    let params = json!({"textDocument": document, "contentChanges": [{"text": text}]});
    stage.rig.notify("textDocument/didChange", params);
    change(&stage, 3, json!({"range": range((0, 0), (0, 0)), "text": "y"}));
    forgiven(is_unsynced(&stage), &stage)
}

pub fn change_that_is_no_json() -> Seen {
    let stage = stage();
    stage.rig.send_bytes(&framed(br#"{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"#));
    forgiven(is_unsynced(&stage), &stage)
}

pub fn malformed_answer() -> Seen {
    let stage = stage();
    let answer = json!({"jsonrpc": "2.0", "id": 77, "result": 1, "error": {"code": 1, "message": "m"}});
    stage.rig.send_bytes(&framed(answer.to_string().as_bytes()));
    let read = stage.call("read_file", json!({"path": "a.txt"}));
    assert!(read.contains("two"), "{read}");
    forgiven(Seen::Shown("ok"), &stage)
}

/// Permits the server's error for a message without an id, which belongs to none of the editor's requests.
fn forgiven(seen: Seen, stage: &Stage) -> Seen {
    stage.rig.forgive(Rule::UnknownResponse);
    stage.rig.forgive(Rule::Framing);
    seen
}

pub fn uri_of_another_host() -> Seen {
    let stage = stage();
    let uri = "file://evil.invalid/share/x";
    let document = json!({"uri": uri, "languageId": "text", "version": 1, "text": "evil\n"});
    stage.rig.notify("textDocument/didOpen", json!({"textDocument": document}));
    for path in ["/share/x", "//evil.invalid/share/x", uri] {
        let read = stage.call("read_file", json!({"path": path}));
        assert!(!read.contains("evil\n"), "{path}: {read}");
    }
    assert!(stage.call("read_file", json!({"path": "a.txt"})).contains("one"), "other documents still work");
    Seen::Shown("ok_no_disk")
}
