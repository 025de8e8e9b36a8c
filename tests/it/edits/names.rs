//! Documents and folders whose names are links: Adjutant uses the editor's own name, and makes no second buffer
//! of a file.

use std::os::unix::fs::symlink;

use adjutant_testkit::editor::{ApplyBehaviour, Options, Place};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::Reply;
use serde_json::json;

use super::super::stage::{Stage, as_read, edit, write};

const FILES: &str = "
    //- /real/a.txt
    one
    two
";

#[test]
fn n05_a_document_open_under_the_name_of_a_link_is_edited_there() {
    let stage = Stage::new(FILES).answering("allow");
    let root = stage.workspace.path();
    symlink(root.join("real"), root.join("folder")).unwrap();
    symlink(root.join("real/a.txt"), root.join("other-name.txt")).unwrap();
    for name in ["folder/a.txt", "other-name.txt"] {
        stage.workspace.write("real/a.txt", "one\ntwo\n");
        stage.rig.open(name);
        stage.rig.type_at(name, Place::End, "mine\n");
        let outputs = stage.play([
            Reply::call("read_file", json!({"path": "real/a.txt"})),
            edit("real/a.txt", "two", "2"),
            edit(name, "one", "1"),
            edit("real/a.txt", "2", "II"),
        ]);
        assert!(outputs[0].contains("mine"), "{name}: {outputs:?}");
        assert!(outputs[1..].iter().all(|output| output.starts_with("Edited ")), "{name}: {outputs:?}");
        assert_eq!(stage.rig.text_of(name), "1\nII\nmine\n", "{name}");
        assert!(stage.rig.buffer("real/a.txt").is_none(), "{name}: a second buffer of one file");
        assert_eq!(
            stage.workspace.read("real/a.txt"),
            "one\ntwo\n",
            "{name}: nothing is saved without a request"
        );
        stage.rig.close(name);
    }
}

#[test]
fn n05_a_workspace_that_is_a_link_keeps_its_name() {
    let workspace = Workspace::new(FILES);
    let link = workspace.path().parent().unwrap().join("link");
    symlink(workspace.path(), &link).unwrap();
    let stage =
        Stage::with(workspace, |options| Options { root: link.clone(), ..options }).answering("allow");
    stage.rig.open("real/a.txt");
    stage.rig.type_at("real/a.txt", Place::End, "mine\n");
    let real = stage.workspace.path().join("real/a.txt");
    let outputs = stage.play([
        edit("real/a.txt", "two", "2"),
        edit(&real.to_string_lossy(), "one", "1"),
        write("real/new.txt", "n\n"),
    ]);
    assert!(outputs.iter().all(|output| !output.contains("not applied")), "{outputs:?}");
    assert_eq!(stage.rig.text_of("real/a.txt"), "1\n2\nmine\n");
    for apply in stage.rig.applies() {
        let edit = apply.params["edit"].to_string();
        assert!(!edit.contains("/workspace/"), "the editor knows the folder by its link: {edit}");
    }
    assert_eq!(stage.workspace.read("real/new.txt"), "n\n");
    // The asks name the same document.
    assert!(
        stage.asks().iter().all(|ask| !json!(ask.subject)["uri"].as_str().unwrap().contains("/workspace/"))
    );
}

#[test]
fn n05_a_uri_is_used_as_the_editor_writes_it() {
    let stage = Stage::new("//- /a b(1).txt\none\n").answering("allow");
    stage.rig.set_apply(ApplyBehaviour::RefuseAlways("enough seen".to_owned()));
    let path = stage.workspace.path().display().to_string();
    // Parentheses need no escape; some editors escape them, and others do not.
    let uri = format!("file://localhost{path}/a%20b(1).txt");
    let open = json!({"textDocument": {"uri": uri, "languageId": "plaintext", "version": 7, "text": "one\nunsaved\n"}});
    stage.rig.notify("textDocument/didOpen", open);
    stage.edit("a b(1).txt", "unsaved", "kept");
    let document = &stage.rig.applies()[0].params["edit"]["documentChanges"][0]["textDocument"];
    assert_eq!(*document, json!({"uri": uri, "version": 7}));
}

#[test]
fn finding_b11_a_document_whose_name_goes_through_a_missing_folder_is_its_file() {
    let stage = Stage::new(FILES).answering("allow");
    let uri = format!("{}/missing/../real/a.txt", stage.workspace.uri(""));
    let document = json!({"uri": uri, "languageId": "text", "version": 1, "text": "typed\n"});
    stage.rig.notify("textDocument/didOpen", json!({"textDocument": document}));
    let outputs = stage.play([Reply::call("read_file", json!({"path": "real/a.txt"}))]);
    assert!(outputs[0].contains("typed"), "{outputs:?}");
}

#[test]
fn n07_a_change_that_comes_before_its_document_is_opened_is_not_lost() {
    let stage = Stage::new(FILES).answering("allow");
    let uri = format!("{}/real/a.txt", stage.workspace.uri(""));
    let change = |version: i32, text: &str| {
        let start = json!({"line": 0, "character": 0});
        json!({
            "textDocument": {"uri": uri, "version": version},
            "contentChanges": [{"range": {"start": start, "end": start}, "text": text}],
        })
    };
    let open = |version: i32| {
        let document = json!({"uri": uri, "languageId": "text", "version": version, "text": "kept\n"});
        stage.rig.notify("textDocument/didOpen", json!({"textDocument": document}));
    };
    let read = || stage.play([Reply::call("read_file", json!({"path": "real/a.txt"}))]).remove(0);
    stage.rig.notify("textDocument/didChange", change(1, "early\n"));
    open(0);
    assert_eq!(read(), as_read("early\nkept\n"));
    stage.rig.notify("textDocument/didChange", change(2, "next\n"));
    assert_eq!(read(), as_read("next\nearly\nkept\n"));
    stage.rig.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
    // A change from before a close does not belong to the document that opens next.
    stage.rig.notify("textDocument/didChange", change(9, "stray\n"));
    open(1);
    assert_eq!(read(), as_read("kept\n"));
}
