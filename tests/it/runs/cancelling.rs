//! A cancel at any moment of a run ends it once, and nothing happens later.

use super::*;

#[test]
fn s90_cancel_while_the_model_is_silent_streams_or_is_waited_for() {
    let model = ModelServer::start([
        Reply::never(),
        Reply::text("some words that were said before").hold_after(500),
        Reply::status(429).header("retry-after", "60"),
        Reply::text("Here again."),
    ]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Be silent.").run_id;
    model.wait_for_holding(1);
    cancelled(&rig, &session, &run);
    model.wait_for_closed(1);

    let run = rig.prompt(&session, "Speak.").run_id;
    rig.await_update(|update| matches!(update.update, Update::AgentMessageChunk { .. }));
    model.wait_for_holding(1);
    cancelled(&rig, &session, &run);
    model.wait_for_closed(2);

    let run = rig.prompt(&session, "Wait.").run_id;
    rig.await_update(
        |update| matches!(&update.update, Update::StateUpdate(view) if view.sub == Some(SubState::Retrying)),
    );
    cancelled(&rig, &session, &run);
    assert_eq!(model.requests().len(), 3, "no attempt after the cancel");

    assert_eq!(rig.run_to_end(&session, "Are you there?").summary.as_deref(), Some("Here again."));
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s90_cancel_while_an_ask_is_open_takes_it_back_and_nothing_runs() {
    let model = ModelServer::start([
        command("touch ran").and_call("list_files", json!({"path": "."})),
        Reply::text("Ok."),
    ]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Run it.").run_id;
    let ask = rig.await_ask_of(AskKind::Command);
    rig.await_delivery(&ask.ask_id);
    cancelled(&rig, &session, &run);
    assert_eq!(rig.await_resolved(&ask.ask_id), Resolution::Cancelled);
    rig.await_withdrawal(&ask.ask_id);
    let late = rig.respond(&ask.ask_id, "allow");
    assert_eq!((late.status, late.resolution), (RespondStatus::AlreadyResolved, Resolution::Cancelled));
    rig.run_to_end(&session, "And now?");
    assert!(!workspace.exists("ran"));
    assert_paired(&model.requests()[1]);
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s90_l07_cancel_while_a_command_runs_ends_its_tree() {
    let model = ModelServer::start([
        command("sleep 300 & echo $! > child.pid; echo $$ > shell.pid; wait; touch after"),
        Reply::text("Ok."),
    ]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Run it.").run_id;
    let ask = rig.await_ask_of(AskKind::Command);
    rig.answer(&ask.ask_id, "allow");
    let (child, shell) = (pid_in(&workspace, "child.pid"), pid_in(&workspace, "shell.pid"));
    cancelled(&rig, &session, &run);
    wait_until("the tree to end", || !is_running(child) && !is_running(shell));
    assert!(!workspace.exists("after"));
    let call = |status| move |update: &SessionUpdateParams| matches!(&update.update, Update::ToolCallUpdate(call) if call.status == status);
    assert_eq!(rig.updates().iter().filter(|update| call(ToolStatus::Cancelled)(update)).count(), 1);
    rig.run_to_end(&session, "And now?");
    assert_paired(&model.requests()[1]);
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s90_cancel_while_an_edit_is_on_its_way_finds_out_by_the_text() {
    let edit = || Reply::call("edit_file", json!({"path": "a.txt", "old_text": "hello", "new_text": "bye"}));
    let model = ModelServer::start([edit(), Reply::text("I see."), edit()]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    rig.open("a.txt");
    rig.on_ask(|_| Answer::option("allow"));
    let session = rig.new_session();
    let settled = |rig: &Rig, expected: HunkState| {
        rig.await_update(|update| {
            matches!(&update.update, Update::ChangeSet(view) if view.hunks.iter().all(|hunk| hunk.state == expected))
        });
    };
    // The server withdraws the edit before the client applies it.
    rig.apply_next(ApplyBehaviour::ApplyLate);
    let run = rig.prompt(&session, "Edit it.").run_id;
    rig.await_apply(1);
    cancelled(&rig, &session, &run);
    settled(&rig, HunkState::NotApplied);
    assert!(rig.applies()[0].withdrawn);
    assert_eq!(rig.text_of("a.txt"), "hello\n");
    rig.run_to_end(&session, "What is in the file?");
    let request = model.requests()[1].json().to_string();
    assert!(request.contains("is not in the file"), "{request}");
    assert_paired(&model.requests()[1]);
    // The client applies the edit but never answers.
    rig.apply_next(ApplyBehaviour::ApplyNeverAnswer);
    let run = rig.prompt(&session, "Edit it again.").run_id;
    rig.await_text("a.txt", "bye\n");
    cancelled(&rig, &session, &run);
    settled(&rig, HunkState::Kept);
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s91_s42_cancel_at_every_update_of_a_run_ends_it_once_and_nothing_happens_later() {
    let model = ModelServer::answering(|request| {
        let body = request.json();
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let first = messages[1]["content"].as_str().unwrap_or_default().to_owned();
        if messages.iter().any(|message| message["content"] == "And now?") {
            return Reply::text("Nothing.");
        }
        match tool_outputs(request).len() {
            0 => Reply::text("I look.").and_call("read_file", json!({"path": "a.txt"})),
            1 => command(&format!("sleep 0.05; echo ran >> {first}"))
                .and_call("list_files", json!({"path": "."})),
            _ => Reply::text("Done."),
        }
    });
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    rig.on_ask(|_| Answer::option("allow"));
    let mut ledgers = Vec::new();
    for at in 1..34 {
        let (session, ledger) = (rig.new_session(), format!("ledger-{at}"));
        let run = rig.prompt(&session, &ledger).run_id;
        rig.await_update(|update| {
            let over = matches!(update.update, Update::Run(RunView::Ended { .. }));
            update.session_id == session && (update.seq >= at || over)
        });
        rig.cancel_run(&session);
        rig.await_run_end(&session, &run);
        assert_eq!(rig.resume(&session, None).state.state, State::Idle, "cancelled at {at}");
        let ran = workspace.exists(&ledger);
        ledgers.push((ledger, ran, session.clone()));
        rig.run_to_end(&session, "And now?");
        assert_paired(&model.requests().pop().expect("a request"));
        assert_eq!(count(&workspace, &session, "run_ended"), 2, "cancelled at {at}");
    }
    let ran = ledgers.iter().filter(|(_, ran, _)| *ran).count();
    assert!(ran > 0 && ran < ledgers.len(), "some cancels came before the effect and some after: {ran}");
    rig.end();
    for (ledger, ran, session) in ledgers {
        assert_eq!(workspace.exists(&ledger), ran, "{ledger} was written after the cancel");
        let finished = facts_named(&workspace, &session, "tool_finished");
        let completed = |event: &&serde_json::Value| event["result"]["end"] == "completed";
        assert!(!ran || finished.iter().filter(completed).count() >= 2 || workspace.read(&ledger) == "ran\n");
    }
}
