//! What is never deleted or moved, and what the model reads instead.

use std::fs;
use std::os::unix::fs::symlink;

use adjutant_protocol::methods;
use adjutant_protocol::review::ReviewDecideResult;
use adjutant_protocol::update::HunkState;
use adjutant_testkit::editor::{Answer, Place};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::Reply;
use serde_json::{Value, json};

use super::{FILES, decide, decide_operation, delete, exists, hunks, moving, refused_decision};
use crate::stage::Stage;

/// Returns a stage with files that are not simply deleted or moved, and a folder next to the workspace.
fn stage() -> Stage {
    let workspace = Workspace::new(FILES);
    workspace.write("folder/x.txt", "x\n");
    workspace.write(".git/config", "[core]\n");
    workspace.write("denied/x.txt", "x\n");
    workspace.write("unread/x.txt", "x\n");
    workspace.write("twin.txt", "twin\n");
    fs::hard_link(workspace.path().join("twin.txt"), workspace.path().join("other.txt")).expect("link");
    fs::write(workspace.path().join("logo.bin"), [0xff, 0]).expect("file");
    symlink("a.txt", workspace.path().join("link.txt")).expect("link");
    symlink("nowhere.txt", workspace.path().join("dangling.txt")).expect("link");
    symlink("/etc", workspace.path().join("etc")).expect("link");
    let deny =
        "[permissions]\ndeny = [\"edit_file(denied/**)\", \"read_file(unread/**)\"]\n[limits]\nmistakes = 99";
    Stage::configured(workspace, deny, |options| options).answering("allow")
}

#[test]
fn n15_what_is_no_plain_file_of_the_workspace_or_is_protected_stays() {
    let stage = stage();
    let outside = stage.workspace.write_beside("outside.txt", "theirs\n");
    let outside = outside.to_str().expect("a name");
    let before = listing(&stage);
    let delete = |path: &str| ("delete_file", json!({"path": path}));
    let moving = |from: &str, to: &str| ("move_file", json!({"from": from, "to": to}));
    let cases: [((&str, Value), &str); 24] = [
        (delete("folder"), "is a folder; only files are deleted or moved"),
        (delete("."), "is a folder"),
        (delete("nothing.txt"), "does not exist"),
        (delete("link.txt"), "is a symbolic link to \"a.txt\""),
        (delete("dangling.txt"), "is a symbolic link"),
        (delete("logo.bin"), "is not UTF-8 text"),
        (delete("twin.txt"), "other names (hard links)"),
        (delete(".git/config"), "is protected"),
        (delete(outside), "outside the workspace"),
        (delete("../outside.txt"), "outside the workspace"),
        (delete("etc/passwd"), "outside the workspace"),
        (delete("denied/x.txt"), "the rule \"edit_file(denied/**)\""),
        (delete("unread/x.txt"), "the rule \"read_file(unread/**)\""),
        (moving("folder", "b2"), "is a folder"),
        (moving("a.txt", "folder"), "is a folder; give the whole new path"),
        (moving("a.txt", "folder/"), "names a folder"),
        (moving("a.txt", "b.txt"), "exists already, and a move never replaces a file"),
        (moving("a.txt", "./a.txt"), "has that name already"),
        (moving("a.txt", "dangling.txt"), "the new name is a symbolic link"),
        (moving("a.txt", "etc/stolen"), "outside the workspace"),
        (moving(outside, "mine.txt"), "outside the workspace"),
        (moving("a.txt", ".git/hooks/post-commit"), "is protected"),
        (moving("a.txt", "denied/y.txt"), "the rule \"edit_file(denied/**)\""),
        (moving("unread/x.txt", "readable.txt"), "the rule \"read_file(unread/**)\""),
    ];
    for ((tool, arguments), why) in cases {
        let output = stage.call(tool, arguments.clone());
        assert!(output.contains(why), "{tool} {arguments}: {output}");
    }
    assert_eq!(listing(&stage), before);
    assert!(stage.asks().is_empty(), "what cannot be allowed is not asked about");
    stage.rig.shutdown();
}

/// Returns the names of all files of the workspace, with their bytes.
fn listing(stage: &Stage) -> Vec<(String, Option<Vec<u8>>)> {
    fn walk(folder: &std::path::Path, all: &mut Vec<(String, Option<Vec<u8>>)>) {
        for entry in fs::read_dir(folder).expect("folder").flatten() {
            let path = entry.path();
            all.push((path.display().to_string(), fs::read(&path).ok()));
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                walk(&path, all);
            }
        }
    }
    let mut all = Vec::new();
    walk(stage.workspace.path(), &mut all);
    all.sort();
    all
}

#[test]
fn n15_both_names_of_a_move_are_judged_and_named_in_the_ask() {
    let stage = Stage::new(FILES);
    stage.workspace.write(".env", "KEY=1\n");
    let asked = |from: &str, to: &str| {
        let run = stage.send([moving(from, to)]);
        let ask = stage.rig.await_ask();
        stage.rig.answer(&ask.ask_id, "reject");
        stage.rig.await_run_end(&stage.session, &run);
        ask.description.expect("a reason")
    };
    let why = asked(".env", "notes.txt");
    assert!(
        why.contains("\".env\" sets the environment") && why.contains("moving a file always asks"),
        "{why}"
    );
    let why = asked("a.txt", "AGENTS.md");
    assert!(why.contains("\"AGENTS.md\" instructs agents"), "{why}");
    let why = asked("a.txt", "build.rs");
    assert!(why.contains("\"build.rs\" runs or chooses programs on build"), "{why}");
    stage.rig.shutdown();
}

#[test]
fn n15_a_file_that_changed_after_the_question_stays() {
    let stage = Stage::new(FILES);
    for (reply, path) in [(delete("a.txt"), "a.txt"), (moving("b.txt", "c.txt"), "b.txt")] {
        let run = stage.send([reply]);
        let ask = stage.rig.await_ask();
        stage.workspace.write(path, "written meanwhile\n");
        stage.rig.answer(&ask.ask_id, "allow");
        let outputs = stage.finish(&run);
        assert!(
            outputs[0].contains("was not done: ") && outputs[0].contains("another content"),
            "{outputs:?}"
        );
        assert_eq!(stage.workspace.read(path), "written meanwhile\n");
    }
    let run = stage.send([moving("a.txt", "c.txt")]);
    let ask = stage.rig.await_ask();
    stage.workspace.write("c.txt", "theirs\n");
    stage.rig.answer(&ask.ask_id, "allow");
    let outputs = stage.finish(&run);
    assert!(outputs[0].contains("\"c.txt\" exists already"), "{outputs:?}");
    assert_eq!(stage.workspace.read("c.txt"), "theirs\n");
    stage.rig.shutdown();
}

#[test]
fn n15_a_file_with_unsaved_text_of_the_user_is_refused_with_what_to_do() {
    let stage = Stage::new(FILES).answering("allow");
    stage.rig.open("a.txt");
    stage.rig.type_at("a.txt", Place::End, "mine\n");
    for (tool, arguments) in
        [("delete_file", json!({"path": "a.txt"})), ("move_file", json!({"from": "a.txt", "to": "c.txt"}))]
    {
        let output = stage.call(tool, arguments);
        assert!(output.contains("not saved; save it there first"), "{output}");
    }
    // The user types while the question is open.
    stage.rig.save("a.txt");
    stage.rig.on_ask(|_| Answer::Hold);
    let run = stage.send([delete("a.txt")]);
    let ask = stage.rig.await_ask();
    stage.rig.type_at("a.txt", Place::End, "more\n");
    stage.rig.answer(&ask.ask_id, "allow");
    let outputs = stage.finish(&run);
    assert!(outputs[0].contains("not saved; save it there first"), "{outputs:?}");
    assert_eq!(stage.rig.text_of("a.txt"), "one\ntwo\nmine\nmore\n");
    stage.rig.shutdown();
}

#[test]
fn n15_an_undo_never_replaces_anything_and_never_moves_another_text() {
    let stage = Stage::new(FILES).answering("allow");
    stage.play([delete("a.txt")]);
    stage.workspace.write("a.txt", "another\n");
    assert!(refused_decision(&stage, "undo").contains("nothing is replaced"));
    assert_eq!(stage.workspace.read("a.txt"), "another\n");
    fs::remove_file(stage.workspace.path().join("a.txt")).expect("gone");
    decide_operation(&stage, "undo");
    stage.workspace.write("a.txt", "changed since\n");
    assert!(refused_decision(&stage, "restore").contains("another content"));
    assert_eq!(stage.workspace.read("a.txt"), "changed since\n");
    stage.rig.shutdown();

    let stage = Stage::new(FILES).answering("allow");
    stage.play([moving("a.txt", "c.txt")]);
    stage.workspace.write("c.txt", "one\ntwo\nmine\n");
    assert!(refused_decision(&stage, "undo").contains("\"c.txt\" has another content now"));
    stage.workspace.write("c.txt", "one\ntwo\n");
    stage.workspace.write("a.txt", "new\n");
    assert!(refused_decision(&stage, "undo").contains("\"a.txt\" exists already"));
    assert_eq!(
        (stage.workspace.read("a.txt"), stage.workspace.read("c.txt")),
        ("new\n".to_owned(), "one\ntwo\n".to_owned())
    );
    fs::remove_file(stage.workspace.path().join("a.txt")).expect("gone");
    decide_operation(&stage, "undo");
    assert!(!exists(&stage, "c.txt"));
    stage.rig.shutdown();
}

#[test]
fn n15_a_deletion_is_undone_only_while_its_file_is_back() {
    let stage = Stage::new(FILES).answering("allow");
    let deletion = |stage: &Stage| {
        let all = hunks(stage).into_iter();
        all.filter(|hunk| hunk.operation.is_some()).collect::<Vec<_>>().remove(0)
    };
    let state = |stage: &Stage| deletion(stage).state;
    stage.play([delete("a.txt")]);
    stage.play([Reply::call("write_file", json!({"path": "a.txt", "content": "another\n"}))]);
    assert_eq!(state(&stage), HunkState::Kept, "another file has its name");
    let why = refused_decision(&stage, "undo");
    assert!(why.contains("another file is at \"a.txt\""), "{why}");
    assert_eq!(stage.workspace.read("a.txt"), "another\n");
    let of_deletion = json!({"changeSetId": deletion(&stage).change_set_id});
    let params = json!({"sessionId": stage.session, "targets": [of_deletion], "action": "restore"});
    let refused = decide(&stage, &[&deletion(&stage)], "undo");
    assert_eq!(refused[0].state, HunkState::Kept);
    let nothing: ReviewDecideResult = stage.rig.call(methods::REVIEW_DECIDE, params);
    assert_eq!(nothing.hunks, [], "nothing of it is undone");
    // The user brings the file back by hand, and then it is restored at once.
    stage.workspace.write("a.txt", "one\ntwo\n");
    assert_eq!(state(&stage), HunkState::Undone);
    assert_eq!(decide(&stage, &[&deletion(&stage)], "restore")[0].why, None);
    assert!(!exists(&stage, "a.txt"));
    // An undone deletion stays undone, whatever its file becomes.
    assert_eq!(decide(&stage, &[&deletion(&stage)], "undo")[0].why, None);
    stage.workspace.write("a.txt", "one\ntwo\nmore\n");
    assert_eq!(state(&stage), HunkState::Undone);
    stage.rig.shutdown();
}
