//! A run that changes many files: said in one line at its end, and listed with what needs a look first.

use super::*;

/// Returns a workspace of this many files, where no edit asks, and a model that changes them all in one reply.
fn many(count: usize) -> (Workspace, ModelServer) {
    let files: String = (0..count).map(|number| format!("//- /f{number}.txt\none\n.\n.\n.\n")).collect();
    let edit =
        |number: usize| json!({"path": format!("f{number}.txt"), "old_text": "one\n", "new_text": "1\n1\n"});
    let all = (0..count).fold(Reply::text("All."), |reply, number| reply.and_call("edit_file", edit(number)));
    let model = ModelServer::start([all, Reply::text("Done.")]);
    let workspace = Workspace::new(&files);
    workspace.openai(&model.base_url()).add_config("[edits]\nmode = \"review\"\n");
    (workspace, model)
}

#[test]
fn n06_the_end_of_a_run_says_how_many_files_it_changed() {
    for (count, line) in [(6_u32, Some("6 files +12 \u{2212}6")), (5, None)] {
        let (workspace, _model) = many(count as usize);
        let rig = Rig::start(&workspace);
        let session = rig.new_session();
        let edits = rig.run_to_end(&session, "make them numbers").edits.expect("it changed files");
        assert_eq!(
            (edits.files, edits.inserted, edits.removed, edits.unreviewed),
            (count, 2 * count, count, count)
        );
        assert_eq!(edits.line.as_deref(), line);
        rig.end();
    }
}

#[test]
fn n06_a_list_begins_with_what_the_user_changed() {
    let (workspace, _model) = many(3);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    rig.run_to_end(&session, "make them numbers");
    workspace.write("f2.txt", "1\nmine\n1\n.\n.\n.\n");
    let listed: ReviewListResult = rig.call(methods::REVIEW_LIST, json!({}));
    let rows: Vec<(&str, HunkState)> =
        listed.hunks.iter().map(|hunk| (hunk.path.as_str(), hunk.state)).collect();
    let applied = HunkState::Applied;
    assert_eq!(rows, [("f2.txt", HunkState::Amended), ("f0.txt", applied), ("f1.txt", applied)]);
    rig.end();
}

#[test]
fn n06_a_plain_editor_gets_the_line_as_a_message() {
    let (workspace, _model) = many(6);
    let rig = Rig::start_with(&workspace, Options::new(&workspace).capabilities(plain::capabilities()));
    let started: Value = rig
        .request("workspace/executeCommand", json!({"command": "adjutant.start", "arguments": ["do it"]}))
        .expect("it is started");
    let id = |name: &str| started[name].as_str().unwrap_or_default().to_owned();
    rig.await_run_end(&id("sessionId").as_str().into(), &id("runId").as_str().into());
    let said = &rig.await_answers(1)[0];
    assert!(said.contains("6 files +12 \u{2212}6") && said.contains("adjutant.undoRun"), "{said}");
    rig.end();
}
