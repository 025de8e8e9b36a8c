//! Buffers and their notifications.

use serde_json::{Value, json};

use super::super::position::{Encoding, Position, offset_of};
use super::super::{Capabilities, Editor, Options, Place, SaveBehaviour};
use super::{Peer, broken, pair_with, server_capabilities, with_document};
use crate::fixture::Workspace;

/// Applies `didChange` to a text, as a server would.
fn follow(text: &mut String, params: &Value, encoding: Encoding) {
    for change in params["contentChanges"].as_array().unwrap() {
        let place = |end: &str| {
            let position = Position::from_value(&change["range"][end]).unwrap();
            offset_of(text, position, encoding).unwrap()
        };
        let range = place("start")..place("end");
        text.replace_range(range, change["text"].as_str().unwrap());
    }
}

fn document_in(encoding: Encoding) -> (Workspace, Editor, Peer) {
    let workspace = Workspace::new("//- /a.txt\nein 😀 ä\nzwei\n");
    let capabilities = Capabilities::full().with_encodings(&[encoding]);
    let mut chosen = server_capabilities();
    chosen["positionEncoding"] = json!(encoding.name());
    let (editor, peer) = pair_with(Options::new(&workspace).capabilities(capabilities), chosen);
    (workspace, editor, peer)
}

#[test]
fn changes_are_told_in_the_agreed_encoding() {
    for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
        let (workspace, editor, peer) = document_in(encoding);
        editor.open("a.txt");
        let opened = peer.read_notification("textDocument/didOpen")["textDocument"].clone();
        assert_eq!(opened["uri"], workspace.uri("a.txt"));
        assert_eq!((&opened["version"], &opened["languageId"]), (&json!(1), &json!("plaintext")));
        let mut mirror = opened["text"].as_str().unwrap().to_owned();
        editor.type_at("a.txt", Place::after("😀"), "😀ü");
        editor.replace("a.txt", "ä\nzw", "");
        editor.type_at("a.txt", Place::End, "drei");
        for version in 2..5 {
            let change = peer.read_notification("textDocument/didChange");
            assert_eq!(change["textDocument"]["version"], version);
            follow(&mut mirror, &change, encoding);
        }
        assert_eq!(mirror, "ein 😀😀ü ei\ndrei", "{encoding:?}");
        assert_eq!(editor.text_of("a.txt"), mirror);
        assert_eq!(broken(editor), []);
    }
}

#[test]
fn several_places_are_one_change_and_one_undo() {
    let (_workspace, editor, peer) = with_document("one two three\n", |options| options);
    editor.edit(|buffers| buffers.change("a.txt", &[(0..3, "1".into()), (8..13, "3".into())]));
    let mut mirror = "one two three\n".to_owned();
    follow(&mut mirror, &peer.read_notification("textDocument/didChange"), Encoding::Utf16);
    assert_eq!(mirror, "1 two 3\n");
    editor.undo("a.txt");
    follow(&mut mirror, &peer.read_notification("textDocument/didChange"), Encoding::Utf16);
    assert_eq!((mirror.as_str(), editor.text_of("a.txt").as_str()), ("one two three\n", "one two three\n"));
    assert_eq!(broken(editor), []);
}

#[test]
fn a_server_that_wants_whole_texts_gets_them() {
    let workspace = Workspace::new("//- /a.txt\nold\n");
    let (editor, peer) = pair_with(Options::new(&workspace), json!({"textDocumentSync": 1}));
    editor.open("a.txt");
    peer.read_notification("textDocument/didOpen");
    editor.replace("a.txt", "old", "new");
    let change = peer.read_notification("textDocument/didChange");
    assert_eq!(change["contentChanges"], json!([{"text": "new\n"}]));
    assert_eq!(broken(editor), []);
}

#[test]
fn saving_writes_and_tells_and_closing_forgets() {
    let (workspace, editor, peer) = with_document("disk\n", |options| options);
    editor.replace("a.txt", "disk", "buffer");
    peer.read_notification("textDocument/didChange");
    assert_eq!(workspace.read("a.txt"), "disk\n");
    assert!(editor.buffer("a.txt").unwrap().dirty);
    editor.save("a.txt");
    assert_eq!(peer.read_notification("textDocument/didSave")["textDocument"]["uri"], workspace.uri("a.txt"));
    assert_eq!(workspace.read("a.txt"), "buffer\n");
    editor.replace("a.txt", "buffer", "lost");
    peer.read_notification("textDocument/didChange");
    editor.close("a.txt");
    peer.read_notification("textDocument/didClose");
    assert_eq!(editor.text_of("a.txt"), "buffer\n");
    assert_eq!(broken(editor), []);
}

#[test]
fn the_server_may_ask_for_a_save() {
    let (workspace, editor, mut peer) = with_document("disk\n", |options| options);
    editor.replace("a.txt", "disk", "buffer");
    peer.read_notification("textDocument/didChange");
    let asked = json!({"uris": [workspace.uri("a.txt"), workspace.uri("b.txt")], "reason": "a command runs"});
    let id = peer.request("agent/document/save", asked.clone());
    // `didSave` comes before the answer.
    peer.read_notification("textDocument/didSave");
    let answer = peer.read_response(&id).unwrap();
    assert_eq!(
        (&answer["documents"][0]["saved"], &answer["documents"][1]["saved"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(workspace.read("a.txt"), "buffer\n");
    editor.set_save(SaveBehaviour::Refuse("read-only".into()));
    let answer = peer.ask("agent/document/save", asked.clone()).unwrap();
    assert_eq!(answer["documents"][0]["message"], "read-only");
    editor.set_save(SaveBehaviour::SaySavedDoNothing);
    editor.replace("a.txt", "buffer", "again");
    peer.read_notification("textDocument/didChange");
    assert_eq!(peer.ask("agent/document/save", asked).unwrap()["documents"][0]["saved"], true);
    assert_eq!(workspace.read("a.txt"), "buffer\n");
    assert_eq!(editor.saves_asked().len(), 3);
    assert_eq!(broken(editor), []);
}
