//! Deleting and moving files: asked as one unit, done on disk or by the editor, undone and restored (N15).
//!
//! Never looks into the server: the tests read the files, the buffers and the model's next request.

mod crashes;
mod editors;
mod refusals;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use adjutant_protocol::ask::{AskSubject, OptionKind};
use adjutant_protocol::methods;
use adjutant_protocol::operation::FileOperation;
use adjutant_protocol::review::{DecidedHunk, ReviewDecideResult, ReviewHunk, ReviewListResult};
use adjutant_protocol::update::HunkState;
use adjutant_testkit::editor::Answer;
use adjutant_testkit::model::Reply;
use serde_json::{Value, json};

use super::stage::{Stage, edit, edit_arguments};

const FILES: &str = "
    //- /a.txt
    one
    two
    //- /b.txt
    three
";

/// Returns a reply that deletes a file.
fn delete(path: &str) -> Reply {
    Reply::call("delete_file", json!({"path": path}))
}

/// Returns a reply that moves a file.
fn moving(from: &str, to: &str) -> Reply {
    Reply::call("move_file", json!({"from": from, "to": to}))
}

fn exists(stage: &Stage, path: &str) -> bool {
    stage.workspace.path().join(path).exists()
}

/// Returns all hunks of the review, also those that are decided.
fn hunks(stage: &Stage) -> Vec<ReviewHunk> {
    let listed: ReviewListResult = stage.rig.call(methods::REVIEW_LIST, json!({"all": true}));
    listed.hunks
}

/// Decides about these hunks together.
fn decide(stage: &Stage, hunks: &[&ReviewHunk], action: &str) -> Vec<DecidedHunk> {
    let target = |hunk: &&ReviewHunk| json!({"changeSetId": hunk.change_set_id, "hunkIds": [hunk.hunk_id]});
    let targets: Vec<Value> = hunks.iter().map(target).collect();
    let params = json!({"sessionId": stage.session, "targets": targets, "action": action});
    let decided: ReviewDecideResult = stage.rig.call(methods::REVIEW_DECIDE, params);
    decided.hunks
}

/// Decides about the only operation, and expects that it is done.
#[track_caller]
fn decide_operation(stage: &Stage, action: &str) {
    let all = hunks(stage);
    let operation: Vec<&ReviewHunk> = all.iter().filter(|hunk| hunk.operation.is_some()).collect();
    assert_eq!(operation.len(), 1, "{all:#?}");
    for decided in decide(stage, &operation, action) {
        assert_eq!(decided.why, None);
    }
}

/// Decides about the only operation, and returns why it is not done.
#[track_caller]
fn refused_decision(stage: &Stage, action: &str) -> String {
    let all = hunks(stage);
    let operation: Vec<&ReviewHunk> = all.iter().filter(|hunk| hunk.operation.is_some()).collect();
    let decided = decide(stage, &operation, action);
    decided.into_iter().next().and_then(|hunk| hunk.why).expect("it is refused")
}

#[test]
fn n15_a_deletion_asks_with_the_text_that_goes_and_its_undo_brings_back_every_byte() {
    let stage = Stage::new(FILES);
    let texts = ["one\ntwo\n", "\u{feff}one\r\ntwo", "one\rtwo\r", "", "\n\n"];
    for (number, text) in texts.into_iter().enumerate() {
        let name = format!("{number}.sh");
        stage.workspace.write(&name, text);
        let file = stage.workspace.path().join(&name);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o750)).expect("mode");
        let run = stage.send([delete(&name)]);
        let ask = stage.rig.await_ask();
        let lines = text.split_inclusive(['\n', '\r']).count() - text.matches("\r\n").count();
        let noun = if lines == 1 { "line" } else { "lines" };
        assert_eq!(ask.title, format!("Delete {name} ({lines} {noun})"));
        assert_eq!(ask.description.as_deref(), Some("deleting a file always asks"));
        assert!(ask.options.iter().all(|option| option.kind != OptionKind::AllowAlways), "{ask:?}");
        let Some(AskSubject::Edit(file)) = &ask.subject else { panic!("{ask:?}") };
        assert_eq!(file.operation, Some(FileOperation::Delete));
        assert!(file.diff.starts_with(&format!("--- a/{name}\n+++ /dev/null\n")), "{}", file.diff);
        assert!(exists(&stage, &name), "nothing goes before the answer");
        stage.rig.answer(&ask.ask_id, "allow");
        assert_eq!(stage.finish(&run), [format!("Deleted {name}.")]);
        assert!(!exists(&stage, &name));

        let shown: Vec<ReviewHunk> = hunks(&stage).into_iter().filter(|hunk| hunk.path == name).collect();
        let [hunk] = shown.as_slice() else { panic!("{shown:#?}") };
        assert_eq!(hunk.state, HunkState::Kept, "a person saw it");
        for _ in 0..2 {
            assert_eq!(decide(&stage, &[hunk], "undo")[0].why, None);
            assert_eq!(stage.workspace.read(&name), text);
            let mode = fs::metadata(stage.workspace.path().join(&name)).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o750);
            assert_eq!(decide(&stage, &[hunk], "restore")[0].why, None);
            assert!(!exists(&stage, &name));
        }
    }
    stage.rig.shutdown();
}

#[test]
fn n15_a_rejected_deletion_leaves_the_file_and_the_model_reads_the_reason() {
    let stage = Stage::new(FILES);
    let run = stage.send([delete("a.txt")]);
    let ask = stage.rig.await_ask();
    stage.rig.answer_with(&ask.ask_id, Answer::OptionWithText("reject".to_owned(), "I need it".to_owned()));
    let outputs = stage.finish(&run);
    assert!(outputs[0].contains("I need it"), "{outputs:?}");
    assert_eq!(stage.workspace.read("a.txt"), "one\ntwo\n");
    stage.rig.shutdown();
}

#[test]
fn n15_a_move_asks_and_takes_the_file_with_it_and_its_undo_takes_it_back() {
    let stage = Stage::new(FILES);
    let bytes = [0xff, 0xfe, 0, 1, b'\n'];
    fs::write(stage.workspace.path().join("logo.bin"), bytes).expect("file");
    let run = stage.send([moving("logo.bin", "art/deep/logo.bin")]);
    let ask = stage.rig.await_ask();
    assert_eq!(ask.title, "Move logo.bin to art/deep/logo.bin");
    assert_eq!(ask.description.as_deref(), Some("moving a file always asks"));
    let Some(AskSubject::Edit(file)) = &ask.subject else { panic!("{ask:?}") };
    let to = FileOperation::Move {
        uri: stage.workspace.uri("art/deep/logo.bin"),
        path: "art/deep/logo.bin".to_owned(),
    };
    assert_eq!(file.operation, Some(to));
    assert_eq!(*file.diff, *"similarity index 100%\nrename from logo.bin\nrename to art/deep/logo.bin\n");
    stage.rig.answer(&ask.ask_id, "allow");
    assert_eq!(stage.finish(&run), ["Moved logo.bin to art/deep/logo.bin."]);
    let read = |name: &str| fs::read(stage.workspace.path().join(name)).ok();
    assert_eq!((read("logo.bin"), read("art/deep/logo.bin").as_deref()), (None, Some(&bytes[..])));
    for _ in 0..2 {
        decide_operation(&stage, "undo");
        assert_eq!((read("logo.bin").as_deref(), read("art/deep/logo.bin")), (Some(&bytes[..]), None));
        decide_operation(&stage, "restore");
        assert_eq!((read("logo.bin"), read("art/deep/logo.bin").as_deref()), (None, Some(&bytes[..])));
    }
    stage.rig.shutdown();
}

#[test]
fn n15_the_model_is_told_what_the_user_undid_and_restored() {
    let stage = Stage::new(FILES).answering("allow");
    stage.play([delete("a.txt").and_call("move_file", json!({"from": "b.txt", "to": "c.txt"}))]);
    let all = hunks(&stage);
    let [one, other] = all.as_slice() else { panic!("{all:#?}") };
    decide(&stage, &[one, other], "undo");
    decide(&stage, &[other], "restore");
    stage.play([]);
    let told: Vec<String> = stage.conversation().into_iter().map(|(_, text)| text).collect();
    let has = |part: &str| told.iter().any(|text| text.contains(part));
    assert!(has("The user undid your deletion of \"a.txt\": \"a.txt\" is there again."), "{told:#?}");
    assert!(has("The user undid your move of \"b.txt\": the file is at \"b.txt\" again."), "{told:#?}");
    assert!(has("The user restored your move of \"b.txt\": the file is at \"c.txt\" again."), "{told:#?}");
    stage.rig.shutdown();
}

#[test]
fn n15_edits_moves_and_deletions_of_a_reply_are_one_ask_and_are_decided_one_by_one() {
    let stage = Stage::new(FILES);
    stage.workspace.write("c.txt", "four\n");
    let reply = edit("a.txt", "two", "2")
        .and_call("move_file", json!({"from": "b.txt", "to": "d.txt"}))
        .and_call("delete_file", json!({"path": "c.txt"}));
    let run = stage.send([reply]);
    let ask = stage.rig.await_ask();
    assert_eq!(ask.title, "Change 3 files: move b.txt to d.txt, delete c.txt (1 line), edit a.txt");
    let waiting: ReviewListResult = stage.rig.call(methods::REVIEW_LIST, json!({}));
    assert_eq!(waiting.hunks.len(), 3, "{waiting:#?}");
    let of = |path: &str| waiting.hunks.iter().find(|hunk| hunk.path == path).expect("it waits");
    decide(&stage, &[of("c.txt")], "reject");
    decide(&stage, &[of("a.txt"), of("b.txt")], "apply");
    let outputs = stage.finish(&run);
    assert_eq!(outputs[..2], ["Edited a.txt: +1 -1 lines.", "Moved b.txt to d.txt."]);
    assert!(outputs[2].contains("rejected"), "{outputs:?}");
    assert_eq!(stage.workspace.read("a.txt"), "one\n2\n");
    assert_eq!((stage.workspace.read("d.txt").as_str(), exists(&stage, "b.txt")), ("three\n", false));
    assert!(exists(&stage, "c.txt"));
    stage.rig.shutdown();
}

#[test]
fn n15_calls_that_follow_a_move_in_one_reply_work_with_the_new_name() {
    let stage = Stage::new(FILES).answering("allow");
    let reply = moving("a.txt", "c.txt")
        .and_call("edit_file", edit_arguments("c.txt", "two", "2"))
        .and_call("edit_file", edit_arguments("b.txt", "three", "3"))
        .and_call("delete_file", json!({"path": "./c.txt"}));
    let outputs = stage.play([reply]);
    let expected = [
        "Moved a.txt to c.txt.",
        "Edited c.txt: +1 -1 lines.",
        "Edited b.txt: +1 -1 lines.",
        "Deleted c.txt.",
    ];
    assert_eq!(outputs, expected);
    assert!(!exists(&stage, "a.txt") && !exists(&stage, "c.txt"));
    // All of it is undone in the order that leads back.
    let all = hunks(&stage);
    let all: Vec<&ReviewHunk> = all.iter().collect();
    let whys: Vec<Option<String>> =
        decide(&stage, &all, "undo").into_iter().map(|decided| decided.why).collect();
    assert!(whys.iter().all(Option::is_none), "{whys:?}");
    assert_eq!(stage.workspace.read("a.txt"), "one\ntwo\n");
    assert_eq!(stage.workspace.read("b.txt"), "three\n");
    assert!(!exists(&stage, "c.txt"));
    let whys: Vec<Option<String>> =
        decide(&stage, &all, "restore").into_iter().map(|decided| decided.why).collect();
    assert!(whys.iter().all(Option::is_none), "{whys:?}");
    assert!(!exists(&stage, "a.txt") && !exists(&stage, "c.txt"));
    stage.rig.shutdown();
}

#[test]
fn n15_edits_of_a_moved_file_are_reviewed_under_its_new_name() {
    let stage = Stage::new(FILES).answering("allow");
    stage.play([edit("a.txt", "two", "2"), moving("a.txt", "c.txt")]);
    let shown = |stage: &Stage| -> Vec<(String, HunkState)> {
        let mut shown: Vec<(String, HunkState)> =
            hunks(stage).into_iter().map(|hunk| (hunk.path, hunk.state)).collect();
        shown.sort_by(|one, other| one.0.cmp(&other.0));
        shown
    };
    let named = |path: &str, state| (path.to_owned(), state);
    assert_eq!(shown(&stage), [named("a.txt", HunkState::Kept), named("c.txt", HunkState::Kept)]);
    let all = hunks(&stage);
    let edited: Vec<&ReviewHunk> = all.iter().filter(|hunk| hunk.operation.is_none()).collect();
    assert_eq!(decide(&stage, &edited, "undo")[0].why, None);
    assert_eq!(stage.workspace.read("c.txt"), "one\ntwo\n");
    stage.rig.shutdown();
}

#[test]
fn n15_a_standing_answer_for_edits_covers_no_deletion_and_no_move() {
    let stage = Stage::new(FILES).answering("allow_always");
    stage.edit("a.txt", "two", "2");
    stage.rig.on_ask(|_| Answer::option("reject"));
    let asked = stage.asks().len();
    let outputs = stage.play([edit("a.txt", "one", "1"), delete("a.txt"), moving("b.txt", "c.txt")]);
    assert_eq!(outputs[0], "Edited a.txt: +1 -1 lines.");
    assert_eq!(stage.asks().len() - asked, 2, "{outputs:?}");
    assert!(exists(&stage, "a.txt") && exists(&stage, "b.txt"));
    stage.rig.shutdown();
}

#[test]
fn n15_a_file_that_the_run_made_and_nobody_touched_goes_without_a_question() {
    let stage = Stage::new(FILES).answering("allow_always");
    let made = |path: &str| Reply::call("write_file", json!({"path": path, "content": "draft\n"}));
    // The first ask is for the first edit, and its answer allows all edits.
    stage.play([made("0.txt")]);
    let asked = stage.asks().len();
    let turns = [
        made("1.txt"),
        edit("1.txt", "draft", "text"),
        moving("1.txt", "2.txt"),
        made("3.txt"),
        delete("3.txt"),
    ];
    stage.play(turns);
    assert_eq!(stage.asks().len(), asked);
    assert_eq!(stage.workspace.read("2.txt"), "text\n");
    assert!(!exists(&stage, "3.txt"));
    stage.rig.on_ask(|_| Answer::Hold);
    // Another run made it, or somebody else wrote into it.
    let run = stage.send([delete("0.txt")]);
    let ask = stage.rig.await_ask();
    assert_eq!(ask.title, "Delete 0.txt (1 line)");
    stage.rig.answer(&ask.ask_id, "allow");
    stage.finish(&run);
    let run = stage.send([
        made("4.txt"),
        Reply::call("run_command", json!({"command": "echo mine >> 4.txt"})),
        delete("4.txt"),
    ]);
    let command = stage.rig.await_ask();
    stage.rig.answer(&command.ask_id, "allow");
    let ask = stage.rig.await_ask();
    assert_eq!(ask.title, "Delete 4.txt (2 lines)");
    stage.rig.answer(&ask.ask_id, "allow");
    stage.finish(&run);
    stage.rig.shutdown();
}
