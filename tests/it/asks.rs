//! Asks over the wire: every kind, every way to answer, and the effect of each answer.
//!
//! Never trusts the reply to an answer: the effect is read from the model's requests, the disk and the ledger
//! that a command writes.

use adjutant_protocol::ask::{AskKind, AskListResult, AskSubject, EditedFile, Resolution, RespondStatus};
use adjutant_protocol::methods;
use adjutant_protocol::state::State;
use adjutant_protocol::update::{ToolStatus, Update};
use adjutant_protocol::{AskId, RunId, SessionId};
use adjutant_testkit::editor::{Answer, RpcError};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::wait_until;
use serde_json::{Value, json};

use crate::rig::{Rig, count, facts_named, refused, tool_outputs};

mod hunks;
mod permission;
mod rest;

fn workspace_with(model: &ModelServer) -> Workspace {
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    workspace
}

fn command(line: &str) -> Reply {
    Reply::call("run_command", json!({"command": line}))
}

#[test]
fn s03_command_edit_and_question_reach_the_client_and_resume_their_call() {
    let model = ModelServer::start([
        command("echo said-so"),
        Reply::call("edit_file", json!({"path": "a.txt", "old_text": "hello", "new_text": "good bye"})),
        Reply::call("ask_user", json!({"question": "Which one?", "options": ["red", "green"]})),
        Reply::text("Done."),
    ]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Do three things.").run_id;

    let ask = rig.await_ask_of(AskKind::Command);
    let cwd = workspace.path().display().to_string();
    assert_eq!(
        ask.subject,
        Some(AskSubject::Command {
            command: "echo said-so".to_owned(),
            cwd,
            timeout_seconds: Some(120),
            unsaved: Vec::new()
        })
    );
    rig.answer(&ask.ask_id, "allow");
    let ask = rig.await_ask_of(AskKind::Tool);
    assert!(
        matches!(&ask.subject, Some(AskSubject::Edit(EditedFile { diff, .. })) if diff.contains("+good bye")),
        "{ask:?}"
    );
    rig.answer(&ask.ask_id, "allow");
    let ask = rig.await_ask_of(AskKind::Followup);
    assert!(ask.free_text && ask.options.len() == 2, "{ask:?}");
    rig.answer_with(&ask.ask_id, Answer::Text("blue, actually".to_owned()));

    rig.await_run_end(&session, &run);
    let outputs = tool_outputs(&model.requests()[3]);
    assert!(outputs[0].contains("said-so"), "{outputs:?}");
    assert!(outputs[2].contains("blue, actually"), "{outputs:?}");
    assert_eq!(rig.text_of("a.txt"), "good bye\n");
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s16_the_reason_of_a_rejection_reaches_the_model() {
    let model = ModelServer::start([command("touch ran"), command("touch ran-too"), Reply::text("I see.")]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Run it.").run_id;
    let ask = rig.await_ask_of(AskKind::Command);
    let why = "use the Makefile instead";
    rig.answer_with(&ask.ask_id, Answer::OptionWithText("reject".to_owned(), why.to_owned()));
    // The same through `agent/ask/respond`, where the reason is a separate field.
    let ask = rig.await_ask_of(AskKind::Command);
    let body = json!({"askId": ask.ask_id, "optionId": "reject", "reason": "not this either"});
    rig.request(methods::ASK_RESPOND, body).expect("the rejection is accepted");
    rig.await_run_end(&session, &run);
    let outputs = tool_outputs(&model.requests()[2]);
    assert!(outputs[0].contains(why) && outputs[1].contains("not this either"), "{outputs:?}");
    assert!(!workspace.exists("ran") && !workspace.exists("ran-too"));
    let denied = rig.updates().into_iter().filter(
        |update| matches!(&update.update, Update::ToolCallUpdate(call) if call.status == ToolStatus::Denied),
    );
    assert_eq!(denied.count(), 2);
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s16_a_text_alone_is_a_rejection_with_a_reason_and_never_an_approval() {
    let model = ModelServer::start([command("touch ran"), Reply::text("I see.")]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Run it.").run_id;
    let ask = rig.await_ask_of(AskKind::Command);
    rig.answer_with(&ask.ask_id, Answer::Text("yes, allow it".to_owned()));
    rig.await_run_end(&session, &run);
    assert!(!workspace.exists("ran"));
    assert!(tool_outputs(&model.requests()[1])[0].contains("yes, allow it"));
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s54_an_approval_after_a_restart_runs_exactly_what_was_asked_and_once() {
    let model = ModelServer::start([command("echo ran >> ledger"), Reply::text("Done.")]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Run it.").run_id;
    let asked = rig.await_ask_of(AskKind::Command);
    rig.end();

    let rig = Rig::start(&workspace);
    let now = rig.resume(&session, None);
    assert_eq!((now.state.state, now.state.run_id), (State::RequiresAction, Some(run.clone())));
    assert_eq!(now.asks, std::slice::from_ref(&asked), "the same ask under the same id");
    let first = rig.respond(&asked.ask_id, "allow");
    assert_eq!(first.status, RespondStatus::Accepted);
    let again = rig.respond(&asked.ask_id, "allow");
    assert_eq!(again.status, RespondStatus::AlreadyResolved);
    rig.await_run_end(&session, &run);
    assert_eq!(workspace.read("ledger"), "ran\n");
    assert_eq!(count(&workspace, &session, "tool_started"), 1);
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s54_l05_after_a_restart_the_ask_is_put_before_the_user_again_by_request() {
    let model = ModelServer::start([command("echo ran >> ledger"), Reply::text("Done.")]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Run it.").run_id;
    let asked = rig.await_ask_of(AskKind::Command);
    rig.die();
    let rig = Rig::start(&workspace);
    rig.resume(&session, None);
    rig.await_delivery(&asked.ask_id);
    rig.answer(&asked.ask_id, "allow");
    rig.await_run_end(&session, &run);
    assert_eq!(workspace.read("ledger"), "ran\n");
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s54_a_directory_that_changed_meanwhile_is_asked_about_anew() {
    let model = ModelServer::start([
        Reply::call("run_command", json!({"command": "echo ran >> ledger", "cwd": "sub"})),
        Reply::text("Done."),
    ]);
    let workspace = workspace_with(&model);
    workspace.write("sub/x", "");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Run it.").run_id;
    let asked = rig.await_ask_of(AskKind::Command);
    rig.end();
    // Puts another directory under the same name.
    std::fs::rename(workspace.path().join("sub"), workspace.path().join("old")).expect("it is renamed");
    workspace.write("sub/x", "");

    let rig = Rig::start(&workspace);
    rig.resume(&session, None);
    assert_eq!(rig.await_resolved(&asked.ask_id), Resolution::Superseded);
    assert_eq!(rig.respond(&asked.ask_id, "allow").status, RespondStatus::AlreadyResolved);
    let list = || rig.call::<AskListResult>(methods::ASK_LIST, json!({"sessionId": session})).asks;
    let new_ask = list().remove(0);
    assert_ne!(new_ask.ask_id, asked.ask_id);
    assert!(!workspace.exists("sub/ledger") && !workspace.exists("old/ledger"), "nothing ran by itself");
    rig.answer(&new_ask.ask_id, "allow");
    rig.await_run_end(&session, &run);
    assert_eq!(workspace.read("sub/ledger"), "ran\n");
    assert!(!workspace.exists("old/ledger"));
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn n02_the_first_valid_answer_wins_whichever_door_it_comes_by() {
    let model =
        ModelServer::start([command("echo x >> ledger"), command("echo y >> ledger"), Reply::text("Done.")]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Run it.").run_id;
    // `agent/ask/respond` answers first: the server withdraws its request to the client.
    let ask = rig.await_ask_of(AskKind::Command);
    rig.await_delivery(&ask.ask_id);
    let won = rig.respond(&ask.ask_id, "allow");
    let Resolution::Selected { surface, .. } = &won.resolution else { panic!("{won:?}") };
    assert_eq!(surface, "ask/respond");
    rig.await_withdrawal(&ask.ask_id);
    assert_eq!(
        rig.respond(&ask.ask_id, "reject").resolution,
        won.resolution,
        "the later answer gets the winning one"
    );
    // The reply to the server's request answers first.
    let ask = rig.await_ask_of(AskKind::Command);
    rig.await_delivery(&ask.ask_id);
    rig.answer(&ask.ask_id, "reject");
    let Resolution::Selected { option_id, surface, .. } = rig.await_resolved(&ask.ask_id) else {
        panic!("the answer was accepted")
    };
    assert_eq!((option_id.as_str(), surface.as_str()), ("reject", "request_permission"));
    assert_eq!(rig.respond(&ask.ask_id, "allow").status, RespondStatus::AlreadyResolved);
    rig.await_run_end(&session, &run);
    assert_eq!(workspace.read("ledger"), "x\n");
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn a5_a_guessed_id_an_unknown_option_and_an_empty_text_answer_nothing() {
    let model = ModelServer::start([command("touch ran"), Reply::text("Done.")]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Run it.").run_id;
    let ask = rig.await_ask_of(AskKind::Command);
    let respond = |body: Value| rig.request(methods::ASK_RESPOND, body);
    for guess in ["ask-1", "", "ask-00000000000000000000000000000000", &ask.ask_id.0[..20]] {
        let (code, name) = refused(respond(json!({"askId": guess, "optionId": "allow"})));
        assert_eq!((code, name.as_str()), (-33012, "AskNotFound"), "{guess:?}");
    }
    for body in [
        json!({"askId": ask.ask_id, "optionId": "ALLOW"}),
        json!({"askId": ask.ask_id, "optionId": "yes"}),
        json!({"askId": ask.ask_id, "answer": "  "}),
    ] {
        assert_eq!(refused(respond(body.clone())).1, "AnswerInvalid", "{body}");
    }
    for body in [
        json!({"askId": ask.ask_id}),
        json!({"askId": ask.ask_id, "optionId": "allow", "answer": "both"}),
        json!({"askId": ask.ask_id, "optionId": true}),
        json!({"askId": ask.ask_id, "optionId": "allow", "approved": true}),
    ] {
        assert_eq!(refused(respond(body.clone())).0, -32602, "{body}");
    }
    assert_eq!(rig.state_of(&session).map(|view| view.state), Some(State::RequiresAction));
    assert!(!workspace.exists("ran"));
    rig.answer(&ask.ask_id, "reject");
    rig.await_run_end(&session, &run);
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn a5_a_malformed_answer_is_no_approval_and_the_ask_stays_open() {
    let malformed = [
        Answer::Raw(Value::Null),
        Answer::Raw(json!(true)),
        Answer::Raw(json!({})),
        Answer::Raw(json!({"outcome": "selected", "optionId": "allow"})),
        Answer::Raw(json!({"outcome": {"outcome": "selected"}})),
        Answer::Raw(json!({"outcome": {"outcome": "selected", "optionId": "Allow"}})),
        Answer::Raw(json!({"outcome": {"outcome": "approved", "optionId": "allow"}})),
        Answer::Raw(json!([{"outcome": {"outcome": "selected", "optionId": "allow"}}])),
        Answer::Fail(RpcError { code: -32601, message: "no such method".to_owned(), data: None }),
        Answer::Close,
    ];
    let model = ModelServer::answering(|request| match tool_outputs(request).len() {
        10 => Reply::text("Done."),
        number => command(&format!("touch ran-{number}")),
    });
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Run it.").run_id;
    for answer in malformed {
        let what = format!("{answer:?}");
        let ask = rig.await_ask_of(AskKind::Command);
        rig.answer_with(&ask.ask_id, answer);
        // The list request follows the answer on the same wire, so the server has already read the answer.
        let open: AskListResult = rig.call(methods::ASK_LIST, json!({}));
        assert!(open.asks.iter().any(|open| open.ask_id == ask.ask_id), "{what} closed the ask");
        assert_eq!(rig.respond(&ask.ask_id, "reject").status, RespondStatus::Accepted, "{what}");
    }
    rig.await_run_end(&session, &run);
    assert_eq!(count(&workspace, &session, "tool_started"), 0);
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn sixty_four_asks_are_open_at_once_and_each_is_answered_on_its_own() {
    let model = ModelServer::answering(|request| match tool_outputs(request).first() {
        Some(output) => Reply::text(&format!("It said {}", output.lines().next().unwrap_or_default())),
        None => Reply::call("ask_user", json!({"question": "Who are you?"})),
    });
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let sessions: Vec<SessionId> = (0..64).map(|_| rig.new_session()).collect();
    let runs: Vec<RunId> = sessions.iter().map(|session| rig.prompt(session, "Ask me.").run_id).collect();
    let mut asks: Vec<(SessionId, AskId)> = Vec::new();
    for _ in &sessions {
        let ask = rig.await_ask_of(AskKind::Followup);
        rig.await_delivery(&ask.ask_id);
        asks.push((ask.session_id, ask.ask_id));
    }
    assert_eq!(rig.held_asks().len(), 64);
    assert_eq!(rig.call::<AskListResult>(methods::ASK_LIST, json!({})).asks.len(), 64);
    for (session, ask) in asks.iter().rev() {
        rig.answer_with(ask, Answer::Text(format!("I am {session}")));
    }
    for (session, run) in sessions.iter().zip(&runs) {
        let said = rig.await_run_end(session, run).summary.unwrap_or_default();
        assert!(said.ends_with(&format!("I am {session}")), "{said}");
    }
    rig.end();
}

#[test]
fn s12_every_ask_that_opened_is_told_to_close() {
    let model =
        ModelServer::start([command("echo x"), Reply::call("task_complete", json!({"summary": "Done."}))]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Run it.").run_id;
    let ask = rig.await_ask_of(AskKind::Command);
    rig.answer(&ask.ask_id, "allow");
    rig.await_run_end(&session, &run);
    let done = rig.await_ask_of(AskKind::CompletionResult);
    rig.answer(&done.ask_id, "new_task");
    wait_until("both are closed on disk", || facts_named(&workspace, &session, "ask_closed").len() == 2);
    rig.await_resolved(&done.ask_id);
    let now = rig.resume(&session, None);
    assert!(now.asks.is_empty() && now.state.asks.is_empty(), "{now:?}");
    rig.end();
}
