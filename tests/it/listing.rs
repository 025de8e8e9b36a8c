//! The list of sessions tells what happens to it, and a session can be renamed.
//!
//! Never lists again to see a change, except to compare what was told with the list.

use std::time::Instant;

use adjutant_protocol::SessionId;
use adjutant_protocol::ask::AskKind;
use adjutant_protocol::methods;
use adjutant_protocol::session::{Done, SessionChangedParams, SessionEntry, SessionListResult};
use adjutant_protocol::state::State;
use adjutant_testkit::editor::Options;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::Server;
use serde_json::json;

use crate::rig::{Rig, facts_named, refused};

fn workspace_with(model: &ModelServer) -> Workspace {
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.openai(&model.base_url());
    workspace
}

fn list(rig: &Rig) -> Vec<SessionEntry> {
    rig.call::<SessionListResult>(methods::SESSION_LIST, json!({})).sessions
}

fn rename(rig: &Rig, session: &SessionId, title: &str) {
    rig.call::<Done>(methods::SESSION_RENAME, json!({ "sessionId": session, "title": title }));
}

/// Whether an entry is that of a session, and is so.
fn is(session: &SessionId, so: impl Fn(&SessionEntry) -> bool) -> impl Fn(&SessionChangedParams) -> bool {
    move |changed| changed.session_id == *session && changed.session.as_ref().is_some_and(&so)
}

#[test]
fn p27_a_client_that_lists_hears_what_happens_to_its_sessions() {
    let model = ModelServer::start([
        Reply::text("Never told."),
        Reply::call("run_command", json!({ "command": "true" })),
        Reply::text("Done."),
    ]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let before = rig.new_session();
    rig.run_to_end(&before, "Before the first list");
    rig.await_state(State::Idle);
    assert_eq!(rig.listed(), [], "nobody has asked for the list");
    assert_eq!(list(&rig).len(), 1);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Run it").run_id;
    let at = rig.await_listed(0, is(&session, |now| now.state == State::RequiresAction));
    let asking = rig.listed()[at - 1].session.clone().expect("an entry");
    let ask = rig.await_ask_of(AskKind::Command);
    assert_eq!((asking.title.as_str(), asking.open_asks), ("Run it", 1));
    assert_eq!((asking.waits_for, asking.since), (Some(ask.title.clone()), Some(ask.opened_at)));
    rig.answer(&ask.ask_id, "allow");
    rig.await_run_end(&session, &run);
    let at = rig.await_listed(at, is(&session, |now| now.state == State::Idle && now.open_asks == 0));
    assert_eq!(rig.listed()[at - 1].session, list(&rig).into_iter().find(|one| one.session_id == session));
    rig.call::<Done>(methods::SESSION_DELETE, json!({ "sessionId": session }));
    let at = rig.await_listed(at, |changed| changed.session_id == session && changed.session.is_none());
    assert!(rig.listed().iter().all(|changed| changed.session_id == session), "the other did not change");
    assert_eq!(at, rig.listed().len(), "a session that is gone is told of once");
    rig.end();
}

#[test]
fn p27_a_client_hears_what_another_process_does() {
    let model = ModelServer::start([Reply::text("Done."), Reply::never()]);
    let workspace = workspace_with(&model);
    let (one, other) = (Rig::start(&workspace), Rig::start(&workspace));
    assert_eq!(list(&other), []);
    let session = one.new_session();
    one.run_to_end(&session, "Of the first window");
    let at = other.await_listed(0, is(&session, |now| now.title == "Of the first window"));
    let at = other.await_listed(at - 1, is(&session, |now| now.state == State::Idle));
    rename(&one, &session, "Another title");
    let at = other.await_listed(at, is(&session, |now| now.title == "Another title"));
    // What has it open names it.
    let params = json!({ "sessionId": session, "title": "Mine" });
    let error = other.request(methods::SESSION_RENAME, params).expect_err("another process has it");
    assert!(error.message.contains("rename it in the window that has it open"), "{error}");
    assert_eq!(refused::<()>(Err(error)).1, "SessionLocked");
    one.prompt(&session, "Go on");
    model.wait_for_holding(1);
    let at = other.await_listed(at, is(&session, |now| now.state == State::Running));
    one.die();
    let at = other.await_listed(at, is(&session, |now| now.state != State::Running));
    rename(&other, &session, "Mine");
    let at = other.await_listed(at, is(&session, |now| now.title == "Mine"));
    other.call::<Done>(methods::SESSION_DELETE, json!({ "sessionId": session }));
    other.await_listed(at, |changed| changed.session.is_none());
    other.end();
}

/// A window whose session another process has open learns who has it, and when it can go on here: also of a session at rest, whose
/// log says nothing about its process.
#[test]
fn p27_a_window_learns_which_process_has_a_session_and_when_it_is_gone() {
    let model = ModelServer::answering(|_| Reply::text("Done."));
    let workspace = workspace_with(&model);
    let mut first = Server::spawn_with(env!("CARGO_BIN_EXE_adjutant"), &workspace, &["lsp"], |_| {});
    let one = first.editor(Options::new(&workspace));
    let session = one.new_session();
    let run = one.prompt(&session, "Of the first window").run_id;
    one.await_run_end(&session, &run);
    one.await_state(State::Idle);
    let other = Rig::start(&workspace);
    let own = other.new_session();
    other.run_to_end(&own, "Of the second window");
    other.await_state(State::Idle);
    let listed = list(&other);
    let open_in =
        |id: &SessionId| listed.iter().find(|one| one.session_id == *id).expect("is listed").open_in;
    assert_eq!((open_in(&session), open_in(&own)), (Some(first.pid()), None));
    let error = other.request(methods::SESSION_RESUME, json!({ "sessionId": session })).expect_err("is open");
    assert_eq!(refused::<()>(Err(error)).1, "SessionLocked");
    let before = other.listed().len();
    one.expect_loss();
    first.kill();
    other.await_listed(before, is(&session, |now| now.open_in.is_none()));
    other.resume(&session, None);
    other.run_to_end(&session, "Go on here");
    other.await_state(State::Idle);
    other.end();
}

#[test]
fn p27_a_title_of_the_users_own_stays() {
    let model = ModelServer::answering(|_| Reply::text("Done."));
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let early = json!({ "sessionId": session, "title": "Too early" });
    assert_eq!(refused(rig.request(methods::SESSION_RENAME, early)).1, "AnswerInvalid");
    rig.run_to_end(&session, "The first prompt");
    rig.await_state(State::Idle);
    rename(&rig, &session, "  Grüße, 世界 ");
    rename(&rig, &session, "Grüße, 世界");
    assert_eq!(facts_named(&workspace, &session, "titled").len(), 1, "the same title is recorded once");
    assert_eq!(facts_named(&workspace, &session, "titled")[0]["may_skip"], json!(true));
    for wrong in ["", "two\nlines", "hid\u{202e}den", &"x".repeat(201)] {
        let params = json!({ "sessionId": session, "title": wrong });
        let (_, name, ..) = refused(rig.request(methods::SESSION_RENAME, params));
        assert_eq!(name, "AnswerInvalid", "{wrong:?}");
    }
    rig.run_to_end(&session, "Another prompt");
    rig.await_state(State::Idle);
    rig.end();
    let rig = Rig::start(&workspace);
    assert_eq!(list(&rig)[0].title, "Grüße, 世界");
    assert_eq!(rig.resume(&session, None).title, "Grüße, 世界");
    rig.end();
}

#[test]
fn p27_a_client_without_a_list_hears_nothing() {
    let model = ModelServer::answering(|_| Reply::text("Done."));
    let workspace = workspace_with(&model);
    let mut options = Options::new(&workspace);
    options.capabilities.agent.as_mut().expect("a rich client").sessions = false;
    let rig = Rig::start_with(&workspace, options);
    list(&rig);
    let session = rig.new_session();
    rig.run_to_end(&session, "Silently");
    rig.await_state(State::Idle);
    rename(&rig, &session, "Still silent");
    rig.run_to_end(&session, "And again");
    rig.await_state(State::Idle);
    assert_eq!(rig.listed(), []);
    rig.end();
}

#[test]
fn p27_a_session_is_told_of_at_most_four_times_a_second() {
    let model = ModelServer::answering(|_| Reply::text("Done."));
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    rig.run_to_end(&session, "Often");
    rig.await_state(State::Idle);
    list(&rig);
    let began = Instant::now();
    for number in 1..=100 {
        rename(&rig, &session, &format!("Title {number}"));
    }
    rig.await_listed(0, is(&session, |now| now.title == "Title 100"));
    let most = began.elapsed().as_millis() / 250 + 2;
    assert!(rig.listed().len() as u128 <= most, "{} in {:?}", rig.listed().len(), began.elapsed());
    rig.end();
}
