//! A scene in VS Code about whole runs: shown, undone and restored by a command.
//!
//! Never looks into the server: it checks the screen and the bytes on disk.

use adjutant_testkit::model::Reply;
use serde_json::{Value, json};

use super::Code;
use super::answers::notified;
use crate::editor::Editor;
use crate::stage::{Stage, wait_for};

const FILE: &str = "shop.py";
const BEFORE: &str = "def total(prices):\n    return 0\n\n\n\ndef bye():\n    print(1)\n";
const EDITED: &str =
    "def total(prices):\n    known = list(prices)\n    return sum(known)\n\n\n\ndef bye():\n    print(2)\n";
/// A line of the user inside of the first change.
const MINE: &str = "    print(known)\n";

const FIRST: &str = "Add the prices";
const SECOND: &str = "Also the other one";

/// Returns a stage whose model edits the open file and makes another in one run, and edits a third file in the next.
fn two_runs() -> Stage {
    let edit = |path: &str, old: &str, new: &str| json!({"path": path, "old_text": old, "new_text": new});
    let sum = edit(FILE, "    return 0\n", "    known = list(prices)\n    return sum(known)\n");
    let first = Reply::call("edit_file", sum)
        .and_call("edit_file", edit(FILE, "print(1)", "print(2)"))
        .and_call("write_file", json!({"path": "d/new.txt", "content": "made by it\n"}));
    let second = Reply::call("edit_file", edit("other.py", "print(1)\n", "print(2)\n"));
    let files = format!("//- /{FILE}\n{BEFORE}//- /other.py\nprint(1)\n");
    Stage::new(&files, [first, Reply::text("Done."), second, Reply::text("Done.")]).without_edits_mode()
}

/// Lets both runs make their edits, and types a line into the first change.
fn run_both(code: &Code<'_>) {
    code.command(FIRST);
    code.wait_buffer(EDITED);
    code.wait_end("done");
    code.do_("palette", json!(["Adjutant: Go On"]));
    code.do_("input", json!(["Go On", SECOND]));
    code.do_("confirm", json!([]));
    wait_for("the edit of the second run", || {
        (code.stage.workspace.read("other.py") == "print(2)\n").then_some(())
    });
    code.stage.model.wait_for_requests(4);
    code.wait_end("done");
    code.go_to_line(3);
    code.do_("key", json!(["Home"]));
    code.do_("key", json!(["Home"]));
    code.do_("type", json!([MINE]));
    code.wait_buffer(&amended());
}

fn amended() -> String {
    EDITED.replace("    return sum", &format!("{MINE}    return sum"))
}

/// Picks the rows of the lists of a command, one after the other.
fn picks(code: &Code<'_>, command: &str, rows: &[&str]) -> Value {
    code.do_("palette", json!([format!("Adjutant: {command}…")]));
    for row in rows {
        wait_for(&format!("the row {row:?}"), || {
            code.do_("picks", json!([])).to_string().contains(row).then_some(())
        });
        code.do_("pick", json!([row]));
    }
    wait_for("the dialog", || Some(code.do_("dialog", json!([]))).filter(|dialog| !dialog.is_null()))
}

#[test]
fn p04_a_run_and_everything_after_it_is_shown_undone_and_restored() {
    let stage = two_runs();
    let code = Code::open(&stage, FILE);
    run_both(&code);
    let rows = [FIRST, "And everything after it"];
    let dialog = picks(&code, "Undo a Run", &rows);
    code.picture("run-undo");
    code.do_("resize", json!([480, 700]));
    code.picture("run-undo-narrow");
    assert_eq!(code.do_("dialog", json!([]))["cut"], json!([]), "every button is on the screen");
    code.do_("resize", json!([1100, 700]));
    assert_eq!(dialog["message"], "Undo “Add the prices” and everything after it: 4 changes in 3 files");
    let detail = dialog["detail"].as_str().unwrap_or_default();
    for part in [
        "• shop.py: 1 change, 1 change more with 1 line of yours",
        "• d/new.txt: 1 change, the file goes away",
        "Undo: undo 3 changes",
        "Undo with My Lines: undo 4 changes, also your 1 line",
    ] {
        assert!(detail.contains(part), "no {part:?} in {detail}");
    }
    // Enter, which may have been typed before the dialog came, undoes nothing.
    code.do_("confirm", json!([]));
    wait_for("the end of the dialog", || code.do_("dialog", json!([])).is_null().then_some(()));
    assert_eq!(code.buffer(), amended());
    picks(&code, "Undo a Run", &rows);
    // A text that is not as it was shown is shown again, with what it is now.
    stage.workspace.write("other.py", "print(2)\n# mine\n");
    code.do_("pressDialog", json!(["Undo with My Lines"]));
    wait_for("what is not as it was shown", || {
        let said = "because other.py changed since it was shown";
        code.do_("dialog", json!([])).to_string().contains(said).then_some(())
    });
    code.picture("run-conflict");
    assert_eq!(code.buffer(), amended());
    code.do_("pressDialog", json!(["Undo with My Lines"]));
    code.wait_buffer(BEFORE);
    notified(&code, "4 changes undone.");
    code.picture("run-undone");
    assert!(!stage.workspace.exists("d/new.txt"));
    assert_eq!(stage.workspace.read("other.py"), "print(1)\n# mine\n");
    code.choose("Restore");
    wait_for("the dialog", || (!code.do_("dialog", json!([])).is_null()).then_some(()));
    code.do_("pressDialog", json!(["Restore"]));
    code.wait_buffer(&amended());
    notified(&code, "4 changes restored.");
    assert_eq!(stage.seen().count("in", "agent/review/rewind"), 3, "{}", stage.seen().shown());
    assert_eq!(stage.workspace.read("d/new.txt"), "made by it\n");
    assert_eq!(stage.workspace.read("other.py"), "print(2)\n# mine\n");
}

/// The words of a run are the same without VS Code, where every case can be tried.
#[test]
fn p04_what_a_run_looks_like() {
    super::node_finds_nothing("runs.mjs", "editors/vscode/src/runs.ts");
}
