//! Scenes of a window whose VS Code, workspace and server are on another machine, behind an ssh tunnel that breaks.
//!
//! Never looks into the server: it checks the screen, the bytes on disk and the requests to the model.

use adjutant_testkit::command::Line;
use adjutant_testkit::model::Reply;
use serde_json::{Value, json};

use super::host::{Host, free_address};
use super::{Code, answers, changes};
use crate::editor::Editor;
use crate::scenes::answers_in_a_terminal;
use crate::stage::{SERVER, Stage, wait_for};

const FILE: &str = "shop.py";
const BEFORE: &str = "def total(prices):\n    result = 0\n    return result\n";
const AFTER: &str = "def total(prices):\n    return sum(prices)\n";
const SUM: &str = "    return sum(prices)";

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "old_text": old, "new_text": new})
}

fn edit_of_open_file() -> Value {
    edit(FILE, "    result = 0\n    return result\n", "    return sum(prices)\n")
}

fn run() -> Value {
    json!({"command": "echo ran >> ran"})
}

fn stage(replies: impl IntoIterator<Item = Reply>) -> Stage {
    Stage::new(&format!("//- /{FILE}\n{BEFORE}//- /other.py\nprint(1)\n"), replies).without_edits_mode()
}

/// Returns a stage whose model changes the file that is open, then holds a reply in the middle, which changes a closed file and
/// runs a command.
fn two_files() -> Stage {
    let held = Reply::text("The sum is there. Now the other one.")
        .and_call("edit_file", edit("other.py", "print(1)", "print(2)"))
        .and_call("run_command", run())
        .hold_behind("sum");
    stage([Reply::call("edit_file", edit_of_open_file()), held, Reply::text("All is done.")])
}

impl Code<'_> {
    /// Gives the task in the chat, and waits until the model is in the middle of its held reply.
    fn work_until_held(&self) {
        self.do_("chatOpen", json!([]));
        self.say_in_chat("Use what Python has");
        self.stage().model.wait_for_holding(1);
        wait_for("the reply, as it streams", || self.chat().to_string().contains("The sum").then_some(()));
    }
}

/// Returns what a terminal on the other machine shows of the open questions.
fn asks(stage: &Stage) -> String {
    let ran = Line::new(SERVER, &stage.workspace, &["asks"]).run();
    assert!(ran.status.success(), "{}", ran.stderr);
    ran.stdout
}

#[test]
fn n27_a_cut_connection_lets_the_run_go_on_to_its_question_and_the_review_continues_on_return() {
    let stage = two_files();
    let host = Host::start(&stage);
    let way = free_address();
    let tunnel = host.tunnel(way);
    let code = Code::open_at(&stage, FILE, way);
    code.work_until_held();
    changes::wait_coloured(&code, &[SUM]);
    drop(tunnel);
    stage.model.release();
    // Nobody is there: the closed file is changed, and the command is asked for.
    wait_for("the question", || asks(&stage).contains("echo ran").then_some(()));
    assert_eq!(stage.workspace.read("other.py"), "print(2)\n");
    assert_eq!(code.card(), None, "the window is cut off");
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

#[test]
fn n27_a_question_that_is_open_while_the_connection_is_cut_is_answered_in_a_terminal() {
    let stage = two_files();
    let host = Host::start(&stage);
    let way = free_address();
    let tunnel = host.tunnel(way);
    let code = Code::open_at(&stage, FILE, way);
    code.work_until_held();
    stage.model.release();
    code.wait_asked("echo ran");
    drop(tunnel);
    answers_in_a_terminal(&stage, "allow");
    wait_for("what the command makes", || stage.workspace.exists("ran").then_some(()));
    assert!(code.card().is_some(), "the window is cut off");
    let _tunnel = host.tunnel(way);
    wait_for("the end", || code.chat().to_string().contains("All is done.").then_some(()));
    wait_for("the question to go, which is answered", || code.card().is_none().then_some(()));
    code.picture("remote-answered");
    assert_eq!(stage.workspace.read("ran"), "ran\n");
    assert_eq!(stage.model.requests().len(), 3, "each call of the model was made once");
}

/// What a user finds who opens another window instead: VS Code keeps the lost one for a while, and the conversation with it.
#[test]
fn n27_another_window_says_who_has_the_conversation_of_a_lost_one_and_decides_about_its_changes() {
    let stage = two_files();
    let host = Host::start(&stage);
    let way = free_address();
    let tunnel = host.tunnel(way);
    let code = Code::open_at(&stage, FILE, way);
    code.work_until_held();
    drop(tunnel);
    stage.model.release();
    wait_for("the question", || asks(&stage).contains("echo ran").then_some(()));
    drop(code);
    let _tunnel = host.tunnel(way);
    let code = Code::open_at(&stage, "other.py", way);
    code.do_("sessionsOpen", json!([]));
    wait_for("the conversation in the list", || {
        code.do_("sessionRows", json!([])).to_string().contains("open in another window").then_some(())
    });
    code.do_("sessionClick", json!(["Use what Python has"]));
    wait_for("who has it", || code.chat().to_string().contains("is open in another window").then_some(()));
    code.picture("remote-another");
    code.do_("palette", json!(["Adjutant: Review Changes"]));
    code.do_("pressRow", json!(["print(2)", "Undo"]));
    wait_for("the file on disk", || (stage.workspace.read("other.py") == "print(1)\n").then_some(()));
    answers_in_a_terminal(&stage, "allow");
    wait_for("what the command makes", || stage.workspace.exists("ran").then_some(()));
    assert_eq!(stage.model.wait_for_requests(3).len(), 3, "the run goes on");
}
