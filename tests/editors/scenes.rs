//! What must be so in every editor, told once: `every_editor!` is the list.
//!
//! Looks at the buffer, the bytes on disk and the message log; what the screen
//! shows comes through [`Editor`].

mod ends;

use adjutant_testkit::command::Line;
use adjutant_testkit::model::Reply;
use serde_json::json;

use crate::editor::Editor;
use crate::stage::{SERVER, Stage, wait_for, wait_or};
pub use ends::{
    each_edit_ends_somewhere, edits_of_all_kinds, fills_a_file_that_is_not_there_yet, new_file, told,
};

/// Makes the tests that every editor has. `$walk` opens the editor on a new stage and plays a scene there.
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

/// Makes the tests of typing, for every editor whose questions leave the keys to the text.
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

/// The file that is worked on.
pub const FILE: &str = "greet.py";

pub const BEFORE: &str = "# Says hello, loudly.\ndef greet(name):\n    return \"Helo, \" + name\n";
pub const AFTER: &str = "# Says hello, loudly.\ndef greet(name):\n    return \"Hello, \" + name\n";
const TYPED: &str = "MOOD = 7 # ä, 😀";

/// A file that is not open.
const OTHER: &str = "other.py";

/// The title of the run that a task gets.
pub const TASK: &str = "Mend the greeting";
pub const ALLOW: &str = "Yes, once";

pub fn edit() -> Reply {
    let arguments = json!({"path": FILE, "old_text": "\"Helo, \"", "new_text": "\"Hello, \""});
    Reply::text("The greeting is spelled wrong.").and_call("edit_file", arguments)
}

pub fn stage(replies: impl IntoIterator<Item = Reply>) -> Stage {
    Stage::new(&format!("//- /{FILE}\n{BEFORE}"), replies)
}

/// A stage where the model edits once and then says that it is done.
pub fn one_edit() -> Stage {
    stage([edit().hold_after(300), Reply::text("It is mended.")])
}

/// A stage where the model never answers.
pub fn silence() -> Stage {
    stage([Reply::never(), Reply::never()])
}

/// A stage where the model may be asked again after the server was killed at the ask.
pub fn edit_again() -> Stage {
    stage([edit().hold_after(300), edit(), Reply::text("It is mended."), Reply::text("It is mended.")])
}

/// A stage where the model edits a file that is not open in the editor.
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

/// Starts by the editor's command or by a code action, and lets the model go on once its progress is seen.
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
    assert_eq!(editor.asked(), None, "nothing is to be asked yet");
    editor.stage().model.release();
}

/// Answers the one open ask by an option, at a terminal.
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

/// The main job: progress, ask, edit in the buffer and not on disk, save, one undo.
pub fn edits(editor: &impl Editor, action: Option<&str>) {
    start(editor, action);
    let asked = editor.wait_asked("Edit greet.py");
    assert!(asked.contains(ALLOW) && asked.contains("Reject"), "the choices are missing in\n{asked}");
    assert_eq!(editor.buffer(), BEFORE, "an edit that was not allowed is in the buffer");
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
    assert!(seen.count("out", "$/progress") >= 2, "{}", seen.shown());
}

/// A rejection leaves the text alone, and the run goes on.
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

/// A cancel ends the run and the call to the model.
pub fn cancels(editor: &impl Editor) {
    editor.command(TASK);
    editor.stage().model.wait_for_holding(1);
    // Nothing can be cancelled before it is told.
    editor.wait_progress("waiting for the model");
    editor.cancel();
    editor.wait_end("cancelled");
    editor.stage().model.wait_for_closed(1);
    assert_eq!(editor.buffer(), BEFORE);
    assert_eq!(disk(editor), BEFORE);
}

/// What the user types while the edit is on its way stays, and the edit lands beside it.
pub fn keeps_what_is_typed(editor: &impl Editor) {
    start(editor, None);
    editor.wait_asked("Edit greet.py");
    let asked = questions(editor);
    editor.choose_and_type_at_top(ALLOW, TYPED);
    lands_beside_what_was_typed(editor, asked);
}

/// As [`keeps_what_is_typed`], with another way to answer and type.
pub fn keeps_what_is_typed_by<E: Editor>(editor: &E, answer_and_type: impl Fn(&E, &str, &str)) {
    start(editor, None);
    editor.wait_asked("Edit greet.py");
    let asked = questions(editor);
    answer_and_type(editor, ALLOW, TYPED);
    lands_beside_what_was_typed(editor, asked);
}

/// How many questions were put before the user.
fn questions(editor: &impl Editor) -> usize {
    let seen = editor.stage().seen();
    seen.count("out", "window/showMessageRequest") + seen.count("out", "agent/session/request_permission")
}

fn lands_beside_what_was_typed(editor: &impl Editor, asked: usize) {
    let wanted = format!("{TYPED}\n{AFTER}");
    let is_there = || (editor.buffer() == wanted).then_some(true);
    // Who types for so long that the edit is overtaken, as on a busy machine, is asked again.
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

/// What was typed after the model has read the file, and long before the answer, stays, too.
pub fn keeps_what_was_typed_before_the_answer(editor: &impl Editor) {
    start(editor, None);
    editor.wait_asked("Edit greet.py");
    editor.type_at_top(TYPED);
    editor.wait_buffer(&format!("{TYPED}\n{BEFORE}"));
    editor.choose(ALLOW);
    editor.wait_buffer(&format!("{TYPED}\n{AFTER}"));
    wait_done(editor);
}

/// A server that is killed at an ask is replaced, and the new one finds the session and ends it.
pub fn survives_a_kill(editor: &impl Editor) {
    start(editor, None);
    editor.wait_asked("Edit greet.py");
    editor.stage().kill_server();
    editor.restart();
    let sessions = editor.stage().sessions();
    assert_eq!(sessions.len(), 1, "one session was started: {sessions:?}");
    // The question is the same one, put again.
    editor.wait_asked("Edit greet.py");
    editor.choose(ALLOW);
    editor.wait_buffer(AFTER);
    wait_done(editor);
    let saved = if editor.saves_edits() { AFTER } else { BEFORE };
    assert_eq!(disk(editor), saved, "nothing was saved");
    assert_eq!(editor.stage().sessions(), sessions, "the session that was found is the one that went on");
    let seen = editor.stage().seen();
    assert_eq!(seen.servers().len(), 2, "{}", seen.shown());
    assert_eq!(seen.count("out", "workspace/applyEdit"), 1, "one effect, not two\n{}", seen.shown());
}

/// A file that was not open is edited through the editor, and is on disk at the end.
pub fn edits_a_closed_file(editor: &impl Editor) {
    start(editor, None);
    editor.wait_asked("Edit other.py");
    editor.choose(ALLOW);
    wait_done(editor);
    let told = ends::told(editor, 0);
    ends::is_told_truly(editor, OTHER, &told, "two\n");
    assert_eq!(editor.buffer(), BEFORE, "another file is changed");
    let seen = editor.stage().seen();
    assert_eq!(seen.count("out", "workspace/applyEdit"), 1, "{}", seen.shown());
}
