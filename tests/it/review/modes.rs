//! Which edits are applied at once for a later review, and which ask first.

use super::*;

#[test]
fn edits_are_applied_at_once_where_they_are_drawn_and_the_workspace_is_trusted() {
    let replies = vec![edit_call("b.txt", "four\n", "4\n"), Reply::text("Done.")];
    let reviewed = trusting(FILES, replies, "");
    reviewed.rig.await_run_end(&reviewed.session, &reviewed.run);
    let hunk = reviewed.hunk("4");
    let made = hunk.made_by.as_ref().expect("it was applied");
    assert_eq!((hunk.state, made.allowed_by.as_str()), (HunkState::Applied, "the setting `edits.mode`"));
    assert_eq!(reviewed.workspace.read("b.txt"), "4\n");
    reviewed.rig.end();
}

#[test]
fn what_runs_on_build_asks_once_a_run_also_where_edits_are_applied_at_once() {
    let files = "//- /Cargo.toml\none\ntwo\n";
    let replies = vec![
        edit_call("Cargo.toml", "one\n", "1\n"),
        edit_call("Cargo.toml", "two\n", "2\n"),
        Reply::text("Done."),
    ];
    let reviewed = trusting(files, replies, "");
    let ask = reviewed.rig.await_ask_of(AskKind::Tool);
    assert!(ask.description.as_ref().is_some_and(|why| why.contains("on build")), "{ask:?}");
    reviewed.rig.answer(&ask.ask_id, "allow");
    reviewed.rig.await_run_end(&reviewed.session, &reviewed.run);
    assert_eq!(reviewed.workspace.read("Cargo.toml"), "1\n2\n");
    reviewed.rig.end();
}

#[test]
fn edits_ask_where_the_settings_say_so_and_count_as_kept_where_they_say_auto() {
    let replies = || vec![edit_call("b.txt", "four\n", "4\n"), Reply::text("Done.")];
    let reviewed = trusting(FILES, replies(), "[edits]\nmode = \"ask\"\n");
    let ask = reviewed.rig.await_ask_of(AskKind::Tool);
    reviewed.rig.answer(&ask.ask_id, "reject");
    reviewed.rig.await_run_end(&reviewed.session, &reviewed.run);
    reviewed.rig.end();
    let reviewed = trusting(FILES, replies(), "[edits]\nmode = \"auto\"\n");
    reviewed.rig.await_run_end(&reviewed.session, &reviewed.run);
    assert_eq!(reviewed.workspace.read("b.txt"), "4\n");
    assert_eq!(reviewed.hunks(), [], "nothing is left to review");
    reviewed.rig.end();
}

#[test]
fn a_link_gives_a_file_the_class_of_its_name_too() {
    let link = |files: &str, name: &str, to: &str| {
        let replies = vec![edit_call(name, "one\n", "1\n"), Reply::text("Done.")];
        let model = ModelServer::start(replies);
        let workspace = Workspace::new(files);
        workspace.openai(&model.base_url());
        let at = workspace.path().join(name);
        std::fs::create_dir_all(at.parent().expect("a folder")).expect("a folder");
        std::os::unix::fs::symlink(workspace.path().join(to), &at).expect("a link");
        let mut options = Options::new(&workspace);
        options.capabilities.agent.as_mut().expect("a rich client").workspace.trusted = true;
        let rig = Rig::start_with(&workspace, options);
        let session = rig.new_session();
        let run = rig.prompt(&session, "go").run_id;
        (rig, model, workspace, session, run)
    };
    for name in ["AGENTS.md", ".env", "Cargo.toml"] {
        let (rig, _model, workspace, session, run) = link("//- /plain.txt\none\n", name, "plain.txt");
        let ask = rig.await_ask_of(AskKind::Tool);
        rig.answer(&ask.ask_id, "reject");
        rig.await_run_end(&session, &run);
        assert_eq!(workspace.read("plain.txt"), "one\n", "{name}");
        rig.end();
    }
    let (rig, model, workspace, session, run) =
        link("//- /plain.txt\none\n", ".vscode/settings.json", "plain.txt");
    rig.await_run_end(&session, &run);
    let outputs = crate::rig::tool_outputs(model.requests().last().expect("a request"));
    assert!(outputs[0].contains("protected"), "{outputs:?}");
    assert_eq!(workspace.read("plain.txt"), "one\n");
    rig.end();
}
