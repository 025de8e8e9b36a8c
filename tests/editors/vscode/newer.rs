//! The newest VS Code that is tested, with its own Node.js: what a user does in the first minutes works there, too.
//!
//! Never looks into the server: it checks the screen and the bytes on disk.

use std::net::SocketAddr;

use adjutant_testkit::model::Reply;
use serde_json::json;
use tempfile::TempDir;

use super::{Code, answers, driver, host};
use crate::editor::Editor;
use crate::scenes::{AFTER, BEFORE, FILE};
use crate::stage::{Stage, installed, wait_for};

/// A VS Code of its own beside the one that all scenes share. It has the extension as users get it, with the program.
struct Newer {
    _folder: TempDir,
    code: SocketAddr,
}

impl Newer {
    fn start(stage: &Stage) -> Newer {
        let folder = tempfile::tempdir().expect("make the folder of VS Code");
        let places = json!({
            "codeServer": installed("vscode-newer/code-server"),
            "scratch": folder.path(),
            "extension": host::package_with_program(folder.path()),
            "variables": stage.env().into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        });
        let code = driver::take().say("", "hostStart", json!([places]));
        let code = code.as_str().and_then(|code| code.parse().ok()).expect("where VS Code listens");
        Newer { _folder: folder, code }
    }
}

impl Drop for Newer {
    fn drop(&mut self) {
        let _ = driver::take().try_say("", "hostStop", json!([self.code]));
    }
}

#[test]
fn n27_the_first_task_in_the_newest_vs_code() {
    let edit = json!({"path": FILE, "old_text": "Helo", "new_text": "Hello"});
    let softly = json!({"path": FILE, "old_text": "loudly", "new_text": "softly"});
    let replies = [
        Reply::text("The greeting is next.").and_call("edit_file", edit),
        Reply::text("And the comment.").and_call("edit_file", softly),
        Reply::call("run_command", json!({"command": "echo ran >> ran"})),
        Reply::text("It is mended."),
    ];
    let stage = Stage::new(&format!("//- /{FILE}\n{BEFORE}"), replies);
    let newer = Newer::start(&stage);
    let code = Code::open_at(&stage, FILE, newer.code);
    code.do_("chatOpen", json!([]));
    code.say_in_chat("Mend the greeting");
    code.wait_asked("Edit greet.py");
    assert_eq!(code.answers(), answers(&["Show", "Reject", "Yes, once", "Yes, always…"]));
    code.picture("newer-ask");
    code.choose("Yes, always…");
    code.wait_asked("echo ran");
    assert!(!stage.workspace.exists("ran"), "nobody has allowed it");
    code.do_("theme", json!(["Dark Modern"]));
    code.do_("themed", json!(["vs-dark"]));
    code.picture("newer-dark");
    code.choose("Yes, once");
    wait_for("the end", || code.chat().to_string().contains("It is mended.").then_some(()));
    assert_eq!(stage.workspace.read("ran"), "ran\n");
    // What an answer allowed by itself is kept; the other change is to be reviewed.
    code.wait_buffer(&AFTER.replace("loudly", "softly"));
    code.picture("newer-done");
    code.do_("pressLens", json!(["Undo", "softly"]));
    code.wait_buffer(AFTER);
    wait_for("the file on disk", || (stage.workspace.read(FILE) == AFTER).then_some(()));
}
