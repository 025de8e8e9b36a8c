//! Buffers over real files.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use super::*;

struct Desk {
    folder: TempDir,
    buffers: Buffers,
}

impl Desk {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        for (name, bytes) in files {
            fs::write(folder.path().join(name), bytes).unwrap_or_else(|error| panic!("{error}"));
        }
        Desk { folder, buffers: Buffers::default() }
    }

    fn uri(&self, name: &str) -> String {
        uri::of_path(&self.folder.path().join(name))
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.folder.path().join(name)).unwrap_or_default()
    }

    fn apply(&mut self, changes: Value) -> (Vec<Telling>, Applied) {
        let edit = json!({ "label": "Agent", "edit": { "documentChanges": changes } });
        let edit = serde_json::from_value(edit).unwrap_or_else(|error| panic!("{error}"));
        self.buffers.apply(edit)
    }

    fn edit(&self, name: &str, version: Option<i32>, line: u32, text: &str) -> Value {
        json!({
            "textDocument": { "uri": self.uri(name), "version": version },
            "edits": [{
                "range": { "start": { "line": line, "character": 0 }, "end": { "line": line + 1, "character": 0 } },
                "newText": text,
            }],
        })
    }

    fn save(&mut self, name: &str) -> (Vec<Telling>, SavedDocument) {
        let wanted = DocumentSaveParams { uris: vec![self.uri(name)], reason: "a test".to_owned() };
        let (tellings, mut result) = self.buffers.save(&wanted);
        (tellings, result.documents.pop().unwrap_or_else(|| panic!("no answer")))
    }
}

fn methods(tellings: &[Telling]) -> Vec<&str> {
    tellings.iter().filter_map(|telling| telling.method.strip_prefix("textDocument/")).collect()
}

#[test]
fn a_file_is_opened_edited_saved_and_closed() {
    let mut desk = Desk::new(&[("a.txt", b"one\ntwo\n")]);
    let edit = desk.edit("a.txt", None, 1, "2\n");
    let (tellings, applied) = desk.apply(json!([edit]));
    assert!(applied.applied);
    assert_eq!(methods(&tellings), ["didOpen", "didChange"]);
    assert_eq!(tellings[0].params["textDocument"]["version"], 1);
    assert_eq!(tellings[0].params["textDocument"]["text"], "one\ntwo\n");
    assert_eq!(tellings[1].params["textDocument"]["version"], 2);
    assert_eq!(tellings[1].params["contentChanges"][0]["text"], "one\n2\n");
    assert_eq!(desk.bytes("a.txt"), b"one\ntwo\n", "nothing is written before it is saved");
    let (tellings, saved) = desk.save("a.txt");
    assert!(saved.saved, "{saved:?}");
    assert_eq!(methods(&tellings), ["didSave", "didClose"]);
    assert_eq!(desk.bytes("a.txt"), b"one\n2\n");
}

#[test]
fn an_edit_for_another_version_is_refused_and_changes_nothing() {
    let mut desk = Desk::new(&[("a.txt", b"one\n"), ("b.txt", b"b\n")]);
    let first = desk.edit("a.txt", None, 0, "1\n");
    assert!(desk.apply(json!([first])).1.applied);
    let good = desk.edit("b.txt", None, 0, "B\n");
    let stale = desk.edit("a.txt", Some(1), 0, "stale\n");
    let (tellings, applied) = desk.apply(json!([good, stale]));
    assert_eq!((applied.applied, applied.failed_change), (false, Some(1)));
    assert!(applied.failure_reason.is_some_and(|why| why.contains("version 2") && why.contains("version 1")));
    assert_eq!(tellings, []);
    let right = desk.edit("a.txt", Some(2), 0, "right\n");
    assert!(desk.apply(json!([right])).1.applied);
    desk.save("a.txt");
    assert_eq!(desk.bytes("a.txt"), b"right\n");
    let reopened = desk.edit("a.txt", Some(3), 0, "of its earlier life\n");
    assert!(!desk.apply(json!([reopened])).1.applied);
}

#[test]
fn mark_line_ends_and_mode_are_kept() {
    let mut desk = Desk::new(&[("a.sh", b"\xef\xbb\xbfone\r\ntwo\r\nthree")]);
    let path = desk.folder.path().join("a.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap_or_else(|error| panic!("{error}"));
    let edit = desk.edit("a.sh", None, 1, "2\r\n");
    assert!(desk.apply(json!([edit])).1.applied);
    assert!(desk.save("a.sh").1.saved);
    assert_eq!(desk.bytes("a.sh"), b"\xef\xbb\xbfone\r\n2\r\nthree");
    let mode = fs::metadata(&path).map(|found| found.permissions().mode() & 0o777);
    assert_eq!(mode.ok(), Some(0o750));
    assert_eq!(
        fs::read_dir(desk.folder.path()).map(Iterator::count).ok(),
        Some(1),
        "nothing is left beside it"
    );
}

#[test]
fn a_new_file_is_on_disk_when_it_is_saved() {
    let mut desk = Desk::new(&[]);
    let uri = desk.uri("new/deep.txt");
    let create = json!({ "kind": "create", "uri": uri });
    let fill = json!({
        "textDocument": { "uri": uri, "version": null },
        "edits": [{
            "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 } },
            "newText": "hello\n",
        }],
    });
    let (tellings, applied) = desk.apply(json!([create, fill]));
    assert!(applied.applied, "{applied:?}");
    assert_eq!(methods(&tellings), ["didOpen", "didChange"]);
    assert_eq!(tellings[0].params["textDocument"]["text"], "");
    assert!(!desk.folder.path().join("new").exists());
    assert!(desk.save("new/deep.txt").1.saved);
    assert_eq!(desk.bytes("new/deep.txt"), b"hello\n");
    let again = json!({ "kind": "create", "uri": uri });
    assert!(!desk.apply(json!([again])).1.applied);
    let kept = json!({ "kind": "create", "uri": uri, "options": { "ignoreIfExists": true } });
    assert!(desk.apply(json!([kept])).1.applied);
    assert_eq!(desk.bytes("new/deep.txt"), b"hello\n");
}

#[test]
fn an_empty_new_file_is_announced_once_and_written() {
    let mut desk = Desk::new(&[]);
    let create = json!({ "kind": "create", "uri": desk.uri("empty") });
    let (tellings, applied) = desk.apply(json!([create]));
    assert!(applied.applied);
    assert_eq!(methods(&tellings)[0], "didOpen");
    assert!(desk.buffers.save_all().1.is_empty());
    assert!(desk.folder.path().join("empty").is_file());
}

#[test]
fn a_file_that_changed_below_its_buffer_is_not_overwritten() {
    let mut desk = Desk::new(&[("a.txt", b"one\n")]);
    let edit = desk.edit("a.txt", None, 0, "mine\n");
    assert!(desk.apply(json!([edit])).1.applied);
    fs::write(desk.folder.path().join("a.txt"), "theirs\n").unwrap_or_else(|error| panic!("{error}"));
    let (tellings, saved) = desk.save("a.txt");
    assert!(!saved.saved);
    assert!(saved.message.is_some_and(|why| why.contains("changed on disk")));
    assert_eq!(tellings, []);
    assert_eq!(desk.bytes("a.txt"), b"theirs\n");
    assert_eq!(desk.buffers.save_all().1.len(), 1);
}

#[test]
fn a_link_stays_a_link_and_a_read_only_file_stays_as_it_is() {
    let mut desk = Desk::new(&[("real.txt", b"one\n"), ("fixed.txt", b"one\n")]);
    let link = desk.folder.path().join("link.txt");
    std::os::unix::fs::symlink("real.txt", &link).unwrap_or_else(|error| panic!("{error}"));
    let edit = desk.edit("link.txt", None, 0, "two\n");
    assert!(desk.apply(json!([edit])).1.applied);
    assert!(desk.save("link.txt").1.saved);
    assert!(fs::symlink_metadata(&link).is_ok_and(|found| found.is_symlink()));
    assert_eq!(desk.bytes("real.txt"), b"two\n");
    let fixed = desk.folder.path().join("fixed.txt");
    fs::set_permissions(&fixed, fs::Permissions::from_mode(0o444)).unwrap_or_else(|error| panic!("{error}"));
    let edit = desk.edit("fixed.txt", None, 0, "two\n");
    assert!(desk.apply(json!([edit])).1.applied);
    let saved = desk.save("fixed.txt").1.saved;
    // Root may write everything; everybody else is refused and the file is whole.
    let root = rustix::process::geteuid().is_root();
    assert_eq!(
        (saved, desk.bytes("fixed.txt")),
        (root, if root { b"two\n".to_vec() } else { b"one\n".to_vec() })
    );
}

#[test]
fn what_cannot_be_edited_is_answered_and_never_a_crash() {
    let mut desk = Desk::new(&[("bytes", b"\xff\xfe\x00"), ("a.txt", b"\xc3\xa9\n")]);
    fs::create_dir(desk.folder.path().join("folder")).unwrap_or_else(|error| panic!("{error}"));
    for name in ["bytes", "folder", "missing"] {
        let edit = desk.edit(name, None, 0, "x");
        assert!(!desk.apply(json!([edit])).1.applied, "{name}");
    }
    let inside_a_character = json!({
        "textDocument": { "uri": desk.uri("a.txt"), "version": null },
        "edits": [{
            "range": { "start": { "line": 0, "character": 1 }, "end": { "line": 0, "character": 1 } },
            "newText": "x",
        }],
    });
    assert!(!desk.apply(json!([inside_a_character])).1.applied);
    let elsewhere = json!({ "textDocument": { "uri": "untitled:1", "version": null }, "edits": [] });
    assert!(!desk.apply(json!([elsewhere])).1.applied);
    let delete = json!({ "kind": "delete", "uri": desk.uri("a.txt") });
    assert!(!desk.apply(json!([delete])).1.applied);
    let wanted = DocumentSaveParams { uris: vec!["http://x/y".to_owned()], reason: String::new() };
    assert!(!desk.buffers.save(&wanted).1.documents[0].saved);
}
