//! Scenes of a window whose VS Code, workspace and server are on another machine, behind an ssh tunnel that breaks.
//!
//! Never looks into the server: it checks the screen, the bytes on disk and the requests to the model.

use adjutant_testkit::command::Line;
use adjutant_testkit::model::Reply;
use serde_json::json;

use super::host::{Host, free_address};
use super::{Code, answers, changes};
use crate::editor::Editor;
use crate::stage::{SERVER, Stage, wait_for};

const FILE: &str = "shop.py";
const BEFORE: &str = "def total(prices):\n    result = 0\n    return result\n";
const AFTER: &str = "def total(prices):\n    return sum(prices)\n";
const SUM: &str = "    return sum(prices)";

/// Returns a stage whose model changes the file that is open, then holds a reply in the middle, which changes a closed file and
/// runs a command.
fn stage() -> Stage {
    let edit = |path: &str, old: &str, new: &str| json!({"path": path, "old_text": old, "new_text": new});
    let replies = [
        Reply::call(
            "edit_file",
            edit(FILE, "    result = 0\n    return result\n", "    return sum(prices)\n"),
        ),
        Reply::text("The sum is there. Now the other one.")
            .and_call("edit_file", edit("other.py", "print(1)", "print(2)"))
            .and_call("run_command", json!({"command": "echo ran >> ran"}))
            .hold_behind("sum"),
        Reply::text("All is done."),
    ];
    Stage::new(&format!("//- /{FILE}\n{BEFORE}//- /other.py\nprint(1)\n"), replies).without_edits_mode()
}

/// Returns what a terminal on the other machine shows of the open questions.
fn asks(stage: &Stage) -> String {
    let ran = Line::new(SERVER, &stage.workspace, &["asks"]).run();
    assert!(ran.status.success(), "{}", ran.stderr);
    ran.stdout
}

#[test]
fn n27_a_cut_connection_lets_the_run_go_on_to_its_question_and_the_review_continues_on_return() {
    let stage = stage();
    let host = Host::start(&stage);
    let way = free_address();
    let tunnel = host.tunnel(way);
    let code = Code::open_at(&stage, FILE, way);
    code.do_("chatOpen", json!([]));
    code.say_in_chat("Use what Python has");
    stage.model.wait_for_holding(1);
    wait_for("the reply, as it streams", || code.chat().to_string().contains("The sum").then_some(()));
    changes::wait_coloured(&code, &[SUM]);
    code.picture("remote-before");
    drop(tunnel);
    stage.model.release();
    // Nobody is there: the closed file is changed, and the command is asked for.
    wait_for("the question", || asks(&stage).contains("echo ran").then_some(()));
    assert_eq!(stage.workspace.read("other.py"), "print(2)\n");
    code.picture("remote-cut");
    let _tunnel = host.tunnel(way);
    code.wait_asked("echo ran");
    assert!(!stage.workspace.exists("ran"), "nobody has allowed it");
    assert_eq!(code.answers(), answers(&["Reject", "Yes, once", "Yes, always…"]));
    code.picture("remote-again");
    code.choose("Yes, once");
    wait_for("the end", || code.chat().to_string().contains("All is done.").then_some(()));
    assert_eq!(stage.workspace.read("ran"), "ran\n");
    // The change of before is undone, and that of meanwhile is kept.
    code.wait_buffer(AFTER);
    code.do_("pressLens", json!(["Undo", SUM]));
    code.wait_buffer(BEFORE);
    wait_for("the file on disk", || (stage.workspace.read(FILE) == BEFORE).then_some(()));
    code.do_("palette", json!(["Adjutant: Review Changes"]));
    code.do_("pressRow", json!(["print(2)", "Keep"]));
    wait_for("nothing to decide", || (code.do_("list", json!([]))["badge"] == "").then_some(()));
    assert_eq!(stage.workspace.read("other.py"), "print(2)\n");
    assert_eq!(stage.model.requests().len(), 3, "each call of the model was made once");
    let seen = stage.seen();
    assert_eq!(seen.servers().len(), 1, "{}", seen.shown());
    assert_eq!(seen.count("out", "agent/session/request_permission"), 1, "{}", seen.shown());
}
