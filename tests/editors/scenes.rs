//! The scenes of every editor; `every_editor!` is their list.
//!
//! Never reads a screen except through [`Editor`]. The scenes check the buffer, the bytes on disk and the
//! message log.

mod ends;
pub mod everyday;
pub mod files;
mod review;

use adjutant_testkit::command::Line;
use adjutant_testkit::model::Reply;
use serde_json::json;

use crate::editor::Editor;
use crate::stage::{SERVER, Stage, wait_for, wait_or};
pub use ends::{
    each_edit_ends_somewhere, edits_of_all_kinds, fills_a_file_that_is_not_there_yet, new_file, tool_result,
};
pub use review::{DRAWN, Reviewer, reviews_over_a_kill, three_changes};

/// Defines the tests of every editor. `$walk` opens the editor on a new stage and plays a scene there.
macro_rules! every_editor {
    ($walk:path) => {
        #[test]
        fn n08_a_command_makes_an_edit_that_one_undo_takes_back() {
            $walk(crate::scenes::one_edit, |editor| crate::scenes::edits(editor, None));
        }

        #[test]
        fn n08_a_code_action_makes_an_edit() {
            let action = Some("Do what this comment says");
            $walk(crate::scenes::one_edit, |editor| crate::scenes::edits(editor, action));
        }

        #[test]
        fn s03_a_rejection_leaves_the_text_alone() {
            $walk(crate::scenes::one_edit, |editor| crate::scenes::rejects(editor));
        }

        #[test]
        fn s90_a_cancel_ends_the_run() {
            $walk(crate::scenes::silence, |editor| crate::scenes::cancels(editor));
        }

        #[test]
        fn s95_a_killed_server_is_replaced_and_finds_its_session() {
            $walk(crate::scenes::edit_again, |editor| crate::scenes::survives_a_kill(editor));
        }

        #[test]
        fn n05_a_file_that_was_not_open_is_edited() {
            $walk(crate::scenes::edit_elsewhere, |editor| crate::scenes::edits_a_closed_file(editor));
        }

        #[test]
        fn finding_c_every_allowed_edit_is_in_the_text_on_disk_or_a_warning() {
            $walk(crate::scenes::edits_of_all_kinds, |editor| {
                crate::scenes::each_edit_ends_somewhere(editor)
            });
        }

        #[test]
        fn finding_d7_a_file_that_is_open_and_not_there_yet_is_made() {
            $walk(crate::scenes::new_file, |editor| {
                crate::scenes::fills_a_file_that_is_not_there_yet(editor)
            });
        }
    };
}
pub(crate) use every_editor;

/// Defines the tests of typing, for editors whose questions do not take the focus.
macro_rules! typing {
    ($walk:path) => {
        #[test]
        fn n04_what_is_typed_while_the_edit_is_on_its_way_stays() {
            $walk(crate::scenes::one_edit, |editor| crate::scenes::keeps_what_is_typed(editor));
        }

        #[test]
        fn n04_what_was_typed_before_the_answer_stays() {
            $walk(crate::scenes::one_edit, |editor| {
                crate::scenes::keeps_what_was_typed_before_the_answer(editor)
            });
        }
    };
}
pub(crate) use typing;

/// The file that the user has open.
pub const FILE: &str = "greet.py";

pub const BEFORE: &str = "# Says hello, loudly.\ndef greet(name):\n    return \"Helo, \" + name\n";
pub const AFTER: &str = "# Says hello, loudly.\ndef greet(name):\n    return \"Hello, \" + name\n";
const TYPED: &str = "MOOD = 7 # ä, 😀";

/// A file that is not open.
pub const OTHER: &str = "other.py";

/// The task, which is also the title of its run.
pub const TASK: &str = "Mend the greeting";
pub const ALLOW: &str = "Yes, once";

pub fn edit() -> Reply {
    let arguments = json!({"path": FILE, "old_text": "\"Helo, \"", "new_text": "\"Hello, \""});
    Reply::text("The greeting is spelled wrong.").and_call("edit_file", arguments)
}

pub fn stage(replies: impl IntoIterator<Item = Reply>) -> Stage {
    Stage::new(&format!("//- /{FILE}\n{BEFORE}"), replies)
}

/// Returns a stage whose model edits once and then ends.
pub fn one_edit() -> Stage {
    stage([edit().hold_after(300), Reply::text("It is mended.")])
}

/// Returns a stage whose model never answers.
pub fn silence() -> Stage {
    stage([Reply::never(), Reply::never()])
}

/// Returns a stage whose model has answers left for a second server, after a kill at the ask.
pub fn edit_again() -> Stage {
    stage([edit().hold_after(300), edit(), Reply::text("It is mended."), Reply::text("It is mended.")])
}

/// Returns a stage whose model edits a file that is not open in the editor.
pub fn edit_elsewhere() -> Stage {
    let arguments = json!({"path": OTHER, "old_text": "one", "new_text": "two"});
    let edit = Reply::text("It is elsewhere.").and_call("edit_file", arguments);
    let stage = stage([edit.hold_after(300), Reply::text("It is mended.")]);
    stage.workspace.write(OTHER, "one\n");
    stage
}

fn wait_done(editor: &impl Editor) {
    editor.wait_end("done");
}

fn disk(editor: &impl Editor) -> String {
    editor.stage().workspace.read(FILE)
}

/// Starts a run with the editor's command or a code action. Releases the model after the progress is on the
/// screen.
pub fn start(editor: &impl Editor, action: Option<&str>) {
    match action {
        Some(title) => {
            editor.go_to_line(1);
            editor.action(title);
            editor.wait_progress("Says hello");
        }
        None => {
            editor.command(TASK);
            editor.wait_progress(editor.title_of(TASK));
        }
    }
    editor.stage().model.wait_for_holding(1);
    assert_eq!(editor.asked(), None, "a question is on the screen too early");
    editor.stage().model.release();
}

/// Answers the only open ask with an option, at a terminal.
pub fn answers_in_a_terminal(stage: &Stage, option: &str) {
    let adjutant = |words: &[&str]| {
        let ran = Line::new(SERVER, &stage.workspace, words).run();
        assert!(ran.status.success(), "{words:?}: {}{}", ran.stdout, ran.stderr);
        ran.stdout
    };
    let asks = adjutant(&["asks"]);
    let words = || asks.split_whitespace();
    let ask = words().find(|word| word.starts_with("ask-")).unwrap_or_else(|| panic!("no ask in {asks}"));
    adjutant(&["answer", ask, option]);
}

/// The main scene: progress, ask, edit in the buffer and not on disk, save, one undo.
pub fn edits(editor: &impl Editor, action: Option<&str>) {
    start(editor, action);
    let asked = editor.wait_asked("Edit greet.py");
    assert!(asked.contains(ALLOW) && asked.contains("Reject"), "choices are missing in\n{asked}");
    assert_eq!(editor.buffer(), BEFORE, "the buffer has an edit before its approval");
    editor.choose(ALLOW);
    editor.wait_buffer(AFTER);
    wait_done(editor);
    let saved = if editor.saves_edits() { AFTER } else { BEFORE };
    wait_or(|| (disk(editor) == saved).then_some(()));
    assert_eq!(disk(editor), saved, "an edit must not be on disk before the user saves");
    editor.save();
    wait_for("the saved file", || (disk(editor) == AFTER).then_some(()));
    editor.undo();
    editor.wait_buffer(BEFORE);
    let seen = editor.stage().seen();
    assert_eq!(seen.count("out", "workspace/applyEdit"), 1, "{}", seen.shown());
    // Which of them depends on what the client draws.
    let told = ["$/progress", "agent/overview"].map(|method| seen.count("out", method));
    assert!(told.iter().any(|&count| count >= 2), "{}", seen.shown());
}

/// A rejection leaves the text unchanged, and the run continues.
pub fn rejects(editor: &impl Editor) {
    start(editor, None);
    editor.wait_asked("Edit greet.py");
    editor.choose("Reject");
    wait_done(editor);
    editor.stage().model.wait_for_requests(2);
    assert_eq!(editor.buffer(), BEFORE);
    assert_eq!(disk(editor), BEFORE);
    let seen = editor.stage().seen();
    assert_eq!(seen.count("out", "workspace/applyEdit"), 0, "{}", seen.shown());
}

/// A cancel ends the run and the model call.
pub fn cancels(editor: &impl Editor) {
    editor.command(TASK);
    editor.stage().model.wait_for_holding(1);
    // An editor can cancel only after it has received the progress.
    editor.wait_progress("waiting for the model");
    editor.cancel();
    editor.wait_end("cancelled");
    editor.stage().model.wait_for_closed(1);
    assert_eq!(editor.buffer(), BEFORE);
    assert_eq!(disk(editor), BEFORE);
}

/// Text that the user types while the edit is in flight stays, and the edit is applied too.
pub fn keeps_what_is_typed(editor: &impl Editor) {
    start(editor, None);
    editor.wait_asked("Edit greet.py");
    let asked = questions(editor);
    editor.choose_and_type_at_top(ALLOW, TYPED);
    edit_joins_typed_text(editor, asked);
}

/// As [`keeps_what_is_typed`], with another function to answer and type.
pub fn keeps_what_is_typed_by<E: Editor>(editor: &E, answer_and_type: impl Fn(&E, &str, &str)) {
    start(editor, None);
    editor.wait_asked("Edit greet.py");
    let asked = questions(editor);
    answer_and_type(editor, ALLOW, TYPED);
    edit_joins_typed_text(editor, asked);
}

/// Returns the number of questions to the user.
fn questions(editor: &impl Editor) -> usize {
    let seen = editor.stage().seen();
    seen.count("out", "window/showMessageRequest") + seen.count("out", "agent/session/request_permission")
}

fn edit_joins_typed_text(editor: &impl Editor, asked: usize) {
    let wanted = format!("{TYPED}\n{AFTER}");
    let is_there = || (editor.buffer() == wanted).then_some(true);
    // On a busy machine, the typed text may arrive before the edit; then the server asks again.
    let is_asked = || (questions(editor) > asked).then_some(false);
    if wait_or(|| is_there().or_else(is_asked)) == Some(false) {
        editor.wait_buffer(&format!("{TYPED}\n{BEFORE}"));
        editor.wait_asked("Edit greet.py");
        editor.choose(ALLOW);
    }
    editor.wait_buffer(&wanted);
    wait_done(editor);
    assert_eq!(disk(editor), BEFORE, "nothing was saved");
    editor.save();
    wait_for("the saved file", || (disk(editor) == format!("{TYPED}\n{AFTER}")).then_some(()));
}

/// Text that the user types after the model has read the file, and before the answer, stays too.
pub fn keeps_what_was_typed_before_the_answer(editor: &impl Editor) {
    start(editor, None);
    editor.wait_asked("Edit greet.py");
    editor.type_at_top(TYPED);
    editor.wait_buffer(&format!("{TYPED}\n{BEFORE}"));
    editor.choose(ALLOW);
    editor.wait_buffer(&format!("{TYPED}\n{AFTER}"));
    wait_done(editor);
}

/// A new server replaces one that was killed at an ask; it finds the session and ends the run.
pub fn survives_a_kill(editor: &impl Editor) {
    start(editor, None);
    editor.wait_asked("Edit greet.py");
    editor.before_kill();
    editor.stage().kill_server();
    editor.restart();
    let sessions = editor.stage().sessions();
    assert_eq!(sessions.len(), 1, "one session was started: {sessions:?}");
    // The new server asks the same question.
    editor.wait_asked("Edit greet.py");
    editor.choose(ALLOW);
    editor.wait_buffer(AFTER);
    wait_done(editor);
    let saved = if editor.saves_edits() { AFTER } else { BEFORE };
    assert_eq!(disk(editor), saved, "nothing was saved");
    assert_eq!(editor.stage().sessions(), sessions, "the run continues in the same session");
    let seen = editor.stage().seen();
    assert_eq!(seen.servers().len(), 2, "{}", seen.shown());
    assert_eq!(
        seen.count("out", "workspace/applyEdit"),
        1,
        "the edit happened more than once\n{}",
        seen.shown()
    );
}

/// The editor makes an edit of a file that was not open, and the file is on disk at the end.
pub fn edits_a_closed_file(editor: &impl Editor) {
    start(editor, None);
    editor.wait_asked("Edit other.py");
    editor.choose(ALLOW);
    wait_done(editor);
    let result = ends::tool_result(editor, 0);
    ends::reports_truly(editor, OTHER, &result, "two\n");
    assert_eq!(editor.buffer(), BEFORE, "the edit changed the open file");
    let seen = editor.stage().seen();
    // An editor that tells of every open file is not asked to open this one.
    assert!(seen.count("out", "workspace/applyEdit") <= 1, "{}", seen.shown());
}
