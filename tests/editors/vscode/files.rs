//! A scene in VS Code about files that the agent deletes and moves: asked, done, undone and restored.
//!
//! Never looks into the server: it checks the screen and the bytes on disk.

use serde_json::{Value, json};

use super::Code;
use super::answers::notified;
use crate::editor::Editor;
use crate::scenes::files::{DRAFT, GONE, NAMED, files, is_after, is_before};
use crate::scenes::{BEFORE, FILE};
use crate::stage::{wait_for, wait_or};

/// Waits until these files have a tab, and the first of them is in sight with the text that was moved.
#[track_caller]
fn wait_open(code: &Code<'_>, files: &[&str]) {
    let tabs = || {
        let tabs = code.do_("tabs", json!([]));
        let is_file = |tab: &&Value| tab.as_str().is_some_and(|tab| tab.ends_with(".py"));
        json!(tabs.as_array().into_iter().flatten().filter(is_file).collect::<Vec<_>>())
    };
    assert!(wait_or(|| (tabs() == json!(files)).then_some(())).is_some(), "{} are open", tabs());
    code.wait_buffer(BEFORE);
}

/// Picks the only run, and returns the dialog that says what it means.
fn dialog(code: &Code<'_>, command: &str) -> Value {
    code.do_("palette", json!([format!("Adjutant: {command}…")]));
    wait_for("the run", || code.do_("picks", json!([])).to_string().contains("Tidy up").then_some(()));
    code.do_("pick", json!(["Tidy up"]));
    wait_for("the dialog", || Some(code.do_("dialog", json!([]))).filter(|dialog| !dialog.is_null()))
}

#[test]
fn n15_a_move_and_a_deletion_are_asked_done_and_undone_with_their_tabs() {
    let stage = files();
    let code = Code::open(&stage, GONE);
    code.do_("openFile", json!([FILE]));
    wait_open(&code, &[GONE, FILE]);
    code.command("Tidy up");
    code.wait_asked("Change 2 files: move greet.py to parts/hello.py, delete gone.py (2 lines)");
    let shown = code.asked().unwrap_or_default();
    for part in
        ["greet.py is moved to parts/hello.py", "gone.py is deleted", "-two\nno line break at the end\n"]
    {
        assert!(shown.contains(part), "no {part:?} in\n{shown}");
    }
    assert_eq!(code.answers(), ["Show", "Reject", "Yes, once"], "an answer for all times covers neither");
    code.picture("files-ask");
    assert!(is_before(&stage), "nothing is done before the answer");
    code.choose("Yes, once");
    wait_open(&code, &["hello.py"]);
    assert!(is_after(&stage));
    code.wait_end("done");

    let shown = dialog(&code, "Undo a Run");
    assert_eq!(shown["message"], "Undo “Tidy up”: 2 changes in 2 files");
    let detail = shown["detail"].as_str().unwrap_or_default();
    for part in ["the deleted file comes back", "the file is called greet.py again"] {
        assert!(detail.contains(part), "no {part:?} in {detail}");
    }
    code.picture("files-undo");
    code.do_("pressDialog", json!(["Undo"]));
    notified(&code, "2 changes undone.");
    assert!(is_before(&stage), "every byte is as it was");
    wait_open(&code, &[FILE]);

    code.choose("Restore");
    wait_for("the dialog", || (!code.do_("dialog", json!([])).is_null()).then_some(()));
    code.do_("pressDialog", json!(["Restore"]));
    notified(&code, "2 changes restored.");
    assert!(is_after(&stage));
    wait_open(&code, &["hello.py"]);
    lists_what_nobody_looked_at(&code);
}

/// What was restored, and what a run did with its own file, waits for a review like any change, and is decided in the list.
fn lists_what_nobody_looked_at(code: &Code<'_>) {
    let stage = code.stage();
    code.command("Make a file");
    wait_for("the file", || stage.workspace.exists(NAMED).then_some(()));
    assert!(!stage.workspace.exists(DRAFT));
    stage.model.wait_for_requests(4);
    code.do_("palette", json!(["Adjutant: Review Changes"]));
    // The chat keeps most of the room, and a row that is not in sight is not drawn.
    code.do_("viewPress", json!([0]));
    let list = || code.do_("list", json!([]));
    let wait_list = |rows: Value| {
        let is = wait_or(|| (list()["rows"] == rows).then_some(()));
        assert!(is.is_some(), "the list is {}, not {rows}", list());
    };
    let moved = ["hello.py1 change", "moved from greet.py"];
    let rest =
        ["gone.py−2 · 1 change", "deleted−2", "named.txt+2 · 2 changes", "made+2", "moved from draft.txt"];
    wait_list(json!([&moved[..], &rest].concat()));
    code.picture("files-list");
    code.do_("pressRow", json!([moved[1], "Undo"]));
    wait_list(json!(rest));
    wait_open(code, &[FILE]);
    code.do_("pressRow", json!(["deleted", "Undo"]));
    wait_list(json!(rest[2..]));
    assert!(is_before(stage));
}
