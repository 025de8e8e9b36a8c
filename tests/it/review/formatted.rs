//! A formatter of the editor changes lines of the agent and others when a change is saved.

use adjutant_testkit::editor::SaveBehaviour;

use super::*;

const FILES: &str = "//- /a.txt\na  b\n.\n.\n.\n.\none\n.\n.\n";

#[test]
fn n06_what_the_formatter_did_is_no_line_of_the_user_and_a_group_of_its_own() {
    let replies = vec![edit_call("a.txt", "one\n", "1  2\n3\n"), Reply::text("Done."), Reply::text("Seen.")];
    let reviewed = formatting(FILES, replies);
    let rig = &reviewed.rig;
    let text = "a b\n.\n.\n.\n.\n1 2\n3\n.\n.\n";
    assert_eq!((rig.text_of("a.txt").as_str(), reviewed.workspace.read("a.txt").as_str()), (text, text));
    let listed: ReviewListResult = rig.call(methods::REVIEW_LIST, json!({}));
    let [hunk] = listed.hunks.as_slice() else { panic!("{listed:#?}") };
    assert_eq!((hunk.state, hunk.user_lines, hunk.text.as_deref()), (HunkState::Applied, 0, None));
    assert_eq!(hunk.formatted.as_deref(), Some("1 2\n3\n"));
    let groups: Vec<(&str, u32)> =
        listed.formatted.iter().map(|file| (file.path.as_str(), file.lines)).collect();
    assert_eq!(groups, [("a.txt", 1)]);
    // The user's own line inside is the user's, and only that.
    rig.replace("a.txt", "3\n", "3 and mine\n");
    let amended = reviewed.hunk("1  2\n3");
    assert_eq!((amended.state, amended.user_lines), (HunkState::Amended, 1));
    rig.replace("a.txt", "3 and mine\n", "3\n");
    // What the formatter did elsewhere stays.
    assert_eq!(reviewed.decide(&amended, "undo").state, HunkState::Undone);
    rig.await_text("a.txt", "a b\n.\n.\n.\n.\none\n.\n.\n");
    assert_eq!(reviewed.decide(&amended, "restore").state, HunkState::Applied);
    rig.await_text("a.txt", text);
    let reviewed = reviewed.restarted();
    let hunk = reviewed.hunk("1  2\n3");
    assert_eq!((hunk.state, hunk.user_lines), (HunkState::Applied, 0), "the log knows it, too");
    reviewed.rig.end();
}

/// Lets a run edit an open file in an editor that formats when it saves.
fn formatting(files: &str, replies: Vec<Reply>) -> Reviewed {
    let model = ModelServer::start(replies);
    let workspace = Workspace::new(files);
    workspace.openai(&model.base_url());
    let mut options = Options::new(&workspace);
    options.capabilities.agent.as_mut().expect("a rich client").workspace.trusted = true;
    let rig = Rig::start_with(&workspace, options);
    rig.open("a.txt");
    rig.set_save(SaveBehaviour::Format("  ".to_owned(), " ".to_owned()));
    let session = rig.new_session();
    let run = rig.prompt(&session, "make them numbers").run_id;
    rig.await_run_end(&session, &run);
    Reviewed { rig, model, workspace, session, run }
}
