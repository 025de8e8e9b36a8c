//! Closed files that change together: everything that takes time comes first, so that a program that watches them sees one
//! change.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use adjutant_protocol::methods;
use adjutant_protocol::review::ReviewDecideResult;
use adjutant_protocol::rewind::RewindPreview;
use adjutant_testkit::editor::{Answer, Editor, Options, Place};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::Reply;
use adjutant_testkit::process::{Server, wait_until};
use adjutant_testkit::watch::{FileEvent, FolderWatch};
use serde_json::{Value, json};

use super::super::stage::{Stage, edit_arguments};

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");
const FILES: usize = 40;
const FOLDERS: usize = 4;

fn name(file: usize) -> String {
    format!("d{}/f{file}.txt", file % FOLDERS)
}

/// Returns the text of a fixture with all files.
fn fixture() -> String {
    (0..FILES).map(|file| format!("//- /{}\none\ntwo\n", name(file))).collect()
}

fn folders(workspace: &Workspace) -> Vec<PathBuf> {
    (0..FOLDERS).map(|folder| workspace.path().join(format!("d{folder}"))).collect()
}

/// Returns one reply that edits all files, and makes `new` of them.
fn reply(new: usize) -> Reply {
    let edits = (0..FILES).fold(Reply::text(""), |reply, file| {
        reply.and_call("edit_file", edit_arguments(&name(file), "two", "2"))
    });
    (0..new).fold(edits, |reply, file| {
        let path = format!("d{}/new{file}.txt", file % FOLDERS);
        reply.and_call("write_file", json!({"path": path, "content": "new\n"}))
    })
}

/// Asserts that watchers see these files change, by renames and removals alone, and that nothing that takes time is done
/// between the first and the last of them. Returns what they see.
#[track_caller]
fn assert_burst(events: &[FileEvent], files: usize) {
    let is_seen = |event: &FileEvent| !event.is_ignored();
    let names: BTreeSet<&str> =
        events.iter().filter(|event| is_seen(event)).map(|event| event.name.as_str()).collect();
    assert_eq!(names.len(), files, "{names:?}");
    let first = events.iter().position(is_seen).expect("something is seen");
    let last = events.iter().rposition(is_seen).expect("something is seen");
    let slow: Vec<&FileEvent> =
        events[first..=last].iter().filter(|event| !event.is_rename && is_prepared(event)).collect();
    let order: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
    assert!(slow.is_empty(), "{} steps among the changes prepare others: {order:?}", slow.len());
    let written: Vec<&FileEvent> = events.iter().filter(|event| is_seen(event) && !event.is_rename).collect();
    assert!(written.is_empty(), "not by a rename: {written:?}");
}

/// A file that was taken aside is removed at once, which takes no time.
fn is_prepared(event: &FileEvent) -> bool {
    event.is_ignored() && !event.is_removal
}

#[test]
fn n06_a_reply_over_forty_closed_files_is_one_change_for_who_watches_them_and_so_is_its_undo() {
    let workspace = Workspace::new(&fixture());
    let stage = Stage::with(workspace, |mut options| {
        options.capabilities.agent.as_mut().expect("a rich client").workspace.trusted = true;
        options
    });
    let folders = folders(&stage.workspace);
    let watch = FolderWatch::start(folders.iter().map(PathBuf::as_path));
    let run = stage.send([reply(4)]);
    let outputs = stage.finish(&run);
    assert_eq!(outputs.len(), FILES + 4);
    assert!((0..FILES).all(|file| stage.workspace.read(&name(file)) == "one\n2\n"), "{outputs:?}");
    assert_burst(&watch.events(), FILES + 4);

    let params = json!({"sessionId": stage.session, "runId": run});
    let preview: RewindPreview = stage.rig.call(methods::REVIEW_PREVIEW, params.clone());
    let mut params = params;
    params["expect"] = json!(preview.expect);
    let undone: ReviewDecideResult = stage.rig.call(methods::REVIEW_REWIND, params);
    assert_eq!(undone.hunks.len(), FILES + 4);
    assert!((0..FILES).all(|file| stage.workspace.read(&name(file)) == "one\ntwo\n"));
    assert!(!stage.workspace.exists("d0/new0.txt"), "a file that the run made is gone");
    assert_burst(&watch.events(), FILES + 4);
    stage.rig.shutdown();
}

#[test]
fn n06_a_file_that_cannot_be_written_stops_no_other_and_says_so() {
    let stage = Stage::new("//- /a.txt\none\n//- /b.txt\none\n//- /c.txt\none\n").answering("allow");
    fs::set_permissions(stage.workspace.path().join("b.txt"), fs::Permissions::from_mode(0o444))
        .expect("its mode can be set");
    let all = ["a.txt", "b.txt", "c.txt"].into_iter();
    let reply = all
        .fold(Reply::text(""), |reply, path| reply.and_call("edit_file", edit_arguments(path, "one", "1")));
    let outputs = stage.play([reply]);
    assert!(outputs[0].starts_with("Edited a.txt") && outputs[2].starts_with("Edited c.txt"), "{outputs:?}");
    assert!(outputs[1].contains("\"b.txt\" is read-only"), "{outputs:?}");
    let texts = ["a.txt", "b.txt", "c.txt"].map(|path| stage.workspace.read(path));
    assert_eq!(texts, ["1\n", "one\n", "1\n"]);
    stage.rig.shutdown();
}

/// Plays a run that edits two files, and holds the server when both are ready to be written.
fn held_before_the_changes(
    b: &str,
    meanwhile: impl FnOnce(&Editor, &Workspace),
) -> (Editor, Server, Workspace) {
    let workspace = Workspace::new(&format!("//- /a.txt\none\n//- /b.txt\n{b}"));
    let call = |path: &str| {
        let arguments = format!("{{ path = \"{path}\", old_text = \"one\", new_text = \"1\" }}");
        format!("[[turn.call]]\ntool = \"edit_file\"\narguments = {arguments}\n")
    };
    workspace.script(&format!("[[turn]]\n{}{}[[turn]]\ntext = \"Done.\"\n", call("a.txt"), call("b.txt")));
    let mut server = Server::spawn_with(BINARY, &workspace, &["lsp"], |command| {
        command.env("ADJUTANT_FAULT", "write-whole:2:hold");
    });
    let editor = server.editor(Options::new(&workspace));
    editor.on_ask(|_| Answer::option("allow"));
    let session = editor.new_session();
    let run = editor.prompt(&session, "go").run_id;
    wait_until("both files to be prepared", || server.stderr().contains("held at write-whole"));
    assert_eq!((workspace.read("a.txt").as_str(), workspace.read("b.txt").as_str()), ("one\n", b));
    meanwhile(&editor, &workspace);
    fs::write(workspace.state_dir().join("fault-released"), "").expect("a mark");
    editor.await_run_end(&session, &run);
    assert_eq!(workspace.read("a.txt"), "1\n");
    (editor, server, workspace)
}

#[test]
fn n06_a_file_that_is_opened_while_the_others_are_prepared_is_edited_in_its_buffer() {
    let (editor, mut server, workspace) = held_before_the_changes("one\n", |editor, _| {
        editor.open("b.txt");
        editor.type_at("b.txt", Place::End, "mine\n");
        // Answered after the document was opened.
        let _: Value = editor.call(methods::SESSION_LIST, json!({}));
    });
    assert_eq!(editor.text_of("b.txt"), "1\nmine\n");
    assert_eq!(workspace.read("b.txt"), "one\n", "an open file is never written on disk");
    assert_eq!(editor.applies().len(), 1);
    editor.shutdown();
    server.wait();
}

#[test]
fn n06_a_file_that_another_program_writes_meanwhile_is_not_written_over() {
    let (editor, mut server, workspace) = held_before_the_changes("one\n.\n.\n.\n.\n", |_, workspace| {
        workspace.write("b.txt", "one\n.\n.\n.\n.\ntheirs\n");
    });
    assert_eq!(workspace.read("b.txt"), "1\n.\n.\n.\n.\ntheirs\n");
    editor.shutdown();
    server.wait();
}
