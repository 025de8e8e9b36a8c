//! Edits of files that are new, closed, read-only, on a full disk, or begin with a byte order mark.
//!
//! Never asks the editor for the result: the tool results for the model and the disk show it.

use adjutant_testkit::model::Reply;
use serde_json::json;

use super::{ALLOW, FILE, stage, start, wait_done};
use crate::editor::Editor;
use crate::stage::{Stage, wait_for, wait_or};

/// The files: a new one, one in a new folder, one with a byte order mark, one on a full disk, a read-only one.
// The read-only file is last: VS Code's error for it hides later questions in a small window.
const ENDS: [&str; 5] = ["new.py", "made/deep/new.py", MARKED, FULL, FIXED];

const MARKED: &str = "marked.py";
const FIXED: &str = "fixed.py";
const FULL: &str = "small/full.py";

/// Returns a stage whose model creates or edits all of these. The read-only file and the full disk are mounts,
/// so that root cannot write there either.
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

/// Returns a stage whose open file does not exist yet; the model writes it.
pub fn new_file() -> Stage {
    let write = Reply::call("write_file", json!({"path": FILE, "content": "one\ntwo\n"}));
    Stage::new(
        "//- /other.py\n# Says hello.\nprint(1)\n",
        [write.hold_after(200), Reply::text("It is made.")],
    )
}

/// The model fills an open file that does not exist yet. The buffer has no text of the user, so a client that
/// can save saves it, without an extra line.
pub fn fills_a_file_that_is_not_there_yet(editor: &impl Editor) {
    // Some clients create every file that they open.
    let verb = if editor.stage().workspace.exists(FILE) { "Edit" } else { "Create" };
    editor.leave_empty_file();
    start(editor, None);
    editor.wait_asked(&format!("{verb} {FILE}"));
    editor.return_to_file();
    editor.choose(ALLOW);
    editor.wait_buffer("one\ntwo\n");
    wait_done(editor);
    let result = tool_result(editor, 0);
    assert!(result.starts_with(&format!("{verb}ed {FILE}: +2 -0 lines.").replace("eed", "ed")), "{result}");
    reports_truly(editor, FILE, &result, "one\ntwo\n");
    assert!(!editor.can_be_asked_to_save() || editor.stage().workspace.exists(FILE), "not on disk: {result}");
    editor.save();
    wait_for("the saved file", || {
        let disk = std::fs::read_to_string(editor.stage().workspace.path().join(FILE)).ok()?;
        (disk == "one\ntwo\n").then_some(())
    });
}

/// Every allowed edit is in the text and, where possible, on disk; otherwise there is one warning.
pub fn each_edit_ends_somewhere(editor: &impl Editor) {
    start(editor, None);
    let mut warnings = 0;
    for (index, path) in ENDS.iter().enumerate() {
        let verb = if [MARKED, FIXED].contains(path) { "Edit" } else { "Create" };
        editor.wait_asked(&format!("{verb} {path}"));
        editor.choose(ALLOW);
        let result = tool_result(editor, index);
        warnings += usize::from(ends_somewhere(editor, path, &result));
    }
    wait_done(editor);
    let seen = editor.stage().seen();
    assert!(seen.count("out", "window/showMessage") >= warnings, "{}", seen.shown());
}

/// Waits for the tool result of call `index`, from 0, and returns it.
pub fn tool_result(editor: &impl Editor, index: usize) -> String {
    let result = wait_for_tool_result(editor, index);
    result.unwrap_or_else(|| {
        let (asked, messages) = (editor.asked(), editor.stage().seen().shown());
        panic!(
            "the model got no result of call {index}; the screen asks {asked:?}; the messages were\n{messages}"
        )
    })
}

fn wait_for_tool_result(editor: &impl Editor, index: usize) -> Option<String> {
    wait_or(|| {
        let body = editor.stage().model.requests().get(index + 1)?.json();
        let messages = body["messages"].as_array()?;
        let mut results = messages.iter().filter(|message| message["role"] == "tool");
        Some(results.nth(index)?["content"].as_str()?.to_owned())
    })
}

/// Asserts that an applied edit is on disk exactly if its result does not say that it waits for a save.
pub fn reports_truly(editor: &impl Editor, path: &str, tool_result: &str, wanted: &str) {
    let disk = std::fs::read_to_string(editor.stage().workspace.path().join(path)).unwrap_or_default();
    let shown = || format!("{path} is {disk:?}: {tool_result}\n{}", editor.stage().seen().shown());
    assert!(tool_result.starts_with("Edited ") || tool_result.starts_with("Created "), "{}", shown());
    let waits = tool_result.contains("not saved yet") || tool_result.contains("did not save it");
    assert_eq!(disk == wanted, !waits, "{}", shown());
    assert!(!editor.can_be_asked_to_save() || !waits, "the client could have saved it: {}", shown());
    assert!(!tool_result.contains("Something else in the file"), "{}", shown());
}

/// Checks the outcome of an allowed edit; returns whether there has to be a warning for the user.
fn ends_somewhere(editor: &impl Editor, path: &str, tool_result: &str) -> bool {
    let disk = std::fs::read_to_string(editor.stage().workspace.path().join(path)).ok();
    let shown = || format!("{path}: {tool_result}\n{}", editor.stage().seen().shown());
    let missed = tool_result.contains("was not applied") || tool_result.contains("did not save it");
    match path {
        MARKED => reports_truly(editor, path, tool_result, "\u{feff}ONE\ntwo\n"),
        FIXED => {
            assert_eq!(disk.as_deref(), Some("one\ntwo\n"));
            assert!(missed || tool_result.contains("not saved yet"), "{}", shown());
        }
        FULL => {
            let why =
                tool_result.contains("was not applied") && tool_result.contains("No space left on device");
            assert!(why, "{}", shown());
            assert_eq!(disk, None, "a partial file is left");
        }
        _ => {
            assert_eq!(tool_result, format!("Created {path}: +2 -0 lines."), "{}", shown());
            assert_eq!(disk.as_deref(), Some("one\ntwo\n"));
        }
    }
    missed
}
