//! A change and a later one on it, undone together after the user wrote into the lower one.

use super::*;

const LOWER: &str = "1\nuno\n";
const ALL: &str = "1\nmine\nUNO\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\nthree\n";

fn edit(old: &str, new: &str) -> Reply {
    Reply::call("edit_file", json!({"path": "a.txt", "old_text": old, "new_text": new}))
}

/// Two runs, of one session or of two: the second one changes a line that the first one made. Then the user writes into the
/// lower change. Returns the editor and both changes, the lower one first.
fn on_one_another(sessions: usize) -> (Rig, ModelServer, Workspace, ReviewHunk, ReviewHunk) {
    let runs = [edit("one\n", LOWER), Reply::text("Done."), edit("uno\n", "UNO\n"), Reply::text("Done.")];
    let model = ModelServer::start(runs);
    let workspace = Workspace::new(FILES);
    workspace.openai(&model.base_url()).add_config("[edits]\nmode = \"review\"\n");
    let rig = Rig::start(&workspace);
    rig.open("a.txt");
    let first = rig.new_session();
    rig.run_to_end(&first, "Number it");
    let second = if sessions == 1 { first } else { rig.new_session() };
    rig.run_to_end(&second, "Louder");
    if sessions == 2 {
        let said = rig.await_message();
        assert!(said.contains("edits a file of another one"), "{said}");
    }
    rig.replace("a.txt", "1\n", "1\nmine\n");
    assert_eq!(rig.text_of("a.txt"), ALL);
    let [lower, upper] = [LOWER, "UNO\n"].map(|inserted| {
        let listed: ReviewListResult = rig.call(methods::REVIEW_LIST, json!({}));
        listed.hunks.into_iter().find(|hunk| hunk.inserted == inserted).expect("its change")
    });
    assert_eq!(lower.text.as_deref(), Some("1\nmine\nUNO\n"));
    assert_eq!(lower.beneath.len(), 1, "{lower:?}");
    (rig, model, workspace, lower, upper)
}

fn target(hunk: &ReviewHunk) -> Value {
    let seen: Value = hunk.text.iter().map(|text| (hunk.hunk_id.to_string(), json!(text))).collect();
    json!({"changeSetId": hunk.change_set_id, "hunkIds": [hunk.hunk_id], "seen": seen})
}

/// Decides about changes of one session. Returns the state of each and why it was refused.
fn decide(rig: &Rig, action: &str, hunks: &[&ReviewHunk]) -> Vec<(HunkState, Option<String>)> {
    let targets: Vec<Value> = hunks.iter().map(|hunk| target(hunk)).collect();
    let params = json!({"sessionId": hunks[0].session_id, "targets": targets, "action": action});
    let result: ReviewDecideResult = rig.call(methods::REVIEW_DECIDE, params);
    result.hunks.into_iter().map(|hunk| (hunk.state, hunk.why)).collect()
}

const BEFORE: &str = "one\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\nthree\n";

#[test]
fn p02_a_change_with_lines_of_the_user_is_undone_together_with_the_one_on_it() {
    let (rig, _model, _workspace, lower, upper) = on_one_another(1);
    let undone = (HunkState::Undone, None);
    assert_eq!(decide(&rig, "undo", &[&upper, &lower]), [undone.clone(), undone.clone()]);
    assert_eq!(rig.text_of("a.txt"), BEFORE);
    // Both come back, with the user's line between them.
    let [lower, upper] = [lower, upper].map(|hunk| ReviewHunk { text: None, ..hunk });
    let restored = decide(&rig, "restore", &[&lower, &upper]);
    assert!(restored.iter().all(|(_, why)| why.is_none()), "{restored:?}");
    assert_eq!(rig.text_of("a.txt"), ALL);
    let listed: ReviewListResult = rig.call(methods::REVIEW_LIST, json!({}));
    let again = listed.hunks.iter().find(|hunk| hunk.hunk_id == lower.hunk_id && hunk.inserted == LOWER);
    assert_eq!(again.map(|hunk| hunk.user_lines), Some(1), "the upper change is not the user's: {listed:?}");
    // Without the user's word for the line, only the upper one goes, and the answer says so.
    let refused = decide(&rig, "undo", &[&upper, &lower]);
    assert_eq!(refused.iter().filter(|one| **one == undone).count(), 1, "{refused:?}");
    assert!(
        refused.iter().any(|(state, why)| *state == HunkState::Conflicted && why.is_some()),
        "{refused:?}"
    );
    assert_eq!(rig.text_of("a.txt"), ALL.replace("UNO", "uno"));
    rig.end();
}

#[test]
fn p02_a_change_with_lines_of_the_user_is_undone_after_the_one_of_another_task_on_it() {
    let (rig, _model, _workspace, lower, upper) = on_one_another(2);
    let undone = (HunkState::Undone, None);
    assert_eq!(decide(&rig, "undo", &[&upper]), std::slice::from_ref(&undone));
    // The client still names the text that its user saw, with both.
    assert_eq!(decide(&rig, "undo", &[&lower]), [undone]);
    assert_eq!(rig.text_of("a.txt"), BEFORE);
    let lower = ReviewHunk { text: None, ..lower };
    assert_eq!(decide(&rig, "restore", &[&lower])[0].1, None);
    assert_eq!(rig.text_of("a.txt"), ALL.replace("UNO", "uno"));
    rig.end();
}

#[test]
fn p02_a_command_undoes_all_changes_of_a_file_also_those_beneath_others() {
    for sessions in [1, 2] {
        let (rig, _model, workspace, ..) = on_one_another(sessions);
        rig.replace("a.txt", "mine\n", "");
        let command = json!({"command": "adjutant.review", "arguments": [{"action": "undo", "uri": workspace.uri("a.txt")}]});
        let decided = rig.request("workspace/executeCommand", command);
        assert_eq!(decided, Ok(json!({"decided": 2, "refused": 0})), "{sessions} sessions");
        assert_eq!(rig.text_of("a.txt"), BEFORE);
        rig.end();
    }
}
