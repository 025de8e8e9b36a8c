//! The review of applied changes, before and after its server is killed, by the surfaces that each editor has.
//!
//! Never reads a screen except through [`Reviewer`].

use adjutant_testkit::command::Line;
use adjutant_testkit::model::Reply;
use serde_json::json;

use super::{FILE, OTHER, start, wait_done};
use crate::editor::Editor;
use crate::seen::Message;
use crate::stage::{SERVER, Stage, wait_for};

const BEFORE: &str = "# Says hello, loudly.\ndef greet(name):\n    return \"Helo, \" + name\n\n\n# Says bye.\n\
                      def leave(name):\n    return \"By, \" + name\n";

/// The message to an editor that draws changes.
pub const DRAWN: &str = "agent/review/update";

/// What a user does with changes.
pub trait Reviewer: Editor {
    /// The message that brings the marks of changes to the editor.
    const MARKS: &'static str = "textDocument/publishDiagnostics";
    /// Goes to another file.
    fn open(&self, file: &str);
    /// Types a line above a line, from one.
    fn insert_above(&self, line: usize, text: &str);
    /// Returns the hover at the cursor, which says of a change that the editor does not draw what was there before.
    fn hover(&self) -> String;
    /// Undoes the change that begins at a line, from one.
    fn undo_change(&self, line: usize) {
        self.go_to_line(line);
        self.action("Undo change");
    }
    /// Keeps the change that begins at a line, from one, with what the user wrote into it.
    fn keep_change(&self, line: usize, with: &str) {
        self.go_to_line(line);
        self.action(&format!("Yes, keep change{with}"));
    }
}

/// Returns a stage whose model makes three changes in two files, without a question.
pub fn three_changes() -> Stage {
    let edit = |path: &str, old: &str, new: &str| json!({"path": path, "old_text": old, "new_text": new});
    let reply = Reply::text("Both are spelled wrong.")
        .and_call("edit_file", edit(FILE, "\"Helo, \"", "\"Hello, \""))
        .and_call("edit_file", edit(FILE, "    return \"By, \"", "    bye = \"Bye, \"\n    return bye"))
        .and_call("edit_file", edit(OTHER, "one", "two"));
    let files = format!("//- /{FILE}\n{BEFORE}//- /{OTHER}\none\n");
    let stage =
        Stage::new(&files, [reply.hold_after(300), Reply::text("It is mended.")]).without_edits_mode();
    stage.workspace.add_config("[edits]\nmode = \"review\"\n");
    stage
}

/// One change is undone, one is amended by typing, and after the server was killed both that are left are kept.
pub fn reviews_over_a_kill<E: Reviewer>(editor: &E) {
    let bye = "    bye = \"Bye, \"\n    return bye + name\n";
    let edited = BEFORE.replace("\"Helo, \"", "\"Hello, \"").replace("    return \"By, \" + name\n", bye);
    start(editor, None);
    wait_done(editor);
    editor.wait_buffer(&edited);
    // The changes of both files are marked, where they are marked before a file is open.
    let files = if E::MARKS == DRAWN { 1 } else { 2 };
    editor.stage().seen().wait("out", E::MARKS, files);
    if E::MARKS != DRAWN {
        editor.go_to_line(3);
        let said = wait_for("who wrote the line", || {
            Some(editor.hover()).filter(|said| said.contains("nobody has looked at it yet"))
        });
        assert!(said.contains("return \"Helo, \""), "the line before is missing in {said}");
    }
    editor.undo_change(3);
    let undone = BEFORE.replace("    return \"By, \" + name\n", bye);
    editor.wait_buffer(&undone);
    editor.insert_above(9, "    # mine");
    let amended = undone.replace("\"Bye, \"\n", "\"Bye, \"\n    # mine\n");
    editor.wait_buffer(&amended);
    editor.save();
    wait_for("the saved file", || (editor.stage().workspace.read(FILE) == amended).then_some(()));
    editor.stage().kill_server();
    let killed = editor.stage().seen().newest_server();
    editor.restart();
    // The user sees the marks before there is anything to choose.
    wait_for("the changes to be marked again", || {
        let seen = editor.stage().seen();
        let server = seen.newest_server().filter(|server| Some(*server) != killed)?;
        let is_mark = |message: &Message| message.way == "out" && message.method == E::MARKS;
        seen.of(server).iter().any(is_mark).then_some(())
    });
    editor.keep_change(8, " with your line");
    wait_for("the change to be kept", || {
        why(editor, FILE, 9).contains("You wrote this line, inside a change").then_some(())
    });
    wait_for("a person to have kept it", || why(editor, FILE, 9).contains("a person kept it").then_some(()));
    editor.wait_buffer(&amended);
    editor.open(OTHER);
    editor.wait_buffer("two\n");
    editor.keep_change(1, "");
    editor.wait_buffer("two\n");
    editor.save();
    wait_for("a person to have kept it", || why(editor, OTHER, 1).contains("a person kept it").then_some(()));
    assert!(why(editor, FILE, 3).contains("No session"), "it was undone, so it is the user's line");
}

/// Returns what a terminal says of a line of a saved file, from one.
fn why(editor: &impl Editor, file: &str, line: usize) -> String {
    let ran = Line::new(SERVER, &editor.stage().workspace, &["why", &format!("{file}:{line}")]).run();
    assert!(ran.status.success(), "{}", ran.stderr);
    ran.stdout
}
