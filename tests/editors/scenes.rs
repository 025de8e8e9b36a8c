//! What must be so in every editor, told once.
//!
//! Looks at the buffer, the bytes on disk and the message log; what the screen
//! shows comes through [`Editor`].

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use adjutant_testkit::command::Line;
use adjutant_testkit::model::Reply;
use serde_json::json;

use crate::editor::Editor;
use crate::stage::{SERVER, Stage, wait_for};

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
            editor.wait_progress(TASK);
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
pub fn rejects(editor: &impl Editor, action: Option<&str>) {
    start(editor, action);
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
pub fn cancels(editor: &impl Editor, action: Option<&str>) {
    match action {
        Some(title) => {
            editor.go_to_line(1);
            editor.action(title);
        }
        None => editor.command(TASK),
    }
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
pub fn keeps_what_is_typed(editor: &impl Editor, action: Option<&str>) {
    start(editor, action);
    editor.wait_asked("Edit greet.py");
    editor.choose_and_type_at_top(ALLOW, TYPED);
    lands_beside_what_was_typed(editor);
}

/// As [`keeps_what_is_typed`], with another way to answer and type.
pub fn keeps_what_is_typed_by<E: Editor>(editor: &E, answer_and_type: impl Fn(&E, &str, &str)) {
    start(editor, None);
    editor.wait_asked("Edit greet.py");
    answer_and_type(editor, ALLOW, TYPED);
    lands_beside_what_was_typed(editor);
}

fn lands_beside_what_was_typed(editor: &impl Editor) {
    editor.wait_buffer(&format!("{TYPED}\n{AFTER}"));
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
pub fn survives_a_kill(editor: &impl Editor, action: Option<&str>) {
    start(editor, action);
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
    assert_eq!(editor.stage().workspace.read(OTHER), "two\n");
    assert_eq!(editor.buffer(), BEFORE, "another file is changed");
    let seen = editor.stage().seen();
    assert_eq!(seen.count("out", "workspace/applyEdit"), 1, "{}", seen.shown());
}

/// What an allowed edit may meet: a new file, a new folder, a byte order mark, a read-only file, a full disk.
// The file that cannot be saved comes last: the error that VS Code shows of it hides later questions in a small window.
pub const ENDS: [&str; 5] = ["new.py", "made/deep/new.py", MARKED, FULL, FIXED];

const MARKED: &str = "marked.py";
const FIXED: &str = "fixed.py";
const FULL: &str = "small/full.py";

/// A stage whose model makes or edits these files. Mounts what cannot be written, also not by root.
pub fn edits_of(paths: &[&str]) -> Mounted {
    let reply = |path: &&str| match *path {
        MARKED | FIXED => {
            Reply::call("edit_file", json!({"path": path, "old_text": "one", "new_text": "ONE"}))
        }
        _ => Reply::call("write_file", json!({"path": path, "content": "one\ntwo\n"})),
    };
    let mut replies: Vec<Reply> = paths.iter().map(reply).collect();
    replies[0] = replies[0].clone().hold_after(300);
    replies.push(Reply::text("It is mended."));
    let stage = stage(replies);
    stage.workspace.write(MARKED, "\u{feff}one\ntwo\n");
    stage.workspace.write(FIXED, "one\ntwo\n");
    stage.workspace.write("small/.keep", "");
    let fixed = stage.workspace.path().join(FIXED);
    let small = stage.workspace.path().join("small");
    let mounted = Mounted { stage, points: vec![fixed.clone(), small.clone()] };
    mount(&["--bind".as_ref(), fixed.as_os_str(), fixed.as_os_str()]);
    mount(&["-o".as_ref(), "remount,ro,bind".as_ref(), fixed.as_os_str()]);
    let size = ["-t", "tmpfs", "-o", "size=64k", "none"].map(OsStr::new);
    mount(&[&size[..], &[small.as_os_str()]].concat());
    // Up to its last block.
    let filled = std::fs::write(small.join("fill"), vec![0_u8; 1 << 20]);
    assert!(filled.is_err(), "the small disk is not full");
    mounted
}

/// A stage with mounts that end with it.
pub struct Mounted {
    pub stage: Stage,
    points: Vec<PathBuf>,
}

impl Drop for Mounted {
    fn drop(&mut self) {
        for point in &self.points {
            // Lazily: an editor that has not ended yet may hold it.
            let _ = Command::new("umount").arg("-l").arg(point).status();
        }
    }
}

fn mount(args: &[&OsStr]) {
    let done = Command::new("mount").args(args).status().expect("run mount");
    assert!(done.success(), "mount {args:?}: these scenes need root, as the install script does");
}

/// Every allowed edit is in the text, on disk where it is to be, or one warning.
pub fn each_edit_ends_somewhere(editor: &impl Editor, action: Option<&str>, paths: &[&str]) {
    start(editor, action);
    for (index, path) in paths.iter().enumerate() {
        let verb = if [MARKED, FIXED].contains(path) { "Edit" } else { "Create" };
        editor.wait_asked(&format!("{verb} {path}"));
        editor.choose(ALLOW);
        editor.stage().model.wait_for_requests(index + 2);
    }
    wait_done(editor);
    let body = editor.stage().model.requests().last().expect("a request").json();
    let messages = body["messages"].as_array().into_iter().flatten();
    let told = messages.filter(|message| message["role"] == "tool").filter_map(|one| one["content"].as_str());
    let told: Vec<&str> = told.collect();
    assert_eq!(told.len(), paths.len(), "{told:?}");
    let missed = |told: &&&str| told.contains("was not applied") || told.contains("did not save it");
    for (path, told) in paths.iter().zip(&told) {
        let disk = std::fs::read_to_string(editor.stage().workspace.path().join(path)).ok();
        match *path {
            MARKED if editor.saves_edits() => {
                assert_eq!(*told, "Edited marked.py: +1 -1 lines.");
                assert_eq!(disk.as_deref(), Some("\u{feff}ONE\ntwo\n"));
            }
            MARKED => assert!(told.starts_with("Edited ") && told.contains("not saved yet"), "{told}"),
            FIXED => {
                assert_eq!(disk.as_deref(), Some("one\ntwo\n"));
                let kept = !editor.saves_edits() && told.contains("not saved yet");
                assert!(missed(&told) || kept, "{told}");
            }
            FULL => {
                assert!(
                    told.contains("was not applied") && told.contains("No space left on device"),
                    "{told}"
                );
                assert_eq!(disk, None, "half a file is left");
            }
            _ => {
                assert_eq!(*told, format!("Created {path}: +2 -0 lines."));
                assert_eq!(disk.as_deref(), Some("one\ntwo\n"));
            }
        }
        assert!(!told.contains("otherwise"), "{told}");
    }
    let seen = editor.stage().seen();
    let warnings = told.iter().filter(missed).count();
    assert!(seen.count("out", "window/showMessage") >= warnings, "{}", seen.shown());
}
