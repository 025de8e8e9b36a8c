//! A server that dies while an editor makes what was decided: a part of a change, a whole one, an undo. The next look at the changes
//! knows what became of it, and writes nothing beneath the text of that editor.

use adjutant_core::record::Event;
use adjutant_protocol::methods;
use adjutant_protocol::review::{ReviewDecideResult, ReviewHunk, ReviewListResult};
use adjutant_protocol::update::HunkState;
use adjutant_testkit::command::Line;
use adjutant_testkit::editor::{Editor, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::{Server, wait_until};
use serde_json::json;

use super::story::{BINARY, facts};
use crate::stage::{edit, edit_arguments};

const TEXT: &str = "one\n.\n.\n.\n.\n.\n.\n.\n.\nten\n";

fn decision(hunk: &ReviewHunk, action: &str) -> serde_json::Value {
    let target = json!({"changeSetId": hunk.change_set_id, "hunkIds": [hunk.hunk_id]});
    json!({"sessionId": hunk.session_id, "targets": [target], "action": action})
}

#[test]
fn n03_what_was_allowed_of_a_change_is_in_the_review_after_a_kill_though_the_rest_was_rejected() {
    let both =
        edit("a.txt", "one", "one more").and_call("edit_file", edit_arguments("a.txt", "ten", "ten more"));
    let model = ModelServer::start(vec![both, Reply::text("Done."), Reply::text("Done.")]);
    let workspace = Workspace::new(&format!("//- /a.txt\n{TEXT}"));
    workspace.openai(&model.base_url()).add_config("[edits]\nmode = \"ask\"");
    let made = TEXT.replace("one", "one more");

    let mut server = Server::spawn_with(BINARY, &workspace, &["lsp"], |command| {
        command.env("ADJUTANT_FAULT", "edit-answered:1");
    });
    let editor = server.editor(Options::new(&workspace));
    editor.expect_loss();
    editor.open("a.txt");
    let session = editor.new_session();
    editor.prompt(&session, "more");
    let ask = editor.await_ask();
    let proposed: ReviewListResult = editor.call(methods::REVIEW_LIST, json!({"all": true}));
    let [_, second] = proposed.hunks.as_slice() else { panic!("{proposed:#?}") };
    let _: ReviewDecideResult = editor.call(methods::REVIEW_DECIDE, decision(second, "reject"));
    editor.answer(&ask.ask_id, "allow");
    wait_until("the server to die", || !server.is_alive());
    editor.await_text("a.txt", &made);
    drop(editor);

    let mut server = Server::spawn(BINARY, &workspace, &["lsp"]);
    let editor = server.editor(Options::new(&workspace));
    editor.edit(|buffers| buffers.open_unsaved("a.txt", &made));
    // The user goes on with another prompt, so the edit is no longer the run's to finish.
    editor.resume(&session, None);
    let run = editor.prompt(&session, "go on").run_id;
    editor.await_run_end(&session, &run);
    wait_until("the edit to be settled", || {
        facts(&workspace, &session.0)
            .iter()
            .any(|record| matches!(&record.event, Event::Settled { .. } | Event::Applied { .. }))
    });
    let listed: ReviewListResult = editor.call(methods::REVIEW_LIST, json!({"all": true}));
    let states: Vec<_> = listed.hunks.iter().map(|hunk| (hunk.hunk_id.as_str(), hunk.state)).collect();
    assert_eq!(states, [("h1", HunkState::Kept)]);
    let undone: ReviewDecideResult = editor.call(methods::REVIEW_DECIDE, decision(&listed.hunks[0], "undo"));
    assert_eq!(undone.hunks[0].state, HunkState::Undone);
    editor.await_text("a.txt", TEXT);
    editor.shutdown();
    server.wait();
}

/// Starts a server that dies at a point, with `a.txt` open.
fn dying(workspace: &Workspace, fault: &str) -> (Server, Editor) {
    let mut server = Server::spawn_with(BINARY, workspace, &["lsp"], |command| {
        command.env("ADJUTANT_FAULT", fault);
    });
    let editor = server.editor(Options::new(workspace));
    editor.expect_loss();
    editor.open("a.txt");
    (server, editor)
}

/// Returns the changes that a terminal lists.
fn listed(workspace: &Workspace) -> Vec<ReviewHunk> {
    let listed = Line::new(BINARY, workspace, &["review", "--json"]).run();
    let listed = listed.expect(0).stdout.lines().map(|line| serde_json::from_str(line).expect("a hunk"));
    listed.collect()
}

fn one_edit() -> (ModelServer, Workspace, String) {
    let model = ModelServer::start(vec![edit("a.txt", "one", "one more"), Reply::text("Done.")]);
    let workspace = Workspace::new(&format!("//- /a.txt\n{TEXT}"));
    workspace.openai(&model.base_url()).add_config("[edits]\nmode = \"review\"");
    (model, workspace, TEXT.replace("one", "one more"))
}

#[test]
fn n03_an_edit_of_an_open_document_is_known_to_whoever_looks_first_after_a_kill() {
    for fault in ["edit-saved:1", "edit-answered:1"] {
        let (_model, workspace, made) = one_edit();
        let (mut server, editor) = dying(&workspace, fault);
        let session = editor.new_session();
        editor.request_nowait(
            methods::SESSION_PROMPT,
            json!({"sessionId": session, "prompt": [{"type": "text", "text": "more"}]}),
        );
        wait_until("the server to die", || !server.is_alive());
        editor.await_text("a.txt", &made);
        drop(editor);
        if fault == "edit-answered:1" {
            // The editor lives on, with a text that is not saved.
            assert_eq!((listed(&workspace), workspace.read("a.txt")), (Vec::new(), TEXT.to_owned()));
            workspace.write("a.txt", &made);
        }
        let [hunk] = &listed(&workspace)[..] else { panic!("{fault}: {:#?}", listed(&workspace)) };
        assert_eq!((hunk.state, hunk.line), (HunkState::Applied, 0), "{fault}");
        let why = Line::new(BINARY, &workspace, &["why", "a.txt:1"]).run();
        assert!(why.expect(0).stdout.contains("more"), "{fault}: {why}");
        let undone = Line::new(BINARY, &workspace, &["review", "undo", "a.txt"]).run();
        assert_eq!(
            (undone.expect(0).stdout.as_str(), workspace.read("a.txt").as_str()),
            ("1 undone\n", TEXT)
        );
    }
}

#[test]
fn n03_an_undo_that_an_editor_was_making_is_not_written_beneath_its_text_after_a_kill() {
    for fault in ["edit-sent:1", "edit-answered:1"] {
        let (_model, workspace, made) = one_edit();
        let mut server = Server::spawn(BINARY, &workspace, &["lsp"]);
        let editor = server.editor(Options::new(&workspace));
        editor.open("a.txt");
        let session = editor.new_session();
        let run = editor.prompt(&session, "more").run_id;
        editor.await_run_end(&session, &run);
        editor.shutdown();
        server.wait();
        assert_eq!(workspace.read("a.txt"), made, "{fault}");

        let (mut server, editor) = dying(&workspace, fault);
        editor.edit(|buffers| buffers.type_at("a.txt", made.len(), "mine\n"));
        let list: ReviewListResult = editor.call(methods::REVIEW_LIST, json!({}));
        editor.request_nowait(methods::REVIEW_DECIDE, decision(&list.hunks[0], "undo"));
        wait_until("the server to die", || !server.is_alive());
        drop(editor);
        let looked = Line::new(BINARY, &workspace, &["review"]).run();
        assert_eq!(workspace.read("a.txt"), made, "{fault}: {looked}");
        let [hunk] = &listed(&workspace)[..] else { panic!("{fault}: {:#?}", listed(&workspace)) };
        assert_eq!(hunk.state, HunkState::Applied, "{fault}");
        let undone = Line::new(BINARY, &workspace, &["review", "undo", "a.txt"]).run();
        assert_eq!(
            (undone.expect(0).stdout.as_str(), workspace.read("a.txt").as_str()),
            ("1 undone\n", TEXT)
        );
    }
}
