//! A server that is killed while it writes a file (finding C6): after the next start the workspace has no
//! leftovers, and each file has either its whole old text or its whole new text.
//!
//! The server dies at a named point, or as soon as the test sees the temporary file next to the target.

use std::fs;
use std::path::{Path, PathBuf};

use adjutant::faults::WRITE_POINTS;
use adjutant_protocol::ask::AskKind;
use adjutant_protocol::methods;
use adjutant_protocol::review::{ReviewDecideResult, ReviewHunk, ReviewListResult};
use adjutant_protocol::session::SessionListResult;
use adjutant_protocol::update::HunkState;
use adjutant_testkit::campaign;
use adjutant_testkit::command::Line;
use adjutant_testkit::editor::{Editor, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::process::{Server, wait_until};
use rustix::process::Signal;
use serde_json::json;

use super::ends::send;
use super::story::BINARY;

/// The number of writes in one run that is killed meanwhile.
const WRITES: usize = 200;

/// The calls that a reply may have.
const MOST_CALLS: usize = 64;

/// Returns a script that makes these calls, in as few replies as may have them.
fn edits(calls: impl IntoIterator<Item = String>) -> String {
    let calls: Vec<String> = calls.into_iter().map(|call| format!("[[turn.call]]\n{call}\n")).collect();
    let turns: String =
        calls.chunks(MOST_CALLS).map(|calls| format!("[[turn]]\n{}", calls.concat())).collect();
    format!("{turns}[[turn]]\ntext = \"Done.\"\n")
}

fn edit(path: &str, old: &str, new: &str) -> String {
    format!(
        "tool = \"edit_file\"\narguments = {{ path = \"{path}\", old_text = \"{old}\", new_text = \"{new}\" }}"
    )
}

fn read(path: &str) -> String {
    format!("tool = \"read_file\"\narguments = {{ path = \"{path}\" }}")
}

fn create(path: &str, content: &str) -> String {
    format!("tool = \"write_file\"\narguments = {{ path = \"{path}\", content = \"{content}\" }}")
}

/// Returns the temporary files of Adjutant below a folder.
pub fn left(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let all = entries.flat_map(|path| if path.is_dir() { left(&path) } else { vec![path] });
    all.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".adjutant-")))
        .collect()
}

/// Waits until a server has finished what was cut short, and reads what it says of it.
pub fn finished(editor: &Editor) {
    let _: ReviewListResult = editor.call(methods::REVIEW_LIST, json!({}));
    while !editor.messages().is_empty() {
        let said = editor.await_message();
        assert!(said.contains("A task was cut short while it changed a file."), "{said}");
    }
}

/// Starts the next server and waits until it has removed all leftovers and finished what was cut short.
fn next_start(workspace: &Workspace, when: &str) {
    let mut server = Server::spawn(BINARY, workspace, &["lsp"]);
    let editor = server.editor(Options::new(workspace));
    let turns = workspace.state_dir().join("writing");
    let is_empty = || fs::read_dir(&turns).map_or(true, |entries| entries.count() == 0);
    wait_until(&format!("{when}: the leftovers to be gone"), || {
        left(workspace.path()).is_empty() && is_empty()
    });
    finished(&editor);
    editor.shutdown();
    server.wait();
}

#[test]
fn finding_c6_a_kill_at_each_point_of_a_write_leaves_nothing_and_loses_nothing() {
    let mut seen = 0;
    for (name, is_new) in WRITE_POINTS.into_iter().zip([true, true, false, false, false]) {
        for path in ["sub/a.txt", "sub/new.txt"].into_iter().take(1 + usize::from(is_new)) {
            let when = format!("{name} of {path}");
            let workspace = Workspace::new("//- /sub/a.txt\none\n");
            let call = match path {
                "sub/a.txt" => edit(path, "one", "two"),
                _ => create(path, "two\\n"),
            };
            workspace.script(&edits([call]));
            let run = Line::new(BINARY, &workspace, &["run", "-y", "go"]);
            let ran = run.env("ADJUTANT_FAULT", format!("{name}:1")).run();
            assert!(ran.was_killed(), "{when}: {ran}");
            let leftovers = left(workspace.path()).len();
            assert_eq!(leftovers, 1, "{when}: not exactly one leftover");
            seen += leftovers;
            let text = |path: &str| fs::read_to_string(workspace.path().join(path)).ok();
            let swapped = ["write-exchanged", "write-proved"].contains(&name);
            let now = match (path, swapped) {
                ("sub/a.txt", true) => Some("two\n"),
                ("sub/a.txt", false) => Some("one\n"),
                _ => None,
            };
            assert_eq!(text(path).as_deref(), now, "{when}");
            next_start(&workspace, &when);
            assert_eq!(text(path).as_deref(), Some("two\n"), "{when}: after the next start");
        }
    }
    assert_eq!(seen, WRITE_POINTS.len() + 2);
}

#[test]
fn finding_c6_what_another_program_writes_in_the_last_moment_survives_a_kill_behind_the_exchange() {
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.script(&edits([edit("a.txt", "one", "two")]));
    let run = Line::new(BINARY, &workspace, &["run", "-y", "go"]);
    let running = run.env("ADJUTANT_FAULT", "write-compared:1:hold,write-exchanged:1").start();
    wait_until("the server to wait between comparison and exchange", || {
        running.stderr().contains("held at write-compared")
    });
    let other = workspace.path().join("theirs");
    fs::write(&other, "of another program\n")
        .and_then(|()| fs::rename(&other, workspace.path().join("a.txt")))
        .expect("a write");
    fs::write(workspace.state_dir().join("fault-released"), "").expect("a mark");
    let ran = running.wait();
    assert!(ran.was_killed(), "{ran}");
    assert_eq!((workspace.read("a.txt").as_str(), left(workspace.path()).len()), ("two\n", 1), "{ran}");
    next_start(&workspace, "after the exchange");
    assert_eq!(workspace.read("a.txt"), "of another program\n", "{ran}");
}

/// Neither the edited lines nor those around them tell whether the edit was made. The whole text does.
#[test]
fn finding_c6_an_edit_among_lines_that_repeat_is_made_once() {
    let lines = |before: &str, count: usize| format!("{before}{}end\n", "same\n".repeat(count));
    // An edit that removes one of many equal lines, and one that adds one.
    for (old, new, count) in [("top\\nsame\\n", "top\\n", 59), ("top\\n", "top\\nsame\\n", 61)] {
        let workspace = Workspace::new("//- /keep.txt\n");
        workspace.write("a.txt", &lines("top\n", 60));
        workspace.script(&edits([edit("a.txt", old, new)]));
        let run = Line::new(BINARY, &workspace, &["run", "-y", "go"]);
        let ran = run.env("ADJUTANT_FAULT", "write-proved:1").run();
        assert!(ran.was_killed(), "{ran}");
        assert_eq!(workspace.read("a.txt"), lines("top\n", count));
        Line::new(BINARY, &workspace, &["run", "--continue", "-y"]).run().expect(0);
        assert_eq!(workspace.read("a.txt"), lines("top\n", count), "it was made twice, or taken back");
        let listed = Line::new(BINARY, &workspace, &["review"]).run();
        assert!(listed.expect(0).stdout.contains("a.txt"), "{listed}");
    }
}

/// A reply over several files is on disk as a whole after the next start that opens its session, wherever it was cut.
#[test]
fn n06_a_reply_that_is_cut_short_among_its_files_is_finished_by_the_next_start_which_says_so() {
    const FILES: usize = 5;
    let name = |file: usize| format!("d{}/{file}.txt", file % 2);
    let texts =
        |workspace: &Workspace| (0..FILES).filter(|file| workspace.read(&name(*file)) == "two\n").count();
    for (point, passing, written) in [
        ("write-begun", 3, 0),
        ("write-compared", 1, 0),
        ("write-exchanged", 3, 3),
        ("write-proved", FILES, FILES),
    ] {
        let when = format!("{point} for the {passing}th time");
        let fixture: String = (0..FILES).map(|file| format!("//- /{}\none\n", name(file))).collect();
        let workspace = Workspace::new(&fixture);
        workspace.script(&edits((0..FILES).map(|file| edit(&name(file), "one", "two"))));
        let run = Line::new(BINARY, &workspace, &["run", "-y", "go"]);
        let ran = run.env("ADJUTANT_FAULT", format!("{point}:{passing}")).run();
        assert!(ran.was_killed(), "{when}: {ran}");
        assert_eq!(texts(&workspace), written, "{when}");
        assert!(!left(workspace.path()).is_empty(), "{when}: nothing is left over");

        let mut server = Server::spawn(BINARY, &workspace, &["lsp"]);
        let editor = server.editor(Options::new(&workspace));
        // As our own clients do at their start.
        let listed: SessionListResult = editor.call(methods::SESSION_LIST, json!({}));
        let session = listed.sessions[0].session_id.clone();
        let resumed = editor.resume(&session, None);
        assert_eq!(
            resumed.asks.iter().map(|ask| ask.kind).collect::<Vec<_>>(),
            [AskKind::ResumeTask],
            "{when}"
        );
        wait_until(&format!("{when}: the whole reply"), || {
            texts(&workspace) == FILES && left(workspace.path()).is_empty()
        });
        assert_eq!(
            editor.await_message(),
            "Adjutant: A task was cut short while it changed 5 files. What is not on disk yet is finished now.",
            "{when}"
        );
        // The run itself still waits for the user.
        editor.answer(&resumed.asks[0].ask_id, "resume");
        let run = resumed.state.run_id.clone().expect("a run waits");
        editor.await_run_end(&session, &run);
        assert!(editor.messages().is_empty(), "{when}: {:?}", editor.messages());
        editor.shutdown();
        server.wait();
    }
}

/// Returns a workspace with seven files, and a script that edits each.
fn seven() -> Workspace {
    let files: String = (1..=7).map(|n| format!("//- /f{n}.txt\none\n")).collect();
    let workspace = Workspace::new(&files);
    workspace.script(&edits((1..=7).map(|n| edit(&format!("f{n}.txt"), "one", "two"))));
    workspace
}

/// Returns how many of the seven files have the edit, and how many changes the terminal lists.
fn made_and_listed(workspace: &Workspace) -> (usize, usize) {
    let made = (1..=7).filter(|n| workspace.read(&format!("f{n}.txt")) == "two\n").count();
    let listed = Line::new(BINARY, workspace, &["review", "--json"]).run();
    (made, listed.expect(0).stdout.lines().count())
}

#[test]
fn n06_files_that_cannot_be_written_do_not_hide_those_that_were() {
    let workspace = seven();
    for name in ["f1.txt", "f2.txt", "f3.txt"] {
        let read_only = std::os::unix::fs::PermissionsExt::from_mode(0o444);
        fs::set_permissions(workspace.path().join(name), read_only).expect("a mode");
    }
    let ran = Line::new(BINARY, &workspace, &["run", "-y", "go"]).run();
    assert!(!ran.status.success(), "three files were not written: {ran}");
    assert!(!ran.stderr.contains("cancelled"), "what was written is said to be: {ran}");
    assert_eq!(made_and_listed(&workspace), (4, 4), "{ran}");
}

#[test]
fn n06_an_interrupt_among_the_writes_of_a_reply_hides_none_of_them() {
    let workspace = seven();
    let run = Line::new(BINARY, &workspace, &["run", "-y", "go"]);
    let running = run.env("ADJUTANT_FAULT", "write-exchanged:3:hold").start();
    wait_until("the third write", || running.stderr().contains("held at write-exchanged"));
    send(running.pid(), Signal::INT);
    wait_until("the end of the run", || running.stderr().contains("Cancelled"));
    fs::write(workspace.state_dir().join("fault-released"), "").expect("a mark");
    let ran = running.wait();
    assert_eq!(made_and_listed(&workspace), (7, 7), "{ran}");
}

/// What the next process says of an edit of the seven files that was cut short.
const SEVEN_CUT_SHORT: &str =
    "Adjutant: A task was cut short while it changed 7 files. What is not on disk yet is finished now.";

/// Returns the seven files after a run that was killed among or after their writes.
fn seven_cut_short(fault: &str) -> Workspace {
    let workspace = seven();
    let run = Line::new(BINARY, &workspace, &["run", "-y", "go"]);
    let ran = run.env("ADJUTANT_FAULT", fault).run();
    assert!(ran.was_killed(), "{fault}: {ran}");
    workspace
}

#[test]
fn n03_a_look_at_the_changes_first_finishes_a_reply_that_was_cut_short_and_says_so() {
    for fault in ["write-exchanged:3", "write-proved:7"] {
        let workspace = seven_cut_short(fault);
        let listed = Line::new(BINARY, &workspace, &["review", "--json"]).run();
        assert!(listed.stderr.contains(SEVEN_CUT_SHORT), "{fault}: {listed}");
        assert_eq!(listed.expect(0).stdout.lines().count(), 7, "{fault}");
        assert_eq!(made_and_listed(&workspace), (7, 7), "{fault}");
        let why = Line::new(BINARY, &workspace, &["why", "f1.txt:1"]).run();
        assert!(why.stdout.contains("go") && !why.stderr.contains("cut short"), "{fault}: {why}");
        // The run itself still waits for the user, and its changes need not.
        let run = Line::new(BINARY, &workspace, &["review", "undo", "--run", "--yes"]).run();
        assert!(run.stderr.contains("the run was interrupted; finish it"), "{fault}: {run}");
        let undone = Line::new(BINARY, &workspace, &["review", "undo", "--all"]).run();
        assert_eq!(undone.expect(0).stdout, "7 undone\n", "{fault}");
        assert_eq!(made_and_listed(&workspace), (0, 0), "{fault}");
    }
}

#[test]
fn n03_a_check_before_a_commit_counts_a_reply_that_was_cut_short() {
    let workspace = seven_cut_short("write-proved:7");
    for args in [&["init", "-q"][..], &["add", "-A"]] {
        let git = std::process::Command::new("git").args(args).current_dir(workspace.path()).status();
        assert!(git.expect("git runs").success(), "git {args:?}");
    }
    let checked = Line::new(BINARY, &workspace, &["review", "--check"]).run();
    assert!(checked.stderr.contains("7 unreviewed agent changes"), "{checked}");
    checked.expect(1);
}

#[test]
fn n03_an_editor_that_starts_in_the_folder_finishes_what_was_cut_short_and_lists_it() {
    let workspace = seven_cut_short("write-exchanged:3");
    let mut server = Server::spawn(BINARY, &workspace, &["lsp"]);
    let editor = server.editor(Options::new(&workspace));
    assert_eq!(editor.await_message(), SEVEN_CUT_SHORT);
    let listed: ReviewListResult = editor.call(methods::REVIEW_LIST, json!({}));
    assert_eq!(listed.hunks.len(), 7);
    editor.shutdown();
    server.wait();
    assert_eq!(made_and_listed(&workspace), (7, 7));
}

/// Returns the seven files with the edits of a run, one of them with an undo that was cut short, and the change of that file.
fn undo_cut_short() -> (Workspace, ReviewHunk) {
    let workspace = seven();
    Line::new(BINARY, &workspace, &["run", "-y", "go"]).run().expect(0);
    let listed = Line::new(BINARY, &workspace, &["review", "--json"]).run();
    let mut hunks = listed.expect(0).stdout.lines().map(|line| serde_json::from_str(line).expect("a hunk"));
    let hunk = hunks.find(|hunk: &ReviewHunk| hunk.path == "f1.txt").expect("a change of f1.txt");
    let undo = Line::new(BINARY, &workspace, &["review", "undo", "f1.txt"]);
    let undone = undo.env("ADJUTANT_FAULT", "before-image-kept:1").run();
    assert!(undone.was_killed(), "{undone}");
    assert_eq!(workspace.read("f1.txt"), "two\n");
    (workspace, hunk)
}

#[test]
fn n03_an_undo_that_was_cut_short_is_over_before_the_next_decision() {
    let (workspace, _) = undo_cut_short();
    let kept = Line::new(BINARY, &workspace, &["review", "keep", "--all"]).run();
    assert!(kept.stderr.contains("cut short while it changed a file"), "{kept}");
    assert_eq!(kept.expect(0).stdout, "6 kept\n");
    assert_eq!((workspace.read("f1.txt").as_str(), workspace.read("f2.txt").as_str()), ("one\n", "two\n"));
    let restored = Line::new(BINARY, &workspace, &["review", "restore", "f1.txt"]).run();
    assert_eq!(restored.expect(0).stdout, "1 restored\n");
    assert_eq!(workspace.read("f1.txt"), "two\n");
}

#[test]
fn n03_a_decision_that_opens_the_session_waits_for_an_undo_that_was_cut_short() {
    let (workspace, hunk) = undo_cut_short();
    let mut server = Server::spawn(BINARY, &workspace, &["lsp"]);
    let editor = server.editor(Options::new(&workspace));
    let target = json!({ "changeSetId": hunk.change_set_id, "hunkIds": [hunk.hunk_id] });
    let decision = json!({ "sessionId": hunk.session_id, "targets": [target], "action": "undo" });
    let decided: ReviewDecideResult = editor.call(methods::REVIEW_DECIDE, decision);
    assert_eq!(decided.hunks.iter().map(|hunk| hunk.state).collect::<Vec<_>>(), [HunkState::Undone]);
    assert_eq!(workspace.read("f1.txt"), "one\n");
    assert!(editor.await_message().contains("cut short while it changed a file"));
    editor.shutdown();
    server.wait();
}

/// Returns how many kills must leave a temporary file.
fn kills() -> usize {
    if campaign::is_slow() { 40 } else { 4 }
}

#[test]
fn finding_c6_a_server_killed_among_hundreds_of_writes_leaves_nothing_and_loses_nothing() {
    let workspace = Workspace::new("//- /sub/a.txt\nnumber 0\n");
    // Edits next to each other would be one write, so a read is between any two.
    let calls = |from: usize| {
        let edit = |n: usize| edit("sub/a.txt", &format!("number {n}"), &format!("number {}", n + 1));
        (from..from + WRITES).flat_map(move |n| [edit(n), read("sub/a.txt")])
    };
    let number = || {
        let text = workspace.read("sub/a.txt");
        text.strip_prefix("number ").and_then(|rest| rest.trim_end().parse::<usize>().ok())
    };
    let mut met = 0;
    for round in 0..kills() * 10 {
        let when = format!("round {round}");
        let from = number()
            .unwrap_or_else(|| panic!("{when}: {:?} is not a whole text", workspace.read("sub/a.txt")));
        workspace.script(&edits(calls(from)));
        let running = Line::new(BINARY, &workspace, &["run", "-y", "go"]).start();
        let target = from + 1 + round * 7 % 40;
        let folder = workspace.path().join("sub");
        wait_until(&format!("{when}: writes"), || {
            number().is_some_and(|number| number >= target) && !left(&folder).is_empty()
        });
        send(running.pid(), Signal::KILL);
        running.wait();
        met += usize::from(!left(&folder).is_empty());
        let before = number();
        assert!(
            before.is_some_and(|number| (target..=from + WRITES).contains(&number)),
            "{when}: {before:?}"
        );
        next_start(&workspace, &when);
        // The next start finishes the write that was cut short.
        let now = number().zip(before).map(|(now, before)| now - before);
        assert!(matches!(now, Some(0 | 1)), "{when}: the next start changed the text: {now:?}");
        if met >= kills() {
            return;
        }
    }
    panic!("only {met} kills met a write");
}
