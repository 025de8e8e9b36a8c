//! A review that goes on in a second editor while the first one still has the session, and carries out what is decided there.

use adjutant_protocol::methods;
use adjutant_protocol::review::{
    DecidedHunk, ReviewCommentResult, ReviewDecideResult, ReviewHunk, ReviewListResult,
};
use adjutant_protocol::rewind::RewindPreview;
use adjutant_protocol::update::HunkState;
use adjutant_testkit::editor::Options;
use adjutant_testkit::process::{Server, wait_until};
use serde_json::{Value, json};

use super::{EDITED, Reviewed};
use crate::rig::Rig;

fn hunk(rig: &Rig, inserted: &str) -> ReviewHunk {
    let listed: ReviewListResult = rig.call(methods::REVIEW_LIST, json!({"all": true}));
    let found = listed.hunks.iter().find(|hunk| hunk.inserted.trim_end() == inserted);
    found.unwrap_or_else(|| panic!("no hunk inserts {inserted:?}: {:#?}", listed.hunks)).clone()
}

fn decision(hunk: &ReviewHunk, action: &str) -> Value {
    let target = json!({"changeSetId": hunk.change_set_id, "hunkIds": [hunk.hunk_id]});
    json!({"sessionId": hunk.session_id, "targets": [target], "action": action, "reason": "not here"})
}

fn decide(rig: &Rig, hunk: &ReviewHunk, action: &str) -> DecidedHunk {
    let result: ReviewDecideResult = rig.call(methods::REVIEW_DECIDE, decision(hunk, action));
    let [decided] = &result.hunks[..] else { panic!("{result:?}") };
    decided.clone()
}

#[test]
fn n03_a_second_editor_decides_while_the_first_one_has_the_session() {
    let Reviewed { rig: first, model, workspace, session, .. } = Reviewed::start();
    let second = Rig::start(&workspace);
    // Of an open file, by the editor that has it.
    let done = decide(&second, &hunk(&second, "2"), "undo");
    assert_eq!((done.state, done.why), (HunkState::Undone, None));
    let undone = EDITED.replace("2\n", "two\n");
    assert_eq!(first.text_of("a.txt"), undone);
    // Of a closed file.
    assert_eq!(decide(&second, &hunk(&second, "4"), "undo").state, HunkState::Undone);
    assert_eq!(workspace.read("b.txt"), "four\n");
    assert_eq!(decide(&second, &hunk(&second, "4"), "restore").state, HunkState::Applied);
    assert_eq!(workspace.read("b.txt"), "4\n");
    assert_eq!(decide(&second, &hunk(&second, "4"), "keep").state, HunkState::Kept);
    // Both show the same.
    for rig in [&first, &second] {
        assert_eq!(hunk(rig, "4").state, HunkState::Kept);
        assert_eq!(hunk(rig, "2").state, HunkState::Undone);
        assert_eq!(hunk(rig, "1").state, HunkState::Applied);
    }
    // What only the first editor has is not undone from the second, which has not seen it.
    first.replace("a.txt", "3\n", "3 mine\n");
    let refused = decide(&second, &hunk(&second, "3"), "undo");
    assert!(refused.why.as_ref().is_some_and(|why| why.contains("not what was shown")), "{refused:?}");
    assert_eq!(first.text_of("a.txt"), undone.replace("3\n", "3 mine\n"));
    // A decision that makes no sense is refused with its reason.
    let mut unknown = decision(&hunk(&second, "1"), "undo");
    unknown["targets"][0]["hunkIds"] = json!(["h99"]);
    let error = second.request(methods::REVIEW_DECIDE, unknown).expect_err("no such hunk");
    assert!(error.message.contains("is not among the applied ones"), "{error:?}");
    // The model hears of it, with the reason.
    let run = first.prompt(&session, "go on").run_id;
    first.await_run_end(&session, &run);
    let told = String::from_utf8(model.requests().last().expect("a request").body.clone()).expect("text");
    assert!(told.contains("The user says: not here"), "{told}");
    second.end();
    first.end();
}

/// Decides about hunks of several files at once. Returns the answers in the order of the hunks.
fn decide_all(rig: &Rig, hunks: [&ReviewHunk; 2], action: &str) -> [DecidedHunk; 2] {
    let target = |hunk: &ReviewHunk| json!({"changeSetId": hunk.change_set_id, "hunkIds": [hunk.hunk_id]});
    let targets = hunks.map(target);
    let params = json!({"sessionId": hunks[0].session_id, "targets": targets, "action": action});
    let result: ReviewDecideResult = rig.call(methods::REVIEW_DECIDE, params);
    assert_eq!(result.hunks.len(), 2, "{result:?}");
    hunks.map(|hunk| {
        let answer = result.hunks.iter().find(|one| one.change_set_id == hunk.change_set_id);
        answer.unwrap_or_else(|| panic!("no answer about {}: {result:?}", hunk.path)).clone()
    })
}

#[test]
fn n03_a_second_editor_changes_no_file_beneath_its_own_unsaved_text() {
    let Reviewed { rig: first, workspace, .. } = Reviewed::start();
    let second = Rig::start(&workspace);
    second.open("b.txt");
    second.replace("b.txt", "4\n", "4\nmine\n");
    let (two, four) = (hunk(&second, "2"), hunk(&second, "4"));
    let why =
        "the text of b.txt in this editor is not the one on disk; save it, or load the file again, then";
    // The other file of the decision is undone.
    let [a, b] = decide_all(&second, [&two, &four], "undo");
    assert_eq!((a.state, a.why), (HunkState::Undone, None));
    assert_eq!(first.text_of("a.txt"), EDITED.replace("2\n", "two\n"));
    assert_eq!((b.state, b.why.as_deref()), (HunkState::Applied, Some(&*format!("{why} undo"))));
    assert_eq!(workspace.read("b.txt"), "4\n");
    // All hunks of a change set are the same hunk.
    let target = json!({"changeSetId": four.change_set_id});
    let whole = json!({"sessionId": four.session_id, "targets": [target], "action": "undo"});
    let refused: ReviewDecideResult = second.call(methods::REVIEW_DECIDE, whole);
    assert_eq!(refused.hunks, [b]);
    assert_eq!(second.text_of("b.txt"), "4\nmine\n");
    // A typing mistake in the request is no refusal of one file.
    let mut unknown = decision(&four, "undo");
    unknown["targets"][0]["hunkIds"] = json!([four.hunk_id, "h99"]);
    let error = second.request(methods::REVIEW_DECIDE, unknown).expect_err("no such hunk");
    assert!(error.message.contains("is not among the applied ones"), "{error:?}");
    // To keep changes no file.
    assert_eq!(decide(&second, &four, "keep").state, HunkState::Kept);
    // Saved, it is undone as before, and the user's line stays.
    second.save("b.txt");
    assert_eq!(decide(&second, &hunk(&second, "4"), "undo").state, HunkState::Undone);
    assert_eq!(workspace.read("b.txt"), "four\nmine\n");
    // The editor has not loaded it yet.
    let refused = decide(&second, &four, "restore");
    assert_eq!((refused.state, refused.why), (HunkState::Undone, Some(format!("{why} restore"))));
    assert_eq!(workspace.read("b.txt"), "four\nmine\n");
    second.close("b.txt");
    second.open("b.txt");
    assert_eq!(decide(&second, &four, "restore").state, HunkState::Applied);
    assert_eq!(workspace.read("b.txt"), "4\nmine\n");
    second.end();
    first.end();
}

#[test]
fn p04_p06_a_second_editor_comments_and_undoes_a_run_while_the_first_one_has_the_session() {
    let Reviewed { rig: first, model: _model, workspace, session, run } = Reviewed::start();
    let second = Rig::start(&workspace);
    let about = hunk(&second, "2");
    let params = json!({
        "sessionId": session, "changeSetId": about.change_set_id, "hunkId": about.hunk_id, "text": "why?",
    });
    let written: ReviewCommentResult = second.call(methods::REVIEW_COMMENT, params);
    assert_eq!(written.waiting, 1);
    for rig in [&first, &second] {
        assert_eq!(hunk(rig, "2").comment.as_deref(), Some("why?"));
    }
    // The text of now is that of the first editor.
    first.replace("a.txt", "3\n", "3 mine\n");
    let preview = || -> RewindPreview {
        second.call(methods::REVIEW_PREVIEW, json!({"sessionId": session, "runId": run}))
    };
    let seen = preview();
    assert!(seen.choices.iter().any(|choice| choice.user_lines), "{seen:#?}");
    let rewind = |seen: &RewindPreview| {
        let params = json!({
            "sessionId": session, "runId": run, "expect": seen.expect, "userLines": true,
        });
        second.request(methods::REVIEW_REWIND, params)
    };
    first.replace("a.txt", "3 mine\n", "3 mine too\n");
    let refused = rewind(&seen).expect_err("it is not as it was shown");
    assert!(refused.message.contains("a.txt changed since it was shown"), "{refused:?}");
    // The first editor does not know what is not saved in the second one.
    second.open("b.txt");
    second.replace("b.txt", "4\n", "4 unsaved\n");
    let refused = rewind(&preview()).expect_err("it would change b.txt beneath its text");
    assert!(refused.message.contains("b.txt in this editor is not the one on disk; save it"), "{refused:?}");
    assert_eq!(
        (first.text_of("a.txt").contains("3 mine too"), workspace.read("b.txt")),
        (true, "4\n".into())
    );
    second.replace("b.txt", "4 unsaved\n", "4\n");
    rewind(&preview()).expect("it is undone");
    assert_eq!(first.text_of("a.txt"), "one\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\nthree\n");
    assert_eq!((workspace.read("b.txt"), workspace.read("first.txt")), ("four\n".into(), "0\n".into()));
    second.end();
    first.end();
}

#[test]
fn n03_a_decision_whose_carrier_is_killed_is_carried_out_once_by_the_next() {
    for point in ["letters-read", "letters-judged"] {
        let Reviewed { rig, model: _model, workspace, session, .. } = Reviewed::start();
        rig.save("a.txt");
        rig.end();
        let mut holder =
            Server::spawn_with(env!("CARGO_BIN_EXE_adjutant"), &workspace, &["lsp"], |command| {
                command.env("ADJUTANT_FAULT", format!("{point}:1"));
            });
        let editor = holder.editor(Options::new(&workspace));
        editor.resume(&session, None);
        editor.expect_loss();
        let second = Rig::start(&workspace);
        let wanted = hunk(&second, "4");
        let done = decide(&second, &wanted, "undo");
        holder.wait();
        assert_eq!((done.state, done.why), (HunkState::Undone, None), "{point}");
        assert_eq!(workspace.read("b.txt"), "four\n", "{point}");
        assert_eq!(hunk(&second, "4").state, HunkState::Undone, "{point}");
        drop(editor);
        second.end();
    }
}

/// Begins an undo of `b.txt` in a second editor, types there while the first process stops at a point, lets that go on, and
/// returns the answer, the text in the second editor, the text on disk, and the messages of the second editor.
fn typed_while_held_at(point: &str) -> (DecidedHunk, String, String, Vec<String>) {
    let Reviewed { rig, model: _model, workspace, session, .. } = Reviewed::start();
    rig.save("a.txt");
    rig.end();
    let mut holder = Server::spawn_with(env!("CARGO_BIN_EXE_adjutant"), &workspace, &["lsp"], |command| {
        command.env("ADJUTANT_FAULT", format!("{point}:1:hold"));
    });
    let editor = holder.editor(Options::new(&workspace));
    editor.resume(&session, None);
    let second = Rig::start(&workspace);
    second.open("b.txt");
    let asked = second.request_nowait(methods::REVIEW_DECIDE, decision(&hunk(&second, "4"), "undo"));
    wait_until("the first process to stop", || holder.stderr().contains("held at "));
    second.replace("b.txt", "4\n", "4\nmine\n");
    // A request that was not taken is answered while the first process is stopped.
    let early = point == "letters-read";
    let release =
        || std::fs::write(workspace.state_dir().join("fault-released"), "").expect("it is released");
    if !early {
        second.await_hunks_of_now("b.txt");
        release();
    }
    let answer = second.await_response(&asked).expect("an answer");
    if early {
        release();
    }
    let result: ReviewDecideResult = serde_json::from_value(answer).expect("a result");
    let [decided] = &result.hunks[..] else { panic!("{result:?}") };
    let texts = (second.text_of("b.txt"), workspace.read("b.txt"));
    let told = if early { second.messages() } else { vec![second.await_message()] };
    second.end();
    editor.shutdown();
    (decided.clone(), texts.0, texts.1, told)
}

#[test]
fn n03_an_undo_by_another_process_is_withdrawn_when_the_user_types_in_its_file() {
    let (decided, text, disk, told) = typed_while_held_at("letters-read");
    assert_eq!(decided.state, HunkState::Applied);
    let why =
        "the text of b.txt in this editor is not the one on disk; save it, or load the file again, then undo";
    assert_eq!(decided.why.as_deref(), Some(why));
    assert_eq!((text.as_str(), disk.as_str()), ("4\nmine\n", "4\n"));
    assert_eq!(told, [""; 0]);
}

#[test]
fn n03_an_undo_by_another_process_beneath_what_is_typed_meanwhile_is_told() {
    let (decided, text, disk, told) = typed_while_held_at("write-compared");
    assert_eq!((decided.state, decided.why), (HunkState::Undone, None));
    assert_eq!((text.as_str(), disk.as_str()), ("4\nmine\n", "four\n"));
    let warning = "Adjutant: b.txt was changed on disk while you typed in it here. Your text is still here; compare the \
                   two before you save.";
    assert_eq!(told, [warning]);
}
