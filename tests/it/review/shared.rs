//! Two tasks on one file: said before the second one writes.

use super::*;

/// Lets a first task change line 1 of `a.txt` without a question, and returns the editor.
fn changed_once(mode: &str) -> (Rig, ModelServer, Workspace) {
    let edit = |old: &str, new: &str| json!({"path": "a.txt", "old_text": old, "new_text": new});
    let model = ModelServer::start([
        Reply::call("edit_file", edit("one\n", "1\n")),
        Reply::text("Done."),
        Reply::call("edit_file", edit("two\n", "2\n")),
        Reply::call("edit_file", edit("three\n", "3\n")),
        Reply::text("Done."),
    ]);
    let workspace = Workspace::new(FILES);
    workspace.openai(&model.base_url()).add_config("[edits]\nmode = \"review\"\n");
    let rig = Rig::start(&workspace);
    rig.open("a.txt");
    let session = rig.new_session();
    rig.run_to_end(&session, "First \u{202e}task");
    if mode == "ask" {
        rig.end();
        workspace.openai(&model.base_url()).add_config("[edits]\nmode = \"ask\"\n");
        let rig = Rig::start(&workspace);
        rig.open("a.txt");
        return (rig, model, workspace);
    }
    (rig, model, workspace)
}

const WHY: &str = "\"a.txt\" has undecided changes of the task “First \\u{202e}task”";

#[test]
fn n06_a_second_task_says_that_it_edits_a_file_with_undecided_changes_of_another() {
    let (rig, _model, _workspace) = changed_once("review");
    let session = rig.new_session();
    let run = rig.prompt(&session, "Second task").run_id;
    let said = rig.await_message();
    assert!(said.contains(&format!("the task “Second task” edits a file of another one: {WHY}")), "{said}");
    rig.await_run_end(&session, &run);
    let notices = rig.updates().into_iter().filter(|params| matches!(params.update, Update::Notice { .. }));
    assert_eq!(notices.count(), 1, "once a run");
    rig.await_text("a.txt", EDITED);
    rig.end();
}

#[test]
fn n06_the_question_of_a_second_task_says_so_too() {
    let (rig, _model, _workspace) = changed_once("ask");
    let session = rig.new_session();
    let run = rig.prompt(&session, "Second task").run_id;
    let ask = rig.await_ask_of(AskKind::Tool);
    let why = ask.description.as_deref().unwrap_or_default();
    assert!(why.contains(WHY), "{why}");
    rig.answer(&ask.ask_id, "allow");
    let ask = rig.await_ask_of(AskKind::Tool);
    rig.answer(&ask.ask_id, "allow");
    rig.await_run_end(&session, &run);
    rig.await_text("a.txt", EDITED);
    rig.end();
}
