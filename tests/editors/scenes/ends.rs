//! What becomes of edits of files that are new, marked, closed, read-only, or on a full disk.
//!
//! Never asks the editor: the model's words and the disk say it.

use adjutant_testkit::model::Reply;
use serde_json::json;

use super::{ALLOW, FILE, stage, start, wait_done};
use crate::editor::Editor;
use crate::stage::{Stage, wait_for, wait_or};

/// What an allowed edit may meet: a new file, a new folder, a byte order mark, a read-only file, a full disk.
// The file that cannot be saved comes last: the error that VS Code shows of it hides later questions in a small window.
const ENDS: [&str; 5] = ["new.py", "made/deep/new.py", MARKED, FULL, FIXED];

const MARKED: &str = "marked.py";
const FIXED: &str = "fixed.py";
const FULL: &str = "small/full.py";

/// A stage whose model makes or edits all of these. Mounts what cannot be written, also not by root.
pub fn edits_of_all_kinds() -> Stage {
    let reply = |path: &&str| match *path {
        MARKED | FIXED => {
            Reply::call("edit_file", json!({"path": path, "old_text": "one", "new_text": "ONE"}))
        }
        _ => Reply::call("write_file", json!({"path": path, "content": "one\ntwo\n"})),
    };
    let mut replies: Vec<Reply> = ENDS.iter().map(reply).collect();
    replies[0] = replies[0].clone().hold_after(300);
    replies.push(Reply::text("It is mended."));
    let mut stage = stage(replies);
    stage.workspace.write(MARKED, "\u{feff}one\ntwo\n");
    stage.workspace.write(FIXED, "one\ntwo\n");
    stage.workspace.write("small/.keep", "");
    stage.mount_read_only(FIXED);
    stage.mount_full("small");
    stage
}

/// A stage whose open file is not there yet; the model writes it.
pub fn new_file() -> Stage {
    let write = Reply::call("write_file", json!({"path": FILE, "content": "one\ntwo\n"}));
    Stage::new(
        "//- /other.py\n# Says hello.\nprint(1)\n",
        [write.hold_after(200), Reply::text("It is made.")],
    )
}

/// Nothing of the user's is in its buffer: it reaches the disk where the client saves, without a line too many.
pub fn fills_a_file_that_is_not_there_yet(editor: &impl Editor) {
    // Some clients make every file that they open.
    let verb = if editor.stage().workspace.exists(FILE) { "Edit" } else { "Create" };
    editor.leave_empty_file();
    start(editor, None);
    editor.wait_asked(&format!("{verb} {FILE}"));
    editor.return_to_file();
    editor.choose(ALLOW);
    editor.wait_buffer("one\ntwo\n");
    wait_done(editor);
    let told = told(editor, 0);
    assert!(told.starts_with(&format!("{verb}ed {FILE}: +2 -0 lines.").replace("eed", "ed")), "{told}");
    is_told_truly(editor, FILE, &told, "one\ntwo\n");
    assert!(!editor.can_be_asked_to_save() || editor.stage().workspace.exists(FILE), "not on disk: {told}");
    editor.save();
    wait_for("the saved file", || {
        let disk = std::fs::read_to_string(editor.stage().workspace.path().join(FILE)).ok()?;
        (disk == "one\ntwo\n").then_some(())
    });
}

/// Every allowed edit is in the text, on disk where it is to be, or one warning.
pub fn each_edit_ends_somewhere(editor: &impl Editor) {
    start(editor, None);
    let mut warnings = 0;
    for (index, path) in ENDS.iter().enumerate() {
        let verb = if [MARKED, FIXED].contains(path) { "Edit" } else { "Create" };
        editor.wait_asked(&format!("{verb} {path}"));
        editor.choose(ALLOW);
        let told = told(editor, index);
        warnings += usize::from(ends_somewhere(editor, path, &told));
    }
    wait_done(editor);
    let seen = editor.stage().seen();
    assert!(seen.count("out", "window/showMessage") >= warnings, "{}", seen.shown());
}

/// What the model is told of its call, counted from 0.
pub fn told(editor: &impl Editor, index: usize) -> String {
    let told = wait_for_told(editor, index);
    told.unwrap_or_else(|| {
        let (asked, messages) = (editor.asked(), editor.stage().seen().shown());
        panic!(
            "the model was told nothing of call {index}; shown is {asked:?}; the messages were\n{messages}"
        )
    })
}

fn wait_for_told(editor: &impl Editor, index: usize) -> Option<String> {
    wait_or(|| {
        let body = editor.stage().model.requests().get(index + 1)?.json();
        let messages = body["messages"].as_array()?;
        let mut told = messages.iter().filter(|message| message["role"] == "tool");
        Some(told.nth(index)?["content"].as_str()?.to_owned())
    })
}

/// An edit that was made is on disk exactly when the model is not told that it waits for a save.
pub fn is_told_truly(editor: &impl Editor, path: &str, told: &str, wanted: &str) {
    let disk = std::fs::read_to_string(editor.stage().workspace.path().join(path)).unwrap_or_default();
    let shown = || format!("{path} is {disk:?}: {told}\n{}", editor.stage().seen().shown());
    assert!(told.starts_with("Edited ") || told.starts_with("Created "), "{}", shown());
    let waits = told.contains("not saved yet") || told.contains("did not save it");
    assert_eq!(disk == wanted, !waits, "{}", shown());
    assert!(!editor.can_be_asked_to_save() || !waits, "it could have been saved: {}", shown());
    assert!(!told.contains("otherwise"), "{}", shown());
}

/// Looks at what became of an allowed edit; returns whether the user is to be warned.
fn ends_somewhere(editor: &impl Editor, path: &str, told: &str) -> bool {
    let disk = std::fs::read_to_string(editor.stage().workspace.path().join(path)).ok();
    let shown = || format!("{path}: {told}\n{}", editor.stage().seen().shown());
    let missed = told.contains("was not applied") || told.contains("did not save it");
    match path {
        MARKED => is_told_truly(editor, path, told, "\u{feff}ONE\ntwo\n"),
        FIXED => {
            assert_eq!(disk.as_deref(), Some("one\ntwo\n"));
            assert!(missed || told.contains("not saved yet"), "{}", shown());
        }
        FULL => {
            let why = told.contains("was not applied") && told.contains("No space left on device");
            assert!(why, "{}", shown());
            assert_eq!(disk, None, "half a file is left");
        }
        _ => {
            assert_eq!(told, format!("Created {path}: +2 -0 lines."), "{}", shown());
            assert_eq!(disk.as_deref(), Some("one\ntwo\n"));
        }
    }
    missed
}
