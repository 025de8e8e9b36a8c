//! A server that dies while it makes a part of a change, because the user rejected the rest.

use adjutant_core::record::Event;
use adjutant_protocol::methods;
use adjutant_protocol::review::{ReviewDecideResult, ReviewHunk, ReviewListResult};
use adjutant_protocol::update::HunkState;
use adjutant_testkit::editor::Options;
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
